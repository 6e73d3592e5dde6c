/* SPDX-License-Identifier: Apache-2.0 */
/* The compiler. It believes every text but one with the word `nonsense`, and knows the options of the real
 * one that decide bits. */
#include "fake_gpu.h"

#include "core/hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct fake_program {
    fake_handle handle;
    char *text, *log;
    fake_cubin *cubin; /* NULL: not compiled */
    size_t cubin_bytes;
    bool ptx_only;
} fake_program;

int nvrtcVersion(int *major, int *minor)
{
    const int code = fake_enter(FAKE_nvrtcVersion, FAKE_ANY);
    FAKE_SPOIL(major), FAKE_SPOIL(minor);
    if (code) return code;
    *major = fake.nvrtc_major;
    *minor = fake.nvrtc_minor;
    return CUDA_SUCCESS;
}

int nvrtcCreateProgram(stk__nvrtc_program *program, const char *text, const char *name, int header_count,
                       const char *const *headers, const char *const *include_names)
{
    (void)name, (void)headers, (void)include_names;
    const int code = fake_enter(FAKE_nvrtcCreateProgram, FAKE_ANY);
    FAKE_SPOIL(program);
    if (code) return code;
    if (!text || header_count) return FAKE_NVRTC_ERROR_INVALID_INPUT;
    fake_program *made = fake_make(FAKE_PROGRAM, FAKE_ANY, sizeof *made);
    if (!made) return FAKE_NVRTC_ERROR_OUT_OF_MEMORY;
    made->text = strdup(text);
    made->log = strdup("");
    *program = made;
    return CUDA_SUCCESS;
}

static void say(fake_program *program, const char *format, const char *word)
{
    char line[256];
    snprintf(line, sizeof line, format, word);
    free(program->log);
    program->log = strdup(line);
}

typedef struct choices {
    int sm;
    bool contracts, quick, ptx; /* ptx: nothing but PTX was asked for */
} choices;

/* --name=value, -name=value or -arch=value. False: the compiler has no such option. */
static bool read_option(const char *option, choices *chosen)
{
    const char *value = strchr(option, '=');
    const char *name = option + strspn(option, "-");
    const size_t length = value ? (size_t)(value - name) : strlen(name);
    static const char *const harmless[] = {"device-as-default-execution-space",
                                           "std",
                                           "ptxas-options",
                                           "Xptxas",
                                           "ftz",
                                           "default-device",
                                           "default-stream",
                                           "define-macro",
                                           "restrict",
                                           "extra-device-vectorization",
                                           "generate-line-info",
                                           "lineinfo",
                                           "prec-sqrt"};
    if (strncmp(name, "gpu-architecture", length) == 0 || strncmp(name, "arch", length) == 0) {
        chosen->ptx = value && sscanf(value, "=compute_%d", &chosen->sm) == 1;
        return chosen->ptx || (value && sscanf(value, "=sm_%d", &chosen->sm) == 1);
    }
    if (strncmp(name, "fmad", length) == 0)
        return chosen->contracts = !value || strcmp(value, "=false") != 0, true;
    if (strncmp(name, "use_fast_math", length) == 0) return chosen->quick = true;
    if (strncmp(name, "prec-div", length) == 0)
        return chosen->quick |= !value || strcmp(value, "=true") != 0, true;
    for (size_t i = 0; i < sizeof harmless / sizeof harmless[0]; i++)
        if (strlen(harmless[i]) == length && strncmp(name, harmless[i], length) == 0) {
            if (strcmp(harmless[i], "ftz") == 0) chosen->quick |= !value || strcmp(value, "=false") != 0;
            return true;
        }
    return name[0] == 'D';
}

static bool knows(int sm)
{
    for (int i = 0; i < fake.sm_count; i++)
        if (fake.sms[i] == sm) return true;
    return false;
}

static int build(fake_program *program, const choices *chosen)
{
    const size_t text_bytes = strlen(program->text);
    const stk__digest check = stk__digest_of(program->text, text_bytes);
    program->cubin = calloc(1, sizeof *program->cubin + text_bytes);
    if (!program->cubin) return FAKE_NVRTC_ERROR_OUT_OF_MEMORY;
    *program->cubin = (fake_cubin){.sm = chosen->sm,
                                   .wrong_bits = chosen->contracts || chosen->quick || fake.wrong,
                                   .compiler = fake.nvrtc_major * 1000 + fake.nvrtc_minor * 10,
                                   .text_bytes = text_bytes,
                                   .check_high = check.high,
                                   .check_low = check.low};
    memcpy(program->cubin->magic, fake_magic, sizeof fake_magic);
    memcpy(program->cubin + 1, program->text, text_bytes);
    program->cubin_bytes = sizeof *program->cubin + text_bytes;
    program->ptx_only = chosen->ptx;
    return CUDA_SUCCESS;
}

