/* SPDX-License-Identifier: Apache-2.0 */
/* The lock of a folder: a file in it that one process at a time holds (flock), with its id in it. It is never
 * removed: whoever dies gives it back. */
#ifndef STK_CORE_FOLDER_LOCK_H
#define STK_CORE_FOLDER_LOCK_H

#include "core/error.h"

#define STK_FOLDER_LOCK "lock"

/* *lock: the open file, for release. Without `make` and without a lock file it is -1: nothing was taken. */
stk_status stk__folder_lock_take(const char *folder, bool make, int *lock, stk_error *error);
void stk__folder_lock_release(int *lock);

#endif
