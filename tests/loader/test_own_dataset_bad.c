/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of a data set that fail or answer nonsense: the sample is named and the policy for corrupt
 * samples decides, or loading ends with the function's own error. */
#include "stoker/stoker.h"

#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

enum { COUNT = 16, SIDE = 8, BAD = 5 };

typedef struct own {
    stk_status (*misbehave)(stk_sample_sink *sink, stk_field field, stk_error *error); /* for sample BAD */
    void (*spoil)(stk_sample_facts *facts); /* the same; NULL: the facts are good */
    atomic_int closed;
} own;

static stk_status read_sample(void *context, uint64_t index, stk_field field, stk_sample_sink *sink,
                              stk_error *error)
{
    own *o = context;
    stk_status status = STK_OK;
    if (index == BAD && o->misbehave) {
        status = o->misbehave(sink, field, error);
    } else {
        void *room = stk_sample_sink_pixels(sink, SIDE, SIDE, field == STK_FIELD_MASK ? 1 : 3);
        if (room) memset(room, (int)index, SIDE * SIDE * (field == STK_FIELD_MASK ? 1 : 3));
    }
    return status;
}

static stk_status tell_facts(void *context, uint64_t index, stk_sample_facts *facts, stk_error *error)
{
    own *o = context;
    (void)error;
    if (facts->set) facts->set[0] = 1;
    if (facts->points) facts->points[2] = 1;
    facts->label = 1;
    if (index == BAD && o->spoil) o->spoil(facts);
    return STK_OK;
}

static void count_close(void *context)
{
    atomic_fetch_add(&((own *)context)->closed, 1);
}

static stk_dataset set_of(own *o, bool masks)
{
    stk_dataset set = STK_DATASET_INIT;
    set.context = o;
    set.count = COUNT;
    set.masks = masks;
    set.read = read_sample;
    set.close = count_close;
    return set;
}

static stk_status open_set(stk_loader **loader, const stk_dataset *set, stk_loader_options options,
                           stk_error *error)
{
    options.struct_size = sizeof options;
    options.dataset = set;
    options.batch_size = 4;
    options.epochs = 1;
    options.shuffle = STK_SWITCH_OFF;
    if (!options.num_workers) options.num_workers = 2;
    return stk_loader_open(loader, &options, error);
}

typedef struct kept_entry {
    int count;
    int64_t id;
    stk_damage damage;
    char path[128], detail[384];
} kept_entry;

static void keep_entry(void *context, const stk_ledger_entry *entry)
{
    kept_entry *kept = context;
    kept->count++;
    kept->id = entry->sample_id;
    kept->damage = entry->damage;
    snprintf(kept->path, sizeof kept->path, "%s", entry->path);
    snprintf(kept->detail, sizeof kept->detail, "%s", entry->detail);
}

/* Loads all of it; returns how it ended. */
static stk_status load(const stk_dataset *set, stk_loader_options options, kept_entry *kept, stk_error *error)
{
    stk_loader *loader;
    stk_batch *batch;
    stk_status status = open_set(&loader, set, options, error);
    if (status != STK_OK) return status;
    stk_loader_set_ledger(loader, keep_entry, kept);
    while ((status = stk_loader_next(loader, &batch, error)) == STK_OK)
        stk_batch_release(batch);
    assert_int_equal(stk_loader_close(&loader), 0);
    return status;
}

/* --- what the functions do wrong ---------------------------------------------------------------------------
 */

static stk_status name_damage(stk_sample_sink *sink, stk_field field, stk_error *error)
{
    (void)sink;
    (void)field;
    error->damage = STK_DAMAGE_BAD_CHECKSUM;
    snprintf(error->message, sizeof error->message, "record 5 has a wrong sum");
    return STK_ERROR_SAMPLE;
}

static stk_status name_place(stk_sample_sink *sink, stk_field field, stk_error *error)
{
    snprintf(error->place, sizeof error->place, "records.bin");
    return name_damage(sink, field, error);
}

static stk_status name_nothing(stk_sample_sink *sink, stk_field field, stk_error *error)
{
    (void)sink;
    (void)field;
    (void)error;
    return STK_ERROR_SAMPLE;
}

/* As memory that was never set. */
static stk_status name_nonsense(stk_sample_sink *sink, stk_field field, stk_error *error)
{
    (void)sink;
    (void)field;
    memset(error, 0x41, sizeof *error);
    return STK_ERROR_SAMPLE;
}

static stk_status bring_nothing(stk_sample_sink *sink, stk_field field, stk_error *error)
{
    (void)sink;
    (void)field;
    (void)error;
    return STK_OK;
}

static stk_status bring_no_mask(stk_sample_sink *sink, stk_field field, stk_error *error)
{
    (void)error;
    void *room = field == STK_FIELD_IMAGE ? stk_sample_sink_pixels(sink, SIDE, SIDE, 3) : NULL;
    if (room) memset(room, 0, SIDE * SIDE * 3);
    return STK_OK;
}

static stk_status bring_no_bytes(stk_sample_sink *sink, stk_field field, stk_error *error)
{
    (void)field;
    (void)error;
    assert_non_null(stk_sample_sink_bytes(sink, 0));
    return STK_OK;
}

