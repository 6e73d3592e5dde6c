/* SPDX-License-Identifier: Apache-2.0 */
/* The rows that a level of the augmentation works on. Part of the template: a level includes its vectors
 * (simd_*.h), then augment_level.h, which includes the rest.
 *
 * A sample is streamed row by row, channels apart, so that a row stays in the nearest cache from the sampler
 * to the store. Rows have room for whole vectors on both sides: what lies beyond the width is computed and
 * thrown away, so loops have no tails. */
#ifndef STK_DEVICE_AUGMENT_ROWS_H
#define STK_DEVICE_AUGMENT_ROWS_H

#include "core/align.h"
#include "device/cpu/augment_pass.h"

/* For functions that are compiled once for each value of a parameter. */
#define ROW_INLINE static inline __attribute__((always_inline))

enum { ROW_MARGIN = 32, ROW_CHANNELS = 3 };

/* Pixels that are sampled together: two vectors of places, one of words. A row is worked on in parts: so
 * small that what is stored of one reaches memory while the next is computed, and so large that places have
 * left the CPU's queue of stores when they are read again, in other pieces than they were written in. */
enum { GROUP = 2 * LANES, PART_PX = 256 };

/* From … to - 1: pixels of a row, steps of a program. */
typedef struct stretch {
    int32_t from, to;
} stretch;

/* One row of floats 0 … 255, a line per channel. */
typedef struct row {
    float *line[ROW_CHANNELS];
} row;

/* Where the pixels of a row lie in the source, a line each: see augment_places.h. */
typedef struct places {
    int32_t *offset, *id_offset; /* of a group: in the order of vi_spread, then those of the others */
    int16_t *weights;            /* of a group: all along x, then all along y */
} places;

/* One row of the matrix: what clipping needs, which is only rough. */
typedef struct axis {
    double step, inverse, across, offset;
    double spare; /* how far float may be off, in px, with a good deal to spare */
} axis;

/* How values are stored; streamed: past the caches, for outputs that are large and aligned. */
typedef enum output_kind {
    OUTPUT_FLOATS,
    OUTPUT_FLOATS_STREAMED,
    OUTPUT_HALVES,
    OUTPUT_HALVES_STREAMED,
    OUTPUT_BFLOATS,
    OUTPUT_BFLOATS_STREAMED
} output_kind;

/* Colour programs that rows need not be kept for: brightness B, contrast C (augment_short.h); LESS: contrast
 * that cannot leave the range of levels. */
typedef enum short_way {
    SHORT_NOT,
    SHORT_PLAIN,
    SHORT_B,
    SHORT_C,
    SHORT_BC,
    SHORT_CB,
    SHORT_LESS_C,
    SHORT_LESS_BC,
    SHORT_LESS_CB
} short_way;

/* One sample on its way. */
typedef struct pass {
    const stk__augment_block *block;
    const stk__augment_source *source;
    const stk__augment_target *target;
    int32_t w, h, channels;
    size_t line_values; /* from line to line, margins included */
    axis u, v;          /* of the source */

    bool whole;               /* every output pixel is a pixel of the source: nothing to interpolate */
    bool mirror_x, mirror_y;  /* of whole: x of the source = mirror ? shift - x : shift + x */
    int32_t shift_x, shift_y; /* of whole */
    bool keeps_levels;        /* contrast needs two passes: the first keeps what it sampled, */
    bool keeps_rows;          /* or the rows as they are before contrast */
    bool sampled;             /* the first of the two is over */
    int32_t contrast;         /* which step it is; step_count: none */
    float mean;               /* of contrast */
    output_kind kind;
    short_way way;

    int16_t *levels; /* [1 or h][channels] lines, in 1/64 */
    uint8_t *bytes;  /* a row of the source */
    uint8_t *ids;    /* a row of the mask */
    places places;
    int32_t *draws, *half_drawn;          /* of noise: a line per channel; counters half way */
    row kept;                             /* the first of h rows, if they are kept */
    row work, blurred;                    /* work: the row that is worked on */
    row ring[2 * STK_AUGMENT_RADIUS + 1]; /* rows blurred along x; y of the row modulo the count */
} pass;

/* Memory is cut off the front of `from`, which is NULL while sizes are only added up. */
typedef struct cutter {
    uint8_t *from;
    size_t used_bytes;
} cutter;

static inline void *cut(cutter *c, size_t size_bytes)
{
    uint8_t *const part = c->from ? c->from + c->used_bytes : NULL;
    c->used_bytes += stk__align_up(size_bytes, STK_LINE_BYTES);
    return part;
}

static inline row cut_rows(cutter *c, const pass *p, int32_t count)
{
    row r = {{NULL}};
    for (int32_t i = 0; i < p->channels; i++) {
        float *const line = cut(c, (size_t)count * p->line_values * sizeof(float));
        r.line[i] = line ? line + ROW_MARGIN : NULL;
    }
    return r;
}

static inline size_t cut_memory(pass *p, uint8_t *from)
{
    cutter c = {from, 0};
    const size_t level_rows = p->keeps_levels ? (size_t)p->h : 1;
    const int32_t ring_rows = p->block->blur_radius ? 2 * p->block->blur_radius + 1 : 0;
    p->levels = cut(&c, level_rows * (size_t)p->channels * p->line_values * sizeof(int16_t));
    uint8_t *const bytes = cut(&c, p->line_values * ROW_CHANNELS);
    p->bytes = bytes ? bytes + ROW_MARGIN * ROW_CHANNELS : NULL;
    p->ids = cut(&c, p->line_values);
    p->places = (places){.offset = cut(&c, p->line_values * sizeof(int32_t)),
                         .id_offset = cut(&c, p->line_values * sizeof(int32_t)),
                         .weights = cut(&c, 2 * p->line_values * sizeof(int16_t))};
    p->draws = p->block->noise_std > 0 ? cut(&c, ROW_CHANNELS * p->line_values * sizeof(int32_t)) : NULL;
    p->half_drawn = p->block->noise_std > 0 ? cut(&c, 4 * p->line_values * sizeof(int32_t)) : NULL;
    p->kept = cut_rows(&c, p, p->keeps_rows ? p->h : 1);
    p->work = p->kept;
    if (ring_rows) p->blurred = cut_rows(&c, p, 1);
    for (int32_t i = 0; i < ring_rows; i++)
        p->ring[i] = cut_rows(&c, p, 1);
    return c.used_bytes;
}

static inline stk_status reserve_memory(pass *p, stk__buffer *scratch, stk_error *error)
{
    STK__TRY(stk__buffer_reserve(scratch, cut_memory(p, NULL), error));
    cut_memory(p, scratch->data);
    return STK_OK;
}

/* Makes row y the one that is worked on. */
static inline void turn_to_row(pass *p, int32_t y)
{
    for (int32_t c = 0; c < p->channels && p->keeps_rows; c++)
        p->work.line[c] = p->kept.line[c] + (size_t)y * p->line_values;
}

static inline float fill_of(const pass *p, int32_t c)
{
    return (float)p->block->fill[c] * (1.0f / STK_AUGMENT_LEVEL);
}

static inline void fill_span(const pass *p, row r, int32_t from, int32_t to)
{
    for (int32_t c = 0; c < p->channels; c++)
        for (int32_t x = from; x < to; x++)
            r.line[c][x] = fill_of(p, c);
}

#endif
