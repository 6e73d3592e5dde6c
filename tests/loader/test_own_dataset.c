/* SPDX-License-Identifier: Apache-2.0 */
/* Data sets of the program's own functions (stoker/dataset.h) give the batches that the same samples give as
 * files: by bytes and by pixels, with masks, labels, points and windows, in every way of loading. */
#include "core/file.h"
#include "decode/decode.h"
#include "support/sample_set.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { COUNT = 23, W = 24, H = 18, ROWS = 40, WINDOW = 8 };

static dataset pairs, series;
static stk__buffer files[2][COUNT]; /* by stk_field */
static stk__pixels pixels[2][COUNT];

/* The functions know samples by an index that is not the rank of their keys. */
static int number_of(uint64_t index)
{
    return (int)(index * 7 % COUNT);
}

static void number_key(void *context, uint64_t index, char *text, size_t size)
{
    (void)context;
    snprintf(text, size, "%04d", number_of(index));
}

static stk_status give_bytes(void *context, uint64_t index, stk_field field, stk_sample_sink *sink,
                             stk_error *error)
{
    (void)context;
    (void)error;
    const stk__buffer *file = &files[field][number_of(index)];
    void *room = stk_sample_sink_bytes(sink, file->size_bytes);
    if (room) memcpy(room, file->data, file->size_bytes);
    return STK_OK;
}

/* As those read who do not know the size: in pieces, with more room than is needed at first. */
static stk_status give_pieces(void *context, uint64_t index, stk_field field, stk_sample_sink *sink,
                              stk_error *error)
{
    (void)context;
    (void)error;
    const stk__buffer *file = &files[field][number_of(index)];
    size_t done = 0;
    while (done < file->size_bytes) {
        const size_t left = file->size_bytes - done, piece = left < 100 ? left : 100;
        uint8_t *room = stk_sample_sink_bytes(sink, done + 100);
        if (!room) return STK_OK;
        memcpy(room + done, file->data + done, piece);
        done += piece;
    }
    return stk_sample_sink_bytes(sink, done) ? STK_OK : STK_ERROR_MEMORY;
}

static stk_status give_pixels(void *context, uint64_t index, stk_field field, stk_sample_sink *sink,
                              stk_error *error)
{
    (void)context;
    (void)error;
    const stk__pixels *from = &pixels[field][number_of(index)];
    void *room = stk_sample_sink_pixels(sink, from->h, from->w, from->channels);
    if (room) memcpy(room, from->data, (size_t)from->h * from->pitch_bytes);
    return STK_OK;
}

static void decode(stk__decoder *decoder, stk_field field, int number)
{
    const stk__buffer *file = &files[field][number];
    const stk__encoded bytes = {file->data, file->size_bytes};
    stk__picture picture;
    assert_int_equal(stk__decode_header(decoder, bytes, NULL, &picture, NULL), STK_OK);
    const int32_t channels = field == STK_FIELD_MASK ? 1 : picture.channels;
    stk__pixels *to = &pixels[field][number];
    *to = stk__pixels_dense(stk__alloc((size_t)(W * H * channels)), W, H, channels);
    assert_non_null(to->data);
    const stk__mask_options masks = {.orientation = 1, .ignore = 255};
    assert_int_equal(field == STK_FIELD_MASK ? stk__decode_mask(decoder, bytes, &picture, &masks, *to, NULL)
                                             : stk__decode_image(decoder, bytes, &picture, *to, NULL),
                     STK_OK);
}

static int make_sets(void **state)
{
    (void)state;
    static const char *const names[] = {"images/%04d.jpg", "masks/%04d.png"};
    stk__decoder *decoder;
    pairs = dataset_pairs(COUNT, W, H);
    series = dataset_series(ROWS);
    assert_int_equal(stk__decoder_create(&decoder, NULL, NULL), STK_OK);
    for (int field = 0; field < 2; field++)
        for (int i = 0; i < COUNT; i++) {
            char path[512];
            int length = snprintf(path, sizeof path, "%s/", pairs.root);
            snprintf(path + length, sizeof path - (size_t)length, names[field], i);
            assert_int_equal(stk__file_read(path, 1 << 20, &files[field][i], NULL), STK_OK);
            decode(decoder, (stk_field)field, i);
        }
    stk__decoder_destroy(&decoder);
    return 0;
}