static stk_status bring_text(stk_sample_sink *sink, stk_field field, stk_error *error)
{
    (void)field;
    (void)error;
    memcpy(stk_sample_sink_bytes(sink, 5), "hello", 5);
    return STK_OK;
}

static stk_status bring_too_much(stk_sample_sink *sink, stk_field field, stk_error *error)
{
    (void)field;
    (void)error;
    assert_null(stk_sample_sink_bytes(sink, SIZE_MAX));
    assert_null(stk_sample_sink_bytes(sink, 5000));
    return STK_OK;
}

static stk_status bring_no_pixels(stk_sample_sink *sink, stk_field field, stk_error *error)
{
    (void)field;
    (void)error;
    assert_null(stk_sample_sink_pixels(sink, 0, SIDE, 3));
    return STK_OK;
}

static stk_status bring_negative_pixels(stk_sample_sink *sink, stk_field field, stk_error *error)
{
    (void)field;
    (void)error;
    assert_null(stk_sample_sink_pixels(sink, SIDE, INT32_MIN, 3));
    return STK_ERROR_IO; /* the sink knew it before */
}

static stk_status bring_huge_pixels(stk_sample_sink *sink, stk_field field, stk_error *error)
{
    (void)field;
    (void)error;
    assert_null(stk_sample_sink_pixels(sink, INT32_MAX, INT32_MAX, 3));
    return STK_OK;
}

static stk_status bring_four_channels(stk_sample_sink *sink, stk_field field, stk_error *error)
{
    (void)field;
    (void)error;
    assert_null(stk_sample_sink_pixels(sink, SIDE, SIDE, 4));
    return STK_OK;
}

static stk_status bring_colored_mask(stk_sample_sink *sink, stk_field field, stk_error *error)
{
    if (field == STK_FIELD_IMAGE) return bring_no_mask(sink, field, error);
    assert_null(stk_sample_sink_pixels(sink, SIDE, SIDE, 3));
    return STK_OK;
}

