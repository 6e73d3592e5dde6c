/* SPDX-License-Identifier: Apache-2.0 */
/* Grades of a GPU's summary: each row of the table is compared with its target range and called good, low
 * or high; rows without a reading get no grade. */
#include "monitor/verdict/verdict.h"

#include "monitor/verdict/gpu_targets.h"

#include <math.h>
#include <string.h>

/* A range includes both ends, a limit is exclusive. */
static stk_grade grade_of(const stk_judged *row)
{
    const bool range = !isnan(row->least);
    if (row->value.known != STK_KNOWN || (!range && isnan(row->most))) return STK_GRADE_NONE;
    if (range && row->value.value < row->least) return STK_GRADE_LOW;
    if (range ? row->value.value > row->most : row->value.value >= row->most) return STK_GRADE_HIGH;
    return STK_GRADE_GOOD;
}

static stk_reading in_percent(stk_reading share)
{
    share.value *= 100;
    return share;
}

static const char *note_of(const stk_gpu_summary *gpu)
{
    const bool warm = gpu->hottest_c.known == STK_KNOWN && gpu->hottest_c.value >= STK_GPU_WARM_C;
    return warm && gpu->hottest_c.value < STK_GPU_HOT_C ? "near the limit" : "";
}

void stk__verdict_grade(stk_gpu_summary *gpu, const stk_monitor_summary *all)
{
    const stk_judged rows[] = {
        {.name = "utilization",
         .unit = "%",
         .value = gpu->util_mean_percent,
         .least = STK_GPU_UTIL_LEAST_PERCENT,
         .most = STK_GPU_UTIL_MOST_PERCENT},
        {.name = "fluctuation", .unit = "%", .value = gpu->util_std_percent, .least = NAN, .most = 10},
        {.name = "SM activity", .unit = "%", .value = gpu->sm_active_mean_percent, .least = 80, .most = 95},
        {.name = "power", .unit = "%", .value = in_percent(gpu->power_share), .least = NAN, .most = NAN},
        {.name = "peak memory",
         .unit = "%",
         .value = in_percent(gpu->memory_peak_share),
         .least = STK_GPU_MEMORY_LEAST_PERCENT,
         .most = STK_GPU_MEMORY_MOST_PERCENT},
        {.name = "max temp", .unit = "°C", .value = gpu->hottest_c, .least = NAN, .most = STK_GPU_HOT_C},
        {.name = "CPUs", .unit = "%", .value = all->cpu_mean_percent, .least = NAN, .most = 90},
    };
    gpu->row_count = sizeof rows / sizeof rows[0];
    memcpy(gpu->rows, rows, sizeof rows);
    for (int i = 0; i < gpu->row_count; i++) {
        gpu->rows[i].grade = grade_of(&gpu->rows[i]);
        gpu->rows[i].note = strcmp(rows[i].name, "max temp") == 0 ? note_of(gpu) : "";
    }
}
