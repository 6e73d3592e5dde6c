/* SPDX-License-Identifier: Apache-2.0 */
/* Changes shards block by block and makes the checksums of headers right again; the same for indexes. */
#include "fuzz.h"

#include "core/hash.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK = 512, SUM_AT = 148, SUM_BYTES = 8, HEAD_BYTES = 104, DIGEST_AT = 88 };

static unsigned sum_of(const uint8_t *block)
{
    unsigned sum = 0;
    for (int i = 0; i < BLOCK; i++)
        sum += i >= SUM_AT && i < SUM_AT + SUM_BYTES ? ' ' : block[i];
    return sum;
}

/* The field for the sum has at most one digit that is none. */
static bool looks_like_header(const uint8_t *block)
{
    int digits = 0;
    for (int i = SUM_AT; i < SUM_AT + 6; i++)
        digits += block[i] >= '0' && block[i] <= '7';
    return digits >= 5 || memcmp(block + 257, "ustar", 5) == 0;
}

static void fix_headers(uint8_t *data, size_t size)
{
    for (size_t at = 0; at + BLOCK <= size; at += BLOCK)
        if (looks_like_header(data + at)) {
            char text[SUM_BYTES];
            snprintf(text, sizeof text, "%06o", sum_of(data + at) & 0777777);
            memcpy(data + at + SUM_AT, text, SUM_BYTES);
        }
}

static void fix_index(uint8_t *data, size_t size)
{
    if (size < HEAD_BYTES) return;
    memset(data + DIGEST_AT, 0, sizeof(stk__digest));
    const stk__digest parts[2] = {stk__digest_of(data, HEAD_BYTES),
                                  stk__digest_of(data + HEAD_BYTES, size - HEAD_BYTES)};
    const stk__digest content = stk__digest_of(parts, sizeof parts);
    memcpy(data + DIGEST_AT, &content, sizeof content);
}

/* One block changed in its place, said twice, or left out. */
static size_t change_block(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    const size_t blocks = size / BLOCK, at = seed / 8 % blocks * BLOCK;
    switch (seed % 4) {
    case 0:
        if (size + BLOCK > most) return size;
        memmove(data + at + BLOCK, data + at, size - at);
        return size + BLOCK;
    case 1:
        memmove(data + at, data + at + BLOCK, size - at - BLOCK);
        return size - BLOCK;
    default: {
        const size_t changed = LLVMFuzzerMutate(data + at, BLOCK, BLOCK);
        memset(data + at + changed, 0, BLOCK - changed);
        return size;
    }
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    const bool index = size >= 12 && memcmp(data, "stoker shard", 12) == 0;
    if (!index && size >= BLOCK && seed % 16 < 12)
        size = change_block(data, size, most, seed / 16);
    else
        size = LLVMFuzzerMutate(data, size, most);
    if (seed % 32 == 31) return size;
    if (index)
        fix_index(data, size);
    else
        fix_headers(data, size);
    return size;
}
