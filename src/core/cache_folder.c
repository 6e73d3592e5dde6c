/* SPDX-License-Identifier: Apache-2.0 */
/* The user's cache folder, by the XDG base directory specification. Reads the environment; any thread. */
#include "core/cache_folder.h"

#include <stdio.h>
#include <stdlib.h>

bool stk__cache_folder(char *path, size_t path_bytes)
{
    const char *own = getenv("STOKER_CACHE_DIR"), *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int length = -1;
    if (own && *own)
        length = snprintf(path, path_bytes, "%s", own);
    else if (cache && *cache == '/')
        length = snprintf(path, path_bytes, "%s/stoker", cache);
    else if (home && *home == '/')
        length = snprintf(path, path_bytes, "%s/.cache/stoker", home);
    return length > 0 && (size_t)length < path_bytes;
}