static int remove_sets(void **state)
{
    (void)state;
    for (int field = 0; field < 2; field++)
        for (int i = 0; i < COUNT; i++) {
            stk__buffer_fini(&files[field][i]);
            stk__free(pixels[field][i].data);
        }
    dataset_remove(&pairs);
    dataset_remove(&series);
    return 0;
}

static stk_dataset own_set(void)
{
    stk_dataset set = STK_DATASET_INIT;
    set.count = COUNT;
    set.masks = true;
    set.key = number_key;
    set.read = give_bytes;
    return set;
}

static stk_loader *open_loader(stk_loader_options options)
{
    stk_loader *loader;
    stk_error error = {0};
    options.struct_size = sizeof options;
    if (!options.epochs) options.epochs = 2;
    if (!options.batch_size) options.batch_size = 4;
    if (stk_loader_open(&loader, &options, &error) != STK_OK) fail_msg("%s (%s)", error.message, error.hint);
    return loader;
}

/* Two epochs, and the fingerprint in between. */
static stk__digest digest_of(stk_loader_options options)
{
    stk_loader *loader = open_loader(options);
    struct {
        stk__digest epochs[2];
        char fingerprint[33];
    } all = {{dataset_digest(loader, NULL), dataset_digest(loader, NULL)}, ""};
    memcpy(all.fingerprint, stk_loader_describe(loader)->fingerprint, sizeof all.fingerprint);
    assert_int_equal(stk_loader_close(&loader), 0);
    return stk__digest_of(&all, offsetof(__typeof__(all), fingerprint) + sizeof all.fingerprint);
}

static void check_same(stk_loader_options options, const char *root, const stk_dataset *set)
{
    static const int64_t workers[] = {STK_WORKERS_NONE, 1, 3};
    options.root = root;
    options.dataset = NULL;
    options.num_workers = 2;
    const stk__digest expected = digest_of(options);
    options.root = NULL;
    options.dataset = set;
    for (size_t w = 0; w < sizeof workers / sizeof workers[0]; w++) {
        options.num_workers = workers[w];
        const stk__digest got = digest_of(options);
        assert_true(got.high == expected.high && got.low == expected.low);
    }
}

static void pairs_are_those_of_a_folder(void **state)
{
    (void)state;
    const stk_loader_options ways[] = {
        {.seed = 5},
        {.shuffle = STK_SWITCH_OFF, .drop_last = STK_SWITCH_ON},
        {.order = "blocks(4)", .limit = 17},
        {.val_split = 0.3, .part = STK_PART_TRAIN},
        {.val_split = 0.3, .part = STK_PART_VAL},
        {.ranks = 2, .rank = 1},
        {.cache = "auto"},
        {.mask_map = "auto", .num_classes = 5},
        {.augment = "strong", .cache = "auto"},
        {.augment = "preset: strong, mixup_alpha: 0.4, crop: 0.5", .dtype = STK_STORE_F16, .seed = 3},
    };
    stk_dataset set = own_set();
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        set.read = give_bytes;
        check_same(ways[i], pairs.root, &set);
        set.read = give_pixels;
        check_same(ways[i], pairs.root, &set);
    }
    set.read = give_pieces;
    check_same((stk_loader_options){.image_size = {9, 7}, .channels = 1}, pairs.root, &set);
}

