/* SPDX-License-Identifier: Apache-2.0 */
/* NVIDIA GPUs, by NVML. The library and the list of GPUs are shared and never change after open; all else
 * belongs to one polling thread. */
#include "monitor/nvidia/nvidia_state.h"

#include <stdio.h>

static void close_nvidia(stk__gpu_reader **reader)
{
    stk__nvidia *n = (stk__nvidia *)*reader;
    if (!n) return;
    if (n->nvml.shutdown) n->nvml.shutdown();
    stk__free(n);
    *reader = NULL;
}

static stk_status open_nvidia(stk__gpu_reader **reader, stk_error *error)
{
    *reader = NULL;
    stk__nvidia *n = stk__alloc(sizeof *n);
    if (!n) return stk__fail_memory(error, sizeof *n, "NVIDIA's GPUs");
    n->reader.ops = &stk__reader_nvidia;
    stk_status status = stk__nvml_open(&n->nvml, error);
    if (status == STK_OK) {
        const int result = n->nvml.init();
        if (result != STK_NVML_SUCCESS) {
            status = stk__fail(error, STK_ERROR_UNSUPPORTED, "NVML initialization failed: %s",
                               stk__nvml_result_text(&n->nvml, result));
            n->nvml.shutdown = NULL;
        }
    } else {
        n->nvml.shutdown = NULL;
    }
    if (status == STK_OK) status = stk__nvidia_find(n, error);
    *reader = &n->reader;
    if (status != STK_OK) close_nvidia(reader);
    return status;
}

static int count_nvidia(const stk__gpu_reader *reader)
{
    return ((const stk__nvidia *)reader)->count;
}

static void describe_nvidia(const stk__gpu_reader *reader, int number, stk_gpu *gpu)
{
    *gpu = ((const stk__nvidia *)reader)->gpus[number].facts;
}

/* At the first read. False: out of memory, or the GPU is not available. */
static bool begin(stk__nvidia_state *s)
{
    if (!s->desk) s->desk = stk__map(sizeof *s->desk);
    if (!s->device) s->device = s->gpu->device;
    if (!s->begun) stk__load_feed_begin(&s->feed, s->now_ns);
    s->begun = true;
    if (!s->desk) {
        stk__nvidia_note(s, "out of memory");
    } else if (!s->device) {
        s->frame->state = STK_GPU_LOST;
        stk__nvidia_note(s, "not found by the driver");
    }
    return s->desk && s->device;
}

static void take_over(stk__nvidia_state *s, stk__poller_context *context, stk_gpu_frame *frame)
{
    const stk__nvidia *n = (const stk__nvidia *)context->reader;
    s->context = context;
    s->gpu = &n->gpus[context->number];
    s->nvml = &n->nvml;
    s->frame = frame;
    s->now_ns = stk__clock_ns();
    s->answers = s->refused = s->overdue = s->silent = 0;
}

/* If all queries failed, the GPU itself is in a bad state. */
static void judge_silence(stk__nvidia_state *s)
{
    stk_gpu_frame *frame = s->frame;
    if (s->answers || frame->state != STK_GPU_GOOD) return;
    char note[sizeof frame->note];
    memcpy(note, frame->note, sizeof note);
    stk__gpu_frame_clear(frame);
    frame->state = s->refused ? STK_GPU_BARRED : s->overdue ? STK_GPU_HUNG : STK_GPU_LOST;
    const bool told_why = s->refused || s->overdue || s->silent;
    snprintf(frame->note, sizeof frame->note, "%.90s", told_why ? note : "the driver reports no values");
}

static void read_nvidia(stk__poller_context *context, stk_gpu_frame *frame)
{
    stk__nvidia_state *s = context->state;
    take_over(s, context, frame);
    if (!begin(s)) return;
    stk__nvidia_read_load(s);
    stk__nvidia_read_memory(s);
    stk__nvidia_read_fields(s);
    stk__nvidia_read_gauges(s);
    stk__nvidia_read_gpm(s);
    stk__nvidia_read_processes(s);
    stk__nvidia_read_pcie(s); /* last: where it is estimated, each call takes 20 ms */
    if (s->gpu->divided) stk__nvidia_note(s, "MIG enabled: its instances are listed, too");
    judge_silence(s);
}

/* By its UUID, because indices shift when a GPU falls off the bus. */
static int find_again(const stk__nvidia *n, const stk__nvidia_gpu *gpu, void **device)
{
    if (gpu->facts.id[0] && n->nvml.by_uuid) return n->nvml.by_uuid(gpu->facts.id, device);
    return n->nvml.by_index((unsigned)gpu->facts.index, device);
}

static bool revive_nvidia(stk__poller_context *context)
{
    const stk__nvidia *n = (const stk__nvidia *)context->reader;
    stk__nvidia_state *s = context->state;
    const stk__nvidia_gpu *gpu = &n->gpus[context->number];
    void *device = NULL;
    int result = find_again(n, gpu, &device);
    if (result == STK_NVML_UNINITIALIZED || result == STK_NVML_DRIVER_NOT_LOADED) {
        stk__poller_context_beat(context);
        if (n->nvml.init() != STK_NVML_SUCCESS) return false;
        stk__poller_context_beat(context);
        result = find_again(n, gpu, &device);
    }
    if (result != STK_NVML_SUCCESS || !device) return false;
    s->device = device;
    memset(s->again_ns, 0, sizeof s->again_ns);
    stk__load_feed_begin(&s->feed, stk__clock_ns());
    s->begun = true;
    return true;
}

static void leave_nvidia(stk__poller_context *context)
{
    stk__nvidia_state *s = context->state;
    if (s->nvml) stk__nvidia_leave_gpm(s);
    stk__unmap(s->desk, sizeof *s->desk);
    s->desk = NULL;
}

const stk__reader_ops stk__reader_nvidia = {.vendor = "nvidia",
                                            .state_bytes = sizeof(stk__nvidia_state),
                                            .open = open_nvidia,
                                            .count = count_nvidia,
                                            .describe = describe_nvidia,
                                            .read = read_nvidia,
                                            .revive = revive_nvidia,
                                            .leave = leave_nvidia,
                                            .close = close_nvidia};
