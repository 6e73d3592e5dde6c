/* SPDX-License-Identifier: Apache-2.0 */
/* What a training GPU is measured against, once: the verdict, the colors of the monitor, the bands of the
 * report's charts and the self-test under load. */
#ifndef STK_MONITOR_GPU_TARGETS_H
#define STK_MONITOR_GPU_TARGETS_H

enum {
    STK_GPU_UTIL_LEAST_PERCENT = 85,
    STK_GPU_UTIL_MOST_PERCENT = 95,
    STK_GPU_UTIL_POOR_PERCENT = 50, /* below: red, not yellow */
    STK_GPU_MEMORY_LEAST_PERCENT = 70,
    STK_GPU_MEMORY_MOST_PERCENT = 90,
    STK_GPU_WARM_C = 80,
    STK_GPU_HOT_C = 85
};

#endif
