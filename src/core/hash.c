/* SPDX-License-Identifier: Apache-2.0 */
/* XXH3-128 behind our own types: incremental hashing, one-shot digests, and digests as 32 hexadecimal
 * digits. xxHash is compiled in here and nowhere else. A hash object belongs to one thread at a time. */
#include "core/hash.h"

#include "core/memory.h"

#include <stdio.h>
#include <string.h>

#define XXH_INLINE_ALL
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#include <xxhash.h>
#pragma GCC diagnostic pop

struct stk__hash {
    XXH3_state_t state;
};

stk_status stk__hash_create(stk__hash **hash, stk_error *error)
{
    *hash = stk__alloc(sizeof **hash);
    if (!*hash) return stk__fail_memory(error, sizeof **hash, "a hash");
    stk__hash_reset(*hash);
    return STK_OK;
}

void stk__hash_reset(stk__hash *hash)
{
    XXH3_128bits_reset(&hash->state);
}

void stk__hash_update(stk__hash *hash, const void *data, size_t size_bytes)
{
    XXH3_128bits_update(&hash->state, data, size_bytes);
}

stk__digest stk__hash_digest(const stk__hash *hash)
{
    const XXH128_hash_t value = XXH3_128bits_digest(&hash->state);
    return (stk__digest){value.high64, value.low64};
}

void stk__hash_destroy(stk__hash **hash)
{
    stk__free(*hash);
    *hash = NULL;
}

stk__digest stk__digest_of(const void *data, size_t size_bytes)
{
    const XXH128_hash_t value = XXH3_128bits(data, size_bytes);
    return (stk__digest){value.high64, value.low64};
}

void stk__digest_print(stk__digest digest, char text[STK_DIGEST_TEXT_BYTES])
{
    snprintf(text, STK_DIGEST_TEXT_BYTES, "%016llx%016llx", (unsigned long long)digest.high,
             (unsigned long long)digest.low);
}

bool stk__digest_parse(const char *text, stk__digest *digest)
{
    unsigned long long high, low;
    if (strlen(text) != STK_DIGEST_TEXT_BYTES - 1 ||
        strspn(text, "0123456789abcdef") != STK_DIGEST_TEXT_BYTES - 1)
        return false;
    if (sscanf(text, "%16llx%16llx", &high, &low) != 2) return false;
    *digest = (stk__digest){high, low};
    return true;
}
