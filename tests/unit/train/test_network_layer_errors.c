/* SPDX-License-Identifier: Apache-2.0 */
/* What can be wrong with blocks, with the settings of a layer, and with shapes. */
#include "network_rows.h"

static const error_row settings_rows[] = {
    {LAYERS "  - {op: conv, name: a}\n", "4:5", "layer 'a' (conv): 'channels' is missing", NULL},
    {LAYERS "  - {op: conv, name: a, chanels: 3}\n", "4:25", "layer 'a' (conv): it has no setting 'chanels'",
     "did you mean 'channels'?"},
    {LAYERS "  - {op: conv, name: a, channels: 3, zzzzzzz: 1}\n", "4:38",
     "layer 'a' (conv): it has no setting 'zzzzzzz'",
     "its settings: channels kernel stride pad dilation groups bias"},
    {LAYERS "  - {op: relu, name: a, zzzzzzz: 1}\n", "4:25", "layer 'a' (relu): it has no setting 'zzzzzzz'",
     "it has no settings"},
    {LAYERS "  - {op: conv, name: a, channels: max(3, 4)}\n", "4:40",
     "layer 'a' (conv): channels: the expression ends where ',' should follow",
     "put an expression with commas into quotes"},
    {LAYERS "  - {op: conv, name: a, channels: 0}\n", "4:35",
     "layer 'a' (conv): channels is 0; 1 to 1048576 are possible", NULL},
    {LAYERS "  - {op: conv, name: a, channels: 7 / 2}\n", "4:37",
     "layer 'a' (conv): channels: 7 / 2 is not an integer", NULL},
    {LAYERS "  - {op: conv, name: a, channels: 2 ^ 40}\n", "4:35",
     "layer 'a' (conv): channels is 1099511627776; 1 to 1048576 are possible", NULL},
    {LAYERS "  - {op: conv, name: a, channels: [3, 4]}\n", "4:35",
     "layer 'a' (conv): 'channels' must be a single value, not a list", NULL},
    {LAYERS "  - {op: conv, name: a, channels: 3, kernel: [1, 2, 3]}\n", "4:46",
     "layer 'a' (conv): kernel is a number, or two in a list: [h, w]", NULL},
    {LAYERS "  - {op: conv, name: a, channels: 3, kernel: [1, 0]}\n", "4:50",
     "layer 'a' (conv): kernel is 0; 1 to 1024 are possible", NULL},
    {LAYERS "  - {op: conv, name: a, channels: 3, kernel: {}}\n", "4:46",
     "layer 'a' (conv): 'kernel' must be a single value, not a map", NULL},
    {LAYERS "  - {op: conv, name: a, channels: 3, stride: 0}\n", "4:46",
     "layer 'a' (conv): stride is 0; 1 to 1024 are possible", NULL},
    {LAYERS "  - {op: conv, name: a, channels: 3, pad: -1}\n", "4:43",
     "layer 'a' (conv): pad is -1; 0 to 1024 are possible", NULL},
    {LAYERS "  - {op: conv, name: a, channels: 3, bias: yes}\n", "4:44",
     "layer 'a' (conv): bias: there is no option, fact or loop variable 'yes'", "write true or false"},
    {LAYERS "  - {op: conv, name: a, channels: 3, bias: 2}\n", "4:44",
     "layer 'a' (conv): bias is 2; 0 to 1 are possible", NULL},
    {LAYERS "  - {op: conv, name: a, channels: image_h}\n", "4:35",
     "layer 'a' (conv): channels: the data has no 'image_h'", NULL},
    {LAYERS "  - {op: conv_transpose, name: a, channels: 3, groups: 2}\n", "4:48",
     "layer 'a' (conv_transpose): it has no setting 'groups'",
     "its settings: channels kernel stride pad dilation bias"},
    {LAYERS "  - {op: batch_norm, name: a, eps: 0}\n", "4:36",
     "layer 'a' (batch_norm): eps is '0'; a number from 1e-30 to 1 is expected", NULL},
    {LAYERS "  - {op: batch_norm, name: a, eps: x}\n", "4:36",
     "layer 'a' (batch_norm): eps is 'x'; a number from 1e-30 to 1 is expected", NULL},
    {LAYERS "  - {op: batch_norm, name: a, momentum: nan}\n", "4:41",
     "layer 'a' (batch_norm): momentum is 'nan'; a number from 1e-30 to 1 is expected", NULL},
    {LAYERS "  - {op: batch_norm, name: a, momentum: [1]}\n", "4:41",
     "layer 'a' (batch_norm): 'momentum' must be a single value, not a list", NULL},
    {LAYERS "  - {op: max_pool, name: a}\n", "4:5", "layer 'a' (max_pool): 'kernel' is missing", NULL},
    {LAYERS "  - {op: resize, name: a}\n", "4:5",
     "layer 'a' (resize): exactly one of these must be there: size scale", NULL},
    {LAYERS "  - {op: resize, name: a, size: 2, scale: 2}\n", "4:5",
     "layer 'a' (resize): exactly one of these must be there: size scale", NULL},
    {LAYERS "  - {op: resize, name: a, scale: 2, mode: cubic}\n", "4:43",
     "layer 'a' (resize): mode is 'cubic'; bilinear and nearest are possible", NULL},
    {LAYERS "  - {op: resize, name: a, scale: 2, mode: [nearest]}\n", "4:43",
     "layer 'a' (resize): 'mode' must be a single value, not a list", NULL},
    {LAYERS "  - {op: dropout, name: a}\n", "4:5",
     "layer 'a' (dropout): exactly one of these must be there: drop percent", NULL},
    {LAYERS "  - {op: dropout, name: a, drop: 1}\n", "4:34",
     "layer 'a' (dropout): drop is '1'; a number from 0 to 0.999 is expected", NULL},
    {LAYERS "  - {op: dropout, name: a, percent: 100}\n", "4:37",
     "layer 'a' (dropout): percent is 100; 0 to 99 are possible", NULL},
    {LAYERS "  - {op: lstm, name: a}\n", "4:5", "layer 'a' (lstm): 'hidden' is missing", NULL},
    {LAYERS "  - {op: lstm, name: a, hidden: 3, layers: 5}\n", "4:44",
     "layer 'a' (lstm): layers is 5; 1 to 4 are possible", NULL},
    {LAYERS "  - {op: conv, name: a, chanels: 3, when: 0}\n", "4:25",
     "layer 'a' (conv): it has no setting 'chanels'", "did you mean 'channels'?"},
};

