/* SPDX-License-Identifier: Apache-2.0 */
/* stoker monitor, a line per GPU and interval. */
#include "monitor_output.h"

#include "monitor/verdict/gpu_targets.h"
#include "monitor/verdict/throttle.h"

#include <math.h>
#include <string.h>
#include <time.h>

enum { HEADING_EVERY = 24, CELL = 24 };

/* word: of a bit of stk_throttle. */
static const char *list_throttle(stk_reading throttle, const char *(*word)(int bit), const char *between)
{
    static char text[80];
    text[0] = '\0';
    if (!stk__monitor_output_knows(throttle)) return text;
    for (int i = 0; i < STK_THROTTLES; i++) {
        if (!(stk__throttle_bits(throttle) & 1u << i)) continue;
        if (text[0]) strcat(text, between);
        strcat(text, word(i));
    }
    return text[0] ? text : "none";
}

const char *stk__monitor_output_throttle(stk_reading throttle, const char *between)
{
    return list_throttle(throttle, stk__throttle_id, between);
}

static const char *throttle_word(int bit)
{
    static const char *const words[STK_THROTTLES] = {"power",      "thermal",     "power brake",
                                                     "sync boost", "user clocks", "other"};
    return words[bit];
}

const char *stk__monitor_output_throttle_words(stk_reading throttle)
{
    return list_throttle(throttle, throttle_word, ", ");
}

static void print_heading(stk__monitor_output *output)
{
    fprintf(output->file,
            "%s    time GPU   power W   %% util %%   memory GB   %%  °C SM MHz mem MHz CPU %%%s\n",
            stk__monitor_output_paint(output->colors, STK_PAINT_FAINT),
            stk__monitor_output_paint(output->colors, STK_PAINT_OFF));
}

/* Lists the GPUs, with notes on missing metrics. */
static void print_gpus(stk__monitor_output *output, const stk_monitor_frame *frame)
{
    for (int i = 0; i < frame->gpu_count; i++) {
        const stk_gpu *gpu = &frame->gpus[i];
        const char *note = frame->gpu_frames[i].note;
        fprintf(output->file, "GPU %s: %s%s%s%s%s\n", stk__gpu_label_of(gpu).text, stk__cli_text(gpu->name),
                gpu->part[0] ? ", " : "", stk__cli_text(gpu->part), note[0] ? "; " : "", stk__cli_text(note));
    }
}

static const char *number(char cell[CELL], stk_reading reading)
{
    snprintf(cell, CELL, stk__monitor_output_knows(reading) ? "%.0f" : "-", reading.value);
    return cell;
}

/* "312/575" and "54"; what is unknown is a dash. */
static void pair(char both[CELL], char share[CELL], const stk_reading readings[2], double scale)
{
    char parts[2][CELL];
    const bool known = stk__monitor_output_knows(readings[0]) && stk__monitor_output_knows(readings[1]) &&
                       readings[1].value > 0;
    for (int i = 0; i < 2; i++)
        snprintf(parts[i], CELL,
                 !stk__monitor_output_knows(readings[i]) ? "-"
                 : scale == 1                            ? "%.0f"
                                                         : "%.1f",
                 readings[i].value / scale);
    snprintf(both, CELL, "%.10s/%.10s", parts[0], parts[1]);
    snprintf(share, CELL, known ? "%.0f" : "-", 100 * readings[0].value / readings[1].value);
}

static const char *paint_util(const stk__monitor_output *output, stk_reading util)
{
    if (!stk__monitor_output_knows(util)) return "";
    return stk__monitor_output_paint(output->colors, util.value >= STK_GPU_UTIL_LEAST_PERCENT ? STK_PAINT_GOOD
                                                     : util.value >= STK_GPU_UTIL_POOR_PERCENT
                                                         ? STK_PAINT_NOTE
                                                         : STK_PAINT_BAD);
}

static const char *paint_heat(const stk__monitor_output *output, stk_reading heat)
{
    if (!stk__monitor_output_knows(heat) || heat.value < STK_GPU_WARM_C) return "";
    return stk__monitor_output_paint(output->colors,
                                     heat.value < STK_GPU_HOT_C ? STK_PAINT_NOTE : STK_PAINT_BAD);
}

