/* SPDX-License-Identifier: Apache-2.0 */
/* Names of layers: adding them, and finding what an `in` means. */
#include "train/network/network_reader.h"

#include "core/nearest.h"

#include <stdio.h>
#include <string.h>

static uint64_t hash_of(const char *name)
{
    uint64_t hash = 1469598103934665603u;
    for (; *name; name++)
        hash = (hash ^ (uint8_t)*name) * 1099511628211u;
    return hash ^ hash >> 32;
}

const stk__layer_name *stk__network_name_find(const stk__network_reader *r, const char *name)
{
    const uint64_t hash = hash_of(name);
    const stk__layer_name *found = r->buckets[hash % STK_NETWORK_BUCKETS];
    while (found && (found->hash != hash || strcmp(found->name, name) != 0))
        found = found->next;
    return found;
}

stk_status stk__network_name_add(stk__network_reader *r, const char *name, int layer, stk__mark mark)
{
    const stk__layer_name *before = stk__network_name_find(r, name);
    if (before) {
        stk__network_refuse(r, mark, "duplicate name '%s'", name);
        stk__error_hint(r->error, "the first is in line %d; inside a loop, put {its variable} into the name",
                        before->line);
        return STK_ERROR_CONFIG;
    }
    stk__layer_name *added = stk__store_take(&r->scratch, sizeof *added, r->error);
    if (!added) return STK_ERROR_MEMORY;
    const char *copy = stk__store_text(&r->scratch, name, strlen(name), r->error);
    if (!copy) return STK_ERROR_MEMORY;
    const uint64_t hash = hash_of(name);
    stk__layer_name **bucket = &r->buckets[hash % STK_NETWORK_BUCKETS];
    *added = (stk__layer_name){copy, hash, layer, mark.line, *bucket};
    *bucket = added;
    return STK_OK;
}

/* 1 for "in", K for "inK", 0 for anything else. */
static int block_input(const char *name)
{
    if (strcmp(name, "in") == 0) return 1;
    if (strncmp(name, "in", 2) != 0 || name[2] < '1' || name[2] > '0' + STK_OP_INPUTS || name[3]) return 0;
    return name[2] - '0';
}

static stk_status refuse_unknown(const stk__network_reader *r, const stk__network_frame *frame,
                                 const stk__node *node, const char *name)
{
    const size_t prefix = strlen(frame->prefix);
    stk__nearest nearest = {.word = name};
    for (int i = 0; i < STK_NETWORK_BUCKETS; i++)
        for (const stk__layer_name *known = r->buckets[i]; known; known = known->next) {
            if (prefix && strncmp(known->name, frame->prefix, prefix) == 0)
                stk__nearest_offer(&nearest, known->name + prefix);
            stk__nearest_offer(&nearest, known->name);
        }
    stk__nearest_offer(&nearest, frame->input_count ? "in" : "input");
    stk__network_refuse(r, node->mark, "no layer '%s' is above it", name);
    if (nearest.best)
        stk__network_suggest(r, nearest.best);
    else
        stk__error_hint(r->error, "only layers above can be used; 'input' is the network's input");
    return STK_ERROR_CONFIG;
}

static stk_status find_block_input(const stk__network_reader *r, stk__network_frame *frame,
                                   const stk__node *node, int number, int *layer)
{
    if (!frame->input_count) {
        stk__network_refuse(r, node->mark, "'%s' is the input of a block, and this is outside of one",
                            node->text);
        stk__error_hint(r->error, "'input' is the network's input");
        return STK_ERROR_CONFIG;
    }
    if (number > frame->asked) frame->asked = number;
    if (number > frame->input_count)
        return stk__network_refuse(r, node->mark, "there is no '%s': the block was given %d input%s",
                                   node->text, frame->input_count, frame->input_count > 1 ? "s" : "");
    *layer = frame->inputs[number - 1];
    return STK_OK;
}

bool stk__network_is_reserved(const char *name)
{
    return block_input(name) || strcmp(name, "input") == 0 || strcmp(name, "before") == 0;
}

stk_status stk__network_input_find(stk__network_reader *r, stk__network_frame *frame, const stk__node *node,
                                   int *layer)
{
    char name[STK_NETWORK_NAME_BYTES], inner[2 * STK_NETWORK_NAME_BYTES];
    STK__TRY(stk__network_fill(r, node, frame->scope, name));
    const int number = block_input(name);
    if (number) return find_block_input(r, frame, node, number, layer);
    *layer = frame->before;
    if (r->checking || strcmp(name, "before") == 0) return STK_OK;
    *layer = STK_LAYER_INPUT;
    snprintf(inner, sizeof inner, "%s%s", frame->prefix, name);
    const stk__layer_name *found = stk__network_name_find(r, inner);
    if (!found) found = stk__network_name_find(r, name);
    if (found)
        *layer = found->layer;
    else if (strcmp(name, "input") != 0)
        return refuse_unknown(r, frame, node, name);
    return STK_OK;
}

stk_status stk__network_inputs(stk__network_reader *r, stk__network_frame *frame, const stk__node *entry,
                               int inputs[STK_OP_INPUTS], int *count)
{
    const stk__node *in = stk__node_find(entry, "in");
    *count = 1;
    inputs[0] = frame->before;
    if (!in) return STK_OK;
    if (in->kind != STK_NODE_LIST) return stk__network_input_find(r, frame, in, &inputs[0]);
    if (in->count < 1 || in->count > STK_OP_INPUTS)
        return stk__network_refuse(r, in->mark, "'in' has %d inputs; 1 to %d are possible", in->count,
                                   STK_OP_INPUTS);
    *count = 0;
    for (const stk__node *node = in->first; node; node = node->next)
        STK__TRY(stk__network_input_find(r, frame, node, &inputs[(*count)++]));
    return STK_OK;
}
