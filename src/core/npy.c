/* SPDX-License-Identifier: Apache-2.0 */
/* NumPy's .npy header: magic, version, and a Python dictionary literal with exactly 'descr',
 * 'fortran_order' and 'shape', read by a small hand-written scanner. Sizes are checked for overflow before
 * anybody allocates. Input is untrusted (fuzzed); pure functions. */
#include "core/npy.h"

#include <stdio.h>
#include <string.h>

static const uint8_t magic[STK_NPY_MAGIC_BYTES] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

/* What is left of the header's text: a Python dictionary with exactly three keys. */
typedef struct cursor {
    const char *at, *end;
} cursor;

static void skip_spaces(cursor *text)
{
    while (text->at < text->end && (*text->at == ' ' || *text->at == '\t' || *text->at == '\n'))
        text->at++;
}

static bool take(cursor *text, char wanted)
{
    skip_spaces(text);
    if (text->at == text->end || *text->at != wanted) return false;
    text->at++;
    return true;
}

static bool take_word(cursor *text, const char *word)
{
    skip_spaces(text);
    const size_t length = strlen(word);
    if ((size_t)(text->end - text->at) < length || memcmp(text->at, word, length) != 0) return false;
    text->at += length;
    return true;
}

/* A quoted text; *length excludes the quotes. NULL when there is none. */
static const char *take_quoted(cursor *text, size_t *length)
{
    skip_spaces(text);
    if (text->at == text->end || (*text->at != '\'' && *text->at != '"')) return NULL;
    const char *start = text->at + 1;
    const char *stop = memchr(start, *text->at, (size_t)(text->end - start));
    if (!stop) return NULL;
    *length = (size_t)(stop - start);
    text->at = stop + 1;
    return start;
}

static bool take_number(cursor *text, uint64_t *number)
{
    skip_spaces(text);
    const char *start = text->at;
    *number = 0;
    while (text->at < text->end && *text->at >= '0' && *text->at <= '9') {
        if (*number > (uint64_t)INT64_MAX / 10 - 1) return false;
        *number = *number * 10 + (uint64_t)(*text->at++ - '0');
    }
    return text->at > start;
}

static bool is_known_kind(char kind, char size)
{
    const bool whole = size == '1' || size == '2' || size == '4' || size == '8';
    return ((kind == 'i' || kind == 'u') && whole) || (kind == 'f' && whole && size != '1') ||
           (kind == 'b' && size == '1');
}

static stk_status read_kind(stk__npy *npy, cursor *text, stk_error *error)
{
    size_t length = 0;
    const char *word = take_quoted(text, &length);
    if (!word)
        return stk__damaged(error, STK_DAMAGE_UNSUPPORTED,
                            "unsupported npy dtype: a structured array or an unknown kind");
    const bool known = length == 3 && is_known_kind(word[1], word[2]);
    const bool native = known && (word[0] == '<' || word[0] == '|' || (word[0] == '=' && word[2] == '1'));
    if (!native)
        return stk__damaged(error, STK_DAMAGE_UNSUPPORTED, "unsupported npy dtype '%.*s'",
                            (int)(length < 16 ? length : 16), word);
    npy->kind = word[1];
    npy->item_bytes = word[2] - '0';
    return STK_OK;
}

static stk_status read_shape(stk__npy *npy, cursor *text, stk_error *error)
{
    if (!take(text, '(')) return stk__damaged(error, STK_DAMAGE_BAD_HEADER, "npy shape is not a tuple");
    npy->ndim = 0;
    while (!take(text, ')')) {
        uint64_t extent;
        if (!take_number(text, &extent))
            return stk__damaged(error, STK_DAMAGE_BAD_HEADER, "npy shape has a malformed dimension");
        if (npy->ndim == STK_NPY_DIMS)
            return stk__damaged(error, STK_DAMAGE_UNSUPPORTED, "npy array of more than %d dimensions",
                                STK_NPY_DIMS);
        npy->shape[npy->ndim++] = extent;
        if (!take(text, ',') && (npy->ndim == 1 || text->at == text->end || *text->at != ')'))
            return stk__damaged(error, STK_DAMAGE_BAD_HEADER, "npy shape is not a tuple of integers");
    }
    return STK_OK;
}

enum { KEY_DESCR = 1, KEY_FORTRAN = 2, KEY_SHAPE = 4, KEY_ALL = 7 };