static void states_are_those_of_a_folder(void **state)
{
    (void)state;
    const stk_dataset set = own_set();
    stk_loader *from = open_loader((stk_loader_options){.root = pairs.root, .seed = 9}),
               *to = open_loader((stk_loader_options){.dataset = &set, .seed = 9});
    stk_batch *batch;
    stk_loader_state place;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(stk_loader_next(from, &batch, NULL), STK_OK);
        stk_batch_release(batch);
    }
    stk_loader_tell(from, &place);
    assert_int_equal(stk_loader_seek(to, &place, NULL), STK_OK);
    const stk__digest rest = dataset_digest(from, NULL), got = dataset_digest(to, NULL);
    assert_true(rest.high == got.high && rest.low == got.low);
    stk_loader_close(&from);
    stk_loader_close(&to);
}

/* --- labels, points, windows -------------------------------------------------------------------------------
 */

static stk_status give_facts(void *context, uint64_t index, stk_sample_facts *facts, stk_error *error)
{
    const stk_label_kind kind = *(const stk_label_kind *)context;
    const int number = number_of(index);
    (void)error;
    if (kind == STK_LABEL_CLASS) facts->label = number % 3;
    if (kind == STK_LABEL_VALUE) facts->label = number + 0.25;
    for (int c = 0; facts->set && c < 3; c++)
        facts->set[c] = number >> c & 1;
    for (int k = 0; facts->points && k < 2; k++) {
        facts->points[3 * k] = (float)(number % W) + 0.5f;
        facts->points[3 * k + 1] = (float)(k + number % H);
        facts->points[3 * k + 2] = 1;
    }
    return STK_OK;
}

/* The same facts as a list, which is the data set. */
static void write_list(const char *path, stk_label_kind kind)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(kind == STK_LABEL_SET     ? "file,arm_left,arm_right,face\n"
          : kind == STK_LABEL_CLASS ? "file,mask,label,l_eye_x,l_eye_y,r_eye_x,r_eye_y\n"
                                    : "file,mask,value,l_eye_x,l_eye_y,r_eye_x,r_eye_y\n",
          file);
    for (int i = 0; i < COUNT; i++) {
        fprintf(file, kind == STK_LABEL_SET ? "%04d.jpg," : "%04d.jpg,%04d.png,", i, i);
        if (kind == STK_LABEL_SET)
            fprintf(file, "%d,%d,%d\n", i & 1, i >> 1 & 1, i >> 2 & 1);
        else
            fprintf(file, kind == STK_LABEL_CLASS ? "%d,%d.5,%d,%d.5,%d\n" : "%d.25,%d.5,%d,%d.5,%d\n",
                    kind == STK_LABEL_CLASS ? i % 3 : i, i % W, i % H, i % W, 1 + i % H);
    }
    assert_int_equal(fclose(file), 0);
}

static void labels_and_points_are_those_of_a_list(void **state)
{
    (void)state;
    static const char *const classes[] = {"arm_left", "arm_right", "face"}, *const points[] = {"l_eye",
                                                                                               "r_eye"};
    char path[400];
    snprintf(path, sizeof path, "%s/list.csv", pairs.root);
    for (int kind = STK_LABEL_CLASS; kind <= STK_LABEL_SET; kind++) {
        const bool several = kind == STK_LABEL_SET;
        stk_dataset set = own_set();
        set.masks = !several;
        set.label = (stk_label_kind)kind;
        set.context = &set.label;
        set.facts = give_facts;
        set.class_count = kind == STK_LABEL_VALUE ? 0 : 3;
        set.class_names = several ? classes : NULL;
        set.point_count = several ? 0 : 2;
        set.point_names = several ? NULL : points;
        write_list(path, (stk_label_kind)kind);
        check_same((stk_loader_options){.seed = 1}, path, &set);
        check_same((stk_loader_options){.augment = "horizontal_flip_prob: 0.5, rotation_degrees: 20"}, path,
                   &set);
    }
    assert_int_equal(remove(path), 0);
}

