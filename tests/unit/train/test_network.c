/* SPDX-License-Identifier: Apache-2.0 */
/* Network files: shapes and parameter counts of the shipped networks against published ones, options,
 * blocks, loops, and every layer setting. */
#include "network_helpers.h"

#include <time.h>
#include <unistd.h>

typedef struct shipped_fact {
    const char *name, *task;
    stk__shape input;
    int64_t params;
    double gflops_least, gflops_most; /* of one forward pass */
    const char *output;
} shipped_fact;

/* Parameters: U-Net as published by many at width 32; torchvision's resnet18 with 10 classes has 11,181,642;
 * one input channel instead of three has 64 x 7 x 7 x 2 less. HRNet's authors publish 21.3 M and 41.2 M for
 * classification: without last_layer there are 9,562,260 and 29,305,536 here, and their head for it has
 * 11,736,744 and 11,927,144. */
static const shipped_fact shipped[] = {
    {"unet", "segmentation", {4, {4, 256, 256, 3}}, 7763635, 90, 110, "4 x 256 x 256 x 19"},
    {"locator", "points", {4, {16, 160, 320, 3}}, 3359798, 18, 24, "16 x 40 x 80 x 6"},
    {"resnet", "classification", {4, {32, 128, 128, 1}}, 11181642 - 6272, 35, 42, "32 x 10"},
    {"lstm", "regression", {3, {256, 60, 5}}, 201345, 6, 6.3, "256 x 1"},
    {"hrnet_w18", "segmentation", {4, {1, 256, 256, 3}}, 9641119, 9, 10, "1 x 256 x 256 x 19"},
    {"hrnet_w32", "segmentation", {4, {1, 256, 256, 3}}, 29546515, 22, 24, "1 x 256 x 256 x 19"},
};
enum { SHIPPED = sizeof shipped / sizeof shipped[0] };

static stk__network *network_shipped(const shipped_fact *fact)
{
    const stk__network_setting facts[] = {{"image_h", fact->input.dim[1]}, {"image_w", fact->input.dim[2]}};
    return network_of(&(stk__network_request){.name = fact->name, .facts = facts, .fact_count = 2});
}

/* The data's task if the network has it, else its first one. */
static void the_data_chooses_the_task(void **state)
{
    (void)state;
    static const struct {
        stk__task data, taken;
        int64_t outputs;
    } rows[] = {{STK_TASK_CLASSIFICATION, STK_TASK_CLASSIFICATION, 10},
                {STK_TASK_IMAGE_REGRESSION, STK_TASK_IMAGE_REGRESSION, 1},
                {STK_TASK_POINTS, STK_TASK_CLASSIFICATION, 10}};
    for (int i = 0; i < 3; i++) {
        const stk__network_setting fact = {"num_classes", rows[i].outputs};
        stk__network *network = network_of(&(stk__network_request){
            .name = "resnet", .task = &rows[i].data, .facts = &fact, .fact_count = 1});
        assert_int_equal(network->task, rows[i].taken);
        const bool affine = strcmp(network->layers[network->output].name, "output") == 0;
        assert_int_equal(affine, rows[i].outputs == 1);
        stk__network_destroy(&network);
    }
}

