/* SPDX-License-Identifier: Apache-2.0 */
/* Predictions for people and files: class, value, points or mask of each sample as text, JSON and PNG in
 * the size of the original, named after it. Called with each batch, in the consumer's thread. */
#include "predict_answer.h"

#include "session/eval_sheet.h"
#include "session/predict_source.h"

#include "core/durable.h"
#include "core/file.h"
#include "core/json_text.h"
#include "image/resize.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TOP = 5, SHOWN = 3 };

stk_status stk__answers_init(stk__answers *a, const stk__limits *limits, stk_error *error)
{
    a->rows = json_array();
    a->counts = stk__alloc(STK_OP_CLASSES * sizeof *a->counts);
    if (!a->counts || !a->rows) return stk__fail_memory(error, STK_OP_CLASSES * 8, "counts of classes");
    STK__TRY(stk__decoder_create(&a->decoder, limits, error));
    return stk__png_writer_create(&a->png, STK_PNG_LEVEL_QUICK, error);
}

void stk__answers_measure(stk__answers *a)
{
    enum { LOOKED_AT = 1000, MOST = 60 };
    char where[PATH_MAX];
    for (uint64_t id = 0; id < a->total && id < LOOKED_AT; id++) {
        a->source->ops->where(a->source, id, STK_FIELD_IMAGE, where, sizeof where);
        const int width = (int)strlen(where);
        if (width > a->width && width <= MOST) a->width = width;
    }
}

void stk__answers_fini(stk__answers *a)
{
    stk__buffer *const buffers[] = {&a->bytes, &a->picture, &a->ids, &a->mask, &a->file};
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++)
        stk__buffer_fini(buffers[i]);
    stk__decoder_destroy(&a->decoder);
    stk__png_writer_destroy(&a->png);
    stk__free(a->counts);
    json_decref(a->rows);
    json_decref(a->failures);
}

void stk__answers_refuse(stk__answers *a, const char *file, const char *damage, const char *detail)
{
    stk__progress_end(&a->progress);
    fprintf(stderr, "stoker: %s: %s%s%s\n", stk__cli_text(file), damage ? damage : "", damage ? ": " : "",
            stk__cli_text(detail));
    if (!a->failures) a->failures = json_array();
    json_array_append_new(a->failures, json_pack("{s:o, s:s?, s:o}", "file", stk__json_string(file), "damage",
                                                 damage, "error", stk__json_string(detail)));
}

/* --- names of pictures -----------------------------------------------------------------------------------
 */

static const char *sorted_names; /* of compare_names */

static int compare_names(const void *a, const void *b)
{
    return strcmp(sorted_names + *(const size_t *)a, sorted_names + *(const size_t *)b);
}

static stk_status find_twins(const stk__answers *a, stk__buffer *texts, size_t *offsets, stk_error *error)
{
    char key[PATH_MAX];
    for (uint64_t id = 0; id < a->total; id++) {
        a->source->ops->key(a->source, id, key, sizeof key);
        STK__TRY(stk__buffer_text(texts, key, strlen(key), &offsets[id], error));
    }
    sorted_names = (const char *)texts->data;
    qsort(offsets, a->total, sizeof *offsets, compare_names);
    for (uint64_t i = 1; i < a->total; i++) {
        if (compare_names(&offsets[i - 1], &offsets[i]) != 0) continue;
        stk__fail(error, STK_ERROR_CONFIG, "two of the images would write the same '%s/%s.png'", a->folder,
                  sorted_names + offsets[i]);
        stk__error_hint(error, "name a folder above both, or predict them apart, each with its own --output");
        return STK_ERROR_CONFIG;
    }
    return STK_OK;
}

stk_status stk__answers_check_names(const stk__answers *a, stk_error *error)
{
    stk__buffer texts = {0};
    size_t *offsets = stk__alloc(a->total * sizeof *offsets);
    if (!offsets) return stk__fail_memory(error, a->total * sizeof *offsets, "names of pictures");
    const stk_status status = find_twins(a, &texts, offsets, error);
    stk__buffer_fini(&texts);
    stk__free(offsets);
    return status;
}

/* --- pictures --------------------------------------------------------------------------------------------
 */

static stk_status write_png(stk__answers *a, stk__pixels pixels, const char *path, stk_error *error)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) : 0, path);
    if (slash) STK__TRY(stk__folder_make(folder, error));
    STK__TRY(stk__png_write(a->png, pixels, &(stk__png_options){.filter = STK_PNG_BEST}, &a->file, error));
    return stk__file_write(path, a->file, STK_FILE_QUICK, error);
}

