/* The lock of a run: a file that one process at a time holds (flock), with its id in it. It is never removed:
 * whoever dies gives it back. */
#ifndef STK_TRAIN_RUN_LOCK_H
#define STK_TRAIN_RUN_LOCK_H

#include "core/error.h"

#define STK_RUN_LOCK "lock"

/* *lock: the open file, for release. Without `make` and without a lock file it is -1: nothing was taken. */
stk_status stk__run_lock_take(const char *folder, bool make, int *lock, stk_error *error);
void stk__run_lock_release(int *lock);

#endif
