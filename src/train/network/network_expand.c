/* SPDX-License-Identifier: Apache-2.0 */
/* The walk over lists of layers. The first time (r->checking) every entry is visited once and its words are
 * checked; the second time loops turn, blocks are entered, and layers are made. */
#include "train/network/network_reader.h"

#include "core/nearest.h"

#include <stdio.h>
#include <string.h>

enum { LOOP_VALUES_LEAST = 2, LOOP_VALUES_MOST = 3 };

static stk_status count_step(stk__network_reader *r, stk__mark mark)
{
    if (++r->steps <= STK_NETWORK_STEPS_MOST) return STK_OK;
    return stk__network_refuse(r, mark, "the loops of this network take more than %d iterations",
                               STK_NETWORK_STEPS_MOST);
}

/* True: the entry stays. In the first walk everything does. */
static stk_status read_when(const stk__network_reader *r, const stk__node *entry, const stk__scope *scope,
                            bool *stays)
{
    const stk__node *when = stk__node_find(entry, "when");
    int64_t value = 1;
    if (when) STK__TRY(stk__network_whole(r, when, scope, &value));
    *stays = value != 0 || r->checking;
    return STK_OK;
}

/* The entry's name with the prefix before it; it becomes the subject of messages. An affine layer at the top
 * may be called `input`: it gets the constants that standardise the features. */
static stk_status read_name(stk__network_reader *r, const stk__network_frame *frame, const stk__node *entry,
                            char full[STK_NETWORK_NAME_BYTES])
{
    char name[STK_NETWORK_NAME_BYTES];
    const stk__node *node = stk__node_find(entry, "name");
    if (!node) return stk__network_refuse(r, entry->mark, "'name' is missing");
    STK__TRY(stk__network_fill(r, node, frame->scope, name));
    const stk__node *op = stk__node_find(entry, "op");
    const bool standardises = op && strcmp(op->text, stk__op_word(STK_OP_AFFINE)) == 0 &&
                              !frame->input_count && strcmp(name, "input") == 0;
    if (stk__network_is_reserved(name) && !standardises) {
        stk__network_refuse(r, node->mark, "the name '%s' is reserved", name);
        stk__error_hint(r->error, "'in', 'before' and 'input' have a meaning in `in`");
        return STK_ERROR_CONFIG;
    }
    if (r->checking) {
        full[0] = '\0';
        return STK_OK;
    }
    const int length = snprintf(full, STK_NETWORK_NAME_BYTES, "%s%s", frame->prefix, name);
    r->subject.name = full;
    if (length >= STK_NETWORK_NAME_BYTES)
        return stk__network_refuse(r, node->mark, "a name of more than %d letters",
                                   STK_NETWORK_NAME_BYTES - 1);
    return STK_OK;
}

static stk_status add_layer(stk__network_reader *r, const stk__layer *layer, const char *name, stk__mark mark)
{
    const int index = (int)(r->layers.size_bytes / sizeof *layer);
    if (index >= STK_NETWORK_LAYERS_MOST)
        return stk__network_refuse(r, mark, "more than %d layers", STK_NETWORK_LAYERS_MOST);
    STK__TRY(stk__network_name_add(r, name, index, mark));
    stk__layer copy = *layer;
    copy.name = stk__store_text(&r->network->texts, name, strlen(name), r->error);
    if (!copy.name) return STK_ERROR_MEMORY;
    if (copy.spec.kind == STK_OP_DROPOUT) copy.spec.random_layer = r->dropouts++;
    return stk__buffer_append(&r->layers, &copy, sizeof copy, r->error);
}

static stk_status walk_op(stk__network_reader *r, stk__network_frame *frame, const stk__node *entry)
{
    char name[STK_NETWORK_NAME_BYTES];
    const stk__node *word = stk__node_find(entry, "op");
    stk__layer layer = {.line = entry->mark.line};
    stk_status status;
    bool stays;
    layer.spec.kind = stk__network_op(r, word, &status);
    STK__TRY(status);
    STK__TRY(read_name(r, frame, entry, name));
    STK__TRY(read_when(r, entry, frame->scope, &stays));
    STK__TRY(stk__network_inputs(r, frame, entry, layer.input, &layer.spec.inputs));
    frame->before = layer.input[0];
    if (!stays) return stk__network_name_add(r, name, frame->before, entry->mark);
    STK__TRY(stk__network_inputs_fit(r, &layer.spec, entry->mark));
    STK__TRY(stk__network_layer_keys(r, entry, frame->scope, &layer.spec));
    if (r->checking) return STK_OK;
    STK__TRY(add_layer(r, &layer, name, entry->mark));
    frame->before = (int)(r->layers.size_bytes / sizeof layer) - 1;
    return STK_OK;
}

