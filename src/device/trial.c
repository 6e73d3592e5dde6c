/* SPDX-License-Identifier: Apache-2.0 */
/* Random batches for testing a device: sizes, matrices, colour steps, types and layouts are drawn from a
 * seed (SplitMix64), the reference computes what must come out, and the comparison also looks at guard
 * bytes around the output. */
#include "device/trial.h"

#include <math.h>
#include <string.h>

enum { GUARD_BYTES = 64, RUBBISH = 0xA5, MOST_SAMPLES = 4 };

typedef struct dice {
    uint64_t state;
} dice;

static uint32_t roll(dice *d, uint32_t sides) /* splitmix64 */
{
    d->state += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t z = d->state;
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return (uint32_t)((z ^ z >> 31) >> 32) % sides;
}

static float roll_between(dice *d, float low, float high)
{
    return low + (high - low) * ((float)roll(d, 1 << 20) / (float)(1 << 20));
}

static int32_t roll_side(dice *d, int32_t most)
{
    return roll(d, 6) == 0 ? 1 : 1 + (int32_t)roll(d, (uint32_t)most);
}

/* Flips and copies, turns with scaling, and now and then something far outside. */
static void roll_matrix(dice *d, float matrix[6], int32_t w, int32_t h)
{
    const uint32_t kind = roll(d, 8);
    const float angle = kind < 3 ? 0 : roll_between(d, -3.2f, 3.2f);
    const float zoom = kind < 3 ? 1 : roll_between(d, 0.3f, 3);
    const float c = cosf(angle) * zoom, s = sinf(angle) * zoom, turn = kind == 1 ? -1 : 1;
    const float rolled[6] = {turn * c, -s, roll_between(d, 0, (float)w), s, c, roll_between(d, 0, (float)h)};
    memcpy(matrix, rolled, sizeof rolled);
    if (kind < 3) matrix[2] = kind == 1 ? (float)w - 0.5f : -0.5f, matrix[5] = -0.5f;
    if (kind == 7) matrix[roll(d, 6)] = roll_between(d, -1e9f, 1e9f);
}

static void roll_steps(dice *d, stk__augment_block *block)
{
    bool contrast = false;
    block->step_count = (int32_t)roll(d, STK_AUGMENT_STEPS + 1);
    for (int32_t s = 0; s < block->step_count; s++) {
        const uint32_t kind = roll(d, STK_COLOUR_COUNT);
        const bool second = contrast && kind == STK_COLOUR_CONTRAST;
        block->step_kind[s] = second ? STK_COLOUR_BRIGHTNESS : (int32_t)kind;
        contrast |= kind == STK_COLOUR_CONTRAST;
        block->step_value[s] =
            block->step_kind[s] == STK_COLOUR_HUE ? roll_between(d, -0.5f, 0.5f) : roll_between(d, 0, 2.5f);
    }
}

static void roll_blur(dice *d, stk__augment_block *block)
{
    float sum = 0;
    block->blur_radius = roll(d, 2) ? 0 : 1 + (int32_t)roll(d, STK_AUGMENT_RADIUS);
    for (int32_t r = block->blur_radius; r >= 0; r--) {
        block->blur_weight[r] = roll_between(d, 0.1f, 1);
        sum += r ? 2 * block->blur_weight[r] : block->blur_weight[r];
    }
    for (int32_t r = 0; r <= STK_AUGMENT_RADIUS; r++)
        block->blur_weight[r] /= sum;
}

static void roll_block(dice *d, stk__augment_block *block, const stk_view *source,
                       const stk__augment_target *target)
{
    *block = (stk__augment_block){.mask_fill = (int32_t)roll(d, 256)};
    roll_matrix(d, block->matrix, source->w, source->h);
    for (int c = 0; c < 3; c++)
        block->fill[c] = (int32_t)roll(d, 255 * STK_AUGMENT_LEVEL + 1);
    if (roll(d, 4)) roll_steps(d, block);
    roll_blur(d, block);
    if (roll(d, 2)) block->noise_std = roll_between(d, 0.1f, 40);
    block->noise_key[0] = roll(d, UINT32_MAX);
    block->noise_key[1] = roll(d, UINT32_MAX);
    block->noise_epoch = roll(d, 100);
    block->noise_sample = roll(d, UINT32_MAX);
    if (roll(d, 2)) return;
    block->erase_x = (int32_t)roll(d, (uint32_t)target->w);
    block->erase_y = (int32_t)roll(d, (uint32_t)target->h) - 2;
    block->erase_w = (int32_t)roll(d, (uint32_t)target->w + 1);
    block->erase_h = (int32_t)roll(d, (uint32_t)target->h + 1);
}

