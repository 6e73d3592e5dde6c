/* SPDX-License-Identifier: Apache-2.0 */
/* More than one damaged sample: which one is named, and what happens when nothing good is left. */
#include "loader/damage_bytes.h"
#include "loader/damage_operators.h"
#include "loader/test_folder.h"

#include "core/file.h"
#include "stoker/loader.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

enum { BATCH = 4, COUNT = 13, MOST_LINES = 256 };

static const int64_t workers[] = {STK_WORKERS_NONE, 1, 2, 3, 8};
enum { WORKERS = sizeof workers / sizeof workers[0] };

typedef struct ledger {
    int count;
    uint64_t positions[MOST_LINES];
    stk_damage damages[MOST_LINES];
} ledger;

static void keep_line(void *context, const stk_ledger_entry *entry)
{
    ledger *lines = context;
    assert_true(lines->count < MOST_LINES);
    lines->positions[lines->count] = entry->position;
    lines->damages[lines->count++] = entry->damage;
}

static void write_file(int number, void (*make)(stk__buffer *bytes, int amount), int amount)
{
    char path[PATH_MAX];
    stk__buffer bytes = {0};
    snprintf(path, sizeof path, "%s/%02d.jpg", root, number);
    make(&bytes, amount);
    damage_write(path, &bytes);
    stk__buffer_fini(&bytes);
}

static void write_files(void (*make)(stk__buffer *bytes, int amount), int amount)
{
    for (int i = 0; i < COUNT; i++)
        write_file(i, make, amount);
}

/* In the order of their numbers, so that a file's number is its position. */
static stk_loader_options in_order(stk_bad_sample policy, int64_t worker_count)
{
    return (stk_loader_options){.root = root,
                                .batch_size = BATCH,
                                .shuffle = STK_SWITCH_OFF,
                                .on_bad_sample = policy,
                                .num_workers = worker_count,
                                .prefetch_factor = 1,
                                .epochs = 1,
                                .timeout_s = 20};
}

static stk_loader *open_watched(const stk_loader_options *options, ledger *lines)
{
    stk_loader *loader = NULL;
    stk_error error = {0};
    *lines = (ledger){0};
    if (stk_loader_open(&loader, options, &error) != STK_OK) fail_msg("%s", error.message);
    stk_loader_set_ledger(loader, keep_line, lines);
    return loader;
}

/* Number of samples that came before the status other than STK_OK. */
static int64_t read_samples(stk_loader *loader, stk_status *status, stk_error *error)
{
    int64_t samples = 0;
    stk_batch *batch;
    while ((*status = stk_loader_next(loader, &batch, error)) == STK_OK) {
        samples += batch->count;
        stk_batch_release(batch);
    }
    return samples;
}

static void check_named(int64_t worker_count, int number, stk_damage damage)
{
    ledger lines;
    stk_error error = {0};
    stk_status status;
    char name[16];
    const stk_loader_options options = in_order(STK_BAD_FAIL, worker_count);
    stk_loader *loader = open_watched(&options, &lines);
    assert_int_equal(read_samples(loader, &status, &error), number / BATCH * BATCH);
    assert_int_equal(status, STK_ERROR_SAMPLE);
    assert_int_equal(error.damage, damage);
    snprintf(name, sizeof name, "/%02d.jpg", number);
    assert_non_null(strstr(error.place, name));
    assert_int_equal(lines.count, 1);
    assert_int_equal(lines.positions[0], number);
    stk_loader_close(&loader);
}

/* One of the two takes much longer to be found out, so it is found last when both are loaded at once. */
static void the_lower_of_two_in_a_batch_is_named(void **state)
{
    (void)state;
    write_files(make_good_jpeg, 0);
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < WORKERS; i++) {
            write_file(5, make_jpeg_scans, 300);
            write_file(6, make_nothing, 0);
            check_named(workers[i], 5, STK_DAMAGE_TOO_MANY_SCANS);
            write_file(5, make_nothing, 0);
            write_file(6, make_jpeg_scans, 300);
            check_named(workers[i], 5, STK_DAMAGE_EMPTY);
        }
}

static void the_ledger_is_in_order(void **state)
{
    static const stk_bad_sample policies[] = {STK_BAD_SKIP, STK_BAD_REPLACE};
    (void)state;
    write_files(make_good_jpeg, 0);
    write_file(1, make_jpeg_scans, 300);
    write_file(2, make_nothing, 0);
    write_file(9, make_text, 0);
    for (int i = 0; i < WORKERS * 2; i++) {
        ledger lines;
        stk_error error = {0};
        stk_status status;
        const stk_loader_options options = in_order(policies[i % 2], workers[i / 2]);
        stk_loader *loader = open_watched(&options, &lines);
        assert_int_equal(read_samples(loader, &status, &error), COUNT);
        assert_int_equal(status, STK_END);
        assert_true(lines.count >= 3);
        assert_int_equal(lines.positions[0], 1);
        assert_int_equal(lines.damages[0], STK_DAMAGE_TOO_MANY_SCANS);
        assert_int_equal(lines.positions[lines.count - 1], 9);
        for (int line = 1; line < lines.count; line++)
            assert_true(lines.positions[line] >= lines.positions[line - 1]);
        stk_loader_close(&loader);
    }
}

