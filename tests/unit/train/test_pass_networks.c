/* SPDX-License-Identifier: Apache-2.0 */
/* The shipped networks: their plans change no bit, and are printed for people to read. */
#include "pass_helpers.h"

#include <stdio.h>

static const stk__network_setting facts[] = {
    {"image_h", 8}, {"image_w", 8},  {"image_c", 3}, {"num_classes", NET_CLASSES},
    {"points", 2},  {"features", 3}, {"window", 6}};

/* As small as it can be. */
static stk__network *read_small(const char *name)
{
    const stk__network_setting width[] = {{"width", 2}, {"depth", 1}, {"stem", 2}},
                               hidden[] = {{"hidden", 4}};
    const bool lstm = strcmp(name, "lstm") == 0, hrnet = strncmp(name, "hrnet", 5) == 0;
    const stk__network_request request = {.name = name,
                                          .facts = facts,
                                          .fact_count = sizeof facts / sizeof facts[0],
                                          .settings = lstm ? hidden : width,
                                          .setting_count = lstm    ? 1
                                                           : hrnet ? 3
                                                                   : 2};
    stk__network *network;
    stk_error error = {0};
    if (stk__network_read(&network, &request, &error) != STK_OK) fail_msg("%s", error.message);
    return network;
}

static int compare_networks(bool recompute, stk_dtype half)
{
    int recomputed = 0;
    for (int i = 0; stk__network_names(i); i++) {
        if (strcmp(stk__network_names(i), "hrnet_w32") == 0) continue; /* at this width it is hrnet_w18 */
        stk__network *network = read_small(stk__network_names(i));
        stk__pass_request apart = {.training = true, .unshared = true, .half = half};
        stk__pass_request shared = {
            .training = true, .recompute = recompute, .fuse = recompute, .poison = true, .half = half};
        rig r[2];
        rig_start(&r[0], network, &apart);
        rig_start(&r[1], network, &shared);
        rig_compare(r, true);
        recomputed += stk__pass_describe(r[1].pass)->recomputed_layers;
        rig_close(&r[0]);
        rig_close(&r[1]);
        stk__network_destroy(&network);
    }
    return recomputed;
}

static void shipped_networks_compute_the_same_in_any_memory(void **state)
{
    (void)state;
    for (int i = 0; stk__engine_names(i); i++) {
        stk__engine *engine;
        stk_error error = {0};
        const stk__engine_options options = {.name = stk__engine_names(i)};
        if (stk__engine_open(&engine, &options, &error) != STK_OK) {
            print_message("not on %s: %s\n", options.name, error.message);
            continue;
        }
        const bool half = stk__engine_describe(engine)->f16 != STK_HALF_NONE;
        stk__engine_close(&engine);
        rig_engine = options.name;
        assert_int_equal(compare_networks(false, STK_DTYPE_NONE), 0);
        assert_true(compare_networks(true, STK_DTYPE_NONE) > 20);
        if (half) assert_true(compare_networks(true, STK_DTYPE_F16) > 20);
    }
    rig_engine = "reference";
}

static const char expected[] =
    "hand: classification, for a test\n"
    "\n"
    "layer  op           output         parameters  MFLOP    memory\n"
    "stem   conv         2 x 8 x 8 x 4         112  < 0.1    2.0 kB  frozen\n"
    "bn     batch_norm   2 x 8 x 8 x 4           8  < 0.1    2.1 kB\n"
    "relu   relu         2 x 8 x 8 x 4              < 0.1  in place\n"
    "pool   global_pool  2 x 4                      < 0.1      64 B\n"
    "head   linear       2 x 3                  15  < 0.1      64 B\n"
    "\n"
    "parameters   135 (112 frozen)\n"
    "arithmetic   32.8 kFLOP forward, 39.1 kFLOP per step\n"
    "gradient_checkpointing\n"
    "  false              6.3 kB of activations, 39.1 kFLOP per step  (in effect)\n"
    "  true               6.3 kB of activations, 39.1 kFLOP per step\n"
    "memory\n"
    "  parameters          960 B\n"
    "  gradients           256 B\n"
    "  optimizer           256 B\n"
    "  activations        6.3 kB  (10.6 kB without sharing)\n"
    "  total              7.7 kB\n";

