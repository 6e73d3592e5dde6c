/* SPDX-License-Identifier: Apache-2.0 */
/* The page of a run that was put there by hand: what is missing, damaged or hostile, and no memory. */
#include "report/report.h"

#include "core/file.h"
#include "monitor/record/record.h"
#include "support/fail_alloc.h"
#include "support/workspace.h"

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static const char good_run[] =
    "{\"network\": \"net<i>\", \"metric\": \"top1\", \"best_metric\": 0.5, \"best_step\": 2, \"wall_s\": "
    "1.5, "
    "\"steps\": 2, \"steps_run\": 2, \"epochs\": 1, \"interrupted\": false, \"stopped_early\": false, "
    "\"data\": {\"root\": \"da<ta>/\", \"layout\": \"x\", \"samples\": 3, \"val_samples\": null}, "
    "\"advice\": \"one & <only>\", \"advice_rules\": [{\"id\": \"a\", \"text\": \"one & <only>\"}, "
    "{\"id\": \"b\", \"text\": \"the second\"}], "
    "\"stall\": [{\"name\": \"forward\", \"share\": 0.75}, {\"name\": \"never heard of\", \"share\": 0.25}], "
    "\"effects\": [{\"name\": \"train.epochs\", \"requested\": 1, \"in_effect\": 1, \"why\": null}, "
    "{\"name\": \"train.amp\", \"requested\": \"bf16\", \"in_effect\": \"f32\", \"why\": \"because <b>\"}], "
    "\"layers\": [{\"name\": \"l\", \"op\": \"conv\", \"output\": \"1 x 2\", \"parameters\": 3, "
    "\"forward_flops\": 1e7, "
    "\"memory_bytes\": 5}]}";
static const char good_lines[] =
    "{\"step\": 1, \"loss\": 2.5, \"lr\": 0.1}\n{\"step\": 2, \"loss\": null, \"val_loss\": 1.25}\n"
    "no json\n{\"loss\": 7}\n[1]\n{\"step\": 3, \"lo";

static char *read_page(const char *folder, stk__buffer *page)
{
    char path[512];
    snprintf(path, sizeof path, "%s/" STK_REPORT_NAME, folder);
    assert_int_equal(stk__file_read(path, 0, page, NULL), STK_OK);
    return (char *)page->data; /* zeros follow */
}

static char *write_page(const workspace *space, stk__buffer *page)
{
    stk_error error = {0};
    assert_int_equal(stk__report_write(space->path, NULL, &error), STK_OK);
    return read_page(space->path, page);
}

static void a_whole_run(void **state)
{
    (void)state;
    workspace space = workspace_make();
    stk__buffer buffer = {0};
    workspace_put(&space, "run.json", good_run);
    workspace_put(&space, "metrics.jsonl", good_lines);
    workspace_put(&space, "config.yaml", "data:\n  root: \"<script>\"\n");
    const char *page = write_page(&space, &buffer);
    static const char *const there[] = {"<h1>net&lt;i&gt; on da&lt;ta&gt;</h1>",
                                        "data-y=\"2.5\"",
                                        "data-y=\"1.25\"",
                                        "because &lt;b&gt;",
                                        "&lt;script&gt;",
                                        "class=\"state good\">finished",
                                        "75.0 %",
                                        "<b>What would help most</b> one &amp; &lt;only&gt;</p>",
                                        "<b>Also</b> the second</p>",
                                        "</html>"};
    for (size_t i = 0; i < sizeof there / sizeof there[0]; i++)
        if (!strstr(page, there[i])) fail_msg("'%s' is not in the page", there[i]);
    assert_null(strstr(page, "data-y=\"7"));
    assert_null(strstr(page, "null"));
    stk__buffer_fini(&buffer);
    workspace_remove(&space);
}

/* Everything that should be an object, a list, a number or a text is something else. */
static void wrong_types_do_no_harm(void **state)
{
    static const char strange[] =
        "{\"stall\": {}, \"effects\": [1, null, {}, {\"name\": 3}], \"layers\": [[], {}], "
        "\"data\": 3, \"monitor\": {}, \"advice_rules\": [1, 2, {\"text\": 3}]}";
    static const char mixed[] = "{\"network\": 5, \"metric\": [], \"best_metric\": \"x\", \"steps\": null, "
                                "\"stall\": [{\"name\": 1, \"share\": \"y\"}, 3]}";
    static const char huge[] =
        "{\"stall\": [{\"name\": \"read\", \"share\": 1e300}, {\"name\": \"read\", \"share\": -4}], "
        "\"wall_s\": 1e308, \"monitor\": {\"gpus\": [3, {\"gpu\": \"x\"}]}, \"date\": \"short\"}";
    static const char small[] =
        "{\"task\": \"x\", \"samples\": [{\"probability\": 1}], \"columns\": 1, \"rows\": -5, "
        "\"cell\": {\"width_px\": -1}}";
    static const char *const runs[] = {"[]", "{}", strange, mixed, huge};
    static const char *const answers[] = {"{}", "[]", small,
                                          "{\"task\": \"x\", \"samples\": [{}], \"columns\": 3}",
                                          "{\"task\": \"regression\", \"samples\": [{\"truth\": \"x\"}, 3]}"};
    (void)state;
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++)
        for (size_t k = 0; k < sizeof answers / sizeof answers[0]; k++) {
            workspace space = workspace_make();
            stk__buffer buffer = {0};
            workspace_put(&space, "run.json", runs[i]);
            workspace_put(&space, "predictions.json", answers[k]);
            workspace_put(&space, "predictions.png", "no picture");
            workspace_put(&space, "metrics.jsonl",
                          "{\"step\": -3, \"loss\": 1e308, \"val_loss\": -1e308, \"x\": {}}\n");
            workspace_put(&space, "monitor.jsonl", "{\"schema\": 99}\n");
            assert_non_null(strstr(write_page(&space, &buffer), "</html>"));
            stk__buffer_fini(&buffer);
            workspace_remove(&space);
        }
}

