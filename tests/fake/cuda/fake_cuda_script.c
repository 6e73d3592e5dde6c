/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the script of the fake CUDA driver: its GPUs, kernels and limits, and which call fails when and
 * how. */
#include "fake_gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const fake_names[FAKE_FUNCTIONS] = {
#define FAKE_NAME(name, parameters) #name,
    STK_CUDA_CALLS(FAKE_NAME) STK_NVRTC_CALLS(FAKE_NAME)
#undef FAKE_NAME
        "copy_in",
    "copy_out", "kernel", "record"};

const char *const fake_kernels[FAKE_KERNELS_COUNT] = {"stk_grey",    "stk_augment", "stk_mix",
                                                      "stk_dropout", "stk_gather",  "stk_round"};

static int find_function(const char *name)
{
    if (strcmp(name, "*") == 0) return FAKE_ANY;
    for (int i = 0; i < FAKE_FUNCTIONS; i++)
        if (strcmp(fake_names[i], name) == 0) return i;
    return FAKE_FUNCTIONS;
}

static bool read_kind(fake_fault *fault, const char *word, const char *number)
{
    if (strcmp(word, "fail") == 0)
        fault->kind = FAULT_FAIL;
    else if (strcmp(word, "lose") == 0)
        fault->kind = FAULT_LOSE;
    else if (strcmp(word, "hang") == 0)
        fault->kind = FAULT_HANG;
    else
        return false;
    return sscanf(number, "%lf", &fault->number) == 1;
}

/* fault CALL [gpu K] [at N|from N|below N] KIND NUMBER */
static bool read_fault(fake_script *script, char *text)
{
    if (script->fault_count == FAKE_FAULTS) return false;
    fake_fault *fault = &script->faults[script->fault_count++];
    *fault = (fake_fault){.gpu = FAKE_ANY, .from = 0, .to = 1L << 60, .number = -1};
    char *save = NULL, *word = strtok_r(text, " \t", &save);
    fault->function = find_function(word ? word : "");
    if (fault->function == FAKE_FUNCTIONS) return false;
    while ((word = strtok_r(NULL, " \t", &save))) {
        const char *number = strtok_r(NULL, " \t", &save);
        if (!number) return false;
        const long whole = strtol(number, NULL, 10);
        if (strcmp(word, "gpu") == 0)
            fault->gpu = (int)whole;
        else if (strcmp(word, "at") == 0)
            fault->to = (fault->from = whole) + 1;
        else if (strcmp(word, "from") == 0)
            fault->from = whole;
        else if (strcmp(word, "below") == 0)
            fault->to = whole;
        else if (!read_kind(fault, word, number))
            return false;
    }
    return fault->number >= 0;
}

static bool read_gpu(fake_script *script, const char *text)
{
    int gpu, used = 0;
    if (sscanf(text, "%d %n", &gpu, &used) != 1 || gpu < 0 || gpu >= FAKE_GPUS) return false;
    fake_gpu *g = &script->gpus[gpu];
    long long bytes;
    if (sscanf(text + used, "sm %d", &g->sm) == 1 || sscanf(text + used, "units %d", &g->units) == 1)
        return true;
    if (sscanf(text + used, "clock %d", &g->clock_khz) == 1 ||
        sscanf(text + used, "bus %d", &g->bus_bits) == 1)
        return true;
    if (sscanf(text + used, "speed %lf %lf %lf", &g->core_mhz, &g->memory_gb_per_s, &g->link_gb_per_s) == 3)
        return true;
    if (sscanf(text + used, "kernels %lf", &g->kernel_share) == 1 ||
        sscanf(text + used, "copies %lf", &g->copy_share) == 1 || sscanf(text + used, "mig %d", &g->mig) == 1)
        return true;
    if (sscanf(text + used, "name %63[^\n]", g->name) == 1) return true;
    if (sscanf(text + used, "memory %lld", &bytes) != 1) return false;
    g->memory_bytes = bytes;
    return true;
}