static stk__augment_target roll_target(dice *d, int32_t most_side)
{
    static const stk_dtype dtypes[] = {STK_DTYPE_F32, STK_DTYPE_F16, STK_DTYPE_BF16};
    stk__augment_target target = {.w = roll_side(d, most_side),
                                  .h = roll_side(d, most_side),
                                  .channels = roll(d, 3) ? 3 : 1,
                                  .dtype = dtypes[roll(d, 3)],
                                  .mask_dtype = roll(d, 2) ? STK_DTYPE_U8 : STK_DTYPE_I64,
                                  .planar = roll(d, 2)};
    const bool tiny = roll(d, 8) == 0; /* so that halves become subnormal */
    for (int c = 0; c < 3; c++) {
        target.scale[c] = tiny ? 1e-8f : roll_between(d, -0.1f, 0.1f);
        target.bias[c] = tiny ? 0 : roll_between(d, -2, 2);
    }
    return target;
}

/* The next place in the arena, after a gap. */
static stk_view roll_place(dice *d, size_t *used, int32_t w, int32_t h, int32_t channels)
{
    const uint64_t pitch = (uint64_t)w * (uint64_t)channels + roll(d, 2) * roll(d, 40);
    const stk_view view = {*used + roll(d, 9), pitch, w, h, channels};
    *used = (size_t)(view.offset_bytes + pitch * (uint64_t)h);
    return view;
}

static void roll_samples(dice *d, stk__trial *trial, int32_t most_side, bool masked)
{
    stk__augment_block *blocks = (stk__augment_block *)(void *)trial->blocks.data;
    stk_view *images = (stk_view *)(void *)trial->images.data, *masks = (stk_view *)(void *)trial->masks.data;
    stk__augment_batch *batch = &trial->batch;
    for (uint64_t i = 0; i < batch->count; i++) {
        const int32_t w = roll_side(d, most_side), h = roll_side(d, most_side);
        images[i] = roll_place(d, &batch->arena_bytes, w, h, batch->target.channels);
        masks[i] = roll_place(d, &batch->arena_bytes, w, h, 1);
        roll_block(d, &blocks[i], &images[i], &batch->target);
        if (roll(d, 12) == 0) images[i] = masks[i] = (stk_view){0}; /* a skipped sample */
    }
    batch->blocks = blocks;
    batch->images = images;
    batch->masks = masked || roll(d, 2) ? masks : NULL;
}

static stk__pixels pixels_of(const stk__augment_batch *batch, const stk_view *views, uint64_t i,
                             int32_t channels)
{
    if (!views || views[i].w == 0) return (stk__pixels){.channels = channels};
    return (stk__pixels){(uint8_t *)batch->arena + views[i].offset_bytes, views[i].pitch_bytes, views[i].w,
                         views[i].h, channels};
}

static stk_status expect(stk__trial *trial, stk_error *error)
{
    const stk__augment_batch *batch = &trial->batch;
    for (uint64_t i = 0; i < batch->count; i++) {
        stk__augment_target target = batch->target;
        target.image = trial->expected_image + i * (trial->image_bytes / batch->count);
        target.mask =
            trial->mask_bytes ? trial->expected_mask + i * (trial->mask_bytes / batch->count) : NULL;
        const stk__augment_source source = {pixels_of(batch, batch->images, i, target.channels),
                                            pixels_of(batch, batch->masks, i, 1)};
        STK__TRY(stk__augment_c(&batch->blocks[i], &source, &target, &trial->scratch, error));
    }
    return STK_OK;
}

