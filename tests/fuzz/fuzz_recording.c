/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a recording: its frames can be judged, or its damage is named with a line. What was read is
 * written again, and read again it is the same. */
#include "fuzz.h"

#include "core/file.h"
#include "monitor/record/replay.h"
#include "monitor/verdict/gpu_stats.h"

#include <assert.h>
#include <string.h>

static void check_share(stk_reading reading, double most)
{
    assert(reading.known != STK_KNOWN || (reading.value >= 0 && reading.value <= most));
}

static void check_summary(const stk_monitor_summary *summary)
{
    assert(summary->verdict[0] && summary->finding);
    assert(summary->steady_from_s >= 0 && summary->steady_to_s <= summary->seconds);
    check_share(summary->util_mean_percent, 100.0001);
    for (int i = 0; i < summary->gpu_count; i++) {
        const stk_gpu_summary *gpu = &summary->gpus[i];
        assert(gpu->verdict[0] && gpu->row_count > 0 && gpu->row_count <= STK_JUDGED_ROWS);
        check_share(gpu->util_mean_percent, 100.0001);
        check_share(gpu->util_std_percent, 50.0001);
        check_share(gpu->util_p5_percent, 100);
        check_share(gpu->below_half, 1.0001);
        assert(gpu->good_share >= 0 && gpu->good_share <= 1.0001);
    }
}

static void check_frame(const stk_monitor_frame *frame)
{
    assert(frame->to_ns >= frame->from_ns);
    for (int i = 0; i < frame->gpu_count; i++) {
        const stk_gpu_frame *seen = &frame->gpu_frames[i];
        assert(seen->load_count >= 0 && seen->load_count <= STK_GPU_LOADS);
        assert(seen->process_count >= 0 && seen->process_count <= STK_GPU_PROCESSES);
        assert(memchr(seen->note, 0, sizeof seen->note));
    }
}

/* Plays path, writes what it has to `again`; the number of frames. Text that was no UTF-8 cannot come: JSON
 * is. */
static int play(const char *path, const char *again)
{
    stk_error error = {0};
    stk__replay *replay;
    stk__gpu_stats *stats = NULL;
    stk__recorder *recorder = NULL;
    stk_monitor_frame *frame;
    int frames = 0;
    stk_status status = stk__replay_open(&replay, path, &error);
    if (status != STK_OK) {
        assert(!replay);
        fuzz_check_failure(status, &error);
        fuzz_check_place(&error, path);
        return -1;
    }
    const stk__record_head *head = stk__replay_head(replay);
    assert(stk__gpu_stats_create(&stats, head->gpus, head->gpu_count, &error) == STK_OK);
    assert(stk__recorder_open(&recorder, again, head, &error) == STK_OK);
    for (; (status = stk__replay_next(replay, &frame, &error)) == STK_OK; frames++) {
        check_frame(frame);
        stk__gpu_stats_add(stats, frame);
        assert(stk__recorder_write(recorder, frame, &error) == STK_OK);
    }
    if (status != STK_END) {
        fuzz_check_failure(status, &error);
        fuzz_check_place(&error, path);
    }
    stk_monitor_summary summary;
    stk__gpu_stats_judge(stats, &summary);
    check_summary(&summary);
    assert(stk__recorder_close(&recorder, &error) == STK_OK);
    stk__gpu_stats_destroy(&stats);
    stk__replay_close(&replay);
    return frames;
}

static void check_same(const char *one, const char *other)
{
    stk__buffer texts[2] = {{0}};
    assert(stk__file_read(one, 0, &texts[0], NULL) == STK_OK);
    assert(stk__file_read(other, 0, &texts[1], NULL) == STK_OK);
    assert(texts[0].size_bytes == texts[1].size_bytes);
    assert(memcmp(texts[0].data, texts[1].data, texts[0].size_bytes) == 0);
    for (int i = 0; i < 2; i++)
        stk__buffer_fini(&texts[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char paths[3][512];
    static const char *const names[] = {"given.rec", "first.rec", "second.rec"};
    fuzz_limit_memory(64 << 20);
    for (int i = 0; i < 3; i++)
        strncpy(paths[i], fuzz_file(names[i], data, i ? 0 : size), sizeof paths[i] - 1)[sizeof paths[i] - 1] =
            '\0';
    const int frames = play(paths[0], paths[1]);
    if (frames < 0) return 0;
    assert(play(paths[1], paths[2]) == frames);
    check_same(paths[1], paths[2]);
    return 0;
}
