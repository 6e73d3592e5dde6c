/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are odd but usable: decoded by their content, counted once each, and the first of the stream
 * named, whatever the number of workers, the cache or the epochs; in shards as in a folder. */
#include "loader/damage_bytes.h"
#include "loader/digest.h"
#include "loader/file_notes.h"
#include "pack/pack.h"
#include "support/sample_set.h"
#include "support/pictures.h"

#include "core/file.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

enum { COUNT = 12, W = 40, H = 24 };

static dataset set;
static char path[PATH_MAX], text[STK_FILE_NOTE_BYTES];

static const char *at(const char *name)
{
    snprintf(path, sizeof path, "%s/%s", set.root, name);
    return path;
}

static void put(const char *name, stk__buffer *bytes)
{
    assert_int_equal(stk__file_write(at(name), *bytes, STK_FILE_QUICK, NULL), STK_OK);
    stk__buffer_fini(bytes);
}

static void move(const char *from, const char *to)
{
    char before[PATH_MAX];
    snprintf(before, sizeof before, "%s/%s", set.root, from);
    assert_int_equal(rename(before, at(to)), 0);
}

/* Bytes too many in front of the last marker. */
static void lengthen(const char *name)
{
    stk__buffer bytes = {0};
    assert_int_equal(stk__file_read(at(name), 0, &bytes, NULL), STK_OK);
    bytes.size_bytes -= 2;
    assert_int_equal(stk__buffer_append(&bytes, "twenty bytes too many\xFF\xD9", 23, NULL), STK_OK);
    put(name, &bytes);
}

static void put_npy(const char *name)
{
    stk__buffer bytes = {0};
    stk__pixels ids = pictures_draw_mask(W, H, 5, 3);
    pictures_npy(&bytes, 1, "{'descr': '|u1', 'fortran_order': False, 'shape': (24, 40), }\n", ids.data,
                 W * H);
    stk__free(ids.data);
    put(name, &bytes);
}

/* Samples 3 and 7 are JPEGs called .png, 5's mask is an array called .png, 7 and 8 have bytes too many. */
static int make_set(void **state)
{
    (void)state;
    set = dataset_pairs(COUNT, W, H);
    move("images/0003.jpg", "images/0003.png");
    lengthen("images/0007.jpg");
    lengthen("images/0008.jpg");
    move("images/0007.jpg", "images/0007.png");
    put_npy("masks/0005.png");
    return 0;
}

static int remove_set(void **state)
{
    (void)state;
    dataset_remove(&set);
    return 0;
}

static stk_loader *open_loader(const stk_loader_options *options)
{
    stk_loader *loader;
    stk_error error = {0};
    if (stk_loader_open(&loader, options, &error) != STK_OK) fail_msg("%s (%s)", error.message, error.place);
    return loader;
}

static void check_line(stk_loader *loader, stk__file_note_kind kind, const char *before, const char *file)
{
    char wanted[sizeof text];
    snprintf(wanted, sizeof wanted, "%s, '%s' first", before, at(file));
    assert_true(stk__loader_file_note(loader, kind, text, sizeof text));
    assert_string_equal(text, wanted);
}

static void counts_depend_on_the_stream_alone(void **state)
{
    (void)state;
    static const int64_t workers[] = {STK_WORKERS_NONE, 1, 2, 5};
    static const char *const caches[] = {NULL, "64M", "20K"}; /* all of it, and a part */
    for (int i = 0; i < 4 * 3; i++)
        for (uint64_t epochs = 1; epochs <= 3; epochs += 2) {
            stk_loader *loader = open_loader(&(stk_loader_options){.root = set.root,
                                                                   .batch_size = 5,
                                                                   .num_workers = workers[i % 4],
                                                                   .cache = caches[i / 4],
                                                                   .shuffle = STK_SWITCH_OFF,
                                                                   .epochs = epochs});
            stk_loader_stats stats;
            stk_loader_get_stats(loader, &stats);
            assert_int_equal(stats.misnamed_files + stats.warning_files, 0);
            assert_false(stk__loader_file_note(loader, STK_FILE_MISNAMED, text, sizeof text));
            uint64_t samples;
            for (uint64_t epoch = 0; epoch < epochs; epoch++)
                dataset_digest(loader, &samples);
            stk_loader_get_stats(loader, &stats);
            assert_int_equal(stats.bad_samples, 0);
            assert_int_equal(stats.misnamed_files, 3);
            assert_int_equal(stats.warning_files, 2);
            check_line(loader, STK_FILE_MISNAMED, "3 files misnamed: JPEG content as .png",
                       "images/0003.png");
            check_line(loader, STK_FILE_WARNING,
                       "2 files with decoder warnings: extraneous bytes before a marker", "images/0007.png");
            stk_loader_close(&loader);
        }
}

