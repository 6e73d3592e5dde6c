/* SPDX-License-Identifier: Apache-2.0 */
/* The public functions of an augmenter: a plan made once, applied to batches of the caller's. A call checks
 * its arguments (augmenter_io.c), draws (augmenter_facts.c), runs the pass over the process's pool or a
 * device (augmenter_pixels.c). Threads: one call of apply at a time, which an atomic flag makes sure of. */
#include "augmenter/augmenter.h"

#include "core/sized.h"

#include <string.h>

enum {
    FIRST_OPTIONS_BYTES = sizeof(stk_augment_options), /* of the first version */
    FIRST_IO_BYTES = sizeof(stk_augment_io)
};
_Static_assert((int)STK_AUGMENT_FACTS ==
                   (int)(sizeof(((stk__plan_trace *)0)->facts) / sizeof(stk__plan_fact)),
               "an explanation has no room for a trace");

static stk_status refuse_null(const char *function, const char *needs, stk_error *error)
{
    return stk__fail(error, STK_ERROR_ARGUMENT, "%s needs %s", function, needs);
}

/* Those with pixels that a device which hangs may still read: they stay, on purpose. */
static _Atomic(stk_augmenter *) left_behind;

static void leave_behind(stk_augmenter *augmenter)
{
    augmenter->left_before = atomic_load(&left_behind);
    while (!atomic_compare_exchange_weak(&left_behind, &augmenter->left_before, augmenter))
        continue;
}

static void destroy(stk_augmenter *augmenter)
{
    if (!stk__device_memory_destroy(&augmenter->kept)) augmenter->lost = true;
    stk__device_close(&augmenter->device);
    stk__plan_destroy(&augmenter->plan);
    stk__flip_fini(&augmenter->flip);
    stk__augment_crew_fini(&augmenter->crew);
    for (int i = 0; i < STK_POOL_WORKERS; i++) {
        stk__augmenter_worker *worker = &augmenter->workers[i];
        stk__buffer *const buffers[] = {&worker->image,      &worker->mask,     &worker->small_image,
                                        &worker->small_mask, &worker->resizing, &worker->values};
        for (size_t k = 0; k < sizeof buffers / sizeof buffers[0]; k++)
            stk__buffer_fini(buffers[k]);
    }
    stk__buffer_fini(&augmenter->samples);
    stk__buffer_fini(&augmenter->blocks);
    stk__buffer_fini(&augmenter->mixes_made);
    stk__buffer_fini(&augmenter->views);
    stk__buffer_fini(&augmenter->sources);
    if (augmenter->lost) {
        leave_behind(augmenter);
        return;
    }
    stk__buffer_fini(&augmenter->arena);
    stk__free(augmenter);
}

stk_status stk_augmenter_open(stk_augmenter **augmenter, const stk_augment_options *options, stk_error *error)
{
    if (augmenter) *augmenter = NULL;
    if (!augmenter || !options) return refuse_null("stk_augmenter_open", "an augmenter and options", error);
    const stk__sized sized = {"stk_augment_options", FIRST_OPTIONS_BYTES, sizeof(stk_augment_options)};
    stk_augment_options given;
    STK__TRY(stk__sized_take(&given, options, &sized, error));
    stk_augmenter *made = stk__alloc(sizeof *made);
    if (!made) return stk__fail_memory(error, sizeof *made, "an augmenter");
    const stk_status status = stk__augmenter_configure(made, &given, error);
    if (status == STK_OK)
        *augmenter = made;
    else
        destroy(made);
    return status;
}

void stk_augmenter_close(stk_augmenter **augmenter)
{
    if (!augmenter || !*augmenter) return;
    destroy(*augmenter);
    *augmenter = NULL;
}

static stk_status apply(stk_augmenter *augmenter, const stk_augment_io *io, stk_error *error)
{
    stk__augmenter_call call;
    STK__TRY(stk__augmenter_call_open(&call, augmenter, io, error));
    stk__augmenter_draw(&call);
    stk__augmenter_mix(&call);
    return stk__augmenter_run(&call, error);
}

stk_status stk_augmenter_apply(stk_augmenter *augmenter, const stk_augment_io *io, stk_error *error)
{
    if (!augmenter || !io) return refuse_null("stk_augmenter_apply", "an augmenter and io", error);
    const stk__sized sized = {"stk_augment_io", FIRST_IO_BYTES, sizeof(stk_augment_io)};
    stk_augment_io given;
    STK__TRY(stk__sized_take(&given, io, &sized, error));
    if (atomic_exchange(&augmenter->busy, true)) {
        stk__fail(error, STK_ERROR_ARGUMENT,
                  "the augmenter is in use by another call of stk_augmenter_apply");
        stk__error_hint(error, "open one for each thread, or call one after the other");
        return STK_ERROR_ARGUMENT;
    }
    const stk_status status = apply(augmenter, &given, error);
    atomic_store(&augmenter->busy, false);
    return status;
}

const stk_loader_effect *stk_augmenter_effects(const stk_augmenter *augmenter, int *count)
{
    if (count) *count = augmenter ? augmenter->effect_count : 0;
    return augmenter && count ? augmenter->effects : NULL;
}

bool stk_augmenter_mixes(const stk_augmenter *augmenter)
{
    return augmenter && augmenter->mixes;
}

stk_status stk_augmenter_explain(const stk_augmenter *augmenter, uint64_t epoch, int64_t id,
                                 const int32_t *size, stk_augment_explanation *explanation, stk_error *error)
{
    if (!augmenter || !size || !explanation)
        return refuse_null("stk_augmenter_explain", "an augmenter, a size and an explanation", error);
    if (epoch > UINT32_MAX || id < 0 || id > UINT32_MAX)
        return stk__fail(error, STK_ERROR_ARGUMENT, "epoch %llu or id %lld is not 0 to 4294967295",
                         (unsigned long long)epoch, (long long)id);
    if (size[0] < 1 || size[1] < 1 || size[0] > UINT16_MAX || size[1] > UINT16_MAX)
        return stk__fail(error, STK_ERROR_ARGUMENT, "size is %d x %d, not 1 to 65535", size[0], size[1]);
    const stk__extent source = {size[1], size[0]};
    const stk__extent target = augmenter->size.w ? augmenter->size : source;
    const stk__extent resized = stk__plan_extent(augmenter->crops, source, augmenter->size);
    const stk__plan_at at = {.epoch = (uint32_t)epoch,
                             .sample = (uint32_t)id,
                             .source_w = resized.w,
                             .source_h = resized.h,
                             .target_w = target.w,
                             .target_h = target.h,
                             .channels = 3};
    stk__plan_trace trace;
    stk__resolved resolved;
    stk__plan_resolve(augmenter->plan, &at, &resolved, &trace);
    *explanation =
        (stk_augment_explanation){.mirrored = stk__resolved_mirrors(&resolved), .fact_count = trace.count};
    for (int i = 0; i < 6; i++) { /* points of the source go by way of those of what it is resized to */
        const double scale = i % 3 == 0   ? (double)resized.w / source.w
                             : i % 3 == 1 ? (double)resized.h / source.h
                                          : 1;
        explanation->forward[i] = resolved.forward[i] * scale;
    }
    for (int i = 0; i < trace.count; i++)
        explanation->facts[i] =
            (stk_augment_fact){trace.facts[i].operation, trace.facts[i].what, trace.facts[i].value};
    return STK_OK;
}
