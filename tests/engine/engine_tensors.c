/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors, dropout's draws and what the front refuses. */
#include "test_engine.h"

#include "op_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static stk__arena *arena;

static stk__tensor *tensor_at(size_t offset_bytes, stk_dtype dtype, int64_t count)
{
    stk__tensor *made;
    const stk__tensor_desc desc = {.shape = {1, {count}}, .dtype = dtype};
    assert_int_equal(stk__tensor_create(tested, &desc, arena, offset_bytes, &made, NULL), STK_OK);
    assert_true(stk__shape_equal(&stk__tensor_describe(made)->shape, &desc.shape));
    return made;
}

void tensors_hold_what_they_are_given(void **state)
{
    (void)state;
    float numbers[5] = {1, 2, 3, 4, 5}, read[5];
    assert_int_equal(stk__arena_create(tested, 4096, &arena, NULL), STK_OK);
    stk__tensor *a = tensor_at(0, STK_DTYPE_F32, 5), *b = tensor_at(64, STK_DTYPE_F32, 5), *wrapped;
    assert_int_equal(stk__tensor_read(a, read, sizeof read, NULL), STK_OK);
    for (int i = 0; i < 5; i++)
        assert_true(read[i] == 0); /* as the arena is made */
    const stk_tensor memory = {
        .data = numbers, .dtype = STK_DTYPE_F32, .ndim = 1, .shape = {5}, .strides = {1}};
    assert_int_equal(stk__tensor_wrap(tested, &memory, &wrapped, NULL), STK_OK);
    assert_int_equal(stk__tensor_copy(a, wrapped, NULL), STK_OK);
    assert_int_equal(stk__tensor_write(b, numbers, sizeof numbers, NULL), STK_OK);
    const long before = rig_allocations();
    assert_int_equal(stk__tensor_add(b, a, NULL), STK_OK);
    assert_int_equal(stk__tensor_copy(wrapped, b, NULL), STK_OK);
    assert_int_equal(stk__tensor_zero(b, NULL), STK_OK);
    assert_int_equal(stk__engine_sync(tested, NULL), STK_OK);
    assert_int_equal(rig_allocations(), before);
    assert_int_equal(stk__tensor_read(b, read, sizeof read, NULL), STK_OK);
    for (int i = 0; i < 5; i++)
        assert_true(numbers[i] == (float)(2 * i + 2) && read[i] == 0);
    stk__tensor_destroy(&wrapped);
    stk__tensor_destroy(&b);
    stk__tensor_destroy(&a);
    stk__arena_destroy(&arena);
    assert_null(a);
    assert_null(arena);
}

/* Two handles on one place, as the planner makes them; and types of one byte and of eight. */
void tensors_may_overlap(void **state)
{
    (void)state;
    int64_t ids[3] = {-1, 7, INT64_C(1) << 40}, read_ids[3];
    uint8_t bytes[24];
    assert_int_equal(stk__arena_create(tested, 4096, &arena, NULL), STK_OK);
    stk__tensor *wide = tensor_at(128, STK_DTYPE_I64, 3), *narrow = tensor_at(128, STK_DTYPE_U8, 24);
    assert_int_equal(stk__tensor_write(wide, ids, sizeof ids, NULL), STK_OK);
    assert_int_equal(stk__tensor_read(wide, read_ids, sizeof read_ids, NULL), STK_OK);
    assert_memory_equal(ids, read_ids, sizeof ids);
    assert_int_equal(stk__tensor_read(narrow, bytes, sizeof bytes, NULL), STK_OK);
    assert_memory_equal(ids, bytes, sizeof ids);
    assert_int_equal(stk__tensor_zero(narrow, NULL), STK_OK);
    assert_int_equal(stk__tensor_read(wide, read_ids, sizeof read_ids, NULL), STK_OK);
    assert_true(read_ids[0] == 0 && read_ids[2] == 0);
    stk__tensor_destroy(&narrow);
    stk__tensor_destroy(&wide);
    stk__arena_destroy(&arena);
}

