/* SPDX-License-Identifier: Apache-2.0 */
/* The blocks of a network file, and the first walk over each. */
#include "train/network/network_reader.h"

#include <string.h>

stk__network_block *stk__network_block_find(stk__network_reader *r, const char *name)
{
    for (int i = 0; i < r->block_count; i++)
        if (strcmp(r->blocks[i].name, name) == 0) return &r->blocks[i];
    return NULL;
}

static bool is_taken(const char *word)
{
    static const char *const taken[] = {"op",   "block", "for",   "name", "in",
                                        "when", "true",  "false", "min",  "max"};
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++)
        if (strcmp(word, taken[i]) == 0) return true;
    return false;
}

static stk_status check_option(const stk__network_reader *r, const stk__node *options, const stk__node *node)
{
    STK__TRY(stk__network_want(r, node, STK_NODE_TEXT));
    if (!stk__network_is_word(node->text) || is_taken(node->text))
        return stk__network_refuse(r, node->mark, "an option of a block cannot be called '%s'", node->text);
    for (const stk__node *other = options->first; other != node; other = other->next)
        if (strcmp(other->text, node->text) == 0)
            return stk__network_refuse(r, node->mark, "duplicate option '%s'", node->text);
    const stk__scope *outer = stk__scope_find(r->scope, node->text, strlen(node->text));
    if (outer && !stk__network_is_fact(node->text)) {
        stk__network_refuse(r, node->mark, "'%s' is an option of the network already", node->text);
        stk__error_hint(r->error, "blocks see the network's options; give this one another name");
        return STK_ERROR_CONFIG;
    }
    return STK_OK;
}

static stk_status read_options(const stk__network_reader *r, stk__network_block *block, const stk__node *node)
{
    STK__TRY(stk__network_want(r, node, STK_NODE_LIST));
    if (node->count > STK_NETWORK_BLOCK_OPTIONS_MOST)
        return stk__network_refuse(r, node->mark, "more than %d options", STK_NETWORK_BLOCK_OPTIONS_MOST);
    for (const stk__node *option = node->first; option; option = option->next)
        STK__TRY(check_option(r, node, option));
    block->options = node;
    return STK_OK;
}

static stk_status read_block(stk__network_reader *r, const stk__node *entry)
{
    if (!stk__network_is_word(entry->key))
        return stk__network_refuse(r, entry->key_mark, "'%s' is not a name for a block", entry->key);
    r->subject = (stk__network_subject){"block", entry->key, NULL};
    STK__TRY(stk__network_want(r, entry, STK_NODE_MAP));
    stk__network_block *block = &r->blocks[r->block_count++];
    *block = (stk__network_block){.name = entry->key};
    for (const stk__node *node = entry->first; node; node = node->next) {
        if (strcmp(node->key, "options") == 0)
            STK__TRY(read_options(r, block, node));
        else if (strcmp(node->key, "layers") == 0)
            block->layers = node;
        else
            return stk__network_refuse(r, node->key_mark,
                                       "'%s' is not a key of a block: options and layers are", node->key);
    }
    if (!block->layers) return stk__network_refuse(r, entry->mark, "'layers' is missing");
    r->subject = (stk__network_subject){0};
    return STK_OK;
}

stk_status stk__network_read_blocks(stk__network_reader *r)
{
    const stk__node *blocks = stk__node_find(r->root, "blocks");
    if (!blocks) return STK_OK;
    STK__TRY(stk__network_want(r, blocks, STK_NODE_MAP));
    if (blocks->count > STK_NETWORK_BLOCKS_MOST)
        return stk__network_refuse(r, blocks->mark, "more than %d blocks", STK_NETWORK_BLOCKS_MOST);
    for (const stk__node *entry = blocks->first; entry; entry = entry->next)
        STK__TRY(read_block(r, entry));
    return STK_OK;
}

const stk__scope *stk__network_block_scope(const stk__network_reader *r, const stk__network_block *block,
                                           stk__scope scopes[STK_NETWORK_BLOCK_OPTIONS_MOST])
{
    const stk__scope *outer = r->scope;
    int count = 0;
    for (const stk__node *node = block->options ? block->options->first : NULL; node; node = node->next) {
        scopes[count] = (stk__scope){.outer = outer, .name = node->text};
        outer = &scopes[count++];
    }
    return outer;
}

static stk_status check_used(const stk__network_reader *r, const stk__network_block *block, const bool *used)
{
    const stk__node *node = block->options ? block->options->first : NULL;
    for (int i = 0; node; i++, node = node->next)
        if (!used[i])
            return stk__network_refuse(r, node->mark, "nothing in the block '%s' uses its option '%s'",
                                       block->name, node->text);
    return STK_OK;
}

stk_status stk__network_block_check(stk__network_reader *r, stk__network_block *block, stk__mark use)
{
    if (block->state == STK_BLOCK_CHECKED) return STK_OK;
    if (block->state == STK_BLOCK_CHECKING)
        return stk__network_refuse(r, use, "the block '%s' uses itself", block->name);
    stk__scope scopes[STK_NETWORK_BLOCK_OPTIONS_MOST];
    bool used[STK_NETWORK_BLOCK_OPTIONS_MOST] = {false};
    stk__network_frame frame = {.prefix = "", .input_count = STK_OP_INPUTS, .asked = 1};
    frame.scope = stk__network_block_scope(r, block, scopes);
    for (int i = 0; block->options && i < block->options->count; i++)
        scopes[i].used = &used[i];
    block->state = STK_BLOCK_CHECKING;
    const stk__network_subject subject = r->subject;
    r->subject = (stk__network_subject){0};
    STK__TRY(stk__network_walk(r, &frame, block->layers));
    STK__TRY(check_used(r, block, used));
    r->subject = subject;
    block->inputs = frame.asked;
    block->state = STK_BLOCK_CHECKED;
    return STK_OK;
}
