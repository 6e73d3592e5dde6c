/* SPDX-License-Identifier: Apache-2.0 */
/* A look at a source before it is packed: is it the one that was begun, and how many bytes will come? */
#ifndef STK_PACK_PACK_PROBE_H
#define STK_PACK_PACK_PROBE_H

#include "source/source.h"

#include <stdatomic.h>

enum { STK_PACK_LOOKS = 8 };

/* Hashes of a few samples, evenly spaced: labels, points and bytes. 0: there is none, or it cannot be read.
 */
typedef struct stk__pack_looks {
    uint64_t hashes[STK_PACK_LOOKS];
} stk__pack_looks;

/* Is there no sample that both know and that differs? */
bool stk__pack_looks_agree(const stk__pack_looks *a, const stk__pack_looks *b);

typedef struct stk__pack_probe {
    stk__pack_looks looks;
    uint64_t mean_bytes;    /* of their images and masks */
    double rewritten_share; /* part of these bytes in JPEGs and masks, which are rewritten */
    bool files;             /* each lies in a file of its own */
} stk__pack_probe;

/* Reads a few samples. */
stk_status stk__pack_probe_look(const stk__source *source, stk__pack_probe *probe, stk_error *error);

/* Continues the digest of the samples before `first` with those before `end`: labels, values and points;
 * names of classes stand before the first sample. Reads no file. */
stk__digest stk__pack_probe_facts(const stk__source *source, uint64_t first, uint64_t end,
                                  stk__digest before);

/* Bytes of the files of all samples before `end`; 0 when that is not to be had, or only by asking for too
 * many, or when *stop, which may be NULL, becomes true. */
uint64_t stk__pack_probe_sum(const stk__source *source, const stk__pack_probe *probe, uint64_t end,
                             const atomic_bool *stop);

/* Bytes of shards: less than least_bytes cannot be enough if nothing shrinks; more than most_bytes, which
 * counts indices too, are hardly ever needed. */
typedef struct stk__pack_need {
    uint64_t least_bytes, most_bytes;
} stk__pack_need;

/* Of samples from id `first` on. Asks for the sizes of files, of many thousands at most; ends early when
 * *stop, which may be NULL, becomes true. */
stk__pack_need stk__pack_probe_need(const stk__source *source, const stk__pack_probe *probe, uint64_t first,
                                    const atomic_bool *stop);

#endif
