#include "device/augment_batch.h"

#include <stdatomic.h>

typedef struct batch_run {
    const stk__augment_batch *batch;
    stk__augment_kernel kernel;
    stk__buffer *scratch;
    atomic_bool failed;
    stk_status status; /* of the first that failed, and */
    stk_error *error;  /* its words; written by that one alone, read when all have ended */
} batch_run;

static stk__pixels pixels_of(const stk__augment_batch *batch, const stk_view *view)
{
    return (stk__pixels){(uint8_t *)batch->arena + view->offset_bytes, view->pitch_bytes, view->w, view->h,
                         view->channels};
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
    if (batch->images[item].w == 0 || atomic_load(&run->failed)) return;
    stk__augment_source source = {.image = pixels_of(batch, &batch->images[item])};
    stk__augment_target target = target_of(batch, item);
    if (batch->masks && batch->masks[item].w > 0)
        source.mask = pixels_of(batch, &batch->masks[item]);
    else
        target.mask = NULL;
    stk_error error;
    const stk_status status =
        run->kernel(&batch->blocks[item], &source, &target, &run->scratch[worker], &error);
    if (status == STK_OK || atomic_exchange(&run->failed, true)) return;
    run->status = status;
    if (run->error) *run->error = error;
}

/* Builds for other processors have the reference only. */
static stk__augment_kernel fastest_kernel(void)
{
    stk__cpu_level level = stk__cpu_level_allowed();
    while (level > STK_CPU_C && !stk__augment_at(level))
        level--;
    return stk__augment_at(level);
}

stk_status stk__augment_batch_run(const stk__augment_batch *batch, stk__augment_crew *crew, stk_error *error)
{
    batch_run run = {.batch = batch,
                     .kernel = crew->kernel ? crew->kernel : fastest_kernel(),
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
