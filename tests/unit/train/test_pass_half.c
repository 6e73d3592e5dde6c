/* SPDX-License-Identifier: Apache-2.0 */
/* Passes whose activations have 16 bits: half the memory, the same bits in any memory, gradients as good as
 * the type, and where numbers are not finite first. */
#include "pass_helpers.h"

static const stk_dtype types[] = {STK_DTYPE_BF16, STK_DTYPE_F16};

/* Two branches of the input whose sum is the prediction: its gradient is f32, theirs are not. So small that
 * both have the same size in memory. */
static void net_sum(net *n)
{
    *n = (net){.network = {.task = STK_TASK_CLASSIFICATION}};
    const int mean = net_op(n, "mean", STK_OP_GLOBAL_POOL, STK_LAYER_INPUT);
    const int a = net_add(n, "a", (stk__op_spec){.kind = STK_OP_LINEAR, .channels = NET_CLASSES}, mean, 0);
    const int b = net_add(n, "b", (stk__op_spec){.kind = STK_OP_LINEAR, .channels = NET_CLASSES}, mean, 0);
    net_add(n, "sum", (stk__op_spec){.kind = STK_OP_ADD}, a, b);
}

typedef void (*maker)(net *n);
static const maker makers[] = {net_branches, net_blocks, net_odd, net_windows, net_sum};
enum { MAKERS = sizeof makers / sizeof makers[0] };

static void any_memory_gives_the_same_bits(void **state)
{
    (void)state;
    for (int m = 0; m < MAKERS; m++)
        for (int k = 0; k < 4; k++) {
            net n;
            rig r[2];
            stk__pass_request apart = {.training = true, .unshared = true, .half = types[k % 2]};
            stk__pass_request shared = {
                .training = true, .poison = true, .recompute = k > 1, .half = types[k % 2]};
            makers[m](&n);
            rig_start(&r[0], &n.network, &apart);
            rig_start(&r[1], &n.network, &shared);
            rig_compare(r, true);
            rig_close(&r[0]);
            rig_close(&r[1]);
        }
}

/* Of all gradients together: length of the difference, measured by their own. */
static double distance(const stk__model *a, const stk__model *b)
{
    double far = 0, length = 0;
    for (int t = 0; t < a->count; t++) {
        if (!a->tensors[t].grad) continue;
        const float *x = a->tensors[t].grad->memory, *y = b->tensors[t].grad->memory;
        for (int64_t i = 0; i < stk__shape_count(&a->tensors[t].desc.shape); i++) {
            far += ((double)x[i] - y[i]) * ((double)x[i] - y[i]);
            length += (double)x[i] * x[i];
        }
    }
    return sqrt(far / length);
}

/* Each layer is good to half a unit of the type's last place, each way; where a pool's winner or a relu
 * changes, to more. */
static void gradients_are_as_good_as_the_type(void **state)
{
    (void)state;
    for (int m = 0; m < MAKERS; m++)
        for (int k = 0; k < 2; k++) {
            net n;
            rig r[2];
            stk__pass_request wide = {.training = true}, half = {.training = true, .half = types[k]};
            makers[m](&n);
            rig_start(&r[0], &n.network, &wide);
            rig_start(&r[1], &n.network, &half);
            const double unit = k == 0 ? 0x1p-8 : 0x1p-11, loss[] = {rig_loss(&r[0]), rig_loss(&r[1])};
            assert_true(fabs(loss[0] - loss[1]) <= 4 * unit * fabs(loss[0]) && loss[0] != loss[1]);
            rig_step(&r[0]);
            rig_step(&r[1]);
            const double away = distance(r[0].model, r[1].model) / unit;
            if (!(away <= 16)) fail_msg("gradients of network %d are %g units away", m, away);
            rig_close(&r[0]);
            rig_close(&r[1]);
        }
}

static void activations_take_half(void **state)
{
    (void)state;
    net n;
    rig r[2];
    stk__pass_request wide = {.training = true, .unshared = true},
                      half = {.training = true, .unshared = true, .half = STK_DTYPE_BF16};
    net_branches(&n);
    rig_start(&r[0], &n.network, &wide);
    rig_start(&r[1], &n.network, &half);
    const stk__pass_report *a = stk__pass_describe(r[0].pass), *b = stk__pass_describe(r[1].pass);
    for (int i = 0; i < a->row_count; i++)
        assert_int_equal(b->rows[i].output_bytes * (i == n.network.output ? 1 : 2), a->rows[i].output_bytes);
    assert_true((double)(b->unshared_bytes - b->scratch_bytes) <
                0.65 * (double)(a->unshared_bytes - a->scratch_bytes));
    assert_true(stk__pass_output(r[1].pass)->desc.dtype == STK_DTYPE_F32);
    stk__buffer text = {0};
    assert_int_equal(stk__pass_print(r[1].pass, &n.network, 0, &text, NULL), STK_OK);
    assert_int_equal(stk__buffer_append(&text, "", 1, NULL), STK_OK);
    assert_non_null(strstr((char *)text.data, " without sharing, in bf16)"));
    stk__buffer_fini(&text);
    rig_close(&r[0]);
    rig_close(&r[1]);
}

static void run_watched(rig *r, stk__pass_fault *fault)
{
    *fault = (stk__pass_fault){0};
    r->feed.fault = fault;
    assert_int_equal(stk__pass_forward(r->pass, &r->feed, NULL), STK_OK);
    assert_int_equal(stk__pass_backward(r->pass, &r->feed, NULL), STK_OK);
    r->feed.fault = NULL;
}

/* Put into layer k, found in layer k. */
static void the_first_fault_is_found(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++) { /* f32, too */
        net n;
        rig r;
        stk__pass_fault fault;
        stk__pass_request request = {
            .training = true, .recompute = k == 1, .half = k ? types[k - 1] : STK_DTYPE_NONE};
        net_branches(&n);
        rig_start(&r, &n.network, &request);
        run_watched(&r, &fault);
        assert_null(fault.layer);
        for (int i = 0; i < r.model->count; i++) {
            const stk__model_tensor *tensor = &r.model->tensors[i];
            float *value = tensor->value->memory;
            const float was = *value;
            if (tensor->buffer) continue;
            *value = INFINITY;
            run_watched(&r, &fault);
            *value = was;
            assert_string_equal(fault.layer, n.layers[tensor->layer].name);
            assert_string_equal(fault.what, "output");
        }
        float *input = r.feed.input->memory;
        input[7] = NAN;
        run_watched(&r, &fault);
        assert_string_equal(fault.what, "the input");
        input[7] = 0;
        r.feed.grad_scale = INFINITY;
        run_watched(&r, &fault);
        assert_string_equal(fault.layer, "head");
        assert_string_equal(fault.what, "gradient of the loss");
        r.feed.grad_scale = 1e9; /* the loss's gradient is f32: the next one overflows, in fp16 only */
        run_watched(&r, &fault);
        if (request.half == STK_DTYPE_F16) {
            assert_string_equal(fault.layer, "head");
            assert_string_equal(fault.what, "gradient");
        } else {
            assert_null(fault.layer);
        }
        r.feed.grad_scale = 0;
        rig_close(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_memory_gives_the_same_bits),
        cmocka_unit_test(gradients_are_as_good_as_the_type),
        cmocka_unit_test(activations_take_half),
        cmocka_unit_test(the_first_fault_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
