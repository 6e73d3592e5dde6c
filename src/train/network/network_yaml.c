/* SPDX-License-Identifier: Apache-2.0 */
/* YAML to a tree, by libyaml's events. */
#include "train/network/network_tree.h"

#include "core/yaml_mark.h"

#include <string.h>
#include <yaml.h>

enum { DEPTH_MOST = 24, NODES_MOST = 20000, KEYS_MOST = 256, TEXT_MOST = 1000 };

typedef struct reader {
    const char *place;
    const char *text; /* all of it, to find lines in */
    size_t size_bytes;
    yaml_parser_t parser;
    yaml_event_t event; /* the current one; belongs to the reader */
    stk__store *store;
    int nodes;
    stk_error *error;
} reader;

static stk__mark mark_of(yaml_mark_t mark)
{
    return (stk__mark){(int)mark.line + 1, (int)mark.column + 1};
}

static stk_status refuse_at(const reader *r, stk__mark mark, const char *message, const char *hint)
{
    stk__fail(r->error, STK_ERROR_CONFIG, "%s", message);
    if (hint) stk__error_hint(r->error, "%s", hint);
    stk__error_place(r->error, "%s:%d:%d", r->place, mark.line, mark.column);
    return STK_ERROR_CONFIG;
}

/* At the current event. */
static stk_status refuse(const reader *r, const char *message, const char *hint)
{
    return refuse_at(r, mark_of(r->event.start_mark), message, hint);
}

static stk_status refuse_syntax(const reader *r)
{
    const yaml_parser_t *p = &r->parser;
    if (p->error == YAML_MEMORY_ERROR) return stk__fail_memory(r->error, r->size_bytes, "reading YAML");
    const bool encoding = p->error == YAML_READER_ERROR;
    const stk__mark mark = encoding ? mark_of(stk__yaml_mark_at(r->text, r->size_bytes, p->problem_offset))
                                    : mark_of(p->problem_mark);
    stk__fail(r->error, STK_ERROR_CONFIG, "not valid YAML: %s%s%s",
              p->problem ? p->problem : "unknown problem", p->context ? " " : "",
              p->context ? p->context : "");
    if (encoding) stk__error_hint(r->error, "networks are plain text in UTF-8");
    if (!encoding && p->problem_mark.index < r->size_bytes && r->text[p->problem_mark.index] == '\t')
        stk__error_hint(r->error, "indent with spaces, not with tabs");
    stk__error_place(r->error, "%s:%d:%d", r->place, mark.line, mark.column);
    return STK_ERROR_CONFIG;
}

static bool is_decorated(const yaml_event_t *event)
{
    if (event->type == YAML_SCALAR_EVENT) return event->data.scalar.anchor || event->data.scalar.tag;
    if (event->type == YAML_SEQUENCE_START_EVENT)
        return event->data.sequence_start.anchor || event->data.sequence_start.tag;
    if (event->type == YAML_MAPPING_START_EVENT)
        return event->data.mapping_start.anchor || event->data.mapping_start.tag;
    return event->type == YAML_ALIAS_EVENT;
}

static stk_status next_event(reader *r)
{
    yaml_event_delete(&r->event);
    if (!yaml_parser_parse(&r->parser, &r->event)) return refuse_syntax(r);
    if (is_decorated(&r->event))
        return refuse(r, "anchors (&), aliases (*) and tags (!) are not supported in networks",
                      "use a block to write something once");
    if (r->event.type != YAML_SCALAR_EVENT) return STK_OK;
    if (memchr(r->event.data.scalar.value, 0, r->event.data.scalar.length))
        return refuse(r, "a NUL byte in a text", NULL);
    if (r->event.data.scalar.length > TEXT_MOST) return refuse(r, "a text of more than 1000 bytes", NULL);
    return STK_OK;
}

static stk_status copy_scalar(reader *r, const char **text)
{
    const yaml_event_t *event = &r->event;
    *text = stk__store_text(r->store, (const char *)event->data.scalar.value, event->data.scalar.length,
                            r->error);
    return *text ? STK_OK : STK_ERROR_MEMORY;
}

static stk_status new_node(reader *r, stk__node **node)
{
    if (++r->nodes > NODES_MOST) return refuse(r, "more than 20000 entries", NULL);
    *node = stk__store_take(r->store, sizeof **node, r->error);
    if (!*node) return STK_ERROR_MEMORY;
    (*node)->mark = mark_of(r->event.start_mark);
    return STK_OK;
}

