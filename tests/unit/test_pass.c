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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_slopes),
        cmocka_unit_test(memory_changes_nothing),
        cmocka_unit_test(the_input_is_only_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