static void shipped_networks_have_their_shapes(void **state)
{
    (void)state;
    for (int i = 0; i < SHIPPED; i++) {
        assert_string_equal(stk__network_names(i), shipped[i].name);
        stk__network *network = network_shipped(&shipped[i]);
        char place[64];
        const bool also = strcmp(shipped[i].name, "hrnet_w32") == 0; /* in the file of the other one */
        snprintf(place, sizeof place, "models/%s.yaml", also ? "hrnet_w18" : shipped[i].name);
        assert_string_equal(network->name, shipped[i].name);
        assert_string_equal(network->place, place);
        assert_string_equal(stk__task_word(network->task), shipped[i].task);
        assert_true(network->about[0] && network->option_count > 0);
        stk__op_form *forms = forms_of(network, shipped[i].input);
        int64_t params = 0;
        double flops = 0;
        for (int k = 0; k < network->layer_count; k++) {
            flops += forms[k].flops;
            for (int p = 0; p < forms[k].param_count; p++)
                params += stk__shape_count(&forms[k].param[p].shape);
        }
        assert_int_equal(params, shipped[i].params);
        assert_true(flops > shipped[i].gflops_least * 1e9 && flops < shipped[i].gflops_most * 1e9);
        check_shape(&forms[network->output].output, shipped[i].output);
        free(forms);
        stk__network_destroy(&network);
        assert_null(network);
    }
    assert_null(stk__network_names(SHIPPED));
    assert_null(stk__network_names(-1));
}

/* The loss must stay right when a bias is there, but it would be learnt for nothing. */
static void no_bias_before_a_batch_norm(void **state)
{
    (void)state;
    for (int i = 0; i < SHIPPED; i++) {
        stk__network *network = network_shipped(&shipped[i]);
        for (int k = 0; k < network->layer_count; k++) {
            const stk__layer *layer = &network->layers[k];
            if (layer->spec.kind != STK_OP_BATCH_NORM) continue;
            if (strcmp(layer->name, "last_layer.1") == 0) continue; /* HRNet as published; it has an option */
            assert_true(network->layers[layer->input[0]].spec.no_bias);
        }
        stk__network_destroy(&network);
    }
}

static void unet_joins_its_levels(void **state)
{
    (void)state;
    const stk__network_setting settings[] = {{"width", 8}, {"depth", 2}};
    stk__network *network =
        network_of(&(stk__network_request){.name = "unet", .settings = settings, .setting_count = 2});
    check_inputs(network, "down1.conv1", "input");
    check_inputs(network, "pool1", "down1.relu2");
    check_inputs(network, "middle.conv1", "pool2");
    check_inputs(network, "up2.up", "middle.relu2");
    check_inputs(network, "up2.skip", "down2.relu2 up2.up");
    check_inputs(network, "up1.skip", "down1.relu2 up1.up");
    check_inputs(network, "head", "up1.relu2");
    assert_int_equal(network->output, network->layer_count - 1);
    assert_int_equal(layer_of(network, "middle.conv1")->spec.channels, 32);
    assert_int_equal(network->multiple, 4);
    stk__network_destroy(&network);
}

static void resnet_has_the_names_of_torchvision(void **state)
{
    (void)state;
    stk__network *network = network_of(&(stk__network_request){.name = "resnet"});
    check_inputs(network, "conv1", "input");
    check_inputs(network, "layer1.0.conv1", "maxpool");
    check_inputs(network, "layer1.0.add", "layer1.0.bn2 maxpool");
    check_inputs(network, "layer2.0.downsample.0", "layer1.1.relu2");
    check_inputs(network, "layer2.0.downsample.1", "layer2.0.downsample.0");
    check_inputs(network, "layer2.0.add", "layer2.0.bn2 layer2.0.downsample.1");
    check_inputs(network, "layer4.1.add", "layer4.1.bn2 layer4.0.relu2");
    check_inputs(network, "fc", "avgpool");
    stk__network_destroy(&network);
}

static const stk__network_option *option_of(const stk__network *network, const char *name)
{
    for (int i = 0; i < network->option_count; i++)
        if (strcmp(network->options[i].name, name) == 0) return &network->options[i];
    fail_msg("no option '%s'", name);
    return NULL;
}

