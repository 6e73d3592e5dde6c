/* SPDX-License-Identifier: Apache-2.0 */
/* Images and masks that lie in the memory of the device: it reads them itself (kernel_gather.h), after the
 * host has said where their values are. What is no pixel is recorded there, the first value of each image and
 * mask, and becomes the message that reading on the host has. Threads: the caller's. */
#include "augmenter/augmenter.h"

#include <string.h>

static stk__kernel_values values_of(const stk__pixel_source *source, size_t to)
{
    if (!source->data) return (stk__kernel_values){0};
    return (stk__kernel_values){.from = source->data,
                                .row_bytes = source->row_bytes,
                                .pixel_bytes = source->pixel_bytes,
                                .channel_bytes = source->channel_bytes,
                                .to = to,
                                .kind = source->dtype == STK_DTYPE_F32   ? STK_KERNEL_VALUES_F32
                                        : source->dtype == STK_DTYPE_I64 ? STK_KERNEL_VALUES_I64
                                                                         : STK_KERNEL_VALUES_U8,
                                .channels = source->channels};
}

stk_status stk__augmenter_sources(stk__augmenter_call *call, const stk__kernel_gather **sources,
                                  stk_error *error)
{
    stk__buffer *room = &call->augmenter->sources;
    STK__TRY(stk__buffer_reserve(room, call->count * sizeof(stk__kernel_gather), error));
    stk__kernel_gather *made = (stk__kernel_gather *)(void *)room->data;
    for (size_t i = 0; i < call->count; i++) {
        const stk__augmenter_sample *sample = &call->samples[i];
        made[i] = (stk__kernel_gather){.image = values_of(&sample->image, sample->image_offset),
                                       .mask = values_of(&sample->mask, sample->mask_offset),
                                       .w = sample->image.w,
                                       .h = sample->image.h,
                                       .swaps = sample->swaps && call->augmenter->flip.masks.count};
    }
    *sources = made;
    return STK_OK;
}

/* number: of the value, in the order of the dense bytes. */
static stk_status refuse_value(const stk__augmenter_call *call, const stk__pixel_source *source,
                               uint32_t number, stk_error *error)
{
    const uint32_t pixel = number / (uint32_t)source->channels;
    stk__wrong_value wrong = {.y = (int32_t)(pixel / (uint32_t)source->w),
                              .x = (int32_t)(pixel % (uint32_t)source->w)};
    const bool level = source->dtype == STK_DTYPE_F32;
    const stk__device_copy copy = {.to = level ? (void *)&wrong.level : (void *)&wrong.id,
                                   .from = source->data + wrong.y * source->row_bytes +
                                           wrong.x * source->pixel_bytes +
                                           number % (uint32_t)source->channels * source->channel_bytes,
                                   .bytes = level ? sizeof wrong.level : sizeof wrong.id};
    STK__TRY(stk__device_fetch(call->augmenter->kept, &copy, error));
    return stk__pixel_source_refuse(source, &wrong, error);
}

stk_status stk__augmenter_judge_sources(const stk__augmenter_call *call, stk_error *error)
{
    const uint32_t *wrong = call->augmenter->kept->wrong;
    for (size_t i = 0; i < call->count; i++) {
        const stk__augmenter_sample *sample = &call->samples[i];
        if (wrong[2 * i] != UINT32_MAX) return refuse_value(call, &sample->image, wrong[2 * i], error);
        if (wrong[2 * i + 1] != UINT32_MAX) return refuse_value(call, &sample->mask, wrong[2 * i + 1], error);
    }
    return STK_OK;
}