static void the_table_is_readable(void **state)
{
    (void)state;
    net n = {0};
    int at = net_conv(&n, "stem", STK_LAYER_INPUT, 4, 3);
    at = net_op(&n, "bn", STK_OP_BATCH_NORM, at);
    at = net_op(&n, "relu", STK_OP_RELU, at);
    at = net_op(&n, "pool", STK_OP_GLOBAL_POOL, at);
    net_add(&n, "head", (stk__op_spec){.kind = STK_OP_LINEAR, .channels = NET_CLASSES}, at, 0);
    n.network.task = STK_TASK_CLASSIFICATION;
    n.network.about = "for a test";
    stk__pass_request request = {.training = true, .freeze = "stem"};
    rig r;
    rig_start(&r, &n.network, &request);
    stk__buffer text = {0};
    assert_int_equal(stk__pass_print(r.pass, &n.network, 0, &text, NULL), STK_OK);
    assert_int_equal(stk__buffer_append(&text, "", 1, NULL), STK_OK);
    assert_string_equal((char *)text.data, expected);
    stk__buffer_fini(&text);
    rig_close(&r);
}

static void print_plan(stk__pass_request request, const char *network_name, stk__buffer *text)
{
    stk__network *network = read_small(network_name);
    rig r;
    rig_open(&r, network, &request);
    assert_int_equal(stk__pass_create(&r.pass, &request, NULL), STK_OK); /* without a model */
    assert_int_equal(stk__pass_print(r.pass, network, 0, text, NULL), STK_OK);
    assert_int_equal(stk__buffer_append(text, "", 1, NULL), STK_OK);
    rig_close(&r);
    stk__network_destroy(&network);
}

/* Both rows of the trade: less memory for more arithmetic, and the second is what the pass does. */
static void check_trade(const char *text)
{
    const char *rows = strstr(text, "gradient_checkpointing\n");
    double bytes[2], flops[2];
    int layers, end = 0;
    assert_non_null(rows);
    assert_int_equal(
        sscanf(rows,
               "gradient_checkpointing false %lf kB of activations, %lf kFLOP per step true %lf kB of "
               "activations, %lf kFLOP per step, %d layers recomputed (in effect)%n",
               &bytes[0], &flops[0], &bytes[1], &flops[1], &layers, &end),
        5);
    assert_true(end > 0 && layers > 0);
    assert_true(bytes[1] < 0.9 * bytes[0] && flops[1] > flops[0] && flops[1] < 1.5 * flops[0]);
}

static void the_table_tells_what_is_computed_again(void **state)
{
    (void)state;
    stk__buffer train = {0}, eval = {0};
    print_plan((stk__pass_request){.training = true, .recompute = true}, "unet", &train);
    print_plan((stk__pass_request){0}, "unet", &eval);
    assert_non_null(strstr((char *)train.data, "  recomputed\n"));
    assert_non_null(strstr((char *)train.data, " layers recomputed\n"));
    assert_non_null(strstr((char *)train.data, "FLOP per step with "));
    check_trade((char *)train.data);
    assert_null(strstr((char *)eval.data, "recomputed"));
    assert_null(strstr((char *)eval.data, "per step"));
    assert_null(strstr((char *)eval.data, "gradients"));
    assert_null(strstr((char *)eval.data, "total"));
    stk__buffer_fini(&train);
    stk__buffer_fini(&eval);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shipped_networks_compute_the_same_in_any_memory),
        cmocka_unit_test(the_table_is_readable),
        cmocka_unit_test(the_table_tells_what_is_computed_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