static void print_state(const stk__monitor_output *output, const stk_gpu_frame *seen)
{
    const char *held = stk__monitor_output_throttle_words(seen->readings[STK_METRIC_THROTTLE]);
    const char *paint = stk__monitor_output_paint(output->colors, STK_PAINT_BAD);
    const char *off = stk__monitor_output_paint(output->colors, STK_PAINT_OFF);
    if (seen->state != STK_GPU_GOOD)
        fprintf(output->file, "  %s%s%s%s%s", paint, stk_gpu_state_name(seen->state), off,
                seen->note[0] ? ": " : "", stk__cli_text(seen->note));
    else if (held[0] && strcmp(held, "none") != 0)
        fprintf(output->file, "  %sthrottled: %s%s", paint, held, off);
}

static void print_gpu(const stk__monitor_output *output, const char *time_text,
                      const stk_monitor_frame *frame, int gpu)
{
    const stk_gpu_frame *seen = &frame->gpu_frames[gpu];
    const stk_reading *r = seen->readings, power[] = {r[STK_METRIC_POWER], r[STK_METRIC_POWER_LIMIT]},
                      memory[] = {r[STK_METRIC_MEMORY_USED], r[STK_METRIC_MEMORY_TOTAL]};
    const char *off = stk__monitor_output_paint(output->colors, STK_PAINT_OFF);
    char watts[CELL], power_share[CELL], bytes[CELL], memory_share[CELL], cells[5][CELL];
    pair(watts, power_share, power, 1);
    pair(bytes, memory_share, memory, 1e9);
    fprintf(output->file, "%s %3s %9s %3s %s%6s%s %11s %3s %s%3s%s %6s %7s %5s", time_text,
            stk__gpu_label_of(&frame->gpus[gpu]).text, watts, power_share,
            paint_util(output, r[STK_METRIC_UTIL]), number(cells[0], r[STK_METRIC_UTIL]), off, bytes,
            memory_share, paint_heat(output, r[STK_METRIC_TEMPERATURE]),
            number(cells[1], r[STK_METRIC_TEMPERATURE]), off, number(cells[2], r[STK_METRIC_SM_CLOCK]),
            number(cells[3], r[STK_METRIC_MEMORY_CLOCK]), number(cells[4], frame->host.cpu_percent));
    print_state(output, seen);
    fputc('\n', output->file);
}

/* Without a GPU: host and job only. */
static void print_host(const stk__monitor_output *output, const char *time_text, const stk_host_frame *host)
{
    char cells[2][CELL];
    fprintf(output->file, "%s  CPU %s %%, job %s %%", time_text, number(cells[0], host->cpu_percent),
            number(cells[1], host->job_cpu_percent));
    if (stk__monitor_output_knows(host->job_memory_bytes))
        fprintf(output->file, ", memory %s", stk__cli_bytes(host->job_memory_bytes.value));
    fputc('\n', output->file);
}

static void show_frame(stk__monitor_output *output, const stk_monitor_frame *frame)
{
    char time_text[16];
    const time_t seconds = (time_t)frame->clock_s;
    struct tm local;
    if (!localtime_r(&seconds, &local) || !strftime(time_text, sizeof time_text, "%H:%M:%S", &local))
        snprintf(time_text, sizeof time_text, "--:--:--");
    if (!output->frames && !stk__cli_quiet) print_gpus(output, frame);
    const uint64_t rows = frame->gpu_count ? HEADING_EVERY / (uint64_t)frame->gpu_count + 1 : 1;
    if (frame->gpu_count && !stk__cli_quiet &&
        (!output->frames || (output->colors && output->frames % rows == 0)))
        print_heading(output);
    for (int i = 0; i < frame->gpu_count; i++)
        print_gpu(output, time_text, frame, i);
    if (!frame->gpu_count) print_host(output, time_text, &frame->host);
}

static void show_end(stk__monitor_output *output, const stk_monitor_summary *summary)
{
    if (output->frames) fputc('\n', output->file);
    stk__monitor_output_print_end(output->file, output->colors, summary);
}

const stk__monitor_output_ops stk__monitor_output_line = {
    .name = "line", .frame = show_frame, .end = show_end};