static bool read_nvrtc(fake_script *script, const char *text)
{
    int used = 0;
    if (sscanf(text, "%d %d %n", &script->nvrtc_major, &script->nvrtc_minor, &used) != 2) return false;
    script->sm_count = 0;
    for (const char *at = text + used; *at && script->sm_count < FAKE_SMS; at += strspn(at, ",")) {
        char *end;
        script->sms[script->sm_count++] = (int)strtol(at, &end, 10);
        if (end == at) return false;
        at = end;
    }
    return true;
}

static bool read_kernel(fake_script *script, const char *text)
{
    char name[32];
    double ms;
    if (sscanf(text, "%31s %lf", name, &ms) != 2) return false;
    for (int k = 0; k < FAKE_KERNELS_COUNT; k++)
        if (strcmp(fake_kernels[k], name) == 0) return script->kernel_ms[k] = ms, true;
    return false;
}

static bool read_number(fake_script *script, const char *word, const char *rest)
{
    long long whole;
    if (strcmp(word, "gpus") == 0)
        return sscanf(rest, "%d", &script->gpu_count) == 1 && script->gpu_count <= FAKE_GPUS;
    if (strcmp(word, "driver") == 0) return sscanf(rest, "%d", &script->driver) == 1;
    if (strcmp(word, "late") == 0) return sscanf(rest, "%lf", &script->late_us) == 1;
    if (strcmp(word, "copy") == 0) return sscanf(rest, "%lf", &script->copy_gb_per_s) == 1;
    if (sscanf(rest, "%lld", &whole) != 1) return false;
    if (strcmp(word, "pinned") == 0) return script->pinned_limit = whole, true;
    if (strcmp(word, "idle") == 0) return script->idle_bytes = whole, true;
    if (strcmp(word, "wrong") == 0) return script->wrong = whole, true;
    if (strcmp(word, "seed") == 0) return script->seed = (uint64_t)whole, true;
    return false;
}

static bool read_line(fake_script *script, char *line)
{
    char word[16];
    int used = 0;
    if (sscanf(line, "%15[a-z] %n", word, &used) != 1) return line[strspn(line, " \t\r")] == '\0';
    char *rest = line + used;
    if (strcmp(word, "fault") == 0) return read_fault(script, rest);
    if (strcmp(word, "calm") == 0) return script->fault_count = 0, true;
    if (strcmp(word, "gpu") == 0) return read_gpu(script, rest);
    if (strcmp(word, "nvrtc") == 0) return read_nvrtc(script, rest);
    if (strcmp(word, "kernel") == 0) return read_kernel(script, rest);
    if (strcmp(word, "wrong") == 0 && strncmp(rest, "1", 2) != 0)
        return sscanf(rest, "%15[a-z0-9]", script->wrong_part) == 1;
    if (strcmp(word, "trace") == 0) return sscanf(rest, "%511s", script->trace) == 1;
    return read_number(script, word, rest);
}

void fake_begin_script(fake_script *script)
{
    static const int sms[] = {75, 80, 86, 89, 90, 100, 120};
    *script = (fake_script){.gpu_count = 1,
                            .driver = 12080,
                            .nvrtc_major = 12,
                            .nvrtc_minor = 8,
                            .sm_count = sizeof sms / sizeof sms[0],
                            .pinned_limit = -1,
                            .idle_bytes = -1,
                            .late_us = 100};
    memcpy(script->sms, sms, sizeof sms);
    for (int gpu = 0; gpu < FAKE_GPUS; gpu++) {
        script->gpus[gpu] = (fake_gpu){.sm = 80,
                                       .units = 108,
                                       .mig = -1,
                                       .memory_bytes = INT64_C(8) << 30,
                                       .kernel_share = 1,
                                       .copy_share = 1};
        snprintf(script->gpus[gpu].name, sizeof script->gpus[gpu].name, "NVIDIA Fake %d", gpu);
    }
}

bool fake_read_cuda_script(fake_script *script, const char *text, stk_error *error)
{
    for (const char *line = text; *line;) {
        const size_t length = strcspn(line, "\n");
        char copy[640];
        snprintf(copy, sizeof copy, "%.*s", (int)strcspn(line, "#\n"), line);
        if (!read_line(script, copy)) {
            stk__fail(error, STK_ERROR_CONFIG, "not understood: '%.*s'", (int)length, line);
            return false;
        }
        line += length + (line[length] == '\n');
    }
    return true;
}
