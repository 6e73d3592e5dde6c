/* Device text: a tile of one sample, phase by phase.
 *
 * Without blur every item makes its own pixel. With blur the group first makes the tile and the border that
 * the taps reach into, edges reflected, then blurs along rows, then along columns; nothing is made twice
 * inside a group, and all of it stays in local memory. */

enum {
    STK_TEXT_EDGE_W = STK_TEXT_TILE_W + 2 * STK_AUGMENT_RADIUS,
    STK_TEXT_EDGE_H = STK_TEXT_TILE_H + 2 * STK_AUGMENT_RADIUS
};

typedef struct tile_memory {
    float pixels[3][STK_TEXT_EDGE_W * STK_TEXT_EDGE_H]; /* rows of STK_TEXT_TILE_W + 2 * blur_radius */
    float across[3][STK_TEXT_TILE_W * STK_TEXT_EDGE_H]; /* blurred along rows */
} tile_memory;

typedef struct tile {
    STK_GLOBAL stk__text_sample *sample;
    uint64_t first; /* pixels of the samples before */
    int32_t x, y;   /* of its first pixel in the output */
} tile;

STK_FUNCTION tile find_tile(const stk__text_work *work, uint32_t column, uint32_t row, uint32_t number)
{
    tile t;
    t.sample = work->samples + number;
    t.first = (uint64_t)number * ((uint32_t)work->launch.w * (uint32_t)work->launch.h);
    t.x = (int32_t)column * STK_TEXT_TILE_W;
    t.y = (int32_t)row * STK_TEXT_TILE_H;
    return t;
}

STK_FUNCTION bool is_in_output(const stk__text_work *work, int32_t x, int32_t y)
{
    return x < work->launch.w && y < work->launch.h;
}

STK_FUNCTION int32_t reflect(int32_t i, int32_t size)
{
    if (size == 1) return 0;
    while (i < 0 || i >= size)
        i = i < 0 ? -i : 2 * size - 2 - i;
    return i;
}

STK_FUNCTION float mean_grey(const stk__text_work *work, STK_GLOBAL const stk__text_sample *sample)
{
    if (sample->contrast_step < 0) return 0;
    const uint64_t sum = ((uint64_t)sample->grey_high << 12) + sample->grey_low;
    return (float)sum / ((float)((uint32_t)work->launch.w * (uint32_t)work->launch.h) * 256);
}

/* Phase 1: pixels with their colours, and ids of the mask, which are finished here. */
STK_FUNCTION void fill_tile(const stk__text_work *work, const tile *t, STK_LOCAL tile_memory *memory,
                            uint32_t item)
{
    const int32_t w = work->launch.w, h = work->launch.h, radius = t->sample->block.blur_radius;
    const uint32_t edge_w = STK_TEXT_TILE_W + 2 * (uint32_t)radius,
                   edge_h = STK_TEXT_TILE_H + 2 * (uint32_t)radius;
    const float mean = mean_grey(work, t->sample);
    for (uint32_t i = item; i < edge_w * edge_h; i += STK_TEXT_GROUP) {
        const int32_t column = (int32_t)(i % edge_w) - radius, row = (int32_t)(i / edge_w) - radius;
        const int32_t x = t->x + column, y = t->y + row;
        if (x >= w + radius || y >= h + radius) continue; /* no tap reaches it */
        const spot at = find_source(t->sample, reflect(x, w), reflect(y, h));
        colour p = sample_pixel(work, t->sample, at);
        apply_steps(&t->sample->block, t->sample->block.step_count, mean, &p, work->launch.channels);
        STK_UNROLL
        for (int32_t c = 0; c < 3; c++)
            memory->pixels[c][i] = p.c[c];
        const bool own = column >= 0 && column < STK_TEXT_TILE_W && row >= 0 && row < STK_TEXT_TILE_H;
        if (work->launch.mask_dtype != STK_TEXT_MASK_NONE && own && is_in_output(work, x, y))
            store_id(work, t->first + (uint32_t)(y * w + x), sample_id(work, t->sample, at));
    }
}

/* Taps in pairs around the centre, from the outermost inwards. */
STK_FUNCTION float blur_at(STK_GLOBAL const stk__augment_block *block, STK_LOCAL const float *centre,
                           int32_t step)
{
    float sum = 0;
    for (int32_t r = block->blur_radius; r > 0; r--)
        sum = STK_FMA(block->blur_weight[r], centre[-r * step] + centre[r * step], sum);
    return STK_FMA(block->blur_weight[0], centre[0], sum);
}

/* Phase 2. */
STK_FUNCTION void blur_rows(const stk__text_work *work, const tile *t, STK_LOCAL tile_memory *memory,
                            uint32_t item)
{
    const int32_t radius = t->sample->block.blur_radius, edge_w = STK_TEXT_TILE_W + 2 * radius;
    const uint32_t count = STK_TEXT_TILE_W * (STK_TEXT_TILE_H + 2 * (uint32_t)radius);
    if (radius == 0) return;
    for (uint32_t i = item; i < count; i += STK_TEXT_GROUP) {
        const int32_t column = (int32_t)(i % STK_TEXT_TILE_W), row = (int32_t)(i / STK_TEXT_TILE_W);
        if (!is_in_output(work, t->x + column, t->y + row - 2 * radius)) continue;
        STK_UNROLL
        for (int32_t c = 0; c < 3; c++)
            memory->across[c][i] =
                blur_at(&t->sample->block, &memory->pixels[c][row * edge_w + column + radius], 1);
    }
}

