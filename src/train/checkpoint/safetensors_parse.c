/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON header of a safetensors file by a strict hand-written scanner: strings are unescaped in place,
 * no tree is built, and whatever the format does not allow is refused. Untrusted input (fuzzed). */
#include "train/checkpoint/safetensors_parse.h"

#include "core/text.h"

#include <string.h>

typedef struct scanner {
    char *start, *at, *end;
    stk_error *error;
} scanner;

typedef struct dtype_word {
    const char *word;
    int64_t element_bytes;
    stk_dtype dtype;
} dtype_word;

static const dtype_word dtype_words[] = {
    {"F32", 4, STK_DTYPE_F32},      {"I64", 8, STK_DTYPE_I64},      {"F16", 2, STK_DTYPE_F16},
    {"BF16", 2, STK_DTYPE_BF16},    {"F64", 8, STK_DTYPE_F64},      {"U8", 1, STK_DTYPE_U8},
    {"BOOL", 1, STK_DTYPE_NONE},    {"I8", 1, STK_DTYPE_NONE},      {"I16", 2, STK_DTYPE_NONE},
    {"U16", 2, STK_DTYPE_NONE},     {"I32", 4, STK_DTYPE_NONE},     {"U32", 4, STK_DTYPE_NONE},
    {"U64", 8, STK_DTYPE_NONE},     {"F8_E4M3", 1, STK_DTYPE_NONE}, {"F8_E5M2", 1, STK_DTYPE_NONE},
    {"F8_E8M0", 1, STK_DTYPE_NONE}, {"C64", 8, STK_DTYPE_NONE}};

static stk_status refuse(const scanner *s, const char *what)
{
    return stk__fail(s->error, STK_ERROR_DATA, "the header is malformed at byte %zu: %s",
                     (size_t)(s->at - s->start), what);
}

static void skip_blanks(scanner *s)
{
    while (s->at < s->end && stk__is_space(*s->at))
        s->at++;
}

static bool take(scanner *s, char wanted)
{
    skip_blanks(s);
    if (s->at >= s->end || *s->at != wanted) return false;
    s->at++;
    return true;
}

/* --- strings ------------------------------------------------------------------------------------------- */

/* Length of the well-formed UTF-8 sequence at `at`; 0: there is none. */
static size_t sequence_bytes(const char *at, const char *end)
{
    const uint8_t first = (uint8_t)*at;
    const size_t size = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (size == 0 || first > 0xf4 || (size_t)(end - at) < size) return 0;
    for (size_t i = 1; i < size; i++)
        if (((uint8_t)at[i] & 0xc0) != 0x80) return 0;
    const uint8_t second = size > 1 ? (uint8_t)at[1] : 0;
    const bool too_long = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
    const bool no_letter = (first == 0xed && second > 0x9f) || (first == 0xf4 && second > 0x8f);
    return too_long || no_letter ? 0 : size;
}

static char *put_letter(char *to, uint32_t letter)
{
    if (letter < 0x80) {
        *to++ = (char)letter;
    } else if (letter < 0x800) {
        *to++ = (char)(0xc0 | letter >> 6);
        *to++ = (char)(0x80 | (letter & 0x3f));
    } else {
        if (letter < 0x10000) {
            *to++ = (char)(0xe0 | letter >> 12);
        } else {
            *to++ = (char)(0xf0 | letter >> 18);
            *to++ = (char)(0x80 | (letter >> 12 & 0x3f));
        }
        *to++ = (char)(0x80 | (letter >> 6 & 0x3f));
        *to++ = (char)(0x80 | (letter & 0x3f));
    }
    return to;
}

static bool take_hex(scanner *s, uint32_t *value)
{
    if (s->end - s->at < 4) return false;
    *value = 0;
    for (int i = 0; i < 4; i++) {
        const char digit = *s->at++;
        const char lower = (char)(digit | 0x20);
        const bool decimal = digit >= '0' && digit <= '9';
        if (!decimal && (lower < 'a' || lower > 'f')) return false;
        *value = *value << 4 | (uint32_t)(decimal ? digit - '0' : lower - 'a' + 10);
    }
    return true;
}

