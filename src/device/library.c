#include "device/library.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

enum { FLAGS = RTLD_NOW | RTLD_LOCAL };

/* Every file that pattern matches; a broken one is not the end. */
static void *open_matching(const char *pattern)
{
    void *library = NULL;
    glob_t found;
    if (glob(pattern, 0, NULL, &found) != 0) return NULL;
    for (size_t i = 0; i < found.gl_pathc && !library; i++)
        library = dlopen(found.gl_pathv[i], FLAGS);
    globfree(&found);
    return library;
}

typedef struct place {
    const char *variable, *below;
} place;

static void *open_below(const place *at, const char *file)
{
    const char *folder = getenv(at->variable);
    char path[4096];
    if (!folder || !*folder ||
        (size_t)snprintf(path, sizeof path, "%s/%s/%s", folder, at->below, file) >= sizeof path)
        return NULL;
    return open_matching(path);
}

static void *search(const char *const *files)
{
    static const place places[] = {
        {"CUDA_HOME", "lib64"},
        {"CUDA_HOME", "lib"},
        {"CUDA_PATH", "lib64"},
        {"CUDA_PATH", "lib"},
        {"VIRTUAL_ENV", "lib/python3*/site-packages/nvidia/*/lib"},
        {"CONDA_PREFIX", "lib/python3*/site-packages/nvidia/*/lib"},
        {"CONDA_PREFIX", "lib"},
    };
    void *library = NULL;
    for (const char *const *file = files; *file && !library; file++)
        library = dlopen(*file, FLAGS | RTLD_NOLOAD);
    for (const char *const *file = files; *file && !library; file++)
        library = dlopen(*file, FLAGS);
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        for (const char *const *file = files; *file && !library; file++)
            library = open_below(&places[i], *file);
    return library;
}

void *stk__library_open_any(const char *const *files, const char *variable, stk_error *error)
{
    const char *named = getenv(variable);
    if (named && *named) {
        void *library = dlopen(named, FLAGS);
        if (library) return library;
        stk__fail(error, STK_ERROR_UNSUPPORTED, "%s=%s cannot be opened: %s", variable, named, dlerror());
        stk__error_hint(error, "unset %s to look in the usual places", variable);
        return NULL;
    }
    void *library = search(files);
    if (library) return library;
    stk__fail(error, STK_ERROR_UNSUPPORTED,
              "%s was not found (loader's path, CUDA_HOME, CUDA_PATH, NVIDIA's wheels in VIRTUAL_ENV or "
              "CONDA_PREFIX)",
              files[0]);
    stk__error_hint(error, "install it, or name the file in %s", variable);
    return NULL;
}

void *stk__library_open(const char *file, const char *variable, stk_error *error)
{
    return stk__library_open_any((const char *const[]){file, NULL}, variable, error);
}