/* Every option of the block must be there, and nothing else. */
static stk_status check_block_keys(const stk__network_reader *r, const stk__node *entry,
                                   const stk__network_block *block)
{
    const stk__node *options = block->options ? block->options->first : NULL;
    for (const stk__node *o = options; o; o = o->next)
        if (!stk__node_find(entry, o->text))
            return stk__network_refuse(r, entry->mark, "'%s' is missing, an option of this block", o->text);
    for (const stk__node *node = entry->first; node; node = node->next) {
        static const char *const common[] = {"block", "name", "in", "when"};
        stk__nearest nearest = {.word = node->key};
        bool known = false;
        for (int i = 0; i < 4; i++) {
            known = known || strcmp(common[i], node->key) == 0;
            stk__nearest_offer(&nearest, common[i]);
        }
        for (const stk__node *o = options; o; o = o->next) {
            known = known || strcmp(o->text, node->key) == 0;
            stk__nearest_offer(&nearest, o->text);
        }
        if (known) continue;
        stk__network_refuse(r, node->key_mark, "it has no option '%s'", node->key);
        if (strpbrk(node->key, "(),"))
            stk__error_hint(r->error, "put an expression with commas into quotes");
        else
            stk__network_suggest(r, nearest.best);
        return STK_ERROR_CONFIG;
    }
    return STK_OK;
}

static stk_status find_block(stk__network_reader *r, const stk__node *word, stk__network_block **block)
{
    STK__TRY(stk__network_want(r, word, STK_NODE_TEXT));
    *block = stk__network_block_find(r, word->text);
    if (*block) return STK_OK;
    stk__nearest nearest = {.word = word->text};
    for (int i = 0; i < r->block_count; i++)
        stk__nearest_offer(&nearest, r->blocks[i].name);
    stk__network_refuse(r, word->mark, "there is no block '%s'", word->text);
    if (!nearest.best && stk__op_find(word->text) < STK_OP_COUNT)
        stk__error_hint(r->error, "'%s' is an operation: write op instead of block", word->text);
    else
        stk__network_suggest(r, nearest.best);
    return STK_ERROR_CONFIG;
}

/* The block's own names and inputs; values from the frame of its use. */
static stk_status enter_block(stk__network_reader *r, stk__network_frame *outer, const stk__node *entry,
                              const stk__network_block *block, stk__network_frame *inner)
{
    stk__scope scopes[STK_NETWORK_BLOCK_OPTIONS_MOST];
    char prefix[STK_NETWORK_NAME_BYTES + 1];
    inner->scope = stk__network_block_scope(r, block, scopes);
    int count = 0;
    for (const stk__node *o = block->options ? block->options->first : NULL; o; o = o->next, count++)
        STK__TRY(stk__network_whole(r, stk__node_find(entry, o->text), outer->scope, &scopes[count].value));
    if (r->checking) return STK_OK;
    snprintf(prefix, sizeof prefix, "%s.", r->subject.name);
    inner->prefix = prefix;
    inner->before = inner->inputs[0];
    STK__TRY(stk__network_walk(r, inner, block->layers));
    return STK_OK;
}

static stk_status walk_block(stk__network_reader *r, stk__network_frame *frame, const stk__node *entry)
{
    char name[STK_NETWORK_NAME_BYTES];
    const stk__node *word = stk__node_find(entry, "block");
    stk__network_block *block = NULL;
    stk__network_frame inner = {.prefix = ""};
    bool stays;
    STK__TRY(find_block(r, word, &block));
    STK__TRY(read_name(r, frame, entry, name));
    if (r->checking) {
        STK__TRY(stk__network_block_check(r, block, word->mark));
        STK__TRY(check_block_keys(r, entry, block));
    }
    STK__TRY(read_when(r, entry, frame->scope, &stays));
    STK__TRY(stk__network_inputs(r, frame, entry, inner.inputs, &inner.input_count));
    if (inner.input_count != block->inputs)
        return stk__network_refuse(r, entry->mark, "it takes %d input%s, not %d", block->inputs,
                                   block->inputs > 1 ? "s" : "", inner.input_count);
    inner.before = inner.inputs[0];
    if (stays) STK__TRY(enter_block(r, frame, entry, block, &inner));
    frame->before = inner.before;
    return r->checking ? STK_OK : stk__network_name_add(r, name, inner.before, entry->mark);
}

