/* SPDX-License-Identifier: Apache-2.0 */
/* A batch's augmentation on the CPU: samples are sorted by estimated cost, dearest first, and taken by the
 * threads of the process's pool, so that all end together. Each worker has scratch of its own; the failure
 * of the first sample in the batch is kept, whichever came first. */
#include "device/cpu/augment_batch.h"

#include "device/device.h"

#include <pthread.h>
#include <stdatomic.h>

enum { COST_MOST = 50 + 5 * STK_AUGMENT_STEPS };

typedef struct crew_run {
    const stk__augment_work *work;
    stk__augment_kernel kernel;
    stk__buffer *scratch;
    const uint32_t *order; /* of samples; NULL: as they come */
    pthread_mutex_t lock;
    atomic_size_t
        failed;        /* the first sample of those that failed; SIZE_MAX: none. Written under lock, with */
    stk_status status; /* what happened to it, and */
    stk_error *error;  /* its words; both are read when all have ended */
} crew_run;

static stk__pixels pixels_of(const stk__augment_batch *batch, const stk_view *views, size_t item,
                             int32_t channels)
{
    if (!views || views[item].w == 0) return (stk__pixels){.channels = channels};
    return (stk__pixels){(uint8_t *)batch->arena + views[item].offset_bytes, views[item].pitch_bytes,
                         views[item].w, views[item].h, channels};
}

static stk__augment_target target_of(const stk__augment_batch *batch, size_t item)
{
    stk__augment_target target = batch->target;
    const size_t area = (size_t)target.w * (size_t)target.h;
    const size_t image_bytes = area * (size_t)target.channels * (size_t)stk_dtype_bytes(target.dtype);
    target.image = (uint8_t *)target.image + item * image_bytes;
    if (target.mask)
        target.mask = (uint8_t *)target.mask + item * area * (size_t)stk_dtype_bytes(target.mask_dtype);
    return target;
}

static stk_status find_in_arena(void *context, size_t item, int worker, stk__augment_source *source,
                                stk__augment_target *target, stk_error *error)
{
    const stk__augment_batch *batch = context;
    (void)worker, (void)error;
    *source = (stk__augment_source){pixels_of(batch, batch->images, item, batch->target.channels),
                                    pixels_of(batch, batch->masks, item, 1)};
    *target = target_of(batch, item);
    return STK_OK;
}

static void keep_failure(crew_run *run, size_t item, stk_status status, const stk_error *error)
{
    pthread_mutex_lock(&run->lock);
    if (item < atomic_load(&run->failed)) {
        atomic_store(&run->failed, item);
        run->status = status;
        if (run->error) *run->error = *error;
    }
    pthread_mutex_unlock(&run->lock);
}

static void augment_sample(void *context, size_t place, int worker)
{
    crew_run *run = context;
    const stk__augment_work *work = run->work;
    const size_t item = run->order ? run->order[place] : place;
    if (item > atomic_load(&run->failed)) return;
    stk__augment_source source;
    stk__augment_target target;
    stk_error error;
    stk_status status = work->begin(work->context, item, worker, &source, &target, &error);
    if (status == STK_OK)
        status = run->kernel(&work->blocks[item], &source, &target, &run->scratch[worker], &error);
    if (status != STK_OK)
        keep_failure(run, item, status, &error);
    else if (work->end)
        work->end(work->context, item, worker);
}

/* Roughly what a sample costs, in tenths of a copy (docs/performance.md). */
static int cost_of(const stk__augment_block *block)
{
    const float *const m = block->matrix;
    const bool whole = m[1] == 0 && m[3] == 0 && (m[0] == 1 || m[0] == -1);
    int cost = 10 + (whole ? 0 : 11) + (block->blur_radius ? 10 : 0) + (block->noise_std > 0 ? 19 : 0);
    for (int32_t s = 0; s < block->step_count; s++)
        cost += block->step_kind[s] == STK_COLOUR_BRIGHTNESS ? 1 : 5;
    return cost;
}

/* The dearest samples first, so that workers end together. */
static void sort_samples(const stk__augment_work *work, uint32_t *order)
{
    size_t starts[COST_MOST + 2] = {0}; /* of cost COST_MOST - i, after all that cost more */
    for (size_t i = 0; i < work->count; i++)
        starts[COST_MOST - cost_of(&work->blocks[i]) + 1]++;
    for (int cost = 0; cost <= COST_MOST; cost++)
        starts[cost + 1] += starts[cost];
    for (size_t i = 0; i < work->count; i++)
        order[starts[COST_MOST - cost_of(&work->blocks[i])]++] = (uint32_t)i;
}

stk_status stk__augment_crew_run(const stk__augment_work *work, stk__augment_crew *crew, stk_error *error)
{
    uint32_t *order = NULL;
    if (crew->workers != 1 && work->count > 1 && work->count <= UINT32_MAX) {
        STK__TRY(stk__buffer_reserve(&crew->order, work->count * sizeof *order, error));
        order = (uint32_t *)(void *)crew->order.data;
        sort_samples(work, order);
    }
    crew_run run = {.work = work,
                    .order = order,
                    .kernel = crew->kernel ? crew->kernel : stk__augment_at(stk__device_cpu_level()),
                    .scratch = crew->scratch,
                    .lock = PTHREAD_MUTEX_INITIALIZER,
                    .failed = SIZE_MAX,
                    .error = error};
    stk__pool_run(&(stk__pool_job){
        .run = augment_sample, .context = &run, .count = work->count, .workers = crew->workers});
    return run.status;
}

stk_status stk__augment_batch_run(const stk__augment_batch *batch, stk__augment_crew *crew, stk_error *error)
{
    const stk__augment_work work = {
        .count = batch->count, .blocks = batch->blocks, .context = (void *)batch, .begin = find_in_arena};
    return stk__augment_crew_run(&work, crew, error);
}

void stk__augment_crew_fini(stk__augment_crew *crew)
{
    for (int i = 0; i < STK_POOL_WORKERS; i++)
        stk__buffer_fini(&crew->scratch[i]);
    stk__buffer_fini(&crew->order);
}
