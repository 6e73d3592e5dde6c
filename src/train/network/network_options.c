/* SPDX-License-Identifier: Apache-2.0 */
/* Options of a network: from its file, then the data's facts, then the user's settings. */
#include "train/network/network_reader.h"

#include "core/nearest.h"

#include <stdio.h>
#include <string.h>

enum { LEAST_DEFAULT = 1, MOST_DEFAULT = 65536, BOUND = 1 << 30 };

static const char *const facts[STK_NETWORK_FACTS] = {"image_h", "image_w",  "image_c", "num_classes",
                                                     "points",  "features", "window"};

bool stk__network_is_fact(const char *name)
{
    for (int i = 0; i < STK_NETWORK_FACTS; i++)
        if (strcmp(facts[i], name) == 0) return true;
    return false;
}

static const stk__network_setting *find_setting(const stk__network_setting *settings, int count,
                                                const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(settings[i].name, name) == 0) return &settings[i];
    return NULL;
}

static const char *place_of(const stk__network_request *request, const stk__network_setting *setting)
{
    return request->places ? request->places[setting - request->settings] : NULL;
}

static stk_status check_word(const stk__network_reader *r, const stk__node *entry)
{
    /* Words of expressions, and keys of the section `model` that are not options of networks. */
    static const char *const taken[] = {"true", "false", "min", "max", "name", "file", "weights", "freeze"};
    if (!stk__network_is_word(entry->key))
        return stk__network_refuse(r, entry->key_mark, "'%s' is not a name for an option", entry->key);
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++)
        if (strcmp(entry->key, taken[i]) == 0)
            return stk__network_refuse(r, entry->key_mark, "an option cannot be called '%s'", entry->key);
    return STK_OK;
}

static stk_status read_bound(const stk__network_reader *r, const stk__node *node, int64_t *value)
{
    STK__TRY(stk__network_whole(r, node, NULL, value));
    if (*value < -BOUND || *value > BOUND)
        return stk__network_refuse(r, node->mark, "'%s' must be between %d and %d", node->key, -BOUND, BOUND);
    return STK_OK;
}

static stk_status read_help(const stk__network_reader *r, const stk__node *node, const char **help)
{
    STK__TRY(stk__network_want(r, node, STK_NODE_TEXT));
    *help = stk__store_text(&r->network->texts, node->text, strlen(node->text), r->error);
    return *help ? STK_OK : STK_ERROR_MEMORY;
}

static stk_status read_key(const stk__network_reader *r, const stk__node *node, stk__network_option *option)
{
    if (strcmp(node->key, "default") == 0) return read_bound(r, node, &option->value);
    if (strcmp(node->key, "least") == 0) return read_bound(r, node, &option->least);
    if (strcmp(node->key, "most") == 0) return read_bound(r, node, &option->most);
    if (strcmp(node->key, "help") == 0) return read_help(r, node, &option->help);
    stk__network_refuse(r, node->key_mark, "'%s' is not a key of an option", node->key);
    stk__error_hint(r->error, "an option has default, least, most and help");
    return STK_ERROR_CONFIG;
}

static stk_status check_range(const stk__network_reader *r, const stk__network_option *option, stk__mark mark,
                              const char *by)
{
    if (option->value >= option->least && option->value <= option->most) return STK_OK;
    return stk__network_refuse(r, mark, "%s of '%s' is %lld; %lld to %lld are possible", by, option->name,
                               (long long)option->value, (long long)option->least, (long long)option->most);
}

/* The data's fact of that name, then the user's setting. */
static stk_status override(const stk__network_reader *r, stk__network_option *option, stk__mark mark)
{
    const stk__network_request *q = r->request;
    const stk__network_setting *fact = find_setting(q->facts, q->fact_count, option->name);
    const stk__network_setting *asked = find_setting(q->settings, q->setting_count, option->name);
    STK__TRY(check_range(r, option, mark, "the default"));
    option->asked = asked;
    if (asked) {
        option->value = asked->value;
        const stk_status status = check_range(r, option, mark, "the setting");
        const char *place = place_of(q, asked);
        if (status != STK_OK && place) stk__error_place(r->error, "%s", place);
        return status;
    }
    if (!fact) return STK_OK;
    option->value = fact->value;
    return check_range(r, option, mark, "the data's value");
}

