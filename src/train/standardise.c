/* SPDX-License-Identifier: Apache-2.0 */
/* Features and targets of a series, and values of images, are brought to mean 0 and deviation 1 by constants
 * measured on the training set. They are buffers of the layers `input` and `output`, so every checkpoint has
 * them. Windows are measured in batches of the feed; values of images are known without loading one. */
#include "train/trainer_internal.h"

#include "core/memory.h"

#include <math.h>

enum { WINDOWS_MOST = 65536 }; /* enough for constants; larger parts are measured on their first windows */

typedef struct moments {
    double count, target_count;
    double *sum, *square; /* [features + 1], the target last */
} moments;

static void count_batch(moments *m, const stk_batch *batch, int64_t features)
{
    const float *rows = batch->windows.data, *targets = batch->labels.data;
    const int64_t row_count = batch->count * batch->windows.shape[1];
    for (int64_t r = 0; r < row_count; r++)
        for (int64_t f = 0; f < features; f++) {
            const double v = rows[r * features + f];
            m->sum[f] += v;
            m->square[f] += v * v;
        }
    for (int64_t n = 0; n < batch->count; n++) {
        m->sum[features] += targets[n];
        m->square[features] += (double)targets[n] * targets[n];
    }
    m->count += (double)row_count;
    m->target_count += (double)batch->count;
}

/* A batch in a GPU's memory is copied; room: for windows and targets of the largest batch, made here. */
static stk_status show_batch(const stk_batch *batch, stk_batch *seen, uint8_t **room, stk_error *error)
{
    *seen = *batch;
    if (batch->windows.device == STK_DEVICE_CPU) return STK_OK;
    const size_t bytes = (size_t)stk_tensor_bytes(&batch->windows);
    const size_t all = bytes + (size_t)stk_tensor_bytes(&batch->labels);
    if (!*room) *room = stk__alloc(all); /* the last batch of an epoch is no larger */
    if (!*room) return stk__fail_memory(error, all, "windows");
    seen->windows.data = *room;
    seen->labels.data = *room + bytes;
    STK__TRY(stk_batch_fetch(batch, &batch->windows, seen->windows.data, error));
    return stk_batch_fetch(batch, &batch->labels, seen->labels.data, error);
}

static stk_status count_batches(stk__trainer *t, moments *m, uint8_t **room, stk_error *error)
{
    uint64_t windows = 0;
    while (windows < WINDOWS_MOST) {
        stk_batch *batch, seen;
        const stk_status status = t->feed.next(t->feed.context, &batch, error);
        if (status == STK_END) break;
        STK__TRY(status);
        const stk_status shown = show_batch(batch, &seen, room, error);
        if (shown == STK_OK) count_batch(m, &seen, t->facts.features);
        windows += (uint64_t)batch->count;
        t->feed.release(t->feed.context, batch);
        STK__TRY(shown);
    }
    return STK_OK;
}

static stk_status count_part(stk__trainer *t, moments *m, stk_error *error)
{
    uint8_t *room = NULL;
    const stk_status status = count_batches(t, m, &room, error);
    stk__free(room);
    return status;
}

static stk_status write_constants(stk__trainer *t, const char *name, const float *values, int64_t count,
                                  stk_error *error)
{
    stk__model_tensor *tensor = stk__model_find(t->model, name);
    if (!tensor || stk__shape_count(&tensor->desc.shape) != count)
        return STK_OK; /* the network has no such layer */
    STK__TRY(stk__tensor_write(tensor->value, values, (size_t)count * sizeof values[0], error));
    if (tensor->average)
        STK__TRY(stk__tensor_write(tensor->average, values, (size_t)count * sizeof values[0], error));
    t->info.starts_standardised = true;
    return STK_OK;
}

/* memory: [2 (f + 1)] doubles, [2 f] floats behind them. */
static stk_status set_constants(stk__trainer *t, const moments *m, float *scale, float *shift,
                                stk_error *error)
{
    const int64_t features = t->facts.features;
    float target_scale = 1, target_shift = 0;
    for (int64_t f = 0; f <= features; f++) {
        const double count = f < features ? m->count : m->target_count;
        const double mean = count > 0 ? m->sum[f] / count : 0;
        const double variance = count > 0 ? m->square[f] / count - mean * mean : 1;
        const double deviation =
            variance > 1e-12 ? sqrt(variance) : 1; /* a constant feature stays as it is */
        if (f < features) {
            scale[f] = (float)(1 / deviation);
            shift[f] = (float)(-mean / deviation);
        } else {
            target_scale = (float)deviation;
            target_shift = (float)mean;
        }
    }
    STK__TRY(write_constants(t, "input.scale", scale, features, error));
    STK__TRY(write_constants(t, "input.shift", shift, features, error));
    STK__TRY(write_constants(t, "output.scale", &target_scale, 1, error));
    return write_constants(t, "output.shift", &target_shift, 1, error);
}

/* output = value x deviation + mean; equal targets are only moved. */
static stk_status standardise_values(stk__trainer *t, stk_error *error)
{
    double mean = NAN, deviation = NAN;
    if (t->feed.measure_values) t->feed.measure_values(t->feed.context, &mean, &deviation);
    if (!isfinite(mean) || !isfinite(deviation)) return STK_OK; /* nothing usable: the first step says so */
    const float scale = deviation * deviation > 1e-12 ? (float)deviation : 1, shift = (float)mean;
    STK__TRY(write_constants(t, "output.scale", &scale, 1, error));
    return write_constants(t, "output.shift", &shift, 1, error);
}

stk_status stk__trainer_standardise(stk__trainer *t, stk_error *error)
{
    const size_t features = (size_t)t->facts.features, doubles = 2 * (features + 1) * sizeof(double);
    if (t->evaluates_only) return STK_OK;
    if (t->network->task == STK_TASK_IMAGE_REGRESSION) return standardise_values(t, error);
    if (t->network->task != STK_TASK_REGRESSION) return STK_OK;
    double *memory = stk__alloc(doubles + 2 * features * sizeof(float));
    if (!memory) return stk__fail_memory(error, doubles, "means of features");
    moments m = {.sum = memory, .square = memory + features + 1};
    float *scale = (float *)(memory + 2 * (features + 1));
    stk_loader_state start;
    t->feed.tell(t->feed.context, &start);
    stk_status status = count_part(t, &m, error);
    if (status == STK_OK) status = t->feed.seek(t->feed.context, &start, error);
    if (status == STK_OK) status = set_constants(t, &m, scale, scale + features, error);
    stk__free(memory);
    return status;
}
