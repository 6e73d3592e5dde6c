/* SPDX-License-Identifier: Apache-2.0 */
/* Simulated GPUs for --demo and tests: time starts at open, values come from curves (curve.h). Utilization
 * samples come as from a driver, six per second. */
#include "monitor/curve.h"
#include "monitor/gpu_reader.h"
#include "monitor/metric.h"

#include <math.h>
#include <stdio.h>

#define SAMPLES_PER_S 6.0

typedef struct demo {
    stk__gpu_reader reader;
    uint64_t start_ns;
    stk__curves *curves;
} demo;

typedef struct context_state {
    double told_s; /* samples are complete up to here; 0: none yet */
} context_state;

static const char *const names[] = {"Demo 80GB, well used", "Demo 80GB, data starved", "Demo 80GB, hot",
                                    "Demo 80GB, unreliable"};

static const char curves_text[] = "* memory_total_bytes const 85520809984\n"
                                  "* power_limit_w const 575\n"
                                  "* temperature_limit_c const 90\n"
                                  "* sm_clock_max_mhz const 2407\n"
                                  "* memory_clock_mhz const 14001\n"
                                  "* memory_clock_max_mhz const 14001\n"
                                  "* link_generation const 5\n"
                                  "* link_generation_max const 5\n"
                                  "* link_width const 16\n"
                                  "* link_width_max const 16\n"
                                  "* throttled_power_s const 0\n"
                                  "* throttled_heat_s const 0\n"
                                  "* throttle const 0\n"
                                  /* well used: a training loop with an evaluation every minute */
                                  "0 util_percent steps 0:93 54:62 60:93 noise 5\n"
                                  "0 memory_busy_percent const 61 noise 4\n"
                                  "0 sm_active_percent steps 0:88 54:57 60:88 noise 4\n"
                                  "0 tensor_active_percent steps 0:47 54:20 60:47 noise 4\n"
                                  "0 dram_active_percent const 58 noise 5\n"
                                  "0 power_w steps 0:508 54:390 60:508 noise 18\n"
                                  "0 memory_used_bytes ramp 0 8 22e9 68.4e9\n"
                                  "0 temperature_c sine 60 66 72 noise 1\n"
                                  "0 memory_temperature_c sine 60 74 79\n"
                                  "0 fan_percent sine 60 48 55\n"
                                  "0 sm_clock_mhz const 2325 noise 40\n"
                                  "0 pcie_received_bytes_total const 2.9e9 noise 4e8\n"
                                  "0 pcie_sent_bytes_total const 3.1e8 noise 5e7\n"
                                  /* data starved: a batch, then idle */
                                  "1 util_percent square 2.4 0.45 97 6 noise 3\n"
                                  "1 memory_busy_percent square 2.4 0.45 48 3 noise 2\n"
                                  "1 sm_active_percent square 2.4 0.45 70 3 noise 2\n"
                                  "1 tensor_active_percent square 2.4 0.45 30 0\n"
                                  "1 dram_active_percent square 2.4 0.45 45 2 noise 2\n"
                                  "1 power_w square 2.4 0.45 395 165 noise 12\n"
                                  "1 memory_used_bytes const 31.2e9\n"
                                  "1 temperature_c sine 40 51 55 noise 1\n"
                                  "1 memory_temperature_c sine 40 60 63\n"
                                  "1 fan_percent const 32\n"
                                  "1 sm_clock_mhz square 2.4 0.45 2385 2100 noise 20\n"
                                  "1 link_width const 8\n"
                                  "1 pcie_received_bytes_total square 2.4 0.45 4e8 1.1e9 noise 2e8\n"
                                  "1 pcie_sent_bytes_total const 6e7 noise 1e7\n"
                                  /* busy, but thermal throttling */
                                  "2 util_percent const 96 noise 3\n"
                                  "2 memory_busy_percent const 63 noise 3\n"
                                  "2 sm_active_percent const 90 noise 3\n"
                                  "2 tensor_active_percent const 50 noise 3\n"
                                  "2 dram_active_percent const 60 noise 3\n"
                                  "2 power_w const 352 noise 14\n"
                                  "2 memory_used_bytes const 74.9e9\n"
                                  "2 temperature_c ramp 0 20 82 91 noise 1\n"
                                  "2 memory_temperature_c ramp 0 20 88 99\n"
                                  "2 fan_percent const 100\n"
                                  "2 sm_clock_mhz ramp 5 20 2250 1485 noise 45\n"
                                  "2 throttle steps 0:0 6:2 36000:0\n"
                                  "2 throttled_heat_s steps 0:0 6:0.74 36000:0\n"
                                  "2 pcie_received_bytes_total const 2.2e9 noise 3e8\n"
                                  "2 pcie_sent_bytes_total const 2.5e8 noise 5e7\n"
                                  /* falls off the bus now and then */
                                  "3 state steps 0:0 20:2 32:0 90:0\n"
                                  "3 util_percent const 90 noise 6\n"
                                  "3 memory_busy_percent const 55 noise 4\n"
                                  "3 power_w const 470 noise 25\n"
                                  "3 memory_used_bytes const 52.7e9\n"
                                  "3 temperature_c sine 80 63 69 noise 1\n"
                                  "3 sm_clock_mhz const 2340 noise 35\n"
                                  "3 pcie_received_bytes_total const 2.5e9 noise 3e8\n"
                                  "3 pcie_sent_bytes_total const 2.8e8 noise 5e7\n";

