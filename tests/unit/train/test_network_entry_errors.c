/* SPDX-License-Identifier: Apache-2.0 */
/* What can be wrong with an entry of a list of layers, and with loops. */
#include "network_rows.h"

static const error_row entries_rows[] = {
    {LAYERS "  - relu\n", "4:5", "a map is expected here, not a single value", NULL},
    {LAYERS "  - {name: a}\n", "4:5", "an entry of 'layers' has one of the keys op, block and for",
     "this one begins with 'name'"},
    {LAYERS "  - {}\n", "4:5", "an entry of 'layers' has one of the keys op, block and for", NULL},
    {LAYERS "  - {op: relu, block: a, name: a}\n", "4:5",
     "an entry of 'layers' has one of the keys op, block and for", NULL},
    {LAYERS "  - {op: relu}\n", "4:5", "layer (relu): 'name' is missing", NULL},
    {LAYERS "  - {op: [relu], name: a}\n", "4:10", "layer 'a': 'op' must be a single value, not a list",
     NULL},
    {LAYERS "  - {op: rellu, name: a}\n", "4:10", "layer 'a' (rellu): there is no operation 'rellu'",
     "did you mean 'relu'?"},
    {LAYERS "  - {op: qqqqqq, name: a}\n", "4:10", "layer 'a' (qqqqqq): there is no operation 'qqqqqq'",
     NULL},
    {LAYERS "  - {op: cross_entropy, name: a}\n", "4:10",
     "layer 'a' (cross_entropy): 'cross_entropy' is a loss or metric, not a layer",
     "a network ends with its prediction; loss.name chooses the loss"},
    {LAYERS "  - {op: confusion, name: a}\n", "4:10",
     "layer 'a' (confusion): 'confusion' is a loss or metric, not a layer",
     "a network ends with its prediction; loss.name chooses the loss"},
    {LAYERS "  - {op: , name: a}\n", "4:10", "layer 'a' (): 'op' has no value", NULL},
    {LAYERS "  - {op: relu, name: [a]}\n", "4:22", "layer (relu): 'name' must be a single value, not a list",
     NULL},
    {LAYERS "  - {op: relu, name: }\n", "4:22", "layer (relu): 'name' has no value", NULL},
    {LAYERS "  - {op: relu, name: a-b}\n", "4:23",
     "layer 'a-b' (relu): 'a-b' is not a name: use letters, digits, '_' and '.'", NULL},
    {LAYERS "  - {op: relu, name: .a}\n", "4:22",
     "layer '.a' (relu): '.a' is not a name: a part between dots is empty", NULL},
    {LAYERS "  - {op: relu, name: a..b}\n", "4:22",
     "layer 'a..b' (relu): 'a..b' is not a name: a part between dots is empty", NULL},
    {LAYERS "  - {op: relu, name: a.}\n", "4:22",
     "layer 'a.' (relu): 'a.' is not a name: a part between dots is empty", NULL},
    {LAYERS "  - {op: relu, name: in}\n", "4:22", "layer 'in' (relu): the name 'in' is reserved",
     "'in', 'before' and 'input' have a meaning in `in`"},
    {LAYERS "  - {op: relu, name: in2}\n", "4:22", "layer 'in2' (relu): the name 'in2' is reserved",
     "'in', 'before' and 'input' have a meaning in `in`"},
    {LAYERS "  - {op: relu, name: input}\n", "4:22", "layer 'input' (relu): the name 'input' is reserved",
     "'in', 'before' and 'input' have a meaning in `in`"},
    {LAYERS "  - {op: relu, name: before}\n", "4:22", "layer 'before' (relu): the name 'before' is reserved",
     "'in', 'before' and 'input' have a meaning in `in`"},
    {LAYERS "  - {op: relu, name: '{1'}\n", "4:23", "layer '{1' (relu): '{' without '}' in '{1'", NULL},
    {LAYERS "  - {op: relu, name: 'a{1 +}'}\n", "4:28",
     "layer 'a{1 +}' (relu): name: the expression ends where a number or name should follow", NULL},
    {LAYERS "  - {op: relu, name: 'a{i}'}\n", "4:25",
     "layer 'a{i}' (relu): name: there is no option, fact or loop variable 'i'", NULL},
    {LAYERS "  - {op: relu, name: 'a{1 - 3}'}\n", "4:24",
     "layer 'a{1 - 3}' (relu): -2, a negative number, in the name 'a{1 - 3}'", NULL},
    {LAYERS "  - {op: relu, name: 'a{}'}\n", "4:25",
     "layer 'a{}' (relu): name: the expression ends where a number or name should follow", NULL},
    {LAYERS "  - {op: relu, name: a}\n"
            "  - {op: relu, name: a}\n",
     "5:5", "layer 'a' (relu): duplicate name 'a'",
     "the first is in line 4; inside a loop, put {its variable} into the name"},
    {LAYERS "  - {for: {i: [1, 2]}, layers: [{op: relu, name: a}]}\n", "4:33",
     "layer 'a' (relu): duplicate name 'a'",
     "the first is in line 4; inside a loop, put {its variable} into the name"},
    {LAYERS "  - {op: relu, name: conv}\n"
            "  - {op: relu, name: b, in: cnov}\n",
     "5:29", "layer 'b' (relu): no layer 'cnov' is above it", "did you mean 'conv'?"},
    {LAYERS "  - {op: relu, name: a, in: zzzzzz}\n", "4:29",
     "layer 'a' (relu): no layer 'zzzzzz' is above it",
     "only layers above can be used; 'input' is the network's input"},
    {LAYERS "  - {op: relu, name: a, in: b}\n"
            "  - {op: relu, name: b}\n",
     "4:29", "layer 'a' (relu): no layer 'b' is above it",
     "only layers above can be used; 'input' is the network's input"},
    {LAYERS "  - {op: relu, name: a, in: a}\n", "4:29", "layer 'a' (relu): no layer 'a' is above it",
     "only layers above can be used; 'input' is the network's input"},
    {LAYERS "  - {op: relu, name: a, in: in}\n", "4:29",
     "layer 'a' (relu): 'in' is the input of a block, and this is outside of one",
     "'input' is the network's input"},
    {LAYERS "  - {op: relu, name: a, in: in3}\n", "4:29",
     "layer 'a' (relu): 'in3' is the input of a block, and this is outside of one",
     "'input' is the network's input"},
    {LAYERS "  - {op: relu, name: a, in: []}\n", "4:29",
     "layer 'a' (relu): 'in' has 0 inputs; 1 to 8 are possible", NULL},
    {LAYERS "  - {op: relu, name: a, in: {}}\n", "4:29",
     "layer 'a' (relu): 'in' must be a single value, not a map", NULL},
    {LAYERS "  - {op: relu, name: a, in: [[a]]}\n", "4:30",
     "layer 'a' (relu): a single value is expected here, not a list", NULL},
    {LAYERS
     "  - {op: concat, name: a, in: [input, input, input, input, input, input, input, input, input]}\n",
     "4:31", "layer 'a' (concat): 'in' has 9 inputs; 1 to 8 are possible", NULL},
    {LAYERS "  - {op: relu, name: a, in: [input, input]}\n", "4:5",
     "layer 'a' (relu): it takes 1 input, not 2", NULL},
    {LAYERS "  - {op: add, name: a}\n", "4:5", "layer 'a' (add): it takes 2 inputs, not 1", NULL},
    {LAYERS "  - {op: concat, name: a}\n", "4:5", "layer 'a' (concat): it takes 2 to 8 inputs, not 1", NULL},
    {LAYERS "  - {op: relu, name: a, when: }\n", "4:31", "layer 'a' (relu): 'when' has no value", NULL},
    {LAYERS "  - {op: relu, name: a, when: [1]}\n", "4:31",
     "layer 'a' (relu): 'when' must be a single value, not a list", NULL},
    {LAYERS "  - {op: relu, name: a, when: x}\n", "4:31",
     "layer 'a' (relu): when: there is no option, fact or loop variable 'x'", NULL},
    {LAYERS "  - {op: relu, name: a, when: 1 / 0}\n", "4:33", "layer 'a' (relu): when: 1 / 0 has no value",
     NULL},
};

