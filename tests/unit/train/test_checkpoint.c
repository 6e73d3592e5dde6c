/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints: what is saved comes back, the right ones stay, and a failure leaves nothing. */
#include "checkpoint_helpers.h"

#include "core/durable.h"
#include "train/checkpoint/safetensors.h"

static const small_options everything = {.optimizer = SMALL_ADAMW, .average = true};

static void what_is_saved_comes_back(void **state)
{
    (void)state;
    shelf s = shelf_make(&(small_options){.head = 30000, .optimizer = SMALL_ADAMW, .average = true});
    stk__checkpoint_found found;
    stk__checkpoint_state read;
    shelf_put(&s, 123, 0.1 + 0.2);
    assert_int_equal(stk__checkpoint_newest(s.folder, &found, NULL), STK_OK);
    assert_string_equal(strrchr(found.path, '/') + 1, "epoch-0012-step-000123");
    assert_int_equal(found.skipped, 0);
    assert_string_equal(found.first_reason, "");
    assert_int_equal(stk__checkpoint_read_state(found.path, &read, NULL), STK_OK);
    assert_int_equal(read.epoch, 12);
    assert_int_equal(read.step, 123);
    assert_true(read.metric == 0.1 + 0.2);
    assert_int_equal(json_integer_value(json_object_get(read.json, "position")), 123);
    json_decref(read.json);
    small_model_fill(s.model, 1);
    assert_false(small_model_is(s.model, 123, SMALL_EVERYTHING));
    assert_int_equal(stk__checkpoint_read_model(found.path, s.model, true, NULL), STK_OK);
    assert_true(small_model_is(s.model, 123, SMALL_EVERYTHING));
    shelf_remove(&s);
}

static void evaluation_takes_the_average(void **state)
{
    (void)state;
    shelf s = shelf_make(&everything), plain = shelf_make(&(small_options){0});
    char path[PATH_MAX];
    shelf_put(&s, 7, NAN);
    shelf_put(&plain, 8, NAN);
    shelf_path(&s, "epoch-0000-step-000007", path);
    assert_int_equal(stk__checkpoint_read_model(path, plain.model, false, NULL), STK_OK);
    assert_true(small_model_is(plain.model, 7, SMALL_AVERAGED));
    shelf_path(&plain, "epoch-0000-step-000008", path);
    assert_int_equal(stk__checkpoint_read_model(path, s.model, false, NULL), STK_OK);
    assert_true(small_model_is(s.model, 8, SMALL_VALUES));
    shelf_remove(&plain);
    shelf_remove(&s);
}

static void expect_tensor(const stk__safetensors *file, const char *name, stk_dtype dtype, stk__shape shape)
{
    const stk__safetensor *tensor = stk__safetensors_find(file, name);
    if (!tensor) fail_msg("no '%s'", name);
    assert_int_equal(tensor->dtype, dtype);
    assert_true(stk__shape_equal(&tensor->shape, &shape));
}

static stk__safetensors *open_part(const shelf *s, const char *name)
{
    char path[PATH_MAX];
    stk__safetensors *file;
    shelf_path(s, name, path);
    assert_int_equal(stk__safetensors_open(&file, path, NULL), STK_OK);
    assert_string_equal(stk__safetensors_metadata(file, "format"), "pt");
    return file;
}

static void files_are_as_pytorch_wants_them(void **state)
{
    (void)state;
    shelf s = shelf_make(&everything), sgd = shelf_make(&(small_options){.optimizer = SMALL_SGD});
    shelf_put(&s, 1, NAN);
    shelf_put(&sgd, 1, NAN);
    stk__safetensors *file = open_part(&s, "epoch-0000-step-000001/model.safetensors");
    assert_int_equal(stk__safetensors_count(file), 6);
    expect_tensor(file, "stem.conv.weight", STK_DTYPE_F32, (stk__shape){4, {2, 3, 1, 3}});
    expect_tensor(file, "stem.norm.num_batches_tracked", STK_DTYPE_I64, (stk__shape){0});
    stk__safetensors_close(&file);
    file = open_part(&s, "epoch-0000-step-000001/average.safetensors"); /* a whole state_dict too */
    assert_int_equal(stk__safetensors_count(file), 6);
    expect_tensor(file, "stem.norm.num_batches_tracked", STK_DTYPE_I64, (stk__shape){0});
    stk__safetensors_close(&file);
    file = open_part(&s, "epoch-0000-step-000001/optimizer.safetensors");
    assert_int_equal(stk__safetensors_count(file), 6); /* of three that are trained */
    expect_tensor(file, "head.weight.exp_avg", STK_DTYPE_F32, (stk__shape){2, {5, 3}});
    expect_tensor(file, "head.weight.exp_avg_sq", STK_DTYPE_F32, (stk__shape){2, {5, 3}});
    stk__safetensors_close(&file);
    file = open_part(&sgd, "epoch-0000-step-000001/optimizer.safetensors");
    assert_int_equal(stk__safetensors_count(file), 3);
    expect_tensor(file, "head.weight.momentum_buffer", STK_DTYPE_F32, (stk__shape){2, {5, 3}});
    stk__safetensors_close(&file);
    assert_false(shelf_has(&sgd, "epoch-0000-step-000001/average.safetensors"));
    sgd.options.optimizer = false;
    shelf_put(&sgd, 2, NAN);
    assert_false(shelf_has(&sgd, "epoch-0000-step-000002/optimizer.safetensors"));
    shelf_remove(&sgd);
    shelf_remove(&s);
}

