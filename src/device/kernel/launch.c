/* SPDX-License-Identifier: Apache-2.0 */
/* From a batch to a kernel launch: every number that a kernel would trust is checked here (finite values,
 * places inside the arena, sizes that 32-bit indices can hold), then samples are packed into the structs
 * that kernel and host share. Pure functions. */
#include "device/kernel/launch.h"

#include "core/random.h"

#include <math.h>

_Static_assert((int)STK_KERNEL_NOISE_OPERATION == (int)STK_OPERATION_NOISE_PIXELS,
               "the text draws other noise");
_Static_assert(sizeof(stk__kernel_sample) == 216 && sizeof(stk__kernel_launch) == 48, "the layout has holes");
_Static_assert(sizeof(stk__kernel_mix) == 32, "the layout has holes");
_Static_assert(sizeof(stk__kernel_values) == 48 && sizeof(stk__kernel_gather) == 112, "the layout has holes");

enum { MOST_SAMPLES = 65535, MOST_ROWS = 65535, MOST_COORDINATE = 1 << 30 }; /* CUDA counts groups so far */
#define MOST_PIXELS       (UINT64_C(1) << 28) /* of one output: see add_greys and store_pixel in the text */
#define MOST_SOURCE_BYTES (UINT64_C(1) << 31) /* of one source: the text counts them in 32 bits */

static bool are_finite(const float *values, int count)
{
    for (int i = 0; i < count; i++)
        if (!isfinite(values[i])) return false;
    return true;
}

static bool is_near(int32_t v)
{
    return v >= -MOST_COORDINATE && v <= MOST_COORDINATE;
}

static const char *find_bad_steps(const stk__augment_block *block)
{
    int contrasts = 0;
    if (block->step_count < 0 || block->step_count > STK_AUGMENT_STEPS) return "step_count";
    for (int32_t s = 0; s < block->step_count; s++) {
        if (block->step_kind[s] < 0 || block->step_kind[s] >= STK_COLOUR_COUNT) return "step_kind";
        contrasts += block->step_kind[s] == STK_COLOUR_CONTRAST;
    }
    if (!are_finite(block->step_value, block->step_count)) return "step_value";
    return contrasts > 1 ? "a second contrast" : NULL;
}

/* The name of a field that makes no sense; NULL: all do. */
static const char *find_bad_field(const stk__augment_block *block)
{
    if (!are_finite(block->matrix, 6)) return "matrix";
    for (int c = 0; c < 3; c++)
        if (block->fill[c] < 0 || block->fill[c] > 255 * STK_AUGMENT_LEVEL) return "fill";
    if (block->mask_fill < 0 || block->mask_fill > 255) return "mask_fill";
    if (block->blur_radius < 0 || block->blur_radius > STK_AUGMENT_RADIUS) return "blur_radius";
    if (!are_finite(block->blur_weight, STK_AUGMENT_RADIUS + 1)) return "blur_weight";
    if (!isfinite(block->noise_std) || block->noise_std < 0) return "noise_std";
    if (!is_near(block->erase_x) || !is_near(block->erase_y)) return "the position of erase";
    if (!is_near(block->erase_w) || !is_near(block->erase_h) || block->erase_w < 0 || block->erase_h < 0)
        return "the size of erase";
    return find_bad_steps(block);
}

static bool is_in_arena(const stk_view *view, int32_t channels, size_t arena_bytes)
{
    if (view->w == 0) return true; /* no pixels: everything is filled */
    const uint64_t row = (uint64_t)view->w * (uint64_t)channels;
    if (view->w < 0 || view->h < 1 || view->channels != channels || view->pitch_bytes < row) return false;
    if (view->pitch_bytes > MOST_SOURCE_BYTES / (uint64_t)view->h) return false;
    return view->offset_bytes <= arena_bytes &&
           (uint64_t)(view->h - 1) * view->pitch_bytes + row <= arena_bytes - view->offset_bytes;
}

/* A target with masks needs one for every image, and none for samples without one. */
static bool fits_image(const stk_view *mask, const stk_view *image)
{
    return mask && mask->w == image->w && (mask->w == 0 || mask->h == image->h);
}

static stk_status check_sample(const stk__augment_batch *batch, uint64_t i, stk_error *error)
{
    const char *bad = find_bad_field(&batch->blocks[i]);
    const stk_view *image = &batch->images[i], *mask = batch->masks ? &batch->masks[i] : NULL;
    if (!bad && !is_in_arena(image, batch->target.channels, batch->arena_bytes))
        bad = "the position of the image";
    if (!bad && mask && !is_in_arena(mask, 1, batch->arena_bytes)) bad = "the position of the mask";
    if (!bad && batch->target.mask && !fits_image(mask, image)) bad = "the size of the mask";
    if (!bad) return STK_OK;
    return stk__fail(error, STK_ERROR_ARGUMENT, "invalid sample %llu in an augmentation batch: %s",
                     (unsigned long long)i, bad);
}

