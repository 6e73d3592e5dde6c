/* SPDX-License-Identifier: Apache-2.0 */
/* A bound on the memory of large PNG images while they are decompressed, shared by the decoders of all
 * workers: who would exceed it waits until others are through. One image may always, however large it is, so
 * that what is decoded does not depend on the bound. */
#ifndef STK_DECODE_INFLATE_GATE_H
#define STK_DECODE_INFLATE_GATE_H

#include "core/error.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/* Rows of so many bytes are not counted, and their memory is kept for the next image. */
#define STK_INFLATE_KEPT_BYTES ((size_t)16 << 20)

typedef struct stk__inflate_gate {
    pthread_mutex_t lock; /* guards used_bytes and left_ns */
    pthread_cond_t left;
    bool made;
    uint64_t limit_bytes, used_bytes;
    uint64_t left_ns; /* when an image was through last; 0: none so far */
} stk__inflate_gate;

stk_status stk__inflate_gate_init(stk__inflate_gate *gate, stk_error *error);
void stk__inflate_gate_fini(stk__inflate_gate *gate);

/* Threads: any. gate NULL: there is no bound. */
void stk__inflate_gate_enter(stk__inflate_gate *gate, uint64_t size_bytes);
void stk__inflate_gate_leave(stk__inflate_gate *gate, uint64_t size_bytes);

/* Whether an image was through in the last so many ns: then who waits does not hang. */
bool stk__inflate_gate_moves(stk__inflate_gate *gate, uint64_t within_ns);

#endif
