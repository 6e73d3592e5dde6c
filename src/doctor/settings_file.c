/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the settings file of any program into rows of key and value, by libyaml's events; keys of nested maps
 * are joined by dots. Which of them anybody knows is looked up in the tables of Stoker's own settings, which
 * have the names of other programs, too. One thread. */
#include "doctor/settings_rules.h"

#include "core/config.h"
#include "core/file.h"
#include "session/session.h"

#include <stdio.h>
#include <string.h>
#include <yaml.h>

enum { MOST_BYTES = 1 << 20, DEPTH_MOST = 16 };

typedef struct reader {
    yaml_parser_t parser;
    yaml_event_t event; /* the current one */
    stk__buffer rows;
    char path[STK_DOCTOR_TEXT];
    stk_error *error;
} reader;

static stk_status next_event(reader *r)
{
    yaml_event_delete(&r->event);
    if (yaml_parser_parse(&r->parser, &r->event)) return STK_OK;
    stk__fail(r->error, STK_ERROR_CONFIG, "not valid YAML: %s",
              r->parser.problem ? r->parser.problem : "unknown problem");
    stk__error_place(r->error, "line %zu", r->parser.problem_mark.line + 1);
    return STK_ERROR_CONFIG;
}

static const char *scalar(const reader *r)
{
    return (const char *)r->event.data.scalar.value;
}

static stk_status add_row(reader *r)
{
    stk__settings_row row = {.line = (int32_t)r->event.start_mark.line + 1,
                             .quoted = r->event.data.scalar.style != YAML_PLAIN_SCALAR_STYLE};
    snprintf(row.key, sizeof row.key, "%s", r->path);
    snprintf(row.value, sizeof row.value, "%.*s", (int)sizeof row.value - 1, scalar(r));
    return stk__buffer_append(&r->rows, &row, sizeof row, r->error);
}

/* To the end of the list or map whose start is the current event. */
static stk_status skip(reader *r)
{
    for (int depth = 1; depth > 0;) {
        STK__TRY(next_event(r));
        depth += r->event.type == YAML_SEQUENCE_START_EVENT || r->event.type == YAML_MAPPING_START_EVENT;
        depth -= r->event.type == YAML_SEQUENCE_END_EVENT || r->event.type == YAML_MAPPING_END_EVENT;
    }
    return STK_OK;
}

static stk_status read_map(reader *r, int depth)
{
    const size_t length = strlen(r->path);
    for (;;) {
        STK__TRY(next_event(r));
        if (r->event.type == YAML_MAPPING_END_EVENT) return STK_OK;
        if (r->event.type == YAML_SCALAR_EVENT)
            snprintf(r->path + length, sizeof r->path - length, "%s%.*s", length ? "." : "",
                     (int)sizeof r->path, scalar(r));
        else if (r->event.type != YAML_ALIAS_EVENT)
            STK__TRY(skip(r)); /* a key that is a list or a map */
        STK__TRY(next_event(r));
        if (r->event.type == YAML_SCALAR_EVENT)
            STK__TRY(add_row(r));
        else if (r->event.type == YAML_MAPPING_START_EVENT && depth < DEPTH_MOST)
            STK__TRY(read_map(r, depth + 1));
        else if (r->event.type == YAML_MAPPING_START_EVENT || r->event.type == YAML_SEQUENCE_START_EVENT)
            STK__TRY(skip(r));
        r->path[length] = 0;
    }
}

static stk_status read_document(reader *r)
{
    do
        STK__TRY(next_event(r));
    while (r->event.type == YAML_STREAM_START_EVENT || r->event.type == YAML_DOCUMENT_START_EVENT);
    if (r->event.type == YAML_STREAM_END_EVENT) return STK_OK;
    if (r->event.type != YAML_MAPPING_START_EVENT)
        return stk__fail(r->error, STK_ERROR_CONFIG, "not a settings file: no map of keys and values");
    return read_map(r, 1);
}

stk_status stk__settings_file_read(const char *path, stk__settings_file *file, stk_error *error)
{
    reader r = {.error = error};
    stk__buffer text = {0};
    *file = (stk__settings_file){0};
    stk_status status = stk__file_read(path, MOST_BYTES, &text, error);
    if (status == STK_OK && !yaml_parser_initialize(&r.parser))
        status = stk__fail_memory(error, MOST_BYTES, "reading YAML");
    if (status == STK_OK) {
        yaml_parser_set_input_string(&r.parser, text.data, text.size_bytes);
        status = read_document(&r);
        yaml_event_delete(&r.event);
        yaml_parser_delete(&r.parser);
    }
    stk__buffer_fini(&text);
    if (status != STK_OK) {
        stk__buffer_fini(&r.rows);
        return status;
    }
    file->rows = (stk__settings_row *)r.rows.data;
    file->count = (int64_t)(r.rows.size_bytes / sizeof(stk__settings_row));
    return STK_OK;
}

void stk__settings_file_fini(stk__settings_file *file)
{
    stk__free(file->rows);
    *file = (stk__settings_file){0};
}

/* --- keys that nobody reads ------------------------------------------------------------------------------
 */

stk_status stk__settings_facts_look_up(stk__settings_facts *facts, stk_error *error)
{
    stk__config *config = NULL;
    size_t length = 0;
    STK__TRY(stk__config_create(&config, stk__session_tables(), STK_SESSION_TABLES, error));
    for (int64_t i = 0; i < facts->now->count; i++) {
        const stk__settings_row *row = &facts->now->rows[i];
        stk_error refused;
        const stk_status status =
            stk__config_set(config, row->key, row->value, STK_ORIGIN_FILE, "settings", &refused);
        if (status == STK_OK || stk__config_is_setting(config, row->key)) continue;
        const char *meant = strstr(refused.hint, "did you mean");
        facts->unknown_count++;
        if (length < sizeof facts->unknown)
            length += (size_t)snprintf(facts->unknown + length, sizeof facts->unknown - length,
                                       "%s%s (line %d%s%s)", length ? ", " : "", row->key, row->line,
                                       meant ? "; " : "", meant ? meant : "");
    }
    stk__config_destroy(&config);
    return STK_OK;
}
