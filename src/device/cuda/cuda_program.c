/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel source becomes a module of a CUDA device: code for its architecture by NVRTC, or PTX that the
 * driver translates where NVRTC does not know the architecture yet. One NVRTC after the other is tried, those
 * that fit the driver first; where none fits, the driver translates the PTX that the library ships. */
#include "core/logger.h"
#include "device/cuda/cuda_device.h"
#include "device/cuda/nvrtc.h"
#include "device/program_cache.h"

#include <stdio.h>
#include <string.h>

enum { MOST_ARCHITECTURES = 64 };

typedef struct plan {
    const stk__nvrtc_api *nvrtc;
    int version[2];
    bool ptx;        /* for the newest architecture that NVRTC knows and the device can run */
    bool final;      /* it failed for a reason that another NVRTC does not help against */
    char target[48]; /* "--gpu-architecture=sm_86" */
} plan;

/* What failed before, for one sentence. */
typedef struct history {
    int count;
    char text[340];
    stk_error last;
} history;

/* Products and sums stay apart, as everywhere else; in PTX, too, with explicit rounding of each operation. */
#define OPTIONS "--fmad=false", "--std=c++17"

static void forget_module(stk__cuda *cuda)
{
    cuda->module = cuda->grey = cuda->augment = cuda->mix = cuda->dropout = cuda->gather = cuda->round = NULL;
}

void stk__cuda_unload(stk__cuda *cuda)
{
    if (cuda->module) cuda->api->cuModuleUnload(cuda->module);
    forget_module(cuda);
}

/* oldest 0: the supported architectures are unknown. */
static stk_status refuse_architecture(const plan *p, int architecture, int oldest, stk_error *error)
{
    char why[64] = "its supported architectures are unknown";
    if (oldest) snprintf(why, sizeof why, "it supports sm_%d and newer", oldest);
    stk__fail(error, STK_ERROR_UNSUPPORTED, "NVRTC %d.%d does not support sm_%d: %s", p->version[0],
              p->version[1], architecture, why);
    stk__error_hint(error, "set STOKER_NVRTC_LIBRARY to another NVRTC, or use augment.device=cpu");
    return STK_ERROR_UNSUPPORTED;
}

/* The device's own architecture, or the newest before it. */
static stk_status choose_target(plan *p, int architecture, stk_error *error)
{
    int known[MOST_ARCHITECTURES], count = 0, best = 0, oldest = 0;
    STK__TRY(
        stk__nvrtc_judge(p->nvrtc->nvrtcGetNumSupportedArchs(&count), "nvrtcGetNumSupportedArchs", error));
    if (count < 1 || count > MOST_ARCHITECTURES) return refuse_architecture(p, architecture, 0, error);
    STK__TRY(stk__nvrtc_judge(p->nvrtc->nvrtcGetSupportedArchs(known), "nvrtcGetSupportedArchs", error));
    oldest = known[0];
    for (int i = 0; i < count; i++) {
        if (known[i] <= architecture && known[i] > best) best = known[i];
        if (known[i] < oldest) oldest = known[i];
    }
    if (!best) return refuse_architecture(p, architecture, oldest, error);
    p->ptx = best != architecture;
    snprintf(p->target, sizeof p->target, "--gpu-architecture=%s_%d", p->ptx ? "compute" : "sm", best);
    return STK_OK;
}

static stk__digest find_key(const plan *p, const char *text)
{
    char version[48];
    snprintf(version, sizeof version, "NVRTC %d.%d", p->version[0], p->version[1]);
    const char *const parts[] = {text, p->target, OPTIONS, version};
    return stk__program_key(parts, sizeof parts / sizeof parts[0]);
}

static void explain_failure(const plan *p, stk__nvrtc_program program, const stk__cuda *cuda,
                            stk_error *error)
{
    stk__buffer log = {0};
    size_t bytes = 0;
    if (p->nvrtc->nvrtcGetProgramLogSize(program, &bytes) == NVRTC_SUCCESS && bytes > 1 &&
        stk__buffer_reserve(&log, bytes + 1, NULL) == STK_OK &&
        p->nvrtc->nvrtcGetProgramLog(program, (char *)log.data) == NVRTC_SUCCESS) {
        log.data[bytes] = 0;
        int length;
        const char *line = stk__program_complaint((const char *)log.data, &length);
        stk__fail(error, STK_ERROR_UNSUPPORTED, "cannot compile the kernels for '%.100s': %.*s",
                  cuda->device.info.model, length, line);
        stk__error_hint(error,
                        "please report this with the device's name and NVRTC %d.%d; "
                        "augment.device=cpu works",
                        p->version[0], p->version[1]);
        stk__log(STK_LOG_INFO, "%s", (const char *)log.data);
    }
    stk__buffer_fini(&log);
}

