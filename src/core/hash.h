/* SPDX-License-Identifier: Apache-2.0 */
/* xxHash (XXH3, 128 bits) behind two small functions: digests of streams and fingerprints of data sets. */
#ifndef STK_CORE_HASH_H
#define STK_CORE_HASH_H

#include "core/error.h"
#include "stoker/batch.h"

#include <stddef.h>
#include <stdint.h>

typedef stk_digest stk__digest; /* the public one */

typedef struct stk__hash stk__hash; /* create/destroy */

stk_status stk__hash_create(stk__hash **hash, stk_error *error);
void stk__hash_reset(stk__hash *hash);
void stk__hash_update(stk__hash *hash, const void *data, size_t size_bytes);
stk__digest stk__hash_digest(const stk__hash *hash);
void stk__hash_destroy(stk__hash **hash);

stk__digest stk__digest_of(const void *data, size_t size_bytes);

void stk__digest_print(stk__digest digest, char text[STK_DIGEST_TEXT_BYTES]); /* 32 hexadecimal digits */
bool stk__digest_parse(const char *text, stk__digest *digest);

#endif
