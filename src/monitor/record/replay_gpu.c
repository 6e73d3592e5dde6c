/* SPDX-License-Identifier: Apache-2.0 */
/* One GPU of a recorded frame: state, load samples, processes and readings out of its JSON object. */
#include "monitor/record/replay_value.h"

#include <string.h>

static const char *metric_key(int number)
{
    return stk_metric_key((stk_metric)number);
}

static void get_state(stk__getter *g, const json_t *object, stk_gpu_frame *seen)
{
    const char *word = json_string_value(stk__replay_value(g, object, "state", JSON_STRING));
    for (int i = STK_GPU_GOOD; i <= STK_GPU_BARRED; i++) {
        seen->state = (stk_gpu_state)i;
        if (word && strcmp(word, stk_gpu_state_name(seen->state)) == 0) return;
    }
    if (!g->missing) g->missing = "state";
}

static void get_loads(stk__getter *g, const json_t *object, stk_gpu_frame *seen)
{
    const json_t *loads = stk__replay_value(g, object, "loads_ns_ns_percent", JSON_ARRAY);
    const size_t count = json_array_size(loads);
    seen->load_count = count <= STK_GPU_LOADS ? (int32_t)count : 0;
    bool good = count <= STK_GPU_LOADS;
    for (int i = 0; i < seen->load_count; i++) {
        const json_t *load = json_array_get(loads, (size_t)i);
        const json_t *from = json_array_get(load, 0), *to = json_array_get(load, 1);
        good &= json_is_integer(from) && json_is_integer(to) && json_is_number(json_array_get(load, 2));
        seen->loads[i] = (stk_load_sample){.from_ns = (uint64_t)json_integer_value(from),
                                           .to_ns = (uint64_t)json_integer_value(to),
                                           .percent = json_number_value(json_array_get(load, 2))};
    }
    if (!good && !g->missing) g->missing = "loads_ns_ns_percent";
}

static void get_processes(stk__getter *g, const json_t *object, stk_gpu_frame *seen)
{
    const json_t *processes = json_object_get(object, "processes");
    const size_t count = json_array_size(processes);
    const bool good = json_is_null(processes) || (json_is_array(processes) && count <= STK_GPU_PROCESSES);
    if (!good && !g->missing) g->missing = "processes";
    seen->processes_known = json_is_array(processes);
    seen->process_count = good ? (int32_t)count : 0;
    for (int i = 0; i < seen->process_count; i++) {
        const json_t *from = json_array_get(processes, (size_t)i);
        stk_gpu_process *process = &seen->processes[i];
        const uint64_t when_ns = stk__replay_moment(g, object, "read_ns");
        process->pid = (int32_t)stk__replay_whole(g, from, "pid");
        stk__replay_text(g, from, "name", process->name, sizeof process->name);
        process->memory_bytes = stk__replay_reading(g, from, "memory_bytes", when_ns);
        process->util_percent = stk__replay_reading(g, from, "util_percent", when_ns);
    }
}

void stk__replay_gpu(stk__getter *g, const json_t *object, stk_gpu_frame *seen)
{
    get_state(g, object, seen);
    stk__replay_text(g, object, "note", seen->note, sizeof seen->note);
    stk__replay_readings(g, object, STK_METRIC_COUNT, metric_key, seen->readings);
    get_loads(g, object, seen);
    get_processes(g, object, seen);
}
