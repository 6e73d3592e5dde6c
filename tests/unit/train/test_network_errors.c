/* SPDX-License-Identifier: Apache-2.0 */
/* What can be wrong with a file as a whole, its head, its options, and with a request. */
#include "network_rows.h"

#include <unistd.h>

static const error_row yaml_rows[] = {
    {"", "1:1", "the network is empty", NULL},
    {"# nothing\n", "2:1", "the network is empty", NULL},
    {"[1, 2]\n", "1:1", "a network is a map of keys and values", "docs/networks.md shows how one is written"},
    {"name\n", "1:1", "a network is a map of keys and values", "docs/networks.md shows how one is written"},
    {"name: t\n"
     "name: u\n",
     "2:1", "duplicate key 'name'", "the first is in line 1"},
    {"a: &x 1\n", "1:4", "anchors (&), aliases (*) and tags (!) are not supported in networks",
     "use a block to write something once"},
    {"a: *x\n", "1:4", "anchors (&), aliases (*) and tags (!) are not supported in networks",
     "use a block to write something once"},
    {"a: !!int 1\n", "1:4", "anchors (&), aliases (*) and tags (!) are not supported in networks",
     "use a block to write something once"},
    {"a: [1\n", "2:1", "not valid YAML: did not find expected ',' or ']' while parsing a flow sequence",
     NULL},
    {"a:\n"
     "	b: 1\n",
     "2:1", "not valid YAML: found character that cannot start any token while scanning for the next token",
     "indent with spaces, not with tabs"},
    {"a: \"\\0\"\n", "1:4", "a NUL byte in a text", NULL},
    {"name: t\n"
     "---\n"
     "name: u\n",
     "2:1", "more than one YAML document", NULL},
    {"? [a]\n"
     ": b\n",
     "1:3", "a key must be a single word", NULL},
    {"name: \xff\n", "1:7", "not valid YAML: invalid leading UTF-8 octet",
     "networks are plain text in UTF-8"},
    {"name: \xc3\xa9\nabout: \xc3\xa9\xff\n", "2:9", "not valid YAML: invalid leading UTF-8 octet",
     "networks are plain text in UTF-8"},
};

static const error_row head_rows[] = {
    {"name: t\n", "1:1", "'task' is missing", NULL},
    {"name: t\n"
     "task: points\n",
     "1:1", "'layers' is missing", NULL},
    {"task: points\n"
     "layers: []\n",
     "1:1", "'name' is missing", NULL},
    {HEAD "layer: []\n", "3:1", "'layer' is not a key of a network", "did you mean 'layers'?"},
    {HEAD "qqqqq: 1\n", "3:1", "'qqqqq' is not a key of a network", NULL},
    {"name: [t]\n"
     "task: points\n"
     "layers: []\n",
     "1:7", "'name' must be a single value, not a list", NULL},
    {"name:\n"
     "task: points\n"
     "layers: []\n",
     "1:6", "'name' has no value", NULL},
    {"name: t\n"
     "task: clasification\n"
     "layers: []\n",
     "2:7", "unknown task 'clasification'", "did you mean 'classification'?"},
    {"name: t\n"
     "task: music\n"
     "layers: []\n",
     "2:7", "unknown task 'music'",
     "tasks are segmentation, points, classification, multilabel, regression and image_regression"},
    {"name: t\n"
     "task: []\n"
     "layers: []\n",
     "2:7", "the list of tasks is empty", NULL},
    {"name: t\n"
     "task: [points, pints]\n"
     "layers: []\n",
     "2:16", "unknown task 'pints'", "did you mean 'points'?"},
    {"name: t\n"
     "task: [[points]]\n"
     "layers: []\n",
     "2:8", "a single value is expected here, not a list", NULL},
    {"name: t\n"
     "task: {}\n"
     "layers: []\n",
     "2:7", "'task' must be a single value, not a map", NULL},
    {HEAD "layers: {}\n", "3:9", "'layers' must be a list, not a map", NULL},
    {HEAD "layers: []\n", "3:9", "'layers' is empty", NULL},
    {HEAD "layers: 3\n", "3:9", "'layers' must be a list, not a single value", NULL},
    {HEAD "about: {}\n"
          "layers: []\n",
     "3:8", "'about' must be a single value, not a map", NULL},
    {HEAD "multiple: 2 +\n"
          "layers: [{op: relu, name: a}]\n",
     "3:14", "multiple: the expression ends where a number or name should follow", NULL},
    {HEAD "multiple: 0\n"
          "layers: [{op: relu, name: a}]\n",
     "3:11", "multiple is 0; 1 to 4096 are possible", NULL},
    {HEAD "layers: [{op: relu, name: a}]\n"
          "output: b\n",
     "4:9", "output: no layer 'b' is above it",
     "only layers above can be used; 'input' is the network's input"},
    {HEAD "layers: [{op: relu, name: a}]\n"
          "output: input\n",
     "4:9", "the output is the network's input: no layer computes it", NULL},
    {HEAD "layers: [{op: relu, name: a}]\n"
          "output: [a]\n",
     "4:9", "output: 'output' must be a single value, not a list", NULL},
    {HEAD "layers: [{op: relu, name: a}]\n"
          "output: in\n",
     "4:9", "output: 'in' is the input of a block, and this is outside of one",
     "'input' is the network's input"},
    {HEAD "layers: [{op: relu, name: a, when: 0}]\n", "1:1",
     "the output is the network's input: every layer was left out", NULL},
    {HEAD "layers: [{op: relu, name: a}, {op: relu, name: b, in: input}]\n", "3",
     "layer 'a' (relu): no layer uses it and it is not the output", NULL},
};

