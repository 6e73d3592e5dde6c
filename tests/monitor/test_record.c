/* SPDX-License-Identifier: Apache-2.0 */
/* A recording comes back bit for bit; a damaged or cut one is named with its line. */
#include "monitor/record/replay.h"

#include "frame_maker.h"
#include "monitor/record/json_line.h"
#include "support/fail_alloc.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

static char path[64], other[80];
static frame_maker maker;

static int make_path(void **state)
{
    (void)state;
    strcpy(path, "/tmp/stoker-record-XXXXXX");
    const int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    snprintf(other, sizeof other, "%s.cut", path);
    return 0;
}

static int remove_path(void **state)
{
    (void)state;
    unlink(path);
    unlink(other);
    return 0;
}

static stk__record_head head_of(void)
{
    return (stk__record_head){.interval_s = 0.1,
                              .pid = 77,
                              .absent = "no AMD GPU: \"/sys/class/drm\"\nis not there",
                              .gpu_count = 2,
                              .gpus = maker.gpus};
}

/* Everything that can be in a frame, with numbers that are hard to print. */
static void fill_frame(int number)
{
    const double values[] = {0, -0.0, 1.0 / 3, DBL_MIN, 1e300, 85520809984.0, 0.1 + 0.2, 4503599627370497.5};
    stk_gpu_frame *seen = maker.seen;
    for (int i = 0; i < STK_METRIC_COUNT; i++) {
        maker_set(&maker, 0, (stk_metric)i, values[(i + number) % 8]);
        seen[0].readings[i].when_ns -= i % 5 == 0 ? 1234 : 0;
        seen[1].readings[i] = (stk_reading){.known = i % 2 ? STK_UNSUPPORTED : STK_UNKNOWN};
    }
    for (int i = 0; i < number % STK_GPU_LOADS; i++)
        maker_load(&maker, 0, number + i * 0.001, number + (i + 1) * 0.001, i / 3.0);
    seen[0].processes_known = true;
    seen[0].process_count = number % 3;
    for (int i = 0; i < seen[0].process_count; i++) {
        seen[0].processes[i] = (stk_gpu_process){.pid = 100 + i, .memory_bytes = seen[0].readings[0]};
        snprintf(seen[0].processes[i].name, 32, "tr\"a\\in\t%d é", i);
    }
    seen[1].state = (stk_gpu_state)(number % 5);
    snprintf(seen[1].note, sizeof seen[1].note, "%s", number % 5 ? "gone" : "");
    maker.frame.host.cpu_percent = maker_known(&maker, 12.5);
    maker.frame.host.quota_throttled_s = maker_known(&maker, number / 7.0);
    maker.frame.host.quota_throttled_s.when_ns -= 99;
    maker.frame.host.job_memory_bytes.known = STK_UNSUPPORTED;
    maker.cores[0] = (float)number / 3;
    maker.cores[1] = -1;
    maker.frame.host.cpu_count = 1 + number % 2;
}

enum { FRAMES = 20 };

static void make_frame(int number)
{
    if (!number) maker_start(&maker, 2);
    maker_next(&maker, number ? 0.1 : 0);
    fill_frame(number);
}

static void write_recording(void)
{
    stk_error error;
    stk__recorder *recorder = NULL;
    const stk__record_head head = head_of();
    maker_start(&maker, 2);
    strcpy(maker.gpus[1].part, "MIG 1g.10gb");
    maker.gpus[1].part_number = 5;
    assert_int_equal(stk__recorder_open(&recorder, path, &head, &error), STK_OK);
    for (int i = 0; i < FRAMES; i++) {
        make_frame(i);
        assert_int_equal(stk__recorder_write(recorder, &maker.frame, &error), STK_OK);
    }
    assert_int_equal(stk__recorder_close(&recorder, &error), STK_OK);
    assert_null(recorder);
}

static void same_reading(stk_reading a, stk_reading b)
{
    assert_int_equal(a.known, b.known);
    if (a.known != STK_KNOWN) return;
    assert_memory_equal(&a.value, &b.value, sizeof a.value);
    assert_true(a.when_ns == b.when_ns);
}

static void same_gpu(const stk_gpu_frame *a, const stk_gpu_frame *b)
{
    assert_int_equal(a->state, b->state);
    assert_string_equal(a->note, b->note);
    for (int i = 0; i < STK_METRIC_COUNT; i++)
        same_reading(a->readings[i], b->readings[i]);
    assert_int_equal(a->load_count, b->load_count);
    assert_memory_equal(a->loads, b->loads, (size_t)a->load_count * sizeof a->loads[0]);
    assert_int_equal(a->processes_known, b->processes_known);
    assert_int_equal(a->process_count, b->process_count);
    for (int i = 0; i < a->process_count; i++) {
        assert_int_equal(a->processes[i].pid, b->processes[i].pid);
        assert_string_equal(a->processes[i].name, b->processes[i].name);
        assert_int_equal(a->processes[i].util_percent.known, b->processes[i].util_percent.known);
        assert_true(a->processes[i].memory_bytes.value == b->processes[i].memory_bytes.value);
    }
}

