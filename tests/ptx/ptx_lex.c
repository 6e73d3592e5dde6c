/* SPDX-License-Identifier: Apache-2.0 */
/* The lexer of PTX: one token at hand, the next by ptx_lexer_next. */
#include "ptx/ptx_lex.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

stk_status ptx_lexer_refuse(const ptx_lexer *lexer, stk_error *error, const char *format, ...)
{
    char why[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    return stk__fail(error, STK_ERROR_UNSUPPORTED, "%s:%u: %s", lexer->file, lexer->token_line, why);
}

static void skip_blanks(ptx_lexer *lexer)
{
    for (; *lexer->rest; lexer->rest++) {
        if (lexer->rest[0] == '/' && lexer->rest[1] == '/') lexer->rest += strcspn(lexer->rest, "\n");
        if (*lexer->rest == '\n') lexer->line++;
        if (!isspace((unsigned char)*lexer->rest)) return;
    }
}

/* "::" is inside of modifiers; a single colon ends a label. */
static size_t find_word_end(const char *text)
{
    size_t n = 1;
    for (;; n++) {
        if (text[n] == ':' && text[n + 1] == ':')
            n++;
        else if (!isalnum((unsigned char)text[n]) && !(text[n] && strchr("_$.%", text[n])))
            return n;
    }
}

static stk_status take(ptx_lexer *lexer, ptx_token_kind kind, size_t length, stk_error *error)
{
    lexer->kind = kind;
    if (length >= sizeof lexer->word) return ptx_lexer_refuse(lexer, error, "a word is too long");
    memcpy(lexer->word, lexer->rest, length);
    lexer->word[length] = 0;
    lexer->rest += length;
    return STK_OK;
}

/* Whole numbers, and floats as their bits: 0f3F800000, 0d3FF0000000000000. */
static stk_status take_number(ptx_lexer *lexer, stk_error *error)
{
    STK__TRY(take(lexer, PTX_TOKEN_NUMBER, find_word_end(lexer->rest), error));
    const char kind = lexer->word[1], *digits = lexer->word;
    char *end;
    const bool bits = lexer->word[0] == '0' && (kind == 'f' || kind == 'F' || kind == 'd' || kind == 'D');
    if (bits) digits += 2;
    if (strchr(digits, '.')) return ptx_lexer_refuse(lexer, error, "unknown number '%s'", lexer->word);
    lexer->number = strtoull(digits, &end, bits ? 16 : 0);
    if (!bits && *end == 'U') end++;
    if (*end || end == digits) return ptx_lexer_refuse(lexer, error, "unknown number '%s'", lexer->word);
    return STK_OK;
}

stk_status ptx_lexer_next(ptx_lexer *lexer, stk_error *error)
{
    skip_blanks(lexer);
    lexer->token_line = lexer->line;
    const char first = *lexer->rest;
    if (!first) {
        lexer->kind = PTX_TOKEN_END;
        lexer->word[0] = 0;
        return STK_OK;
    }
    if (isdigit((unsigned char)first)) return take_number(lexer, error);
    if (isalpha((unsigned char)first) || strchr("_$.%", first))
        return take(lexer, PTX_TOKEN_WORD, find_word_end(lexer->rest), error);
    if (first == '"') {
        const size_t length = strcspn(lexer->rest + 1, "\"\n");
        if (lexer->rest[length + 1] != '"') return ptx_lexer_refuse(lexer, error, "a text does not end");
        return take(lexer, PTX_TOKEN_TEXT, length + 2, error);
    }
    return take(lexer, PTX_TOKEN_SIGN, 1, error);
}

bool ptx_lexer_is(const ptx_lexer *lexer, const char *word)
{
    return lexer->kind != PTX_TOKEN_END && strcmp(lexer->word, word) == 0;
}

stk_status ptx_lexer_expect(ptx_lexer *lexer, const char *word, stk_error *error)
{
    if (!ptx_lexer_is(lexer, word))
        return ptx_lexer_refuse(lexer, error, "'%s' expected instead of '%s'", word, lexer->word);
    return ptx_lexer_next(lexer, error);
}

stk_status ptx_lexer_take_word(ptx_lexer *lexer, char word[PTX_WORD_BYTES], stk_error *error)
{
    if (lexer->kind != PTX_TOKEN_WORD)
        return ptx_lexer_refuse(lexer, error, "a name expected instead of '%s'", lexer->word);
    memcpy(word, lexer->word, PTX_WORD_BYTES);
    return ptx_lexer_next(lexer, error);
}

stk_status ptx_lexer_take_number(ptx_lexer *lexer, uint64_t *number, stk_error *error)
{
    if (lexer->kind != PTX_TOKEN_NUMBER)
        return ptx_lexer_refuse(lexer, error, "a number expected instead of '%s'", lexer->word);
    *number = lexer->number;
    return ptx_lexer_next(lexer, error);
}
