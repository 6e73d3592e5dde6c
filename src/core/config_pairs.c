/* SPDX-License-Identifier: Apache-2.0 */
/* Settings out of lines KEY = value: INI and TOML ([section] headers, bare words) and Python files of which
 * every statement is KEY = literal. Nothing is computed: a line that is anything else is refused, with its
 * place. Comments begin with '#', or with ';' outside of Python. */
#include "core/config_layers.h"

#include "core/number.h"
#include "core/text.h"
#include "core/utf8.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { LINE_BYTES = 4096, SECTION_BYTES = 128 };

typedef struct reader {
    stk__config *config;
    const char *name; /* of the file */
    bool python;
    uint32_t reading;
    size_t keys, number; /* of the line, from 1 on */
    char line[LINE_BYTES];
    char section[SECTION_BYTES]; /* "": none */
    char value[LINE_BYTES]; /* as the options read it; never longer than its line, but for ", " in lists */
    size_t used;
    bool unset; /* None, or nothing */
    stk_error *error;
} reader;

/* --- places ----------------------------------------------------------------------------------------------
 */

static void print_place(const reader *r, const char *at, char *place, size_t size)
{
    size_t column = 1;
    for (const char *c = r->line; c < at; c++)
        column += (*c & 0xc0) != 0x80; /* letters, not bytes */
    snprintf(place, size, "%.*s:%zu:%zu", PATH_MAX, r->name, r->number, column);
}

static void set_place(const reader *r, const char *at)
{
    char place[PATH_MAX + 64];
    print_place(r, at, place, sizeof place);
    stk__error_place(r->error, "%s", place);
}

static stk_status refuse(const reader *r, const char *at, const char *message, const char *hint)
{
    stk__fail(r->error, STK_ERROR_CONFIG, "%s", message);
    if (hint) stk__error_hint(r->error, "%s", hint);
    set_place(r, at);
    return STK_ERROR_CONFIG;
}

static stk_status refuse_line(const reader *r, const char *at)
{
    return r->python ? refuse(r, at, "this line is not KEY = value",
                              "a Python file of settings has KEY = literal only, no code is run")
                     : refuse(r, at, "this line is not KEY = value", "write KEY = value, or use YAML");
}

static stk_status refuse_literal(const reader *r, const char *at)
{
    return refuse(r, at, "this is not a literal",
                  "write the value itself: a number, 'text', True, False, None or [a, b]");
}

/* --- values ----------------------------------------------------------------------------------------------
 */

static const char *skip_blanks(const char *at)
{
    while (stk__is_blank(*at))
        at++;
    return at;
}

/* The end of what is said, or a comment; a bare word may have '#' inside. */
static bool is_end(const reader *r, const char *at)
{
    return !*at || *at == '#' || (*at == ';' && !r->python);
}

static bool put(reader *r, const char *text, size_t length)
{
    if (r->used + length >= sizeof r->value) return false;
    memcpy(r->value + r->used, text, length);
    r->used += length;
    r->value[r->used] = '\0';
    return true;
}

static stk_status put_or_refuse(reader *r, const char *at, const char *text, size_t length)
{
    return put(r, text, length) ? STK_OK : refuse(r, at, "a value is too long", NULL);
}

/* 'text' or "text", with the escapes \\ \' \" \n \t; any other backslash stays, as in Python. */
static stk_status read_quoted(reader *r, const char **at)
{
    const char *start = *at, *c = start + 1;
    for (; *c && *c != *start; c++) {
        char letter = *c;
        if (letter == '\\' && c[1] && strchr("\\'\"nt", c[1])) {
            c++;
            letter = *c == 'n' ? '\n' : *c == 't' ? '\t' : *c;
        }
        STK__TRY(put_or_refuse(r, start, &letter, 1));
    }
    if (!*c) return refuse(r, start, "a text without its second quote", NULL);
    *at = c + 1;
    return STK_OK;
}

/* Python's 1_000 is 1000. True if it is a number. */
static bool put_number(reader *r, const char *text, size_t length)
{
    char digits[64];
    size_t count = 0;
    double unused;
    for (size_t i = 0; i < length && count < sizeof digits; i++) {
        const bool between =
            i && i + 1 < length && isdigit((unsigned char)text[i - 1]) && isdigit((unsigned char)text[i + 1]);
        if (text[i] != '_' || !between) digits[count++] = text[i];
    }
    const bool number = count < sizeof digits && stk__number_real(digits, count, &unused) &&
                        !isalpha((unsigned char)digits[count - 1]); /* not nan or inf */
    return number && put(r, digits, count);
}

