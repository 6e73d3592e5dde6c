/* SPDX-License-Identifier: Apache-2.0 */
/* What a process is, from its command line, its libraries and the names of its threads. */
#include "doctor/process_facts.h"

#include "monitor/host/host_proc.h"
#include "support/made_up_proc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { PID = 1000500 };

static workspace space;
static char text[STK_HOST_TEXT_BYTES];

static int set_up(void **state)
{
    (void)state;
    space = workspace_make();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    workspace_remove(&space);
    return 0;
}

static stk__process_record read_facts(const char *name, const char *command, const char *maps)
{
    stk__process_record record;
    const stk__process_stat stat = {.parent = 1};
    stk__process_record_begin(&record, PID, &stat, 0, 1);
    snprintf(record.name, sizeof record.name, "%s", name);
    proc_put_process(&space, (made_up_process){.pid = PID, .name = name, .command = command, .maps = maps});
    stk__process_facts_read(&record, space.path, text, 5);
    assert_int_equal(record.facts_ns, 5);
    return record;
}

static void how_python_has_started_it(void **state)
{
    (void)state;
    static const struct {
        const char *command;
        stk__python_start start;
    } cases[] = {
        {"python3|train.py", STK_START_OTHER},
        {"/x/python3|-B|-c|from multiprocessing.spawn import spawn_main; spawn_main(tracker_fd=6)",
         STK_START_SPAWN},
        {"python3|-c|from multiprocessing.forkserver import main; main(8, 9)", STK_START_FORKSERVER},
        {"python3|-c|from multiprocessing.resource_tracker import main;main(5)", STK_START_TRACKER},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(read_facts("python3", cases[i].command, "").start, cases[i].start);
    assert_true(read_facts("python3", "python3|a", "").command_hash !=
                read_facts("python3", "python3|b", "").command_hash);
}

static void names_of_threads(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool pins, trains;
    } cases[] = {{"python3", false, false},
                 {"pt_data_pin", true, false},
                 {"Thread-1 (_pin_", true, false}, /* by Python 3.14 */
                 {"pt_autograd_0", false, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        proc_put(&space, cases[i].name, "proc/%d/task/7/comm", PID);
        const stk__process_record record = read_facts("python3", "python3", "1-2 r /x/libtorch.so\n");
        assert_int_equal(record.pin_thread, cases[i].pins ? STK_YES : STK_UNSURE);
        assert_int_equal(record.backward_thread, cases[i].trains);
        assert_false(read_facts(STK_WORKER_NAME, "python3", "").backward_thread); /* not asked */
    }
    assert_false(read_facts("python3", "python3", "1-2 r /x/libc.so\n").backward_thread); /* no PyTorch */
}

static void expect_command(const char *line, size_t size, const char *expected)
{
    char command[STK_DOCTOR_TEXT];
    stk__process_command(line, size, command);
    assert_string_equal(command, expected);
}

static void command_lines_are_shortened(void **state)
{
    (void)state;
    char line[300];
    expect_command("/a/b/python3\0-m\0x/train\0", 24, "python3 -m x/train");
    expect_command("a\nb\0\0c", 6, "a b  c");
    expect_command("", 0, "");
    expect_command("\0\0", 2, "");
    expect_command("\xff"
                   "a\0",
                   3, "?a");
    memset(line, 'x', sizeof line);
    memcpy(line + STK_DOCTOR_TEXT - 2, "\xc3\xa4", 2); /* a letter across the end */
    char expected[STK_DOCTOR_TEXT];
    memset(expected, 'x', sizeof expected);
    memcpy(expected + STK_DOCTOR_TEXT - 2, "?", 2);
    expect_command(line, sizeof line, expected);
}

/* They are read in pieces. */
static void libraries_across_two_pieces(void **state)
{
    (void)state;
    enum { MAPS = STK_HOST_TEXT_BYTES + 4096 };
    char *maps = malloc(MAPS);
    assert_non_null(maps);
    for (int cut = -1; cut < 12; cut++) {
        memset(maps, 'x', MAPS - 1);
        maps[MAPS - 1] = '\0';
        if (cut >= 0) memcpy(maps + STK_HOST_TEXT_BYTES - cut, "/libtorch.so", 12);
        assert_int_equal(read_facts("python3", "python3", maps).torch, cut >= 0 ? STK_YES : STK_NO);
    }
    free(maps);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(how_python_has_started_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(names_of_threads, set_up, tear_down),
        cmocka_unit_test(command_lines_are_shortened),
        cmocka_unit_test_setup_teardown(libraries_across_two_pieces, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("process_facts", tests, NULL, NULL);
}