static const error_row options_rows[] = {
    {HEAD "options:\n"
          "  2a: {default: 1}\n"
          "layers:\n"
          "  - {op: relu, name: a}\n",
     "4:3", "'2a' is not a name for an option", NULL},
    {HEAD "options:\n"
          "  a b: {default: 1}\n"
          "layers:\n"
          "  - {op: relu, name: a}\n",
     "4:3", "'a b' is not a name for an option", NULL},
    {HEAD "options:\n"
          "  min: {default: 1}\n"
          "layers:\n"
          "  - {op: relu, name: a}\n",
     "4:3", "an option cannot be called 'min'", NULL},
    {HEAD "options:\n"
          "  weights: {default: 1}\n"
          "layers:\n"
          "  - {op: relu, name: a}\n",
     "4:3", "an option cannot be called 'weights'", NULL},
    {HEAD "options:\n"
          "  w: 3\n"
          "layers:\n"
          "  - {op: relu, name: a}\n",
     "4:6", "option 'w': 'w' must be a map, not a single value", NULL},
    {HEAD "options:\n"
          "  w: {least: 3}\n"
          "layers:\n"
          "  - {op: relu, name: a}\n",
     "4:6", "option 'w': 'default' is missing", NULL},
    {HEAD "options:\n"
          "  w: {default: 3, leest: 2}\n"
          "layers:\n"
          "  - {op: relu, name: a}\n",
     "4:19", "option 'w': 'leest' is not a key of an option", "an option has default, least, most and help"},
    {HEAD "options:\n"
          "  w: {default: 0}\n"
          "layers:\n"
          "  - {op: relu, name: a}\n",
     "4:16", "the default of 'w' is 0; 1 to 65536 are possible", NULL},
    {HEAD "options:\n"
          "  w: {default: 3, most: 2}\n"
          "layers:\n"
          "  - {op: relu, name: a}\n",
     "4:16", "the default of 'w' is 3; 1 to 2 are possible", NULL},
    {HEAD "options:\n"
          "  w: {default: 3.5}\n"
          "layers:\n"
          "  - {op: relu, name: a}\n",
     "4:16", "option 'w': default: only integers are possible here", NULL},
    {HEAD "options:\n"
          "  w: {default: 1, most: 2000000000}\n"
          "layers:\n"
          "  - {op: relu, name: a}\n",
     "4:25", "option 'w': 'most' must be between -1073741824 and 1073741824", NULL},
    {HEAD "options:\n"
          "  w: {default: 1, help: [a]}\n"
          "layers:\n"
          "  - {op: relu, name: a}\n",
     "4:25", "option 'w': 'help' must be a single value, not a list", NULL},
    {HEAD "options:\n"
          "  w: {default: x}\n"
          "layers:\n"
          "  - {op: relu, name: a}\n",
     "4:16", "option 'w': default: there is no option, fact or loop variable 'x'", NULL},
    {HEAD "options: [a]\n"
          "layers: [{op: relu, name: a}]\n",
     "3:10", "'options' must be a map, not a list", NULL},
    {HEAD "options:\n"
          "  w0: {default: 1}\n"
          "  w1: {default: 1}\n"
          "  w2: {default: 1}\n"
          "  w3: {default: 1}\n"
          "  w4: {default: 1}\n"
          "  w5: {default: 1}\n"
          "  w6: {default: 1}\n"
          "  w7: {default: 1}\n"
          "  w8: {default: 1}\n"
          "  w9: {default: 1}\n"
          "  w10: {default: 1}\n"
          "  w11: {default: 1}\n"
          "  w12: {default: 1}\n"
          "  w13: {default: 1}\n"
          "  w14: {default: 1}\n"
          "  w15: {default: 1}\n"
          "  w16: {default: 1}\n"
          "  w17: {default: 1}\n"
          "  w18: {default: 1}\n"
          "  w19: {default: 1}\n"
          "  w20: {default: 1}\n"
          "  w21: {default: 1}\n"
          "  w22: {default: 1}\n"
          "  w23: {default: 1}\n"
          "  w24: {default: 1}\n"
          "  w25: {default: 1}\n"
          "  w26: {default: 1}\n"
          "  w27: {default: 1}\n"
          "  w28: {default: 1}\n"
          "  w29: {default: 1}\n"
          "  w30: {default: 1}\n"
          "  w31: {default: 1}\n"
          "  w32: {default: 1}\n"
          "layers: [{op: relu, name: a}]\n",
     "4:3", "more than 32 options", NULL},
    {HEAD "options:\n"
          "  w: {default: 1}\n"
          "layers:\n"
          "  - {op: relu, name: a}\n",
     "4:3", "nothing uses the option 'w'", NULL},
};

