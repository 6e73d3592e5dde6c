/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel source: a tile of one sample, phase by phase.
 *
 * Without blur every item makes its own pixel. With blur the group first makes the tile and the border that
 * the taps reach into, edges reflected, then blurs along rows, then along columns; nothing is made twice
 * inside a group, and all of it stays in local memory. */

enum {
    STK_KERNEL_EDGE_W = STK_KERNEL_TILE_W + 2 * STK_AUGMENT_RADIUS,
    STK_KERNEL_EDGE_H = STK_KERNEL_TILE_H + 2 * STK_AUGMENT_RADIUS
};

typedef struct tile_memory {
    float pixels[3][STK_KERNEL_EDGE_W * STK_KERNEL_EDGE_H]; /* rows of STK_KERNEL_TILE_W + 2 * blur_radius */
    float across[3][STK_KERNEL_TILE_W * STK_KERNEL_EDGE_H]; /* blurred along rows */
} tile_memory;

/* Computed from a sample and its number, in CUDA by one item of a group. */
typedef struct derived {
    float mean_grey; /* that contrast turns about */
    uint32_t padding;
    uint64_t image_at, mask_at; /* bytes of the samples before */
} derived;

typedef struct tile {
    STK_SAMPLE const stk__kernel_sample *sample;
    derived of_sample;
    int32_t x, y; /* of its first pixel in the output */
} tile;

STK_FUNCTION float mean_grey(STK_GLOBAL const stk__kernel_sample *sample, uint32_t area)
{
    if (sample->contrast_step < 0) return 0;
    const uint64_t sum = ((uint64_t)sample->grey_high << 12) + sample->grey_low;
    return (float)sum / ((float)area * 256);
}

STK_FUNCTION derived derive(const stk__kernel_work *work, uint32_t number)
{
    const uint32_t area = (uint32_t)work->launch.w * (uint32_t)work->launch.h,
                   value_bytes = work->launch.dtype == STK_KERNEL_F32 ? 4 : 2,
                   id_bytes = work->launch.mask_dtype == STK_KERNEL_MASK_I64 ? 8 : 1;
    const uint64_t first = (uint64_t)number * area;
    derived d;
    d.mean_grey = mean_grey(work->samples + number, area);
    d.padding = 0;
    d.image_at = first * ((uint32_t)work->launch.channels * value_bytes);
    d.mask_at = first * id_bytes;
    return d;
}

STK_FUNCTION bool is_in_output(const stk__kernel_work *work, int32_t x, int32_t y)
{
    return x < work->launch.w && y < work->launch.h;
}

STK_FUNCTION int32_t reflect(int32_t i, int32_t size)
{
    if (size == 1) return 0;
    while ((uint32_t)i >= (uint32_t)size)
        i = i < 0 ? -i : 2 * size - 2 - i;
    return i;
}

STK_FUNCTION bool is_erased(STK_SAMPLE const stk__augment_block *block, int32_t x, int32_t y)
{
    return block->erase_w > 0 && (uint32_t)(x - block->erase_x) < (uint32_t)block->erase_w &&
           (uint32_t)(y - block->erase_y) < (uint32_t)block->erase_h;
}

STK_FUNCTION void store_pixel(const stk__kernel_work *work, const tile *t, uint32_t pixel, const colour *p)
{
    const uint32_t channels = (uint32_t)work->launch.channels, planar = (uint32_t)work->launch.planar,
                   bytes = work->launch.dtype == STK_KERNEL_F32 ? 4 : 2;
    const uint32_t step = planar ? (uint32_t)work->launch.w * (uint32_t)work->launch.h * bytes : bytes,
                   at = (planar ? pixel : pixel * channels) * bytes;
    STK_GLOBAL uint8_t *image = work->image + t->of_sample.image_at;
    colour v;
    STK_UNROLL
    for (int32_t c = 0; c < 3; c++)
        v.c[c] = STK_FMA(p->c[c], work->launch.scale[c], work->launch.bias[c]);
    if (work->launch.dtype == STK_KERNEL_F32) {
        store_f32(image, at, v.c[0]);
        if (channels == 1) return;
        store_f32(image, at + step, v.c[1]);
        store_f32(image, at + 2 * step, v.c[2]);
    } else {
        store_f16(image, at, work->launch.dtype, v.c[0]);
        if (channels == 1) return;
        store_f16(image, at + step, work->launch.dtype, v.c[1]);
        store_f16(image, at + 2 * step, work->launch.dtype, v.c[2]);
    }
}

