/* SPDX-License-Identifier: Apache-2.0 */
/* What a pass is given: accumulation, seeds, sums, averages, other passes beside it. */
#include "pass_helpers.h"

static void gradients_add_up(void **state)
{
    (void)state;
    net n;
    net_windows(&n);
    n.layers[2].spec.drop = 0;
    stk__pass_request request = {.training = true};
    rig r;
    rig_start(&r, &n.network, &request);
    rig_step(&r);
    const stk__tensor *grad = stk__model_find(r.model, "head.weight")->grad;
    float once[5], now[5];
    memcpy(once, grad->memory, sizeof once);
    r.feed.add_gradients = true;
    r.feed.grad_scale = 0.5;
    rig_step(&r);
    memcpy(now, grad->memory, sizeof now);
    for (int i = 0; i < 5; i++)
        assert_true(fabsf(now[i] - 1.5F * once[i]) <= 1e-6F * fabsf(now[i]) && once[i] != 0);
    r.feed.add_gradients = false;
    r.feed.grad_scale = 0;
    rig_step(&r);
    assert_memory_equal(grad->memory, once, sizeof once);
    rig_close(&r);
}

static void dropout_follows_seed_epoch_and_ids(void **state)
{
    (void)state;
    net n;
    net_branches(&n);
    stk__pass_request request = {.training = true};
    rig r;
    rig_start(&r, &n.network, &request);
    const double loss = rig_loss(&r);
    assert_true(rig_loss(&r) == loss);
    r.feed.epoch++;
    const double later = rig_loss(&r);
    assert_true(later != loss);
    r.feed.epoch--;
    r.feed.seed++;
    assert_true(rig_loss(&r) != loss);
    r.feed.seed--;
    ((int64_t *)r.feed.sample_ids->memory)[0] += 100;
    assert_true(rig_loss(&r) != loss);
    rig_close(&r);
}

static void sums_that_are_not_wanted_are_not_computed(void **state)
{
    (void)state;
    net n;
    net_branches(&n);
    stk__pass_request request = {0};
    rig r;
    rig_start(&r, &n.network, &request);
    rig_loss(&r);
    double sums[STK_LOSS_SUMS];
    memcpy(sums, r.feed.loss_sums->memory, sizeof sums);
    stk__pass_feed bare = {.input = r.feed.input};
    assert_int_equal(stk__pass_forward(r.pass, &bare, NULL), STK_OK);
    assert_memory_equal(r.feed.loss_sums->memory, sums, sizeof sums);
    rig_close(&r);
    request.loss = request.metric = (stk__op_spec){0};
    rig_open(&r, &n.network, &request);
    request.loss.kind = request.metric.kind = STK_OP_CONV; /* none */
    assert_int_equal(rig_make(&r, &request, false, NULL), STK_OK);
    bare.input = r.feed.input;
    assert_int_equal(stk__pass_forward(r.pass, &bare, NULL), STK_OK);
    assert_int_equal(stk__tensor_describe(stk__pass_output(r.pass))->shape.dim[3], NET_CLASSES);
    rig_close(&r);
}

static void a_pass_follows_swapped_averages(void **state)
{
    (void)state;
    net n;
    net_windows(&n);
    stk__pass_request request = {0};
    rig r;
    rig_open(&r, &n.network, &request);
    assert_int_equal(rig_make(&r, &request, true, NULL), STK_OK);
    const double loss = rig_loss(&r);
    memset(stk__model_find(r.model, "head.weight")->average->memory, 0, 5 * sizeof(float));
    assert_true(rig_loss(&r) == loss);
    stk__model_swap_average(r.model);
    assert_true(rig_loss(&r) != loss);
    stk__model_swap_average(r.model);
    assert_true(rig_loss(&r) == loss);
    rig_close(&r);
}

/* Two passes of one network take turns in one arena. */
static void passes_share_network_model_and_arena(void **state)
{
    (void)state;
    net n;
    net_branches(&n);
    stk__pass_request request = {.training = true};
    rig r;
    rig_start(&r, &n.network, &request);
    request.training = false;
    request.input.dim[0] = 1;
    stk__pass *small;
    assert_int_equal(stk__pass_create(&small, &request, NULL), STK_OK);
    assert_true(stk__pass_size(small) <= stk__pass_size(r.pass));
    assert_int_equal(stk__pass_bind(small, r.model, r.arena, NULL), STK_OK);
    const double loss = rig_loss(&r);
    stk_tensor one;
    assert_int_equal(stk__tensor_map(r.feed.input, &one, NULL), STK_OK);
    one.shape[0] = 1;
    stk__pass_feed feed = {0};
    assert_int_equal(stk__tensor_wrap(r.engine, &one, &feed.input, NULL), STK_OK);
    assert_int_equal(stk__pass_forward(small, &feed, NULL), STK_OK);
    assert_int_equal(stk__tensor_describe(stk__pass_output(small))->shape.dim[0], 1);
    assert_true(rig_loss(&r) == loss);
    assert_int_equal(stk__pass_bind(small, r.model, r.arena, NULL), STK_OK); /* once more is no harm */
    stk__tensor_destroy(&feed.input);
    stk__pass_destroy(&small);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_add_up),
        cmocka_unit_test(dropout_follows_seed_epoch_and_ids),
        cmocka_unit_test(sums_that_are_not_wanted_are_not_computed),
        cmocka_unit_test(a_pass_follows_swapped_averages),
        cmocka_unit_test(passes_share_network_model_and_arena),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
