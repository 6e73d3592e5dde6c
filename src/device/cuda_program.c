/* The device text becomes a module of a CUDA device: code for its architecture by NVRTC, or PTX that the
 * driver translates where NVRTC does not know the architecture yet. */
#include "core/logger.h"
#include "device/cuda_device.h"
#include "device/program_cache.h"

#include <stdio.h>
#include <string.h>

enum { MOST_ARCHITECTURES = 64 };

typedef struct plan {
    const stk__nvrtc_api *nvrtc;
    int version[2];
    bool ptx;        /* for the newest architecture that NVRTC knows and the device can run */
    char target[48]; /* "--gpu-architecture=sm_86" */
} plan;

/* Products and sums stay apart, as everywhere else; in PTX, too, where they are told to round one by one. */
#define OPTIONS "--fmad=false", "--std=c++17"

static void forget_module(stk__cuda *cuda)
{
    cuda->module = cuda->grey = cuda->augment = cuda->mix = NULL;
}

void stk__cuda_unload(stk__cuda *cuda)
{
    if (cuda->module) cuda->api->cuModuleUnload(cuda->module);
    forget_module(cuda);
}

/* oldest 0: it does not tell what it knows. */
static stk_status refuse_architecture(const plan *p, int architecture, int oldest, stk_error *error)
{
    char why[64] = "it does not tell which it knows";
    if (oldest) snprintf(why, sizeof why, "the oldest that it knows is sm_%d", oldest);
    stk__fail(error, STK_ERROR_UNSUPPORTED, "NVRTC %d.%d makes no code for sm_%d: %s", p->version[0],
              p->version[1], architecture, why);
    stk__error_hint(error, "name another NVRTC in STOKER_NVRTC_LIBRARY, or use augment.device=cpu");
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

static stk_status make_plan(plan *p, int architecture, stk_error *error)
{
    *p = (plan){.nvrtc = stk__nvrtc_api_open(error)};
    if (!p->nvrtc) return STK_ERROR_UNSUPPORTED;
    STK__TRY(stk__nvrtc_judge(p->nvrtc->nvrtcVersion(&p->version[0], &p->version[1]), "nvrtcVersion", error));
    return choose_target(p, architecture, error);
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
        stk__fail(error, STK_ERROR_UNSUPPORTED, "the kernels cannot be built for '%.100s': %.*s",
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

static stk_status load(stk__cuda *cuda, const stk__buffer *code, stk_error *error)
{
    const stk__cuda_api *api = cuda->api;
    struct {
        const char *name;
        stk__cu_handle *kernel;
    } const kernels[] = {{"stk_grey", &cuda->grey}, {"stk_augment", &cuda->augment}, {"stk_mix", &cuda->mix}};
    stk_status status =
        stk__cuda_check(cuda, api->cuModuleLoadData(&cuda->module, code->data), "cuModuleLoadData", error);
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
    /* Behind it a zero, which ends PTX. */
    const bool found = stk__program_load(key, &code) && stk__buffer_append(&code, "", 1, NULL) == STK_OK;
    const bool loaded = found && load(cuda, &code, &error) == STK_OK;
    if (found && !loaded)
        stk__log(STK_LOG_INFO, "kernels kept from an earlier start are of no use and built again: %s",
                 error.message);
    stk__buffer_fini(&code);
    return loaded;
}

static void note_ptx(stk__cuda *cuda, const plan *p)
{
    if (p->ptx)
        snprintf(cuda->device.info.note, sizeof cuda->device.info.note,
                 "NVRTC %d.%d does not know sm_%d; the driver translates %s", p->version[0], p->version[1],
                 cuda->architecture, strchr(p->target, '=') + 1);
}

stk_status stk__cuda_build(stk__cuda *cuda, const char *text, stk_error *error)
{
    plan p;
    stk__buffer code = {0};
    STK__TRY(make_plan(&p, cuda->architecture, error));
    note_ptx(cuda, &p);
    const stk__digest key = find_key(&p, text);
    if (load_cached(cuda, key)) return STK_OK;
    stk_status status = stk__cuda_has_lost(cuda) ? stk__cuda_enter(cuda, error) : STK_OK;
    if (status == STK_OK) status = compile(cuda, &p, text, &code, error);
    if (status == STK_OK) status = load(cuda, &code, error);
    if (status == STK_OK) stk__program_save(key, code.data, code.size_bytes);
    stk__buffer_fini(&code);
    return status;
}