STK_FUNCTION colour finished_pixel(const tile *t, STK_LOCAL const tile_memory *memory, uint32_t item)
{
    const int32_t radius = t->sample->block.blur_radius;
    colour p;
    STK_UNROLL
    for (int32_t c = 0; c < 3; c++)
        p.c[c] = radius == 0 ? memory->pixels[c][item]
                             : blur_at(&t->sample->block,
                                       &memory->across[c][item + (uint32_t)radius * STK_TEXT_TILE_W],
                                       STK_TEXT_TILE_W);
    return p;
}

STK_FUNCTION bool is_erased(STK_GLOBAL const stk__augment_block *block, int32_t x, int32_t y)
{
    return x >= block->erase_x && x < block->erase_x + block->erase_w && y >= block->erase_y &&
           y < block->erase_y + block->erase_h;
}

STK_FUNCTION void store_pixel(const stk__text_work *work, const tile *t, uint32_t pixel, const colour *p)
{
    const int32_t channels = work->launch.channels, planar = work->launch.planar;
    const uint32_t area = (uint32_t)work->launch.w * (uint32_t)work->launch.h;
    const uint64_t first = t->first * (uint32_t)channels;
    STK_UNROLL
    for (int32_t c = 0; c < 3; c++) {
        if (c >= channels) continue;
        const uint32_t at = planar ? (uint32_t)c * area + pixel : pixel * (uint32_t)channels + (uint32_t)c;
        store_value(work, first + at, STK_FMA(p->c[c], work->launch.scale[c], work->launch.bias[c]));
    }
}

/* Phase 3. */
STK_FUNCTION void finish_tile(const stk__text_work *work, const tile *t, STK_LOCAL const tile_memory *memory,
                              uint32_t item)
{
    STK_GLOBAL const stk__augment_block *block = &t->sample->block;
    const int32_t x = t->x + (int32_t)(item % STK_TEXT_TILE_W), y = t->y + (int32_t)(item / STK_TEXT_TILE_W);
    if (!is_in_output(work, x, y)) return;
    const uint32_t pixel = (uint32_t)(y * work->launch.w + x);
    colour p = finished_pixel(t, memory, item);
    if (block->noise_std > 0) add_noise(block, work->launch.w, x, y, &p);
    if (is_erased(block, x, y)) {
        STK_UNROLL
        for (int32_t c = 0; c < 3; c++)
            p.c[c] = (float)block->fill[c] * (1.0f / STK_AUGMENT_LEVEL);
    }
    store_pixel(work, t, pixel, &p);
}

typedef struct grey_memory {
    uint32_t sums[STK_TEXT_GROUP];
} grey_memory;

/* The mean grey that contrast turns about, of the image at that step. Phase 1: grey of each pixel, in 1/256
 * level. Whole numbers have the same sum in any order. */
STK_FUNCTION void find_greys(const stk__text_work *work, const tile *t, STK_LOCAL grey_memory *memory,
                             uint32_t item)
{
    const int32_t x = t->x + (int32_t)(item % STK_TEXT_TILE_W), y = t->y + (int32_t)(item / STK_TEXT_TILE_W),
                  channels = work->launch.channels;
    uint32_t grey = 0;
    if (t->sample->contrast_step >= 0 && is_in_output(work, x, y)) {
        colour p = sample_pixel(work, t->sample, find_source(t->sample, x, y));
        apply_steps(&t->sample->block, t->sample->contrast_step, 0, &p, channels);
        grey = (uint32_t)STK_FMA(grey_of(&p, channels), 256.0f, 0.5f);
    }
    memory->sums[item] = grey;
}

/* Phase 2: sums of columns. */
STK_FUNCTION void sum_columns(STK_LOCAL grey_memory *memory, uint32_t item)
{
    if (item >= STK_TEXT_TILE_W) return;
    for (uint32_t row = 1; row < STK_TEXT_TILE_H; row++)
        memory->sums[item] += memory->sums[row * STK_TEXT_TILE_W + item];
}

/* Phase 3: the tile's sum, below 2^24, in two parts, so that 2^20 tiles add up without overflow in 32 bits.
 */
STK_FUNCTION void add_greys(const tile *t, STK_LOCAL const grey_memory *memory, uint32_t item)
{
    if (item != 0 || t->sample->contrast_step < 0) return;
    uint32_t sum = 0;
    for (uint32_t column = 0; column < STK_TEXT_TILE_W; column++)
        sum += memory->sums[column];
    STK_ADD_SHARED(&t->sample->grey_low, sum & 0xfffu);
    STK_ADD_SHARED(&t->sample->grey_high, sum >> 12);
}