/* A number, True, False, None or, outside of Python, any words up to one of `ends` or a comment. */
static stk_status read_bare(reader *r, const char **at, const char *ends)
{
    const char *start = *at, *c = start;
    while (*c && !strchr(ends, *c) && !(is_end(r, c) && (c == start || stk__is_blank(c[-1]))))
        c++;
    size_t length = (size_t)(c - start);
    while (length && stk__is_blank(start[length - 1]))
        length--;
    *at = c;
    if (length == 4 && memcmp(start, "True", 4) == 0) return put_or_refuse(r, start, "true", 4);
    if (length == 5 && memcmp(start, "False", 5) == 0) return put_or_refuse(r, start, "false", 5);
    r->unset = (length == 4 && memcmp(start, "None", 4) == 0) || (!length && !r->python && !*ends);
    if (r->unset || put_number(r, start, length)) return STK_OK;
    if (r->python || !length) return refuse_literal(r, start);
    return put_or_refuse(r, start, start, length);
}

static stk_status read_scalar(reader *r, const char **at, const char *ends)
{
    return **at == '\'' || **at == '"' ? read_quoted(r, at) : read_bare(r, at, ends);
}

/* One value of a list; the separators of our own text form cannot be inside. */
static stk_status read_part(reader *r, const char **at)
{
    const char *start = *at;
    const size_t before = r->used;
    if (strchr("[({", *start))
        return refuse(r, start, "a list inside a list", "only plain values are possible here");
    STK__TRY(read_scalar(r, at, ",])"));
    if (r->unset || strpbrk(r->value + before, ",[]"))
        return refuse(r, start, "a value in a list must be a number or a word without ',' and brackets",
                      NULL);
    *at = skip_blanks(*at);
    return STK_OK;
}

/* [a, b] or (a, b) -> "[a, b]"; (a) is a. */
static stk_status read_list(reader *r, const char **at)
{
    const char *start = *at, close = *start == '[' ? ']' : ')';
    size_t count = 0;
    bool comma = false;
    STK__TRY(put_or_refuse(r, start, "[", 1));
    for (*at = skip_blanks(start + 1); **at != close; count++) {
        if (!**at || **at == '#') return refuse(r, start, "a list must end in its line", NULL);
        if (count) STK__TRY(put_or_refuse(r, start, ", ", 2));
        STK__TRY(read_part(r, at));
        comma = **at == ',';
        if (comma) *at = skip_blanks(*at + 1);
        if (!comma && **at != close) return refuse(r, *at, "a list needs ',' between its values", NULL);
    }
    ++*at;
    if (close == ')' && count == 1 && !comma) {
        memmove(r->value, r->value + 1, r->used--);
        return STK_OK;
    }
    return put_or_refuse(r, start, "]", 1);
}

static stk_status read_value(reader *r, const char *at)
{
    r->used = 0;
    r->unset = false;
    r->value[0] = '\0';
    if (*at == '{') return refuse(r, at, "a map is not possible here", "write it as text: 'a:b,c:d'");
    if (*at == '[' || *at == '(')
        STK__TRY(read_list(r, &at));
    else
        STK__TRY(read_scalar(r, &at, ""));
    at = skip_blanks(at);
    return is_end(r, at) ? STK_OK : refuse_literal(r, at);
}

/* --- lines -----------------------------------------------------------------------------------------------
 */

/* The end of a name at the start of text: letters, digits, '_', '-' and '.'; text itself if there is none. */
static const char *skip_name(const char *text)
{
    const char *c = text;
    if (!isalpha((unsigned char)*c) && *c != '_') return text;
    while (isalnum((unsigned char)*c) || (*c && strchr("_-.", *c)))
        c++;
    return c;
}

/* The '=' behind a name; NULL: the line is not KEY = value. */
static const char *find_equals(const char *name)
{
    const char *end = skip_name(name), *equals = skip_blanks(end);
    return end > name && *equals == '=' && equals[1] != '=' ? equals : NULL;
}

