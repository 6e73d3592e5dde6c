#include "device/augment_batch.h"

#include "device/device.h"

#include <stdatomic.h>

typedef struct batch_run {
    const stk__augment_batch *batch;
    stk__augment_kernel kernel;
    stk__buffer *scratch;
    atomic_bool failed;
    stk_status status; /* of the first that failed, and */
    stk_error *error;  /* its words; written by that one alone, read when all have ended */
} batch_run;

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

static void augment_sample(void *context, size_t item, int worker)
{
    batch_run *run = context;
    const stk__augment_batch *batch = run->batch;
    if (atomic_load(&run->failed)) return;
    const stk__augment_source source = {pixels_of(batch, batch->images, item, batch->target.channels),
                                        pixels_of(batch, batch->masks, item, 1)};
    const stk__augment_target target = target_of(batch, item);
    stk_error error;
    const stk_status status =
        run->kernel(&batch->blocks[item], &source, &target, &run->scratch[worker], &error);
    if (status == STK_OK || atomic_exchange(&run->failed, true)) return;
    run->status = status;
    if (run->error) *run->error = error;
}

stk_status stk__augment_batch_run(const stk__augment_batch *batch, stk__augment_crew *crew, stk_error *error)
{
    batch_run run = {.batch = batch,
                     .kernel = crew->kernel ? crew->kernel : stk__augment_at(stk__device_cpu_level()),
                     .scratch = crew->scratch,
                     .error = error};
    stk__pool_run(&(stk__pool_job){
        .run = augment_sample, .context = &run, .count = batch->count, .workers = crew->workers});
    return run.status;
}

void stk__augment_crew_fini(stk__augment_crew *crew)
{
    for (int i = 0; i < STK_POOL_WORKERS; i++)
        stk__buffer_fini(&crew->scratch[i]);
}