static void the_user_goes_before_the_data_before_the_default(void **state)
{
    (void)state;
    const stk__network_setting facts[] = {{"num_classes", 7}, {"image_h", 64}, {"width", 5}};
    const stk__network_setting settings[] = {{"num_classes", 5}};
    stk__network_request request = {.name = "unet", .facts = facts, .fact_count = 2};
    stk__network *network = network_of(&request);
    assert_int_equal(option_of(network, "num_classes")->value, 7);
    assert_false(option_of(network, "num_classes")->asked);
    assert_int_equal(option_of(network, "width")->value, 32);
    assert_int_equal(option_of(network, "width")->least, 1);
    assert_int_equal(option_of(network, "width")->most, 1024);
    assert_non_null(strstr(option_of(network, "width")->help, "channels"));
    assert_int_equal(layer_of(network, "head")->spec.channels, 7);
    stk__network_destroy(&network);
    request.settings = settings;
    request.setting_count = 1;
    network = network_of(&request);
    assert_int_equal(option_of(network, "num_classes")->value, 5);
    assert_true(option_of(network, "num_classes")->asked);
    assert_false(option_of(network, "depth")->asked);
    assert_int_equal(layer_of(network, "head")->spec.channels, 5);
    stk__network_destroy(&network);
}

static void dropout_of_the_lstm_is_there_when_asked_for(void **state)
{
    (void)state;
    const stk__network_setting settings[] = {{"dropout", 25}, {"layers", 3}, {"hidden", 16}};
    stk__network *network =
        network_of(&(stk__network_request){.name = "lstm", .settings = settings, .setting_count = 3});
    assert_true(layer_of(network, "drop")->spec.drop == 0.25);
    assert_int_equal(layer_of(network, "lstm")->spec.layers, 3);
    assert_int_equal(layer_of(network, "lstm")->spec.hidden, 16);
    assert_true(layer_of(network, "lstm")->spec.last);
    check_inputs(network, "lstm", "input");
    assert_int_equal(layer_of(network, "lstm")->input[0], layer_index(network, "input"));
    check_inputs(network, "head", "drop");
    stk__network_destroy(&network);
}

static void every_setting_reaches_its_field(void **state)
{
    (void)state;
    stk__network *network = network_text(
        HEAD
        "layers:\n"
        "  - {op: conv, name: a, channels: 8, kernel: [3, 5], stride: [1, 2], pad: [1, 2], dilation: [1, 1],"
        " groups: 1, bias: false}\n"
        "  - {op: conv_transpose, name: b, channels: 4, kernel: 2, stride: 2, bias: 1 == 1}\n"
        "  - {op: batch_norm, name: c, eps: 1e-3, momentum: 0.5}\n"
        "  - {op: resize, name: d, mode: nearest, size: [4, 6]}\n"
        "  - {op: resize, name: e, scale: 2}\n"
        "  - {op: dropout, name: f, drop: 0.25}\n"
        "  - {op: max_pool, name: g, kernel: 2, stride: 1, pad: 1}\n"
        "  - {op: dropout, name: h, percent: 10}\n"
        "  - {op: global_pool, name: i}\n"
        "  - {op: linear, name: j, channels: 3, bias: false}\n");
    const stk__op_spec *a = &layer_of(network, "a")->spec;
    assert_true(a->channels == 8 && a->kernel[0] == 3 && a->kernel[1] == 5 && a->stride[0] == 1);
    assert_true(a->stride[1] == 2 && a->pad[0] == 1 && a->pad[1] == 2 && a->dilation[1] == 1);
    assert_true(a->groups == 1 && a->no_bias && a->inputs == 1);
    const stk__op_spec *b = &layer_of(network, "b")->spec;
    assert_true(b->kernel[0] == 2 && b->kernel[1] == 2 && b->stride[1] == 2 && !b->no_bias);
    const stk__op_spec *c = &layer_of(network, "c")->spec;
    assert_true(c->eps == 1e-3 && c->momentum == 0.5);
    const stk__op_spec *d = &layer_of(network, "d")->spec;
    assert_true(d->resize == STK_RESIZE_NEAREST && d->size[0] == 4 && d->size[1] == 6);
    const stk__op_spec *e = &layer_of(network, "e")->spec;
    assert_true(e->resize == STK_RESIZE_BILINEAR && e->scale[0] == 2 && e->scale[1] == 2);
    assert_true(layer_of(network, "f")->spec.drop == 0.25 && layer_of(network, "h")->spec.drop == 0.1);
    assert_int_equal(layer_of(network, "f")->spec.random_layer, 0);
    assert_int_equal(layer_of(network, "h")->spec.random_layer, 1);
    const stk__op_spec *g = &layer_of(network, "g")->spec;
    assert_true(g->kernel[1] == 2 && g->stride[0] == 1 && g->pad[1] == 1);
    assert_true(layer_of(network, "j")->spec.no_bias);
    assert_int_equal(layer_of(network, "c")->line, 6);
    stk__network_destroy(&network);
}

