/* SPDX-License-Identifier: Apache-2.0 */
/* Short label of a GPU: its index "0"; MIG instances "0.0", "0.1". */
#ifndef STK_MONITOR_GPU_LABEL_H
#define STK_MONITOR_GPU_LABEL_H

#include "stoker/monitor.h"

#include <stdio.h>

typedef struct stk__gpu_label {
    char text[24];
} stk__gpu_label;

static inline stk__gpu_label stk__gpu_label_of(const stk_gpu *gpu)
{
    stk__gpu_label label;
    const int length = snprintf(label.text, sizeof label.text, "%d", (int)gpu->index);
    if (gpu->part[0])
        snprintf(label.text + length, sizeof label.text - (size_t)length, ".%d", (int)gpu->part_number);
    return label;
}

#endif
