/* SPDX-License-Identifier: Apache-2.0 */
/* Every setting of Stoker as data: what `stoker train --help`, YAML files and the environment know of it. For
 * programs that show settings, check them or fill them in:
 *
 *     for (int s = 0; stk_option_section(s); s++)
 *         for (int i = 0; i < stk_option_count(stk_option_section(s)); i++) {
 *             stk_option_info info = STK_OPTION_INFO_INIT;
 *             stk_option_describe(stk_option_section(s), i, &info, NULL);
 *             … info.name, info.help …
 *         }
 */
#ifndef STOKER_OPTIONS_H
#define STOKER_OPTIONS_H

#include "stoker/status.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a value may be, as people write it. The C type is that of a field in an options struct, where zero
 * means default. Words are read in any case. */
typedef enum stk_option_type {
    STK_OPTION_TEXT,   /* const char *: anything; the field points at the text that was parsed */
    STK_OPTION_INT,    /* int64_t: 32, 1e6 */
    STK_OPTION_COUNT,  /* int64_t: auto -> 0, 0 -> -1 ("none"), n -> n */
    STK_OPTION_NUMBER, /* double: 0.5, 3e-4 */
    STK_OPTION_SWITCH, /* int: auto -> 0 (default), true yes on 1 -> 1, false no off 0 -> -1 */
    STK_OPTION_WORD,   /* int: index into choices; the first is 0 and therefore the default */
    STK_OPTION_BYTES, /* uint64_t: 4096, 1e6; k M G T and KiB MiB … are powers of 1024, kB MB … of 1000 */
    STK_OPTION_SECONDS, /* double: 30, 30s, 500ms, 2m, 1h */
    STK_OPTION_SIZE2,   /* int32_t[2] = {h, w}: N (square), [H, W], WxH */
    STK_OPTION_SHARE,   /* double: 0 -> -1 ("never"), else 0 < p <= 1 */
    STK_OPTION_RANGE,   /* double[2]: [A, B] -> {A, B}, A <= B; one number V -> {V, INFINITY} */
    STK_OPTION_PAIR,    /* double[2]: [A, B] or A,B; one number stands for both */
    STK_OPTION_TRIPLE   /* double[3]: [A, B, C] or A,B,C; one number stands for all. In both an explicit 0 is
                           -0.0: the same number, but not default */
} stk_option_type;

/* Texts are static, in the words of `--help`; NULL where there is none. */
typedef struct stk_option_info {
    size_t struct_size;  /* sizeof(stk_option_info): see STK_INIT (status.h) */
    const char *section; /* "data" */
    const char *name;    /* "num_workers"; a dot nests: "limits.pixels" */
    const char *aliases; /* other names that are taken: "a b" */
    const char
        *fallback;       /* the default as text; NULL: empty, off, 0, or decided when it is used (see help) */
    const char *choices; /* WORD: "fail|replace|skip"; synonyms with '=': "bf16|f32=off=false"; TEXT: values
                            that are known, others may be given; or NULL */
    const char *unit;    /* "bytes" */
    const char *help;    /* one sentence, lower case, without full stop */
    stk_option_type type;
    bool tunable;       /* a tuner may change it */
    double least, most; /* what numbers may be, as people write them; infinite: no limit on that side */
    char expects[192];  /* the same in words: "a whole number, 1 to 65536", "fail, replace or skip" */
} stk_option_info;

#define STK_OPTION_INFO_INIT STK_INIT(stk_option_info)

/* "data", "augment", …, in the order of the help; NULL for an index that is not below their number. Section
 * data.val has the same settings as data. Threads: any. */
STK_API const char *stk_option_section(int index);

/* How many settings a section has; 0 for NULL and for a name that is no section. Threads: any. */
STK_API int stk_option_count(const char *section);

/* Setting number index of the section, in the order of the help. STK_ERROR_ARGUMENT: there is none. Threads:
 * any. */
STK_API stk_status stk_option_describe(const char *section, int index, stk_option_info *info,
                                       stk_error *error);

#ifdef __cplusplus
}
#endif

#endif
