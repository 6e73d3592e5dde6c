/* SPDX-License-Identifier: Apache-2.0 */
/* A scan as a module would use it: settings as text, statistics, findings and a page out; interrupted in each
 * phase; and every allocation of it failing in turn. */
#include "session/stats/data_scan.h"

#include "support/sample_set.h"
#include "support/fail_alloc.h"
#include "support/workspace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

enum { COUNT = 24, SIDE = 24 };

static dataset data;
static workspace folder;

static int make_data(void **state)
{
    (void)state;
    data = dataset_pairs(COUNT, SIDE, SIDE);
    folder = workspace_make();
    return 0;
}

static int remove_data(void **state)
{
    (void)state;
    dataset_remove(&data);
    workspace_remove(&folder);
    return 0;
}

/* What the caller of a scan keeps. */
typedef struct watcher {
    const char *root;
    int workers;
    const char *stop_in; /* phase that is interrupted; NULL: none */
    stk_loader *loader;
    int opened, phases;
    const char *phase;
} watcher;

static void note_loader(void *context, stk_loader *loader)
{
    watcher *w = context;
    w->loader = loader;
    w->opened += loader != NULL;
}

static void note_progress(void *context, const char *what, uint64_t done, uint64_t total)
{
    watcher *w = context;
    assert_true(done <= total);
    w->phases += !w->phase || strcmp(w->phase, what) != 0;
    w->phase = what;
    if (w->stop_in && strcmp(w->stop_in, what) == 0) stk_loader_interrupt(w->loader);
}

static stk_status scan_all(watcher *w, stk__data_scan *scan, const char *page, stk_error *error)
{
    char text[512];
    snprintf(text, sizeof text,
             "data: {root: '%s', batch_size: 4, num_workers: %d, val_split: 0.25, sequence_length: 4}\n",
             w->root, w->workers);
    *scan = (stk__data_scan){.opened = note_loader, .progress = note_progress, .context = w};
    STK__TRY(
        stk__config_create(&scan->config, stk__session_loader_tables(), STK_SESSION_LOADER_TABLES, error));
    STK__TRY(stk__config_read_text(scan->config, text, "a test", error));
    STK__TRY(stk__data_scan_run(scan, error));
    json_t *report = stk__data_scan_json(scan);
    assert_non_null(report);
    const stk_status status = page ? stk__data_scan_write_page(scan, report, page, error) : STK_OK;
    json_decref(report);
    return status;
}

static void end_scan(stk__data_scan *scan)
{
    assert_int_equal(stk__data_scan_fini(scan), 0);
    stk__config_destroy(&scan->config);
}

static void numbers_and_page(void **state)
{
    (void)state;
    watcher w = {.root = data.root, .workers = 3};
    stk__data_scan scan;
    stk_error error = {0};
    char page[512];
    snprintf(page, sizeof page, "%s/page.html", folder.path);
    assert_int_equal(scan_all(&w, &scan, page, &error), STK_OK);
    const stk__data_stats *s = scan.stats;
    assert_int_equal(s->samples, COUNT - COUNT / 4);
    assert_int_equal(s->other_samples, COUNT / 4);
    assert_string_equal(s->other_part, "val");
    assert_int_equal(s->files[STK_FIELD_IMAGE].count, s->samples);
    assert_int_equal(s->files[STK_FIELD_MASK].count, s->samples);
    assert_string_equal(s->files[STK_FIELD_IMAGE].formats[0].name, "JPEG");
    assert_string_equal(s->files[STK_FIELD_MASK].formats[0].name, "PNG");
    assert_int_equal(s->pixels[0], s->samples * SIDE * SIDE);
    uint64_t pixels = 0;
    for (int id = 0; id < STK_DATA_IDS; id++)
        pixels += s->mask_pixels[id];
    assert_int_equal(pixels, s->samples * SIDE * SIDE);
    assert_int_equal(s->sizes.different, 1);
    assert_int_equal(w.opened, 3); /* the part, the other part, samples of the page */
    assert_int_equal(w.phases, 2);
    assert_int_equal(access(page, R_OK), 0);
    end_scan(&scan);
    assert_null(w.loader);
}

static void interrupted(void **state)
{
    (void)state;
    static const char *const phases[] = {"reading", "comparing"};
    for (size_t i = 0; i < 2; i++) {
        watcher w = {.root = data.root, .stop_in = phases[i]};
        stk__data_scan scan;
        stk_error error = {0};
        assert_int_equal(scan_all(&w, &scan, NULL, &error), STK_ERROR_INTERRUPTED);
        assert_string_equal(w.phase, phases[i]);
        end_scan(&scan);
    }
}

static void nothing_there(void **state)
{
    (void)state;
    watcher w = {.root = folder.path};
    stk__data_scan scan;
    stk_error error = {0};
    assert_int_equal(scan_all(&w, &scan, NULL, &error), STK_ERROR_DATA);
    end_scan(&scan);
    assert_int_equal(w.opened, 0);
}

static stk_status scan_once(void *context, stk_error *error)
{
    watcher w = {.root = ((const dataset *)context)->root};
    stk__data_scan scan;
    const stk_status status = scan_all(&w, &scan, "/dev/null", error);
    end_scan(&scan);
    return status;
}

static void without_memory(void **state)
{
    (void)state;
    dataset series = dataset_series(60);
    assert_true(fail_alloc_each(scan_once, &data) > 50);
    assert_true(fail_alloc_each(scan_once, &series) > 20);
    dataset_remove(&series);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_there), cmocka_unit_test(numbers_and_page),
                                       cmocka_unit_test(interrupted), cmocka_unit_test(without_memory)};
    return cmocka_run_group_tests(tests, make_data, remove_data);
}
