/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of operations: which keys each takes, and where their values go. */
#include "train/network/network_reader.h"

#include "core/nearest.h"
#include "core/number.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef enum value_kind {
    WHOLE, /* int64_t */
    SMALL, /* int32_t */
    PAIR,  /* int32_t [2]: one number for both, or [h, w] */
    FLAG,  /* bool */
    UNSET, /* bool that says the opposite */
    REAL,  /* double */
    SHARE, /* double from an integer percentage */
    MODE   /* of resizing */
} value_kind;

typedef struct key_rule {
    const char *name;
    value_kind kind;
    size_t offset; /* in stk__op_spec */
    double least, most;
} key_rule;

#define AT(field) offsetof(stk__op_spec, field)

/* Zero means default in a spec, so that no key may be 0 where the default is another. */
static const key_rule rules[] = {
    {"channels", WHOLE, AT(channels), 1, 1 << 20},
    {"kernel", PAIR, AT(kernel), 1, 1024},
    {"stride", PAIR, AT(stride), 1, 1024},
    {"pad", PAIR, AT(pad), 0, 1024},
    {"dilation", PAIR, AT(dilation), 1, 1024},
    {"groups", SMALL, AT(groups), 1, 1 << 20},
    {"bias", UNSET, AT(no_bias), 0, 1},
    {"eps", REAL, AT(eps), 1e-30, 1},
    {"momentum", REAL, AT(momentum), 1e-30, 1},
    {"drop", REAL, AT(drop), 0, 0.999},
    {"percent", SHARE, AT(drop), 0, 99},
    {"hidden", WHOLE, AT(hidden), 1, 1 << 20},
    {"layers", SMALL, AT(layers), 1, 4},
    {"last", FLAG, AT(last), 0, 1},
    {"mode", MODE, AT(resize), 0, 0},
    {"size", PAIR, AT(size), 1, 1 << 20},
    {"scale", PAIR, AT(scale), 1, 1024},
};

typedef struct op_rule {
    const char *keys;   /* separated by blanks */
    const char *needed; /* those that must be there */
    const char *either; /* exactly one of these must be there */
    int inputs_least, inputs_most;
} op_rule;

static const op_rule ops[STK_OP_COUNT] = {
    [STK_OP_CONV] = {"channels kernel stride pad dilation groups bias", "channels", NULL, 1, 1},
    [STK_OP_CONV_TRANSPOSE] = {"channels kernel stride pad dilation bias", "channels", NULL, 1, 1},
    [STK_OP_BATCH_NORM] = {"eps momentum", NULL, NULL, 1, 1},
    [STK_OP_RELU] = {"", NULL, NULL, 1, 1},
    [STK_OP_SILU] = {"", NULL, NULL, 1, 1},
    [STK_OP_GELU] = {"", NULL, NULL, 1, 1},
    [STK_OP_SIGMOID] = {"", NULL, NULL, 1, 1},
    [STK_OP_TANH] = {"", NULL, NULL, 1, 1},
    [STK_OP_MAX_POOL] = {"kernel stride pad", "kernel", NULL, 1, 1},
    [STK_OP_AVG_POOL] = {"kernel stride pad", "kernel", NULL, 1, 1},
    [STK_OP_GLOBAL_POOL] = {"", NULL, NULL, 1, 1},
    [STK_OP_LINEAR] = {"channels bias", "channels", NULL, 1, 1},
    [STK_OP_ADD] = {"", NULL, NULL, 2, 2},
    [STK_OP_CONCAT] = {"", NULL, NULL, 2, STK_OP_INPUTS},
    [STK_OP_RESIZE] = {"mode size scale", NULL, "size scale", 1, 1},
    [STK_OP_DROPOUT] = {"drop percent", NULL, "drop percent", 1, 1},
    [STK_OP_LSTM] = {"hidden layers last", "hidden", NULL, 1, 1},
    [STK_OP_AFFINE] = {"", NULL, NULL, 1, 1},
};

/* Of a name that is there. */
static const key_rule *find_rule(const char *name)
{
    const key_rule *rule = rules;
    while (strcmp(rule->name, name) != 0)
        rule++;
    return rule;
}

/* Takes the first word off a list; false at its end. */
static bool next_word(const char **list, char word[32])
{
    if (!*list || !**list) return false;
    const size_t length = strcspn(*list, " ");
    snprintf(word, 32, "%.*s", (int)length, *list);
    *list += length + ((*list)[length] == ' ');
    return true;
}

static bool has_word(const char *list, const char *word)
{
    char one[32];
    while (next_word(&list, one))
        if (strcmp(one, word) == 0) return true;
    return false;
}

stk__op_kind stk__network_op(const stk__network_reader *r, const stk__node *word, stk_status *status)
{
    *status = stk__network_want(r, word, STK_NODE_TEXT);
    if (*status != STK_OK) return STK_OP_COUNT;
    const stk__op_kind kind = stk__op_find(word->text);
    if (kind < STK_OP_COUNT && ops[kind].keys) return kind;
    if (kind < STK_OP_COUNT) {
        *status = stk__network_refuse(r, word->mark, "'%s' is a loss or metric, not a layer", word->text);
        stk__error_hint(r->error, "a network ends with its prediction; loss.name chooses the loss");
        return STK_OP_COUNT;
    }
    stk__nearest nearest = {.word = word->text};
    for (int i = 0; i < STK_OP_COUNT; i++)
        if (ops[i].keys) stk__nearest_offer(&nearest, stk__op_word((stk__op_kind)i));
    *status = stk__network_refuse(r, word->mark, "there is no operation '%s'", word->text);
    stk__network_suggest(r, nearest.best);
    return STK_OP_COUNT;
}