static void close_demo(stk__gpu_reader **reader)
{
    if (!*reader) return;
    stk__curves_destroy(&((demo *)*reader)->curves);
    stk__free(*reader);
    *reader = NULL;
}

static stk_status open_demo(stk__gpu_reader **reader, stk_error *error)
{
    *reader = NULL;
    demo *d = stk__alloc(sizeof *d);
    if (!d) return stk__fail_memory(error, sizeof *d, "the demo");
    const stk_status status = stk__curves_read(&d->curves, curves_text, error);
    if (status != STK_OK) {
        stk__free(d);
        return status;
    }
    d->reader.ops = &stk__reader_demo;
    d->start_ns = stk__clock_ns();
    *reader = &d->reader;
    return STK_OK;
}

static int count_demo(const stk__gpu_reader *reader)
{
    return stk__curves_gpus(((const demo *)reader)->curves);
}

static void describe_demo(const stk__gpu_reader *reader, int number, stk_gpu *gpu)
{
    (void)reader;
    *gpu = (stk_gpu){.index = number, .vendor = "demo"};
    snprintf(gpu->name, sizeof gpu->name, "%s", names[number]);
    snprintf(gpu->id, sizeof gpu->id, "GPU-demo-%d", number);
}

static double seconds_of(const demo *d, uint64_t now_ns)
{
    return (double)(now_ns - d->start_ns) / 1e9;
}

static uint64_t moment_of(const demo *d, double second)
{
    return d->start_ns + (uint64_t)llround(second * 1e9);
}

static void read_metrics(const demo *d, int gpu, uint64_t now_ns, stk_gpu_frame *frame)
{
    const double now_s = seconds_of(d, now_ns);
    for (int i = 0; i < STK_METRIC_COUNT; i++) {
        const stk_metric metric = (stk_metric)i;
        double value = 0;
        bool told;
        if (stk__metric_grows(metric))
            told = stk__curves_total(d->curves, gpu, metric, now_s, &value);
        else if (stk__metric_is_percent(metric))
            told =
                stk__curves_mean(d->curves, gpu, metric, fmax(now_s - 1 / SAMPLES_PER_S, 0), now_s, &value);
        else
            told = stk__curves_at(d->curves, gpu, metric, now_s, &value);
        if (stk__metric_is_percent(metric)) value = fmin(value, 100); /* whatever noise adds */
        if (told)
            frame->readings[i] = stk__reading_known(value, now_ns);
        else
            frame->readings[i].known = STK_UNSUPPORTED;
    }
}

