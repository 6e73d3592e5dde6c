/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel source: MixUp, CutMix and blanks, on finished samples in the device's memory. The bits of mix.c. Not
 * in OpenCL, whose batches are finished on the host. */
#if !defined(__OPENCL_VERSION__)

STK_FUNCTION uint32_t load_bits(const stk__kernel_mix_work *work, uint64_t at)
{
    if (work->launch.dtype == STK_KERNEL_F32)
        return ((STK_GLOBAL const uint32_t *)(STK_GLOBAL void *)work->image)[at];
    if (work->launch.dtype == STK_KERNEL_U8) return work->image[at];
    return ((STK_GLOBAL const uint16_t *)(STK_GLOBAL void *)work->image)[at];
}

STK_FUNCTION void store_bits(const stk__kernel_mix_work *work, uint64_t at, uint32_t bits)
{
    if (work->launch.dtype == STK_KERNEL_F32)
        ((STK_GLOBAL uint32_t *)(STK_GLOBAL void *)work->image)[at] = bits;
    else if (work->launch.dtype == STK_KERNEL_U8)
        work->image[at] = (uint8_t)bits;
    else
        ((STK_GLOBAL uint16_t *)(STK_GLOBAL void *)work->image)[at] = (uint16_t)bits;
}

/* Halves are finite: the exponent is moved by a product, which is exact, for subnormal ones too. */
STK_FUNCTION float value_of(const stk__kernel_mix_work *work, uint32_t bits)
{
    if (work->launch.dtype == STK_KERNEL_F32) return STK_FLOAT(bits);
    if (work->launch.dtype == STK_KERNEL_BF16) return STK_FLOAT(bits << 16);
    if (work->launch.dtype == STK_KERNEL_U8) return (float)bits;
    const float size = STK_FLOAT((bits & 0x7fffu) << 13) * 5192296858534827628530496329220096.0f; /* 2^112 */
    return bits & 0x8000u ? -size : size;
}

STK_FUNCTION uint32_t bits_of(const stk__kernel_mix_work *work, float v)
{
    if (work->launch.dtype == STK_KERNEL_F32) return STK_BITS(v);
    if (work->launch.dtype == STK_KERNEL_U8) return (uint32_t)(int32_t)(v + 0.5f);
    return work->launch.dtype == STK_KERNEL_F16 ? half_from_float(v) : bfloat_from_float(v);
}

STK_FUNCTION uint32_t load_id(const stk__kernel_mix_work *work, uint64_t at)
{
    if (work->launch.mask_dtype == STK_KERNEL_MASK_I64)
        return (uint32_t)((STK_GLOBAL const int64_t *)(STK_GLOBAL void *)work->mask)[at];
    return work->mask[at];
}

STK_FUNCTION void keep_id(const stk__kernel_mix_work *work, STK_GLOBAL uint8_t *ids, uint64_t at, uint32_t id)
{
    if (!ids) return;
    if (work->launch.mask_dtype == STK_KERNEL_MASK_I64)
        ((STK_GLOBAL int64_t *)(STK_GLOBAL void *)ids)[at] = id;
    else
        ids[at] = (uint8_t)id;
}

STK_FUNCTION bool is_in_box(STK_GLOBAL const stk__kernel_mix *mix, int32_t x, int32_t y)
{
    return x >= mix->x && x < mix->x + mix->w && y >= mix->y && y < mix->y + mix->h;
}

/* One value of a and the one of b at the same place. */
STK_FUNCTION void mix_values(const stk__kernel_mix_work *work, STK_GLOBAL const stk__kernel_mix *mix,
                             uint64_t at_a, uint64_t at_b)
{
    const uint32_t a = load_bits(work, at_a), b = load_bits(work, at_b);
    if (mix->kind == STK_KERNEL_MIX_PASTE) {
        store_bits(work, at_a, b);
        store_bits(work, at_b, a);
        return;
    }
    const float rest = 1 - mix->lambda, value_a = value_of(work, a), value_b = value_of(work, b);
    store_bits(work, at_a, bits_of(work, value_a * mix->lambda + value_b * rest));
    store_bits(work, at_b, bits_of(work, value_b * mix->lambda + value_a * rest));
}

STK_FUNCTION void mix_ids(const stk__kernel_mix_work *work, STK_GLOBAL const stk__kernel_mix *mix,
                          uint64_t at_a, uint64_t at_b, bool inside)
{
    const uint32_t a = load_id(work, at_a);
    if (mix->kind == STK_KERNEL_MIX_ALONE) {
        keep_id(work, work->mask2, at_a, a);
        return;
    }
    const uint32_t b = load_id(work, at_b);
    const bool paste = mix->kind == STK_KERNEL_MIX_PASTE, swap = paste && inside;
    if (swap) {
        keep_id(work, work->mask, at_a, b);
        keep_id(work, work->mask, at_b, a);
    }
    keep_id(work, work->mask2, at_a, swap || !paste ? b : a);
    keep_id(work, work->mask2, at_b, swap || !paste ? a : b);
}

STK_FUNCTION void blank_ids(const stk__kernel_mix_work *work, uint64_t at)
{
    keep_id(work, work->mask, at, 255);
    keep_id(work, work->mask2, at, 255);
}

STK_FUNCTION void mix_pixel(const stk__kernel_mix_work *work, uint32_t column, uint32_t row, uint32_t number,
                            uint32_t item)
{
    STK_GLOBAL const stk__kernel_mix *mix = work->mixes + number;
    const int32_t x = (int32_t)(column * STK_KERNEL_TILE_W + item % STK_KERNEL_TILE_W),
                  y = (int32_t)(row * STK_KERNEL_TILE_H + item / STK_KERNEL_TILE_W);
    const int32_t channels = work->launch.channels;
    if (x >= work->launch.w || y >= work->launch.h) return;
    const uint32_t area = (uint32_t)work->launch.w * (uint32_t)work->launch.h,
                   pixel = (uint32_t)(y * work->launch.w + x);
    const uint64_t first_a = (uint64_t)mix->a * area, first_b = (uint64_t)mix->b * area;
    const bool inside = is_in_box(mix, x, y), blank = mix->kind == STK_KERNEL_MIX_BLANK,
               pair = mix->kind == STK_KERNEL_MIX_BLEND || (mix->kind == STK_KERNEL_MIX_PASTE && inside);
    const uint32_t step = work->launch.planar ? area : 1;
    uint64_t at = work->launch.planar ? pixel : (uint64_t)pixel * (uint32_t)channels;
    for (int32_t c = 0; c < channels && (blank || pair); c++, at += step) {
        if (blank)
            store_bits(work, first_a * (uint32_t)channels + at, 0);
        else
            mix_values(work, mix, first_a * (uint32_t)channels + at, first_b * (uint32_t)channels + at);
    }
    if (work->launch.mask_dtype == STK_KERNEL_MASK_NONE) return;
    if (blank)
        blank_ids(work, first_a + pixel);
    else
        mix_ids(work, mix, first_a + pixel, first_b + pixel, inside);
}

#if defined(__CUDACC_RTC__)
extern "C" __global__ void __launch_bounds__(STK_KERNEL_GROUP) stk_mix(const stk__kernel_mix_work work)
{
    mix_pixel(&work, blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x);
}
#else
static void stk_mix(const stk__kernel_mix_work *work, uint32_t column, uint32_t row, uint32_t number)
{
    for (uint32_t item = 0; item < STK_KERNEL_GROUP; item++)
        mix_pixel(work, column, row, number, item);
}
#endif

#endif
