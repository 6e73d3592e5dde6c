/* SPDX-License-Identifier: Apache-2.0 */
/* The train cases: four networks, each with one batch of made-up numbers, written to folders, so that PyTorch
 * and we compute the same. Input: uniform noise of deviation 1, f32 [n h w c] or [n t f]; target: class ids
 * u8 [n h w] in blocks, points f32 [n k 3], classes i64 [n] or values f32 [n]. */
#include "train_case.h"

#include "core/file.h"
#include "core/json_text.h"
#include "core/random.h"
#include "train/checkpoint/checkpoint.h"
#include "train/checkpoint/safetensors.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { FEATURES = 16, WINDOW = 60, BLOCK_PX = 16 };

#define UNET(n, px)                                                                                          \
    {                                                                                                        \
        "unet", n,                                                                                           \
        {                                                                                                    \
            .image_h = px, .image_w = px, .image_c = 3, .masks = true, .num_classes = 19                     \
        }                                                                                                    \
    }
#define LOCATOR(n)                                                                                           \
    {                                                                                                        \
        "locator", n,                                                                                        \
        {                                                                                                    \
            .image_h = 160, .image_w = 320, .image_c = 3, .points = 2                                        \
        }                                                                                                    \
    }
#define RESNET(n)                                                                                            \
    {                                                                                                        \
        "resnet", n,                                                                                         \
        {                                                                                                    \
            .image_h = 128, .image_w = 128, .image_c = 1, .classes = true, .num_classes = 10                 \
        }                                                                                                    \
    }
#define LSTM(n)                                                                                              \
    {                                                                                                        \
        "lstm", n,                                                                                           \
        {                                                                                                    \
            .window = WINDOW, .features = FEATURES, .values = true                                           \
        }                                                                                                    \
    }

/* Networks as they are without options: width 32 and 4 levels, 16, 64, 2 layers of 128. */
const stk__train_case stk__train_cases[STK_TRAIN_CASES] = {UNET(4, 256), LOCATOR(16), RESNET(32), LSTM(256)};
const stk__train_case stk__train_cases_quick[STK_TRAIN_CASES] = {UNET(1, 128), LOCATOR(2), RESNET(4),
                                                                 LSTM(64)};

#define FACT(name)                                                                                           \
    {                                                                                                        \
#name, offsetof(stk__feed_facts, name)                                                               \
    }
const stk__train_case_fact stk__train_case_facts[] = {FACT(image_h), FACT(image_w),  FACT(image_c),
                                                      FACT(window),  FACT(features), FACT(num_classes),
                                                      FACT(points),  {.name = NULL}};

void stk__train_case_title(const stk__train_case *train_case, char *title, size_t size)
{
    const stk__feed_facts *f = &train_case->facts;
    if (f->window)
        snprintf(title, size, "%s, %lld x %d steps", train_case->network, (long long)train_case->count,
                 (int)f->window);
    else
        snprintf(title, size, "%s, %lld x %d x %d", train_case->network, (long long)train_case->count,
                 (int)f->image_h, (int)f->image_w);
}

/* --- the batch -------------------------------------------------------------------------------------------
 */

static stk_tensor make_dense(stk_dtype dtype, const int64_t shape[4])
{
    stk_tensor tensor = {.dtype = dtype};
    while (tensor.ndim < 4 && shape[tensor.ndim] > 0) {
        tensor.shape[tensor.ndim] = shape[tensor.ndim];
        tensor.ndim++;
    }
    int64_t stride = 1;
    for (int i = tensor.ndim - 1; i >= 0; stride *= tensor.shape[i--])
        tensor.strides[i] = stride;
    return tensor;
}