/* The size of the original, upright if the network saw it so; with `pixels` itself, RGB, in a->picture. */
static stk_status open_original(stk__answers *a, uint64_t id, bool pixels, stk__pixels *original,
                                stk_error *error)
{
    const char *extension = NULL;
    stk__picture picture;
    STK__TRY(a->source->ops->read(a->source, id, STK_FIELD_IMAGE, &a->bytes, &extension, error));
    const stk__encoded encoded = {a->bytes.data, a->bytes.size_bytes};
    STK__TRY(stk__decode_header(a->decoder, encoded, extension, &picture, error));
    if (!a->upright) picture.orientation = 1;
    const bool swaps = stk__orientation_swaps(picture.orientation);
    *original = stk__pixels_dense(NULL, swaps ? picture.h : picture.w, swaps ? picture.w : picture.h, 3);
    if (!pixels) return STK_OK;
    STK__TRY(stk__buffer_reserve(&a->picture, (size_t)original->w * (size_t)original->h * 3, error));
    original->data = a->picture.data;
    return stk__decode_image(a->decoder, encoded, &picture, *original, error);
}

static void path_of(const stk__answers *a, uint64_t id, const char *end, char path[PATH_MAX])
{
    char key[PATH_MAX];
    a->source->ops->key(a->source, id, key, sizeof key);
    snprintf(path, PATH_MAX, "%.1500s/%.2000s%s", a->folder, key, end);
}

static stk_status write_overlay(stk__answers *a, uint64_t id, stk__pixels picture, json_t *row,
                                stk_error *error)
{
    char path[PATH_MAX];
    path_of(a, id, ".overlay.png", path);
    json_object_set_new(row, "overlay", stk__json_string(path));
    return write_png(a, picture, path, error);
}

/* --- tasks -----------------------------------------------------------------------------------------------
 */

static json_t *class_json(const stk__answers *a, int64_t class_number, const char *what, double share)
{
    return json_pack("{s:I, s:s?, s:f}", "class", (json_int_t)class_number, "name",
                     stk__run_class_name(a->data, class_number), what, share);
}

static void print_class(const stk__answers *a, int64_t class_number, double share)
{
    const char *name = stk__run_class_name(a->data, class_number);
    if (name)
        printf("  %s %.1f %%", stk__cli_text(name), 100 * share);
    else
        printf("  class %lld %.1f %%", (long long)class_number, 100 * share);
}

/* The best `count` of some numbers, from the largest on; those at or below 0 are left out. */
static int best_of(const double *values, int64_t count, int64_t *best)
{
    int found = 0;
    for (; found < TOP && found < count; found++) {
        int64_t at = -1;
        for (int64_t c = 0; c < count; c++) {
            bool taken = false;
            for (int i = 0; i < found; i++)
                taken |= best[i] == c;
            if (!taken && values[c] > 0 && (at < 0 || values[c] > values[at])) at = c;
        }
        if (at < 0) break;
        best[found] = at;
    }
    return found;
}

static void add_classes(stk__answers *a, json_t *row, const double *shares, int64_t classes, const char *what)
{
    int64_t best[TOP];
    const int found = best_of(shares, classes, best);
    json_t *list = json_array();
    for (int i = 0; i < found; i++) {
        json_array_append_new(list, class_json(a, best[i], what, shares[best[i]]));
        if (!stk__cli_json && i < SHOWN) print_class(a, best[i], shares[best[i]]);
    }
    json_object_set_new(row, "classes", list);
}

static stk_status answer_mask(stk__answers *a, uint64_t id, const stk_tensor *p, int64_t i, json_t *row,
                              stk_error *error)
{
    char path[PATH_MAX];
    double shares[STK_OP_CLASSES] = {0};
    stk__pixels original;
    STK__TRY(open_original(a, id, a->overlay, &original, error));
    const size_t count = (size_t)original.w * (size_t)original.h;
    STK__TRY(stk__buffer_reserve(&a->ids, (size_t)(p->shape[1] * p->shape[2]), error));
    STK__TRY(stk__buffer_reserve(&a->mask, count, error));
    const stk__pixels small = stk__answer_ids(p, i, a->ids.data),
                      mask = stk__pixels_dense(a->mask.data, original.w, original.h, 1);
    stk__resize_mask(small, mask);
    for (size_t at = 0; at < count; at++)
        shares[mask.data[at]] += 1 / (double)count;
    path_of(a, id, ".png", path);
    STK__TRY(write_png(a, mask, path, error));
    json_object_set_new(row, "mask", stk__json_string(path));
    json_object_set_new(row, "width", json_integer(original.w));
    json_object_set_new(row, "height", json_integer(original.h));
    if (!stk__cli_json) printf("  %s", stk__cli_text(path));
    add_classes(a, row, shares, p->shape[3], "share");
    for (size_t at = 0; a->overlay && at < count; at++)
        stk__sheet_tint(original.data + 3 * at, mask.data[at]);
    return a->overlay ? write_overlay(a, id, original, row, error) : STK_OK;
}

