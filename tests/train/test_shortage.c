/* SPDX-License-Identifier: Apache-2.0 */
/* A step that finds no memory, in whichever call of the engine: everything is as before it, and what is
 * learnt after it is the same to the last bit. */
#include "trainer_helpers.h"

#include "support/workspace.h"

static const char network_text[] = "name: own\n"
                                   "task: regression\n"
                                   "layers:\n"
                                   "  - {op: lstm, name: lstm, hidden: 6, last: true}\n"
                                   "  - {op: batch_norm, name: bn}\n"
                                   "  - {op: relu, name: relu}\n"
                                   "  - {op: linear, name: head, channels: 1}\n";
static char network_path[300];

/* Stands before the engine's own calls. */
static const stk__engine_ops *usual;
static long calls_left = -1; /* that still find memory; negative: all */
static bool for_good;        /* none after the first that does not */

static bool is_short(stk_error *error)
{
    const bool now = calls_left == 0;
    if (calls_left > 0 || (now && !for_good)) calls_left--;
    if (now) stk__fail_memory(error, 1, "a call of the engine");
    return now;
}

static stk_status forward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    return is_short(error) ? STK_ERROR_MEMORY : usual->forward(op, io, error);
}

static stk_status backward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    return is_short(error) ? STK_ERROR_MEMORY : usual->backward(op, io, error);
}

static stk_status copy(stk__tensor *target, const stk__tensor *source, stk_error *error)
{
    return is_short(error) ? STK_ERROR_MEMORY : usual->tensor_copy(target, source, error);
}

static void open_short(fixture *f)
{
    static stk__engine_ops ops;
    prepare(f);
    f->model = (stk__model_settings){.file = network_path};
    f->train.small = f->val.small = true;
    f->settings.accumulation = 2; /* 3 steps an epoch */
    f->settings.ema = 0.9;
    assert_int_equal(stk__trainer_open_engine(&f->setup.engine, &f->run, &f->settings, &f->error), STK_OK);
    usual = f->setup.engine->ops;
    ops = *usual;
    ops.forward = forward;
    ops.backward = backward;
    ops.tensor_copy = copy;
    calls_left = -1;
    open_it(f);
    f->setup.engine->ops = &ops;
}

/* One step that every call of the engine has once failed in. Returns how many these were. */
static long step_with_shortages(fixture *f)
{
    static char before[MODEL_BYTES], after[MODEL_BYTES];
    const size_t size = copy_model(f, before, false);
    json_t *was = stk__trainer_tell(f->trainer);
    for (long n = 0;; n++) {
        calls_left = n;
        const stk_status status = stk__trainer_step(f->trainer, &f->error);
        calls_left = -1;
        if (status == STK_OK) {
            json_decref(was);
            return n;
        }
        assert_int_equal(status, STK_ERROR_MEMORY);
        assert_false(stk__trainer_is_torn(f->trainer));
        copy_model(f, after, false);
        assert_memory_equal(before, after, size); /* the running statistics, too */
        json_t *now = stk__trainer_tell(f->trainer);
        assert_true(json_equal(was, now)); /* what was counted, and the place in the data */
        json_decref(now);
    }
}

static void whichever_call_finds_no_memory_the_step_is_undone(void **state)
{
    (void)state;
    static char plain[MODEL_BYTES], disturbed[MODEL_BYTES];
    fixture f[2];
    double loss[2];
    for (int i = 0; i < 2; i++) {
        open_short(&f[i]);
        step_over_epochs(&f[i]);
        if (i)
            assert_true(step_with_shortages(&f[i]) > 2 * 2 * 4); /* 2 batches, 4 layers, there and back */
        else
            step_over_epochs(&f[i]);
        step_over_epochs(&f[i]); /* the last, shorter one */
        step_over_epochs(&f[i]);
        const size_t size = copy_model(&f[i], i ? disturbed : plain, false);
        loss[i] = loss_of(&f[i]);
        stk__trainer_close(&f[i].trainer);
        if (i) assert_memory_equal(plain, disturbed, size);
    }
    assert_true(loss[0] == loss[1]);
}

/* What cannot be put back is not to be saved. */
static void a_shortage_that_lasts_tears_the_step(void **state)
{
    (void)state;
    fixture f;
    open_short(&f);
    step_over_epochs(&f);
    for_good = true;
    calls_left = 0; /* nothing was begun */
    assert_int_equal(stk__trainer_step(f.trainer, &f.error), STK_ERROR_MEMORY);
    assert_false(stk__trainer_is_torn(f.trainer));
    calls_left = 12;
    assert_int_equal(stk__trainer_step(f.trainer, &f.error), STK_ERROR_MEMORY);
    assert_true(stk__trainer_is_torn(f.trainer));
    for_good = false;
    stk__trainer_close(&f.trainer);
}

int main(int argc, char **argv)
{
    if (argc > 1) engine_name = argv[1];
    if (look_for_engine()) return 77;
    workspace folder = workspace_make();
    workspace_put(&folder, "own.yaml", network_text);
    snprintf(network_path, sizeof network_path, "%s/own.yaml", folder.path);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whichever_call_finds_no_memory_the_step_is_undone),
        cmocka_unit_test(a_shortage_that_lasts_tears_the_step),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    workspace_remove(&folder);
    return failed;
}
