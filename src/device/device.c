/* SPDX-License-Identifier: Apache-2.0 */
/* The front of all devices: finds one by its name ("cpu", "opencl:1", "cuda:0"), validates a batch once
 * for all of them, then calls the device's table. A device belongs to one thread at a time. */
#include "device/device.h"

#include "core/clock.h"
#include "core/number.h"
#include "device/kernel/launch.h"

#include <string.h>

static const stk__device_ops *const kinds[] = {&stk__device_cpu, &stk__device_opencl, &stk__device_cuda,
                                               &stk__device_null};
enum { KINDS = sizeof kinds / sizeof kinds[0], TIMEOUT_S = 60 };

int stk__device_list(stk__device_info *infos, int most)
{
    int count = 0;
    for (int k = 0; k < KINDS && count < most; k++)
        count += kinds[k]->list(infos + count, most - count);
    return count;
}

static stk_status refuse_name(const char *name, stk_error *error)
{
    stk__fail(error, STK_ERROR_ARGUMENT, "unknown device '%s'", name);
    stk__error_hint(error, "cpu, opencl:N, cuda:N or null; `stoker devices` lists the available devices");
    return STK_ERROR_ARGUMENT;
}

/* "opencl:1" -> opencl, 1. Only kinds that can be there several times take a number. */
static const stk__device_ops *parse_name(const char *name, int *index)
{
    const char *colon = strchr(name, ':');
    const size_t length = colon ? (size_t)(colon - name) : strlen(name);
    int64_t number = 0;
    if (colon && (!stk__number_whole(colon + 1, strlen(colon + 1), &number) || number < 0 || number > 9999))
        return NULL;
    *index = (int)number;
    for (int k = 0; k < KINDS; k++) {
        if (strlen(kinds[k]->word) != length || strncmp(kinds[k]->word, name, length) != 0) continue;
        const bool single = kinds[k]->kind == STK_DEVICE_CPU || kinds[k]->kind == STK_DEVICE_NULL;
        return single && colon ? NULL : kinds[k];
    }
    return NULL;
}

stk_status stk__device_open(stk__device **device, const char *name, stk_error *error)
{
    int index;
    *device = NULL;
    const stk__device_ops *ops = parse_name(name, &index);
    if (!ops) return refuse_name(name, error);
    STK__TRY(ops->open(device, index, error));
    (*device)->ops = ops;
    (*device)->index = index;
    if (!(*device)->timeout_ns) (*device)->timeout_ns = TIMEOUT_S * STK_SECOND_NS;
    return STK_OK;
}

void stk__device_close(stk__device **device)
{
    if (*device) (*device)->ops->close(*device);
    *device = NULL;
}

stk_status stk__device_augment(stk__device *device, const stk__augment_batch *batch, stk_error *error)
{
    STK__TRY(stk__launch_check(batch, error));
    device->last_kernel_ns = device->last_copy_ns = 0;
    return batch->count ? device->ops->augment(device, batch, error) : STK_OK;
}
