/* SPDX-License-Identifier: Apache-2.0 */
/* Left and right in mirrored samples: ids of masks, points and labels change sides just as a mirror made by
 * hand says; the same bytes from folders and packs, with a cache and without, for every number of workers and
 * device. */
#include "core/file.h"
#include "device/device.h"
#include "pack/pack.h"
#include "support/sample_set.h"
#include "support/pictures.h"

#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { COUNT = 18, W = 24, H = 20, POINTS = 3, EPOCHS = 3 };

static dataset home;

typedef struct twin {
    char root[PATH_MAX], pack[PATH_MAX];
} twin;

static twin masks, list, classes;

/* Pairs 1:2 and 3:4 of the masks; 0:2 of the labels, left and right; 0:1 of the points. */
static const uint8_t sides[256] = {0, 2, 1, 4, 3};
static const int64_t label_sides[] = {2, 1, 0};
static const int point_sides[POINTS] = {1, 0, 2};

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

static void put_pixels(const char *name, stk__pixels pixels)
{
    stk__buffer bytes = {0};
    pictures_png_plain(&bytes, pixels, PICTURES_FILTER_MIX);
    write_file(name, bytes.data, bytes.size_bytes);
    stk__free(pixels.data);
    stk__buffer_fini(&bytes);
}

static twin pack_up(const char *name)
{
    twin made;
    stk__pack_report report;
    snprintf(made.root, sizeof made.root, "%s/%s", home.root, name);
    snprintf(made.pack, sizeof made.pack, "%s/%s.pack", home.root, name);
    const stk__pack_request request = {
        .root = made.root, .folder = made.pack, .settings = {.shard_samples = 7}};
    assert_int_equal(stk__pack_run(&request, &report, NULL), STK_OK);
    assert_int_equal(report.left_out, 0);
    return made;
}

static void make_list(void)
{
    static const char *const labels[] = {"left", "none", "right"};
    char name[64];
    char text[COUNT * 96] = "file,label,left_eye_x,left_eye_y,right_eye_x,right_eye_y,nose_x,nose_y\n";
    for (int i = 0; i < COUNT; i++) {
        snprintf(name, sizeof name, "list/%02d.png", i);
        put_pixels(name, pictures_draw(W, H, 3, (uint32_t)i));
        char *at = text + strlen(text);
        if (i % 5 == 1) /* a left eye that is not to be seen */
            sprintf(at, "%02d.png,%s,,,%d,%d,12,9.5\n", i, labels[i % 3], 3 + i % 9, 2 + i % 7);
        else
            sprintf(at, "%02d.png,%s,%d,%d.25,%d,%d,12,9.5\n", i, labels[i % 3], 2 + i % 8, 1 + i % 6,
                    13 + i % 9, 2 + i % 7);
    }
    write_file("list/labels.csv", text, strlen(text));
}

static int make_sets(void **state)
{
    (void)state;
    static const char names[] = "skin\nl_eye\nr_eye\nleft_ear\nright_ear\n";
    static const char *const folders[] = {"left", "none", "right"};
    char name[64];
    home = dataset_empty();
    for (int i = 0; i < COUNT; i++) {
        snprintf(name, sizeof name, "masks/images/%02d.png", i);
        put_pixels(name, pictures_draw(W, H, 3, (uint32_t)i));
        snprintf(name, sizeof name, "masks/masks/%02d.png", i);
        put_pixels(name, pictures_draw_mask(W, H, 5, (uint32_t)i));
        snprintf(name, sizeof name, "classes/%s/%02d.png", folders[i % 3], i);
        put_pixels(name, pictures_draw(W, H, 1, (uint32_t)i));
    }
    write_file("masks/classes.txt", names, sizeof names - 1);
    make_list();
    masks = pack_up("masks");
    list = pack_up("list");
    classes = pack_up("classes");
    return 0;
}

static int remove_sets(void **state)
{
    (void)state;
    dataset_remove(&home);
    return 0;
}

static stk_loader *open_loader(stk_loader_options options)
{
    stk_loader *loader;
    stk_error error = {0};
    const stk_status status = stk_loader_open(&loader, &options, &error);
    if (status != STK_OK) print_error("%s (%s)\n", error.message, error.place);
    assert_int_equal(status, STK_OK);
    return loader;
}

/* The samples of an epoch, by their id. */
typedef struct seen {
    float image[COUNT][8]; /* the first of them */
    uint8_t mask[COUNT][H][W];
    int64_t label[COUNT];
    float points[COUNT][POINTS][3];
} seen;