static void only_what_was_delivered_counts(void **state)
{
    (void)state;
    stk_loader *loader = open_loader(
        &(stk_loader_options){.root = set.root, .batch_size = 2, .shuffle = STK_SWITCH_OFF, .epochs = 1});
    stk_loader_stats stats;
    stk_batch *batch;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(stk_loader_next(loader, &batch, NULL), STK_OK);
        stk_batch_release(batch);
        stk_loader_get_stats(loader, &stats);
        assert_int_equal(stats.misnamed_files, i < 1 ? 0 : i); /* 2, 3: one; 4, 5: the mask */
    }
    assert_int_equal(stats.warning_files, 0);
    assert_false(stk__loader_file_note(NULL, STK_FILE_WARNING, text, sizeof text));
    assert_string_equal(text, "");
    stk_loader_close(&loader);
}

static stk__digest digest_of(const char *root)
{
    stk_loader *loader = open_loader(
        &(stk_loader_options){.root = root, .batch_size = 5, .num_workers = 2, .seed = 7, .epochs = 1});
    const stk__digest digest = dataset_digest(loader, NULL);
    stk_loader_close(&loader);
    return digest;
}

/* Names and bytes too many change nothing. */
static void the_stream_is_that_of_good_names(void **state)
{
    (void)state;
    dataset other = set;
    const stk__digest odd = digest_of(set.root);
    set = dataset_pairs(COUNT, W, H);
    put_npy("masks/0005.npy");
    assert_int_equal(unlink(at("masks/0005.png")), 0);
    const stk__digest good = digest_of(set.root);
    assert_memory_equal(&odd, &good, sizeof odd);
    dataset_remove(&set);
    set = other;
}

static void a_pack_gives_the_same_stream(void **state)
{
    (void)state;
    char out[PATH_MAX];
    stk_error error = {0};
    stk__pack_report report = {0};
    snprintf(out, sizeof out, "%s.pack", set.root);
    const stk__pack_request request = {.root = set.root, .folder = out};
    if (stk__pack_run(&request, &report, &error) != STK_OK) fail_msg("%s (%s)", error.message, error.place);
    assert_int_equal(report.packed, COUNT);
    assert_int_equal(report.kept, 0);
    const stk__digest folder = digest_of(set.root), packed = digest_of(out);
    assert_memory_equal(&folder, &packed, sizeof folder);
    char command[PATH_MAX + 16];
    snprintf(command, sizeof command, "rm -r '%s'", out);
    assert_int_equal(system(command), 0);
}

/* Blurred ids are never class ids, whatever the name. */
static void a_jpeg_is_no_mask(void **state)
{
    (void)state;
    stk__buffer bytes = {0};
    stk__pixels drawn = pictures_draw(W, H, 1, 1);
    pictures_jpeg(&bytes, drawn, &(pictures_jpeg_options){.space = PICTURES_GREY});
    stk__free(drawn.data);
    put("masks/0001.png", &bytes);
    stk_loader *loader =
        open_loader(&(stk_loader_options){.root = set.root, .batch_size = COUNT, .epochs = 1});
    stk_batch *batch;
    stk_error error = {0};
    assert_int_equal(stk_loader_next(loader, &batch, &error), STK_ERROR_SAMPLE);
    assert_int_equal(error.damage, STK_DAMAGE_MASK_FORMAT);
    assert_string_equal(error.message, "a JPEG file cannot store class ids: its compression blurs them");
    stk_loader_close(&loader);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_set, remove_set)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(counts_depend_on_the_stream_alone),
        TEST(only_what_was_delivered_counts),
        TEST(the_stream_is_that_of_good_names),
        TEST(a_pack_gives_the_same_stream),
        TEST(a_jpeg_is_no_mask),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
