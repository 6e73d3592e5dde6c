/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of a call: what is drawn for each sample by (seed, epoch, id), where its points go, which side
 * its label has, and how pairs are mixed. Cheap beside the pixels: done in the caller's thread. */
#include "augmenter/augmenter.h"

#include <string.h>

static bool is_there(const stk_tensor *tensor)
{
    return tensor->dtype != STK_DTYPE_NONE;
}

/* Values of one sample in a dense tensor. */
static size_t row_length(const stk_tensor *tensor)
{
    size_t length = 1;
    for (int i = 1; i < tensor->ndim; i++)
        length *= (size_t)tensor->shape[i];
    return length;
}

static float *floats_at(const stk_tensor *tensor, size_t item)
{
    return (float *)tensor->data + item * row_length(tensor);
}

static void move_points(const stk__augmenter_call *call, size_t item, const stk__resolved *resolved,
                        const stk__plan_at *at)
{
    const stk_augment_io *io = call->io;
    const stk__augmenter_sample *sample = &call->samples[item];
    const int32_t count = (int32_t)io->points.shape[1];
    float *points = floats_at(&io->out_points, item);
    memcpy(points, floats_at(&io->points, item), row_length(&io->points) * sizeof *points);
    stk__points_scale(points, count, (stk__extent){sample->image.w, sample->image.h}, sample->resized);
    stk__plan_points(resolved, at, points, count);
    if (sample->swaps) stk__flip_points(&call->augmenter->flip, points);
}

/* Pairs of classes are those of masks, where there are masks. */
static void copy_label(const stk__augmenter_call *call, size_t item)
{
    const stk_augment_io *io = call->io;
    const stk__flip *flip = &call->augmenter->flip;
    const bool swaps = call->samples[item].swaps && !call->masks;
    if (io->labels.dtype == STK_DTYPE_I64) {
        const int64_t label = ((const int64_t *)io->labels.data)[item];
        ((int64_t *)io->out_labels.data)[item] = swaps ? stk__flip_label(flip, label) : label;
        return;
    }
    float *to = floats_at(&io->out_labels, item);
    memcpy(to, floats_at(&io->labels, item), row_length(&io->labels) * sizeof *to);
    if (swaps && io->labels.ndim == 2) stk__flip_set(flip, to);
}

void stk__augmenter_draw(stk__augmenter_call *call)
{
    const stk_augmenter *augmenter = call->augmenter;
    const stk_augment_io *io = call->io;
    for (size_t i = 0; i < call->count; i++) {
        stk__augmenter_sample *sample = &call->samples[i];
        const stk__extent size = {sample->image.w, sample->image.h};
        stk__resolved resolved;
        sample->id = io->ids ? (uint32_t)io->ids[i] : (uint32_t)i;
        sample->resized = stk__plan_extent(augmenter->crops, size, augmenter->size);
        const stk__plan_at at = {.epoch = call->epoch,
                                 .sample = sample->id,
                                 .source_w = sample->resized.w,
                                 .source_h = sample->resized.h,
                                 .target_w = call->target.w,
                                 .target_h = call->target.h,
                                 .channels = call->target.channels};
        stk__plan_resolve(augmenter->plan, &at, &resolved, NULL);
        call->blocks[i] = resolved.block;
        sample->swaps = augmenter->flip.on && stk__resolved_mirrors(&resolved);
        if (is_there(&io->points)) move_points(call, i, &resolved, &at);
        if (is_there(&io->labels)) copy_label(call, i);
    }
}

/* Both partners get the same lambda; classes each other's as the second, other labels are mixed. */
static void mix_facts(const stk__augmenter_call *call, size_t a, size_t b, float lambda)
{
    const stk_augment_io *io = call->io;
    if (is_there(&io->out_lambda)) *floats_at(&io->out_lambda, a) = *floats_at(&io->out_lambda, b) = lambda;
    if (is_there(&io->out_labels2)) {
        const int64_t *first = io->out_labels.data;
        int64_t *second = io->out_labels2.data;
        second[a] = first[b];
        second[b] = first[a];
    }
    if (a != b && io->labels.dtype == STK_DTYPE_F32)
        stk__mix_blend(floats_at(&io->out_labels, a), floats_at(&io->out_labels, b), row_length(&io->labels),
                       STK_DTYPE_F32, lambda);
}

static void leave_alone(stk__augmenter_call *call, size_t item)
{
    const stk__mix none = {.kind = STK_MIX_NONE, .lambda = 1};
    mix_facts(call, item, item, 1);
    if (call->mask2) call->mixes[call->mix_count++] = stk__mix_entry(&none, (uint32_t)item, (uint32_t)item);
}

/* The sample at the even place draws for both; the last of an odd number has no partner. */
void stk__augmenter_mix(stk__augmenter_call *call)
{
    const stk__augment_target *target = &call->target;
    for (size_t a = 0; a < call->count; a += 2) {
        const size_t b = a + 1;
        stk__mix mix = {.kind = STK_MIX_NONE, .lambda = 1};
        if (b < call->count && call->augmenter->mixes)
            mix =
                stk__plan_mix(call->augmenter->plan, call->epoch, call->samples[a].id, target->w, target->h);
        if (mix.kind == STK_MIX_NONE) {
            leave_alone(call, a);
            if (b < call->count) leave_alone(call, b);
            continue;
        }
        mix_facts(call, a, b, mix.lambda);
        call->mixes[call->mix_count++] = stk__mix_entry(&mix, (uint32_t)a, (uint32_t)b);
    }
}