static stk_status reserve(stk__trial *trial, uint64_t count, stk_error *error)
{
    STK__TRY(stk__buffer_reserve(&trial->blocks, count * sizeof(stk__augment_block), error));
    STK__TRY(stk__buffer_reserve(&trial->images, count * sizeof(stk_view), error));
    return stk__buffer_reserve(&trial->masks, count * sizeof(stk_view), error);
}

static size_t place_mask(const stk__trial *trial) /* behind the image and a guard; aligned */
{
    return (trial->image_bytes + 2 * GUARD_BYTES - 1) / GUARD_BYTES * GUARD_BYTES;
}

static stk_status reserve_output(stk__trial *trial, bool masked, stk_error *error)
{
    stk__augment_target *target = &trial->batch.target;
    const size_t pixels = (size_t)trial->batch.count * (size_t)target->w * (size_t)target->h;
    trial->image_bytes = pixels * (size_t)target->channels * (size_t)stk_dtype_bytes(target->dtype);
    trial->mask_bytes = masked ? pixels * (size_t)stk_dtype_bytes(target->mask_dtype) : 0;
    const size_t mask_at = place_mask(trial), all = mask_at + trial->mask_bytes + GUARD_BYTES;
    STK__TRY(stk__buffer_reserve(&trial->output, all, error));
    STK__TRY(stk__buffer_reserve(&trial->expected, all, error));
    trial->output.size_bytes = trial->expected.size_bytes = all;
    target->image = trial->output.data;
    target->mask = masked ? trial->output.data + mask_at : NULL;
    trial->expected_image = trial->expected.data;
    trial->expected_mask = trial->expected.data + mask_at;
    memset(trial->expected.data, RUBBISH, all);
    stk__trial_spoil(trial);
    return STK_OK;
}

stk_status stk__trial_make(stk__trial *trial, uint64_t seed, int32_t most_side, stk_error *error)
{
    dice d = {seed};
    trial->batch = (stk__augment_batch){.count = 1 + roll(&d, MOST_SAMPLES)};
    trial->batch.target = roll_target(&d, most_side);
    STK__TRY(reserve(trial, trial->batch.count, error));
    const bool masked = roll(&d, 4) != 0;
    roll_samples(&d, trial, most_side, masked);
    STK__TRY(stk__buffer_reserve(&trial->arena, trial->batch.arena_bytes + 1, error));
    for (size_t i = 0; i < trial->batch.arena_bytes; i++)
        trial->arena.data[i] = (uint8_t)roll(&d, 256);
    trial->batch.arena = trial->arena.data;
    STK__TRY(reserve_output(trial, masked, error));
    return expect(trial, error);
}

void stk__trial_spoil(stk__trial *trial)
{
    memset(trial->output.data, RUBBISH, trial->output.size_bytes);
}

static void compare_part(stk__trial_result *result, const uint8_t *got, const uint8_t *expected, size_t bytes,
                         size_t value_bytes)
{
    for (size_t at = 0; at < bytes; at += value_bytes) {
        result->values++;
        if (memcmp(got + at, expected + at, value_bytes) == 0) continue;
        if (!result->differing++) result->first = at;
    }
}

stk__trial_result stk__trial_compare(const stk__trial *trial)
{
    stk__trial_result result = {0};
    const stk__augment_target *target = &trial->batch.target;
    compare_part(&result, target->image, trial->expected_image, trial->image_bytes,
                 (size_t)stk_dtype_bytes(target->dtype));
    if (trial->mask_bytes)
        compare_part(&result, target->mask, trial->expected_mask, trial->mask_bytes,
                     (size_t)stk_dtype_bytes(target->mask_dtype));
    result.overrun =
        !result.differing && memcmp(trial->output.data, trial->expected.data, trial->output.size_bytes) != 0;
    return result;
}

void stk__trial_fini(stk__trial *trial)
{
    stk__buffer *const buffers[] = {&trial->blocks, &trial->images,   &trial->masks,  &trial->arena,
                                    &trial->output, &trial->expected, &trial->scratch};
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++)
        stk__buffer_fini(buffers[i]);
    *trial = (stk__trial){0};
}
