/* SPDX-License-Identifier: Apache-2.0 */
/* Shuffling without an index array: position -> sample id is a keyed permutation, a Feistel network of 8
 * rounds over the next power of two (64 at least), with cycle walking: a value that is not below the count
 * is sent through again. O(1) memory, random access, and an exact inverse. Pure functions. */
#include "core/order.h"

#include "core/random.h"

#include <assert.h>

enum { ROUNDS = 8, LEAST_BITS = 6 };

static uint64_t mix(uint64_t value, uint64_t key)
{
    value = (value ^ key) * UINT64_C(0xff51afd7ed558ccd);
    value = (value ^ value >> 32) * UINT64_C(0xc4ceb9fe1a85ec53);
    return value ^ value >> 29;
}

static uint64_t round_key(const stk__permutation *p, int round)
{
    return p->key + (uint64_t)round * UINT64_C(0x9e3779b97f4a7c15);
}

stk__permutation stk__permutation_make(uint64_t count, uint64_t key)
{
    uint32_t bits = LEAST_BITS;
    while (bits < 63 && (UINT64_C(1) << bits) < count)
        bits++;
    return (stk__permutation){
        .count = count, .key = key, .left_bits = bits / 2, .right_bits = bits - bits / 2};
}

static uint64_t encrypt(const stk__permutation *p, uint64_t value)
{
    const uint64_t left_mask = (UINT64_C(1) << p->left_bits) - 1,
                   right_mask = (UINT64_C(1) << p->right_bits) - 1;
    uint64_t left = value >> p->right_bits, right = value & right_mask;
    for (int round = 0; round < ROUNDS; round += 2) {
        left = (left ^ mix(right, round_key(p, round))) & left_mask;
        right = (right ^ mix(left, round_key(p, round + 1))) & right_mask;
    }
    return left << p->right_bits | right;
}

static uint64_t decrypt(const stk__permutation *p, uint64_t value)
{
    const uint64_t left_mask = (UINT64_C(1) << p->left_bits) - 1,
                   right_mask = (UINT64_C(1) << p->right_bits) - 1;
    uint64_t left = value >> p->right_bits, right = value & right_mask;
    for (int round = ROUNDS - 2; round >= 0; round -= 2) {
        right = (right ^ mix(left, round_key(p, round + 1))) & right_mask;
        left = (left ^ mix(right, round_key(p, round))) & left_mask;
    }
    return left << p->right_bits | right;
}

/* Values outside the domain are sent on until they come back in: each walk is a part of a cycle, so it ends.
 */
uint64_t stk__permutation_at(const stk__permutation *permutation, uint64_t index)
{
    do
        index = encrypt(permutation, index);
    while (index >= permutation->count);
    return index;
}

uint64_t stk__permutation_find(const stk__permutation *permutation, uint64_t value)
{
    do
        value = decrypt(permutation, value);
    while (value >= permutation->count);
    return value;
}

static uint64_t draw_key(uint64_t seed, uint32_t epoch, uint32_t operation, uint64_t number)
{
    const stk__random r = stk__random_draw((stk__random_at){.seed = seed,
                                                            .epoch = epoch,
                                                            .sample = (uint32_t)number,
                                                            .operation = operation,
                                                            .draw = (uint32_t)(number >> 32)});
    return (uint64_t)r.word[0] << 32 | r.word[1];
}

stk__order stk__order_make(stk__order_kind kind, uint64_t count, uint64_t block, uint64_t seed,
                           uint32_t epoch)
{
    stk__order order = {
        .kind = kind, .count = count, .seed = seed, .epoch = epoch, .block = block ? block : 1};
    const uint64_t key = draw_key(seed, epoch, STK_OPERATION_ORDER, 0);
    if (kind == STK_ORDER_FULL) order.outer = stk__permutation_make(count, key);
    if (kind == STK_ORDER_BLOCKS && count) {
        const uint64_t blocks = (count + order.block - 1) / order.block;
        order.outer = stk__permutation_make(blocks, key);
        order.short_block_place = stk__permutation_find(&order.outer, blocks - 1);
    }
    return order;
}

stk__order_block stk__order_block_at(const stk__order *order, uint64_t position)
{
    assert(position < order->count); /* the walk of a place behind the last may never come back */
    const uint64_t k = order->block, blocks = order->outer.count;
    const uint64_t short_size = order->count - (blocks - 1) * k;
    const uint64_t short_start = order->short_block_place * k;
    uint64_t place = position / k, size = k, start = place * k;
    if (position >= short_start) {
        if (position < short_start + short_size) {
            place = order->short_block_place;
            size = short_size;
            start = short_start;
        } else {
            place = (position - short_size) / k + 1;
            start = (place - 1) * k + short_size;
        }
    }
    return (stk__order_block){start, stk__permutation_at(&order->outer, place) * k, size};
}

static uint64_t blocks_at(const stk__order *order, uint64_t position)
{
    const stk__order_block block = stk__order_block_at(order, position);
    const uint64_t key = draw_key(order->seed, order->epoch, STK_OPERATION_BLOCK, block.first / order->block);
    const stk__permutation inner = stk__permutation_make(block.count, key);
    return block.first + stk__permutation_at(&inner, position - block.position);
}

uint64_t stk__order_at(const stk__order *order, uint64_t position)
{
    if (order->kind == STK_ORDER_FULL) return stk__permutation_at(&order->outer, position);
    if (order->kind == STK_ORDER_BLOCKS) return blocks_at(order, position);
    return position;
}

static uint64_t stratum_start(const stk__split *split, uint64_t index)
{
    return (uint64_t)((unsigned __int128)index * split->count / split->held);
}

uint64_t stk__split_held_at(const stk__split *split, uint64_t index)
{
    const uint64_t start = stratum_start(split, index), end = stratum_start(split, index + 1);
    const uint64_t key = draw_key(split->seed, 0, STK_OPERATION_SPLIT, index);
    return start + stk__random_below((uint32_t)(key >> 32), (uint32_t)key, end - start);
}

uint64_t stk__split_rest_at(const stk__split *split, uint64_t index)
{
    if (split->held == 0) return index;
    /* Stratum s starts at rest index stratum_start(s) - s: find the last s whose start is not beyond index.
     */
    uint64_t low = 0, high = split->held - 1;
    while (low < high) {
        const uint64_t middle = low + (high - low + 1) / 2;
        if (stratum_start(split, middle) - middle <= index)
            low = middle;
        else
            high = middle - 1;
    }
    const uint64_t id = index + low;
    return id + (id >= stk__split_held_at(split, low));
}