/* Behind "\u". NUL is refused too: names are C strings here. */
static bool take_letter(scanner *s, uint32_t *letter)
{
    uint32_t low;
    if (!take_hex(s, letter) || *letter == 0) return false;
    if (*letter < 0xd800 || *letter > 0xdfff) return true;
    if (*letter > 0xdbff || s->end - s->at < 2 || s->at[0] != '\\' || s->at[1] != 'u') return false;
    s->at += 2;
    if (!take_hex(s, &low) || low < 0xdc00 || low > 0xdfff) return false;
    *letter = 0x10000 + ((*letter - 0xd800) << 10 | (low - 0xdc00));
    return true;
}

/* Behind a backslash; what it stands for is never longer than how it is written. */
static bool take_escape(scanner *s, char **to)
{
    static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
    uint32_t letter;
    if (s->at >= s->end || *s->at == '\0') return false;
    const char mark = *s->at++;
    const char *known = strchr(from, mark);
    if (known)
        *(*to)++ = into[known - from];
    else if (mark == 'u' && take_letter(s, &letter))
        *to = put_letter(*to, letter);
    else
        return false;
    return true;
}

static stk_status take_text(scanner *s, const char **text)
{
    if (!take(s, '"')) return refuse(s, "a string is missing");
    char *to = s->at;
    *text = to;
    while (s->at < s->end && *s->at != '"') {
        const size_t size = sequence_bytes(s->at, s->end);
        if (size == 0) return refuse(s, "invalid UTF-8");
        if ((uint8_t)*s->at < 0x20) return refuse(s, "a control character in a string");
        if (*s->at == '\\') {
            s->at++;
            if (!take_escape(s, &to)) return refuse(s, "an invalid escape in a string");
            continue;
        }
        memmove(to, s->at, size);
        to += size;
        s->at += size;
    }
    if (s->at >= s->end) return refuse(s, "an unterminated string");
    s->at++;
    *to = '\0';
    return STK_OK;
}

/* --- tensors ------------------------------------------------------------------------------------------- */

static stk_status take_number(scanner *s, int64_t *value)
{
    skip_blanks(s);
    const char *first = s->at;
    *value = 0;
    for (; s->at < s->end && *s->at >= '0' && *s->at <= '9'; s->at++)
        if (__builtin_mul_overflow(*value, 10, value) || __builtin_add_overflow(*value, *s->at - '0', value))
            return refuse(s, "a number that is too large");
    if (s->at == first) return refuse(s, "an integer is missing");
    if (*first == '0' && s->at - first > 1) return refuse(s, "a number with leading zeros");
    return STK_OK;
}

/* What a tensor's object says, member by member. */
typedef struct members {
    const dtype_word *dtype;
    bool has_shape, has_offsets;
    int64_t dims, count; /* dimensions and elements */
    int64_t begin, end;
} members;

static stk_status take_dtype(scanner *s, members *m)
{
    const char *word;
    if (m->dtype) return refuse(s, "duplicate dtype");
    STK__TRY(take_text(s, &word));
    for (size_t i = 0; i < sizeof dtype_words / sizeof dtype_words[0]; i++)
        if (strcmp(dtype_words[i].word, word) == 0) m->dtype = &dtype_words[i];
    return m->dtype ? STK_OK : refuse(s, "an unknown dtype");
}

static stk_status take_shape(scanner *s, members *m, stk__shape *shape)
{
    if (m->has_shape) return refuse(s, "duplicate shape");
    if (!take(s, '[')) return refuse(s, "'[' is missing");
    m->has_shape = true;
    m->count = 1;
    if (take(s, ']')) return STK_OK;
    do {
        int64_t dim;
        STK__TRY(take_number(s, &dim));
        if (__builtin_mul_overflow(m->count, dim, &m->count)) return refuse(s, "a shape that is too large");
        if (m->dims < STK_OP_DIMS) shape->dim[m->dims] = dim;
        m->dims++;
    } while (take(s, ','));
    return take(s, ']') ? STK_OK : refuse(s, "']' is missing");
}

