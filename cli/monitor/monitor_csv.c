/* SPDX-License-Identifier: Apache-2.0 */
/* stoker monitor --csv: one row per GPU and interval; unknown is empty. */
#include "monitor_output.h"

#include "monitor/host/host_key.h"

#include <math.h>
#include <string.h>

static void put_text(FILE *file, const char *text)
{
    text = stk__cli_text(text); /* a row is a line, and may be shown on a terminal */
    fputc('"', file);
    for (; *text; text++) {
        if (*text == '"') fputc('"', file);
        fputc(*text, file);
    }
    fputc('"', file);
}

static void put_reading(FILE *file, stk_reading reading)
{
    if (stk__monitor_output_knows(reading)) /* whole numbers, such as bytes, keep all their digits */
        fprintf(file, reading.value == rint(reading.value) ? ",%.0f" : ",%.9g", reading.value);
    else
        fputc(',', file);
}

static void print_heading(FILE *file)
{
    fputs("time_s,seconds,gpu,part,name,state", file);
    for (int i = 0; i < STK_METRIC_COUNT; i++)
        fprintf(file, ",%s", stk_metric_key((stk_metric)i));
    for (int i = 0; i < STK_HOST_KEYS; i++) /* a GPU has memory_used_bytes too */
        fprintf(file, ",host_%s", stk__host_key(i));
    fputc('\n', file);
}

static void print_gpu(FILE *file, const stk_monitor_frame *frame, int gpu)
{
    const stk_gpu_frame *seen = &frame->gpu_frames[gpu];
    const stk_gpu *about = &frame->gpus[gpu];
    fprintf(file, ",%d,", about->index);
    if (about->part[0]) fprintf(file, "%d", about->part_number);
    fputc(',', file);
    put_text(file, about->name);
    fprintf(file, ",%s", stk_gpu_state_name(seen->state));
    for (int i = 0; i < STK_METRIC_COUNT; i++)
        if (i == STK_METRIC_THROTTLE)
            fprintf(file, ",%s", stk__monitor_output_throttle(seen->readings[i], "+"));
        else
            put_reading(file, seen->readings[i]);
}

static void print_no_gpu(FILE *file)
{
    fputs(",,,,", file);
    for (int i = 0; i < STK_METRIC_COUNT; i++)
        fputc(',', file);
}

static void show_frame(stk__monitor_output *output, const stk_monitor_frame *frame)
{
    if (!output->frames) print_heading(output->file);
    for (int gpu = 0; gpu == 0 || gpu < frame->gpu_count; gpu++) {
        fprintf(output->file, "%.3f,%.3f", frame->clock_s, (double)(frame->to_ns - output->start_ns) * 1e-9);
        if (frame->gpu_count)
            print_gpu(output->file, frame, gpu);
        else
            print_no_gpu(output->file);
        for (int i = 0; i < STK_HOST_KEYS; i++) {
            stk_reading reading;
            memcpy(&reading, (const char *)&frame->host + stk__host_offset(i), sizeof reading);
            put_reading(output->file, reading);
        }
        fputc('\n', output->file);
    }
}

const stk__monitor_output_ops stk__monitor_output_csv = {.name = "csv", .frame = show_frame};
