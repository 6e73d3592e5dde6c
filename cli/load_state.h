/* The file of `stoker load --state`: where the stream stands and the digest so far. */
#ifndef STK_CLI_LOAD_STATE_H
#define STK_CLI_LOAD_STATE_H

#include "core/hash.h"
#include "stoker/loader.h"

typedef struct stk__load_state {
    stk_loader_state loader;
    stk__digest digest;
    bool hashed; /* everything up to here is in the digest */
} stk__load_state;

/* *found is false, and state untouched, when there is no such file. */
stk_status stk__load_state_read(stk__load_state *state, const char *path, bool *found, stk_error *error);
stk_status stk__load_state_write(const stk__load_state *state, const char *path, stk_error *error);

#endif
