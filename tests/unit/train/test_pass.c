/* SPDX-License-Identifier: Apache-2.0 */
/* Passes compute what a network says: gradients, whatever the plan of memory is. */
#include "pass_helpers.h"

typedef void (*net_maker)(net *n);
static const net_maker makers[] = {net_branches, net_blocks, net_odd, net_windows};
enum { MAKERS = sizeof makers / sizeof makers[0] };

static void gradients_are_slopes(void **state)
{
    (void)state;
    for (int m = 0; m < MAKERS; m++) {
        if (makers[m] == net_blocks) continue; /* its kinks have no slope; other tests cover it */
        net n;
        makers[m](&n);
        stk__pass_request request = {.training = true, .poison = true};
        rig r;
        rig_start(&r, &n.network, &request);
        rig_step(&r);
        for (int i = 0; i < r.model->count; i++)
            if (r.model->tensors[i].grad) check_gradient(&r, &r.model->tensors[i]);
        rig_close(&r);
    }
}

static void compare_runs(net_maker make, stk__pass_request a, stk__pass_request b)
{
    net n[2];
    rig r[2];
    make(&n[0]);
    make(&n[1]);
    rig_start(&r[0], &n[0].network, &a);
    rig_start(&r[1], &n[1].network, &b);
    rig_compare(r, a.training);
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
    rig_start(&r, &n.network, &request);
    float before[RIG_SAMPLES * 8 * 8 * 3];
    assert_int_equal(stk__tensor_read(r.feed.input, before, sizeof before, NULL), STK_OK);
    rig_step(&r);
    assert_memory_equal(before, r.feed.input->memory, sizeof before);
    rig_close(&r);
}

static size_t size_of(net_maker make, stk__pass_request request, stk__pass_report *report)
{
    net n;
    make(&n);
    rig r;
    rig_start(&r, &n.network, &request);
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
    rig_start(&r, &n.network, &request);
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
        cmocka_unit_test(gradients_are_slopes),        cmocka_unit_test(memory_changes_nothing),
        cmocka_unit_test(the_input_is_only_read),      cmocka_unit_test(sharing_and_recomputing_save_memory),
        cmocka_unit_test(rows_say_what_lies_in_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
