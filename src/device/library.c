#include "device/library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static void *open_below(const char *variable, const char *file)
{
    const char *folder = getenv(variable);
    static const char *const parts[] = {"lib64", "lib"};
    char path[4096];
    void *library = NULL;
    for (size_t i = 0; folder && *folder && !library && i < sizeof parts / sizeof parts[0]; i++)
        if ((size_t)snprintf(path, sizeof path, "%s/%s/%s", folder, parts[i], file) < sizeof path)
            library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return library;
}

void *stk__library_open(const char *file, const char *variable, stk_error *error)
{
    const char *named = getenv(variable);
    if (named && *named) {
        void *library = dlopen(named, RTLD_NOW | RTLD_LOCAL);
        if (library) return library;
        stk__fail(error, STK_ERROR_UNSUPPORTED, "%s=%s cannot be opened: %s", variable, named, dlerror());
        stk__error_hint(error, "unset %s to look in the usual places", variable);
        return NULL;
    }
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    if (!library) library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!library) library = open_below("CUDA_HOME", file);
    if (!library) library = open_below("CUDA_PATH", file);
    if (library) return library;
    stk__fail(error, STK_ERROR_UNSUPPORTED, "%s was not found (loader's path, CUDA_HOME, CUDA_PATH)", file);
    stk__error_hint(error, "install it, or name the file in %s", variable);
    return NULL;
}
