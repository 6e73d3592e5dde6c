/* SPDX-License-Identifier: Apache-2.0 */
/* Versions of everything that takes part: driver, NVRTC, PyTorch. No host name, path or serial number. */
#include "doctor/selftest_facts.h"

#include "device/cuda/cuda_api.h"
#include "engine/torch/torch_api.h"

#include <ctype.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_BYTES = 4096 };

bool stk__selftest_driver_version(const char *line, char *version, size_t size)
{
    for (const char *at = line; *at; at += strcspn(at, " \n")) {
        at += strspn(at, " \n");
        const size_t length = strspn(at, "0123456789.");
        if (!isdigit((unsigned char)*at) || !memchr(at, '.', length) || !strchr(" \n", at[length])) continue;
        snprintf(version, size, "%.*s", (int)length, at);
        return true;
    }
    return false;
}

/* A line `cuda = '12.8'` or `cuda: Optional[str] = '12.8'`. */
bool stk__selftest_torch_cuda(const char *text, char *version, size_t size)
{
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        const size_t length = strcspn(line, "\n");
        const char *equals = memchr(line, '=', length);
        if (strncmp(line, "cuda", 4) != 0 || isalnum((unsigned char)line[4]) || line[4] == '_' || !equals)
            continue;
        const char *value = equals + 1 + strspn(equals + 1, " ");
        if (strncmp(value, "None", 4) == 0) return *version = '\0', true;
        if (*value != '\'' && *value != '"') return false;
        snprintf(version, size, "%.*s", (int)strspn(value + 1, "0123456789."), value + 1);
        return true;
    }
    return false;
}

static bool read_text(const char *path, char text[TEXT_BYTES])
{
    FILE *file = fopen(path, "re");
    if (!file) return false;
    const size_t size = fread(text, 1, TEXT_BYTES - 1, file);
    fclose(file);
    text[size] = '\0';
    return size > 0;
}

/* STOKER_MONITOR_ROOT moves /proc, as for the monitor. */
static void tell_driver(const stk__device_info *gpu, stk__selftest_fact *fact)
{
    char path[PATH_MAX], text[TEXT_BYTES], version[32] = "version unknown";
    const char *root = getenv("STOKER_MONITOR_ROOT");
    snprintf(path, sizeof path, "%s/proc/driver/nvidia/version", root ? root : "");
    if (read_text(path, text)) {
        text[strcspn(text, "\n")] = '\0';
        stk__selftest_driver_version(text, version, sizeof version);
    }
    snprintf(fact->text, sizeof fact->text, "%s, %s", version,
             gpu->driver[0] ? gpu->driver : "CUDA version unknown");
}

static void tell_nvrtc(stk__selftest_fact *fact)
{
    stk_error error = {0};
    int major, minor;
    const stk__nvrtc_api *api = stk__nvrtc_api_open(&error);
    if (api && stk__nvrtc_judge(api->nvrtcVersion(&major, &minor), "nvrtcVersion", &error) == STK_OK)
        snprintf(fact->text, sizeof fact->text, "%d.%d", major, minor);
    else
        snprintf(fact->text, sizeof fact->text, "none: %.140s", error.message);
}

/* Reads the CUDA version of the build from version.py beside PyTorch's lib folder. */
static bool find_torch_cuda(const stk__torch_api *api, char *version, size_t size)
{
    Dl_info where;
    char path[PATH_MAX], text[TEXT_BYTES];
    void *symbol;
    memcpy(&symbol, &api->aoti_torch_abi_version, sizeof symbol);
    if (!dladdr(symbol, &where) || !where.dli_fname) return false;
    const char *end = strrchr(where.dli_fname, '/');
    if (!end) return false;
    snprintf(path, sizeof path, "%.*s/../version.py", (int)(end - where.dli_fname), where.dli_fname);
    return read_text(path, text) && stk__selftest_torch_cuda(text, version, size);
}

static void tell_torch(stk__selftest_fact *fact)
{
    stk_error error = {0};
    const stk__torch_api *api;
    char version[32];
    if (stk__torch_api_open(&api, &error) != STK_OK) {
        snprintf(fact->text, sizeof fact->text, "none: %.140s", error.message);
        return;
    }
    const int used =
        snprintf(fact->text, sizeof fact->text, "%d.%d.%d, ", api->major, api->minor, api->patch);
    char *rest = fact->text + used;
    const size_t room = sizeof fact->text - (size_t)used;
    if (!find_torch_cuda(api, version, sizeof version))
        snprintf(rest, room, "CUDA version unknown");
    else
        snprintf(rest, room, *version ? "CUDA %s" : "built without CUDA%s", version);
}

void stk__selftest_facts(const stk__device_info *gpu, stk__selftest_fact facts[STK_SELFTEST_FACTS])
{
    static const char *const names[STK_SELFTEST_FACTS] = {"stoker", "driver", "NVRTC", "PyTorch"};
    for (int i = 0; i < STK_SELFTEST_FACTS; i++)
        facts[i] = (stk__selftest_fact){.name = names[i]};
    snprintf(facts[0].text, sizeof facts[0].text, "%s", stk_version());
    tell_driver(gpu, &facts[1]);
    tell_nvrtc(&facts[2]);
    tell_torch(&facts[3]);
    for (int i = 0; i < STK_SELFTEST_FACTS; i++)
        stk__selftest_scrub(facts[i].text);
}