static stk_status read_text(reader *r, stk__node *node)
{
    const yaml_event_t *event = &r->event;
    const bool quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    STK__TRY(copy_scalar(r, &node->text));
    const size_t width = event->end_mark.column - event->start_mark.column;
    node->straight =
        event->start_mark.line == event->end_mark.line && width == strlen(node->text) + (quoted ? 2 : 0);
    if (node->straight && quoted) node->mark.column++;
    return STK_OK;
}

static stk_status read_node(reader *r, int depth, stk__node **node);

static stk_status read_key(reader *r, const stk__node *map, const char **key)
{
    if (r->event.type != YAML_SCALAR_EVENT) return refuse(r, "a key must be a single word", NULL);
    if (map->count == KEYS_MOST) return refuse(r, "a map of more than 256 keys", NULL);
    STK__TRY(copy_scalar(r, key));
    const stk__node *before = stk__node_find(map, *key);
    if (!before) return STK_OK;
    stk__fail(r->error, STK_ERROR_CONFIG, "duplicate key '%s'", *key);
    stk__error_hint(r->error, "the first is in line %d", before->key_mark.line);
    stk__error_place(r->error, "%s:%zu:%zu", r->place, r->event.start_mark.line + 1,
                     r->event.start_mark.column + 1);
    return STK_ERROR_CONFIG;
}

/* From after the start of a list or map to its end. */
static stk_status read_entries(reader *r, int depth, stk__node *node)
{
    const bool map = node->kind == STK_NODE_MAP;
    stk__node **end = &node->first;
    if (depth > DEPTH_MOST) return refuse(r, "lists and maps are nested more than 24 deep", NULL);
    for (;; node->count++, end = &(*end)->next) {
        STK__TRY(next_event(r));
        if (r->event.type == (map ? YAML_MAPPING_END_EVENT : YAML_SEQUENCE_END_EVENT)) return STK_OK;
        const stk__mark key_mark = mark_of(r->event.start_mark);
        const char *key = NULL;
        stk__node *entry = NULL;
        if (map) {
            STK__TRY(read_key(r, node, &key));
            STK__TRY(next_event(r));
        }
        STK__TRY(read_node(r, depth, &entry));
        entry->key = key;
        entry->key_mark = key_mark;
        *end = entry;
    }
}

/* What the current event begins. */
static stk_status read_node(reader *r, int depth, stk__node **node)
{
    STK__TRY(new_node(r, node));
    if (r->event.type == YAML_SCALAR_EVENT) return read_text(r, *node);
    (*node)->kind = r->event.type == YAML_MAPPING_START_EVENT ? STK_NODE_MAP : STK_NODE_LIST;
    return read_entries(r, depth + 1, *node);
}

static stk_status read_stream(reader *r, const stk__node **root)
{
    STK__TRY(next_event(r)); /* start of the stream */
    STK__TRY(next_event(r));
    if (r->event.type == YAML_STREAM_END_EVENT) return refuse(r, "the network is empty", NULL);
    STK__TRY(next_event(r));
    stk__node *node = NULL;
    STK__TRY(read_node(r, 0, &node));
    *root = node;
    STK__TRY(next_event(r)); /* end of the document */
    STK__TRY(next_event(r));
    if (r->event.type != YAML_STREAM_END_EVENT) return refuse(r, "more than one YAML document", NULL);
    return STK_OK;
}

stk_status stk__tree_read(const char *text, size_t size_bytes, const char *place, stk__store *store,
                          const stk__node **root, stk_error *error)
{
    reader r = {.place = place, .text = text, .size_bytes = size_bytes, .store = store, .error = error};
    if (size_bytes > STK_NETWORK_BYTES_MOST) {
        stk__fail(error, STK_ERROR_CONFIG, "the network is larger than 256 KiB");
        stk__error_place(error, "%s", place);
        return STK_ERROR_CONFIG;
    }
    if (!yaml_parser_initialize(&r.parser)) return stk__fail_memory(error, size_bytes, "reading YAML");
    yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, size_bytes);
    const stk_status status = read_stream(&r, root);
    yaml_event_delete(&r.event);
    yaml_parser_delete(&r.parser);
    return status;
}

const stk__node *stk__node_find(const stk__node *map, const char *key)
{
    for (const stk__node *entry = map->first; entry; entry = entry->next)
        if (strcmp(entry->key, key) == 0) return entry;
    return NULL;
}
