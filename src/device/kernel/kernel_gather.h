/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel source: images and masks of a caller's, in the device's memory, as the dense bytes of an arena that
 * stk_augment reads. The bytes of augmenter/pixel_source.h. Not in OpenCL, whose arenas come from the host.
 */
#if !defined(__OPENCL_VERSION__)

/* The level of the float with these bits; 256: it is outside 0 to 1, or NaN. As pixel_rows.c has it: the bits
 * of 0 to 1 are not above those of 1, but for -0, and 8 units in the last place more may come of rounding. */
STK_FUNCTION uint32_t level_of_bits(uint32_t bits)
{
    if (bits > 0x3f800008u && bits != 0x80000000u) return 256;
    return (uint32_t)(int32_t)(STK_FLOAT(bits) * 255 + 0.5f);
}

/* 256: no byte can hold it. */
STK_FUNCTION uint32_t byte_of_id(uint64_t id)
{
    return id > 255 ? 256 : (uint32_t)id;
}

STK_FUNCTION uint32_t read_value(STK_GLOBAL const uint8_t *at, int32_t kind)
{
    if (kind == STK_KERNEL_VALUES_F32)
        return level_of_bits(*(STK_GLOBAL const uint32_t *)(STK_GLOBAL const void *)at);
    if (kind == STK_KERNEL_VALUES_I64)
        return byte_of_id(*(STK_GLOBAL const uint64_t *)(STK_GLOBAL const void *)at);
    return *at;
}

#if defined(__CUDACC_RTC__)
#define STK_ROLLED _Pragma("unroll 1")
#else
#define STK_ROLLED
#endif

typedef struct spot {
    int32_t x, y;
    uint32_t pixel; /* its number in the image */
} spot;

/* All channels of one pixel. table: what ids become; NULL: they stay. wrong: the first value that no byte can
 * hold, counted in the order of the bytes. */
STK_FUNCTION void gather_values(const stk__kernel_values v, STK_GLOBAL uint8_t *arena,
                                STK_GLOBAL const uint8_t *table, STK_GLOBAL uint32_t *wrong, spot at)
{
    STK_GLOBAL const uint8_t *from = v.from + at.y * v.row_bytes + at.x * v.pixel_bytes;
    const uint32_t first = at.pixel * (uint32_t)v.channels;
    STK_GLOBAL uint8_t *to = arena + v.to + first;
    STK_ROLLED
    for (int32_t c = 0; c < v.channels; c++, from += v.channel_bytes) {
        uint32_t value = read_value(from, v.kind);
        if (value > 255) {
            STK_LOWER_SHARED(wrong, first + (uint32_t)c);
            value = 0;
        }
        to[c] = table ? table[value] : (uint8_t)value;
    }
}

STK_FUNCTION void gather_pixel(const stk__kernel_gather_work *work, uint32_t column, uint32_t row,
                               uint32_t number, uint32_t item)
{
    STK_GLOBAL const stk__kernel_gather *source = work->sources + number;
    STK_GLOBAL uint32_t *wrong = work->wrong + 2 * number;
    spot at;
    at.x = (int32_t)(column * STK_KERNEL_TILE_W + item % STK_KERNEL_TILE_W);
    at.y = (int32_t)(row * STK_KERNEL_TILE_H + item / STK_KERNEL_TILE_W);
    if (at.x >= source->w || at.y >= source->h) return;
    at.pixel = (uint32_t)(at.y * source->w + at.x);
    gather_values(source->image, work->arena, 0, wrong, at);
    if (source->mask.from)
        gather_values(source->mask, work->arena, source->swaps ? work->table : 0, wrong + 1, at);
}

#if defined(__CUDACC_RTC__)
extern "C" __global__ void __launch_bounds__(STK_KERNEL_GROUP) stk_gather(const stk__kernel_gather_work work)
{
    gather_pixel(&work, blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x);
}
#else
static void stk_gather(const stk__kernel_gather_work *work, uint32_t column, uint32_t row, uint32_t number)
{
    for (uint32_t item = 0; item < STK_KERNEL_GROUP; item++)
        gather_pixel(work, column, row, number, item);
}
#endif

#endif