static const error_row blocks_rows[] = {
    {HEAD "blocks: [a]\n"
          "layers: [{op: relu, name: a}]\n",
     "3:9", "'blocks' must be a map, not a list", NULL},
    {HEAD "blocks:\n"
          "  2b: {layers: []}\n"
          "layers:\n"
          "  - {op: relu, name: a}\n",
     "4:3", "'2b' is not a name for a block", NULL},
    {HEAD "blocks:\n"
          "  b: 3\n"
          "layers:\n"
          "  - {op: relu, name: a}\n",
     "4:6", "block 'b': 'b' must be a map, not a single value", NULL},
    {HEAD "blocks:\n"
          "  b: {}\n"
          "layers:\n"
          "  - {op: relu, name: a}\n",
     "4:6", "block 'b': 'layers' is missing", NULL},
    {HEAD "blocks:\n"
          "  b: {layer: []}\n"
          "layers:\n"
          "  - {op: relu, name: a}\n",
     "4:7", "block 'b': 'layer' is not a key of a block: options and layers are", NULL},
    {HEAD "blocks:\n"
          "  b: {layers: []}\n"
          "layers:\n"
          "  - {op: relu, name: a}\n",
     "4:15", "'layers' is empty", NULL},
    {HEAD "blocks:\n"
          "  b: {options: 3, layers: []}\n"
          "layers:\n"
          "  - {op: relu, name: a}\n",
     "4:16", "block 'b': 'options' must be a list, not a single value", NULL},
    {HEAD "blocks:\n"
          "  b: {options: [[a]], layers: []}\n"
          "layers:\n"
          "  - {op: relu, name: a}\n",
     "4:17", "block 'b': a single value is expected here, not a list", NULL},
    {HEAD "blocks:\n"
          "  b: {options: [a, a], layers: []}\n"
          "layers:\n"
          "  - {op: relu, name: a}\n",
     "4:20", "block 'b': duplicate option 'a'", NULL},
    {HEAD "blocks:\n"
          "  b: {options: [when], layers: []}\n"
          "layers:\n"
          "  - {op: relu, name: a}\n",
     "4:17", "block 'b': an option of a block cannot be called 'when'", NULL},
    {HEAD "blocks:\n"
          "  b: {options: [1a], layers: []}\n"
          "layers:\n"
          "  - {op: relu, name: a}\n",
     "4:17", "block 'b': an option of a block cannot be called '1a'", NULL},
    {HEAD "options: {w: {default: 1}}\n"
          "blocks: {b: {options: [w], layers: []}}\n"
          "layers: [{op: relu, name: a}]\n",
     "4:24", "block 'b': 'w' is an option of the network already",
     "blocks see the network's options; give this one another name"},
    {HEAD "blocks:\n"
          "  b: {options: [o0, o1, o2, o3, o4, o5, o6, o7, o8, o9, o10, o11, o12, o13, o14, o15, o16], "
          "layers: []}\n"
          "layers:\n"
          "  - {op: relu, name: a}\n",
     "4:16", "block 'b': more than 16 options", NULL},
    {HEAD "blocks:\n"
          "  unit: {layers: [{op: relu, name: a}]}\n"
          "layers:\n"
          "  - {block: unti, name: x}\n",
     "6:13", "block 'x' (unti): there is no block 'unti'", "did you mean 'unit'?"},
    {HEAD "blocks:\n"
          "  unit: {layers: [{op: relu, name: a}]}\n"
          "layers:\n"
          "  - {block: relu, name: x}\n",
     "6:13", "block 'x' (relu): there is no block 'relu'",
     "'relu' is an operation: write op instead of block"},
    {HEAD "blocks:\n"
          "  unit: {layers: [{op: relu, name: a}]}\n"
          "layers:\n"
          "  - {block: unit}\n",
     "6:5", "block (unit): 'name' is missing", NULL},
    {HEAD "blocks:\n"
          "  unit: {layers: [{op: relu, name: a}]}\n"
          "layers:\n"
          "  - {block: [unit], name: a}\n",
     "6:13", "block 'a': 'block' must be a single value, not a list", NULL},
    {HEAD "blocks:\n"
          "  unit: {options: [c], layers: [{op: conv, name: a, channels: c}]}\n"
          "layers:\n"
          "  - {block: unit, name: x}\n",
     "6:5", "block 'x' (unit): 'c' is missing, an option of this block", NULL},
    {HEAD "blocks:\n"
          "  unit: {options: [channels], layers: [{op: conv, name: a, channels: channels}]}\n"
          "layers:\n"
          "  - {block: unit, name: x, channels: 3, chanels: 3}\n",
     "6:41", "block 'x' (unit): it has no option 'chanels'", "did you mean 'channels'?"},
    {HEAD "blocks:\n"
          "  unit: {options: [c], layers: [{op: conv, name: a, channels: c}]}\n"
          "layers:\n"
          "  - {block: unit, name: x, c: max(1, 2)}\n",
     "6:38", "block 'x' (unit): it has no option '2)'", "put an expression with commas into quotes"},
    {HEAD "blocks:\n"
          "  unit: {options: [c], layers: [{op: conv, name: a, channels: c}]}\n"
          "layers:\n"
          "  - {block: unit, name: x, c: 3 / 2}\n",
     "6:33", "block 'x' (unit): c: 3 / 2 is not an integer", NULL},
    {HEAD "blocks:\n"
          "  unit: {options: [c], layers: [{op: conv, name: a, channels: c / 2}]}\n"
          "layers:\n"
          "  - {block: unit, name: x, c: 3}\n",
     "4:65", "layer 'x.a' (conv): channels: 3 / 2 is not an integer", NULL},
    {HEAD "blocks:\n"
          "  unit: {layers: [{op: relu, name: a}]}\n"
          "layers:\n"
          "  - {block: unit, name: x, in: [input, input]}\n",
     "6:5", "block 'x' (unit): it takes 1 input, not 2", NULL},
    {HEAD "blocks:\n"
          "  unit: {layers: [{op: add, name: a, in: [in, in2]}]}\n"
          "layers:\n"
          "  - {block: unit, name: x}\n",
     "6:5", "block 'x' (unit): it takes 2 inputs, not 1", NULL},
    {HEAD "blocks:\n"
          "  unit: {layers: [{op: add, name: a, in: [in, 'in{1 + 1}']}]}\n"
          "layers:\n"
          "  - {block: unit, name: x}\n",
     "4:48", "layer 'x.a' (add): there is no 'in{1 + 1}': the block was given 1 input", NULL},
    {HEAD "blocks:\n"
          "  unit: {layers: [{op: relu, name: aaa}, {op: relu, name: b, in: aab}]}\n"
          "layers:\n"
          "  - {block: unit, name: x}\n",
     "4:66", "layer 'x.b' (relu): no layer 'aab' is above it", "did you mean 'aaa'?"},
    {HEAD "blocks:\n"
          "  a: {layers: [{block: a, name: x}]}\n"
          "layers:\n"
          "  - {op: relu, name: a}\n",
     "4:24", "block 'x' (a): the block 'a' uses itself", NULL},
    {HEAD "blocks:\n"
          "  a: {layers: [{block: b, name: x}]}\n"
          "  b: {layers: [{for: {i: [1, 2]}, layers: [{block: a, name: y}]}]}\n"
          "layers:\n"
          "  - {op: relu, name: a}\n",
     "5:52", "block 'y' (a): the block 'a' uses itself", NULL},
    {HEAD "blocks:\n"
          "  a: {layers: [{op: rellu, name: x}]}\n"
          "layers:\n"
          "  - {op: relu, name: a}\n",
     "4:21", "layer 'x' (rellu): there is no operation 'rellu'", "did you mean 'relu'?"},
    {HEAD "blocks:\n"
          "  unit: {layers: [{op: relu, name: a}]}\n"
          "layers:\n"
          "  - {block: unit, name: x}\n"
          "  - {op: relu, name: x}\n",
     "7:5", "layer 'x' (relu): duplicate name 'x'",
     "the first is in line 6; inside a loop, put {its variable} into the name"},
    {HEAD "blocks:\n"
          "  unit: {layers: [{op: relu, name: a}]}\n"
          "layers:\n"
          "  - {op: relu, name: x}\n"
          "  - {block: unit, name: x}\n",
     "7:5", "block 'x' (unit): duplicate name 'x'",
     "the first is in line 6; inside a loop, put {its variable} into the name"},
    {HEAD "blocks:\n"
          "  unit: {layers: [{op: relu, name: a}]}\n"
          "layers:\n"
          "  - {for: {i: [1, 2]}, layers: [{block: unit, name: 'x{j}'}]}\n",
     "6:56", "block 'x{j}' (unit): name: there is no option, fact or loop variable 'j'", NULL},
    {HEAD "blocks:\n"
          "  unit: {options: [c, d], layers: [{op: conv, name: a, channels: c}]}\n"
          "layers:\n"
          "  - {block: unit, name: x, c: 1, d: 1}\n",
     "4:23", "nothing in the block 'unit' uses its option 'd'", NULL},
};