static stk_status read_entry(stk__npy *npy, cursor *text, unsigned *seen, stk_error *error)
{
    size_t length = 0;
    const char *key = take_quoted(text, &length);
    unsigned bit = 0;
    if (key && length == 5 && memcmp(key, "descr", 5) == 0) bit = KEY_DESCR;
    if (key && length == 5 && memcmp(key, "shape", 5) == 0) bit = KEY_SHAPE;
    if (key && length == 13 && memcmp(key, "fortran_order", 13) == 0) bit = KEY_FORTRAN;
    if (bit == 0 || (*seen & bit) || !take(text, ':'))
        return stk__damaged(error, STK_DAMAGE_BAD_HEADER,
                            "npy header has a malformed, duplicate or unknown key");
    *seen |= bit;
    if (bit == KEY_DESCR) return read_kind(npy, text, error);
    if (bit == KEY_SHAPE) return read_shape(npy, text, error);
    npy->fortran = take_word(text, "True");
    if (!npy->fortran && !take_word(text, "False"))
        return stk__damaged(error, STK_DAMAGE_BAD_HEADER, "npy fortran_order is neither True nor False");
    return STK_OK;
}

static stk_status read_dictionary(stk__npy *npy, cursor *text, stk_error *error)
{
    unsigned seen = 0;
    if (!take(text, '{')) return stk__damaged(error, STK_DAMAGE_BAD_HEADER, "npy header is not a dictionary");
    while (!take(text, '}')) {
        STK__TRY(read_entry(npy, text, &seen, error));
        if (!take(text, ',') && (text->at == text->end || *text->at != '}'))
            return stk__damaged(error, STK_DAMAGE_BAD_HEADER, "npy header is not a dictionary");
    }
    skip_spaces(text);
    if (text->at != text->end || seen != KEY_ALL)
        return stk__damaged(error, STK_DAMAGE_BAD_HEADER, "npy header lacks a key or has trailing bytes");
    return STK_OK;
}

static stk_status count_bytes(stk__npy *npy, stk_error *error)
{
    npy->data_bytes = (uint64_t)npy->item_bytes;
    for (int i = 0; i < npy->ndim; i++)
        if (__builtin_mul_overflow(npy->data_bytes, npy->shape[i], &npy->data_bytes) ||
            npy->data_bytes > INT64_MAX)
            return stk__damaged(error, STK_DAMAGE_BAD_HEADER, "npy shape is too large for memory");
    return STK_OK;
}

bool stk__npy_match(const uint8_t *data, size_t size_bytes)
{
    return size_bytes >= sizeof magic && memcmp(data, magic, sizeof magic) == 0;
}

stk_status stk__npy_parse(stk__npy *npy, const uint8_t *data, size_t size_bytes, stk_error *error)
{
    *npy = (stk__npy){0};
    const size_t known = size_bytes < sizeof magic ? size_bytes : sizeof magic;
    if (known > 0 && memcmp(data, magic, known) != 0)
        return stk__damaged(error, STK_DAMAGE_NOT_AN_IMAGE, "not an npy file: the magic number is missing");
    if (size_bytes < 10) return stk__damaged(error, STK_DAMAGE_TRUNCATED, "npy header is truncated");
    const int version = data[6];
    if (version < 1 || version > 3)
        return stk__damaged(error, STK_DAMAGE_UNSUPPORTED, "unsupported npy version %d", version);
    const size_t prefix = version == 1 ? 10 : 12;
    if (size_bytes < prefix) return stk__damaged(error, STK_DAMAGE_TRUNCATED, "npy header is truncated");
    size_t length = data[8] | (size_t)data[9] << 8;
    if (version > 1) length |= (size_t)data[10] << 16 | (size_t)data[11] << 24;
    if (length > size_bytes - prefix)
        return stk__damaged(error, STK_DAMAGE_TRUNCATED, "npy header of %zu bytes is truncated", length);
    cursor text = {(const char *)data + prefix, (const char *)data + prefix + length};
    STK__TRY(read_dictionary(npy, &text, error));
    npy->offset_bytes = prefix + length;
    return count_bytes(npy, error);
}

stk_status stk__npy_check_size(const stk__npy *npy, uint64_t size_bytes, stk_error *error)
{
    const uint64_t wanted = npy->data_bytes + npy->offset_bytes;
    if (size_bytes == wanted) return STK_OK;
    return stk__damaged(error, size_bytes < wanted ? STK_DAMAGE_TRUNCATED : STK_DAMAGE_CORRUPT,
                        "npy file of %llu bytes, its header needs %llu", (unsigned long long)size_bytes,
                        (unsigned long long)wanted);
}

/* Magic, version 1.0, length of the dictionary, dictionary padded with blanks. */
void stk__npy_write_image(uint8_t out[STK_NPY_IMAGE_BYTES], int32_t h, int32_t w, int32_t channels)
{
    char text[STK_NPY_IMAGE_BYTES], depth[16] = "";
    if (channels > 1) snprintf(depth, sizeof depth, ", %d", channels);
    const int length = snprintf(
        text, sizeof text, "{'descr': '|u1', 'fortran_order': False, 'shape': (%d, %d%s), }", h, w, depth);
    memset(out, ' ', STK_NPY_IMAGE_BYTES);
    memcpy(out, "\x93NUMPY\x01\x00\x76\x00", 10);
    memcpy(out + 10, text, (size_t)length);
    out[STK_NPY_IMAGE_BYTES - 1] = '\n';
}
