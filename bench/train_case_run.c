/* SPDX-License-Identifier: Apache-2.0 */
/* Ourselves at a train case: the trainer of `stoker train`, fed with the one batch of the case, from the
 * weights that were written beside it. */
#include "train_case.h"

#include "core/file.h"
#include "train/checkpoint/safetensors.h"

#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* --- feed: always the same batch ---------------------------------------------------------------------------
 */

static stk_status give_batch(void *context, stk_batch **batch, stk_error *error)
{
    (void)error;
    *batch = context;
    return STK_OK;
}

static void take_back(void *context, stk_batch *batch)
{
    (void)context;
    (void)batch;
}

static void measure_nothing(void *context, stk_loader_stats *stats)
{
    (void)context;
    *stats = (stk_loader_stats){0};
}

/* Before 1 << 30 steps there is no end of an epoch. */
static stk__feed make_feed(stk_batch *batch)
{
    const int64_t count = batch ? batch->count : 1;
    return (stk__feed){.context = batch,
                       .next = give_batch,
                       .release = take_back,
                       .measure = measure_nothing,
                       .batches_per_epoch = 1 << 30,
                       .batch_size = count,
                       .last_batch_size = count};
}

/* --- trainer -----------------------------------------------------------------------------------------------
 */

typedef struct case_settings {
    stk__model_settings model;
    stk__loss_settings loss;
    stk__train_settings train;
    stk__optimizer_settings optimizer;
    stk__run_settings run;
} case_settings;

static stk_status fill_settings(case_settings *s, stk_error *error)
{
    STK__TRY(stk__options_fill(&stk__model_options_table, &s->model, error));
    STK__TRY(stk__options_fill(&stk__loss_options_table, &s->loss, error));
    STK__TRY(stk__options_fill(&stk__train_options_table, &s->train, error));
    STK__TRY(stk__options_fill(&stk__optimizer_options_table, &s->optimizer, error));
    return stk__options_fill(&stk__run_options_table, &s->run, error);
}

stk_status stk__train_case_open_trainer(stk__trainer **trainer, const stk__train_case_trainer *o,
                                        stk_error *error)
{
    const stk__feed feed = make_feed(o->batch);
    case_settings s = {.model = {.name = o->train_case->network, .weights = o->weights},
                       .train = {.max_grad_norm = STK_TRAIN_CASE_NORM},
                       .optimizer = {.lr = STK_TRAIN_CASE_LR, .weight_decay = STK_TRAIN_CASE_DECAY},
                       .run = {.engine = o->batch ? o->engine : "reference"}}; /* for weights any will do */
    STK__TRY(fill_settings(&s, error));
    stk__trainer_setup setup = {.model = &s.model,
                                .loss = &s.loss,
                                .train = &s.train,
                                .optimizer = &s.optimizer,
                                .run = &s.run,
                                .facts = o->train_case->facts,
                                .evaluates_only = !o->batch};
    if (o->batch)
        setup.feed = feed;
    else
        setup.val = feed;
    return stk__trainer_open(trainer, &setup, error);
}

/* --- a case that was written -------------------------------------------------------------------------------
 */

static stk_status parse_about(stk__train_case *train_case, const json_t *about, stk_error *error)
{
    const char *network = json_string_value(json_object_get(about, "network")),
               *target = json_string_value(json_object_get(about, "target"));
    *train_case = (stk__train_case){.count = json_integer_value(json_object_get(about, "count"))};
    if (!network || !target || train_case->count < 1)
        return stk__fail(error, STK_ERROR_DATA, "about.json was not written by 'stoker bench train'");
    snprintf(train_case->network, sizeof train_case->network, "%s", network);
    train_case->facts.masks = strcmp(target, "masks") == 0;
    train_case->facts.classes = strcmp(target, "classes") == 0;
    train_case->facts.values = strcmp(target, "values") == 0;
    for (const stk__train_case_fact *f = stk__train_case_facts; f->name; f++)
        *(int32_t *)((char *)&train_case->facts + f->offset) =
            (int32_t)json_integer_value(json_object_get(json_object_get(about, "facts"), f->name));
    return STK_OK;
}