static void read_loads(const demo *d, int gpu, context_state *state, double now_s, stk_gpu_frame *frame)
{
    const double last = floor(now_s * SAMPLES_PER_S) / SAMPLES_PER_S;
    if (state->told_s == 0) state->told_s = last;
    while (state->told_s + 0.5 / SAMPLES_PER_S < last && frame->load_count < STK_GPU_LOADS) {
        const double from = state->told_s, to = from + 1 / SAMPLES_PER_S;
        stk_load_sample *load = &frame->loads[frame->load_count++];
        *load = (stk_load_sample){.from_ns = moment_of(d, from), .to_ns = moment_of(d, to)};
        stk__curves_mean(d->curves, gpu, STK_METRIC_UTIL, from, to, &load->percent);
        load->percent = fmin(load->percent, 100);
        state->told_s = to;
    }
    state->told_s = fmax(state->told_s, last - 0.5 / SAMPLES_PER_S);
}

static void read_process(int gpu, stk_gpu_frame *frame)
{
    const stk_reading *readings = frame->readings;
    stk_gpu_process *process = &frame->processes[0];
    frame->processes_known = true;
    frame->process_count = 1;
    *process = (stk_gpu_process){.pid = 4200 + gpu,
                                 .memory_bytes = readings[STK_METRIC_MEMORY_USED],
                                 .util_percent = readings[STK_METRIC_UTIL]};
    process->memory_bytes.value -= 6e8; /* the driver's own */
    snprintf(process->name, sizeof process->name, "python3 train.py");
}

static void read_demo(stk__poller_context *context, stk_gpu_frame *frame)
{
    const demo *d = (const demo *)context->reader;
    const uint64_t now_ns = stk__clock_ns();
    const double now_s = seconds_of(d, now_ns);
    context_state *state = context->state;
    frame->state = stk__curves_state(d->curves, context->number, now_s);
    if (frame->state != STK_GPU_GOOD) {
        state->told_s = 0;
        snprintf(frame->note, sizeof frame->note, "fell off the bus (simulated)");
        return;
    }
    read_metrics(d, context->number, now_ns, frame);
    read_loads(d, context->number, state, now_s, frame);
    read_process(context->number, frame);
}

static bool revive_demo(stk__poller_context *context)
{
    const demo *d = (const demo *)context->reader;
    return stk__curves_state(d->curves, context->number, seconds_of(d, stk__clock_ns())) == STK_GPU_GOOD;
}

const stk__reader_ops stk__reader_demo = {.vendor = "demo",
                                          .state_bytes = sizeof(context_state),
                                          .open = open_demo,
                                          .count = count_demo,
                                          .describe = describe_demo,
                                          .read = read_demo,
                                          .revive = revive_demo,
                                          .close = close_demo};

/* --- the host --------------------------------------------------------------------------------------------
 */

void stk__host_demo(uint64_t number, double second, stk_host_frame *host)
{
    enum { CORES = 16 };
    static float cores[CORES]; /* lives until the next frame, as all of it */
    const uint64_t now_ns = stk__clock_ns();
    double sum = 0, most = 0;
    for (int i = 0; i < CORES; i++) {
        const double percent = (i < 10 ? 62 : 24) + 18 * sin(second / 7 + i);
        cores[i] = number ? (float)percent : -1;
        sum += percent;
        most = percent > most ? percent : most;
    }
    *host = (stk_host_frame){.core_count = CORES,
                             .core_percent = cores,
                             .cpu_count = CORES,
                             .memory_used_bytes = stk__reading_known(41.7e9, now_ns),
                             .memory_total_bytes = stk__reading_known(135e9, now_ns),
                             .disk_read_bytes_total = stk__reading_known(2.4e11 + 3.1e8 * second, now_ns),
                             .disk_written_bytes_total = stk__reading_known(6.2e10 + 1.2e6 * second, now_ns)};
    if (!number) return;
    host->cpu_percent = stk__reading_known(sum / CORES, now_ns);
    host->cpu_max_percent = stk__reading_known(most, now_ns);
    host->cpu_pressure_percent = stk__reading_known(3.5, now_ns);
    host->io_pressure_percent = stk__reading_known(6.1, now_ns);
    host->memory_pressure_percent = stk__reading_known(0, now_ns);
}