static void blocks_have_names_and_inputs_of_their_own(void **state)
{
    (void)state;
    stk__network *network =
        network_text(HEAD "blocks:\n"
                          "  inner: {layers: [{op: relu, name: x}, {op: add, name: y, in: [x, in]}]}\n"
                          "  outer:\n"
                          "    options: [k]\n"
                          "    layers:\n"
                          "      - {op: add, name: a, in: [in2, in1]}\n"
                          "      - {block: inner, name: deep}\n"
                          "      - {op: concat, name: b, in: [deep, x, a, before, input]}\n"
                          "      - {op: conv, name: c, channels: k}\n"
                          "layers:\n"
                          "  - {op: tanh, name: x}\n"
                          "  - {op: relu, name: r}\n"
                          "  - {block: outer, name: top, k: 2 + 1, in: [r, x]}\n"
                          "  - {op: relu, name: end}\n");
    check_inputs(network, "top.a", "x r");
    check_inputs(network, "top.deep.x", "top.a");
    check_inputs(network, "top.deep.y", "top.deep.x top.a");
    check_inputs(network, "top.b", "top.deep.y x top.a top.deep.y input");
    check_inputs(network, "end", "top.c");
    assert_int_equal(layer_of(network, "top.c")->spec.channels, 3);
    stk__network_destroy(&network);
}

static void what_is_left_out_stands_for_its_input(void **state)
{
    (void)state;
    stk__network *network =
        network_text(HEAD "options: {n: {default: 0, least: 0}}\n"
                          "blocks: {twice: {layers: [{op: relu, name: u}, {op: relu, name: v, when: n}]}}\n"
                          "layers:\n"
                          "  - {op: relu, name: a}\n"
                          "  - {op: tanh, name: b, when: n > 0}\n"
                          "  - {op: conv, name: c, channels: 1 / n, when: n != 0}\n" /* not computed */
                          "  - {block: twice, name: d, when: n, in: a}\n"
                          "  - {for: {i: [1, 3]}, when: n, layers: [{op: gelu, name: \"e{i}\"}]}\n"
                          "  - {for: {i: [1, n]}, layers: [{op: gelu, name: \"f{i}\"}]}\n"
                          "  - {op: add, name: g, in: [b, before]}\n"
                          "  - {block: twice, name: h}\n"
                          "  - {op: add, name: i, in: [h, h.v]}\n");
    assert_int_equal(network->layer_count, 4);
    check_inputs(network, "g", "a a");
    check_inputs(network, "h.u", "g");
    check_inputs(network, "i", "h.u h.u");
    stk__network_destroy(&network);
}

static void loops_turn_both_ways(void **state)
{
    (void)state;
    stk__network *network = network_text(HEAD "layers:\n"
                                              "  - for: {i: [1, 2]}\n"
                                              "    layers:\n"
                                              "      - for: {k: [i * 10, 0, -5]}\n"
                                              "        layers: [{op: relu, name: \"n{i}_{k / 5 + 1}\"}]\n"
                                              "output: n2_1\n");
    static const char *const names[] = {"n1_3", "n1_2", "n1_1", "n2_5", "n2_4", "n2_3", "n2_2", "n2_1"};
    assert_int_equal(network->layer_count, 8);
    for (int i = 0; i < 8; i++)
        assert_string_equal(network->layers[i].name, names[i]);
    stk__network_destroy(&network);
}