static void comes_back(void **state)
{
    (void)state;
    stk_error error;
    stk__replay *replay;
    stk_monitor_frame *frame;
    write_recording();
    assert_int_equal(stk__replay_open(&replay, path, &error), STK_OK);
    const stk__record_head *head = stk__replay_head(replay);
    assert_true(head->interval_s == 0.1 && head->pid == 77 && head->gpu_count == 2);
    assert_string_equal(head->absent, head_of().absent);
    assert_string_equal(head->gpus[1].name, "Made up 1");
    assert_string_equal(head->gpus[1].id, "GPU-1");
    assert_string_equal(head->gpus[1].part, "MIG 1g.10gb");
    assert_int_equal(head->gpus[1].part_number, 5);
    for (int i = 0; i < FRAMES; i++) {
        make_frame(i);
        assert_int_equal(stk__replay_next(replay, &frame, &error), STK_OK);
        assert_true(frame->number == (uint64_t)i && frame->from_ns == maker.frame.from_ns);
        assert_true(frame->to_ns == maker.frame.to_ns && frame->clock_s == maker.frame.clock_s);
        assert_int_equal(frame->gpu_count, 2);
        for (int k = 0; k < 2; k++)
            same_gpu(&maker.seen[k], &frame->gpu_frames[k]);
        same_reading(frame->host.cpu_percent, maker.frame.host.cpu_percent);
        same_reading(frame->host.quota_throttled_s, maker.frame.host.quota_throttled_s);
        assert_int_equal(frame->host.job_memory_bytes.known, STK_UNSUPPORTED);
        assert_memory_equal(frame->host.core_percent, maker.cores, sizeof maker.cores);
        assert_int_equal(frame->host.cpu_count, maker.frame.host.cpu_count);
    }
    for (int i = 0; i < 2; i++)
        assert_int_equal(stk__replay_next(replay, &frame, &error), STK_END);
    stk__replay_close(&replay);
    assert_null(replay);
}

/* Stopped by Ctrl-Z and forgotten for weeks. */
static void long_frames_come_back(void **state)
{
    (void)state;
    stk__recorder *recorder;
    stk__replay *replay;
    stk_monitor_frame *frame;
    maker_start(&maker, 2);
    const stk__record_head head = head_of();
    assert_int_equal(stk__recorder_open(&recorder, path, &head, NULL), STK_OK);
    for (int i = 0; i < 4; i++) {
        maker_next(&maker, i * 100 * 86400.0);
        assert_int_equal(stk__recorder_write(recorder, &maker.frame, NULL), STK_OK);
    }
    assert_int_equal(stk__recorder_close(&recorder, NULL), STK_OK);
    assert_int_equal(stk__replay_open(&replay, path, NULL), STK_OK);
    for (int i = 0; i < 4; i++) {
        stk_error error = {0};
        if (stk__replay_next(replay, &frame, &error) != STK_OK) fail_msg("%s", error.message);
    }
    assert_true(frame->to_ns == maker.frame.to_ns);
    stk__replay_close(&replay);
}

/* --- damage ----------------------------------------------------------------------------------------------
 */

static size_t read_all(char *text, size_t room)
{
    FILE *file = fopen(path, "r");
    const size_t count = fread(text, 1, room, file);
    fclose(file);
    return count;
}

static void write_other(const char *text, size_t count)
{
    FILE *file = fopen(other, "w");
    assert_int_equal(fwrite(text, 1, count, file), count);
    fclose(file);
}

/* Plays `other` to its end: the last status. */
static stk_status play(int *frames, stk_error *error)
{
    stk__replay *replay;
    stk_monitor_frame *frame;
    *frames = 0;
    stk_status status = stk__replay_open(&replay, other, error);
    if (status != STK_OK) return status;
    while ((status = stk__replay_next(replay, &frame, error)) == STK_OK)
        ++*frames;
    stk__replay_close(&replay);
    return status;
}

static char text[1 << 20];

/* Cut at every 97th byte, and at every line's end: frames before are whole, then the line is named. */
static void cut(void **state)
{
    (void)state;
    stk_error error;
    int frames, lines = 0;
    write_recording();
    const size_t count = read_all(text, sizeof text);
    for (size_t at = 0; at < count; at++) {
        const bool line_end = at && text[at - 1] == '\n';
        lines += line_end;
        if (at % 97 && !line_end) continue;
        write_other(text, at);
        assert_int_equal(play(&frames, &error), STK_ERROR_DATA);
        assert_int_equal(frames, lines > 1 ? lines - 1 : 0);
        char place[128];
        snprintf(place, sizeof place, "%s:%d", other, line_end ? lines : lines + 1);
        assert_string_equal(error.place, place);
    }
    assert_int_equal(lines, FRAMES + 1);
}

