/* SPDX-License-Identifier: Apache-2.0 */
/* A look at every file that a loader reads, for statistics of a data set: encoded bytes, what their header
 * says, decoded pixels. Loaders without an observer pay one branch a file and one a sample. */
#ifndef STK_LOADER_FILE_OBSERVER_H
#define STK_LOADER_FILE_OBSERVER_H

#include "decode/decode.h"
#include "source/source.h"

/* Lives during the call. */
typedef struct stk__observed_file {
    uint64_t id; /* of the sample */
    stk__field field;
    stk__encoded bytes;
    const stk__picture *picture;
    const char *extension; /* what the name promises, or NULL */
} stk__observed_file;

typedef struct stk__file_observer {
    /* Called once, before the first file: how many samples there will be. May be NULL. */
    stk_status (*begin)(void *context, uint64_t sample_count, stk_error *error);
    /* Called once per file whose header is readable, from every worker at the same time. */
    void (*see)(void *context, const stk__observed_file *file);
    /* Called once per sample that was decoded, as see; mask.data is NULL without a mask. May be NULL. */
    void (*see_pixels)(void *context, uint64_t id, stk__pixels image, stk__pixels mask);
    void *context;
} stk__file_observer;

#endif
