/* Passes compute what a network says: gradients, whatever the plan of memory is. */
#include "pass_helpers.h"

#include <math.h>
#include <stdio.h>

typedef void (*net_maker)(net *n);
static const net_maker makers[] = {net_branches, net_blocks, net_odd, net_windows};
enum { MAKERS = sizeof makers / sizeof makers[0] };

/* The slope of the loss along a random direction of one tensor, from both sides. */
static double measure_slope(rig *r, stk__tensor *tensor, const float *direction, float step)
{
    const int64_t count = stk__shape_count(&tensor->desc.shape);
    float *value = tensor->memory, *keep = malloc((size_t)count * sizeof *keep);
    memcpy(keep, value, (size_t)count * sizeof *keep);
    double loss[2];
    for (int side = 0; side < 2; side++) {
        for (int64_t i = 0; i < count; i++)
            value[i] = keep[i] + (side ? step : -step) * direction[i];
        loss[side] = rig_loss(r);
    }
    memcpy(value, keep, (size_t)count * sizeof *keep);
    free(keep);
    return (loss[1] - loss[0]) / (2.0 * step);
}

static void check_gradient(rig *r, const stk__model_tensor *tensor)
{
    const int64_t count = stk__shape_count(&tensor->desc.shape);
    const float *gradient = tensor->grad->memory;
    float *direction = malloc((size_t)count * sizeof *direction);
    double want = 0, length = 0;
    for (int64_t i = 0; i < count; i++) {
        direction[i] = gradient[i] + 1e-3F * (float)(i % 7); /* mostly uphill, so that slopes are not small */
        length += (double)direction[i] * direction[i];
    }
    for (int64_t i = 0; i < count; i++) {
        direction[i] = (float)(direction[i] / sqrt(length));
        want += (double)direction[i] * gradient[i];
    }
    const double have = measure_slope(r, tensor->value, direction, 2e-3F);
    if (fabs(have - want) > 2e-3 * fabs(want) + 1e-5)
        fail_msg("%s: slope %.9g, gradient %.9g", tensor->name, have, want);
    free(direction);
}

static void gradients_are_slopes(void **state)
{
    (void)state;
    for (int m = 0; m < MAKERS; m++) {
        if (makers[m] == net_blocks) continue; /* its kinks have no slope; other tests cover it */
        net n;
        makers[m](&n);
        stk__pass_request request = {.training = true, .poison = true};
        rig r;
        rig_start(&r, &n, &request);
        rig_step(&r);
        for (int i = 0; i < r.model->count; i++)
            if (r.model->tensors[i].grad) check_gradient(&r, &r.model->tensors[i]);
        rig_close(&r);
    }
}

/* Two steps each; predictions, sums, gradients and buffers of both must be the same. */
static void compare_runs(net_maker make, stk__pass_request a, stk__pass_request b)
{
    net first, second;
    make(&first);
    make(&second);
    rig r[2];
    rig_start(&r[0], &first, &a);
    rig_start(&r[1], &second, &b);
    for (int step = 0; step < 2; step++) {
        for (int i = 0; i < 2; i++)
            rig_loss(&r[i]);
        assert_true(same_bits(stk__pass_output(r[0].pass), stk__pass_output(r[1].pass)));
        for (int i = 0; a.training && i < 2; i++) {
            assert_int_equal(stk__pass_backward(r[i].pass, &r[i].feed, NULL), STK_OK);
            r[i].feed.add_gradients = true;
        }
        assert_true(same_bits(r[0].feed.loss_sums, r[1].feed.loss_sums));
        assert_true(same_bits(r[0].feed.metric_sums, r[1].feed.metric_sums));
        assert_true(same_bits(r[0].feed.input, r[1].feed.input));
    }
    assert_int_equal(r[0].model->count, r[1].model->count);
    for (int i = 0; i < r[0].model->count; i++) {
        const stk__model_tensor *x = &r[0].model->tensors[i], *y = &r[1].model->tensors[i];
        if (!same_bits(x->value, y->value)) fail_msg("%s differs", x->name);
        if (a.training && x->grad && !same_bits(x->grad, y->grad))
            fail_msg("gradient of %s differs", x->name);
    }
    rig_close(&r[0]);
    rig_close(&r[1]);
}

static void memory_changes_nothing(void **state)
{
    (void)state;
    for (int m = 0; m < MAKERS; m++)
        for (int training = 0; training < 2; training++)
            for (int recompute = 0; recompute <= training; recompute++)
                for (int poison = 0; poison < 2; poison++) {
                    const stk__pass_request apart = {.training = training, .unshared = true};
                    const stk__pass_request shared = {
                        .training = training, .recompute = recompute, .poison = poison};
                    compare_runs(makers[m], apart, shared);
                }
}

static void the_input_is_only_read(void **state)
{
    (void)state;
    net n;
    net_odd(&n);
    stk__pass_request request = {.training = true};
    rig r;
    rig_start(&r, &n, &request);
    float before[RIG_SAMPLES * 8 * 8 * 3];
    assert_int_equal(stk__tensor_read(r.feed.input, before, sizeof before, NULL), STK_OK);
    rig_step(&r);
    assert_memory_equal(before, r.feed.input->memory, sizeof before);
    rig_close(&r);
}

/* --- freezing ----------------------------------------------------------------------------------------------
 */

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
    rig_start(&r, &n, &request);
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
    rig_start(&r, &n, &request);
    spy_on(&r);
    rig_step(&r);
    assert_int_equal(spy.adds, 3);
    assert_int_equal(spy.copies, 0);
    assert_int_equal(spy.backward, n.network.layer_count - 3);
    assert_int_equal(spy.wanted_inputs, n.network.layer_count - 3 - 1); /* not the network's input */
    r.engine->ops = &stk__engine_reference;
    rig_close(&r);
}

