/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a network description (YAML) into a flat list of layers: head, options, blocks unrolled
 * (network_expand.c), then checks that every layer is used. The result is constant; the text is untrusted
 * (fuzzed). */
#include "train/network/network_reader.h"

#include "core/file.h"
#include "core/nearest.h"

#include <stdio.h>
#include <string.h>

static const char *const tasks[] = {
    [STK_TASK_SEGMENTATION] = "segmentation",         [STK_TASK_POINTS] = "points",
    [STK_TASK_CLASSIFICATION] = "classification",     [STK_TASK_REGRESSION] = "regression",
    [STK_TASK_IMAGE_REGRESSION] = "image_regression", [STK_TASK_MULTILABEL] = "multilabel",
};
enum { MULTIPLE_MOST = 4096 };

const char *stk__task_word(stk__task task)
{
    return tasks[task];
}

const char *stk__network_names(int index)
{
    int count = 0;
    while (stk__networks_shipped[count].name)
        count++;
    return index >= 0 && index < count ? stk__networks_shipped[index].name : NULL;
}

static stk_status find_task(stk__network_reader *r, const stk__node *node, stk__task *task)
{
    STK__TRY(stk__network_want(r, node, STK_NODE_TEXT));
    stk__nearest nearest = {.word = node->text};
    for (int i = 0; i < STK_TASK_COUNT; i++) {
        stk__nearest_offer(&nearest, tasks[i]);
        *task = (stk__task)i;
        if (strcmp(tasks[i], node->text) == 0) return STK_OK;
    }
    stk__network_refuse(r, node->mark, "unknown task '%s'", node->text);
    if (nearest.best)
        stk__network_suggest(r, nearest.best);
    else
        stk__error_hint(r->error,
                        "tasks are segmentation, points, classification, multilabel, regression and "
                        "image_regression");
    return STK_ERROR_CONFIG;
}

/* One task, or a list of those that the network can be for: the data's one is taken, else the first. */
static stk_status read_task(stk__network_reader *r, const stk__node *node)
{
    stk__task *task = &r->network->task, other;
    if (node->kind != STK_NODE_LIST) return find_task(r, node, task);
    if (!node->first) return stk__network_refuse(r, node->mark, "the list of tasks is empty");
    STK__TRY(find_task(r, node->first, task));
    for (const stk__node *next = node->first->next; next; next = next->next) {
        STK__TRY(find_task(r, next, &other));
        if (r->request->task && *r->request->task == other) *task = other;
    }
    return STK_OK;
}

static stk_status read_text(stk__network_reader *r, const char *key, const char **text)
{
    const stk__node *node = stk__node_find(r->root, key);
    *text = "";
    if (!node) return STK_OK;
    STK__TRY(stk__network_want(r, node, STK_NODE_TEXT));
    *text = stk__store_text(&r->network->texts, node->text, strlen(node->text), r->error);
    return *text ? STK_OK : STK_ERROR_MEMORY;
}

static stk_status check_keys(const stk__network_reader *r)
{
    static const char *const keys[] = {"name",    "task",   "layers", "about",
                                       "options", "blocks", "output", "multiple"};
    enum { KEYS = sizeof keys / sizeof keys[0], NEEDED = 3 };
    for (const stk__node *node = r->root->first; node; node = node->next) {
        stk__nearest nearest = {.word = node->key};
        int i = 0;
        while (i < KEYS && strcmp(keys[i], node->key) != 0)
            stk__nearest_offer(&nearest, keys[i++]);
        if (i < KEYS) continue;
        stk__network_refuse(r, node->key_mark, "'%s' is not a key of a network", node->key);
        stk__network_suggest(r, nearest.best);
        return STK_ERROR_CONFIG;
    }
    for (int i = 0; i < NEEDED; i++)
        if (!stk__node_find(r->root, keys[i]))
            return stk__network_refuse(r, r->root->mark, "'%s' is missing", keys[i]);
    return STK_OK;
}

static stk_status read_head(stk__network_reader *r)
{
    if (r->root->kind != STK_NODE_MAP) {
        stk__network_refuse(r, r->root->mark, "a network is a map of keys and values");
        stk__error_hint(r->error, "docs/networks.md shows how one is written");
        return STK_ERROR_CONFIG;
    }
    STK__TRY(check_keys(r));
    const stk__node *task = stk__node_find(r->root, "task");
    STK__TRY(read_text(r, "name", &r->network->name));
    STK__TRY(read_text(r, "about", &r->network->about));
    return read_task(r, task);
}

static stk_status read_multiple(stk__network_reader *r)
{
    const stk__node *node = stk__node_find(r->root, "multiple");
    r->network->multiple = 1;
    if (!node) return STK_OK;
    STK__TRY(stk__network_whole(r, node, r->scope, &r->network->multiple));
    if (r->checking || (r->network->multiple >= 1 && r->network->multiple <= MULTIPLE_MOST)) return STK_OK;
    return stk__network_refuse(r, node->mark, "multiple is %lld; 1 to %d are possible",
                               (long long)r->network->multiple, MULTIPLE_MOST);
}

static stk_status walk_all(stk__network_reader *r, bool checking, int *output)
{
    stk__network_frame top = {.scope = r->scope, .prefix = "", .before = STK_LAYER_INPUT};
    const stk__node *node = stk__node_find(r->root, "output");
    r->checking = checking;
    r->steps = 0;
    STK__TRY(read_multiple(r));
    if (checking)
        for (int i = 0; i < r->block_count; i++)
            STK__TRY(stk__network_block_check(r, &r->blocks[i], r->root->mark));
    STK__TRY(stk__network_walk(r, &top, stk__node_find(r->root, "layers")));
    *output = top.before;
    r->subject = (stk__network_subject){.what = "output"};
    if (node) STK__TRY(stk__network_input_find(r, &top, node, output));
    r->subject = (stk__network_subject){0};
    return checking ? stk__network_options_used(r) : STK_OK;
}

