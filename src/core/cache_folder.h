/* SPDX-License-Identifier: Apache-2.0 */
/* Where what may be deleted at any time is kept: built kernels, indexes of shards, looks at masks. */
#ifndef STK_CORE_CACHE_FOLDER_H
#define STK_CORE_CACHE_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

/* ${STOKER_CACHE_DIR:-${XDG_CACHE_HOME:-~/.cache}/stoker}; false: there is no such place (no HOME). The
 * folder need not exist. */
bool stk__cache_folder(char *path, size_t path_bytes);

#endif