static void damages_are_named_with_their_sample(void **state)
{
    (void)state;
    static const struct {
        stk_status (*misbehave)(stk_sample_sink *sink, stk_field field, stk_error *error);
        stk_damage damage;
        const char *path, *detail;
    } rows[] = {
        {name_damage, STK_DAMAGE_BAD_CHECKSUM, "dataset!05", "record 5 has a wrong sum"},
        {name_place, STK_DAMAGE_BAD_CHECKSUM, "records.bin", "record 5 has a wrong sum"},
        {name_nothing, STK_DAMAGE_READ_ERROR, "dataset!05", "the function 'read' of the data set failed"},
        {name_nonsense, STK_DAMAGE_READ_ERROR, "AAAA", "AAAA"},
        {bring_nothing, STK_DAMAGE_MISSING, "dataset!05", "gave no image"},
        {bring_no_mask, STK_DAMAGE_MASK_MISSING, "dataset!05 (mask)", "gave no mask"},
        {bring_no_bytes, STK_DAMAGE_EMPTY, "dataset!05", "empty"},
        {bring_text, STK_DAMAGE_NOT_AN_IMAGE, "dataset!05", "not a JPEG, PNG or npy file"},
        {bring_too_much, STK_DAMAGE_TOO_MANY_BYTES, "dataset!05",
         "5000 bytes, more than limits.bytes '4096'"},
        {bring_no_pixels, STK_DAMAGE_ZERO_SIZE, "dataset!05", "8 x 0"},
        {bring_negative_pixels, STK_DAMAGE_ZERO_SIZE, "dataset!05", "-2147483648 x 8"},
        {bring_huge_pixels, STK_DAMAGE_TOO_MANY_BYTES, "dataset!05", "more than limits.bytes"},
        {bring_four_channels, STK_DAMAGE_UNSUPPORTED, "dataset!05", "1 or 3 channels, not 4"},
        {bring_colored_mask, STK_DAMAGE_MASK_FORMAT, "dataset!05 (mask)", "1 channel, not 3"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        own o = {.misbehave = rows[i].misbehave};
        const stk_dataset set = set_of(&o, true);
        kept_entry kept = {0};
        stk_error error = {0};
        const stk_loader_options skip = {.on_bad_sample = STK_BAD_SKIP, .limit_bytes = 4096};
        assert_int_equal(load(&set, skip, &kept, &error), STK_END);
        assert_int_equal(kept.count, 1);
        assert_int_equal(kept.id, BAD);
        assert_int_equal(kept.damage, rows[i].damage);
        if (!strstr(kept.path, rows[i].path) || !strstr(kept.detail, rows[i].detail))
            fail_msg("%s: %s", kept.path, kept.detail);
        const stk_loader_options fail = {.limit_bytes = 4096};
        assert_int_equal(load(&set, fail, &kept, &error), STK_ERROR_SAMPLE);
        assert_int_equal(error.damage, rows[i].damage);
        assert_non_null(strstr(error.hint, "data.on_bad_sample"));
        assert_int_equal(o.closed, 2);
    }
}

static stk_status fail_with(stk_status status, stk_error *error)
{
    snprintf(error->message, sizeof error->message, "the database is gone");
    return status;
}

static stk_status fail_io(stk_sample_sink *sink, stk_field field, stk_error *error)
{
    (void)sink;
    (void)field;
    return fail_with(STK_ERROR_IO, error);
}

static stk_status fail_timeout(stk_sample_sink *sink, stk_field field, stk_error *error)
{
    (void)sink;
    (void)field;
    return fail_with(STK_ERROR_TIMEOUT, error);
}

static stk_status fail_strangely(stk_sample_sink *sink, stk_field field, stk_error *error)
{
    (void)sink;
    (void)field;
    return fail_with((stk_status)7, error);
}

static stk_status fail_by_end(stk_sample_sink *sink, stk_field field, stk_error *error)
{
    (void)sink;
    (void)field;
    return fail_with(STK_END, error);
}

/* Whatever the policy for corrupt samples is; while the loader opens as well as later. */
static void other_errors_end_loading(void **state)
{
    (void)state;
    static const struct {
        stk_status (*misbehave)(stk_sample_sink *sink, stk_field field, stk_error *error);
        stk_status status;
        const char *message;
    } rows[] = {
        {fail_io, STK_ERROR_IO, "the database is gone"},
        {fail_timeout, STK_ERROR_IO, "the database is gone"},
        {fail_strangely, STK_ERROR_DATA, "returned 7, which is no failure"},
        {fail_by_end, STK_ERROR_DATA, "returned 1, which is no failure"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (int only = 0; only < 2; only++) {
            own o = {.misbehave = rows[i].misbehave};
            stk_dataset set = set_of(&o, false);
            kept_entry kept = {0};
            stk_error error = {0};
            const stk_loader_options skip = {.on_bad_sample = STK_BAD_SKIP};
            if (!only) set.count = 4 * COUNT; /* sample 5 is not one of those that are looked at */
            assert_int_equal(load(&set, skip, &kept, &error), rows[i].status);
            assert_int_equal(error.code, rows[i].status);
            assert_non_null(strstr(error.message, rows[i].message));
            assert_string_equal(error.place, "dataset!05");
            assert_int_equal(kept.count, 0);
        }
}

/* --- facts -------------------------------------------------------------------------------------------------
 */

static void spoil_class(stk_sample_facts *facts)
{
    facts->label = 3;
}
static void spoil_half_class(stk_sample_facts *facts)
{
    facts->label = 0.5;
}
static void spoil_label(stk_sample_facts *facts)
{
    facts->label = NAN;
}
static void spoil_large_label(stk_sample_facts *facts)
{
    facts->label = 1e300;
}
static void spoil_set(stk_sample_facts *facts)
{
    facts->set[2] = 2;
}
static void spoil_point(stk_sample_facts *facts)
{
    facts->points[4] = INFINITY;
}
static void spoil_visible(stk_sample_facts *facts)
{
    facts->points[5] = 0.5f;
}

static void facts_are_checked(void **state)
{
    (void)state;
    static const struct {
        void (*spoil)(stk_sample_facts *facts);
        stk_label_kind label;
        stk_damage damage;
        const char *detail;
    } rows[] = {
        {spoil_class, STK_LABEL_CLASS, STK_DAMAGE_BAD_FIELD, "class 3 is not one of the classes 0 to 2"},
        {spoil_half_class, STK_LABEL_CLASS, STK_DAMAGE_BAD_FIELD, "class 0.5 is not"},
        {spoil_label, STK_LABEL_CLASS, STK_DAMAGE_BAD_FIELD, "class nan is not"},
        {spoil_label, STK_LABEL_VALUE, STK_DAMAGE_BAD_VALUES, "the value is NaN"},
        {spoil_large_label, STK_LABEL_VALUE, STK_DAMAGE_BAD_VALUES, "infinite"},
        {spoil_set, STK_LABEL_SET, STK_DAMAGE_BAD_FIELD, "class 2 is set to 2"},
        {spoil_point, STK_LABEL_NONE, STK_DAMAGE_BAD_VALUES, "a coordinate that is NaN or infinite"},
        {spoil_visible, STK_LABEL_CLASS, STK_DAMAGE_BAD_FIELD, "point 1 is visible by 0.5"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        own o = {.spoil = rows[i].spoil};
        stk_dataset set = set_of(&o, false);
        kept_entry kept = {0};
        set.facts = tell_facts;
        set.label = rows[i].label;
        set.class_count = 3;
        set.point_count = 2;
        const stk_loader_options skip = {.on_bad_sample = STK_BAD_SKIP};
        assert_int_equal(load(&set, skip, &kept, NULL), STK_END);
        assert_int_equal(kept.count, 1);
        assert_int_equal(kept.damage, rows[i].damage);
        assert_string_equal(kept.path, "dataset!05");
        if (!strstr(kept.detail, rows[i].detail)) fail_msg("%s", kept.detail);
    }
}

int main(void)
{
    alarm(120); /* a hang is a failure, too */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damages_are_named_with_their_sample),
        cmocka_unit_test(other_errors_end_loading),
        cmocka_unit_test(facts_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
