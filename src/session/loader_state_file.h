/* SPDX-License-Identifier: Apache-2.0 */
/* The file of `stoker load --state`: where the stream stands and the digest so far. */
#ifndef STK_SESSION_LOADER_STATE_FILE_H
#define STK_SESSION_LOADER_STATE_FILE_H

#include "core/hash.h"
#include "stoker/loader.h"

typedef struct stk__loader_state_file {
    stk_loader_state loader;
    stk__digest digest;
    bool hashed; /* everything up to here is in the digest */
    bool old;    /* of a program that had no data.flip_pairs */
} stk__loader_state_file;

/* *found is false, and state untouched, when there is no such file. */
stk_status stk__loader_state_file_read(stk__loader_state_file *state, const char *path, bool *found,
                                       stk_error *error);
stk_status stk__loader_state_file_write(const stk__loader_state_file *state, const char *path,
                                        stk_error *error);

#endif