static void replace(const char *from, const char *to)
{
    static char changed[sizeof text];
    const size_t count = read_all(text, sizeof text - 1);
    text[count] = '\0';
    const char *found = strstr(text, from);
    assert_non_null(found);
    const int length =
        snprintf(changed, sizeof changed, "%.*s%s%s", (int)(found - text), text, to, found + strlen(from));
    write_other(changed, (size_t)length);
}

static void damaged(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to, *message;
        int line;
    } rows[] = {
        {"{\"schema\":1", "[", "invalid JSON at column", 1},
        {"{\"schema\":1", "{\"schema\":9", "unsupported recording: schema 9, this stoker reads 1", 1},
        {"\"recording\"", "\"rec\"", "not a recording of stoker monitor", 1},
        {"\"interval_s\":0.1", "\"interval_s\":\"x\"", "'interval_s' is missing or invalid", 1},
        {"\"index\":1", "\"index\":null", "'index' is missing or invalid", 1},
        {"\"part_number\":5", "\"part_number\":-5", "'part_number' is missing or invalid", 1},
        {"\"part_number\":5", "\"part_number\":[]", "'part_number' is missing or invalid", 1},
        {"\"number\":3", "\"number\":4", "frame 4 where frame 3 was expected", 5},
        {"\"number\":3,\"from_ns\":1000", "\"number\":3,\"from_ns\":-100", "'from_ns' is missing", 5},
        {"\"number\":3,\"from_ns\":1000", "\"number\":3,\"from_ns\":0000", "invalid JSON", 5},
        {"\"number\":3,\"from_ns\":1000", "\"number\":3,\"from_ns\":999", "timestamps run backwards", 5},
        {"\"to_ns\":1000100000000", "\"to_ns\":90001000000000000", "timestamps run backwards or jump too far",
         3},
        {"\"state\":\"good\"", "\"state\":\"fine\"", "'state' is missing", 2},
        {"\"loads_ns_ns_percent\":[]", "\"loads_ns_ns_percent\":[[1,2]]", "'loads_ns_ns_percent' is missing",
         2},
        {"\"processes\":[]", "\"processes\":3", "'processes' is missing", 2},
        {"\"power_w\":", "\"power_kw\":", "'power_w' is missing", 2},
        {"\"core_percent\":[", "\"core\":[", "'core_percent' is missing", 2},
        {"\"core_percent\":[", "\"core_percent\":[1e300,", "'core_percent' is missing", 2},
        {"\"when_ns\":{", "\"when_ns\":{\"util_percent\":-5,", "'when_ns' is missing", 2},
        {"\"cpu_count\":1", "\"cpu_count\":3", "'cpu_count' is missing", 2},
        {"\"cpu_count\":1", "\"cpu_count\":1.5", "'cpu_count' is missing", 2},
        {"{\"frames\":20}", "{\"frames\":21}", "the last line counts 21 frames, but the recording has 20",
         22},
    };
    write_recording();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        stk_error error;
        int frames;
        char place[128];
        replace(rows[i].from, rows[i].to);
        if (play(&frames, &error) != STK_ERROR_DATA || !strstr(error.message, rows[i].message))
            fail_msg("row %zu: '%s'", i, error.message);
        snprintf(place, sizeof place, "%s:%d", other, rows[i].line);
        assert_string_equal(error.place, place);
    }
}

static void no_file(void **state)
{
    (void)state;
    stk_error error;
    stk__replay *replay;
    stk__recorder *recorder;
    const stk__record_head head = head_of();
    assert_int_equal(stk__replay_open(&replay, "/nowhere/x", &error), STK_ERROR_IO);
    assert_string_equal(error.place, "/nowhere/x");
    assert_null(replay);
    assert_int_equal(stk__replay_open(&replay, "/", &error), STK_ERROR_IO);
    assert_int_equal(stk__recorder_open(&recorder, "/nowhere/x", &head, &error), STK_ERROR_IO);
    assert_string_equal(error.place, "/nowhere/x");
    assert_null(recorder);
    assert_int_equal(stk__recorder_open(&recorder, "/dev/full", &head, &error), STK_ERROR_IO);
    assert_string_equal(error.message, "cannot write the recording: No space left on device");
    assert_null(recorder);
    assert_int_equal(stk__recorder_close(&recorder, NULL), STK_OK);
    stk__replay_close(&replay);
}

