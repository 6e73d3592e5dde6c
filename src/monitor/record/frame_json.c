/* SPDX-License-Identifier: Apache-2.0 */
/* Frames and the summary as JSON for scripts: what `stoker monitor --json` prints, and the summary that a run
 * keeps in run.json. Recordings (record.c) have other keys, because they read back bit for bit; the list of
 * processes is the same. One thread per line. */
#include "monitor/record/frame_json.h"

#include "monitor/host/host_key.h"
#include "monitor/verdict/throttle.h"

#include <math.h>
#include <string.h>

enum { SCHEMA = 1, DIGITS = 9 };

void stk__json_processes(stk__json_line *line, const stk_gpu_frame *seen)
{
    if (!seen->processes_known) {
        stk__line_null(line, "processes");
        return;
    }
    stk__line_open(line, "processes", '[');
    for (int i = 0; i < seen->process_count; i++) {
        const stk_gpu_process *process = &seen->processes[i];
        stk__line_open(line, NULL, '{');
        stk__line_whole(line, "pid", process->pid);
        stk__line_text(line, "name", process->name);
        stk__line_reading(line, "memory_bytes", process->memory_bytes);
        stk__line_reading(line, "util_percent", process->util_percent);
        stk__line_close(line, '}');
    }
    stk__line_close(line, ']');
}

/* The reasons as ids; none: []. */
static void put_throttle(stk__json_line *line, stk_reading throttle)
{
    if (throttle.known != STK_KNOWN) {
        stk__line_null(line, "throttle");
        return;
    }
    stk__line_open(line, "throttle", '[');
    for (int i = 0; i < STK_THROTTLES; i++)
        if (stk__throttle_bits(throttle) >> i & 1) stk__line_text(line, NULL, stk__throttle_id(i));
    stk__line_close(line, ']');
}

static void put_name(stk__json_line *line, const stk_gpu *gpu)
{
    stk__line_whole(line, "gpu", gpu->index);
    stk__line_text(line, "vendor", gpu->vendor);
    stk__line_text(line, "name", gpu->name);
    stk__line_text(line, "id", gpu->id);
    if (gpu->part[0]) {
        stk__line_text(line, "part", gpu->part);
        stk__line_whole(line, "part_number", gpu->part_number);
    } else {
        stk__line_null(line, "part");
        stk__line_null(line, "part_number");
    }
}

static void put_gpu(stk__json_line *line, const stk_gpu *gpu, const stk_gpu_frame *seen)
{
    stk__line_open(line, NULL, '{');
    put_name(line, gpu);
    stk__line_text(line, "state", stk_gpu_state_name(seen->state));
    stk__line_text(line, "note", seen->note);
    for (int i = 0; i < STK_METRIC_COUNT; i++)
        if (i == STK_METRIC_THROTTLE)
            put_throttle(line, seen->readings[i]);
        else
            stk__line_reading(line, stk_metric_key((stk_metric)i), seen->readings[i]);
    stk__json_processes(line, seen);
    stk__line_close(line, '}');
}

static void put_host(stk__json_line *line, const stk_host_frame *host)
{
    stk__line_open(line, "host", '{');
    for (int i = 0; i < STK_HOST_KEYS; i++) {
        stk_reading reading;
        memcpy(&reading, (const char *)host + stk__host_offset(i), sizeof reading);
        stk__line_reading(line, stk__host_key(i), reading);
    }
    stk__line_open(line, "core_percent", '[');
    for (int i = 0; i < host->core_count; i++)
        stk__line_real(line, NULL, host->core_percent[i] < 0 ? NAN : (double)host->core_percent[i]);
    stk__line_close(line, ']');
    stk__line_close(line, '}');
}

/* Time stamps need the most digits. */
static void put_clock(stk__json_line *line, double clock_s)
{
    line->digits = 13;
    stk__line_real(line, "time_s", clock_s);
    line->digits = DIGITS;
}

void stk__json_frame(stk__json_line *line, const stk_monitor_frame *frame, uint64_t start_ns)
{
    stk__line_whole(line, "schema", SCHEMA);
    stk__line_whole(line, "number", (int64_t)frame->number);
    put_clock(line, frame->clock_s);
    stk__line_real(line, "seconds", (double)(frame->to_ns - start_ns) * 1e-9);
    stk__line_real(line, "interval_s", (double)(frame->to_ns - frame->from_ns) * 1e-9);
    stk__line_open(line, "gpus", '[');
    for (int i = 0; i < frame->gpu_count; i++)
        put_gpu(line, &frame->gpus[i], &frame->gpu_frames[i]);
    stk__line_close(line, ']');
    put_host(line, &frame->host);
}

