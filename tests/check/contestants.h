/* Who is held to the bits of the reference. To add one: a row in contestants.c. */
#ifndef CONTESTANTS_H
#define CONTESTANTS_H

#include "device/augment.h"

typedef struct contestant {
    const char *name;
    bool (*available)(void); /* here, on this machine */
    stk__augment_kernel run;
    bool slow; /* not worth a line of --bench */
} contestant;

const contestant *check_contestants(size_t *count);

stk_status check_augment_lanes16(const stk__augment_block *block, const stk__augment_source *source,
                                 const stk__augment_target *target, stk__buffer *scratch, stk_error *error);

#endif