/* Gradients of what is left are those of the whole; frozen layers without batch norm change nothing else. */
static void freezing_leaves_the_other_gradients(void **state)
{
    (void)state;
    net n[2];
    net_branches(&n[0]);
    net_branches(&n[1]);
    stk__pass_request whole = {.training = true}, part = {.training = true, .freeze = "stem.conv down.conv*"};
    rig r[2];
    rig_start(&r[0], &n[0], &whole);
    rig_start(&r[1], &n[1], &part);
    int compared = 0;
    rig_step(&r[0]);
    rig_step(&r[1]);
    for (int i = 0; i < r[0].model->count; i++) {
        const stk__model_tensor *x = &r[0].model->tensors[i], *y = &r[1].model->tensors[i];
        assert_true(same_bits(x->value, y->value));
        if (y->grad) assert_true(same_bits(x->grad, y->grad));
        compared += y->grad != NULL;
    }
    assert_int_equal(compared, 2 + 2 + 2 + 2);
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
    rig_start(&r[0], &n[0], &train);
    rig_start(&r[1], &n[1], &eval);
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

/* --- the feed ----------------------------------------------------------------------------------------------
 */

static void gradients_add_up(void **state)
{
    (void)state;
    net n;
    net_windows(&n);
    n.layers[2].spec.drop = 0;
    stk__pass_request request = {.training = true};
    rig r;
    rig_start(&r, &n, &request);
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
    rig_start(&r, &n, &request);
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
    rig_start(&r, &n, &request);
    rig_loss(&r);
    double sums[STK_LOSS_SUMS];
    memcpy(sums, r.feed.loss_sums->memory, sizeof sums);
    stk__pass_feed bare = {.input = r.feed.input};
    assert_int_equal(stk__pass_forward(r.pass, &bare, NULL), STK_OK);
    assert_memory_equal(r.feed.loss_sums->memory, sums, sizeof sums);
    rig_close(&r);
    request.loss = request.metric = (stk__op_spec){0};
    rig_open(&r, &n, &request);
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
    rig_open(&r, &n, &request);
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
    rig_start(&r, &n, &request);
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

/* --- memory ------------------------------------------------------------------------------------------------
 */

static size_t size_of(net_maker make, stk__pass_request request, stk__pass_report *report)
{
    net n;
    make(&n);
    rig r;
    rig_start(&r, &n, &request);
    const size_t size = stk__pass_size(r.pass);
    if (report) *report = *stk__pass_describe(r.pass);
    rig_close(&r);
    return size;
}

static void sharing_and_recomputing_save_memory(void **state)
{
    (void)state;
    stk__pass_report apart, shared, again, eval;
    size_of(net_blocks, (stk__pass_request){.training = true, .unshared = true}, &apart);
    size_of(net_blocks, (stk__pass_request){.training = true}, &shared);
    size_of(net_blocks, (stk__pass_request){.training = true, .recompute = true}, &again);
    size_of(net_blocks, (stk__pass_request){.recompute = true}, &eval);
    assert_int_equal(apart.activation_bytes, apart.unshared_bytes);
    assert_int_equal(shared.unshared_bytes, apart.unshared_bytes);
    assert_true(2 * shared.activation_bytes < apart.activation_bytes);
    assert_true(shared.activation_bytes >= shared.least_bytes);
    assert_true(again.activation_bytes < shared.activation_bytes && again.recomputed_layers > 0);
    assert_true(again.step_flops > shared.step_flops && again.flops == shared.flops);
    assert_true(2 * eval.activation_bytes < shared.activation_bytes && eval.recomputed_layers == 0);
    assert_true(eval.step_flops == eval.flops);
    assert_true(shared.step_flops > 2 * shared.flops && shared.step_flops < 3 * shared.flops);
}

static void rows_say_what_lies_in_place(void **state)
{
    (void)state;
    net n;
    net_blocks(&n);
    stk__pass_request request = {.training = true};
    rig r;
    rig_start(&r, &n, &request);
    const stk__pass_report *report = stk__pass_describe(r.pass);
    assert_int_equal(report->row_count, n.network.layer_count);
    assert_int_equal(report->param_count, r.model->param_count);
    for (int i = 0; i < report->row_count; i++) {
        const stk__pass_row *row = &report->rows[i];
        const bool in_place =
            strstr(row->layer, "relu") || strstr(row->layer, "sum") || strcmp(row->layer, "drop") == 0;
        assert_string_equal(row->word, stk__op_word(n.layers[i].spec.kind));
        if ((row->output_bytes == 0) != in_place) fail_msg("%s: %zu", row->layer, row->output_bytes);
        assert_int_equal(row->line, i + 1);
    }
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_slopes),
        cmocka_unit_test(memory_changes_nothing),
        cmocka_unit_test(the_input_is_only_read),
        cmocka_unit_test(nothing_before_the_first_trained_layer_has_a_gradient),
        cmocka_unit_test(a_residual_block_needs_one_sum_and_no_copy),
        cmocka_unit_test(freezing_leaves_the_other_gradients),
        cmocka_unit_test(frozen_batch_norms_compute_as_in_evaluation),
        cmocka_unit_test(gradients_add_up),
        cmocka_unit_test(dropout_follows_seed_epoch_and_ids),
        cmocka_unit_test(sums_that_are_not_wanted_are_not_computed),
        cmocka_unit_test(a_pass_follows_swapped_averages),
        cmocka_unit_test(passes_share_network_model_and_arena),
        cmocka_unit_test(sharing_and_recomputing_save_memory),
        cmocka_unit_test(rows_say_what_lies_in_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
