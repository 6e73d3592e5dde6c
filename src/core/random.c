/* SPDX-License-Identifier: Apache-2.0 */
/* Philox4x32-10, a counter-based random generator (Salmon et al., 2011): four 32-bit words as a pure
 * function of key and counter. No state, so any thread draws the same numbers in any order. */
#include "core/random.h"

stk__random stk__random_draw(stk__random_at at)
{
    uint32_t key0 = (uint32_t)at.seed, key1 = (uint32_t)(at.seed >> 32);
    uint32_t c0 = at.epoch, c1 = at.sample, c2 = at.operation, c3 = at.draw;
    for (int round = 0; round < 10; round++) {
        const uint64_t product0 = (uint64_t)c0 * UINT32_C(0xD2511F53);
        const uint64_t product1 = (uint64_t)c2 * UINT32_C(0xCD9E8D57);
        const uint32_t high0 = (uint32_t)(product0 >> 32), high1 = (uint32_t)(product1 >> 32);
        c0 = high1 ^ c1 ^ key0;
        c2 = high0 ^ c3 ^ key1;
        c1 = (uint32_t)product1;
        c3 = (uint32_t)product0;
        key0 += UINT32_C(0x9E3779B9);
        key1 += UINT32_C(0xBB67AE85);
    }
    return (stk__random){{c0, c1, c2, c3}};
}