/* Weights of a convolution, however they lie, and a handle that shows how. */
void tensors_of_kernels_look_dense(void **state)
{
    (void)state;
    enum { O = 2, I = 3, H = 1, W = 2, COUNT = O * I * H * W };
    const stk__op_param param = {.shape = {4, {O, I, H, W}}, .dtype = STK_DTYPE_F32};
    const stk__tensor_desc desc = stk__param_desc(tested, &param);
    float numbers[COUNT], read[COUNT];
    stk__tensor *kernel, *other;
    stk_tensor view;
    for (int i = 0; i < COUNT; i++)
        numbers[i] = (float)i;
    assert_int_equal(stk__arena_create(tested, 4096, &arena, NULL), STK_OK);
    assert_int_equal(stk__tensor_create(tested, &desc, arena, 0, &kernel, NULL), STK_OK);
    assert_int_equal(stk__tensor_create(tested, &desc, arena, 1024, &other, NULL), STK_OK);
    stk__tensor *bare = tensor_at(0, STK_DTYPE_F32, COUNT);
    assert_int_equal(stk__tensor_write(kernel, numbers, sizeof numbers, NULL), STK_OK);
    assert_int_equal(stk__tensor_copy(other, kernel, NULL), STK_OK);
    assert_int_equal(stk__tensor_add(other, kernel, NULL), STK_OK);
    assert_int_equal(stk__tensor_map(other, &view, NULL), STK_OK);
    for (int i = 0; i < COUNT; i++) {
        assert_true(((float *)view.data)[i] == (float)(2 * i));
        ((float *)view.data)[i]++;
    }
    assert_int_equal(stk__tensor_unmap(other, &view, true, NULL), STK_OK);
    assert_int_equal(stk__tensor_read(other, read, sizeof read, NULL), STK_OK);
    for (int i = 0; i < COUNT; i++)
        assert_true(read[i] == (float)(2 * i + 1));
    assert_int_equal(stk__tensor_read(bare, read, sizeof read, NULL), STK_OK);
    for (int o = 0; o < O; o++)
        for (int i = 0; i < I; i++)
            for (int w = 0; w < W; w++)
                assert_true(read[desc.layout ? (o * W + w) * I + i : (o * I + i) * W + w] ==
                            numbers[(o * I + i) * W + w]);
    rig_refuse_allocations(true);
    const stk_status refused = desc.layout ? STK_ERROR_MEMORY : STK_OK;
    assert_int_equal(stk__tensor_write(kernel, numbers, sizeof numbers, NULL), refused);
    assert_int_equal(stk__tensor_read(kernel, read, sizeof read, NULL), refused);
    rig_refuse_allocations(false);
    stk__tensor_destroy(&bare);
    stk__tensor_destroy(&other);
    stk__tensor_destroy(&kernel);
    stk__arena_destroy(&arena);
}

void the_engine_says_what_it_is(void **state)
{
    (void)state;
    const stk__engine_info *info = stk__engine_describe(tested);
    bool listed = false;
    for (int i = 0; stk__engine_names(i); i++)
        listed |= strcmp(stk__engine_names(i), info->name) == 0;
    assert_true(listed && info->threads >= 1);
    if (!reference) assert_true(info->threads == 1 && !info->version[0] && !info->note[0] && info->half_why);
}

/* What is dropped depends on the sample, not on its place; another epoch drops others. */
void dropout_follows_the_sample(void **state)
{
    (void)state;
    enum { LENGTH = 1021 };
    const stk__op_spec spec = {.kind = STK_OP_DROPOUT, .input = {{2, {3, LENGTH}}}, .drop = 0.25};
    op_trial trial;
    op_result first, moved, later;
    op_trial_fill(&trial, &spec, &(op_flags){.training = true}, 3);
    op_result_make(&first, &trial);
    op_result_make(&moved, &trial);
    op_result_make(&later, &trial);
    for (int64_t i = 0; i < trial.x[0].count; i++)
        trial.x[0].value[i] = 1;
    memcpy(trial.sample_ids.value, (const double[]){8, 9, 10}, 3 * sizeof(double));
    op_rig_run(tested, &trial, &first);
    memcpy(trial.sample_ids.value, (const double[]){10, 8, 4000000}, 3 * sizeof(double));
    op_rig_run(tested, &trial, &moved);
    trial.epoch++;
    op_rig_run(tested, &trial, &later);
    int kept = 0, differ = 0;
    for (int i = 0; i < LENGTH; i++) {
        assert_true(first.y.value[i] == moved.y.value[LENGTH + i]);
        assert_true(first.y.value[2 * LENGTH + i] == moved.y.value[i]);
        differ += later.y.value[i] != moved.y.value[i];
        kept += first.y.value[i] != 0;
    }
    assert_in_range(kept, LENGTH * 0.70, LENGTH * 0.80);
    assert_in_range(differ, LENGTH * 0.30, LENGTH * 0.45); /* 2 x 1/4 x 3/4 */
}

