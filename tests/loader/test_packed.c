/* SPDX-License-Identifier: Apache-2.0 */
/* A data set and its pack give the same stream: every order, number of workers, with a cache and without, and
 * either goes on where the other was left. */
#include "core/file.h"
#include "loader/digest.h"
#include "pack/pack.h"
#include "support/sample_set.h"
#include "support/pictures.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { COUNT = 43, EPOCHS = 2, W = 40, H = 24 };

/* A data set below the test's folder, and its pack. */
typedef struct twin {
    char root[PATH_MAX], pack[PATH_MAX];
} twin;

static dataset home;

static void write_file(const char *name, const void *data, size_t size)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", home.root, name);
    *strrchr(path, '/') = '\0';
    assert_int_equal(stk__folder_make(path, NULL), STK_OK);
    snprintf(path, sizeof path, "%s/%s", home.root, name);
    const stk__buffer bytes = {(uint8_t *)data, size, size};
    assert_int_equal(stk__file_write(path, bytes, STK_FILE_QUICK, NULL), STK_OK);
}

/* Now baseline, now progressive, turned, with and without subsampling; every fifth is a PNG. */
static void put_image(const char *stem, int number)
{
    char name[256];
    stk__buffer bytes = {0};
    stk__pixels drawn = pictures_draw(W, H, 3, (uint32_t)number);
    const bool png = number % 5 == 4;
    if (png)
        pictures_png_plain(&bytes, drawn, PICTURES_FILTER_MIX);
    else
        pictures_jpeg(&bytes, drawn,
                      &(pictures_jpeg_options){.progressive = number % 2,
                                               .sampling = number % 3 == 0,
                                               .orientation = number % 9 > 4 ? 0 : number % 9,
                                               .restart_rows = number % 4 == 0});
    snprintf(name, sizeof name, "%s.%s", stem, png ? "png" : "jpg");
    write_file(name, bytes.data, bytes.size_bytes);
    stk__free(drawn.data);
    stk__buffer_fini(&bytes);
}

static void put_mask(const char *stem, int number)
{
    static const uint8_t colours[8][3] = {{9, 9, 9}, {1, 2, 3}};
    char name[256];
    stk__buffer bytes = {0};
    stk__pixels ids = pictures_draw_mask(W, H, 5, (uint32_t)number);
    uint16_t samples[W * H];
    for (int i = 0; i < W * H; i++)
        samples[i] = ids.data[i];
    pictures_png(&bytes, samples, W, H,
                 &(pictures_png_options){.colour = number % 2 ? 3 : 0,
                                         .depth = number % 3 ? 4 : 8,
                                         .palette = colours[0],
                                         .palette_count = 8,
                                         .interlaced = number % 7 == 0});
    snprintf(name, sizeof name, "%s.png", stem);
    write_file(name, bytes.data, bytes.size_bytes);
    stk__free(ids.data);
    stk__buffer_fini(&bytes);
}

static void make_pairs(void)
{
    char stem[64];
    for (int i = 0; i < COUNT; i++) {
        snprintf(stem, sizeof stem, "pairs/images/%d/a.%d%%", i % 3, i);
        put_image(stem, i);
        snprintf(stem, sizeof stem, "pairs/masks/%d/a.%d%%", i % 3, i);
        put_mask(stem, i);
    }
    write_file("pairs/classes.txt", "one\ntwo\nthree\nfour\nfive\n", 24);
}

/* Names whose order changes when dots are written otherwise: "a-1" < "a.1" < "a/1". */
static void make_classes(void)
{
    static const char *const names[] = {"a", "a-b", "a.b", "a%", "b c"};
    char stem[64];
    for (int i = 0; i < COUNT; i++) {
        snprintf(stem, sizeof stem, "classes/%s/%d%s", names[i % 5], i / 2, i % 2 ? ".x" : "-x");
        put_image(stem, i);
    }
}

static void make_list(void)
{
    char stem[64];
    char text[COUNT * 80] = "file,value,tip_x,tip_y,end_x,end_y\n";
    for (int i = 0; i < COUNT; i++) {
        char *at = text + strlen(text);
        snprintf(stem, sizeof stem, "list/%d", i);
        put_image(stem, i);
        if (i % 4)
            sprintf(at, "%d.%s,%d.1,%g,%d,0.3,1e-3\n", i, i % 5 == 4 ? "png" : "jpg", i, i / 7.0, i % H);
        else
            sprintf(at, "%d.%s,-%d,,,%d,7\n", i, i % 5 == 4 ? "png" : "jpg", i, i % W);
    }
    write_file("list/labels.csv", text, strlen(text));
}

