/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the user's libtorch at run time: found by a setting, a Python environment or python3 itself,
 * checked for its version, and reduced to the stable C interface. Once per process. */
#include "engine/torch/torch_cuda.h"

#include "core/file.h"
#include "core/memory.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VARIABLE "STOKER_TORCH"
#define LIBRARY  "libtorch_cpu.so"

static struct {
    pthread_mutex_t lock;
    stk__torch_api api; /* under lock until open */
    bool open;
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool take_call(void *library, const char *name, void *member)
{
    void *symbol = dlsym(library, name);
    if (symbol) memcpy(member, &symbol, sizeof symbol); /* C has no cast from void * to a function */
    return symbol != NULL;
}

static stk_status refuse_old(const stk__torch_api *api, stk_error *error)
{
    stk__fail(error, STK_ERROR_UNSUPPORTED, "unsupported PyTorch %d.%d: %d.%d or newer is needed", api->major,
              api->minor, STK_TORCH_MAJOR, STK_TORCH_MINOR);
    stk__error_hint(error, "install a newer PyTorch, or set its torch/lib folder in " VARIABLE);
    return STK_ERROR_UNSUPPORTED;
}

static stk_status refuse_call(const char *name, stk_error *error)
{
    stk__fail(error, STK_ERROR_UNSUPPORTED, "unsupported PyTorch: it lacks '%s'", name);
    stk__error_hint(error, "version %d.%d or newer is needed", STK_TORCH_MAJOR, STK_TORCH_MINOR);
    return STK_ERROR_UNSUPPORTED;
}

static bool read_version(void *library, stk__torch_api *api)
{
    if (!take_call(library, "aoti_torch_abi_version", &api->aoti_torch_abi_version)) return false;
    const uint64_t version = api->aoti_torch_abi_version();
    api->major = (int)(version >> 56);
    api->minor = (int)(version >> 48 & 255);
    api->patch = (int)(version >> 40 & 255);
    return true;
}

/* What PyTorch frees must come from the operator new that it sees: a sanitizer's stands before all others. */
static bool take_allocator(void *library, stk__torch_api *api)
{
    void *const places[] = {RTLD_DEFAULT, library};
    for (int i = 0; i < 2; i++)
        if (take_call(places[i], "_Znwm", &api->operator_new) &&
            take_call(places[i], "_ZdlPv", &api->operator_delete))
            return true;
    return false;
}

static stk_status take_calls(void *library, stk__torch_api *api, stk_error *error)
{
    if (!read_version(library, api)) return refuse_call("aoti_torch_abi_version", error);
    if (api->major < STK_TORCH_MAJOR || (api->major == STK_TORCH_MAJOR && api->minor < STK_TORCH_MINOR))
        return refuse_old(api, error);
#define TAKE_CALL(result, name, parameters)                                                                  \
    if (!take_call(library, #name, &api->name)) return refuse_call(#name, error);
    STK_TORCH_CALLS(TAKE_CALL)
#undef TAKE_CALL
    if (!take_allocator(library, api)) return refuse_call("operator new", error);
    api->library = library;
    take_call(library, "torch_exception_get_what_without_backtrace", &api->last_error);
    take_call(library, "_ZN2at15set_num_threadsEi",
              &api->set_num_threads); /* C++, but nothing to get wrong */
    return STK_OK;
}

static stk_status open_path(const char *path, stk__torch_api *api, stk_error *error)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library) return take_calls(library, api, error);
    stk__fail(error, STK_ERROR_UNSUPPORTED, "cannot load PyTorch: %s", dlerror());
    stk__error_hint(error, "set the torch/lib folder of a working PyTorch in " VARIABLE);
    return STK_ERROR_UNSUPPORTED;
}

/* The library below a Python environment's folder. */
static bool find_below(const char *environment, char *path, size_t size)
{
    char pattern[PATH_MAX];
    glob_t found;
    if (!environment || !*environment) return false;
    snprintf(pattern, sizeof pattern, "%s/lib*/python3*/site-packages/torch/lib/" LIBRARY, environment);
    const bool any = glob(pattern, 0, NULL, &found) == 0;
    if (any) snprintf(path, size, "%s", found.gl_pathv[0]);
    globfree(&found);
    return any;
}

/* Where python3 would import torch from; nothing of it is imported. */
static bool ask_python(char *path, size_t size)
{
    char folder[PATH_MAX - 32] = "";
    FILE *answer = popen("python3 -c 'import importlib.util as u; s = u.find_spec(\"torch\"); "
                         "print(s.submodule_search_locations[0] if s else \"\")' 2>/dev/null",
                         "re");
    if (!answer) return false;
    if (!fgets(folder, sizeof folder, answer)) folder[0] = '\0';
    pclose(answer);
    folder[strcspn(folder, "\n")] = '\0';
    snprintf(path, size, "%s/lib/" LIBRARY, folder);
    return folder[0] != '\0';
}

/* False: only the loader of shared libraries may know. */
static bool find_path(char *path, size_t size)
{
    const char *named = getenv(VARIABLE);
    if (named && *named) {
        snprintf(path, size, "%s/" LIBRARY, named);
        return true;
    }
    return find_below(getenv("VIRTUAL_ENV"), path, size) || find_below(getenv("CONDA_PREFIX"), path, size) ||
           ask_python(path, size);
}

static stk_status find_and_open(stk__torch_api *api, stk_error *error)
{
    char path[PATH_MAX];
    if (find_path(path, sizeof path)) return open_path(path, api, error);
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (library) return take_calls(library, api, error);
    stk__fail(error, STK_ERROR_UNSUPPORTED, "PyTorch (" LIBRARY ") not found");
    stk__error_hint(
        error, "activate the Python environment that has PyTorch, or set its torch/lib folder in " VARIABLE);
    return STK_ERROR_UNSUPPORTED;
}

/* Read by PyTorch's OpenMP while it is loaded. Threads that spin for long starve the loader's; those that
 * sleep at once take half of the time of a small LSTM to wake up. So: about half a
 * millisecond. */
static void prepare_environment(void)
{
    if (!getenv("OMP_WAIT_POLICY")) setenv("GOMP_SPINCOUNT", "30000", 0);
    setenv("OMP_WAIT_POLICY", "passive", 0);
}

/* Operators allocate what they return. glibc gives larger pieces back to the system at once and has them
 * zeroed page by page the next time, up to a tenth of a small step; so it keeps what is below its own limit
 * for that. Of the whole process, as PyTorch's threads are; who has set glibc's own variables is not
 * disturbed. */
static void prepare_allocator(void)
{
#if defined(__GLIBC__)
    if (getenv("MALLOC_MMAP_THRESHOLD_") || getenv("MALLOC_TRIM_THRESHOLD_")) return;
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
}

/* torch/version.py says what torch/lib is: "__version__ = '2.15.0+cu132'". */
static stk__torch_version read_version_file(const char *library)
{
    enum { FILE_BYTES = 1 << 16 };
    static const char name[] = "__version__ = '";
    char path[PATH_MAX + 16];
    stk__buffer text = {0};
    stk__torch_version version = {0};
    const char *end = strrchr(library, '/');
    snprintf(path, sizeof path, "%.*s/../version.py", end ? (int)(end - library) : 0, library);
    if (stk__file_read(path, FILE_BYTES, &text, NULL) == STK_OK &&
        stk__buffer_append(&text, "", 1, NULL) == STK_OK) {
        const char *at = strstr((const char *)text.data, name);
        if (at && sscanf(at + sizeof name - 1, "%d.%d", &version.major, &version.minor) != 2)
            version = (stk__torch_version){0};
    }
    stk__buffer_fini(&text);
    return version;
}

stk_status stk__torch_api_find(stk__torch_version *version, stk_error *error)
{
    char path[PATH_MAX];
    const stk__torch_api *api;
    if (find_path(path, sizeof path) && access(path, R_OK) == 0) {
        *version = read_version_file(path);
        return STK_OK;
    }
    STK__TRY(stk__torch_api_open(&api, error));
    *version = (stk__torch_version){api->major, api->minor};
    return STK_OK;
}

stk_status stk__torch_api_open(const stk__torch_api **api, stk_error *error)
{
    stk_status status = STK_OK;
    pthread_mutex_lock(&state.lock);
    if (!state.open) {
        prepare_environment();
        prepare_allocator();
        status = find_and_open(&state.api, error);
        state.open = status == STK_OK;
        if (state.open) stk__torch_cuda_load(&state.api);
    }
    pthread_mutex_unlock(&state.lock);
    *api = &state.api;
    return status;
}
