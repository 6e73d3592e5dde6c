/* SPDX-License-Identifier: Apache-2.0 */
/* Settings out of YAML, by libyaml's events: nested maps become dotted keys, everything else a text that the
 * option's own parser reads. */
#include "core/config_layers.h"

#include "core/yaml_mark.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

enum { DEPTH_MOST = 8, PATH_BYTES = 224, PLACE_BYTES = PATH_MAX + 64 };

typedef struct reader {
    stk__config *config;
    const char *name; /* of the file */
    const char *text; /* all of it, to find lines in */
    size_t size_bytes;
    uint32_t reading;
    yaml_parser_t parser;
    yaml_event_t event; /* the current one; belongs to the reader */
    char path[PATH_BYTES];
    stk__buffer value;  /* text of a list or map */
    stk__buffer groups; /* paths of the maps that were opened, each zero-terminated */
    size_t keys;
    stk_error *error;
} reader;

static void set_place(const reader *r, yaml_mark_t mark)
{
    stk__error_place(r->error, "%s:%zu:%zu", r->name, mark.line + 1, mark.column + 1);
}

/* At the current event. */
static stk_status refuse(const reader *r, const char *message, const char *hint)
{
    stk__fail(r->error, STK_ERROR_CONFIG, "%s", message);
    if (hint) stk__error_hint(r->error, "%s", hint);
    set_place(r, r->event.start_mark);
    return STK_ERROR_CONFIG;
}

static stk_status refuse_syntax(const reader *r)
{
    const yaml_parser_t *p = &r->parser;
    if (p->error == YAML_MEMORY_ERROR) return stk__fail_memory(r->error, r->size_bytes, "reading YAML");
    const bool encoding = p->error == YAML_READER_ERROR;
    const yaml_mark_t mark =
        encoding ? stk__yaml_mark_at(r->text, r->size_bytes, p->problem_offset) : p->problem_mark;
    const char *problem = p->problem ? p->problem : "unknown problem";
    if (p->context)
        stk__fail(r->error, STK_ERROR_CONFIG, "not valid YAML: %s %s", problem, p->context);
    else
        stk__fail(r->error, STK_ERROR_CONFIG, "not valid YAML: %s", problem);
    if (encoding) stk__error_hint(r->error, "settings are plain text in UTF-8");
    if (!encoding && mark.index < r->size_bytes && r->text[mark.index] == '\t')
        stk__error_hint(r->error, "indent with spaces, not with tabs");
    set_place(r, mark);
    return STK_ERROR_CONFIG;
}

static bool is_decorated(const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_ALIAS_EVENT:
        return true;
    case YAML_SCALAR_EVENT:
        return event->data.scalar.anchor || event->data.scalar.tag;
    case YAML_SEQUENCE_START_EVENT:
        return event->data.sequence_start.anchor || event->data.sequence_start.tag;
    case YAML_MAPPING_START_EVENT:
        return event->data.mapping_start.anchor || event->data.mapping_start.tag;
    default:
        return false;
    }
}

static stk_status next_event(reader *r)
{
    yaml_event_delete(&r->event);
    if (!yaml_parser_parse(&r->parser, &r->event)) return refuse_syntax(r);
    if (is_decorated(&r->event))
        return refuse(r, "anchors (&), aliases (*) and tags (!) are not supported in settings",
                      "write the value out, or in quotes if it starts with one of these");
    const yaml_event_t *event = &r->event;
    if (event->type == YAML_SCALAR_EVENT && memchr(event->data.scalar.value, 0, event->data.scalar.length))
        return refuse(r, "a NUL byte in a text", NULL);
    return STK_OK;
}

static const char *scalar(const reader *r)
{
    return (const char *)r->event.data.scalar.value;
}

static bool is_null(const reader *r)
{
    static const char *const words[] = {"", "~", "null", "Null", "NULL"};
    if (r->event.data.scalar.style != YAML_PLAIN_SCALAR_STYLE) return false;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(scalar(r), words[i]) == 0) return true;
    return false;
}