/* --- which stay ---------------------------------------------------------------------------------------- */

static void the_newest_and_the_best_stay(void **state)
{
    (void)state;
    static const double metrics[] = {0.5, 0.9, NAN, 0.7, 0.9, 0.2, INFINITY};
    for (int low = 0; low < 2; low++) {
        shelf s = shelf_make(&(small_options){0});
        s.options.keep = 2;
        s.options.best_is_low = low;
        for (uint64_t i = 0; i < 7; i++)
            shelf_put(&s, i + 1, metrics[i]);
        assert_true(shelf_has(&s, "epoch-0000-step-000007"));
        assert_true(shelf_has(&s, "epoch-0000-step-000006"));
        assert_int_equal(shelf_count(&s), low ? 2 : 3);                 /* the lowest is the last but one */
        if (!low) assert_true(shelf_has(&s, "epoch-0000-step-000002")); /* of equals the first */
        shelf_remove(&s);
    }
}

static void without_keep_all_stay(void **state)
{
    (void)state;
    shelf s = shelf_make(&(small_options){0});
    for (uint64_t step = 9; step < 21; step++)
        shelf_put(&s, step, NAN);
    assert_int_equal(shelf_count(&s), 12);
    shelf_expect(&s, "epoch-0002-step-000020", 0);
    shelf_remove(&s);
}

static void the_same_step_is_replaced(void **state)
{
    (void)state;
    shelf s = shelf_make(&(small_options){0});
    char path[PATH_MAX];
    shelf_put(&s, 4, NAN);
    shelf_put(&s, 5, 0.5);
    shelf_put(&s, 5, 0.6);
    assert_int_equal(shelf_count(&s), 2);
    shelf_expect(&s, "epoch-0000-step-000005-2", 0);
    shelf_put(&s, 5, 0.4); /* the one before is better, so it stays */
    shelf_expect(&s, "epoch-0000-step-000005-3", 0);
    assert_int_equal(shelf_count(&s), 3);
    shelf_put(&s, 5, 0.7);
    assert_int_equal(shelf_count(&s), 2);
    shelf_path(&s, "epoch-0000-step-000005-4", path);
    assert_int_equal(stk__checkpoint_verify(path, NULL), STK_OK);
    shelf_remove(&s);
}

/* Training went back to step 2 because 3 and 4 were damaged: they are of no use, and may not push out 3. */
static void what_was_gone_back_behind_is_removed(void **state)
{
    (void)state;
    shelf s = shelf_make(&(small_options){0});
    s.options.keep = 1;
    for (uint64_t step = 1; step < 5; step++) {
        s.options.keep = 0;
        shelf_put(&s, step, 10.0 * (double)step);
    }
    shelf_damage(&s, "epoch-0000-step-000004/model.safetensors");
    shelf_damage(&s, "epoch-0000-step-000003/model.safetensors");
    shelf_expect(&s, "epoch-0000-step-000002", 2);
    s.options.keep = 1;
    shelf_put(&s, 3, 1);
    shelf_expect(&s, "epoch-0000-step-000003-2", 0);
    assert_false(shelf_has(&s, "epoch-0000-step-000004"));
    assert_true(shelf_has(&s, "epoch-0000-step-000003")); /* damaged, but it says it is the best */
    assert_int_equal(shelf_count(&s), 2);
    shelf_remove(&s);
}

/* Removals that failed are made up for at the next start. */
static void a_start_tidies_up(void **state)
{
    (void)state;
    shelf s = shelf_make(&(small_options){0});
    stk__checkpoint_found found;
    for (uint64_t step = 1; step < 7; step++)
        shelf_put(&s, step, step == 2 ? 1 : 0.5);
    shelf_damage(&s, "epoch-0000-step-000006/model.safetensors");
    assert_int_equal(stk__checkpoint_newest(s.folder, &found, NULL), STK_OK);
    s.options.keep = 2;
    stk__checkpoint_tidy(&s.options, "elsewhere/epoch-0000-step-000009");
    assert_int_equal(shelf_count(&s), 6);
    stk__checkpoint_tidy(&s.options, found.path);
    assert_int_equal(shelf_count(&s), 3);
    shelf_expect(&s, "epoch-0000-step-000005", 0);
    assert_true(shelf_has(&s, "epoch-0000-step-000004"));
    assert_true(shelf_has(&s, "epoch-0000-step-000002"));
    shelf_remove(&s);
}

