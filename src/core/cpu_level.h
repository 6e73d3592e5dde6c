/* SPDX-License-Identifier: Apache-2.0 */
/* Which instructions the kernels may use. Chosen at run time; STOKER_CPU=c|avx2|avx512 caps it. */
#ifndef STK_CORE_CPU_LEVEL_H
#define STK_CORE_CPU_LEVEL_H

typedef enum stk__cpu_level {
    STK_CPU_C,      /* plain C: always there */
    STK_CPU_AVX2,   /* with FMA and F16C */
    STK_CPU_AVX512, /* F, BW, DQ, VL */
    STK_CPU_LEVELS
} stk__cpu_level;

/* What CPU and system really have; never changes. */
stk__cpu_level stk__cpu_level_found(void);
/* The same, capped by STOKER_CPU when that is one of the names (read again each time). */
stk__cpu_level stk__cpu_level_allowed(void);
const char *stk__cpu_level_name(stk__cpu_level level); /* "avx2" */

#endif