static void collect(seen *out, stk_loader_options options)
{
    options.batch_size = 5;
    options.seed = 4;
    if (!options.augment) options.dtype = STK_STORE_F32;
    memset(out, 0, sizeof *out);
    stk_loader *loader = open_loader(options);
    stk_batch *batch;
    int64_t count = 0;
    for (; stk_loader_next(loader, &batch, NULL) == STK_OK; stk_batch_release(batch))
        for (int64_t i = 0; i < batch->count; i++, count++) {
            const int64_t id = ((const int64_t *)batch->sample_ids.data)[i];
            const int64_t values = batch->images.shape[1] * batch->images.shape[2] * batch->images.shape[3];
            memcpy(out->image[id], (const float *)batch->images.data + i * values, sizeof out->image[id]);
            if (batch->masks.data)
                memcpy(out->mask[id], (const uint8_t *)batch->masks.data + i * W * H, W * H);
            if (batch->labels.data) out->label[id] = ((const int64_t *)batch->labels.data)[i];
            if (batch->points.data)
                memcpy(out->points[id], (const float *)batch->points.data + i * POINTS * 3,
                       sizeof out->points[id]);
        }
    stk_loader_close(&loader);
    assert_int_equal(count, COUNT);
}

/* Ids and labels with their sides changed, where they were mirrored. */
static void expect_swapped(const seen *plain, const seen *got)
{
    for (int id = 0; id < COUNT; id++)
        for (int i = 0; i < W * H; i++) {
            const uint8_t was = plain->mask[id][i / W][i % W];
            assert_int_equal(got->mask[id][i / W][i % W], was < 5 ? sides[was] : was);
        }
}

static void masks_are_as_a_mirror_made_by_hand(void **state)
{
    (void)state;
    static seen plain, flipped;
    collect(&plain, (stk_loader_options){.root = masks.root});
    collect(&flipped, (stk_loader_options){.root = masks.root, .augment = "horizontal_flip_prob: 1"});
    for (int id = 0; id < COUNT; id++)
        for (int y = 0; y < H; y++)
            for (int x = 0; x < W; x++)
                assert_int_equal(flipped.mask[id][y][x], sides[plain.mask[id][y][W - 1 - x]]);
    collect(&flipped, (stk_loader_options){
                          .root = masks.root, .augment = "horizontal_flip_prob: 1", .flip_pairs = "none"});
    for (int id = 0; id < COUNT; id++)
        for (int y = 0; y < H; y++)
            for (int x = 0; x < W; x++)
                assert_int_equal(flipped.mask[id][y][x], plain.mask[id][y][W - 1 - x]);
}

/* Whatever else the matrix does: mirrored is mirrored; two flips are a rotation. */
static void every_mirror_changes_sides(void **state)
{
    (void)state;
    static const struct {
        const char *augment;
        bool mirrors;
    } rows[] = {
        {"horizontal_flip_prob: 1, rotation_degrees: 40", true},
        {"vertical_flip_prob: 1", true},
        {"vertical_flip_prob: 1, shear: 20, scale: 0.3, crop: 0.5", true},
        {"horizontal_flip_prob: 1, vertical_flip_prob: 1", false},
        {"rotation_degrees: 180", false},
    };
    static seen with, without;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        stk_loader_options options = {.root = masks.root, .augment = rows[i].augment};
        collect(&with, options);
        options.flip_pairs = "none";
        collect(&without, options);
        assert_memory_equal(with.image, without.image, sizeof with.image);
        if (rows[i].mirrors)
            expect_swapped(&without, &with);
        else
            assert_memory_equal(with.mask, without.mask, sizeof with.mask);
    }
}

/* Ids are mapped first, then change sides; a list says which. */
static void maps_and_lists(void **state)
{
    (void)state;
    static const uint8_t map[5] = {4, 0, 1, 2, 3}, other[5] = {1, 0, 2, 3, 4};
    static seen plain, flipped;
    collect(&plain, (stk_loader_options){.root = masks.root});
    stk_loader_options options = {
        .root = masks.root, .augment = "horizontal_flip_prob: 1", .mask_map = "0:4,1:0,2:1,3:2,4:3"};
    collect(&flipped, options);
    for (int id = 0; id < COUNT; id++)
        for (int i = 0; i < W * H; i++)
            assert_int_equal(flipped.mask[id][i / W][i % W],
                             sides[map[plain.mask[id][i / W][W - 1 - i % W]]]);
    static const char *const lists[] = {"0:1", "l_eye:skin", " 1 : 0 "};
    options.mask_map = NULL;
    for (int i = 0; i < 3; i++) {
        options.flip_pairs = lists[i];
        collect(&flipped, options);
        for (int id = 0; id < COUNT; id++)
            for (int k = 0; k < W * H; k++)
                assert_int_equal(flipped.mask[id][k / W][k % W], other[plain.mask[id][k / W][W - 1 - k % W]]);
    }
}