stk_status stk__network_inputs_fit(const stk__network_reader *r, const stk__op_spec *spec, stk__mark mark)
{
    const op_rule *op = &ops[spec->kind];
    if (spec->inputs >= op->inputs_least && spec->inputs <= op->inputs_most) return STK_OK;
    if (op->inputs_least == op->inputs_most)
        return stk__network_refuse(r, mark, "it takes %d input%s, not %d", op->inputs_most,
                                   op->inputs_most > 1 ? "s" : "", spec->inputs);
    return stk__network_refuse(r, mark, "it takes %d to %d inputs, not %d", op->inputs_least, op->inputs_most,
                               spec->inputs);
}

static stk_status read_in_range(const stk__network_reader *r, const stk__node *node, const stk__scope *scope,
                                const key_rule *rule, int64_t *value)
{
    STK__TRY(stk__network_whole(r, node, scope, value));
    if (r->checking || ((double)*value >= rule->least && (double)*value <= rule->most)) return STK_OK;
    return stk__network_refuse(r, node->mark, "%s is %lld; %lld to %lld are possible", rule->name,
                               (long long)*value, (long long)rule->least, (long long)rule->most);
}

static stk_status read_pair(const stk__network_reader *r, const stk__node *node, const stk__scope *scope,
                            const key_rule *rule, int32_t pair[2])
{
    int64_t h = 0, w = 0;
    if (node->kind == STK_NODE_LIST && node->count != 2)
        return stk__network_refuse(r, node->mark, "%s is a number, or two in a list: [h, w]", rule->name);
    const stk__node *first = node->kind == STK_NODE_LIST ? node->first : node;
    STK__TRY(read_in_range(r, first, scope, rule, &h));
    w = h;
    if (first != node) STK__TRY(read_in_range(r, first->next, scope, rule, &w));
    pair[0] = (int32_t)h;
    pair[1] = (int32_t)w;
    return STK_OK;
}

static stk_status read_real(const stk__network_reader *r, const stk__node *node, const key_rule *rule,
                            double *value)
{
    STK__TRY(stk__network_want(r, node, STK_NODE_TEXT));
    if (stk__number_real(node->text, strlen(node->text), value) && *value >= rule->least &&
        *value <= rule->most)
        return STK_OK;
    return stk__network_refuse(r, node->mark, "%s is '%s'; a number from %g to %g is expected", rule->name,
                               node->text, rule->least, rule->most);
}

static stk_status read_mode(const stk__network_reader *r, const stk__node *node, stk__resize_mode *mode)
{
    STK__TRY(stk__network_want(r, node, STK_NODE_TEXT));
    *mode = strcmp(node->text, "nearest") == 0 ? STK_RESIZE_NEAREST : STK_RESIZE_BILINEAR;
    if (*mode == STK_RESIZE_NEAREST || strcmp(node->text, "bilinear") == 0) return STK_OK;
    return stk__network_refuse(r, node->mark, "mode is '%s'; bilinear and nearest are possible", node->text);
}

static stk_status read_value(const stk__network_reader *r, const stk__node *node, const stk__scope *scope,
                             const key_rule *rule, stk__op_spec *spec)
{
    void *field = (char *)spec + rule->offset;
    int64_t whole = 0;
    if (rule->kind == PAIR) return read_pair(r, node, scope, rule, field);
    if (rule->kind == REAL) return read_real(r, node, rule, field);
    if (rule->kind == MODE) return read_mode(r, node, field);
    STK__TRY(read_in_range(r, node, scope, rule, &whole));
    if (rule->kind == WHOLE) *(int64_t *)field = whole;
    if (rule->kind == SMALL) *(int32_t *)field = (int32_t)whole;
    if (rule->kind == FLAG) *(bool *)field = whole;
    if (rule->kind == UNSET) *(bool *)field = !whole;
    if (rule->kind == SHARE) *(double *)field = (double)whole / 100;
    return STK_OK;
}

static stk_status refuse_key(const stk__network_reader *r, const stk__node *node, const char *keys)
{
    static const char *const common[] = {"op", "name", "in", "when"};
    char word[32];
    stk__nearest nearest = {.word = node->key};
    for (int i = 0; i < 4; i++)
        stk__nearest_offer(&nearest, common[i]);
    for (const char *list = keys; next_word(&list, word);)
        stk__nearest_offer(&nearest, find_rule(word)->name);
    stk__network_refuse(r, node->key_mark, "it has no setting '%s'", node->key);
    if (nearest.best)
        stk__network_suggest(r, nearest.best);
    else if (*keys)
        stk__error_hint(r->error, "its settings: %s", keys);
    else
        stk__error_hint(r->error, "it has no settings");
    return STK_ERROR_CONFIG;
}

static stk_status check_present(const stk__network_reader *r, const stk__node *entry, const op_rule *op)
{
    char word[32];
    int present = 0;
    for (const char *list = op->needed; next_word(&list, word);)
        if (!stk__node_find(entry, word)) return stk__network_refuse(r, entry->mark, "'%s' is missing", word);
    for (const char *list = op->either; next_word(&list, word);)
        present += stk__node_find(entry, word) != NULL;
    if (!op->either || present == 1) return STK_OK;
    return stk__network_refuse(r, entry->mark, "exactly one of these must be there: %s", op->either);
}

stk_status stk__network_layer_keys(const stk__network_reader *r, const stk__node *entry,
                                   const stk__scope *scope, stk__op_spec *spec)
{
    const op_rule *op = &ops[spec->kind];
    for (const stk__node *node = entry->first; node; node = node->next) {
        if (has_word("op name in when", node->key)) continue;
        if (!has_word(op->keys, node->key)) return refuse_key(r, node, op->keys);
        STK__TRY(read_value(r, node, scope, find_rule(node->key), spec));
    }
    return check_present(r, entry, op);
}