int nvrtcCompileProgram(stk__nvrtc_program program, int count, const char *const *options)
{
    choices chosen = {.sm = 52, .contracts = true};
    const int code = fake_enter(FAKE_nvrtcCompileProgram, FAKE_ANY);
    if (!fake_is(program, FAKE_PROGRAM, FAKE_ANY)) return code ? code : FAKE_NVRTC_ERROR_INVALID_PROGRAM;
    if (code) {
        say(program, "%s",
            code == FAKE_NVRTC_ERROR_COMPILATION
                ? "a line before\nstoker.cu(7): error: the script says so\n1 error detected\n"
                : "");
        return code;
    }
    for (int i = 0; i < count; i++)
        if (!read_option(options[i], &chosen)) {
            say(program, "nvrtc: error: unrecognized option %s found\n", options[i]);
            return FAKE_NVRTC_ERROR_INVALID_OPTION;
        }
    if (!knows(chosen.sm)) {
        say(program, "nvrtc: error: invalid value for --gpu-architecture (-arch)%s\n", "");
        return FAKE_NVRTC_ERROR_INVALID_OPTION;
    }
    const fake_program *p = program;
    if (strstr(p->text, "nonsense")) {
        say(program, "stoker.cu(1): warning: first\nstoker.cu(1): error: identifier \"%s\" is undefined\n",
            "nonsense");
        return FAKE_NVRTC_ERROR_COMPILATION;
    }
    return build(program, &chosen);
}

static int tell_size(fake_function call, stk__nvrtc_program program, size_t *bytes)
{
    const int code = fake_enter(call, FAKE_ANY);
    FAKE_SPOIL(bytes);
    if (code) return code;
    if (!fake_is(program, FAKE_PROGRAM, FAKE_ANY)) return FAKE_NVRTC_ERROR_INVALID_PROGRAM;
    const fake_program *p = program;
    const bool there = p->cubin && (call == FAKE_nvrtcGetPTXSize || !p->ptx_only);
    *bytes = there ? p->cubin_bytes : 0;
    return CUDA_SUCCESS;
}

static int tell_bytes(fake_function call, stk__nvrtc_program program, char *bytes)
{
    const int code = fake_enter(call, FAKE_ANY);
    if (code) return code;
    if (!fake_is(program, FAKE_PROGRAM, FAKE_ANY)) return FAKE_NVRTC_ERROR_INVALID_PROGRAM;
    const fake_program *p = program;
    if (!p->cubin || (p->ptx_only && call == FAKE_nvrtcGetCUBIN)) return FAKE_NVRTC_ERROR_INVALID_PROGRAM;
    memcpy(bytes, p->cubin, p->cubin_bytes);
    if (call == FAKE_nvrtcGetPTX) bytes[0] = 'P';
    return CUDA_SUCCESS;
}

int nvrtcGetCUBINSize(stk__nvrtc_program program, size_t *bytes)
{
    return tell_size(FAKE_nvrtcGetCUBINSize, program, bytes);
}

int nvrtcGetCUBIN(stk__nvrtc_program program, char *cubin)
{
    return tell_bytes(FAKE_nvrtcGetCUBIN, program, cubin);
}

int nvrtcGetPTXSize(stk__nvrtc_program program, size_t *bytes)
{
    return tell_size(FAKE_nvrtcGetPTXSize, program, bytes);
}

int nvrtcGetPTX(stk__nvrtc_program program, char *ptx)
{
    return tell_bytes(FAKE_nvrtcGetPTX, program, ptx);
}

int nvrtcGetNumSupportedArchs(int *count)
{
    const int code = fake_enter(FAKE_nvrtcGetNumSupportedArchs, FAKE_ANY);
    FAKE_SPOIL(count);
    if (!code) *count = fake.sm_count;
    return code;
}

int nvrtcGetSupportedArchs(int *archs)
{
    const int code = fake_enter(FAKE_nvrtcGetSupportedArchs, FAKE_ANY);
    for (int i = 0; !code && i < fake.sm_count; i++)
        archs[i] = fake.sms[i];
    return code;
}

int nvrtcGetProgramLogSize(stk__nvrtc_program program, size_t *bytes)
{
    const int code = fake_enter(FAKE_nvrtcGetProgramLogSize, FAKE_ANY);
    FAKE_SPOIL(bytes);
    if (code) return code;
    if (!fake_is(program, FAKE_PROGRAM, FAKE_ANY)) return FAKE_NVRTC_ERROR_INVALID_PROGRAM;
    *bytes = strlen(((const fake_program *)program)->log) + 1;
    return CUDA_SUCCESS;
}

int nvrtcGetProgramLog(stk__nvrtc_program program, char *log)
{
    const int code = fake_enter(FAKE_nvrtcGetProgramLog, FAKE_ANY);
    if (code) return code;
    if (!fake_is(program, FAKE_PROGRAM, FAKE_ANY)) return FAKE_NVRTC_ERROR_INVALID_PROGRAM;
    const char *text = ((const fake_program *)program)->log;
    memcpy(log, text, strlen(text) + 1);
    return CUDA_SUCCESS;
}

int nvrtcDestroyProgram(stk__nvrtc_program *program)
{
    const int code = fake_enter(FAKE_nvrtcDestroyProgram, FAKE_ANY);
    if (!fake_is(*program, FAKE_PROGRAM, FAKE_ANY)) return code ? code : FAKE_NVRTC_ERROR_INVALID_PROGRAM;
    fake_program *p = *program;
    fake_end(p);
    free(p->text);
    free(p->log);
    free(p->cubin);
    p->text = p->log = NULL;
    p->cubin = NULL;
    *program = NULL;
    return code;
}
