/* SPDX-License-Identifier: Apache-2.0 */
/* The examples of docs/networks.md are networks; its table of operations has all their settings. */
#include "network_helpers.h"

#include "core/file.h"

static const char *docs_path;

/* The next text between ```yaml and ```, cut out in place; NULL: none is left. */
static char *next_example(char **at)
{
    char *start = strstr(*at, "```yaml\n");
    if (!start) return NULL;
    start += strlen("```yaml\n");
    char *end = strstr(start, "```");
    assert_non_null(end);
    *end = '\0';
    *at = end + 1;
    return start;
}

static void examples_can_be_read(void **state)
{
    (void)state;
    stk__buffer content = {0};
    assert_int_equal(stk__file_read(docs_path, 0, &content, NULL), STK_OK);
    int count = 0;
    char *at = (char *)content.data;
    for (char *text; (text = next_example(&at)) != NULL; count++) {
        stk__network *network = network_text(text);
        stk__op_form *forms = forms_of(network, (stk__shape){4, {2, 64, 96, 3}});
        assert_true(network->layer_count > 10);
        free(forms);
        stk__network_destroy(&network);
    }
    assert_int_equal(count, 2);
    stk__buffer_fini(&content);
}

static void every_operation_is_described(void **state)
{
    (void)state;
    stk__buffer content = {0};
    assert_int_equal(stk__file_read(docs_path, 0, &content, NULL), STK_OK);
    for (int kind = 0; kind < STK_OP_CROSS_ENTROPY; kind++) {
        char word[64];
        snprintf(word, sizeof word, "`%s`", stk__op_word((stk__op_kind)kind));
        if (!strstr((const char *)content.data, word)) fail_msg("%s is missing", word);
    }
    stk__buffer_fini(&content);
}

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples_can_be_read),
        cmocka_unit_test(every_operation_is_described),
    };
    if (count < 2) return 2;
    docs_path = arguments[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
