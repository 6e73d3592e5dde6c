/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_machine ROOT [LIBRARY...]: what this machine's first GPU says, for test_cuda_machines.py.
 *
 * ROOT stands before the folders that no variable names; LIBRARYs are in the process already. Prints the
 * versions of NVRTC in their order, then `works` and the note, or the error and its hint. */
#include "device/cuda/cuda_device.h"
#include "device/library.h"
#include "device/cuda/nvrtc.h"
#include "device/trial.h"

#include <dlfcn.h>
#include <stdio.h>

static void print_compilers(void)
{
    const stk__nvrtc *list;
    int count;
    if (stk__nvrtc_list(&list, &count, NULL) != STK_OK) count = 0;
    printf("nvrtc:");
    for (int i = 0; i < count; i++)
        printf(" %d.%d", list[i].version / 1000, list[i].version % 1000 / 10);
    printf("\n");
}

static bool has_the_bits(stk__device *device, stk_error *error)
{
    stk__trial trial = {0};
    bool same = true;
    for (uint64_t seed = 0; seed < 4 && same; seed++) {
        same = stk__trial_make(&trial, seed, 40, error) == STK_OK &&
               stk__device_augment(device, &trial.batch, error) == STK_OK;
        const stk__trial_result result = stk__trial_compare(&trial);
        same = same && result.values && !result.differing && !result.overrun;
    }
    stk__trial_fini(&trial);
    return same;
}

int main(int count, char **words)
{
    stk_error error = {0};
    stk__device *device = NULL;
    stk__library_root = words[1];
    for (int i = 2; i < count; i++)
        if (!dlopen(words[i], RTLD_NOW | RTLD_LOCAL)) fprintf(stderr, "%s\n", dlerror());
    const bool works = stk__device_open(&device, "cuda:0", &error) == STK_OK && has_the_bits(device, &error);
    print_compilers();
    if (works)
        printf("works\nnote: %s\n", device->info.note);
    else
        printf("error: %s\nhint: %s\n", error.message, error.hint);
    stk__device_close(&device);
    return works ? 0 : 1;
}