/* Gives the value (NULL: unset) to the key in r->path; mark is the value's. */
static stk_status take(reader *r, const char *value, yaml_mark_t key, yaml_mark_t mark)
{
    stk__config_target target;
    if (!value && stk__config_is_group(r->config, r->path) && !stk__config_is_setting(r->config, r->path))
        return STK_OK; /* "data:" with nothing below it */
    const stk_status status = stk__config_find(r->config, r->path, &target, r->error);
    if (status != STK_OK) {
        set_place(r, key);
        return status;
    }
    char place[PLACE_BYTES];
    snprintf(place, sizeof place, "%.*s:%zu:%zu", PATH_MAX, r->name, mark.line + 1, mark.column + 1);
    return stk__config_take(r->config, target, (stk__config_input){value, place, STK_ORIGIN_FILE, r->reading},
                            r->error);
}

static stk_status append(reader *r, const char *text)
{
    return stk__buffer_append(&r->value, text, strlen(text), r->error);
}

/* One part of a list or map; the separators of our own text form cannot be inside. */
static stk_status append_part(reader *r, const char *separators)
{
    if (r->event.type != YAML_SCALAR_EVENT)
        return refuse(r, "a list or map inside a list or map value", "only plain values are possible here");
    if (strpbrk(scalar(r), separators))
        return refuse(r, "a value in a list or map must not have ',', ':' or brackets in it", NULL);
    return append(r, scalar(r));
}

/* [a, b] -> "[a, b]" */
static stk_status collect_list(reader *r)
{
    r->value.size_bytes = 0;
    STK__TRY(append(r, "["));
    for (bool first = true;; first = false) {
        STK__TRY(next_event(r));
        if (r->event.type == YAML_SEQUENCE_END_EVENT) break;
        if (!first) STK__TRY(append(r, ", "));
        STK__TRY(append_part(r, ",[]"));
    }
    STK__TRY(append(r, "]"));
    return stk__buffer_append(&r->value, "", 1, r->error);
}

/* {0: 0, 255: 1} -> "0:0,255:1" */
static stk_status collect_map(reader *r)
{
    r->value.size_bytes = 0;
    for (bool first = true;; first = false) {
        STK__TRY(next_event(r));
        if (r->event.type == YAML_MAPPING_END_EVENT) break;
        if (!first) STK__TRY(append(r, ","));
        STK__TRY(append_part(r, ",:"));
        STK__TRY(append(r, ":"));
        STK__TRY(next_event(r));
        STK__TRY(append_part(r, ",:"));
    }
    return stk__buffer_append(&r->value, "", 1, r->error);
}

/* Remembers that the map at r->path was opened; a second time is a mistake. */
static stk_status open_group(reader *r)
{
    for (size_t at = 0; at < r->groups.size_bytes; at += strlen((const char *)r->groups.data + at) + 1)
        if (strcmp((const char *)r->groups.data + at, r->path) == 0) {
            char message[PATH_BYTES + 32];
            snprintf(message, sizeof message, "duplicate section '%s'", r->path);
            return refuse(r, message, "put all its keys into one section");
        }
    return stk__buffer_text(&r->groups, r->path, strlen(r->path), NULL, r->error);
}

static stk_status enter_key(reader *r, size_t length)
{
    if (r->event.type != YAML_SCALAR_EVENT) return refuse(r, "a key must be a single word", NULL);
    if (++r->keys > STK_CONFIG_FILE_KEYS) return refuse(r, "more than 4096 keys", NULL);
    const int added =
        snprintf(r->path + length, sizeof r->path - length, "%s%s", length ? "." : "", scalar(r));
    if (added >= (int)(sizeof r->path - length)) return refuse(r, "a key is too long", NULL);
    return STK_OK;
}

