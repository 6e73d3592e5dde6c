/* SPDX-License-Identifier: Apache-2.0 */
/* Fused passes compute what plain ones do, to the bit, on every engine, in any memory. */
#include "pass_helpers.h"

enum { RANDOM_NETS = 30 };

typedef void (*net_maker)(net *n, uint64_t seed);

static void make_blocks(net *n, uint64_t seed)
{
    (void)seed;
    net_blocks(n);
}

/* A relu whose input somebody else reads, one behind the network's input, two behind each other, one behind
 * a batch norm at the end, and one behind what cannot do its work. */
static void make_traps(net *n, uint64_t seed)
{
    (void)seed;
    *n = (net){.network = {.task = STK_TASK_SEGMENTATION}};
    int at = net_op(n, "raw", STK_OP_RELU, STK_LAYER_INPUT);
    at = net_conv(n, "conv", at, 4, 3);
    at = net_op(n, "plain", STK_OP_RELU, at);
    const int shared = net_op(n, "bn1", STK_OP_BATCH_NORM, at);
    const int passed = net_op(n, "relu1", STK_OP_RELU, shared);
    at = net_add(n, "sum", (stk__op_spec){.kind = STK_OP_ADD}, shared, passed);
    at = net_op(n, "relu2", STK_OP_RELU, at);
    at = net_op(n, "relu3", STK_OP_RELU, at);
    at = net_conv(n, "head", at, NET_CLASSES, 1);
    at = net_op(n, "bn2", STK_OP_BATCH_NORM, at);
    net_op(n, "relu4", STK_OP_RELU, at);
}

/* Three residual blocks: each sum is computed by the batch norm before it, and gradients meet behind two
 * relus. */
static void make_residuals(net *n, uint64_t seed)
{
    static const char *const names[3][5] = {
        {"c0", "b0", "r0", "s0", "t0"}, {"c1", "b1", "r1", "s1", "t1"}, {"c2", "b2", "r2", "s2", "t2"}};
    static const char *const seconds[3][2] = {{"d0", "e0"}, {"d1", "e1"}, {"d2", "e2"}};
    (void)seed;
    *n = (net){.network = {.task = STK_TASK_SEGMENTATION}};
    int in = net_conv(n, "stem", STK_LAYER_INPUT, 4, 3);
    for (int i = 0; i < 3; i++) {
        int at = net_conv(n, names[i][0], in, 4, 3);
        at = net_op(n, names[i][1], STK_OP_BATCH_NORM, at);
        at = net_op(n, names[i][2], STK_OP_RELU, at);
        at = net_conv(n, seconds[i][0], at, 4, 3);
        at = net_op(n, seconds[i][1], STK_OP_BATCH_NORM, at);
        at = net_add(n, names[i][3], (stk__op_spec){.kind = STK_OP_ADD}, i == 1 ? in : at, i == 1 ? at : in);
        in = net_op(n, names[i][4], STK_OP_RELU, at);
    }
    net_conv(n, "head", in, NET_CLASSES, 1);
}

static uint32_t roll(uint64_t seed, int draw, uint32_t bound)
{
    return stk__random_draw((stk__random_at){.seed = seed, .draw = (uint32_t)draw}).word[0] % bound;
}

/* Layers of one width, so that any two can be added; inputs at random, mostly the last. */
static void make_random(net *n, uint64_t seed)
{
    static const stk__op_kind kinds[] = {STK_OP_BATCH_NORM, STK_OP_RELU,    STK_OP_RELU, STK_OP_ADD,
                                         STK_OP_CONV,       STK_OP_DROPOUT, STK_OP_TANH, STK_OP_BATCH_NORM};
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"};
    *n = (net){.network = {.task = STK_TASK_SEGMENTATION}};
    net_conv(n, "stem", STK_LAYER_INPUT, 4, 3);
    for (int i = 0; i < 12; i++) {
        const int last = n->network.layer_count - 1;
        const int a = roll(seed, 3 * i, 8) ? last : (int)roll(seed, 3 * i + 1, (uint32_t)last + 1);
        const stk__op_kind kind = kinds[roll(seed, 3 * i + 2, 8)];
        if (kind == STK_OP_ADD)
            net_add(n, names[i], (stk__op_spec){.kind = kind}, a,
                    (int)roll(seed, 100 + i, (uint32_t)last + 1));
        else if (kind == STK_OP_CONV)
            net_conv(n, names[i], a, 4, 1);
        else
            net_op(n, names[i], kind, a);
    }
    net_conv(n, "head", n->network.layer_count - 1, NET_CLASSES, 1);
}

static int count_fused(const stk__pass *pass)
{
    const stk__pass_report *report = stk__pass_describe(pass);
    int count = 0;
    for (int i = 0; i < report->row_count; i++)
        count += report->rows[i].fused != NULL;
    return count;
}

static int joined_layers, joined_gradients; /* of all passes that were compared */