static stk_status give_window(void *context, uint64_t index, stk_sample_facts *facts, stk_error *error)
{
    (void)context;
    (void)error;
    for (int t = 0; t < WINDOW; t++) {
        const int row = (int)index + t;
        const float values[3] = {(float)row, (float)row + 0.5f, (float)-row};
        memcpy(facts->window + t * 3, values, sizeof values);
    }
    facts->label = 10 * (double)(index + WINDOW - 1);
    return STK_OK;
}

/* Keys differ from those of a file, so fingerprints do: only batches are compared. */
static void windows_are_those_of_a_series(void **state)
{
    (void)state;
    stk_dataset set = STK_DATASET_INIT;
    set.count = ROWS - WINDOW + 1;
    set.label = STK_LABEL_VALUE;
    set.window_rows = WINDOW;
    set.window_columns = 3;
    set.facts = give_window;
    stk_loader *file = open_loader((stk_loader_options){.root = series.root, .sequence_length = WINDOW}),
               *own = open_loader((stk_loader_options){.dataset = &set});
    stk_batch *a, *b;
    for (int i = 0; i < 8; i++) {
        assert_int_equal(stk_loader_next(file, &a, NULL), STK_OK);
        assert_int_equal(stk_loader_next(own, &b, NULL), STK_OK);
        assert_int_equal(a->windows.shape[2], b->windows.shape[2]);
        assert_memory_equal(a->sample_ids.data, b->sample_ids.data, (size_t)stk_tensor_bytes(&a->sample_ids));
        assert_memory_equal(a->labels.data, b->labels.data, (size_t)stk_tensor_bytes(&a->labels));
        assert_memory_equal(a->windows.data, b->windows.data, (size_t)stk_tensor_bytes(&a->windows));
        stk_batch_release(a);
        stk_batch_release(b);
    }
    stk_loader_close(&file);
    stk_loader_close(&own);
    own = open_loader((stk_loader_options){.dataset = &set, .part = STK_PART_VAL, .val_split = 0.2});
    assert_int_equal(stk_loader_describe(own)->sample_count, 7);
    assert_int_equal(stk_loader_next(own, &b, NULL), STK_OK);
    assert_int_equal(((const int64_t *)b->sample_ids.data)[0], ROWS - WINDOW + 1 - 7); /* the last ones */
    stk_batch_release(b);
    stk_loader_close(&own);
}

static void what_is_told_is_the_programs(void **state)
{
    (void)state;
    char names[3][8] = {"cat", "dog", "owl"}, key[64];
    const char *list[] = {names[0], names[1], names[2]};
    stk_label_kind kind = STK_LABEL_CLASS;
    stk_dataset set = own_set();
    set.masks = false;
    set.label = kind;
    set.context = &kind;
    set.facts = give_facts;
    set.class_count = 3;
    set.class_names = list;
    stk_loader *loader = open_loader((stk_loader_options){.dataset = &set});
    memset(names, 'x', sizeof names); /* all of it was copied */
    memset(&set, 0, sizeof set);
    const stk_loader_info *info = stk_loader_describe(loader);
    assert_int_equal(info->sample_count, COUNT);
    assert_true(info->classes && !info->masks && !info->values && !info->label_sets);
    assert_string_equal(info->class_names[2], "owl");
    assert_int_equal(stk_loader_sample_key(loader, 4, key, sizeof key, NULL), STK_OK);
    assert_string_equal(key, "0004");
    assert_int_equal(stk_loader_sample_path(loader, 4, key, sizeof key, NULL), STK_OK);
    assert_string_equal(key, "dataset!0004");
    dataset_digest(loader, NULL);
    stk_loader_close(&loader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_are_those_of_a_folder),
        cmocka_unit_test(states_are_those_of_a_folder),
        cmocka_unit_test(labels_and_points_are_those_of_a_list),
        cmocka_unit_test(windows_are_those_of_a_series),
        cmocka_unit_test(what_is_told_is_the_programs),
    };
    return cmocka_run_group_tests(tests, make_sets, remove_sets);
}