/* Other types refuse the text of a map by themselves, with their own words. */
static bool takes_map(const reader *r)
{
    stk__config_target target = {0};
    if (stk__config_find(r->config, r->path, &target, NULL) != STK_OK || !target.setting) return true;
    const stk__option *option = target.setting->option;
    return option->map || option->type != STK_OPTION_TEXT;
}

static stk_status refuse_map(const reader *r)
{
    char message[PATH_BYTES + 32];
    snprintf(message, sizeof message, "'%s' takes a text, not a map", r->path);
    return refuse(r, message, "put it in quotes if it starts with '{'");
}

static stk_status read_map(reader *r, int depth);

static stk_status read_value(reader *r, yaml_mark_t key, int depth)
{
    STK__TRY(next_event(r));
    const yaml_mark_t mark = r->event.start_mark;
    switch (r->event.type) {
    case YAML_SCALAR_EVENT:
        return take(r, is_null(r) ? NULL : scalar(r), key, mark);
    case YAML_SEQUENCE_START_EVENT:
        STK__TRY(collect_list(r));
        return take(r, (const char *)r->value.data, key, mark);
    default: /* a map: nothing else can follow a key */
        break;
    }
    if (stk__config_is_setting(r->config, r->path) && !stk__config_is_group(r->config, r->path)) {
        if (!takes_map(r)) return refuse_map(r);
        STK__TRY(collect_map(r));
        return take(r, (const char *)r->value.data, key, mark);
    }
    if (!stk__config_is_group(r->config, r->path)) {
        if (strchr(r->path, '.'))
            stk__config_unknown(r->config, r->path, r->error);
        else
            stk__config_unknown_section(r->config, r->path, r->error);
        set_place(r, key);
        return STK_ERROR_CONFIG;
    }
    STK__TRY(open_group(r));
    return read_map(r, depth + 1);
}

/* From after the start of a map to its end; r->path is the key it stands under. */
static stk_status read_map(reader *r, int depth)
{
    const size_t length = strlen(r->path);
    if (depth > DEPTH_MOST) return refuse(r, "maps are nested more than 8 deep", NULL);
    for (;;) {
        STK__TRY(next_event(r));
        if (r->event.type == YAML_MAPPING_END_EVENT) return STK_OK;
        const yaml_mark_t key = r->event.start_mark;
        STK__TRY(enter_key(r, length));
        STK__TRY(read_value(r, key, depth));
        r->path[length] = '\0';
    }
}

static stk_status read_stream(reader *r)
{
    STK__TRY(next_event(r)); /* start of the stream */
    STK__TRY(next_event(r));
    if (r->event.type == YAML_STREAM_END_EVENT) return STK_OK;
    STK__TRY(next_event(r));
    if (r->event.type == YAML_MAPPING_START_EVENT)
        STK__TRY(read_map(r, 1));
    else if (r->event.type != YAML_SCALAR_EVENT || !is_null(r))
        return refuse(r, "settings must be a map of keys and values",
                      "write 'section:' and below it 'key: value'");
    STK__TRY(next_event(r)); /* end of the document */
    STK__TRY(next_event(r));
    if (r->event.type != YAML_STREAM_END_EVENT) return refuse(r, "more than one YAML document", NULL);
    return STK_OK;
}

stk_status stk__config_read_yaml(stk__config *config, const char *text, size_t size_bytes, const char *name,
                                 stk_error *error)
{
    reader r = {.config = config, .name = name, .text = text, .size_bytes = size_bytes, .error = error};
    r.reading = ++config->readings;
    if (!yaml_parser_initialize(&r.parser)) return stk__fail_memory(error, size_bytes, "reading YAML");
    yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, size_bytes);
    const stk_status status = read_stream(&r);
    yaml_event_delete(&r.event);
    yaml_parser_delete(&r.parser);
    stk__buffer_fini(&r.value);
    stk__buffer_fini(&r.groups);
    return status;
}
