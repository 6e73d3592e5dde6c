/* SPDX-License-Identifier: Apache-2.0 */
/* stoker monitor --dmon: columns as nvidia-smi dmon -s puctm has them, for scripts that read those. Engines
 * that are not monitored (enc, dec, jpg, ofa) are dashes. */
#include "monitor_output.h"

#include <math.h>

enum { HEADING_EVERY = 30 };

static void print_heading(FILE *file)
{
    fputs("# gpu    pwr  gtemp  mtemp     sm    mem    enc    dec    jpg    ofa   mclk   pclk   rxpci   "
          "txpci      fb\n"
          "# Idx      W      C      C      %      %      %      %      %      %    MHz    MHz    MB/s    "
          "MB/s      MB\n",
          file);
}

static void put(FILE *file, int width, stk_reading reading)
{
    if (stk__monitor_output_knows(reading))
        fprintf(file, " %*.0f", width, reading.value);
    else
        fprintf(file, " %*s", width, "-");
}

static stk_reading scaled(stk_reading reading, double factor)
{
    reading.value *= factor;
    return reading;
}

/* Rates need the previous frame: kept here, for one output at a time. */
static stk_reading rate(stk_reading *last, stk_reading now)
{
    stk_reading result = {0};
    if (stk__monitor_output_knows(*last) && stk__monitor_output_knows(now) && now.when_ns > last->when_ns &&
        now.value >= last->value)
        result =
            (stk_reading){.value = (now.value - last->value) / ((double)(now.when_ns - last->when_ns) * 1e-9),
                          .known = STK_KNOWN};
    *last = now;
    return result;
}

static void print_gpu(FILE *file, const stk_monitor_frame *frame, int gpu)
{
    static stk_reading received[STK_GPUS], sent[STK_GPUS];
    const stk_reading *r = frame->gpu_frames[gpu].readings;
    fprintf(file, "%5s", stk__gpu_label_of(&frame->gpus[gpu]).text);
    put(file, 6, r[STK_METRIC_POWER]);
    put(file, 6, r[STK_METRIC_TEMPERATURE]);
    put(file, 6, r[STK_METRIC_MEMORY_TEMPERATURE]);
    put(file, 6, r[STK_METRIC_UTIL]);
    put(file, 6, r[STK_METRIC_MEMORY_BUSY]);
    for (int i = 0; i < 4; i++)
        put(file, 6, (stk_reading){0});
    put(file, 6, r[STK_METRIC_MEMORY_CLOCK]);
    put(file, 6, r[STK_METRIC_SM_CLOCK]);
    put(file, 7, scaled(rate(&received[gpu], r[STK_METRIC_PCIE_RECEIVED]), 1e-6));
    put(file, 7, scaled(rate(&sent[gpu], r[STK_METRIC_PCIE_SENT]), 1e-6));
    put(file, 7, scaled(r[STK_METRIC_MEMORY_USED], 0x1p-20)); /* its MB are MiB */
    fputc('\n', file);
}

static void show_frame(stk__monitor_output *output, const stk_monitor_frame *frame)
{
    if (output->frames % HEADING_EVERY == 0) print_heading(output->file);
    for (int i = 0; i < frame->gpu_count; i++)
        print_gpu(output->file, frame, i);
}

const stk__monitor_output_ops stk__monitor_output_dmon = {.name = "dmon", .frame = show_frame};