static void settings(void **state)
{
    (void)state;
    CHECK_ROWS(settings_rows);
}

static void blocks(void **state)
{
    (void)state;
    CHECK_ROWS(blocks_rows);
}

typedef struct shape_row {
    const char *task, *layers;
    stk__shape input;
    const char *place, *message, *hint;
} shape_row;

static const shape_row shape_rows[] = {
    {"segmentation",
     "[{op: conv, name: a, channels: 2, kernel: 5}]",
     {4, {1, 4, 8, 3}},
     "text:3",
     "layer 'a' (conv): the kernel is larger than its input [1 x 4 x 8 x 3]",
     ""},
    {"segmentation",
     "[{op: relu, name: a},\n  {op: max_pool, name: b, kernel: 2},\n"
     "  {op: add, name: c, in: [b, a]}]",
     {4, {1, 4, 8, 3}},
     "text:5",
     "layer 'c' (add): shape mismatch: its inputs [1 x 2 x 4 x 3] and [1 x 4 x 8 x 3] differ",
     ""},
    {"segmentation",
     "[{op: global_pool, name: a}]",
     {4, {2, 4, 8, 3}},
     "text:3",
     "layer 'a' (global_pool): segmentation needs an output of shape [n h w classes], not [2 x 3]",
     ""},
    {"points",
     "[{op: global_pool, name: a}]",
     {4, {2, 4, 8, 3}},
     "text:3",
     "layer 'a' (global_pool): points need an output of shape [n h w 3k], k heat maps and then k offsets, "
     "not [2 x "
     "3]",
     ""},
    {"points",
     "[{op: conv, name: a, channels: 4}]",
     {4, {2, 4, 8, 3}},
     "text:3",
     "layer 'a' (conv): points need an output of shape [n h w 3k], k heat maps and then k offsets, not [2 x "
     "4 x 8 "
     "x 4]",
     ""},
    {"classification",
     "[{op: relu, name: a}]",
     {4, {2, 4, 8, 3}},
     "text:3",
     "layer 'a' (relu): classification needs an output of shape [n classes], not [2 x 4 x 8 x 3]",
     ""},
    {"regression",
     "[{op: linear, name: a, channels: 2}]",
     {2, {2, 4}},
     "text:3",
     "layer 'a' (linear): regression needs an output of shape [n 1], not [2 x 2]",
     ""},
    {"regression",
     "[{op: lstm, name: a, hidden: 2}]",
     {2, {2, 4}},
     "text:3",
     "layer 'a' (lstm): needs windows [n t f], not [2 x 4]",
     ""},
    {"segmentation",
     "[{op: relu, name: a}]\nmultiple: 16",
     {4, {1, 32, 250, 3}},
     "text",
     "the network 't' needs images whose height and width are multiples of 16, not 32 x 250",
     "data.image_size=[32, 256] is the next larger one"},
    {"segmentation",
     "[{op: relu, name: a}]",
     {4, {1 << 20, 1 << 10, 1 << 10, 3}},
     "text",
     "the input [1048576 x 1024 x 1024 x 3] is too large for memory",
     ""},
    {"segmentation",
     "[{op: resize, name: a, scale: 1024}]",
     {4, {64, 512, 512, 3}},
     "text:3",
     "layer 'a' (resize): its output [64 x 524288 x 524288 x 3] is too large for memory",
     ""},
    {"classification",
     "[{op: linear, name: a, channels: 2 ^ 20}]",
     {2, {2, 1 << 20}},
     "text:3",
     "layer 'a' (linear): weight [1048576 x 1048576] is too large for memory",
     ""},
};

static void shapes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof shape_rows / sizeof shape_rows[0]; i++) {
        const shape_row *row = &shape_rows[i];
        char text[512];
        snprintf(text, sizeof text, "name: t\ntask: %s\nlayers: %s\n", row->task, row->layers);
        stk__network *network = network_text(text);
        stk__op_form forms[4];
        stk_error error = {0};
        const stk_status status = stk__network_shape(network, &row->input, forms, &error);
        if (status != STK_ERROR_CONFIG || strcmp(error.place, row->place) ||
            strcmp(error.message, row->message))
            fail_msg("%s\ngives %d: %s (%s)", text, (int)status, error.message, error.place);
        assert_string_equal(error.hint, row->hint);
        assert_int_equal(error.code, status);
        assert_int_equal(stk__network_shape(network, &row->input, forms, NULL), status);
        stk__network_destroy(&network);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings),
        cmocka_unit_test(blocks),
        cmocka_unit_test(shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
