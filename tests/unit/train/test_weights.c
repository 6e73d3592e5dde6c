/* SPDX-License-Identifier: Apache-2.0 */
/* Starting weights: as much of a file as fits, and a report of the rest. */
#include "checkpoint_helpers.h"

#include "core/file.h"
#include "train/checkpoint/safetensors.h"

typedef struct piece {
    stk__safetensor facts;
    const void *data;
} piece;

/* Writes a file of these pieces, those with large elements first. */
static void put_pieces(const char *path, const piece *pieces, int count)
{
    stk__safetensor facts[8];
    stk__buffer text = {0};
    assert_true(count <= 8);
    for (int i = 0; i < count; i++)
        facts[i] = pieces[i].facts;
    assert_int_equal(stk__safetensors_header(facts, count, NULL, 0, &text, NULL), STK_OK);
    for (int i = 0; i < count; i++)
        assert_int_equal(stk__buffer_append(&text, pieces[i].data, facts[i].size_bytes, NULL), STK_OK);
    assert_int_equal(stk__file_write(path, text, STK_FILE_QUICK, NULL), STK_OK);
    stk__buffer_fini(&text);
}

static const float *value_of(const stk__model *model, int tensor)
{
    return model->tensors[tensor].value->memory;
}

static void a_checkpoint_can_be_the_start(void **state)
{
    (void)state;
    shelf s = shelf_make(&(small_options){.optimizer = SMALL_ADAMW, .average = true});
    stk__model *other = small_model_make(&(small_options){.optimizer = SMALL_SGD, .average = true});
    stk__weights_report report;
    char path[PATH_MAX];
    shelf_put(&s, 9, NAN);
    shelf_path(&s, "epoch-0000-step-000009", path);
    assert_int_equal(stk__weights_load(path, other, &report, NULL), STK_OK);
    assert_true(small_model_is(other, 9, SMALL_VALUES));
    assert_int_equal(report.loaded, 6);
    assert_int_equal(report.missing + report.unknown + report.misfits, 0);
    for (int i = 0; i < other->count; i++) /* the average starts there too */
        if (other->tensors[i].average)
            assert_memory_equal(other->tensors[i].average->memory, other->tensors[i].value->memory,
                                other->tensors[i].value->size_bytes);
    small_model_remove(&other);
    shelf_remove(&s);
}

static void what_fits_is_loaded_and_the_rest_told(void **state)
{
    (void)state;
    static const float zeros[64] = {0};
    static const float seven[7] = {1, 2, 3, 4, 5, 6, 7};
    const piece pieces[] = {
        {{.name = "stem.norm.weight", .dtype = STK_DTYPE_F32, .shape = {1, {7}}}, seven},
        {{.name = "head.weight", .dtype = STK_DTYPE_F32, .shape = {2, {4, 3}}}, zeros},
        {{.name = "stem.norm.num_batches_tracked", .dtype = STK_DTYPE_F32}, zeros},
        {{.name = "fc.weight", .dtype = STK_DTYPE_F32, .shape = {1, {2}}}, zeros},
        {{.name = "fc.bias", .dtype = STK_DTYPE_F32, .shape = {1, {2}}}, zeros},
    };
    shelf s = shelf_make(&(small_options){0});
    char path[PATH_MAX];
    stk__weights_report report;
    snprintf(path, sizeof path, "%s/foreign.safetensors", s.space.path);
    put_pieces(path, pieces, 5);
    small_model_fill(s.model, 3);
    assert_int_equal(stk__weights_load(path, s.model, &report, NULL), STK_OK);
    assert_int_equal(report.loaded, 1);
    assert_int_equal(report.missing, 3);
    assert_int_equal(report.misfits, 2);
    assert_int_equal(report.unknown, 2);
    assert_string_equal(report.first_missing, "stem.conv.weight");
    assert_string_equal(report.first_unknown, "fc.weight");
    assert_string_equal(report.first_misfit,
                        "stem.norm.num_batches_tracked: F32 [] in the file, I64 [] here");
    assert_memory_equal(value_of(s.model, 1), seven, sizeof seven);
    assert_true(value_of(s.model, 4)[1] == 3401); /* untouched */
    shelf_remove(&s);
}