static stk_status read_about(stk__train_case *train_case, const char *folder, stk_error *error)
{
    char path[PATH_MAX];
    stk__buffer text = {0};
    snprintf(path, sizeof path, "%s/about.json", folder);
    stk_status status = stk__file_read(path, 1 << 20, &text, error);
    json_t *about = status == STK_OK ? json_loadb((const char *)text.data, text.size_bytes, 0, NULL) : NULL;
    if (status == STK_OK) status = parse_about(train_case, about, error);
    json_decref(about);
    stk__buffer_fini(&text);
    return status;
}

static stk_status read_tensor(const stk__safetensors *file, const char *name, stk_tensor *tensor,
                              stk_error *error)
{
    const size_t size = (size_t)stk_tensor_bytes(tensor);
    const stk__safetensor *there = stk__safetensors_find(file, name);
    if (!there || there->dtype != tensor->dtype || there->size_bytes != size)
        return stk__fail(error, STK_ERROR_DATA, "batch.safetensors has no '%s' as about.json has it", name);
    tensor->data = stk__alloc(size);
    if (!tensor->data) return stk__fail_memory(error, size, "a batch");
    return stk__safetensors_read(file, there, tensor->data, error);
}

/* Where the trainer looks for it. */
static stk_tensor *target_place(stk_batch *batch, const stk__feed_facts *facts)
{
    if (facts->masks) return &batch->masks;
    return facts->points ? &batch->points : &batch->labels;
}

static stk_status read_batch(stk__train_case_run *run, const char *folder, stk_error *error)
{
    char path[PATH_MAX];
    const stk__train_case_tensors t = stk__train_case_describe(&run->train_case);
    stk_tensor *input = run->train_case.facts.window ? &run->batch.windows : &run->batch.images,
               *target = target_place(&run->batch, &run->train_case.facts);
    stk__safetensors *file;
    snprintf(path, sizeof path, "%s/batch.safetensors", folder);
    STK__TRY(stk__safetensors_open(&file, path, error));
    run->batch.count = run->train_case.count;
    *input = t.input;
    *target = t.target;
    stk_status status = read_tensor(file, "input", input, error);
    if (status == STK_OK) status = read_tensor(file, "target", target, error);
    stk__safetensors_close(&file);
    return status;
}

stk_status stk__train_case_open(stk__train_case_run *run, const char *folder, const char *engine,
                                stk_error *error)
{
    char weights[PATH_MAX];
    *run = (stk__train_case_run){0};
    STK__TRY(read_about(&run->train_case, folder, error));
    STK__TRY(read_batch(run, folder, error));
    snprintf(weights, sizeof weights, "%s/weights.safetensors", folder);
    const stk__train_case_trainer options = {
        .train_case = &run->train_case, .batch = &run->batch, .weights = weights, .engine = engine};
    return stk__train_case_open_trainer(&run->trainer, &options, error);
}

stk_status stk__train_case_step(stk__train_case_run *run, stk_error *error)
{
    return stk__trainer_step(run->trainer, error);
}

stk_status stk__train_case_loss(stk__train_case_run *run, double *loss, stk_error *error)
{
    stk__trainer_log log;
    STK__TRY(stk__trainer_read(run->trainer, &log, error));
    *loss = log.score.loss;
    return STK_OK;
}

void stk__train_case_close(stk__train_case_run *run)
{
    stk_tensor *const tensors[] = {&run->batch.images, &run->batch.windows, &run->batch.masks,
                                   &run->batch.points, &run->batch.labels};
    stk__trainer_close(&run->trainer);
    for (size_t i = 0; i < sizeof tensors / sizeof tensors[0]; i++) {
        stk__free(tensors[i]->data);
        tensors[i]->data = NULL;
    }
}