static void facts_are_known_in_expressions(void **state)
{
    (void)state;
    const stk__network_setting facts[] = {{"image_h", 48}, {"image_w", 64}};
    stk__network *network = network_of(&(stk__network_request){
        .text =
            "name: t\ntask: segmentation\n"
            "layers: [{op: resize, name: r, size: [image_h, image_w]}, {op: conv, name: c, channels: 2}]\n",
        .facts = facts,
        .fact_count = 2});
    assert_int_equal(layer_of(network, "r")->spec.size[0], 48);
    assert_int_equal(layer_of(network, "r")->spec.size[1], 64);
    stk__network_destroy(&network);
}

/* Every pass shapes the network again, for its own batch. */
static void a_network_can_be_shaped_again(void **state)
{
    (void)state;
    stk__network *network =
        network_text("name: t\ntask: segmentation\n"
                     "layers: [{op: conv, name: c, channels: 2}, {op: resize, name: r, scale: 2}]\n");
    stk__op_form *forms = forms_of(network, (stk__shape){4, {1, 8, 6, 3}});
    check_shape(&forms[1].output, "1 x 16 x 12 x 2");
    free(forms);
    forms = forms_of(network, (stk__shape){4, {5, 4, 4, 3}});
    check_shape(&forms[1].output, "5 x 8 x 8 x 2");
    check_shape(&network->layers[1].spec.input[0], "5 x 4 x 4 x 2");
    free(forms);
    stk__network_destroy(&network);
}

static void reading_is_fast(void **state)
{
    (void)state;
    for (int i = 0; i < SHIPPED; i++) {
        double best_ms = 1e9, most_ms = 0;
        for (int turn = 0; turn < 10; turn++) {
            struct timespec start, end;
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
            stk__network *network = network_shipped(&shipped[i]);
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
            most_ms = 5 + 0.02 * network->layer_count; /* under sanitizers, too */
            stk__network_destroy(&network);
            const double ms =
                (double)(end.tv_sec - start.tv_sec) * 1e3 + (double)(end.tv_nsec - start.tv_nsec) * 1e-6;
            if (ms < best_ms) best_ms = ms;
        }
        if (best_ms > most_ms) fail_msg("%s: %.1f ms of CPU", shipped[i].name, best_ms);
    }
}

static void a_file_is_read(void **state)
{
    (void)state;
    char path[] = "/tmp/stk_network_XXXXXX";
    const char text[] = HEAD "layers: [{op: relu, name: a}]\n";
    const int file = mkstemp(path);
    assert_true(file >= 0 && write(file, text, sizeof text - 1) == sizeof text - 1 && close(file) == 0);
    stk__network *network = network_of(&(stk__network_request){.file = path});
    assert_string_equal(network->place, path);
    assert_int_equal(network->layer_count, 1);
    stk__network_destroy(&network);
    stk__network_destroy(&network);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shipped_networks_have_their_shapes),
        cmocka_unit_test(the_data_chooses_the_task),
        cmocka_unit_test(no_bias_before_a_batch_norm),
        cmocka_unit_test(unet_joins_its_levels),
        cmocka_unit_test(resnet_has_the_names_of_torchvision),
        cmocka_unit_test(the_user_goes_before_the_data_before_the_default),
        cmocka_unit_test(dropout_of_the_lstm_is_there_when_asked_for),
        cmocka_unit_test(every_setting_reaches_its_field),
        cmocka_unit_test(blocks_have_names_and_inputs_of_their_own),
        cmocka_unit_test(what_is_left_out_stands_for_its_input),
        cmocka_unit_test(loops_turn_both_ways),
        cmocka_unit_test(facts_are_known_in_expressions),
        cmocka_unit_test(a_network_can_be_shaped_again),
        cmocka_unit_test(reading_is_fast),
        cmocka_unit_test(a_file_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