static const error_row loops_rows[] = {
    {LAYERS "  - {for: i, layers: [{op: relu, name: a}]}\n", "4:11",
     "'for' must be a map, not a single value", NULL},
    {LAYERS "  - {for: {}, layers: [{op: relu, name: a}]}\n", "4:11",
     "a loop is written {i: [first, last]} or {i: [first, last, step]}", NULL},
    {LAYERS "  - {for: {i: 3}, layers: [{op: relu, name: a}]}\n", "4:11",
     "a loop is written {i: [first, last]} or {i: [first, last, step]}", NULL},
    {LAYERS "  - {for: {i: [1]}, layers: [{op: relu, name: a}]}\n", "4:11",
     "a loop is written {i: [first, last]} or {i: [first, last, step]}", NULL},
    {LAYERS "  - {for: {i: [1, 2, 3, 4]}, layers: [{op: relu, name: a}]}\n", "4:11",
     "a loop is written {i: [first, last]} or {i: [first, last, step]}", NULL},
    {LAYERS "  - {for: {i: [1, 2], k: [1, 2]}, layers: [{op: relu, name: a}]}\n", "4:11",
     "a loop is written {i: [first, last]} or {i: [first, last, step]}", NULL},
    {LAYERS "  - {for: {1i: [1, 2]}, layers: [{op: relu, name: a}]}\n", "4:12",
     "'1i' is not a name for a variable", NULL},
    {LAYERS "  - {for: {i: [1, x]}, layers: [{op: relu, name: a}]}\n", "4:19",
     "there is no option, fact or loop variable 'x'", NULL},
    {LAYERS "  - {for: {i: [1, 2, 0]}, layers: [{op: relu, name: a}]}\n", "4:15", "the step of a loop is 0",
     NULL},
    {LAYERS "  - {for: {i: [1, 2]}}\n", "4:5", "'layers' of the loop are missing", NULL},
    {LAYERS "  - {for: {i: [1, 2]}, layers: [{op: relu, name: 'a{i}'}], name: b}\n", "4:60",
     "'name' is not a key of a loop: for, layers and when are", NULL},
    {LAYERS "  - {for: {i: [1, 2]}, layers: 3}\n", "4:32", "'layers' must be a list, not a single value",
     NULL},
    {LAYERS "  - {for: {i: [1, 2]}, layers: [{for: {i: [1, 2]}, layers: [{op: relu, name: a}]}]}\n", "4:40",
     "'i' means something else already", NULL},
    {HEAD "options: {w: {default: 1}}\n"
          "layers: [{for: {w: [1, 2]}, layers: [{op: relu, name: a}]}]\n",
     "4:17", "'w' means something else already", NULL},
    {LAYERS "  - {for: {i: [1, 5000]}, layers: [{op: relu, name: 'a{i}'}]}\n", "4:36",
     "layer 'a4097' (relu): more than 4096 layers", NULL},
    {LAYERS "  - {for: {i: [1, 2 ^ 62]}, layers: [{op: relu, name: 'a{i}', when: 0}]}\n", "4:38",
     "the loops of this network take more than 32768 iterations", NULL},
    {LAYERS "  - {for: {i: [1, 2 ^ 62]}, layers: [{for: {k: [1, 0]}, layers: [{op: relu, name: a}]}]}\n",
     "4:38", "the loops of this network take more than 32768 iterations", NULL},
    {LAYERS "  - {op: relu, name: 'a{i}'}\n", "4:25",
     "layer 'a{i}' (relu): name: there is no option, fact or loop variable 'i'", NULL},
};

static void entries(void **state)
{
    (void)state;
    CHECK_ROWS(entries_rows);
}

static void loops(void **state)
{
    (void)state;
    CHECK_ROWS(loops_rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries),
        cmocka_unit_test(loops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