/* What follows after the blur. */
STK_FUNCTION void finish_pixel(const stk__kernel_work *work, const tile *t, int32_t x, int32_t y, colour *p)
{
    STK_SAMPLE const stk__augment_block *block = &t->sample->block;
    if (block->noise_std > 0) add_noise(block, work->launch.w, x, y, p);
    if (is_erased(block, x, y)) {
        STK_UNROLL
        for (int32_t c = 0; c < 3; c++)
            p->c[c] = (float)block->fill[c] * (1.0f / STK_AUGMENT_LEVEL);
    }
    store_pixel(work, t, (uint32_t)(y * work->launch.w + x), p);
}

STK_FUNCTION void finish_id(const stk__kernel_work *work, const tile *t, int32_t x, int32_t y, coord at)
{
    if (work->launch.mask_dtype == STK_KERNEL_MASK_NONE) return;
    const uint8_t id = sample_id(work, t->sample, at);
    const uint32_t pixel = (uint32_t)(y * work->launch.w + x);
    STK_GLOBAL uint8_t *mask = work->mask + t->of_sample.mask_at;
    if (work->launch.mask_dtype == STK_KERNEL_MASK_I64)
        *(STK_GLOBAL int64_t *)(STK_GLOBAL void *)(mask + pixel * 8) = id;
    else
        mask[pixel] = id;
}

/* Phase 1 without blur: all of a pixel. */
STK_FUNCTION void make_pixel(const stk__kernel_work *work, const tile *t, uint32_t item)
{
    const int32_t x = t->x + (int32_t)(item % STK_KERNEL_TILE_W),
                  y = t->y + (int32_t)(item / STK_KERNEL_TILE_W);
    if (!is_in_output(work, x, y)) return;
    const coord at = find_source(t->sample, x, y);
    colour p = sample_pixel(work, t->sample, at);
    finish_id(work, t, x, y, at);
    apply_steps(&t->sample->block, t->sample->block.step_count, t->of_sample.mean_grey, &p,
                work->launch.channels);
    finish_pixel(work, t, x, y, &p);
}

/* Phase 1: pixels with their colours, and ids of the mask, which are finished here. */
STK_FUNCTION void fill_tile(const stk__kernel_work *work, const tile *t, STK_LOCAL tile_memory *memory,
                            uint32_t item)
{
    STK_SAMPLE const stk__augment_block *block = &t->sample->block;
    const int32_t w = work->launch.w, h = work->launch.h, radius = block->blur_radius;
    const uint32_t edge_w = STK_KERNEL_TILE_W + 2 * (uint32_t)radius,
                   edge_h = STK_KERNEL_TILE_H + 2 * (uint32_t)radius;
    /* i / edge_w is i * inverse / 2^16 for all i of an edge */
    const uint32_t inverse = radius == 1 ? 65536 / 34 + 1 : radius == 2 ? 65536 / 36 + 1 : 65536 / 38 + 1;
    for (uint32_t i = item; i < edge_w * edge_h; i += STK_KERNEL_GROUP) {
        const uint32_t edge_row = i * inverse >> 16;
        const int32_t column = (int32_t)(i - edge_row * edge_w) - radius, row = (int32_t)edge_row - radius;
        const int32_t x = t->x + column, y = t->y + row;
        if (x >= w + radius || y >= h + radius) continue; /* no tap reaches it */
        const coord at = find_source(t->sample, reflect(x, w), reflect(y, h));
        colour p = sample_pixel(work, t->sample, at);
        apply_steps(block, block->step_count, t->of_sample.mean_grey, &p, work->launch.channels);
        STK_UNROLL
        for (int32_t c = 0; c < 3; c++)
            memory->pixels[c][i] = p.c[c];
        const bool own = (uint32_t)column < STK_KERNEL_TILE_W && (uint32_t)row < STK_KERNEL_TILE_H;
        if (own && is_in_output(work, x, y)) finish_id(work, t, x, y, at);
    }
}

/* Taps in pairs around the centre, from the outermost inwards; `plane` values from one channel to the next.
 */
STK_FUNCTION colour blur_at(STK_SAMPLE const stk__augment_block *block, STK_LOCAL const float *centre,
                            int32_t step, int32_t plane)
{
    colour sum = {{0, 0, 0}};
    for (int32_t r = block->blur_radius; r > 0; r--) {
        const float weight = block->blur_weight[r];
        STK_UNROLL
        for (int32_t c = 0; c < 3; c++)
            sum.c[c] = STK_FMA(weight, centre[c * plane - r * step] + centre[c * plane + r * step], sum.c[c]);
    }
    STK_UNROLL
    for (int32_t c = 0; c < 3; c++)
        sum.c[c] = STK_FMA(block->blur_weight[0], centre[c * plane], sum.c[c]);
    return sum;
}