static void add_point(const stk__answers *a, json_t *list, int64_t k, const double at[2])
{
    const char *name = stk__run_point_name(a->data, k);
    json_array_append_new(list, json_pack("{s:I, s:s?, s:f, s:f}", "point", (json_int_t)k, "name", name, "x",
                                          at[0], "y", at[1]));
    if (stk__cli_json) return;
    if (name)
        printf("  %s (%.1f, %.1f)", stk__cli_text(name), at[0], at[1]);
    else
        printf("  point %lld (%.1f, %.1f)", (long long)k, at[0], at[1]);
}

static stk_status answer_points(stk__answers *a, uint64_t id, const stk_tensor *p, int64_t i, json_t *row,
                                stk_error *error)
{
    stk__pixels original;
    json_t *list = json_array();
    json_object_set_new(row, "points", list);
    STK__TRY(open_original(a, id, a->overlay, &original, error));
    for (int64_t k = 0; k < p->shape[3] / 3; k++) {
        double at[2];
        stk__answer_point(p, i, k, original, at);
        add_point(a, list, k, at);
        if (a->overlay) stk__answer_cross(original, at[0], at[1], (int)k);
    }
    json_object_set_new(row, "width", json_integer(original.w));
    json_object_set_new(row, "height", json_integer(original.h));
    return a->overlay ? write_overlay(a, id, original, row, error) : STK_OK;
}

static void answer_class(stk__answers *a, const stk_tensor *p, int64_t i, json_t *row)
{
    const int64_t classes = p->shape[1];
    const float *logits = (const float *)p->data + i * p->strides[0];
    double shares[STK_OP_CLASSES], sum = 0;
    float most = logits[0];
    for (int64_t c = 1; c < classes; c++)
        most = logits[c] > most ? logits[c] : most;
    for (int64_t c = 0; c < classes; c++)
        sum += shares[c] = exp((double)logits[c] - most);
    for (int64_t c = 0; c < classes; c++)
        shares[c] /= sum;
    add_classes(a, row, shares, classes, "probability");
}

static void answer_value(const stk__answers *a, uint64_t id, const stk_tensor *p, int64_t i, json_t *row)
{
    const double value = ((const float *)p->data)[i * p->strides[0]];
    const uint64_t last = stk__predict_row(a->source, id);
    json_object_set_new(row, "row", json_integer((json_int_t)last));
    json_object_set_new(row, "value", stk__json_number(value));
    if (!stk__cli_json) printf("  row %llu  %.6g", (unsigned long long)last, value);
}

static stk_status answer(stk__answers *a, uint64_t id, const stk_tensor *p, int64_t i, stk_error *error)
{
    char where[PATH_MAX];
    stk_status status = STK_OK;
    a->source->ops->where(a->source, id, STK_FIELD_IMAGE, where, sizeof where);
    json_t *row = json_pack("{s:o}", "file", stk__json_string(where));
    stk__progress_end(&a->progress);
    if (!stk__cli_json) printf("%-*s", a->width, stk__cli_text(where));
    if (a->task == STK_TASK_SEGMENTATION)
        status = answer_mask(a, id, p, i, row, error);
    else if (a->task == STK_TASK_POINTS)
        status = answer_points(a, id, p, i, row, error);
    else if (a->task == STK_TASK_CLASSIFICATION)
        answer_class(a, p, i, row);
    else
        answer_value(a, id, p, i, row);
    if (!stk__cli_json) printf("\n");
    json_array_append_new(a->rows, row);
    return status;
}

void stk__answers_look(void *context, const stk_batch *batch, const stk_tensor *prediction)
{
    stk__answers *a = context;
    const int64_t *ids = batch->sample_ids.data;
    const float *weights = batch->weights.data;
    for (int64_t i = 0; i < batch->count && a->status == STK_OK; i++) {
        if (weights[i] > 0) a->status = answer(a, (uint64_t)ids[i], prediction, i, &a->error);
        stk__progress_show(&a->progress, "predict", ++a->done, a->total);
    }
    fflush(stdout);
}