static void the_best_is_found(void **state)
{
    (void)state;
    static const double metrics[] = {0.5, NAN, 0.9, 0.7};
    shelf s = shelf_make(&(small_options){0});
    stk__checkpoint_found found;
    for (uint64_t i = 0; i < 4; i++)
        shelf_put(&s, i + 1, metrics[i]);
    assert_int_equal(stk__checkpoint_best(s.folder, false, &found, NULL), STK_OK);
    assert_non_null(strstr(found.path, "step-000003"));
    assert_int_equal(stk__checkpoint_best(s.folder, true, &found, NULL), STK_OK);
    assert_non_null(strstr(found.path, "step-000001"));
    shelf_damage(&s, "epoch-0000-step-000003/SUMS");
    assert_int_equal(stk__checkpoint_best(s.folder, false, &found, NULL), STK_OK);
    assert_non_null(strstr(found.path, "step-000004"));
    assert_int_equal(found.skipped, 1);
    assert_non_null(strstr(found.first_reason, "epoch-0000-step-000003: SUMS is corrupt"));
    shelf_damage(&s, "epoch-0000-step-000001/SUMS");
    shelf_damage(&s, "epoch-0000-step-000004/state.json"); /* without a metric it comes last */
    assert_int_equal(stk__checkpoint_best(s.folder, false, &found, NULL), STK_OK);
    assert_non_null(strstr(found.path, "step-000002"));
    assert_int_equal(found.skipped, 3);
    shelf_remove(&s);
}

/* --- other models -------------------------------------------------------------------------------------- */

static void expect_refusal(const char *path, const small_options *options, const char *message)
{
    stk__model *other = small_model_make(options);
    stk_error error = {0};
    small_model_fill(other, 77);
    assert_int_equal(stk__checkpoint_read_model(path, other, true, &error), STK_ERROR_STATE);
    if (!strstr(error.message, message)) fail_msg("wanted '%s', got '%s'", message, error.message);
    assert_non_null(strstr(error.hint, "model.weights"));
    assert_true(small_model_is(other, 77, SMALL_EVERYTHING));
    small_model_remove(&other);
}

static void models_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    shelf s = shelf_make(&everything), sgd = shelf_make(&(small_options){.optimizer = SMALL_SGD});
    char path[PATH_MAX], plain[PATH_MAX];
    shelf_put(&s, 3, NAN);
    shelf_put(&sgd, 3, NAN);
    shelf_path(&s, "epoch-0000-step-000003", path);
    shelf_path(&sgd, "epoch-0000-step-000003", plain);
    expect_refusal(path, &(small_options){.head = 6, .optimizer = SMALL_ADAMW, .average = true},
                   "'head.weight' has another shape");
    expect_refusal(path, &(small_options){.optimizer = SMALL_SGD, .average = true},
                   "'stem.conv.weight.momentum_buffer' is not in");
    expect_refusal(path, &(small_options){.average = true}, "has optimizer.safetensors, which");
    expect_refusal(path, &(small_options){.optimizer = SMALL_ADAMW}, "has average.safetensors, which");
    expect_refusal(plain, &(small_options){.optimizer = SMALL_SGD, .average = true},
                   "has no average.safetensors");
    s.model->count--; /* head.bias */
    stk_error error = {0};
    assert_int_equal(stk__checkpoint_read_model(path, s.model, true, &error), STK_ERROR_STATE);
    assert_non_null(strstr(error.message, "'head.bias' of the checkpoint is not used by this run"));
    s.model->count++;
    shelf_remove(&sgd);
    shelf_remove(&s);
}

/* --- failures ------------------------------------------------------------------------------------------ */

static void expect_only(const shelf *s, const char *name)
{
    assert_int_equal(shelf_count(s), 1);
    shelf_expect(s, name, 0);
}

static void engines_may_fail(void **state)
{
    (void)state;
    shelf s = shelf_make(&everything);
    char path[PATH_MAX];
    stk_error error = {0};
    shelf_put(&s, 1, NAN);
    shelf_path(&s, "epoch-0000-step-000001", path);
    for (int i = 0; i < 18; i++) { /* 6 values, 6 moments, 6 averages */
        small_model_fail_map = i;
        assert_int_equal(shelf_try(&s, 2, NAN, &error), STK_ERROR_MEMORY);
        assert_string_equal(error.message, "no map today");
        small_model_fail_unmap = i;
        assert_int_equal(shelf_try(&s, 2, NAN, &error), STK_ERROR_IO);
        assert_string_equal(error.message, "no unmap today");
        expect_only(&s, "epoch-0000-step-000001");
        small_model_fail_map = i;
        assert_int_equal(stk__checkpoint_read_model(path, s.model, true, &error), STK_ERROR_MEMORY);
        small_model_fail_unmap = i;
        assert_int_equal(stk__checkpoint_read_model(path, s.model, true, &error), STK_ERROR_IO);
    }
    small_model_fail_map = small_model_fail_unmap = -1;
    shelf_put(&s, 2, NAN);
    shelf_remove(&s);
}