static stk_status read_option(stk__network_reader *r, const stk__node *entry, stk__network_option *option)
{
    STK__TRY(check_word(r, entry));
    r->subject = (stk__network_subject){"option", entry->key, NULL};
    STK__TRY(stk__network_want(r, entry, STK_NODE_MAP));
    const stk__node *value = stk__node_find(entry, "default");
    if (!value) return stk__network_refuse(r, entry->mark, "'default' is missing");
    option->least = LEAST_DEFAULT;
    option->most = MOST_DEFAULT;
    option->help = "";
    option->name = stk__store_text(&r->network->texts, entry->key, strlen(entry->key), r->error);
    if (!option->name) return STK_ERROR_MEMORY;
    for (const stk__node *node = entry->first; node; node = node->next)
        STK__TRY(read_key(r, node, option));
    r->subject = (stk__network_subject){0};
    return override(r, option, value->mark);
}

static stk_status refuse_setting(const stk__network_reader *r, const stk__network_setting *setting)
{
    const stk__network *network = r->network;
    const char *name = setting->name;
    stk__nearest nearest = {.word = name};
    char list[200] = "";
    size_t at = 0;
    for (int i = 0; i < network->option_count; i++) {
        stk__nearest_offer(&nearest, network->options[i].name);
        if (at < sizeof list)
            at += (size_t)snprintf(list + at, sizeof list - at, "%s%s", i ? ", " : "",
                                   network->options[i].name);
    }
    stk__fail(r->error, STK_ERROR_CONFIG, "the network '%s' has no option '%s'", network->name, name);
    const char *place = place_of(r->request, setting);
    stk__error_place(r->error, "%s", place ? place : network->place);
    if (nearest.best)
        stk__error_hint(r->error, "did you mean '%s'? it has %s", nearest.best, list);
    else
        stk__error_hint(r->error, at ? "it has %s" : "it has none", list);
    return STK_ERROR_CONFIG;
}

static bool has_option(const stk__network *network, const char *name)
{
    for (int i = 0; i < network->option_count; i++)
        if (strcmp(network->options[i].name, name) == 0) return true;
    return false;
}

static void bind(stk__network_reader *r, stk__scope scope)
{
    stk__scope *link = &r->scopes[r->scope ? r->scope - r->scopes + 1 : 0];
    *link = scope;
    link->outer = r->scope;
    r->scope = link;
}

static void bind_all(stk__network_reader *r)
{
    const stk__network_request *q = r->request;
    for (int i = 0; i < STK_NETWORK_FACTS; i++) {
        const stk__network_setting *fact = find_setting(q->facts, q->fact_count, facts[i]);
        bind(r, (stk__scope){.name = facts[i], .value = fact ? fact->value : 0, .unknown = !fact});
    }
    for (int i = 0; i < r->network->option_count; i++)
        bind(r, (stk__scope){.name = r->network->options[i].name,
                             .value = r->network->options[i].value,
                             .used = &r->used[i]});
}

stk_status stk__network_read_options(stk__network_reader *r)
{
    stk__network *network = r->network;
    const stk__node *options = stk__node_find(r->root, "options");
    if (options) STK__TRY(stk__network_want(r, options, STK_NODE_MAP));
    if (options && options->count > STK_NETWORK_OPTIONS_MOST)
        return stk__network_refuse(r, options->mark, "more than %d options", STK_NETWORK_OPTIONS_MOST);
    if (options && options->count) {
        const size_t size = (size_t)options->count * sizeof *network->options;
        network->options = stk__store_take(&network->texts, size, r->error);
        if (!network->options) return STK_ERROR_MEMORY;
        for (const stk__node *entry = options->first; entry; entry = entry->next)
            STK__TRY(read_option(r, entry, &network->options[network->option_count++]));
    }
    for (int i = 0; i < r->request->setting_count; i++)
        if (!has_option(network, r->request->settings[i].name))
            return refuse_setting(r, &r->request->settings[i]);
    bind_all(r);
    return STK_OK;
}

stk_status stk__network_options_used(const stk__network_reader *r)
{
    const stk__node *options = stk__node_find(r->root, "options");
    const stk__node *entry = options ? options->first : NULL;
    for (int i = 0; entry; i++, entry = entry->next)
        if (!r->used[i])
            return stk__network_refuse(r, entry->key_mark, "nothing uses the option '%s'", entry->key);
    return STK_OK;
}
