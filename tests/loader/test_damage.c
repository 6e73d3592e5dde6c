/* SPDX-License-Identifier: Apache-2.0 */
/* Every way of damaging a data set, with every policy. */
#include "loader/damage_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "loader/test_folder.h"

static void check_end(const char *text, const char *end)
{
    const size_t length = strlen(text), end_length = strlen(end);
    const bool ends = length >= end_length && strcmp(text + length - end_length, end) == 0;
    if (!ends) print_error("'%s' does not end in '%s'\n", text, end);
    assert_true(ends);
}

/* A place that ends in '@' is followed by an offset. */
static void check_place(const char *text, const damage_operator *one)
{
    const char *end = one->place ? one->place : one->file;
    char cut[512];
    size_t length = strlen(text);
    while (end[strlen(end) - 1] == '@' && length && text[length - 1] >= '0' && text[length - 1] <= '9')
        length--;
    snprintf(cut, sizeof cut, "%.*s", (int)length, text);
    check_end(cut, end);
}

static void check_line(const damage_run *run, const ledger_line *line, const char *action)
{
    const damage_operator *one = run->one;
    const char *found = stk_damage_name(line->entry.damage), *expected = stk_damage_name(one->expected);
    if (strcmp(found, expected) != 0) print_error("%s: %s\n", line->path, line->detail);
    assert_string_equal(found, expected);
    check_place(line->path, one);
    assert_int_equal(line->entry.sample_id, damage_sample_id(one));
    assert_string_equal(line->action, action);
    assert_true(line->detail[0] != '\0');
}

static void check_failed(const damage_operator *one)
{
    damage_run run = {.one = one, .root = root, .policy = STK_BAD_FAIL, .workers = 2};
    stk_error error = {0};
    uint64_t position;
    damage_run_open(&run);
    assert_int_equal(damage_run_epoch(&run, 0, &position, &error), STK_ERROR_SAMPLE);
    assert_int_equal(run.line_count, 1);
    check_line(&run, &run.lines[0], "failed");
    assert_int_equal(position, run.lines[0].entry.position / DAMAGE_BATCH * DAMAGE_BATCH);
    assert_int_equal(run.lines[0].entry.epoch, 0);
    assert_string_equal(stk_damage_name(error.damage), stk_damage_name(one->expected));
    check_place(error.place, one);
    assert_string_equal(error.message, run.lines[0].detail);
    assert_true(error.hint[0] != '\0');
    stk_batch *batch;
    assert_int_equal(stk_loader_next(run.loader, &batch, &error), STK_ERROR_SAMPLE);
    assert_int_equal(run.line_count, 1);
    damage_run_close(&run);
}

static void check_skipped(damage_run *run)
{
    damage_run_all(run);
    assert_int_equal(run->line_count, DAMAGE_EPOCHS);
    for (int epoch = 0; epoch < DAMAGE_EPOCHS; epoch++) {
        const ledger_line *line = &run->lines[epoch];
        check_line(run, line, "skipped");
        assert_int_equal(line->entry.epoch, epoch);
        assert_int_equal(run->bad_count[epoch], 1);
        assert_int_equal(line->entry.position, run->bad_position[epoch]);
        for (int id = 0; id < DAMAGE_SAMPLES; id++)
            assert_int_equal(run->times[epoch][id], id != damage_sample_id(run->one));
    }
}

/* One good sample comes twice. The draw of a substitute may hit the damaged sample again: it then stands in
 * the ledger once more, at the same position. */
static void check_replaced(damage_run *run)
{
    damage_run_all(run);
    int lines[DAMAGE_EPOCHS] = {0};
    for (int i = 0; i < run->line_count; i++) {
        const stk_ledger_entry *entry = &run->lines[i].entry;
        check_line(run, &run->lines[i], "replaced");
        assert_true(entry->epoch < DAMAGE_EPOCHS);
        if (lines[entry->epoch]++) assert_int_equal(entry->position, run->lines[i - 1].entry.position);
    }
    for (int epoch = 0; epoch < DAMAGE_EPOCHS; epoch++) {
        int twice = 0;
        assert_in_range(lines[epoch], 1, 3);
        assert_int_equal(run->bad_count[epoch], 0);
        for (int id = 0; id < DAMAGE_SAMPLES; id++) {
            const int least = id != damage_sample_id(run->one);
            assert_in_range(run->times[epoch][id], least, 2 * least);
            twice += run->times[epoch][id] == 2;
        }
        assert_int_equal(twice, 1);
    }
}

/* The stream is the same whatever the number of workers. */
static void check_any_workers(const damage_operator *one, stk_bad_sample policy, void (*check)(damage_run *))
{
    static const int64_t workers[] = {2, STK_WORKERS_NONE, 1, 3};
    stk__digest first = {0};
    for (int i = 0; i < 4; i++) {
        damage_run run = {.one = one, .root = root, .policy = policy, .workers = workers[i]};
        damage_run_open(&run);
        check(&run);
        if (i == 0) first = run.digest;
        assert_memory_equal(&run.digest, &first, sizeof first);
        damage_run_close(&run);
    }
}

/* One operator with one policy. */
typedef struct damage_case {
    const damage_operator *one;
    stk_bad_sample policy;
    char name[96];
} damage_case;

static int leave_case(void **state)
{
    const damage_case *which = *state;
    damage_become_root();
    damage_clear(which->one, root);
    return 0;
}

static void check_case(void **state)
{
    const damage_case *which = *state;
    if (which->one->as_nobody) {
        const bool possible = damage_become_nobody();
        damage_become_root();
        if (!possible) print_message("root cannot lay down its rights here: nothing to see\n");
        if (!possible) skip();
    }
    if (which->policy == STK_BAD_FAIL) check_failed(which->one);
    if (which->policy == STK_BAD_SKIP) check_any_workers(which->one, STK_BAD_SKIP, check_skipped);
    if (which->policy == STK_BAD_REPLACE) check_any_workers(which->one, STK_BAD_REPLACE, check_replaced);
}

static int build_sets(void **state)
{
    if (folder_make(state) != 0) return -1;
    for (int set = 0; set < DAMAGE_SET_COUNT; set++)
        damage_build((damage_set)set, root);
    return 0;
}

int main(void)
{
    static const char *const policies[] = {"fail", "replace", "skip"};
    enum { MOST = 512 };
    static damage_case cases[MOST];
    static struct CMUnitTest tests[MOST];
    const int count = damage_operator_count * 3;
    if (count > MOST) return 1;
    for (int i = 0; i < count; i++) {
        cases[i].one = &damage_operators[i / 3];
        cases[i].policy = (stk_bad_sample)(i % 3);
        snprintf(cases[i].name, sizeof cases[i].name, "%s: %s", cases[i].one->name, policies[i % 3]);
        tests[i] = (struct CMUnitTest){cases[i].name, check_case, NULL, leave_case, &cases[i]};
    }
    return _cmocka_run_group_tests("damage", tests, (size_t)count, build_sets, folder_remove);
}