static void a_set_without_one_good_header_is_refused(void **state)
{
    (void)state;
    write_files(make_nothing, 0);
    for (int policy = STK_BAD_FAIL; policy <= STK_BAD_SKIP; policy++) {
        stk_loader *loader = NULL;
        stk_error error = {0};
        const stk_loader_options options = in_order((stk_bad_sample)policy, 2);
        assert_int_equal(stk_loader_open(&loader, &options, &error), STK_ERROR_DATA);
        assert_null(loader);
        assert_non_null(strstr(error.message, "none of the samples"));
        assert_non_null(strstr(error.place, "00.jpg"));
    }
}

static void replacing_gives_up_when_nothing_is_good(void **state)
{
    (void)state;
    write_files(make_jpeg_cut, 90);
    for (int i = 0; i < WORKERS; i++) {
        ledger lines;
        stk_error error = {0};
        stk_status status;
        const stk_loader_options options = in_order(STK_BAD_REPLACE, workers[i]);
        stk_loader *loader = open_watched(&options, &lines);
        assert_int_equal(read_samples(loader, &status, &error), 0);
        assert_int_equal(status, STK_ERROR_DATA);
        assert_non_null(strstr(error.message, "replacements of a bad sample in a row are bad, too"));
        assert_true(error.hint[0] != '\0');
        assert_int_equal(lines.count, 17); /* the first sample and its 16 substitutes */
        stk_loader_close(&loader);
    }
}

static void skipping_goes_on_when_nothing_is_good(void **state)
{
    (void)state;
    write_files(make_jpeg_cut, 90);
    ledger lines;
    stk_error error = {0};
    stk_status status;
    const stk_loader_options options = in_order(STK_BAD_SKIP, 2);
    stk_loader *loader = open_watched(&options, &lines);
    assert_int_equal(read_samples(loader, &status, &error), COUNT);
    assert_int_equal(status, STK_END);
    assert_int_equal(lines.count, COUNT);
    stk_loader_close(&loader);
}

/* Two workers and one batch each ahead fill three slots: the 13th sample cannot have been read before a batch
 * was handed out. */
static void a_file_may_vanish_behind_an_open_loader(void **state)
{
    char path[PATH_MAX];
    ledger lines;
    stk_error error = {0};
    stk_status status;
    (void)state;
    write_files(make_good_jpeg, 0);
    const stk_loader_options options = in_order(STK_BAD_SKIP, 2);
    stk_loader *loader = open_watched(&options, &lines);
    snprintf(path, sizeof path, "%s/12.jpg", root);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(read_samples(loader, &status, &error), COUNT);
    assert_int_equal(status, STK_END);
    assert_int_equal(lines.count, 1);
    assert_int_equal(lines.positions[0], 12);
    assert_int_equal(lines.damages[0], STK_DAMAGE_MISSING);
    stk_loader_close(&loader);
}

static void an_image_without_room_is_named(void **state)
{
    (void)state;
    ledger lines;
    stk_error error = {0};
    stk_status status;
    write_files(make_good_jpeg, 0);
    write_file(5, make_jpeg_cut_other_size, 100);
    stk_loader_options options = in_order(STK_BAD_SKIP, 2);
    options.limit_memory_bytes = 1;
    stk_loader *loader = open_watched(&options, &lines);
    assert_int_equal(read_samples(loader, &status, &error), BATCH);
    assert_int_equal(status, STK_ERROR_MEMORY);
    assert_non_null(strstr(error.place, "/05.jpg"));
    assert_true(error.hint[0] != '\0');
    assert_int_equal(lines.count, 0);
    stk_loader_close(&loader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_lower_of_two_in_a_batch_is_named),
        cmocka_unit_test(the_ledger_is_in_order),
        cmocka_unit_test(a_set_without_one_good_header_is_refused),
        cmocka_unit_test(replacing_gives_up_when_nothing_is_good),
        cmocka_unit_test(skipping_goes_on_when_nothing_is_good),
        cmocka_unit_test(a_file_may_vanish_behind_an_open_loader),
        cmocka_unit_test(an_image_without_room_is_named),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
