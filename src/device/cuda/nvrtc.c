/* SPDX-License-Identifier: Apache-2.0 */
/* Finding NVRTC. A machine often has several (toolkit, PyTorch's wheels, other environments), and the driver
 * takes code of compilers up to its own major version only: so all of them are opened and put in order. */
#include "device/cuda/nvrtc.h"

#include "device/library.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VARIABLE "STOKER_NVRTC_LIBRARY"

static const char *const files[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so",
                                    NULL};

static struct {
    pthread_mutex_t lock;
    stk__nvrtc list[STK_NVRTC_MOST]; /* under lock until count */
    int count;
    bool asked; /* Python was */
} here = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool take_calls(void *library, stk__nvrtc_api *api, const char **missing)
{
#define TAKE_CALL(name, parameters)                                                                          \
    {                                                                                                        \
        void *symbol = dlsym(library, #name);                                                                \
        *missing = #name;                                                                                    \
        if (!symbol) return false;                                                                           \
        memcpy(&api->name, &symbol, sizeof symbol);                                                          \
    }
    STK_NVRTC_CALLS(TAKE_CALL)
#undef TAKE_CALL
    return true;
}

/* Under lock. context: an error, of the last that could not be taken. */
static bool take(void *context, void *library)
{
    stk_error *error = context;
    const char *missing;
    int major = 0, minor = 0;
    stk__nvrtc *made = &here.list[here.count];
    for (int i = 0; i < here.count; i++)
        if (here.list[i].library == library) return false;
    *made = (stk__nvrtc){.library = library};
    if (!take_calls(library, &made->api, &missing)) {
        stk__fail(error, STK_ERROR_UNSUPPORTED, "the NVRTC that was found lacks '%s'", missing);
        stk__error_hint(error, "CUDA 11.2 or newer is needed");
        return false;
    }
    if (stk__nvrtc_judge(made->api.nvrtcVersion(&major, &minor), "nvrtcVersion", error) != STK_OK)
        return false;
    made->version = major * 1000 + minor * 10;
    return ++here.count == STK_NVRTC_MOST;
}

/* INT_MAX: there is no driver that tells. */
static int find_driver(void)
{
    int version = 0;
    const stk__cuda_api *api = stk__cuda_api_open(NULL);
    return api && api->cuDriverGetVersion(&version) == CUDA_SUCCESS && version > 0 ? version : INT_MAX;
}

static bool fits_better(const stk__nvrtc *a, const stk__nvrtc *b, int driver)
{
    if ((a->version <= driver) != (b->version <= driver)) return a->version <= driver;
    return a->version <= driver ? a->version > b->version : a->version < b->version;
}

/* Those that fit alike keep the order of the places. */
static void sort_list(int driver)
{
    for (int i = 1; i < here.count; i++)
        for (int j = i; j > 0 && fits_better(&here.list[j], &here.list[j - 1], driver); j--) {
            const stk__nvrtc other = here.list[j];
            here.list[j] = here.list[j - 1];
            here.list[j - 1] = other;
        }
}

/* Under lock. Python is asked only where nothing else fits. */
static stk_status collect(stk_error *error)
{
    stk_error own = {0};
    const stk__library_search search = {files, VARIABLE, take, &own};
    const char *named = getenv(VARIABLE);
    const int driver = find_driver();
    if (named && strcmp(named, "none") == 0) {
        stk__fail(error, STK_ERROR_UNSUPPORTED, VARIABLE "=none: NVRTC is disabled");
        stk__error_hint(error, "unset it to search the default locations");
        return STK_OK;
    }
    STK__TRY(stk__library_visit(&search, error));
    sort_list(driver);
    if (!(named && *named) && !here.asked && (here.count == 0 || here.list[0].version > driver) &&
        here.count < STK_NVRTC_MOST) {
        here.asked = true; /* a process is not started each time */
        stk__library_visit_python(&search);
        sort_list(driver);
    }
    if (here.count) return STK_OK;
    if (own.code == STK_OK) stk__library_refuse(&search, error);
    if (own.code != STK_OK && error) *error = own;
    return named && *named ? STK_ERROR_UNSUPPORTED : STK_OK;
}

/* What was not there is looked for again each time: a variable may have been set since. */
stk_status stk__nvrtc_list(const stk__nvrtc **list, int *count, stk_error *error)
{
    pthread_mutex_lock(&here.lock);
    const stk_status status = here.count ? STK_OK : collect(error);
    *list = here.list;
    *count = here.count;
    pthread_mutex_unlock(&here.lock);
    return status;
}

const stk__nvrtc_api *stk__nvrtc_api_open(stk_error *error)
{
    const stk__nvrtc *list;
    int count;
    return stk__nvrtc_list(&list, &count, error) == STK_OK && count ? &list[0].api : NULL;
}

bool stk__nvrtc_is_beyond(int version)
{
    return version / 1000 > find_driver() / 1000;
}

void stk__nvrtc_describe(char *why, size_t why_bytes)
{
    const stk__nvrtc *list;
    int count;
    stk_error error = {0};
    *why = '\0';
    if (stk__nvrtc_list(&list, &count, &error) != STK_OK) return; /* opening the device will say so */
    const int driver = find_driver();
    if (!count)
        snprintf(why, why_bytes, "NVRTC not found");
    else if (stk__nvrtc_is_beyond(list[0].version))
        snprintf(why, why_bytes, "NVRTC %d.%d is newer than the driver's CUDA %d.%d", list[0].version / 1000,
                 list[0].version % 1000 / 10, driver / 1000, driver % 1000 / 10);
}

stk_status stk__nvrtc_judge(int code, const char *call, stk_error *error)
{
    static const char *const names[] = {
        "success",        "out of memory", "program creation failure", "invalid input", "invalid program",
        "invalid option", "compilation",   "builtin operation failure"};
    if (code == NVRTC_SUCCESS) return STK_OK;
    const bool known = code > 0 && (size_t)code < sizeof names / sizeof names[0];
    const stk_status status = code == NVRTC_ERROR_OUT_OF_MEMORY ? STK_ERROR_MEMORY : STK_ERROR_UNSUPPORTED;
    stk__fail(error, status, "%s failed: %s (%d)", call, known ? names[code] : "unknown error code", code);
    stk__error_hint(error, "set " VARIABLE " to another NVRTC, or use augment.device=cpu");
    return status;
}