static const char *find_bad_target(const stk__augment_target *target)
{
    if (target->w < 1 || target->h < 1 || target->h > MOST_ROWS * STK_KERNEL_TILE_H ||
        (uint64_t)target->w * (uint64_t)target->h >= MOST_PIXELS)
        return "its size";
    if (target->channels != 1 && target->channels != 3) return "its channels";
    if (target->dtype != STK_DTYPE_F32 && target->dtype != STK_DTYPE_F16 && target->dtype != STK_DTYPE_BF16)
        return "its dtype";
    if (target->mask && target->mask_dtype != STK_DTYPE_U8 && target->mask_dtype != STK_DTYPE_I64)
        return "its mask_dtype";
    if (!are_finite(target->scale, 3) || !are_finite(target->bias, 3)) return "its scale or bias";
    return target->image ? NULL : "no memory";
}

stk_status stk__launch_check(const stk__augment_batch *batch, stk_error *error)
{
    const char *bad = find_bad_target(&batch->target);
    if (!bad && batch->count > MOST_SAMPLES) bad = "more than 65535 samples";
    if (!bad && batch->count && (!batch->blocks || !batch->images)) bad = "no blocks or views";
    if (bad) return stk__fail(error, STK_ERROR_ARGUMENT, "invalid output of an augmentation: %s", bad);
    for (uint64_t i = 0; i < batch->count; i++)
        STK__TRY(check_sample(batch, i, error));
    return STK_OK;
}

static stk__kernel_place place_of(const stk_view *view)
{
    if (!view || view->w == 0) return (stk__kernel_place){0};
    return (stk__kernel_place){.offset_low = (uint32_t)view->offset_bytes,
                               .offset_high = (uint32_t)(view->offset_bytes >> 32),
                               .pitch_bytes = (uint32_t)view->pitch_bytes,
                               .w = view->w,
                               .h = view->h};
}

static int32_t find_contrast(const stk__augment_block *block)
{
    for (int32_t s = 0; s < block->step_count; s++)
        if (block->step_kind[s] == STK_COLOUR_CONTRAST) return s;
    return -1;
}

static stk__kernel_launch text_of(const stk__augment_target *target)
{
    stk__kernel_launch text = {
        .w = target->w, .h = target->h, .channels = target->channels, .planar = target->planar};
    text.dtype = target->dtype == STK_DTYPE_F32   ? STK_KERNEL_F32
                 : target->dtype == STK_DTYPE_U8  ? STK_KERNEL_U8
                 : target->dtype == STK_DTYPE_F16 ? STK_KERNEL_F16
                                                  : STK_KERNEL_BF16;
    text.mask_dtype = !target->mask                         ? STK_KERNEL_MASK_NONE
                      : target->mask_dtype == STK_DTYPE_I64 ? STK_KERNEL_MASK_I64
                                                            : STK_KERNEL_MASK_U8;
    for (int c = 0; c < 3; c++) {
        text.scale[c] = target->scale[c];
        text.bias[c] = target->bias[c];
    }
    return text;
}

stk__launch stk__launch_make(const stk__augment_batch *batch, stk__kernel_sample *samples)
{
    const stk__augment_target *target = &batch->target;
    const size_t pixels = (size_t)batch->count * (size_t)target->w * (size_t)target->h;
    stk__launch launch = {
        .text = text_of(target),
        .columns = (uint32_t)((target->w + STK_KERNEL_TILE_W - 1) / STK_KERNEL_TILE_W),
        .rows = (uint32_t)((target->h + STK_KERNEL_TILE_H - 1) / STK_KERNEL_TILE_H),
        .samples = (uint32_t)batch->count,
        .image_bytes = pixels * (size_t)target->channels * (size_t)stk_dtype_bytes(target->dtype),
        .mask_bytes = target->mask ? pixels * (size_t)stk_dtype_bytes(target->mask_dtype) : 0};
    for (uint64_t i = 0; i < batch->count; i++) {
        samples[i] = (stk__kernel_sample){.block = batch->blocks[i],
                                          .image = place_of(&batch->images[i]),
                                          .mask = place_of(batch->masks ? &batch->masks[i] : NULL),
                                          .contrast_step = find_contrast(&batch->blocks[i])};
        launch.grey |= samples[i].contrast_step >= 0;
    }
    return launch;
}

void stk__launch_gather_groups(const stk__kernel_gather *sources, uint32_t count, uint32_t groups[3])
{
    int32_t w = 1, h = 1;
    for (uint32_t i = 0; i < count; i++) {
        w = sources[i].w > w ? sources[i].w : w;
        h = sources[i].h > h ? sources[i].h : h;
    }
    groups[0] = ((uint32_t)w + STK_KERNEL_TILE_W - 1) / STK_KERNEL_TILE_W;
    groups[1] = ((uint32_t)h + STK_KERNEL_TILE_H - 1) / STK_KERNEL_TILE_H;
    groups[2] = count;
}
