/* SPDX-License-Identifier: Apache-2.0 */
/* The products of Winograd's convolution: blocks of ROWS x PANEL sums in registers. */
#ifndef STK_ENGINE_WINOGRAD_PRODUCTS_H
#define STK_ENGINE_WINOGRAD_PRODUCTS_H

#include "engine/winograd/winograd.h"

enum { PANEL = 2 * LANES };

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* `work` with its count of rows as a constant, so that sums stay in registers. */
/* clang-format off */
#define WITH_ROWS(rows, work)                                                                                \
    switch (rows) {                                                                                          \
        WITH_ROWS_CASE(1, work)                                                                              \
        WITH_ROWS_CASE(2, work)                                                                              \
        WITH_ROWS_CASE(3, work)                                                                              \
        WITH_ROWS_CASE(4, work)                                                                              \
        WITH_ROWS_CASE(5, work)                                                                              \
        WITH_ROWS_CASE(6, work)                                                                              \
        WITH_ROWS_CASE(7, work)                                                                              \
        WITH_ROWS_CASE(8, work)                                                                              \
        WITH_ROWS_CASE(9, work)                                                                              \
        WITH_ROWS_CASE(10, work)                                                                             \
        WITH_ROWS_CASE(11, work)                                                                             \
        WITH_ROWS_CASE(12, work)                                                                             \
    }
/* clang-format on */
#define WITH_ROWS_CASE(n, work)                                                                              \
    case n: {                                                                                                \
        enum { COUNT = n < ROWS ? n : ROWS };                                                                \
        work;                                                                                                \
        break;                                                                                               \
    }

typedef struct sums {
    vf of[ROWS][2];
} sums;

/* sums += one value of each row x one row of a panel */
ALWAYS_INLINE void add_product(sums *s, const float *rows, int64_t step, const float *panel, const int count)
{
    const vf low = vf_load(panel), high = vf_load(panel + LANES);
#pragma GCC unroll 12
    for (int r = 0; r < count; r++) {
        const vf v = vf_at(rows + r * step);
        s->of[r][0] = vf_fma(v, low, s->of[r][0]);
        s->of[r][1] = vf_fma(v, high, s->of[r][1]);
    }
}

ALWAYS_INLINE void clear_sums(sums *s, const int count)
{
#pragma GCC unroll 12
    for (int r = 0; r < count; r++)
        s->of[r][0] = s->of[r][1] = vf_all(0);
}

ALWAYS_INLINE void store_sums(const sums *s, float *target, const int count)
{
#pragma GCC unroll 12
    for (int r = 0; r < count; r++) {
        vf_store(target + r * PANEL, s->of[r][0]);
        vf_store(target + r * PANEL + LANES, s->of[r][1]);
    }
}

ALWAYS_INLINE void load_sums(sums *s, const float *source, const int count)
{
#pragma GCC unroll 12
    for (int r = 0; r < count; r++) {
        s->of[r][0] = vf_load(source + r * PANEL);
        s->of[r][1] = vf_load(source + r * PANEL + LANES);
    }
}

static inline int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* count tiles of v by one panel of u */
ALWAYS_INLINE void multiply_block(const stk__winograd_product *p, const float *v, const float *u, float *m,
                                  const int count)
{
    sums s;
    clear_sums(&s, count);
    for (int64_t c = 0; c < p->c; c += PANEL, v += p->spread * PANEL) {
        const int64_t inner = least(PANEL, p->c - c);
        for (int64_t i = 0; i < inner; i++, u += PANEL)
            add_product(&s, v + i, PANEL, u, count);
    }
    store_sums(&s, m, count);
}

static void multiply_spot(const stk__winograd_product *p)
{
    for (int64_t panel = 0; panel < p->panels; panel++) {
        const float *u = p->u + panel * p->c * PANEL;
        for (int64_t t = 0; t < p->tiles; t += ROWS) {
            const float *v = p->v + t * PANEL;
            float *m = p->m + (panel * p->spread + t) * PANEL;
            WITH_ROWS(least(ROWS, p->tiles - t), multiply_block(p, v, u, m, COUNT))
        }
    }
}

/* count channels of v, over all tiles, by one panel of m */
ALWAYS_INLINE void add_up_block(const stk__winograd_product *p, const float *v, const float *m, float *target,
                                const int count)
{
    sums s;
    clear_sums(&s, count);
    if (!p->first) load_sums(&s, target, count);
    for (int64_t t = 0; t < p->tiles; t++)
        add_product(&s, v + t * PANEL, 1, m + t * PANEL, count);
    store_sums(&s, target, count);
}

static void add_up_spot(const stk__winograd_product *p)
{
    for (int64_t panel = 0; panel < p->panels; panel++) {
        const float *m = p->m + panel * p->spread * PANEL;
        for (int64_t c = 0; c < p->c; c += PANEL) {
            const float *v = p->v + c * p->spread;
            const int64_t inner = least(PANEL, p->c - c);
            for (int64_t i = 0; i < inner; i += ROWS) {
                float *target = p->s + (panel * p->c + c + i) * PANEL;
                WITH_ROWS(least(ROWS, inner - i), add_up_block(p, v + i, m, target, COUNT))
            }
        }
    }
}

#endif