static stk_status take_code(const plan *p, stk__nvrtc_program program, stk__buffer *code, stk_error *error)
{
    size_t bytes = 0;
    const stk__nvrtc_api *api = p->nvrtc;
    STK__TRY(stk__nvrtc_judge(p->ptx ? api->nvrtcGetPTXSize(program, &bytes)
                                     : api->nvrtcGetCUBINSize(program, &bytes),
                              p->ptx ? "nvrtcGetPTXSize" : "nvrtcGetCUBINSize", error));
    STK__TRY(stk__buffer_reserve(code, bytes + 1, error));
    STK__TRY(stk__nvrtc_judge(p->ptx ? api->nvrtcGetPTX(program, (char *)code->data)
                                     : api->nvrtcGetCUBIN(program, (char *)code->data),
                              p->ptx ? "nvrtcGetPTX" : "nvrtcGetCUBIN", error));
    code->data[bytes] = 0; /* PTX is a text */
    code->size_bytes = bytes;
    return STK_OK;
}

static stk_status compile(const stk__cuda *cuda, const plan *p, const char *text, stk__buffer *code,
                          stk_error *error)
{
    stk__nvrtc_program program = NULL;
    const char *const options[] = {p->target, OPTIONS};
    STK__TRY(stk__nvrtc_judge(p->nvrtc->nvrtcCreateProgram(&program, text, "augment.cu", 0, NULL, NULL),
                              "nvrtcCreateProgram", error));
    const int result =
        p->nvrtc->nvrtcCompileProgram(program, (int)(sizeof options / sizeof options[0]), options);
    stk_status status = stk__nvrtc_judge(result, "nvrtcCompileProgram", error);
    if (result == NVRTC_ERROR_COMPILATION) explain_failure(p, program, cuda, error);
    if (status == STK_OK) status = take_code(p, program, code, error);
    p->nvrtc->nvrtcDestroyProgram(&program);
    return status;
}

/* Codes of an image that does not fit driver or GPU, or that the driver cannot translate. */
static bool is_of_image(int code)
{
    static const int codes[] = {CUDA_ERROR_INVALID_IMAGE,
                                CUDA_ERROR_NO_BINARY_FOR_GPU,
                                CUDA_ERROR_INVALID_PTX,
                                CUDA_ERROR_JIT_COMPILER_NOT_FOUND,
                                CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
                                CUDA_ERROR_JIT_COMPILATION_DISABLED};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        if (code == codes[i]) return true;
    return false;
}

/* final: the image is not to blame. */
static stk_status load(stk__cuda *cuda, const void *image, bool *final, stk_error *error)
{
    const stk__cuda_api *api = cuda->api;
    struct {
        const char *name;
        stk__cu_handle *kernel;
    } const kernels[] = {{"stk_grey", &cuda->grey},     {"stk_augment", &cuda->augment},
                         {"stk_mix", &cuda->mix},       {"stk_dropout", &cuda->dropout},
                         {"stk_gather", &cuda->gather}, {"stk_round", &cuda->round}};
    const int code = api->cuModuleLoadData(&cuda->module, image);
    stk_status status = stk__cuda_check(cuda, code, "cuModuleLoadData", error);
    *final = !is_of_image(code);
    if (status != STK_OK) {
        forget_module(cuda); /* a call that failed may have written something */
        return status;
    }
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0] && status == STK_OK; i++)
        status =
            stk__cuda_check(cuda, api->cuModuleGetFunction(kernels[i].kernel, cuda->module, kernels[i].name),
                            "cuModuleGetFunction", error);
    if (status != STK_OK) stk__cuda_unload(cuda);
    return status;
}

static bool load_cached(stk__cuda *cuda, stk__digest key)
{
    stk__buffer code = {0};
    stk_error error;
    bool final;
    /* Behind it a zero, which ends PTX. */
    const bool found = stk__program_load(key, &code) && stk__buffer_append(&code, "", 1, NULL) == STK_OK;
    const bool loaded = found && load(cuda, code.data, &final, &error) == STK_OK;
    if (found && !loaded)
        stk__log(STK_LOG_INFO, "cached kernels are unusable and are compiled again: %s", error.message);
    stk__buffer_fini(&code);
    return loaded;
}

static void note_ptx(stk__cuda *cuda, const plan *p)
{
    if (p->ptx)
        snprintf(cuda->device.info.note, sizeof cuda->device.info.note,
                 "NVRTC %d.%d does not support sm_%d; the driver JIT-compiles %s", p->version[0],
                 p->version[1], cuda->architecture, strchr(p->target, '=') + 1);
}