/* A layer that nothing reads is a slip in some `in`. */
static stk_status check_used(const stk__network_reader *r)
{
    const stk__network *network = r->network;
    bool used[STK_NETWORK_LAYERS_MOST] = {false};
    used[network->output] = true;
    for (int i = network->layer_count - 1; i >= 0; i--) {
        const stk__layer *layer = &network->layers[i];
        if (!used[i]) {
            stk__fail(r->error, STK_ERROR_CONFIG,
                      "layer '%s' (%s): no layer uses it and it is not the output", layer->name,
                      stk__op_word(layer->spec.kind));
            stk__error_place(r->error, "%s:%d", network->place, layer->line);
            return STK_ERROR_CONFIG;
        }
        for (int k = 0; k < layer->spec.inputs; k++)
            if (layer->input[k] >= 0) used[layer->input[k]] = true;
    }
    return STK_OK;
}

static stk_status read_tree(stk__network_reader *r)
{
    stk__network *network = r->network;
    int output = 0;
    STK__TRY(read_head(r));
    STK__TRY(stk__network_read_options(r));
    STK__TRY(stk__network_read_blocks(r));
    STK__TRY(walk_all(r, true, &output));
    STK__TRY(walk_all(r, false, &network->output));
    network->layers = (stk__layer *)(void *)r->layers.data;
    network->layer_count = (int)(r->layers.size_bytes / sizeof *network->layers);
    r->layers = (stk__buffer){0};
    const stk__node *node = stk__node_find(r->root, "output");
    if (network->output < 0)
        return stk__network_refuse(
            r, node ? node->mark : r->root->mark, "the output is the network's input: %s",
            network->layer_count ? "no layer computes it" : "every layer was left out");
    return check_used(r);
}

static stk_status read_network(stk__network **network, const char *text, size_t size_bytes, const char *place,
                               const stk__network_request *request, stk_error *error)
{
    stk__network_reader r = {.request = request, .error = error};
    r.network = stk__alloc(sizeof *r.network);
    if (!r.network) return stk__fail_memory(error, sizeof *r.network, "a network");
    r.network->place = stk__store_text(&r.network->texts, place, strlen(place), error);
    stk_status status = r.network->place ? STK_OK : STK_ERROR_MEMORY;
    if (status == STK_OK) status = stk__tree_read(text, size_bytes, place, &r.scratch, &r.root, error);
    if (status == STK_OK) status = read_tree(&r);
    stk__store_fini(&r.scratch);
    stk__buffer_fini(&r.layers);
    if (status != STK_OK) stk__network_destroy(&r.network);
    *network = r.network;
    return status;
}

static stk_status read_file(stk__network **network, const stk__network_request *request, stk_error *error)
{
    stk__buffer content = {0};
    stk_error failure = {0};
    stk_status status = stk__file_read(request->file, STK_NETWORK_BYTES_MOST, &content, &failure);
    if (status == STK_OK) {
        status = read_network(network, (const char *)content.data, content.size_bytes, request->file, request,
                              error);
    } else if (status == STK_ERROR_SAMPLE) {
        const bool large = failure.damage == STK_DAMAGE_TOO_MANY_BYTES;
        status = stk__fail(error, large ? STK_ERROR_CONFIG : STK_ERROR_IO, "cannot read the network: %s",
                           large ? "the file is larger than 256 KiB" : failure.message);
        stk__error_place(error, "%s", request->file);
    } else if (error) {
        *error = failure;
    }
    stk__buffer_fini(&content);
    return status;
}

static stk_status refuse_name(const char *name, stk_error *error)
{
    stk__nearest nearest = {.word = name};
    char list[160] = "";
    size_t at = 0;
    for (const stk__network_shipped *s = stk__networks_shipped; s->name; s++) {
        stk__nearest_offer(&nearest, s->name);
        if (at < sizeof list)
            at += (size_t)snprintf(list + at, sizeof list - at, "%s%s", at ? ", " : "", s->name);
    }
    stk__fail(error, STK_ERROR_CONFIG, "there is no network '%s'", name);
    if (nearest.best)
        stk__error_hint(error, "did you mean '%s'?", nearest.best);
    else
        stk__error_hint(error, "there are %s; model.file takes a file of your own", list);
    return STK_ERROR_CONFIG;
}

stk_status stk__network_read(stk__network **network, const stk__network_request *request, stk_error *error)
{
    const stk__network_shipped *shipped = stk__networks_shipped;
    *network = NULL;
    if (!request->name + !request->file + !request->text != 2) {
        stk__fail(error, STK_ERROR_CONFIG, "a network is chosen by its name or by a file, %s",
                  request->name ? "not by both" : "and neither is given");
        stk__error_hint(error, "for example model.name=%s", shipped->name);
        return STK_ERROR_CONFIG;
    }
    if (request->file) return read_file(network, request, error);
    if (request->text)
        return read_network(network, request->text, strlen(request->text), "text", request, error);
    while (shipped->name && strcmp(shipped->name, request->name) != 0)
        shipped++;
    if (!shipped->name) return refuse_name(request->name, error);
    return read_network(network, shipped->text, strlen(shipped->text), shipped->place, request, error);
}

void stk__network_destroy(stk__network **network)
{
    if (!*network) return;
    stk__free((*network)->layers);
    stk__store_fini(&(*network)->texts);
    stk__free(*network);
    *network = NULL;
}