stk__train_case_tensors stk__train_case_describe(const stk__train_case *train_case)
{
    const stk__feed_facts *f = &train_case->facts;
    const int64_t n = train_case->count, images[4] = {n, f->image_h, f->image_w, f->image_c},
                  windows[4] = {n, f->window, f->features}, masks[4] = {n, f->image_h, f->image_w},
                  points[4] = {n, f->points, 3}, one[4] = {n};
    stk__train_case_tensors t = {.input = make_dense(STK_DTYPE_F32, f->window ? windows : images)};
    if (f->masks)
        t.target = make_dense(STK_DTYPE_U8, masks);
    else if (f->points)
        t.target = make_dense(STK_DTYPE_F32, points);
    else
        t.target = make_dense(f->classes ? STK_DTYPE_I64 : STK_DTYPE_F32, one);
    return t;
}

/* -1 … 1 */
static float draw(uint32_t what, int64_t index)
{
    const stk__random r = stk__random_draw(
        (stk__random_at){.sample = what, .operation = STK_OPERATION_MAKE_NOISE, .draw = (uint32_t)index});
    return 2 * stk__random_unit(r.word[0]) - 1;
}

static void fill_input(const stk_tensor *input)
{
    const int64_t count = stk_tensor_bytes(input) / (int64_t)sizeof(float);
    float *values = input->data;
    for (int64_t i = 0; i < count; i++)
        values[i] = 1.7f * draw(0, i); /* deviation 1 */
}

/* Blocks of classes. */
static void fill_masks(const stk_tensor *target, int32_t classes)
{
    const int64_t rows = target->shape[0] * target->shape[1], w = target->shape[2];
    uint8_t *ids = target->data;
    for (int64_t y = 0; y < rows; y++)
        for (int64_t x = 0; x < w; x++)
            ids[y * w + x] =
                (uint8_t)((draw(1, (y / BLOCK_PX) * w + x / BLOCK_PX) + 1) * 0.4999f * (float)classes);
}

/* All are visible, and none lies near an edge. */
static void fill_points(const stk_tensor *target, const stk__feed_facts *facts)
{
    float *points = target->data;
    for (int64_t i = 0; i < target->shape[0] * target->shape[1]; i++) {
        points[3 * i] = (0.5f + 0.4f * draw(1, 2 * i)) * (float)facts->image_w;
        points[3 * i + 1] = (0.5f + 0.4f * draw(1, 2 * i + 1)) * (float)facts->image_h;
        points[3 * i + 2] = 1;
    }
}

static void fill_target(const stk_tensor *target, const stk__feed_facts *facts)
{
    if (facts->masks) fill_masks(target, facts->num_classes);
    if (facts->points) fill_points(target, facts);
    for (int64_t i = 0; i < target->shape[0]; i++) {
        if (facts->classes) ((int64_t *)target->data)[i] = i % facts->num_classes;
        if (facts->values) ((float *)target->data)[i] = draw(1, i);
    }
}

static stk__safetensor list_tensor(const char *name, const stk_tensor *tensor)
{
    stk__safetensor listed = {.name = name, .dtype = tensor->dtype, .shape = {.ndim = tensor->ndim}};
    memcpy(listed.shape.dim, tensor->shape, (size_t)tensor->ndim * sizeof *tensor->shape);
    return listed;
}

static stk_status write_tensors(const char *path, stk__train_case_tensors *t, stk_error *error)
{
    const bool large = t->target.dtype == STK_DTYPE_I64; /* larger elements come first */
    const stk_tensor *const order[2] = {large ? &t->target : &t->input, large ? &t->input : &t->target};
    stk__safetensor listed[2] = {list_tensor(large ? "target" : "input", order[0]),
                                 list_tensor(large ? "input" : "target", order[1])};
    stk__buffer file = {0};
    stk_status status = stk__safetensors_header(listed, 2, NULL, 0, &file, error);
    for (int i = 0; i < 2 && status == STK_OK; i++)
        status = stk__buffer_append(&file, order[i]->data, (size_t)stk_tensor_bytes(order[i]), error);
    if (status == STK_OK) status = stk__file_write(path, file, STK_FILE_QUICK, error);
    stk__buffer_fini(&file);
    return status;
}

