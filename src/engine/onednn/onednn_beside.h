/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries that pip installs: in PREFIX/lib, while this library is in PREFIX/bin or
 * PREFIX/lib/python3.11/site-packages/stoker, of which no loader's path knows. */
#ifndef STK_ENGINE_ONEDNN_BESIDE_H
#define STK_ENGINE_ONEDNN_BESIDE_H

#include <stddef.h>

/* Opens FOLDER/lib/file for the first of the folders above this library's (or program's) own file in which it
 * is and can be opened; NULL: there is none. */
void *stk__onednn_open_beside(const char *file);

/* The same for a file of any place, for tests; path: what was opened, "" if nothing was. */
void *stk__onednn_open_above(const char *own, const char *file, char *path, size_t size);

#endif