static stk_status read_section(reader *r, const char *at)
{
    const char *start = skip_blanks(at + 1), *end = skip_name(start), *close = skip_blanks(end);
    const size_t length = (size_t)(end - start);
    if (r->python) return refuse_line(r, at);
    if (!length || *close != ']' || !is_end(r, skip_blanks(close + 1)))
        return refuse(r, at, "this is not a section", "write [section]");
    if (length >= sizeof r->section) return refuse(r, at, "a key is too long", NULL);
    memcpy(r->section, start, length);
    r->section[length] = '\0';
    if (stk__config_is_group(r->config, r->section)) return STK_OK;
    stk__config_unknown_section(r->config, r->section, r->error);
    set_place(r, start);
    return STK_ERROR_CONFIG;
}

static stk_status read_pair(reader *r, const char *at)
{
    const char *equals = find_equals(at);
    char key[STK_CONFIG_KEY_BYTES], place[PATH_MAX + 64];
    if (!equals || (r->python && at > r->line)) return refuse_line(r, at);
    if (++r->keys > STK_CONFIG_FILE_KEYS) return refuse(r, at, "more than 4096 keys", NULL);
    const int made = snprintf(key, sizeof key, "%s%s%.*s", r->section, *r->section ? "." : "",
                              (int)(skip_name(at) - at), at);
    if (made >= (int)sizeof key) return refuse(r, at, "a key is too long", NULL);
    const char *value = skip_blanks(equals + 1);
    STK__TRY(read_value(r, value));
    stk__config_target target;
    const stk_status status = stk__config_find(r->config, key, &target, r->error);
    if (status != STK_OK) {
        set_place(r, at);
        return status;
    }
    print_place(r, value, place, sizeof place);
    const stk__config_input input = {r->unset ? NULL : r->value, place, STK_ORIGIN_FILE, r->reading};
    return stk__config_take(r->config, target, input, r->error);
}

static stk_status read_line(reader *r, const char *text, size_t length)
{
    if (length && text[length - 1] == '\r') length--;
    r->line[0] = '\0';
    if (length >= sizeof r->line) return refuse(r, r->line, "a line is too long", NULL);
    memcpy(r->line, text, length);
    r->line[length] = '\0';
    if (strlen(r->line) != length) return refuse(r, r->line, "a NUL byte in a text", NULL);
    if (!stk__utf8_valid(r->line))
        return refuse(r, r->line, "not valid UTF-8", "settings are plain text in UTF-8");
    const char *at = skip_blanks(r->line);
    if (is_end(r, at)) return STK_OK;
    return *at == '[' ? read_section(r, at) : read_pair(r, at);
}

static size_t mark_length(const char *text, size_t size_bytes)
{
    return size_bytes >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

static bool has_ending(const char *name, const char *endings)
{
    size_t length;
    char ending[8];
    for (const char *word; (word = stk__name_next(&endings, &length));) {
        snprintf(ending, sizeof ending, "%.*s", (int)length, word);
        if (stk__text_ends_with(name, strlen(name), ending)) return true;
    }
    return false;
}

stk_status stk__config_read_pairs(stk__config *config, const char *text, size_t size_bytes, const char *name,
                                  stk_error *error)
{
    reader r = {.config = config, .name = name, .python = has_ending(name, ".py"), .error = error};
    const char *end = text + size_bytes;
    r.reading = ++config->readings;
    for (const char *at = text + mark_length(text, size_bytes); at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        const size_t length = (size_t)((stop ? stop : end) - at);
        r.number++;
        STK__TRY(read_line(&r, at, length));
        at += length + 1;
    }
    return STK_OK;
}

/* By the first line that says something: neither "KEY =" nor "[section]" can begin settings in YAML. */
bool stk__config_is_pairs(const char *text, size_t size_bytes, const char *name)
{
    char line[LINE_BYTES];
    if (has_ending(name, ".py .ini .cfg .conf .toml")) return true;
    const char *end = text + size_bytes;
    for (const char *at = text + mark_length(text, size_bytes); at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        const size_t length = (size_t)((stop ? stop : end) - at);
        snprintf(line, sizeof line, "%.*s", (int)(length < LINE_BYTES ? length : LINE_BYTES - 1), at);
        const char *start = skip_blanks(line);
        at += length + 1;
        if (!*start || *start == '\r' || *start == '#' || *start == ';') continue;
        const char *word = skip_blanks(start + 1), *close = skip_name(word);
        return find_equals(start) || (*start == '[' && close > word && *skip_blanks(close) == ']');
    }
    return false;
}