/* {i: [first, last]} or {i: [first, last, step]} */
static stk_status read_loop(const stk__network_reader *r, const stk__node *loop, const stk__scope *scope,
                            int64_t values[LOOP_VALUES_MOST])
{
    STK__TRY(stk__network_want(r, loop, STK_NODE_MAP));
    if (loop->count != 1 || loop->first->kind != STK_NODE_LIST || loop->first->count < LOOP_VALUES_LEAST ||
        loop->first->count > LOOP_VALUES_MOST)
        return stk__network_refuse(r, loop->mark,
                                   "a loop is written {i: [first, last]} or {i: [first, last, step]}");
    const stk__node *range = loop->first;
    if (!stk__network_is_word(range->key))
        return stk__network_refuse(r, range->key_mark, "'%s' is not a name for a variable", range->key);
    const stk__scope *outer = stk__scope_find(scope, range->key, strlen(range->key));
    if (outer && !stk__network_is_fact(range->key))
        return stk__network_refuse(r, range->key_mark, "'%s' means something else already", range->key);
    int count = 0;
    values[2] = 1;
    for (const stk__node *node = range->first; node; node = node->next)
        STK__TRY(stk__network_whole(r, node, scope, &values[count++]));
    if (values[2] != 0 || r->checking) return STK_OK;
    return stk__network_refuse(r, range->mark, "the step of a loop is 0");
}

static stk_status check_loop_keys(const stk__network_reader *r, const stk__node *entry)
{
    for (const stk__node *node = entry->first; node; node = node->next)
        if (strcmp(node->key, "for") != 0 && strcmp(node->key, "layers") != 0 &&
            strcmp(node->key, "when") != 0)
            return stk__network_refuse(r, node->key_mark,
                                       "'%s' is not a key of a loop: for, layers and when are", node->key);
    if (stk__node_find(entry, "layers")) return STK_OK;
    return stk__network_refuse(r, entry->mark, "'layers' of the loop are missing");
}

static stk_status walk_loop(stk__network_reader *r, stk__network_frame *frame, const stk__node *entry)
{
    const stk__node *loop = stk__node_find(entry, "for");
    int64_t values[LOOP_VALUES_MOST] = {0};
    bool stays;
    STK__TRY(check_loop_keys(r, entry));
    STK__TRY(read_loop(r, loop, frame->scope, values));
    STK__TRY(read_when(r, entry, frame->scope, &stays));
    stk__scope variable = {.outer = frame->scope, .name = loop->first->key, .value = values[0]};
    const stk__scope *outer = frame->scope;
    const int64_t last = r->checking ? values[0] : values[1], step = r->checking ? 1 : values[2];
    while (stays && (step > 0 ? variable.value <= last : variable.value >= last)) {
        STK__TRY(count_step(r, entry->mark));
        frame->scope = &variable;
        STK__TRY(stk__network_walk(r, frame, stk__node_find(entry, "layers")));
        frame->scope = outer;
        if (__builtin_add_overflow(variable.value, step, &variable.value)) break;
    }
    return STK_OK;
}

static stk_status walk_entry(stk__network_reader *r, stk__network_frame *frame, const stk__node *entry)
{
    STK__TRY(stk__network_want(r, entry, STK_NODE_MAP));
    const bool op = stk__node_find(entry, "op"), block = stk__node_find(entry, "block"),
               loop = stk__node_find(entry, "for");
    if (op + block + loop != 1) {
        stk__network_refuse(r, entry->mark, "an entry of 'layers' has one of the keys op, block and for");
        if (op + block + loop == 0 && entry->count)
            stk__error_hint(r->error, "this one begins with '%s'", entry->first->key);
        return STK_ERROR_CONFIG;
    }
    if (loop) return walk_loop(r, frame, entry);
    const stk__node *name = stk__node_find(entry, "name"), *word = stk__node_find(entry, op ? "op" : "block");
    r->subject = (stk__network_subject){op ? "layer" : "block", name ? name->text : NULL, word->text};
    return op ? walk_op(r, frame, entry) : walk_block(r, frame, entry);
}

stk_status stk__network_walk(stk__network_reader *r, stk__network_frame *frame, const stk__node *list)
{
    const stk__network_subject outer = r->subject;
    STK__TRY(stk__network_want(r, list, STK_NODE_LIST));
    if (!list->count) return stk__network_refuse(r, list->mark, "'layers' is empty");
    for (const stk__node *entry = list->first; entry; entry = entry->next) {
        r->subject = (stk__network_subject){0};
        STK__TRY(count_step(r, entry->mark));
        STK__TRY(walk_entry(r, frame, entry));
    }
    r->subject = outer;
    return STK_OK;
}
