/* SPDX-License-Identifier: Apache-2.0 */
/* Values of a network file: kinds of nodes, integers, names with expressions inside. */
#include "train/network/network_reader.h"

#include "core/nearest.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { WORD_MOST = 40 };

stk_status stk__network_refuse(const stk__network_reader *r, stk__mark mark, const char *format, ...)
{
    char message[sizeof(stk_error)];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    const stk__network_subject *s = &r->subject;
    const bool named = s->name && *s->name;
    stk__fail(r->error, STK_ERROR_CONFIG, "%s%s%s%s%s%s%s%s%s", s->what ? s->what : "", named ? " '" : "",
              named ? s->name : "", named ? "'" : "", s->word ? " (" : "", s->word ? s->word : "",
              s->word ? ")" : "", s->what ? ": " : "", message);
    stk__error_place(r->error, "%s:%d:%d", r->network->place, mark.line, mark.column);
    return STK_ERROR_CONFIG;
}

void stk__network_suggest(const stk__network_reader *r, const char *best)
{
    if (best) stk__error_hint(r->error, "did you mean '%s'?", best);
}

stk_status stk__network_want(const stk__network_reader *r, const stk__node *node, stk__node_kind kind)
{
    static const char *const words[] = {"a single value", "a list", "a map"};
    if (node->kind != kind && node->key)
        return stk__network_refuse(r, node->mark, "'%s' must be %s, not %s", node->key, words[kind],
                                   words[node->kind]);
    if (node->kind != kind)
        return stk__network_refuse(r, node->mark, "%s is expected here, not %s", words[kind],
                                   words[node->kind]);
    if (kind == STK_NODE_TEXT && !node->text[0])
        return stk__network_refuse(r, node->mark, "'%s' has no value", node->key ? node->key : "");
    return STK_OK;
}

/* Of something at an offset of a text. */
static stk__mark mark_inside(const stk__node *node, size_t offset)
{
    stk__mark mark = node->mark;
    if (node->straight) mark.column += (int)offset;
    return mark;
}

static stk_status refuse_mistake(const stk__network_reader *r, const stk__node *node, size_t offset,
                                 const stk__mistake *mistake)
{
    const stk__mark mark = mark_inside(node, offset + mistake->at);
    if (node->key)
        stk__network_refuse(r, mark, "%s: %s", node->key, mistake->message);
    else
        stk__network_refuse(r, mark, "%s", mistake->message);
    if (mistake->hint[0]) stk__error_hint(r->error, "%s", mistake->hint);
    return STK_ERROR_CONFIG;
}

stk_status stk__network_whole(const stk__network_reader *r, const stk__node *node, const stk__scope *scope,
                              int64_t *value)
{
    stk__mistake mistake;
    STK__TRY(stk__network_want(r, node, STK_NODE_TEXT));
    const stk__expression expression = {node->text, strlen(node->text), scope, r->checking};
    if (stk__expression_value(&expression, value, &mistake)) return STK_OK;
    return refuse_mistake(r, node, 0, &mistake);
}

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

bool stk__network_is_word(const char *text)
{
    if ((*text >= '0' && *text <= '9') || strchr(text, '.')) return false;
    const size_t length = strlen(text);
    for (size_t i = 0; i < length; i++)
        if (!is_name_char(text[i])) return false;
    return length >= 1 && length <= WORD_MOST;
}

/* No part between dots may be empty. */
static bool has_empty_part(const char *name)
{
    const size_t length = strlen(name);
    return length == 0 || name[0] == '.' || name[length - 1] == '.' || strstr(name, "..");
}

/* {expression} at *at: its value is put to the end of name. */
static stk_status fill_one(const stk__network_reader *r, const stk__node *node, const stk__scope *scope,
                           size_t *at, char name[STK_NETWORK_NAME_BYTES])
{
    const char *start = node->text + *at + 1, *end = strchr(start, '}');
    stk__mistake mistake;
    int64_t value = 0;
    if (!end) return stk__network_refuse(r, mark_inside(node, *at), "'{' without '}' in '%s'", node->text);
    const stk__expression expression = {start, (size_t)(end - start), scope, r->checking};
    if (!stk__expression_value(&expression, &value, &mistake))
        return refuse_mistake(r, node, *at + 1, &mistake);
    if (value < 0 && !r->checking)
        return stk__network_refuse(r, mark_inside(node, *at), "%lld, a negative number, in the name '%s'",
                                   (long long)value, node->text);
    const size_t used = strlen(name), room = STK_NETWORK_NAME_BYTES - used;
    const int added = snprintf(name + used, room, "%lld", r->checking ? 0LL : (long long)value);
    if (added >= (int)room)
        return stk__network_refuse(r, node->mark, "a name of more than %d letters",
                                   STK_NETWORK_NAME_BYTES - 1);
    *at += (size_t)(end - start) + 2;
    return STK_OK;
}

stk_status stk__network_fill(const stk__network_reader *r, const stk__node *node, const stk__scope *scope,
                             char name[STK_NETWORK_NAME_BYTES])
{
    STK__TRY(stk__network_want(r, node, STK_NODE_TEXT));
    name[0] = '\0';
    for (size_t at = 0; node->text[at];) {
        if (node->text[at] == '{') {
            STK__TRY(fill_one(r, node, scope, &at, name));
            continue;
        }
        const size_t used = strlen(name);
        if (used + 2 > STK_NETWORK_NAME_BYTES)
            return stk__network_refuse(r, node->mark, "a name of more than %d letters",
                                       STK_NETWORK_NAME_BYTES - 1);
        if (!is_name_char(node->text[at]))
            return stk__network_refuse(r, mark_inside(node, at),
                                       "'%s' is not a name: use letters, digits, '_' and '.'", node->text);
        name[used] = node->text[at++];
        name[used + 1] = '\0';
    }
    if (has_empty_part(name))
        return stk__network_refuse(r, node->mark, "'%s' is not a name: a part between dots is empty",
                                   node->text);
    return STK_OK;
}