/* Phase 2. */
STK_FUNCTION void blur_rows(const stk__kernel_work *work, const tile *t, STK_LOCAL tile_memory *memory,
                            uint32_t item)
{
    STK_SAMPLE const stk__augment_block *block = &t->sample->block;
    const int32_t radius = block->blur_radius, edge_w = STK_KERNEL_TILE_W + 2 * radius;
    const uint32_t count = STK_KERNEL_TILE_W * (STK_KERNEL_TILE_H + 2 * (uint32_t)radius);
    for (uint32_t i = item; i < count; i += STK_KERNEL_GROUP) {
        const int32_t column = (int32_t)(i % STK_KERNEL_TILE_W), row = (int32_t)(i / STK_KERNEL_TILE_W);
        if (!is_in_output(work, t->x + column, t->y + row - 2 * radius)) continue;
        const colour p = blur_at(block, &memory->pixels[0][row * edge_w + column + radius], 1,
                                 STK_KERNEL_EDGE_W * STK_KERNEL_EDGE_H);
        STK_UNROLL
        for (int32_t c = 0; c < 3; c++)
            memory->across[c][i] = p.c[c];
    }
}

/* Phase 3. */
STK_FUNCTION void blur_columns(const stk__kernel_work *work, const tile *t,
                               STK_LOCAL const tile_memory *memory, uint32_t item)
{
    const int32_t x = t->x + (int32_t)(item % STK_KERNEL_TILE_W),
                  y = t->y + (int32_t)(item / STK_KERNEL_TILE_W);
    STK_SAMPLE const stk__augment_block *block = &t->sample->block;
    if (!is_in_output(work, x, y)) return;
    const uint32_t centre = item + (uint32_t)block->blur_radius * STK_KERNEL_TILE_W;
    colour p =
        blur_at(block, &memory->across[0][centre], STK_KERNEL_TILE_W, STK_KERNEL_TILE_W * STK_KERNEL_EDGE_H);
    finish_pixel(work, t, x, y, &p);
}

typedef struct grey_memory {
    uint32_t sums[STK_KERNEL_GROUP];
} grey_memory;

/* The mean grey that contrast turns about, of the image at that step. Phase 1: grey of each pixel, in 1/256
 * level. Whole numbers have the same sum in any order. */
STK_FUNCTION void find_greys(const stk__kernel_work *work, const tile *t, STK_LOCAL grey_memory *memory,
                             uint32_t item)
{
    const int32_t x = t->x + (int32_t)(item % STK_KERNEL_TILE_W),
                  y = t->y + (int32_t)(item / STK_KERNEL_TILE_W), channels = work->launch.channels;
    uint32_t grey = 0;
    STK_SAMPLE const stk__kernel_sample *sample = t->sample;
    if (is_in_output(work, x, y)) {
        colour p = sample_pixel(work, sample, find_source(sample, x, y));
        apply_steps(&sample->block, sample->contrast_step, 0, &p, channels);
        grey = (uint32_t)STK_FMA(grey_of(&p, channels), 256.0f, 0.5f);
    }
    memory->sums[item] = grey;
}

/* Phase 2: sums of columns. */
STK_FUNCTION void sum_columns(STK_LOCAL grey_memory *memory, uint32_t item)
{
    if (item >= STK_KERNEL_TILE_W) return;
    for (uint32_t row = 1; row < STK_KERNEL_TILE_H; row++)
        memory->sums[item] += memory->sums[row * STK_KERNEL_TILE_W + item];
}

/* Phase 3: the tile's sum, below 2^24, in two parts, so that 2^20 tiles add up without overflow in 32 bits.
 */
STK_FUNCTION void add_greys(STK_GLOBAL stk__kernel_sample *sample, STK_LOCAL const grey_memory *memory,
                            uint32_t item)
{
    if (item != 0) return;
    uint32_t sum = 0;
    for (uint32_t column = 0; column < STK_KERNEL_TILE_W; column++)
        sum += memory->sums[column];
    STK_ADD_SHARED(&sample->grey_low, sum & 0xfffu);
    STK_ADD_SHARED(&sample->grey_high, sum >> 12);
}
