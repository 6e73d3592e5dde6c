/* SPDX-License-Identifier: Apache-2.0 */
/* Several polls of one GPU merged into one frame: percentages are averaged over time, counters keep
 * growing, load samples are joined when there are too many. */
#include "monitor/poll_merge.h"

#include "monitor/metric.h"

#include <stdio.h>

/* Percentages that are averaged over polls. */
static bool is_average(int metric)
{
    return metric >= STK_METRIC_MEMORY_BUSY && metric <= STK_METRIC_DRAM_ACTIVE;
}

static double span_of(const stk_load_sample *load)
{
    return (double)(load->to_ns - load->from_ns);
}

/* Merges neighbours until half the capacity is free: the mean is kept, resolution drops. */
static void merge_neighbours(stk_gpu_frame *frame)
{
    const int count = frame->load_count / 2;
    for (int i = 0; i < count; i++) {
        const stk_load_sample a = frame->loads[2 * i], b = frame->loads[2 * i + 1];
        const double span = span_of(&a) + span_of(&b);
        frame->loads[i] = (stk_load_sample){
            .from_ns = a.from_ns,
            .to_ns = b.to_ns,
            .percent = span > 0 ? (a.percent * span_of(&a) + b.percent * span_of(&b)) / span : b.percent};
    }
    if (frame->load_count % 2) frame->loads[count] = frame->loads[frame->load_count - 1];
    frame->load_count = count + frame->load_count % 2;
}

static void append_loads(stk_gpu_frame *frame, const stk_gpu_frame *poll)
{
    for (int i = 0; i < poll->load_count; i++) {
        if (frame->load_count == STK_GPU_LOADS) merge_neighbours(frame);
        frame->loads[frame->load_count++] = poll->loads[i];
    }
}

/* A large drop is a restart; a small one (counter replaced by an estimate) is held until it catches up. */
static void keep_growing(stk__poll_merge *merge, int metric, stk_reading *reading)
{
    double *last = &merge->last[metric];
    if (reading->value < *last / 2) merge->added[metric] += *last;
    if (reading->value < *last / 2 || reading->value > *last) *last = reading->value;
    reading->value = *last + merge->added[metric];
}

static void add_readings(stk__poll_merge *merge, const stk_gpu_frame *poll)
{
    for (int i = 0; i < STK_METRIC_COUNT; i++) {
        stk_reading *reading = &merge->frame.readings[i];
        *reading = poll->readings[i];
        if (reading->known != STK_KNOWN) continue;
        if (stk__metric_grows((stk_metric)i)) keep_growing(merge, i, reading);
        if (is_average(i)) {
            merge->sums[i] += reading->value;
            reading->value = merge->sums[i] / ++merge->counts[i];
        }
    }
}

void stk__poll_merge_add(stk__poll_merge *merge, const stk_gpu_frame *poll)
{
    stk_gpu_frame *frame = &merge->frame;
    if (poll->state != STK_GPU_GOOD) {
        stk__poll_merge_down(merge, poll->state, poll->note);
        return;
    }
    frame->state = poll->state;
    memcpy(frame->note, poll->note, sizeof frame->note);
    add_readings(merge, poll);
    append_loads(frame, poll);
    frame->processes_known = poll->processes_known;
    frame->process_count = poll->process_count;
    memcpy(frame->processes, poll->processes, (size_t)poll->process_count * sizeof poll->processes[0]);
}

void stk__poll_merge_down(stk__poll_merge *merge, stk_gpu_state state, const char *note)
{
    stk_gpu_frame *frame = &merge->frame;
    const int load_count = frame->load_count; /* earlier loads stay valid */
    stk__gpu_frame_clear(frame);
    frame->load_count = load_count;
    frame->state = state;
    snprintf(frame->note, sizeof frame->note, "%s", note);
}

static void average_loads(stk_gpu_frame *frame)
{
    double sum = 0, span = 0;
    for (int i = 0; i < frame->load_count; i++) {
        sum += frame->loads[i].percent * span_of(&frame->loads[i]);
        span += span_of(&frame->loads[i]);
    }
    stk_reading *util = &frame->readings[STK_METRIC_UTIL];
    if (span > 0 && frame->state == STK_GPU_GOOD)
        *util = stk__reading_known(sum / span, frame->loads[frame->load_count - 1].to_ns);
}

void stk__poll_merge_take(stk__poll_merge *merge, stk_gpu_frame *frame)
{
    stk_gpu_frame *from = &merge->frame;
    average_loads(from);
    frame->state = from->state;
    memcpy(frame->note, from->note, sizeof frame->note);
    memcpy(frame->readings, from->readings, sizeof frame->readings);
    frame->load_count = from->load_count;
    memcpy(frame->loads, from->loads, (size_t)from->load_count * sizeof from->loads[0]);
    frame->processes_known = from->processes_known;
    frame->process_count = from->process_count;
    memcpy(frame->processes, from->processes, (size_t)from->process_count * sizeof from->processes[0]);
    from->load_count = 0;
    memset(merge->sums, 0, sizeof merge->sums);
    memset(merge->counts, 0, sizeof merge->counts);
}