static void make_parts(void)
{
    char stem[64];
    for (int i = 0; i < COUNT; i++) {
        snprintf(stem, sizeof stem, "parts/%s/%s/%d", i % 3 ? "train" : "val",
                 i == 9  ? "rare"
                 : i % 2 ? "x"
                         : "y",
                 i);
        put_image(stem, i);
    }
}

static twin make_twin(const char *name, int64_t shard_samples)
{
    twin made;
    stk_error error = {0};
    stk__pack_report report;
    snprintf(made.root, sizeof made.root, "%s/%s", home.root, name);
    snprintf(made.pack, sizeof made.pack, "%s/%s.pack", home.root, name);
    const stk__pack_request request = {
        .root = made.root, .folder = made.pack, .settings = {.shard_samples = shard_samples}};
    const stk_status status = stk__pack_run(&request, &report, &error);
    if (status != STK_OK) print_error("%s (%s)\n", error.message, error.place);
    assert_int_equal(status, STK_OK);
    assert_int_equal(report.left_out, 0);
    return made;
}

static twin pairs, classes, list, parts;

static int make_sets(void **state)
{
    (void)state;
    home = dataset_empty();
    make_pairs();
    make_classes();
    make_list();
    make_parts();
    pairs = make_twin("pairs", 7);
    classes = make_twin("classes", 10);
    list = make_twin("list", 0);
    parts = make_twin("parts", 5);
    return 0;
}

static int remove_sets(void **state)
{
    (void)state;
    dataset_remove(&home);
    return 0;
}

static stk_loader *open_loader(const char *root, const stk_loader_options *base)
{
    stk_loader *loader;
    stk_error error = {0};
    stk_loader_options options = *base;
    options.root = root;
    options.epochs = EPOCHS;
    options.mask_frame = STK_MASK_FRAME_UPRIGHT; /* sizes do not tell */
    const stk_status status = stk_loader_open(&loader, &options, &error);
    if (status != STK_OK) print_error("%s (%s)\n", error.message, error.place);
    assert_int_equal(status, STK_OK);
    return loader;
}

static stk__digest load(const char *root, const stk_loader_options *options)
{
    stk__hash *hash;
    stk__digest digest = {0};
    stk_loader *loader = open_loader(root, options);
    assert_int_equal(stk__hash_create(&hash, NULL), STK_OK);
    for (int epoch = 0; epoch < EPOCHS;) {
        stk_batch *batch;
        stk_error error = {0};
        const stk_status status = stk_loader_next(loader, &batch, &error);
        if (status != STK_OK && status != STK_END) print_error("%s (%s)\n", error.message, error.place);
        assert_true(status == STK_OK || status == STK_END);
        epoch += status == STK_END;
        if (status == STK_END) continue;
        digest = stk__digest_chain(hash, digest, batch);
        stk_batch_release(batch);
    }
    stk__hash_destroy(&hash);
    stk_loader_close(&loader);
    return digest;
}

static void check_equal(stk__digest a, stk__digest b)
{
    assert_true(a.high == b.high && a.low == b.low);
}

static const char *const orders[] = {"full", "blocks(6)", "sequential"};
static const int64_t workers[] = {STK_WORKERS_NONE, 1, 2, 3};

static void check_streams(const twin *set, int part)
{
    for (int order = 0; order < 3; order++) {
        stk_loader_options options = {
            .order = orders[order], .batch_size = 5, .seed = 3, .part = part, .num_workers = 2};
        const stk__digest expected = load(set->root, &options);
        for (int i = 0; i < 4; i++)
            for (int cached = 0; cached < 2; cached++) {
                options.num_workers = workers[i];
                options.cache = cached ? "64M" : NULL;
                check_equal(load(set->pack, &options), expected);
                check_equal(load(set->root, &options), expected);
            }
    }
}

static void the_same_stream(void **state)
{
    (void)state;
    check_streams(&pairs, STK_PART_TRAIN);
    check_streams(&classes, STK_PART_TRAIN);
    check_streams(&list, STK_PART_TRAIN);
    check_streams(&parts, STK_PART_TRAIN);
    check_streams(&parts, STK_PART_VAL);
}