static void expect_refusal(const op_trial *trial, int input, sheet replacement, const char *message)
{
    op_trial changed = *trial;
    stk_error error = {0};
    op_rig rig;
    changed.x[input] = replacement;
    op_rig_open(&rig, tested, &changed);
    op_rig_load(&rig);
    const stk__op_io io = {.x = rig.x, .y = rig.y, .saved = rig.saved, .scratch = rig.scratch};
    assert_int_equal(stk__op_forward(rig.op, &io, &error), STK_ERROR_ARGUMENT);
    assert_string_equal(error.message, message);
    op_rig_close(&rig);
}

void wrong_targets_are_refused(void **state)
{
    (void)state;
    op_trial t;
    op_trial_fill(&t, &(stk__op_spec){.kind = STK_OP_CROSS_ENTROPY, .input = {{4, {2, 3, 5, 4}}}},
                  &(op_flags){.second = true, .weights = true, .class_weights = true}, 1);
    const stk__shape full = {3, {2, 3, 5}}, other = {2, {2, 3}}, n = {1, {2}}, pair = {1, {2}};
    expect_refusal(&t, STK_LOSS_TARGET, (sheet){0}, "cross_entropy needs a target");
    expect_refusal(&t, STK_LOSS_TARGET, sheet_make(&full, STK_DTYPE_F32), "masks must be u8 or i64");
    expect_refusal(&t, STK_LOSS_TARGET2, sheet_make(&full, STK_DTYPE_F32), "masks must be u8 or i64");
    expect_refusal(&t, STK_LOSS_TARGET, sheet_make(&other, STK_DTYPE_U8),
                   "shape mismatch: target [2 x 3], expected 30 values");
    expect_refusal(&t, STK_LOSS_LAMBDA, sheet_make(&n, STK_DTYPE_F64),
                   "the mixing weight (lambda) must be f32");
    expect_refusal(&t, STK_LOSS_WEIGHTS, sheet_make(&other, STK_DTYPE_F32),
                   "shape mismatch: sample weights [2 x 3], expected 2 values");
    expect_refusal(&t, STK_LOSS_CLASS_WEIGHTS, sheet_make(&pair, STK_DTYPE_F32),
                   "shape mismatch: class weights [2], expected 4 values");
    op_trial_fill(&t, &(stk__op_spec){.kind = STK_OP_TOP_K, .input = {{2, {2, 4}}}}, &(op_flags){0}, 1);
    expect_refusal(&t, STK_LOSS_TARGET, sheet_make(&n, STK_DTYPE_U8), "labels must be i64");
    op_trial_fill(&t, &(stk__op_spec){.kind = STK_OP_MSE, .input = {{2, {2, 1}}}}, &(op_flags){0}, 1);
    expect_refusal(&t, STK_LOSS_TARGET, sheet_make(&n, STK_DTYPE_I64), "the target must be f32");
    expect_refusal(&t, STK_LOSS_TARGET2, sheet_make(&n, STK_DTYPE_F32),
                   "mse does not support a second target");
    op_trial_fill(&t,
                  &(stk__op_spec){.kind = STK_OP_POINTS, .input = {{4, {2, 3, 3, 6}}}, .image_size = {9, 9}},
                  &(op_flags){0}, 1);
    expect_refusal(&t, STK_LOSS_TARGET, sheet_make(&other, STK_DTYPE_F32),
                   "shape mismatch: target [2 x 3], expected 12 values");
}