/* Zero, signs, the smallest and the largest, with and without the leading 1, infinite, and a plain one. */
static void other_precisions_are_converted(void **state)
{
    (void)state;
    static const uint16_t halves[7] = {0x0000, 0x8000, 0x0001, 0x83ff, 0x7bff, 0xfc00, 0x3e01};
    static const float from_halves[7] = {0.f, -0.f, 0x1p-24f, -0x1.ff8p-15f, 65504.f, -INFINITY, 0x1.804p0f};
    static const uint16_t brains[7] = {0x0000, 0x8000, 0x0001, 0x3f80, 0x7f7f, 0xff80, 0xc049};
    static const float from_brains[7] = {0.f, -0.f, 0x1p-133f, 1.f, 0x1.fep127f, -INFINITY, -0x1.92p1f};
    static const double reals[3] = {0.1, -1e300, 3};
    static const float from_reals[3] = {0.1f, -INFINITY, 3};
    const piece pieces[] = {
        {{.name = "head.bias", .dtype = STK_DTYPE_F64, .shape = {1, {3}}}, reals},
        {{.name = "stem.norm.weight", .dtype = STK_DTYPE_F16, .shape = {1, {7}}}, halves},
        {{.name = "stem.norm.running_mean", .dtype = STK_DTYPE_BF16, .shape = {1, {7}}}, brains},
    };
    shelf s = shelf_make(&(small_options){0});
    char path[PATH_MAX];
    stk__weights_report report;
    snprintf(path, sizeof path, "%s/foreign.safetensors", s.space.path);
    put_pieces(path, pieces, 3);
    assert_int_equal(stk__weights_load(path, s.model, &report, NULL), STK_OK);
    assert_int_equal(report.loaded, 3);
    assert_memory_equal(value_of(s.model, 1), from_halves, sizeof from_halves);
    assert_memory_equal(value_of(s.model, 2), from_brains, sizeof from_brains);
    assert_memory_equal(value_of(s.model, 5), from_reals, sizeof from_reals);
    static const uint16_t no_number[7] = {0x7e00};
    const piece odd = {pieces[1].facts, no_number};
    put_pieces(path, &odd, 1);
    assert_int_equal(stk__weights_load(path, s.model, &report, NULL), STK_OK);
    assert_true(isnan(value_of(s.model, 1)[0]));
    shelf_remove(&s);
}

static void nothing_that_fits_is_an_error(void **state)
{
    (void)state;
    static const float zeros[64] = {0};
    const piece named = {{.name = "module.fc", .dtype = STK_DTYPE_F32, .shape = {1, {2}}}, zeros};
    const piece shaped = {{.name = "head.weight", .dtype = STK_DTYPE_F32, .shape = {2, {3, 5}}}, zeros};
    shelf s = shelf_make(&(small_options){0});
    char path[PATH_MAX];
    stk__weights_report report;
    stk_error error = {0};
    snprintf(path, sizeof path, "%s/foreign.safetensors", s.space.path);
    put_pieces(path, &named, 1);
    assert_int_equal(stk__weights_load(path, s.model, &report, &error), STK_ERROR_DATA);
    assert_string_equal(error.hint,
                        "its names are like 'module.fc', those of the network like 'stem.conv.weight'");
    assert_string_equal(error.place, path);
    put_pieces(path, &shaped, 1);
    assert_int_equal(stk__weights_load(path, s.model, &report, &error), STK_ERROR_DATA);
    assert_string_equal(error.hint, "head.weight: F32 [3 x 5] in the file, F32 [5 x 3] here");
    put_pieces(path, NULL, 0);
    assert_int_equal(stk__weights_load(path, s.model, &report, &error), STK_ERROR_DATA);
    assert_string_equal(error.hint, "");
    assert_int_equal(stk__weights_load(s.space.path, s.model, &report, &error), STK_ERROR_IO); /* no model */
    assert_int_equal(unlink(path), 0);
    assert_int_equal(stk__weights_load(path, s.model, &report, &error), STK_ERROR_IO);
    shelf_remove(&s);
}

static void engines_may_fail(void **state)
{
    (void)state;
    shelf s = shelf_make(&(small_options){0});
    char path[PATH_MAX];
    stk__weights_report report;
    stk_error error = {0};
    shelf_put(&s, 1, NAN);
    shelf_path(&s, "epoch-0000-step-000001", path);
    small_model_fail_map = 2;
    assert_int_equal(stk__weights_load(path, s.model, &report, &error), STK_ERROR_MEMORY);
    small_model_fail_unmap = 2;
    assert_int_equal(stk__weights_load(path, s.model, &report, &error), STK_ERROR_IO);
    small_model_fail_map = small_model_fail_unmap = -1;
    shelf_remove(&s);
}

static stk_status load(void *context, stk_error *error)
{
    shelf *s = context;
    char path[PATH_MAX];
    stk__weights_report report;
    snprintf(path, sizeof path, "%s/foreign.safetensors", s->space.path);
    return stk__weights_load(path, s->model, &report, error);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    static const double reals[3] = {1, 2, 3};
    const piece bias = {{.name = "head.bias", .dtype = STK_DTYPE_F64, .shape = {1, {3}}}, reals};
    shelf s = shelf_make(&(small_options){0});
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/foreign.safetensors", s.space.path);
    put_pieces(path, &bias, 1);
    assert_true(fail_alloc_each(load, &s) > 5);
    shelf_remove(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_checkpoint_can_be_the_start),
        cmocka_unit_test(what_fits_is_loaded_and_the_rest_told),
        cmocka_unit_test(other_precisions_are_converted),
        cmocka_unit_test(nothing_that_fits_is_an_error),
        cmocka_unit_test(engines_may_fail),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
