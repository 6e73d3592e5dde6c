/* SPDX-License-Identifier: Apache-2.0 */
/* Which engines there are, and which one is opened: the one that was named, or for "auto" one that has a GPU
 * to compute on, then the best of the CPU's. */
#include "core/logger.h"
#include "core/pool.h"
#include "engine/engine_program.h"

#include <stdio.h>
#include <string.h>

#define STK__ENGINE(name) &stk__engine_##name,
static const stk__engine_ops *const engines[] = {
#include "engine/engines.list"
};
#undef STK__ENGINE
enum { ENGINE_COUNT = sizeof engines / sizeof engines[0] };

const char *stk__engine_names(int index)
{
    return index >= 0 && index < ENGINE_COUNT ? engines[index]->name : NULL;
}

/* A GPU comes before all CPUs, if an engine can use it; else why: empty, if none is here. */
static bool open_gpu(const stk__engine_ops *ops, stk__engine **engine, const stk__engine_options *options,
                     char why[STK_ENGINE_WHY])
{
    stk_error error = {0};
    if (!ops->lists_gpu(why)) return false;
    if (ops->open(engine, options, &error) != STK_OK) {
        snprintf(why, STK_ENGINE_WHY, "%.*s", STK_ENGINE_WHY - 1, error.message);
        return false;
    }
    if ((*engine)->info.device != STK_DEVICE_CPU) return true;
    memcpy(why, (*engine)->info.gpu_why, STK_ENGINE_WHY);
    stk__engine_close(engine);
    return false;
}

static bool open_any_gpu(stk__engine **engine, const stk__engine_options *options, char why[STK_ENGINE_WHY])
{
    why[0] = '\0';
    if (options->device && strcmp(options->device, "cpu") == 0) return false;
    for (int i = 0; i < ENGINE_COUNT; i++)
        if (engines[i]->lists_gpu && open_gpu(engines[i], engine, options, why)) return true;
    return false;
}

/* The first that is available; its note says why the best is not. */
static stk_status open_auto(stk__engine **engine, const stk__engine_options *options, stk_error *error)
{
    stk_error why = {0}, ignored;
    char gpu_why[STK_ENGINE_WHY];
    if (!error) error = &ignored;
    if (open_any_gpu(engine, options, gpu_why)) return STK_OK;
    for (int i = 0; i < ENGINE_COUNT; i++) {
        if (engines[i]->lists_gpu) continue; /* it had its chance */
        const stk_status status = engines[i]->open(engine, options, error);
        if (status == STK_OK) stk__error_clear(error);
        if (status == STK_OK) memcpy((*engine)->info.gpu_why, gpu_why, sizeof gpu_why);
        if (status == STK_OK && i > 0)
            snprintf((*engine)->info.note, sizeof(*engine)->info.note, "%.159s", why.message);
        if (status != STK_ERROR_UNSUPPORTED) return status;
        if (i == 0) why = *error;
    }
    return STK_ERROR_UNSUPPORTED;
}

static stk_status open_named(stk__engine **engine, const stk__engine_options *options, stk_error *error)
{
    char names[128] = "run.engine is auto";
    for (int i = 0; i < ENGINE_COUNT; i++) {
        if (strcmp(engines[i]->name, options->name) == 0) return engines[i]->open(engine, options, error);
        const size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", i + 1 < ENGINE_COUNT ? ", " : " or ",
                 engines[i]->name);
    }
    stk__fail(error, STK_ERROR_CONFIG, "unknown engine '%s'", options->name);
    stk__error_hint(error, "%s", names);
    return STK_ERROR_CONFIG;
}

stk_status stk__engine_open(stk__engine **engine, const stk__engine_options *options, stk_error *error)
{
    stk__engine_options filled = *options;
    *engine = NULL;
    if (filled.threads <= 0) filled.threads = stk__pool_default_workers();
    if (filled.threads > STK_POOL_WORKERS) filled.threads = STK_POOL_WORKERS;
    const bool any = !filled.name || strcmp(filled.name, "auto") == 0;
    STK__TRY((any ? open_auto : open_named)(engine, &filled, error));
    (*engine)->level = stk__cpu_level_allowed();
    (*engine)->info.program_bytes = stk__engine_program_bytes(*engine);
    if ((*engine)->info.gpu_why[0] && !options->dry)
        stk__log(STK_LOG_WARNING, "training on the CPU, not on the GPU: %s", (*engine)->info.gpu_why);
    return STK_OK;
}