static void points_and_labels(void **state)
{
    (void)state;
    static seen plain, flipped, kept;
    collect(&plain, (stk_loader_options){.root = list.root});
    stk_loader_options options = {.root = list.root, .augment = "horizontal_flip_prob: 1"};
    collect(&flipped, options);
    options.flip_pairs = "none";
    collect(&kept, options);
    for (int id = 0; id < COUNT; id++) {
        assert_int_equal(flipped.label[id], label_sides[plain.label[id]]);
        assert_int_equal(kept.label[id], plain.label[id]);
        for (int p = 0; p < POINTS; p++) {
            const float *was = plain.points[id][point_sides[p]], *is = flipped.points[id][p];
            assert_true(is[2] == was[2]);
            if (was[2] > 0) assert_true(fabs((double)(is[0] - (W - was[0]))) < 1e-3 && is[1] == was[1]);
            assert_memory_equal(is, kept.points[id][point_sides[p]], 3 * sizeof *is);
        }
    }
    collect(&plain, (stk_loader_options){.root = classes.root});
    collect(&flipped, (stk_loader_options){.root = classes.root, .augment = "horizontal_flip_prob: 1"});
    for (int id = 0; id < COUNT; id++)
        assert_int_equal(flipped.label[id], label_sides[plain.label[id]]);
}

/* Half of the samples: label and points of the same ones. */
static void only_mirrored_samples(void **state)
{
    (void)state;
    static seen plain, flipped;
    int mirrored = 0;
    collect(&plain, (stk_loader_options){.root = list.root});
    collect(&flipped, (stk_loader_options){.root = list.root, .augment = "minimal"});
    for (int id = 0; id < COUNT; id++) {
        const bool moved = flipped.points[id][2][0] != plain.points[id][2][0] ||
                           memcmp(flipped.image[id], plain.image[id], sizeof plain.image[id]) != 0;
        mirrored += moved;
        assert_int_equal(flipped.label[id], moved ? label_sides[plain.label[id]] : plain.label[id]);
        assert_true(flipped.points[id][0][2] == plain.points[id][moved ? 1 : 0][2]);
    }
    assert_in_range(mirrored, 1, COUNT - 1);
}

static bool device_is_there(const char *name)
{
    stk__device *device;
    stk_error error;
    const bool there = stk__device_open(&device, name, &error) == STK_OK;
    if (!there) print_message("without %s: %s\n", name, error.message);
    stk__device_close(&device);
    return there;
}

static stk__digest digest_of(stk_loader_options options)
{
    options.batch_size = 5;
    options.seed = 4;
    options.epochs = EPOCHS;
    stk_loader *loader = open_loader(options);
    const stk__digest digest = dataset_digest(loader, NULL);
    stk_loader_close(&loader);
    return digest;
}

static void check_streams(const twin *set, const char *augment)
{
    static const int64_t workers[] = {STK_WORKERS_NONE, 1, 4};
    char device[256];
    stk_loader_options options = {.root = set->root, .augment = augment, .num_workers = 2};
    const stk__digest expected = digest_of(options);
    snprintf(device, sizeof device, "%s, device: opencl:0", augment);
    const int devices = device_is_there("opencl:0") ? 2 : 1;
    for (int i = 0; i < 3 * 2 * 2 * devices; i++) {
        options.num_workers = workers[i % 3];
        options.cache = i / 3 % 2 ? "64M" : NULL;
        options.root = i / 6 % 2 ? set->pack : set->root;
        options.augment = i / 12 ? device : augment;
        const stk__digest digest = digest_of(options);
        if (memcmp(&digest, &expected, sizeof digest) != 0)
            print_error("%s, %s, cache %s, %lld workers\n", options.root, options.augment,
                        options.cache ? options.cache : "none", (long long)options.num_workers);
        assert_memory_equal(&digest, &expected, sizeof digest);
    }
    options.flip_pairs = "none";
    const stk__digest other = digest_of(options);
    assert_memory_not_equal(&other, &expected, sizeof other);
}

static void the_same_bytes_everywhere(void **state)
{
    (void)state;
    static const char *const augments[] = {"preset: strong", "horizontal_flip_prob: 0.5, crop: 0.6",
                                           "preset: minimal, mixup_alpha: 0.4, cutmix_alpha: 1"};
    for (size_t i = 0; i < sizeof augments / sizeof augments[0]; i++) {
        check_streams(&masks, augments[i]);
        check_streams(&classes, augments[i]);
        if (i < 2) check_streams(&list, augments[i]);
    }
}

