/* SPDX-License-Identifier: Apache-2.0 */
/* The list of GPUs, with their MIG instances. */
#include "monitor/nvidia/nvidia_state.h"

#include <stdio.h>

/* Terminates the text and replaces control characters. */
static void clean(char *text, size_t size)
{
    text[size - 1] = '\0';
    for (; *text; text++)
        if (*text < ' ' || *text > '~') *text = '?';
}

static stk__nvidia_gpu *add_gpu(stk__nvidia *n, unsigned index, void *device)
{
    char name[STK_NVML_NAME_BYTES] = "", id[STK_NVML_NAME_BYTES] = "";
    if (n->count == STK_GPUS) return NULL;
    stk__nvidia_gpu *gpu = &n->gpus[n->count++];
    *gpu = (stk__nvidia_gpu){.device = device, .facts = {.index = (int32_t)index, .vendor = "nvidia"}};
    if (!device || !n->nvml.name || n->nvml.name(device, name, sizeof name) != STK_NVML_SUCCESS)
        snprintf(name, sizeof name, "NVIDIA GPU");
    if (!device || !n->nvml.uuid || n->nvml.uuid(device, id, sizeof id) != STK_NVML_SUCCESS) id[0] = '\0';
    clean(name, sizeof name);
    clean(id, sizeof id);
    snprintf(gpu->facts.name, sizeof gpu->facts.name, "%.63s", name);
    snprintf(gpu->facts.id, sizeof gpu->facts.id, "%.63s", id);
    return gpu;
}

/* "NVIDIA A100-SXM4-40GB MIG 1g.5gb": the MIG profile is the end of the name. */
static void name_part(stk__nvidia_gpu *gpu)
{
    char *mig = strstr(gpu->facts.name, " MIG ");
    snprintf(gpu->facts.part, sizeof gpu->facts.part, "%.31s", mig ? mig + 1 : "MIG");
    if (mig) *mig = '\0';
}

static void add_parts(stk__nvidia *n, unsigned index, void *parent)
{
    const stk__nvml *nvml = &n->nvml;
    unsigned now = 0, pending = 0, most = 0;
    if (!nvml->mig_mode || !nvml->mig_most || !nvml->mig_device) return;
    if (nvml->mig_mode(parent, &now, &pending) != STK_NVML_SUCCESS || now != 1) return;
    n->gpus[n->count - 1].divided = true;
    if (nvml->mig_most(parent, &most) != STK_NVML_SUCCESS) return;
    for (unsigned i = 0; i < most && i < STK_GPUS; i++) {
        void *device = NULL;
        if (nvml->mig_device(parent, i, &device) != STK_NVML_SUCCESS || !device) continue;
        stk__nvidia_gpu *gpu = add_gpu(n, index, device);
        if (!gpu) return;
        name_part(gpu);
        gpu->facts.part_number = (int32_t)i;
        gpu->parent = parent;
        if (!nvml->mig_instance || nvml->mig_instance(device, &gpu->instance) != STK_NVML_SUCCESS)
            gpu->parent = NULL; /* then it has no activity */
    }
}

/* No GPU of this index, or no access to it: the driver counts those, too. Listed, it would be "lost" forever,
 * and its verdict would come before those of the job's own GPUs. */
static bool is_none_of_ours(int result)
{
    return result == STK_NVML_INVALID_ARGUMENT || result == STK_NVML_NO_PERMISSION;
}

stk_status stk__nvidia_find(stk__nvidia *n, stk_error *error)
{
    unsigned count = 0;
    const int result = n->nvml.device_count(&count);
    if (result != STK_NVML_SUCCESS)
        return stk__fail(error, STK_ERROR_UNSUPPORTED, "NVML cannot list GPUs: %s",
                         stk__nvml_result_text(&n->nvml, result));
    if (count == 0) return stk__fail(error, STK_ERROR_UNSUPPORTED, "the NVIDIA driver lists no GPU");
    int skipped = STK_NVML_SUCCESS;
    for (unsigned i = 0; i < count && i < STK_GPUS; i++) {
        void *device = NULL;
        const int got = n->nvml.by_index(i, &device);
        if (is_none_of_ours(got)) {
            skipped = got;
            continue;
        }
        if (got != STK_NVML_SUCCESS) device = NULL; /* lost, but listed: it may recover */
        if (add_gpu(n, i, device) && device) add_parts(n, i, device);
    }
    if (n->count) return STK_OK;
    return stk__fail(error, STK_ERROR_UNSUPPORTED,
                     "the NVIDIA driver gives access to none of its %u GPUs: %s", count,
                     stk__nvml_result_text(&n->nvml, skipped));
}
