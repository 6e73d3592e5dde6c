/* SPDX-License-Identifier: Apache-2.0 */
/* Which sample stands at a position of an epoch: a pure function, no index array, O(1) memory and seek. */
#ifndef STK_CORE_ORDER_H
#define STK_CORE_ORDER_H

#include <stdint.h>

typedef enum stk__order_kind {
    STK_ORDER_SEQUENTIAL, /* 0, 1, 2, … */
    STK_ORDER_FULL,       /* a keyed permutation of all samples */
    STK_ORDER_BLOCKS      /* blocks of neighbours permuted, then permuted inside: for shards and disks */
} stk__order_kind;

/* A keyed permutation of 0 … count-1 (alternating Feistel network with cycle walking). */
typedef struct stk__permutation {
    uint64_t count;
    uint64_t key;
    uint32_t left_bits, right_bits;
} stk__permutation;

stk__permutation stk__permutation_make(uint64_t count, uint64_t key);
uint64_t stk__permutation_at(const stk__permutation *permutation, uint64_t index);
uint64_t stk__permutation_find(const stk__permutation *permutation, uint64_t value); /* the inverse */

typedef struct stk__order {
    stk__order_kind kind;
    uint64_t count, seed;
    uint32_t epoch;
    uint64_t block;             /* samples in a block (kind blocks) */
    uint64_t short_block_place; /* where the last, shorter block has gone */
    stk__permutation outer;     /* of samples, or of blocks */
} stk__order;

stk__order stk__order_make(stk__order_kind kind, uint64_t count, uint64_t block, uint64_t seed,
                           uint32_t epoch);
uint64_t stk__order_at(const stk__order *order, uint64_t position); /* position < count */

/* Samples that are neighbours and stand together in the stream, in some order (kind blocks only). */
typedef struct stk__order_block {
    uint64_t position;     /* where it begins */
    uint64_t first, count; /* its samples */
} stk__order_block;

stk__order_block stk__order_block_at(const stk__order *order, uint64_t position); /* position < count */

/* Train/validation split: ids are cut into `held` strata of (nearly) equal size and one id of each, drawn by
 * seed, is held back. Both parts keep the order of ids, so blocks stay blocks; both are O(1) to index. */
typedef struct stk__split {
    uint64_t count, held, seed;
} stk__split;

uint64_t stk__split_held_at(const stk__split *split, uint64_t index); /* index < held */
uint64_t stk__split_rest_at(const stk__split *split, uint64_t index); /* index < count - held */

#endif