static void a_run_that_was_killed(void **state)
{
    (void)state;
    workspace space = workspace_make();
    stk__buffer buffer = {0};
    workspace_put(&space, "metrics.jsonl", good_lines);
    const char *page = write_page(&space, &buffer);
    assert_non_null(strstr(page, "unfinished"));
    assert_non_null(strstr(page, "--resume"));
    stk__buffer_fini(&buffer);
    workspace_remove(&space);
}

/* Of so many GPUs, two frames in which they drew power. */
static void put_recording(const workspace *space, int gpu_count)
{
    static stk_gpu gpus[STK_GPUS];
    static stk_gpu_frame seen[STK_GPUS];
    char path[512];
    stk__recorder *recorder;
    const stk__record_head head = {.interval_s = 1, .gpu_count = gpu_count, .gpus = gpus};
    stk_monitor_frame frame = {.gpu_count = gpu_count, .gpus = gpus, .gpu_frames = seen, .clock_s = 1.7e9};
    for (int i = 0; i < gpu_count; i++) {
        gpus[i].index = i;
        seen[i].readings[STK_METRIC_POWER] = (stk_reading){.value = 300 + i, .known = STK_KNOWN};
    }
    gpus[7] = (stk_gpu){.index = 6, .part = "MIG 1g.10gb", .part_number = 2};
    snprintf(path, sizeof path, "%s/monitor.jsonl", space->path);
    assert_int_equal(stk__recorder_open(&recorder, path, &head, NULL), STK_OK);
    for (; frame.number < 2; frame.number++) {
        assert_int_equal(stk__recorder_write(recorder, &frame, NULL), STK_OK);
        frame.from_ns = frame.to_ns;
        frame.to_ns += 1000000000;
        frame.clock_s += 1;
    }
    assert_int_equal(stk__recorder_close(&recorder, NULL), STK_OK);
}

static void more_gpus_than_a_chart_has_lines(void **state)
{
    (void)state;
    static const char sentence[] = "The charts show the first 8 of 10 GPUs.";
    for (int gpu_count = 8; gpu_count <= 10; gpu_count += 2) {
        workspace space = workspace_make();
        stk__buffer buffer = {0};
        workspace_put(&space, "metrics.jsonl", good_lines);
        put_recording(&space, gpu_count);
        const char *page = write_page(&space, &buffer);
        assert_non_null(strstr(page, "GPU power"));
        assert_non_null(strstr(page, "GPU 6.2")); /* a part of the one before it */
        assert_int_equal(strstr(page, "The charts show") != NULL, gpu_count > 8);
        if (gpu_count > 8) assert_non_null(strstr(page, sentence));
        stk__buffer_fini(&buffer);
        workspace_remove(&space);
    }
}

static void no_run_at_all(void **state)
{
    (void)state;
    workspace space = workspace_make();
    stk_error error = {0};
    assert_int_equal(stk__report_write(space.path, NULL, &error), STK_ERROR_DATA);
    assert_non_null(strstr(error.message, "is not a run folder"));
    assert_int_equal(workspace_count(&space), 0);
    workspace_remove(&space);
}

static stk_status write_once(void *context, stk_error *error)
{
    return stk__report_write(((workspace *)context)->path, NULL, error);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    workspace space = workspace_make();
    workspace_put(&space, "run.json", good_run);
    workspace_put(&space, "metrics.jsonl", good_lines);
    workspace_put(&space, "config.yaml", "x: 1\n");
    workspace_put(&space, "predictions.json",
                  "{\"task\": \"regression\", \"samples\": [{\"truth\": 1, \"prediction\": 2}]}");
    assert_true(fail_alloc_each(write_once, &space) > 10);
    workspace_remove(&space);
}

/* Coordinates with decimal commas would be other coordinates. */
static void decimal_commas(void **state)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "fr_FR.utf8"};
    (void)state;
    bool set = false;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        set = set || setlocale(LC_NUMERIC, names[i]);
    if (!set) skip();
    a_whole_run(state);
    setlocale(LC_NUMERIC, "C");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_run),           cmocka_unit_test(wrong_types_do_no_harm),
        cmocka_unit_test(a_run_that_was_killed), cmocka_unit_test(more_gpus_than_a_chart_has_lines),
        cmocka_unit_test(no_run_at_all),         cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(decimal_commas),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