static void folders_that_cannot_be_used(void **state)
{
    (void)state;
    shelf s = shelf_make(&(small_options){0});
    const stk__checkpoint_options options = {.folder = s.folder, .keep = 1};
    const stk__checkpoint_state at = {.json = json_object(), .metric = NAN};
    stk__checkpoint_found found;
    stk_error error = {0};
    char path[PATH_MAX] = "the one before";
    workspace_put(&s.space, "checkpoints", "a file");
    assert_int_equal(shelf_try(&s, 1, NAN, &error), STK_ERROR_IO);
    assert_int_equal(stk__checkpoint_write(&options, s.model, &at, path, sizeof path, &error), STK_ERROR_IO);
    assert_string_equal(path, "the one before"); /* there is no new one */
    json_decref(at.json);
    assert_int_equal(stk__checkpoint_newest(s.folder, &found, &error), STK_ERROR_IO);
    assert_non_null(strstr(error.message, "cannot list"));
    assert_int_equal(stk__checkpoint_best(s.folder, true, &found, NULL), STK_ERROR_IO);
    assert_int_equal(stk__checkpoint_clean(s.folder), 0);
    memset(s.folder, 'x', sizeof s.folder - 1);
    assert_int_equal(shelf_try(&s, 1, NAN, &error), STK_ERROR_IO); /* a name that is too long */
    shelf_remove(&s);
}

static void what_crashes_leave_is_removed(void **state)
{
    (void)state;
    shelf s = shelf_make(&(small_options){0});
    shelf_put(&s, 1, NAN);
    workspace_put(&s.space, "checkpoints/.tmp-epoch-0000-step-000002/model.safetensors", "half");
    workspace_put(&s.space, "checkpoints/.trash-epoch-0000-step-000000/SUMS", "");
    workspace_put(&s.space, "checkpoints/.trash-deeper/a/b", "");
    workspace_put(&s.space, "checkpoints/.tmp-file", "");
    workspace_put(&s.space, "checkpoints/notes.txt", "a user's");
    assert_int_equal(stk__checkpoint_clean(s.folder), 4);
    assert_int_equal(stk__checkpoint_clean(s.folder), 0);
    assert_int_equal(shelf_count(&s), 2);
    workspace_put(&s.space, "checkpoints/.tmp-epoch-0000-step-000002/model.safetensors", "half");
    shelf_put(&s, 2, NAN); /* cleans by itself */
    assert_int_equal(shelf_count(&s), 3);
    shelf_remove(&s);
}

/* --- memory -------------------------------------------------------------------------------------------- */

static stk_status write_and_read(void *context, stk_error *error)
{
    shelf *s = context;
    stk__checkpoint_found found;
    stk__checkpoint_state read;
    assert_true(stk__durable_remove(s->folder)); /* old ones that no memory was found to remove */
    STK__TRY(shelf_try(s, 5, 1, error));
    STK__TRY(stk__checkpoint_newest(s->folder, &found, error));
    STK__TRY(stk__checkpoint_best(s->folder, true, &found, error));
    STK__TRY(stk__checkpoint_read_state(found.path, &read, error));
    json_decref(read.json);
    return stk__checkpoint_read_model(found.path, s->model, true, error);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    shelf s = shelf_make(&everything);
    s.options.keep = 1;
    assert_true(fail_alloc_each(write_and_read, &s) > 30);
    shelf_put(&s, 6, NAN);
    assert_int_equal(shelf_count(&s), 2);
    shelf_remove(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_saved_comes_back),
        cmocka_unit_test(evaluation_takes_the_average),
        cmocka_unit_test(files_are_as_pytorch_wants_them),
        cmocka_unit_test(the_newest_and_the_best_stay),
        cmocka_unit_test(without_keep_all_stay),
        cmocka_unit_test(the_same_step_is_replaced),
        cmocka_unit_test(what_was_gone_back_behind_is_removed),
        cmocka_unit_test(a_start_tidies_up),
        cmocka_unit_test(the_best_is_found),
        cmocka_unit_test(models_that_do_not_fit_are_refused),
        cmocka_unit_test(engines_may_fail),
        cmocka_unit_test(folders_that_cannot_be_used),
        cmocka_unit_test(what_crashes_leave_is_removed),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
