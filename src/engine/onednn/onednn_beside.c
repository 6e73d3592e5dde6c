/* SPDX-License-Identifier: Apache-2.0 */
/* Walks from this library's own file upwards and looks into the folder lib of each folder on the way. Nothing
 * is kept. Threads: any. */
#include "engine/onednn/onednn_beside.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LEVELS = 7 }; /* …/lib/python3.11/site-packages/stoker/bin/stoker: 6 to PREFIX */

void *stk__onednn_open_above(const char *own, const char *file, char *path, size_t size)
{
    char folder[PATH_MAX];
    *path = '\0';
    if (!realpath(own, folder)) return NULL;
    for (int level = 0; level < LEVELS; level++) {
        char *slash = strrchr(folder, '/');
        if (!slash || slash == folder) return NULL;
        *slash = '\0';
        void *library = NULL;
        if ((size_t)snprintf(path, size, "%s/lib/%s", folder, file) < size && access(path, R_OK) == 0)
            library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (library) return library;
        *path = '\0';
    }
    return NULL;
}

void *stk__onednn_open_beside(const char *file)
{
    static const char here;
    char path[PATH_MAX];
    Dl_info own;
    if (!dladdr(&here, &own) || !own.dli_fname) return NULL;
    /* Of a program, the first word of its command line, which need not be a path. */
    return stk__onednn_open_above(strchr(own.dli_fname, '/') ? own.dli_fname : "/proc/self/exe", file, path,
                                  sizeof path);
}