static void files_that_are_no_networks(void **state)
{
    (void)state;
    CHECK_ROWS(yaml_rows);
}

static void heads(void **state)
{
    (void)state;
    CHECK_ROWS(head_rows);
}

static void options(void **state)
{
    (void)state;
    CHECK_ROWS(options_rows);
}

/* A text of `count` times `part` after `head`, then `tail`; the caller frees it. */
static char *repeat(const char *head, const char *part, size_t count, const char *tail)
{
    char *text = malloc(strlen(head) + strlen(part) * count + strlen(tail) + 1);
    assert_non_null(text);
    strcpy(text, head);
    char *at = text + strlen(head);
    for (size_t i = 0; i < count; i++, at += strlen(part))
        memcpy(at, part, strlen(part));
    strcpy(at, tail);
    return text;
}

static void sizes_are_limited(void **state)
{
    (void)state;
    static const struct {
        const char *head, *part;
        size_t count;
        const char *tail, *place, *message;
    } rows[] = {
        {"a: ", "[", 25, "", "text:1:27", "lists and maps are nested more than 24 deep"},
        {"a: ", "{b: ", 24, "", "text:1:96", "lists and maps are nested more than 24 deep"},
        {"a: [", "1,", 20000, "]", "text:1:40001", "more than 20000 entries"},
        {"a: ", "b", 1001, "\n", "text:1:4", "a text of more than 1000 bytes"},
        {"", "b", 1001, ": 1\n", "text:1:1", "a text of more than 1000 bytes"},
        {"# ", "b", 262144, "\n", "text", "the network is larger than 256 KiB"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *text = repeat(rows[i].head, rows[i].part, rows[i].count, rows[i].tail);
        check_refused(&(stk__network_request){.text = text}, rows[i].place, rows[i].message, NULL);
        free(text);
    }
}

/* `count` lines, each with its number where it says %d, after head. */
static void check_many(const char *head, const char *line, int count, const char *place, const char *message)
{
    static char text[1 << 16];
    size_t at = (size_t)snprintf(text, sizeof text, "%s", head);
    for (int i = 0; i < count; i++) {
        char copy[64];
        snprintf(copy, sizeof copy, "%s", line);
        char *number = strstr(copy, "##");
        memcpy(number, (char[]){(char)('a' + i / 26), (char)('a' + i % 26)}, 2);
        at += (size_t)snprintf(text + at, sizeof text - at, "%s\n", copy);
    }
    snprintf(text + at, sizeof text - at, "layers: [{op: relu, name: a}]\n");
    check_refused(&(stk__network_request){.text = text}, place, message, NULL);
}

static void numbers_of_things_are_limited(void **state)
{
    (void)state;
    check_many(HEAD "options:\n", "  ##: {default: 1}", 33, "text:4:3", "more than 32 options");
    check_many(HEAD "blocks:\n", "  ##: {layers: []}", 65, "text:4:3", "more than 64 blocks");
    check_many(HEAD "about:\n", "  ##: 1", 257, "text:260:3", "a map of more than 256 keys");
}

static void names_are_limited(void **state)
{
    (void)state;
    char name[128], text[512], message[512];
    memset(name, 'n', sizeof name);
    name[127] = '\0';
    snprintf(text, sizeof text, LAYERS "  - {op: relu, name: %s}\n", name);
    stk__network *network = network_text(text);
    assert_string_equal(network->layers[0].name, name);
    stk__network_destroy(&network);
    snprintf(text, sizeof text, LAYERS "  - {op: relu, name: %sn}\n", name);
    snprintf(message, sizeof message, "layer '%sn' (relu): a name of more than 127 letters", name);
    check_refused(&(stk__network_request){.text = text}, "text:4:22", message, NULL);
    snprintf(text, sizeof text, LAYERS "  - {op: relu, name: '%s{1}'}\n", name);
    snprintf(message, sizeof message, "layer '%s{1}' (relu): a name of more than 127 letters", name);
    check_refused(&(stk__network_request){.text = text}, "text:4:23", message, NULL);
    snprintf(text, sizeof text,
             HEAD "blocks: {b: {layers: [{op: relu, name: %s}]}}\nlayers: [{block: b, name: x}]\n", name);
    snprintf(message, sizeof message, "layer 'x.%.125s' (relu): a name of more than 127 letters", name);
    check_refused(&(stk__network_request){.text = text}, "text:3:40", message, NULL);
}

static void requests(void **state)
{
    (void)state;
    const char *const places[] = {"c.yaml:3:5"};
    const stk__network_setting misspelt[] = {{"widht", 3}}, strange[] = {{"zzzzzz", 3}},
                               large[] = {{"width", 5000}};
    const stk__network_setting classes[] = {{"num_classes", 1000}};
    check_refused(&(stk__network_request){0}, "",
                  "a network is chosen by its name or by a file, and neither is given",
                  "for example model.name=unet");
    check_refused(&(stk__network_request){.name = "unet", .file = "own.yaml"}, "",
                  "a network is chosen by its name or by a file, not by both", "for example model.name=unet");
    check_refused(&(stk__network_request){.name = "unett"}, "", "there is no network 'unett'",
                  "did you mean 'unet'?");
    check_refused(
        &(stk__network_request){.name = "own.yaml"}, "", "there is no network 'own.yaml'",
        "there are unet, locator, resnet, lstm, hrnet_w18, hrnet_w32; model.file takes a file of your own");
    check_refused(&(stk__network_request){.name = "unet", .settings = misspelt, .setting_count = 1},
                  "models/unet.yaml", "the network 'unet' has no option 'widht'",
                  "did you mean 'width'? it has width, depth, num_classes");
    check_refused(&(stk__network_request){.name = "unet", .settings = strange, .setting_count = 1},
                  "models/unet.yaml", "the network 'unet' has no option 'zzzzzz'",
                  "it has width, depth, num_classes");
    check_refused(&(stk__network_request){.text = LAYERS "  - {op: relu, name: a}\n",
                                          .settings = strange,
                                          .setting_count = 1},
                  "text", "the network 't' has no option 'zzzzzz'", "it has none");
    check_refused(&(stk__network_request){.name = "unet", .settings = large, .setting_count = 1},
                  "models/unet.yaml:6:26", "the setting of 'width' is 5000; 1 to 1024 are possible", NULL);
    check_refused(
        &(stk__network_request){.name = "unet", .settings = large, .setting_count = 1, .places = places},
        "c.yaml:3:5", "the setting of 'width' is 5000; 1 to 1024 are possible", NULL);
    check_refused(
        &(stk__network_request){.name = "unet", .settings = strange, .setting_count = 1, .places = places},
        "c.yaml:3:5", "the network 'unet' has no option 'zzzzzz'", "it has width, depth, num_classes");
    check_refused(&(stk__network_request){.name = "resnet", .facts = classes, .fact_count = 1},
                  "models/resnet.yaml:8:26",
                  "the data's value of 'num_classes' is 1000; 1 to 256 are possible", NULL);
}

static void files_that_cannot_be_read(void **state)
{
    (void)state;
    stk__network *network = NULL;
    stk_error error = {0};
    const stk__network_request missing = {.file = "/tmp/stoker-no-such-network.yaml"},
                               folder = {.file = "/tmp"};
    assert_int_equal(stk__network_read(&network, &missing, &error), STK_ERROR_IO);
    assert_non_null(strstr(error.message, "cannot read the network: "));
    assert_string_equal(error.place, missing.file);
    assert_int_equal(stk__network_read(&network, &folder, &error), STK_ERROR_IO);
    char path[] = "/tmp/stk_network_XXXXXX";
    const int file = mkstemp(path);
    assert_true(file >= 0 && ftruncate(file, (256 << 10) + 1) == 0 && close(file) == 0);
    check_refused(&(stk__network_request){.file = path}, path,
                  "cannot read the network: the file is larger than 256 KiB", NULL);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_that_are_no_networks),
        cmocka_unit_test(heads),
        cmocka_unit_test(options),
        cmocka_unit_test(sizes_are_limited),
        cmocka_unit_test(numbers_of_things_are_limited),
        cmocka_unit_test(names_are_limited),
        cmocka_unit_test(requests),
        cmocka_unit_test(files_that_cannot_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
