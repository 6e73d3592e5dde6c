/* SPDX-License-Identifier: Apache-2.0 */
/* What is frozen has no gradients, and costs none. */
#include "pass_helpers.h"

/* The reference engine, watched: which layers' operations had a backward pass, and what they were asked for.
 */
static struct {
    stk__engine_ops ops;
    int backward, wanted_inputs, wanted_params, adds, copies;
} spy;

static stk_status watch_backward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    spy.backward++;
    for (int i = 0; i < op->spec.inputs; i++)
        spy.wanted_inputs += io->dx[i] != NULL;
    for (int i = 0; io->dparam && i < op->form.param_count; i++)
        spy.wanted_params += io->dparam[i] != NULL;
    return stk__engine_reference.backward(op, io, error);
}

static stk_status watch_add(stk__tensor *target, const stk__tensor *source, stk_error *error)
{
    spy.adds++;
    return stk__engine_reference.tensor_add(target, source, error);
}

static stk_status watch_copy(stk__tensor *target, const stk__tensor *source, stk_error *error)
{
    spy.copies++;
    return stk__engine_reference.tensor_copy(target, source, error);
}

static void spy_on(rig *r)
{
    memset(&spy, 0, sizeof spy);
    spy.ops = stk__engine_reference;
    spy.ops.backward = watch_backward;
    spy.ops.tensor_add = watch_add;
    spy.ops.tensor_copy = watch_copy;
    r->engine->ops = &spy.ops;
}

static void nothing_before_the_first_trained_layer_has_a_gradient(void **state)
{
    (void)state;
    net n;
    net_blocks(&n);
    stk__pass_request request = {.training = true, .freeze = "stem b0 b1 b2.conv1 b2.bn1"};
    rig r;
    rig_start(&r, &n.network, &request);
    spy_on(&r);
    rig_step(&r);
    /* b2.conv2, b2.bn2, b2.relu2, mean, drop, head; the sum is a copy that is not made */
    assert_int_equal(spy.backward, 6);
    assert_int_equal(spy.wanted_inputs, 5);
    assert_int_equal(spy.wanted_params, 2 + 2 + 2);
    assert_int_equal(spy.adds + spy.copies, 0);
    r.engine->ops = &stk__engine_reference;
    rig_close(&r);
}

static void a_residual_block_needs_one_sum_and_no_copy(void **state)
{
    (void)state;
    net n;
    net_blocks(&n);
    stk__pass_request request = {.training = true};
    rig r;
    rig_start(&r, &n.network, &request);
    spy_on(&r);
    rig_step(&r);
    assert_int_equal(spy.adds, 3);
    assert_int_equal(spy.copies, 0);
    assert_int_equal(spy.backward, n.network.layer_count - 3);
    assert_int_equal(spy.wanted_inputs, n.network.layer_count - 3 - 1); /* not the network's input */
    r.engine->ops = &stk__engine_reference;
    rig_close(&r);
}

/* Gradients of what is left are those of the whole; frozen layers without batch norm change nothing else: a
 * dropout among them goes on. */
static void freezing_leaves_the_other_gradients(void **state)
{
    (void)state;
    net n[2];
    net_branches(&n[0]);
    net_branches(&n[1]);
    stk__pass_request whole = {.training = true},
                      part = {.training = true, .freeze = "stem.conv down.conv* up"};
    rig r[2];
    rig_start(&r[0], &n[0].network, &whole);
    rig_start(&r[1], &n[1].network, &part);
    int compared = 0;
    rig_step(&r[0]);
    rig_step(&r[1]);
    for (int i = 0; i < r[0].model->count; i++) {
        const stk__model_tensor *x = &r[0].model->tensors[i], *y = &r[1].model->tensors[i];
        assert_true(same_bits(x->value, y->value));
        if (y->grad) assert_true(same_bits(x->grad, y->grad));
        compared += y->grad != NULL;
    }
    assert_int_equal(compared, 2 + 2 + 2);
    rig_close(&r[0]);
    rig_close(&r[1]);
}

static void frozen_batch_norms_compute_as_in_evaluation(void **state)
{
    (void)state;
    net n[2];
    net_branches(&n[0]);
    net_branches(&n[1]);
    n[0].layers[12].spec.drop = n[1].layers[12].spec.drop = 0; /* dropout is not frozen */
    assert_string_equal(n[0].layers[12].name, "up.drop");
    stk__pass_request train = {.training = true, .freeze = "*.bn*"}, eval = {0};
    rig r[2];
    rig_start(&r[0], &n[0].network, &train);
    rig_start(&r[1], &n[1].network, &eval);
    for (int step = 0; step < 2; step++) {
        for (int i = 0; i < 2; i++) { /* statistics that change something */
            stk__model_tensor *mean = stk__model_find(r[i].model, "stem.bn.running_mean");
            for (int k = 0; k < 4; k++)
                ((float *)mean->value->memory)[k] = 0.1F * (float)(k + step);
        }
        assert_true(rig_loss(&r[0]) == rig_loss(&r[1]));
        assert_true(same_bits(stk__pass_output(r[0].pass), stk__pass_output(r[1].pass)));
        assert_int_equal(stk__pass_backward(r[0].pass, &r[0].feed, NULL), STK_OK);
    }
    for (int i = 0; i < r[0].model->count; i++)
        if (r[0].model->tensors[i].buffer)
            assert_true(same_bits(r[0].model->tensors[i].value, r[1].model->tensors[i].value));
    for (int i = 0; i < r[0].model->count; i++)
        if (r[0].model->tensors[i].grad) check_gradient(&r[0], &r[0].model->tensors[i]);
    rig_close(&r[0]);
    rig_close(&r[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_before_the_first_trained_layer_has_a_gradient),
        cmocka_unit_test(a_residual_block_needs_one_sum_and_no_copy),
        cmocka_unit_test(freezing_leaves_the_other_gradients),
        cmocka_unit_test(frozen_batch_norms_compute_as_in_evaluation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
