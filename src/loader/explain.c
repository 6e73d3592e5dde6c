/* SPDX-License-Identifier: Apache-2.0 */
/* `stoker explain`: repeats for one sample what its worker would draw in an epoch and returns the numbers,
 * without touching the stream. Of the image it reads the header only, with a worker of its own, in the
 * caller's thread. */
#include "loader/explain.h"

#include "loader/pump.h"
#include "loader/sample_plan.h"

static stk_status check(const stk_loader *loader, uint64_t id, stk_error *error)
{
    if (!loader->recipe.plan) {
        stk__fail(error, STK_ERROR_ARGUMENT, "nothing is augmented here");
        stk__error_hint(error, loader->source->info.images ? "try augment.preset=strong"
                                                           : "this data set has no images");
        return STK_ERROR_ARGUMENT;
    }
    if (id < loader->source->info.count) return STK_OK;
    return stk__fail(error, STK_ERROR_ARGUMENT, "there is no sample %llu; ids go from 0 to %llu",
                     (unsigned long long)id, (unsigned long long)loader->source->info.count - 1);
}

stk_status stk__loader_explain(stk_loader *loader, uint64_t epoch, uint64_t id, stk__explanation *out,
                               stk_error *error)
{
    *out = (stk__explanation){0};
    STK__TRY(check(loader, id, error));
    const stk__source *source = loader->source;
    source->ops->where(source, id, STK_FIELD_IMAGE, out->path, sizeof out->path);
    stk__worker worker = {.name = "explain"};
    stk__picture picture = {0};
    stk_status status = stk__worker_init(&worker, &loader->recipe, error);
    if (status == STK_OK) {
        status = stk__worker_peek(&worker, id, &picture);
        if (status != STK_OK && error) *error = worker.error;
    }
    if (status == STK_OK) {
        out->stored_w = picture.w;
        out->stored_h = picture.h;
        out->at = stk__sample_plan_at(&loader->recipe, (stk__extent){picture.w, picture.h}, epoch, id);
        stk__plan_resolve(loader->recipe.plan, &out->at, &out->resolved, &out->trace);
        out->swaps = loader->recipe.flip.on && stk__resolved_mirrors(&out->resolved);
    }
    stk__worker_fini(&worker);
    return status;
}
