/* SPDX-License-Identifier: Apache-2.0 */
/* Samples of a batch, alone, blanked or in pairs, by the plain functions of mix.c; masks by copies. */
#include "ptx/ptx_mixing.h"

#include "core/random.h"
#include "device/mix.h"

#include <string.h>

enum { GUARD_BYTES = 64, RUBBISH = 0xA5, BLANK_ID = 255 };

/* A batch as the reference sees it: sample i of image, mask and mask2. */
typedef struct parts {
    const stk__augment_target *target;
    uint8_t *image, *mask, *mask2;  /* mask, mask2: NULL: none */
    size_t image_bytes, mask_bytes; /* of one sample */
} parts;

static void keep_second(const parts *p, uint32_t to, uint32_t from)
{
    if (p->mask2) memcpy(p->mask2 + to * p->mask_bytes, p->mask + from * p->mask_bytes, p->mask_bytes);
}

static void write_ids(const parts *p, uint8_t *ids, uint8_t id)
{
    if (!ids) return;
    const size_t id_bytes = (size_t)stk_dtype_bytes(p->target->mask_dtype);
    memset(ids, 0, p->mask_bytes);
    for (size_t at = 0; at < p->mask_bytes; at += id_bytes)
        ids[at] = id;
}

static void blank(const parts *p, uint32_t a)
{
    memset(p->image + a * p->image_bytes, 0, p->image_bytes);
    if (!p->mask) return;
    write_ids(p, p->mask + a * p->mask_bytes, BLANK_ID);
    if (p->mask2) write_ids(p, p->mask2 + a * p->mask_bytes, BLANK_ID);
}

static void paste(const parts *p, const stk__kernel_mix *mix)
{
    const stk__augment_target *const t = p->target;
    const size_t value_bytes = (size_t)stk_dtype_bytes(t->dtype);
    stk__mix_box box = {mix->x, mix->y, mix->w, mix->h, t->w, t->h, t->planar ? t->channels : 1, value_bytes};
    if (!t->planar) box.pixel_bytes *= (size_t)t->channels;
    stk__mix_swap(p->image + mix->a * p->image_bytes, p->image + mix->b * p->image_bytes, &box);
    if (!p->mask) return;
    box.planes = 1;
    box.pixel_bytes = (size_t)stk_dtype_bytes(t->mask_dtype);
    stk__mix_swap(p->mask + mix->a * p->mask_bytes, p->mask + mix->b * p->mask_bytes, &box);
    keep_second(p, mix->a, mix->a);
    keep_second(p, mix->b, mix->b);
}

static void blend(const parts *p, const stk__kernel_mix *mix)
{
    const size_t values = p->image_bytes / (size_t)stk_dtype_bytes(p->target->dtype);
    stk__mix_blend(p->image + mix->a * p->image_bytes, p->image + mix->b * p->image_bytes, values,
                   p->target->dtype, mix->lambda);
    if (!p->mask) return;
    keep_second(p, mix->a, mix->b);
    keep_second(p, mix->b, mix->a);
}

static void expect(const parts *p, const stk__kernel_mix *mix)
{
    if (mix->kind == STK_KERNEL_MIX_BLANK) blank(p, mix->a);
    if (mix->kind == STK_KERNEL_MIX_PASTE) paste(p, mix);
    if (mix->kind == STK_KERNEL_MIX_BLEND) blend(p, mix);
    if (mix->kind == STK_KERNEL_MIX_ALONE && p->mask) keep_second(p, mix->a, mix->a);
}

/* Pairs of neighbours, or one alone. */
static void draw_mixes(ptx_mix_trial *mix, const stk__augment_batch *batch, uint64_t seed)
{
    uint32_t count = 0;
    for (uint32_t place = 0; place < batch->count && count < PTX_MOST_MIXES; place++) {
        const stk__random draw = stk__random_draw((stk__random_at){.seed = seed, .sample = place});
        const uint32_t *const w = draw.word;
        const bool pair = place + 1 < batch->count && w[0] % 4;
        stk__kernel_mix made = {.kind = w[0] % 8 < 4 ? STK_KERNEL_MIX_ALONE : STK_KERNEL_MIX_BLANK};
        if (pair) made.kind = w[1] % 2 ? STK_KERNEL_MIX_BLEND : STK_KERNEL_MIX_PASTE;
        made.a = w[3] % 2 ? place : place + pair;
        made.b = pair ? (w[3] % 2 ? place + 1 : place) : place;
        made.lambda = w[2] % 4 ? stk__random_unit(w[2]) : 0.5f; /* a half: ties when rounding */
        made.x = (int32_t)(w[1] >> 8) % batch->target.w;
        made.y = (int32_t)(w[2] >> 8) % batch->target.h;
        made.w = (int32_t)(w[3] >> 8) % (batch->target.w - made.x + 1);
        made.h = (int32_t)(w[3] >> 16) % (batch->target.h - made.y + 1);
        mix->mixes[count++] = made;
        place += pair;
    }
    mix->mixing.count = count;
    mix->mixing.mixes = mix->mixes;
}

/* The bytes of the values as bytes of images, which the GPU mixes, too. */
static void become_bytes(stk__trial *trial)
{
    trial->image_bytes /= (size_t)stk_dtype_bytes(trial->batch.target.dtype);
    trial->batch.target.dtype = STK_DTYPE_U8;
}

stk_status ptx_mix_trial_make(ptx_mix_trial *mix, stk__trial *trial, uint64_t seed, stk_error *error)
{
    if (seed % 5 == 4) become_bytes(trial);
    const stk__augment_batch *const batch = &trial->batch;
    const bool second = trial->mask_bytes && seed % 3;
    const size_t all = trial->mask_bytes + 2 * GUARD_BYTES;
    STK__TRY(stk__buffer_reserve(&mix->mask2, all, error));
    STK__TRY(stk__buffer_reserve(&mix->expected_mask2, all, error));
    mix->mask2.size_bytes = mix->expected_mask2.size_bytes = all;
    memset(mix->mask2.data, RUBBISH, all);
    memset(mix->expected_mask2.data, RUBBISH, all);
    mix->mixing = (ptx_mixing){.batch = batch, .mask2 = second ? mix->mask2.data + GUARD_BYTES : NULL};
    draw_mixes(mix, batch, seed);
    memcpy(trial->output.data, trial->expected.data, trial->output.size_bytes); /* the samples are finished */
    const parts p = {.target = &batch->target,
                     .image = trial->expected_image,
                     .mask = trial->mask_bytes ? trial->expected_mask : NULL,
                     .mask2 = second ? mix->expected_mask2.data + GUARD_BYTES : NULL,
                     .image_bytes = trial->image_bytes / batch->count,
                     .mask_bytes = trial->mask_bytes / batch->count};
    for (uint32_t i = 0; i < mix->mixing.count; i++)
        expect(&p, &mix->mixes[i]);
    return STK_OK;
}

void ptx_mix_trial_fini(ptx_mix_trial *mix)
{
    stk__buffer_fini(&mix->mask2);
    stk__buffer_fini(&mix->expected_mask2);
    *mix = (ptx_mix_trial){0};
}

bool ptx_mix_trial_matches(const ptx_mix_trial *mix)
{
    return memcmp(mix->mask2.data, mix->expected_mask2.data, mix->mask2.size_bytes) == 0;
}