static void the_same_description(void **state)
{
    (void)state;
    const twin *const sets[] = {&pairs, &classes, &list, &parts};
    const stk_loader_options options = {0};
    for (int i = 0; i < 4; i++) {
        stk_loader *a = open_loader(sets[i]->root, &options), *b = open_loader(sets[i]->pack, &options);
        const stk_loader_info *x = stk_loader_describe(a), *y = stk_loader_describe(b);
        assert_string_equal(x->fingerprint, y->fingerprint);
        assert_int_equal(x->sample_count, y->sample_count);
        assert_int_equal(x->masks, y->masks);
        assert_int_equal(x->classes, y->classes);
        assert_int_equal(x->values, y->values);
        assert_int_equal(x->point_count, y->point_count);
        assert_int_equal(x->class_count, y->class_count);
        for (int32_t c = 0; c < x->class_count && x->class_names; c++)
            assert_string_equal(x->class_names[c], y->class_names[c]);
        stk_loader_close(&a);
        stk_loader_close(&b);
    }
}

/* The other one takes over after every few batches. */
static void check_changes(const twin *set, const char *order)
{
    stk__hash *hash;
    stk__digest digest = {0};
    stk_loader_state at = {0};
    stk_loader_options options = {.order = order, .batch_size = 4, .seed = 9};
    const stk__digest expected = load(set->root, &options);
    assert_int_equal(stk__hash_create(&hash, NULL), STK_OK);
    for (int turn = 0; at.epoch < EPOCHS; turn++) {
        options.num_workers = workers[turn % 4];
        stk_loader *loader = open_loader(turn % 2 ? set->pack : set->root, &options);
        if (turn) assert_int_equal(stk_loader_seek(loader, &at, NULL), STK_OK);
        for (int left = 3; left > 0 && at.epoch < EPOCHS; left--) {
            stk_batch *batch;
            const stk_status status = stk_loader_next(loader, &batch, NULL);
            assert_true(status == STK_OK || status == STK_END);
            if (status == STK_OK) digest = stk__digest_chain(hash, digest, batch);
            if (status == STK_OK) stk_batch_release(batch);
            stk_loader_tell(loader, &at);
        }
        stk_loader_close(&loader);
    }
    stk__hash_destroy(&hash);
    check_equal(digest, expected);
}

static void either_goes_on(void **state)
{
    (void)state;
    for (int order = 0; order < 3; order++) {
        check_changes(&pairs, orders[order]);
        check_changes(&classes, orders[order]);
        check_changes(&list, orders[order]);
    }
}

static void compare_files(const char *a, const char *b, const char *name)
{
    char path[2][PATH_MAX + 64];
    stk__buffer bytes[2] = {{0}, {0}};
    snprintf(path[0], sizeof path[0], "%s/%s", a, name);
    snprintf(path[1], sizeof path[1], "%s/%s", b, name);
    for (int i = 0; i < 2; i++)
        assert_int_equal(stk__file_read(path[i], 0, &bytes[i], NULL), STK_OK);
    assert_int_equal(bytes[0].size_bytes, bytes[1].size_bytes);
    assert_memory_equal(bytes[0].data, bytes[1].data, bytes[0].size_bytes);
    stk__buffer_fini(&bytes[0]);
    stk__buffer_fini(&bytes[1]);
}

/* Shards are a data set too; nothing in them is left to be written anew. */
static void a_pack_of_a_pack(void **state)
{
    (void)state;
    const twin again = make_twin("pairs.pack", 7);
    char name[64];
    for (int i = 0; i < (COUNT + 6) / 7; i++) {
        snprintf(name, sizeof name, "shard-%06d.tar", i);
        compare_files(again.root, again.pack, name);
        snprintf(name, sizeof name, "shard-%06d.tar.index", i);
        compare_files(again.root, again.pack, name);
    }
    compare_files(again.root, again.pack, "classes.txt");
    const twin other = make_twin("classes.pack", 4); /* in other pieces */
    const stk_loader_options options = {.order = "full", .batch_size = 5};
    check_equal(load(other.pack, &options), load(classes.root, &options));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_stream),
        cmocka_unit_test(the_same_description),
        cmocka_unit_test(either_goes_on),
        cmocka_unit_test(a_pack_of_a_pack),
    };
    return cmocka_run_group_tests(tests, make_sets, remove_sets);
}
