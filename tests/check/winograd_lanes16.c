/* SPDX-License-Identifier: Apache-2.0 */
/* The code of the AVX-512 level (sixteen lanes, blocks of twelve rows) in plain C, so that it runs on every
 * CPU; only the instructions themselves need one that has them (tests/long/avx512.sh). */
#include "winograd_lanes16.h"

enum { LANES = 16, ROWS = 12 };

typedef struct vf {
    float lane[LANES];
} vf;

#define EACH_LANE(expression)                                                                                \
    vf made;                                                                                                 \
    for (int i = 0; i < LANES; i++)                                                                          \
        made.lane[i] = (expression);                                                                         \
    return made

/* clang-format off */
static inline vf vf_all(float v) { EACH_LANE(v); }
static inline vf vf_at(const float *p) { EACH_LANE(*p); }
static inline vf vf_load(const float *p) { EACH_LANE(p[i]); }
static inline void vf_store(float *p, vf v) { for (int i = 0; i < LANES; i++) p[i] = v.lane[i]; }
static inline vf vf_add(vf a, vf b) { EACH_LANE(a.lane[i] + b.lane[i]); }
static inline vf vf_sub(vf a, vf b) { EACH_LANE(a.lane[i] - b.lane[i]); }
static inline vf vf_mul(vf a, vf b) { EACH_LANE(a.lane[i] * b.lane[i]); }
static inline vf vf_fma(vf a, vf b, vf c) { EACH_LANE(a.lane[i] * b.lane[i] + c.lane[i]); }
static inline vf vf_less(vf a, vf b, vf c) { EACH_LANE(c.lane[i] - a.lane[i] * b.lane[i]); }
/* clang-format on */

#include "engine/winograd/winograd_level.h"

const stk__winograd_kernel winograd_lanes16 = WINOGRAD_LEVEL;