static stk_status write_batch(const stk__train_case *train_case, const char *path, stk_error *error)
{
    stk__train_case_tensors t = stk__train_case_describe(train_case);
    const size_t input = (size_t)stk_tensor_bytes(&t.input), target = (size_t)stk_tensor_bytes(&t.target);
    t.input.data = stk__alloc(input);
    t.target.data = stk__alloc(target);
    stk_status status = STK_OK;
    if (t.input.data && t.target.data) {
        fill_input(&t.input);
        fill_target(&t.target, &train_case->facts);
        status = write_tensors(path, &t, error);
    } else
        status = stk__fail_memory(error, input + target, "a batch");
    stk__free(t.input.data);
    stk__free(t.target.data);
    return status;
}

/* --- what it is, and where it starts -----------------------------------------------------------------------
 */

static const char *target_word(const stk__feed_facts *facts)
{
    if (facts->masks) return "masks";
    if (facts->points) return "points";
    return facts->classes ? "classes" : "values";
}

static stk_status write_about(const stk__train_case *train_case, const char *path, stk_error *error)
{
    json_t *facts = json_object();
    for (const stk__train_case_fact *f = stk__train_case_facts; f->name; f++) {
        const int32_t value = *(const int32_t *)((const char *)&train_case->facts + f->offset);
        if (value) json_object_set_new(facts, f->name, json_integer(value));
    }
    json_t *about = json_pack("{s:s, s:{}, s:o, s:s, s:I, s:f, s:f, s:f, s:i}", "network",
                              train_case->network, "settings", "facts", facts, "target",
                              target_word(&train_case->facts), "count", (json_int_t)train_case->count, "lr",
                              STK_TRAIN_CASE_LR, "weight_decay", STK_TRAIN_CASE_DECAY, "max_grad_norm",
                              STK_TRAIN_CASE_NORM, "ignore_index", STK_TRAIN_CASE_IGNORED);
    stk__buffer text = {0};
    stk_status status = stk__json_text(&text, about, JSON_INDENT(2), error);
    if (status == STK_OK) status = stk__file_write(path, text, STK_FILE_QUICK, error);
    stk__buffer_fini(&text);
    return status;
}

/* The weights of a checkpoint, taken out of it. */
static stk_status write_weights(const stk__train_case *train_case, const char *folder, stk_error *error)
{
    char checkpoints[PATH_MAX], made[PATH_MAX], from[PATH_MAX + 24], to[PATH_MAX];
    const stk__checkpoint_options options = {.folder = checkpoints};
    stk__trainer *trainer;
    snprintf(checkpoints, sizeof checkpoints, "%s/checkpoints", folder);
    STK__TRY(
        stk__train_case_open_trainer(&trainer, &(stk__train_case_trainer){.train_case = train_case}, error));
    const stk__checkpoint_state state = {.json = json_object(), .metric = NAN};
    const stk_status status = stk__checkpoint_write(&options, stk__trainer_describe(trainer)->model, &state,
                                                    made, sizeof made, error);
    json_decref(state.json);
    stk__trainer_close(&trainer);
    STK__TRY(status);
    snprintf(from, sizeof from, "%s/model.safetensors", made);
    snprintf(to, sizeof to, "%s/weights.safetensors", folder);
    return rename(from, to) == 0 ? STK_OK : stk__fail_errno(error, errno, "cannot rename '%s'", from);
}

stk_status stk__train_case_write(const stk__train_case *train_case, const char *folder, stk_error *error)
{
    char path[PATH_MAX];
    STK__TRY(stk__folder_make(folder, error));
    snprintf(path, sizeof path, "%s/about.json", folder);
    STK__TRY(write_about(train_case, path, error));
    snprintf(path, sizeof path, "%s/batch.safetensors", folder);
    STK__TRY(write_batch(train_case, path, error));
    return write_weights(train_case, folder, error);
}