static const stk_loader_effect *find_effect(const stk_loader *loader)
{
    int count;
    const stk_loader_effect *effects = stk_loader_effects(loader, &count);
    for (int i = 0; i < count; i++)
        if (strcmp(effects[i].name, "data.flip_pairs") == 0) return &effects[i];
    return NULL;
}

static void the_pairs_are_shown(void **state)
{
    (void)state;
    const struct {
        const char *root, *augment, *asked, *in_effect, *why; /* in_effect NULL: no row */
    } rows[] = {
        {masks.root, "minimal", NULL, "1:2,3:4", "auto: class names, such as l_eye and r_eye"},
        {masks.pack, "minimal", "auto", "1:2,3:4", "auto: class names, such as l_eye and r_eye"},
        {"make:faces?count=4", "strong", NULL, "2:3,4:5,7:8",
         "auto: class names, such as left_brow and right_brow"},
        {list.root, "minimal", NULL, "0:2; points 0:1", "auto: class names, such as left and right"},
        {list.pack, "minimal", NULL, "0:2; points 0:1", "auto: class names, such as left and right"},
        {masks.root, "minimal", "l_eye:r_eye", "1:2", "numbers of the classes and points listed"},
        {masks.root, "minimal", "1:2", NULL, NULL},
        {masks.root, "minimal", "none", NULL, NULL},
        {masks.root, NULL, NULL, NULL, NULL},
        {masks.root, "rotation_degrees: 10", NULL, NULL, NULL},
        {masks.root, "rotation_degrees: 10", "1:2", "", "not used here: no image is mirrored"},
        {masks.root, NULL, "auto", "", "not used here: no image is mirrored"},
        {"make:captcha?count=4", "minimal", NULL, NULL, NULL},
        {"make:captcha?count=4", "minimal", "auto", "none", "auto: no names of two sides"},
        {"make:captcha?count=4", "minimal", "gap:slider", "points 0:1",
         "numbers of the classes and points listed"},
        {"make:series?count=400", NULL, "auto", "", "not used here: there are no images"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        stk_loader *loader = open_loader((stk_loader_options){
            .root = rows[i].root, .augment = rows[i].augment, .flip_pairs = rows[i].asked, .batch_size = 2});
        const stk_loader_effect *effect = find_effect(loader);
        assert_int_equal(effect != NULL, rows[i].in_effect != NULL);
        if (effect) assert_string_equal(effect->in_effect, rows[i].in_effect);
        if (effect) assert_string_equal(effect->why, rows[i].why);
        stk_loader_close(&loader);
    }
}

static void what_cannot_be_a_pair_is_refused(void **state)
{
    (void)state;
    const struct {
        const char *asked, *words;
    } rows[] = {
        {"1", "'1': not two names or numbers"},
        {"l_eye:r_eyes", "no class or point is called 'r_eyes'"},
        {"l_eyes:r_eye", "no class or point is called 'l_eyes'"},
        {"1:5", "there are 5 classes, numbered from 0"},
        {"1:2,2:3", "'2:3': a class has one other side"},
        {"3:3", "a class has one other side"},
        {"1:2,", NULL},
        {"1:2,,3:4", "'': not two names"},
        {"-1:2", "no class or point is called '-1'"},
        {"1:right_ears", "no class or point is called 'right_ears'"},
        {"1:right_ear", NULL},
        {":", "no class or point is called ''"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        stk_loader *loader;
        stk_error error = {0};
        const stk_loader_options options = {
            .root = masks.root, .augment = "minimal", .flip_pairs = rows[i].asked};
        const stk_status status = stk_loader_open(&loader, &options, &error);
        assert_int_equal(status, rows[i].words ? STK_ERROR_CONFIG : STK_OK);
        if (rows[i].words && !strstr(error.message, rows[i].words)) print_error("%s\n", error.message);
        if (rows[i].words) assert_non_null(strstr(error.message, rows[i].words));
        stk_loader_close(&loader);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(masks_are_as_a_mirror_made_by_hand),
        cmocka_unit_test(every_mirror_changes_sides),
        cmocka_unit_test(maps_and_lists),
        cmocka_unit_test(points_and_labels),
        cmocka_unit_test(only_mirrored_samples),
        cmocka_unit_test(the_same_bytes_everywhere),
        cmocka_unit_test(the_pairs_are_shown),
        cmocka_unit_test(what_cannot_be_a_pair_is_refused),
    };
    return cmocka_run_group_tests(tests, make_sets, remove_sets);
}