/* Returns how many relus were fused. */
static int compare(net_maker make, uint64_t seed, stk__pass_request fused)
{
    stk__pass_request plain = {.training = fused.training, .unshared = true, .freeze = fused.freeze};
    net n;
    rig r[2];
    fused.fuse = fused.poison = true;
    make(&n, seed);
    rig_start(&r[0], &n.network, &plain);
    rig_start(&r[1], &n.network, &fused);
    rig_compare(r, fused.training);
    const int count = count_fused(r[1].pass);
    joined_layers += stk__pass_describe(r[1].pass)->joined_layers;
    joined_gradients += stk__pass_describe(r[1].pass)->joined_gradients;
    assert_int_equal(stk__pass_describe(r[0].pass)->joined_layers, 0);
    assert_int_equal(count_fused(r[0].pass), 0);
    rig_close(&r[0]);
    rig_close(&r[1]);
    return count;
}

static void compare_residuals(stk__pass_request request)
{
    const bool joins = strcmp(rig_engine, "onednn") == 0 && !request.recompute;
    const int layers = joined_layers, gradients = joined_gradients;
    assert_int_equal(compare(make_residuals, 0, request), 6);
    assert_int_equal(joined_layers - layers, joins ? 3 : 0);
    if (!request.recompute)
        assert_int_equal(joined_gradients - gradients, 2); /* else layers may come between */
}

static void compare_all(void)
{
    int random = 0;
    joined_layers = joined_gradients = 0;
    for (int recompute = 0; recompute < 2; recompute++) {
        const stk__pass_request request = {.training = true, .recompute = recompute};
        assert_int_equal(compare(make_blocks, 0, request), 6);
        assert_int_equal(compare(make_traps, 0, request), 2);
        compare_residuals(request);
        for (uint64_t seed = 0; seed < RANDOM_NETS; seed++)
            random += compare(make_random, seed, request);
    }
    print_message("%s: %d relus of random networks fused, %d sums and %d gradients joined\n", rig_engine,
                  random, joined_layers, joined_gradients);
    assert_true(random > RANDOM_NETS);
    assert_int_equal(compare(make_blocks, 0, (stk__pass_request){.training = false}), 6);
    assert_int_equal(compare(make_traps, 0, (stk__pass_request){.training = false}), 2);
    assert_int_equal(
        compare(make_blocks, 0, (stk__pass_request){.training = true, .freeze = "stem b0 b1.bn1"}), 6);
}

/* Asked to fuse, an engine that cannot does not. */
static void expect_nothing_fused(void)
{
    stk__pass_request request = {.training = true, .fuse = true};
    net n;
    rig r;
    net_blocks(&n);
    rig_start(&r, &n.network, &request);
    assert_int_equal(count_fused(r.pass), 0);
    rig_step(&r);
    rig_close(&r);
}

static void fused_passes_have_the_same_bits(void **state)
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
        const bool fuses = stk__engine_describe(engine)->fuses;
        stk__engine_close(&engine);
        rig_engine = options.name;
        if (fuses)
            compare_all();
        else
            expect_nothing_fused();
    }
    rig_engine = "reference";
}

static const stk__pass_row *find_row(const stk__pass *pass, const char *layer)
{
    const stk__pass_report *report = stk__pass_describe(pass);
    for (int i = 0; i < report->row_count; i++)
        if (strcmp(report->rows[i].layer, layer) == 0) return &report->rows[i];
    fail_msg("no row '%s'", layer);
    return NULL;
}

static void the_plan_says_what_is_fused(void **state)
{
    (void)state;
    stk__pass_request request = {.training = true, .fuse = true};
    stk__buffer text = {0};
    net n;
    rig r;
    net_blocks(&n);
    rig_start(&r, &n.network, &request);
    assert_string_equal(find_row(r.pass, "b0.bn1")->word, "batch_norm + relu");
    assert_string_equal(find_row(r.pass, "b0.bn2")->word, "batch_norm");
    assert_string_equal(find_row(r.pass, "b0.sum")->word, "add + relu");
    assert_string_equal(find_row(r.pass, "b0.relu2")->fused, "b0.sum");
    assert_int_equal(stk__pass_print(r.pass, &n.network, 0, &text, NULL), STK_OK);
    assert_int_equal(stk__buffer_append(&text, "", 1, NULL), STK_OK);
    assert_non_null(strstr((const char *)text.data, "fused into b0.bn1\n"));
    assert_non_null(strstr((const char *)text.data, "batch_norm + relu"));
    assert_null(strstr((const char *)text.data, "not used"));
    stk__buffer_fini(&text);
    rig_close(&r);
}

/* The tensor after a batch norm is one, not two that share memory; arithmetic is counted once. */
static void fusing_takes_no_more_memory(void **state)
{
    (void)state;
    stk__pass_request requests[] = {{.training = true}, {.training = true, .fuse = true}};
    stk__pass_report report[2];
    for (int i = 0; i < 2; i++) {
        net n;
        rig r;
        net_blocks(&n);
        rig_start(&r, &n.network, &requests[i]);
        report[i] = *stk__pass_describe(r.pass);
        rig_close(&r);
    }
    assert_true(report[1].activation_bytes <= report[0].activation_bytes);
    assert_true(report[1].unshared_bytes < report[0].unshared_bytes);
    assert_true(report[1].flops == report[0].flops);
    assert_int_equal(report[1].param_count, report[0].param_count);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fused_passes_have_the_same_bits),
        cmocka_unit_test(the_plan_says_what_is_fused),
        cmocka_unit_test(fusing_takes_no_more_memory),
    };
    return cmocka_run_group_tests_name("pass_fuse", tests, NULL, NULL);
}