/* --- the summary -------------------------------------------------------------------------------------------
 */

static void put_rows(stk__json_line *line, const stk_gpu_summary *gpu)
{
    static const char *const grades[] = {NULL, "good", "low", "high"};
    stk__line_open(line, "rows", '[');
    for (int i = 0; i < gpu->row_count; i++) {
        const stk_judged *row = &gpu->rows[i];
        stk__line_open(line, NULL, '{');
        stk__line_text(line, "name", row->name);
        stk__line_text(line, "unit", row->unit);
        stk__line_reading(line, "value", row->value);
        stk__line_real(line, "least", row->least);
        stk__line_real(line, "most", row->most);
        if (grades[row->grade])
            stk__line_text(line, "grade", grades[row->grade]);
        else
            stk__line_null(line, "grade");
        stk__line_text(line, "note", row->note);
        stk__line_close(line, '}');
    }
    stk__line_close(line, ']');
}

static void put_gpu_numbers(stk__json_line *line, const stk_gpu_summary *gpu)
{
    const struct {
        const char *key;
        stk_reading reading;
    } numbers[] = {
        {"util_mean_percent", gpu->util_mean_percent},
        {"util_std_percent", gpu->util_std_percent},
        {"util_p5_percent", gpu->util_p5_percent},
        {"util_median_percent", gpu->util_median_percent},
        {"util_p95_percent", gpu->util_p95_percent},
        {"below_half_share", gpu->below_half},
        {"dip_period_s", gpu->dip_period_s},
        {"sm_active_mean_percent", gpu->sm_active_mean_percent},
        {"power_mean_w", gpu->power_mean_w},
        {"power_share", gpu->power_share},
        {"energy_j", gpu->energy_j},
        {"memory_peak_share", gpu->memory_peak_share},
        {"hottest_c", gpu->hottest_c},
        {"throttled_power_s", gpu->throttled_power_s},
        {"throttled_heat_s", gpu->throttled_heat_s},
        {"throttled_brake_s", gpu->throttled_brake_s},
        {"pcie_received_bytes_per_s", gpu->pcie_received_bytes_per_s},
        {"pcie_sent_bytes_per_s", gpu->pcie_sent_bytes_per_s},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        stk__line_reading(line, numbers[i].key, numbers[i].reading);
    stk__line_real(line, "good_share", gpu->good_share);
}

static void put_gpu_summary(stk__json_line *line, const stk_gpu_summary *gpu)
{
    stk__line_open(line, NULL, '{');
    put_name(line, gpu->gpu);
    put_gpu_numbers(line, gpu);
    stk__line_text(line, "last_state", stk_gpu_state_name(gpu->last_state));
    put_rows(line, gpu);
    stk__line_text(line, "finding", gpu->finding);
    stk__line_text(line, "verdict", gpu->verdict);
    stk__line_close(line, '}');
}

static void put_numbers(stk__json_line *line, const stk_monitor_summary *summary)
{
    stk__line_real(line, "seconds", summary->seconds);
    stk__line_real(line, "steady_from_s", summary->steady_from_s);
    stk__line_real(line, "steady_to_s", summary->steady_to_s);
    stk__line_whole(line, "frames", (int64_t)summary->frame_count);
    stk__line_reading(line, "util_mean_percent", summary->util_mean_percent);
    stk__line_reading(line, "util_std_percent", summary->util_std_percent);
    stk__line_reading(line, "cpu_mean_percent", summary->cpu_mean_percent);
    stk__line_reading(line, "cpu_max_mean_percent", summary->cpu_max_mean_percent);
    stk__line_reading(line, "job_cpu_mean_percent", summary->job_cpu_mean_percent);
    stk__line_reading(line, "job_memory_peak_bytes", summary->job_memory_peak_bytes);
    stk__line_reading(line, "io_pressure_mean_percent", summary->io_pressure_mean_percent);
    stk__line_reading(line, "quota_throttled_s", summary->quota_throttled_s);
}

void stk__json_summary(stk__json_line *line, const stk_monitor_summary *summary)
{
    line->digits = DIGITS;
    stk__line_whole(line, "schema", SCHEMA);
    stk__line_open(line, "summary", '{');
    put_numbers(line, summary);
    stk__line_text(line, "finding", summary->finding);
    stk__line_text(line, "verdict", summary->verdict);
    stk__line_open(line, "gpus", '[');
    for (int i = 0; i < summary->gpu_count; i++)
        put_gpu_summary(line, &summary->gpus[i]);
    stk__line_close(line, ']');
    stk__line_close(line, '}');
}
