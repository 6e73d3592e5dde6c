/* SPDX-License-Identifier: Apache-2.0 */
/* Opens oneDNN's shared library at run time, fills the table of its functions once per process and checks
 * the version. Environment variables that the library reads while loading are set before, unless the user
 * has. */
#include "engine/onednn/onednn_api.h"

#include "engine/onednn/onednn_beside.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#define VARIABLE "STOKER_ONEDNN"

static struct {
    pthread_mutex_t lock;
    stk__onednn_api api; /* under lock until open */
    bool prepared, open;
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

bool stk__onednn_hidden_tiles(uint32_t highest_leaf, uint32_t leaf7_edx)
{
    const uint32_t tiles = 1u << 22 | 1u << 24 | 1u << 25; /* AMX-BF16, AMX-TILE, AMX-INT8 */
    return (leaf7_edx & tiles) != 0 && highest_leaf < 0x1d;
}

static bool hides_tiles_here(void)
{
#if defined(__x86_64__)
    unsigned a, b, c, d;
    const unsigned highest = __get_cpuid_max(0, NULL);
    return highest >= 7 && __get_cpuid_count(7, 0, &a, &b, &c, &d) && stk__onednn_hidden_tiles(highest, d);
#else
    return false;
#endif
}

/* What oneDNN and its OpenMP read from the environment, the one at its first call and the other while it is
 * loaded. What the user has set stays. */
static void prepare_environment(char *note, size_t size)
{
    if (hides_tiles_here() && !getenv("DNNL_MAX_CPU_ISA") && !getenv("ONEDNN_MAX_CPU_ISA")) {
        setenv("DNNL_MAX_CPU_ISA", "AVX512_CORE_BF16", 0);
        setenv("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16", 0);
        snprintf(note, size,
                 "ISA capped at AVX512_CORE_BF16: the CPU reports AMX without its tile description");
    }
    const bool early = dlopen("libgomp.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD) != NULL;
    if (getenv("OMP_WAIT_POLICY")) return;
    setenv("OMP_WAIT_POLICY", "passive", 0);
    const size_t used = strlen(note);
    if (early)
        snprintf(note + used, size - used, "%sOpenMP was already loaded: start with OMP_WAIT_POLICY=passive",
                 used ? "; " : "");
}

static bool take_call(void *library, const char *name, void *member, stk_error *error)
{
    void *symbol = dlsym(library, name);
    if (symbol) memcpy(member, &symbol, sizeof symbol); /* C has no cast from void * to a function */
    if (!symbol) stk__fail(error, STK_ERROR_UNSUPPORTED, "the oneDNN library lacks '%s'", name);
    return symbol != NULL;
}

static stk_status take_calls(void *library, stk__onednn_api *api, stk_error *error)
{
    const dnnl_version_t *(*version)(void);
    if (!take_call(library, "dnnl_version", &version, error)) return STK_ERROR_UNSUPPORTED;
    api->version = *version();
    if (api->version.major != DNNL_VERSION_MAJOR)
        return stk__fail(error, STK_ERROR_UNSUPPORTED, "unsupported oneDNN %d.%d.%d: this build needs %d.x",
                         api->version.major, api->version.minor, api->version.patch, DNNL_VERSION_MAJOR);
#define TAKE_CALL(name)                                                                                      \
    if (!take_call(library, #name, &api->name, error)) return STK_ERROR_UNSUPPORTED;
    STK_ONEDNN_CALLS(TAKE_CALL)
#undef TAKE_CALL
    take_call(library, "omp_set_num_threads", &api->omp_set_num_threads, NULL);
    return STK_OK;
}

static stk_status open_named(const char *path, stk__onednn_api *api, stk_error *error)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    stk_status status = STK_OK;
    if (!library)
        status =
            stk__fail(error, STK_ERROR_UNSUPPORTED, VARIABLE "=%s cannot be opened: %s", path, dlerror());
    else
        status = take_calls(library, api, error);
    if (status != STK_OK) stk__error_hint(error, "unset " VARIABLE " to search the default locations");
    return status;
}

/* What pip installed. A wheel carries OpenMP's library, for machines that have none: oneDNN takes the one
 * that is loaded. */
static void *open_beside(void)
{
    if (!dlopen("libgomp.so.1", RTLD_NOW | RTLD_LOCAL)) stk__onednn_open_beside("libgomp.so.1");
    return stk__onednn_open_beside("libdnnl.so.2");
}

/* By the loader's path, then in the Python environment that we are part of. The newest versions come last:
 * they are opened only to report that they are unsupported. */
static stk_status open_found(stk__onednn_api *api, stk_error *error)
{
    static const char *const files[] = {"libdnnl.so.2", NULL, "libdnnl.so.3", "libdnnl.so"};
    stk_status status = STK_OK;
    bool found = false;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        void *library = files[i] ? dlopen(files[i], RTLD_NOW | RTLD_LOCAL) : open_beside();
        if (!library) continue;
        found = true;
        status = take_calls(library, api, error);
        if (status == STK_OK) return STK_OK;
    }
    if (!found) status = stk__fail(error, STK_ERROR_UNSUPPORTED, "oneDNN (libdnnl.so.2) not found");
    stk__error_hint(error, "install oneDNN 2.x (Debian: libdnnl2; Python: pip install "
                           "onednn-cpu-gomp==2022.2.1), or set its path in " VARIABLE);
    return status;
}

stk_status stk__onednn_api_open(const stk__onednn_api **api, stk_error *error)
{
    stk_status status = STK_OK;
    pthread_mutex_lock(&state.lock);
    if (!state.open) {
        const char *named = getenv(VARIABLE);
        if (!state.prepared) prepare_environment(state.api.note, sizeof state.api.note);
        state.prepared = true;
        status = named && *named ? open_named(named, &state.api, error) : open_found(&state.api, error);
        state.open = status == STK_OK;
    }
    pthread_mutex_unlock(&state.lock);
    *api = &state.api;
    return status;
}
