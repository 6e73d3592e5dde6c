/* SPDX-License-Identifier: Apache-2.0 */
/* Folders whose entries must survive a power cut: making, syncing and removing them. */
#ifndef STK_CORE_DURABLE_H
#define STK_CORE_DURABLE_H

#include "core/error.h"

#include <stddef.h>

/* STK_ERROR_IO "cannot write 'path': …", with a hint when the disk or a limit on file sizes is full. */
stk_status stk__durable_fail(stk_error *error, int error_number, const char *path);

/* fsync of a folder: names made, renamed or removed in it stay so. */
stk_status stk__durable_sync(const char *folder, stk_error *error);

/* mkdir -p; the parent of each folder that it makes is synced. */
stk_status stk__durable_folder(const char *path, stk_error *error);

/* Removes a file, or a folder with everything in it, without following links. False: something is left. */
bool stk__durable_remove(const char *path);

/* "folder/name"; STK_ERROR_ARGUMENT when that is longer than size. */
stk_status stk__durable_join(char *path, size_t size, const char *folder, const char *name, stk_error *error);

#endif
