/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the script of the fake NVML: faults, clocks, counters, processes and MIG parts; lines that are not
 * its own are curves. */
#include "fake_nvml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
#define FAKE_NAME(name) #name,
    FAKE_LIST(FAKE_NAME)
#undef FAKE_NAME
};

static int find_function(const char *name)
{
    if (strcmp(name, "*") == 0) return FAKE_ANY;
    for (int i = 0; i < FAKE_FUNCTIONS; i++)
        if (strcmp(names[i], name) == 0) return i;
    return FAKE_FUNCTIONS;
}

/* fault FUNCTION [gpu K] [at N|from N|below N] KIND NUMBER */
static bool read_fault(fake_script *script, char *text)
{
    if (script->fault_count == FAKE_FAULTS) return false;
    fake_fault *fault = &script->faults[script->fault_count++];
    *fault = (fake_fault){.gpu = FAKE_ANY, .from = 0, .to = 1L << 60};
    char *save = NULL, *word = strtok_r(text, " \t", &save);
    fault->function = find_function(word ? word : "");
    if (fault->function == FAKE_FUNCTIONS) return false;
    while ((word = strtok_r(NULL, " \t", &save))) {
        char *number = strtok_r(NULL, " \t", &save);
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
        else if (strcmp(word, "garbage") == 0)
            fault->kind = FAULT_GARBAGE, fault->number = (double)strtol(number, NULL, 16);
        else if (strcmp(word, "hang") == 0)
            fault->kind = FAULT_HANG, fault->number = strtod(number, NULL);
        else if (strcmp(word, "fail") == 0)
            fault->kind = FAULT_FAIL, fault->number = (double)whole;
        else
            return false;
    }
    return true;
}

static bool read_clock(fake_script *script, const char *text)
{
    if (sscanf(text, "step %lf %lf", &script->step_at_s, &script->step_by_s) == 2) return true;
    script->boot_clock = strcmp(text, "boot") == 0;
    return script->boot_clock || strcmp(text, "realtime") == 0;
}

static bool read_counters(fake_script *script, const char *text)
{
    if (strcmp(text, "wrap32") == 0) return script->wrap32 = true;
    return sscanf(text, "%lf", &script->counter_start) == 1;
}

static bool read_process(fake_script *script, const char *text)
{
    if (script->process_count == FAKE_PROCESSES) return false;
    fake_process *p = &script->processes[script->process_count++];
    return sscanf(text, "%d %u %lf %lf", &p->gpu, &p->pid, &p->bytes, &p->percent) == 4;
}

static bool read_mig(fake_script *script, const char *text)
{
    int gpu, count;
    char profile[16];
    if (sscanf(text, "%d %d %15s", &gpu, &count, profile) != 3 || gpu < 0 || gpu >= STK_GPUS ||
        count > FAKE_MIGS)
        return false;
    script->mig_count[gpu] = count;
    memcpy(script->mig_profile[gpu], profile, sizeof profile);
    return true;
}

/* 1: read; 0: not one of ours; -1: wrong. */
static int read_word(fake_script *script, char *line)
{
    char word[16];
    int used = 0;
    if (sscanf(line, "%15[a-z] %n", word, &used) != 1) return 0;
    char *rest = line + used;
    bool good;
    if (strcmp(word, "gpus") == 0)
        good = sscanf(rest, "%d", &script->gpu_count) == 1;
    else if (strcmp(word, "samples") == 0)
        good = sscanf(rest, "%lf %d", &script->samples_per_s, &script->sample_buffer) == 2;
    else if (strcmp(word, "clock") == 0)
        good = read_clock(script, rest);
    else if (strcmp(word, "counters") == 0)
        good = read_counters(script, rest);
    else if (strcmp(word, "process") == 0)
        good = read_process(script, rest);
    else if (strcmp(word, "mig") == 0)
        good = read_mig(script, rest);
    else
        good = strcmp(word, "fault") == 0 && read_fault(script, rest);
    return good ? 1 : -1;
}

/* Our lines are blanked out; what is left is for the curves. */
static bool read_lines(fake_script *script, char *text, stk_error *error)
{
    for (char *line = text; *line;) {
        const size_t length = strcspn(line, "\n");
        char copy[256];
        snprintf(copy, sizeof copy, "%.*s", (int)strcspn(line, "#\n"), line);
        for (size_t end = strlen(copy); end && (copy[end - 1] == ' ' || copy[end - 1] == '\r'); end--)
            copy[end - 1] = '\0';
        const int read = read_word(script, copy);
        if (read < 0) {
            stk__fail(error, STK_ERROR_CONFIG, "not understood: '%.*s'", (int)length, line);
            return false;
        }
        if (read > 0) memset(line, ' ', length);
        line += length + (line[length] == '\n');
    }
    return true;
}

bool fake_read_script(fake_script *script, const char *text, stk_error *error)
{
    char *copy = strdup(text);
    *script = (fake_script){.samples_per_s = 6, .sample_buffer = 120, .step_at_s = 1e18};
    bool good = copy && read_lines(script, copy, error);
    if (good) good = stk__curves_read(&script->curves, copy, error) == STK_OK;
    if (good && !script->gpu_count) script->gpu_count = stk__curves_gpus(script->curves);
    free(copy);
    return good;
}

long fake_nvml_calls(const char *function, int gpu)
{
    extern _Atomic long fake_calls[FAKE_FUNCTIONS][STK_GPUS + 1];
    const int number = find_function(function);
    return number < 0 || number == FAKE_FUNCTIONS ? -1 : fake_calls[number][gpu < 0 ? STK_GPUS : gpu];
}