static stk_status take_offsets(scanner *s, members *m)
{
    if (m->has_offsets) return refuse(s, "duplicate data_offsets");
    m->has_offsets = true;
    if (!take(s, '[')) return refuse(s, "'[' is missing");
    STK__TRY(take_number(s, &m->begin));
    if (!take(s, ',')) return refuse(s, "',' is missing");
    STK__TRY(take_number(s, &m->end));
    return take(s, ']') ? STK_OK : refuse(s, "']' is missing");
}

static stk_status take_member(scanner *s, members *m, stk__shape *shape)
{
    const char *key;
    STK__TRY(take_text(s, &key));
    if (!take(s, ':')) return refuse(s, "':' is missing");
    if (strcmp(key, "dtype") == 0) return take_dtype(s, m);
    if (strcmp(key, "shape") == 0) return take_shape(s, m, shape);
    if (strcmp(key, "data_offsets") == 0) return take_offsets(s, m);
    return refuse(s, "a tensor has an unknown key: only dtype, shape and data_offsets are possible");
}

static stk_status take_tensor(scanner *s, stk__safetensor *tensor)
{
    members m = {0};
    int64_t size;
    if (!take(s, '{')) return refuse(s, "'{' is missing");
    do
        STK__TRY(take_member(s, &m, &tensor->shape));
    while (take(s, ','));
    if (!take(s, '}')) return refuse(s, "'}' is missing");
    if (!m.dtype || !m.has_shape || !m.has_offsets)
        return refuse(s, "a tensor without dtype, shape or data_offsets");
    if (__builtin_mul_overflow(m.count, m.dtype->element_bytes, &size) || m.begin > m.end ||
        m.end - m.begin != size)
        return refuse(s, "data_offsets that do not match shape and dtype");
    tensor->offset_bytes = (uint64_t)m.begin;
    tensor->size_bytes = (uint64_t)size;
    if (m.dims > STK_OP_DIMS || m.dtype->dtype == STK_DTYPE_NONE) {
        tensor->shape = (stk__shape){0};
        return STK_OK;
    }
    tensor->shape.ndim = (int)m.dims;
    tensor->dtype = m.dtype->dtype;
    return STK_OK;
}

static stk_status take_metadata(scanner *s, stk__safetensors_list *list)
{
    if (!take(s, '{')) return refuse(s, "'{' is missing");
    if (take(s, '}')) return STK_OK;
    do {
        stk__safetensors_pair pair;
        STK__TRY(take_text(s, &pair.key));
        if (!take(s, ':')) return refuse(s, "':' is missing");
        STK__TRY(take_text(s, &pair.value));
        STK__TRY(stk__buffer_append(&list->pairs, &pair, sizeof pair, s->error));
    } while (take(s, ','));
    return take(s, '}') ? STK_OK : refuse(s, "'}' is missing");
}

static stk_status take_entry(scanner *s, stk__safetensors_list *list, bool *has_metadata)
{
    stk__safetensor tensor = {0};
    STK__TRY(take_text(s, &tensor.name));
    if (!take(s, ':')) return refuse(s, "':' is missing");
    if (strcmp(tensor.name, "__metadata__") == 0) {
        if (*has_metadata) return refuse(s, "duplicate __metadata__");
        *has_metadata = true;
        return take_metadata(s, list);
    }
    STK__TRY(take_tensor(s, &tensor));
    return stk__buffer_append(&list->tensors, &tensor, sizeof tensor, s->error);
}

stk_status stk__safetensors_parse(char *text, size_t size_bytes, stk__safetensors_list *list,
                                  stk_error *error)
{
    scanner s = {text, text, text + size_bytes, error};
    bool has_metadata = false;
    if (size_bytes == 0 || *s.at != '{') return refuse(&s, "it does not begin with '{'");
    s.at++;
    if (!take(&s, '}')) {
        do
            STK__TRY(take_entry(&s, list, &has_metadata));
        while (take(&s, ','));
        if (!take(&s, '}')) return refuse(&s, "'}' is missing");
    }
    skip_blanks(&s);
    return s.at == s.end ? STK_OK : refuse(&s, "trailing data after its end");
}