/* --- memory ----------------------------------------------------------------------------------------------
 */

static stk_status record_once(void *context, stk_error *error)
{
    (void)context;
    stk__recorder *recorder;
    const stk__record_head head = head_of();
    STK__TRY(stk__recorder_open(&recorder, path, &head, error));
    stk_status status = STK_OK;
    for (int i = 0; i < FRAMES && status == STK_OK; i++) {
        make_frame(i);
        status = stk__recorder_write(recorder, &maker.frame, error);
    }
    if (status == STK_OK) return stk__recorder_close(&recorder, error);
    stk__recorder_close(&recorder, NULL);
    return status;
}

static stk_status replay_once(void *context, stk_error *error)
{
    (void)context;
    stk__replay *replay;
    stk_monitor_frame *frame;
    stk_status status;
    STK__TRY(stk__replay_open(&replay, path, error));
    while ((status = stk__replay_next(replay, &frame, error)) == STK_OK)
        continue;
    stk__replay_close(&replay);
    return status == STK_END ? STK_OK : status;
}

/* The public way: played, judged and recorded again. */
static stk_status watch_once(void *context, stk_error *error)
{
    stk_monitor *monitor;
    stk_monitor_frame *frame;
    stk_status status;
    int *frames = context;
    *frames = 0;
    STK__TRY(stk_monitor_open(&monitor, &(stk_monitor_options){.replay = path, .record = other}, error));
    while ((status = stk_monitor_next(monitor, &frame, error)) == STK_OK)
        ++*frames;
    stk_monitor_summary summary;
    stk_monitor_summarize(monitor, &summary);
    assert_true(summary.gpu_count == 2 && summary.verdict[0]);
    assert_int_equal(stk_monitor_close(&monitor), 0);
    return status == STK_END ? STK_OK : status;
}

static void failing_memory(void **state)
{
    (void)state;
    int frames;
    maker_start(&maker, 2);
    assert_true(fail_alloc_each(record_once, NULL) > 3);
    assert_true(fail_alloc_each(replay_once, NULL) > 6);
    assert_true(fail_alloc_each(watch_once, &frames) > 10);
    assert_int_equal(frames, FRAMES);
}

static void nothing_allocated_per_frame(void **state)
{
    (void)state;
    fail_alloc none = {.left = -1};
    stk__recorder *recorder;
    const stk__record_head head = head_of();
    maker_start(&maker, 2);
    fail_alloc_set(&none);
    assert_int_equal(stk__recorder_open(&recorder, path, &head, NULL), STK_OK);
    for (int i = 0; i < 600; i++) {
        if (i == 300) none.left = 0; /* all line lengths have been there */
        make_frame(i);
        assert_int_equal(stk__recorder_write(recorder, &maker.frame, NULL), STK_OK);
    }
    assert_int_equal(stk__recorder_close(&recorder, NULL), STK_OK);
    fail_alloc_set(NULL);
    assert_int_equal(none.alive, 0);
}

/* --- one line --------------------------------------------------------------------------------------------
 */

static const char *line_of(const char *value, int digits, double number)
{
    static char line[256];
    stk__json_line json = {.digits = digits};
    FILE *file = fmemopen(line, sizeof line, "w");
    stk__line_start(&json);
    stk__line_text(&json, "t", value);
    stk__line_real(&json, "n", number);
    assert_true(stk__line_finish(&json, file));
    fclose(file);
    stk__buffer_fini(&json.text);
    return line;
}

static void lines(void **state)
{
    (void)state;
    assert_string_equal(line_of("a", 0, 0.1), "{\"t\":\"a\",\"n\":0.1}\n");
    assert_string_equal(line_of("a", 9, 1.0 / 3), "{\"t\":\"a\",\"n\":0.333333333}\n");
    assert_string_equal(line_of("\x01\"\\/", 0, NAN), "{\"t\":\"\\u0001\\\"\\\\/\",\"n\":null}\n");
    assert_string_equal(line_of("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", 0, INFINITY),
                        "{\"t\":\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\",\"n\":null}\n");
    /* cut, alone, too long, beyond, a half of a pair */
    assert_string_equal(line_of("\xc3 \x80 \xe0\x80\x80 \xf5 \xed\xa0\x80 \xff", 0, 5),
                        "{\"t\":\"? ? ??? ? ??? ?\",\"n\":5}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comes_back),     cmocka_unit_test(cut),
        cmocka_unit_test(damaged),        cmocka_unit_test(no_file),
        cmocka_unit_test(failing_memory), cmocka_unit_test(nothing_allocated_per_frame),
        cmocka_unit_test(lines),          cmocka_unit_test(long_frames_come_back),
    };
    return cmocka_run_group_tests_name("record", tests, make_path, remove_path);
}
