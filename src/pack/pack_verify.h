/* SPDX-License-Identifier: Apache-2.0 */
/* Are the shards of a part as they were left? Looks at sizes and times; reads those whose time has changed.
 */
#ifndef STK_PACK_PACK_VERIFY_H
#define STK_PACK_PACK_VERIFY_H

#include "pack/pack_state.h"

typedef struct stk__pack_verify_options {
    const char *folder;
    const stk__pack_part *part;
    const atomic_bool *stop; /* true: end soon with STK_ERROR_INTERRUPTED; may be NULL */
} stk__pack_verify_options;

/* STK_ERROR_STATE when a shard is missing or has changed, or when there are some that are not the part's.
 * Touches nothing. */
stk_status stk__pack_verify(const stk__pack_verify_options *options, stk_error *error);

#endif