/* By one NVRTC; from the cache on disk if it built the same text before. */
static stk_status build(stk__cuda *cuda, plan *p, const char *text, stk_error *error)
{
    stk__buffer code = {0};
    STK__TRY(choose_target(p, cuda->architecture, error));
    const stk__digest key = find_key(p, text);
    bool loaded = load_cached(cuda, key);
    stk_status status = stk__cuda_has_lost(cuda) ? stk__cuda_enter(cuda, error) : STK_OK;
    if (!loaded && status == STK_OK) {
        status = compile(cuda, p, text, &code, error);
        if (status == STK_OK) status = load(cuda, code.data, &p->final, error);
        if (status == STK_OK) stk__program_save(key, code.data, code.size_bytes);
        stk__buffer_fini(&code);
    }
    if (status == STK_OK) note_ptx(cuda, p);
    return status;
}

static void remember(history *tried, const char *who, const stk_error *error)
{
    const size_t used = strlen(tried->text);
    snprintf(tried->text + used, sizeof tried->text - used, "%s%s: %.140s", used ? "; " : "", who,
             error->message);
    tried->last = *error;
    tried->count++;
}

/* True: it is decided, by *status. */
static bool try_nvrtc(stk__cuda *cuda, const stk__nvrtc *nvrtc, const char *text, history *tried,
                      stk_status *status)
{
    stk_error own = {0};
    char who[48] = "NVRTC";
    plan p = {.nvrtc = &nvrtc->api};
    *status = stk__nvrtc_judge(p.nvrtc->nvrtcVersion(&p.version[0], &p.version[1]), "nvrtcVersion", &own);
    if (*status == STK_OK) {
        snprintf(who, sizeof who, "NVRTC %d.%d", p.version[0], p.version[1]);
        *status = build(cuda, &p, text, &own);
    }
    if (*status == STK_OK) return true;
    remember(tried, who, &own);
    return p.final || own.code == STK_ERROR_MEMORY || stk__cuda_has_lost(cuda);
}

/* Room for a reason from stk__nvrtc_describe. */
static void note_shipped(stk__device_info *info, const char *why)
{
    snprintf(info->note, sizeof info->note, "the driver JIT-compiles the shipped PTX: %.200s", why);
}

void stk__cuda_foretell_note(stk__device_info *info)
{
    char why[160];
    const stk__nvrtc *list;
    int count;
    stk_error error = {0};
    if (stk__nvrtc_list(&list, &count, &error) != STK_OK) { /* one was named that cannot be used */
        info->available = false;
        snprintf(info->why, sizeof info->why, "%.300s", error.message);
        return;
    }
    stk__nvrtc_describe(why, sizeof why);
    if (why[0] && stk__device_ptx_bytes) note_shipped(info, why);
}

static bool try_shipped(stk__cuda *cuda, history *tried, stk_status *status)
{
    stk_error own = {0};
    bool final = false;
    if (!stk__device_ptx_bytes) return false;
    *status = load(cuda, stk__device_ptx, &final, &own);
    if (*status != STK_OK) {
        remember(tried, "shipped PTX", &own);
        return final || stk__cuda_has_lost(cuda);
    }
    note_shipped(&cuda->device.info, tried->text);
    stk__log(STK_LOG_INFO, "the driver JIT-compiles the shipped PTX: %s", tried->text);
    return true;
}

/* Those of a newer major version than the driver come after the shipped PTX: it takes nothing of theirs. */
static stk_status try_all(stk__cuda *cuda, const char *text, history *tried)
{
    const stk__nvrtc *list;
    int count;
    stk_status status = stk__nvrtc_list(&list, &count, &tried->last);
    if (status != STK_OK) return status;
    status = STK_ERROR_UNSUPPORTED;
    stk__nvrtc_describe(tried->text, sizeof tried->text);
    tried->count = tried->text[0] != '\0';
    for (int beyond = 0; beyond < 2; beyond++) {
        for (int i = 0; i < count; i++)
            if (stk__nvrtc_is_beyond(list[i].version) == beyond &&
                try_nvrtc(cuda, &list[i], text, tried, &status))
                return status;
        if (!beyond && text == stk__kernel_source && try_shipped(cuda, tried, &status)) return status;
    }
    return status;
}

stk_status stk__cuda_build(stk__cuda *cuda, const char *text, stk_error *error)
{
    history tried = {0};
    cuda->device.info.note[0] = '\0';
    const stk_status status = try_all(cuda, text, &tried);
    if (status == STK_OK) return STK_OK;
    if (tried.count > 1)
        stk__fail(error, status, "cannot compile kernels for '%s': %s", cuda->device.info.name, tried.text);
    else if (error)
        *error = tried.last;
    if (tried.count > 1) stk__error_hint(error, "%s", tried.last.hint);
    return status;
}
