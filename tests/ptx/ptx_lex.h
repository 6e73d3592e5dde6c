/* SPDX-License-Identifier: Apache-2.0 */
/* Words, numbers and signs of a PTX text. */
#ifndef PTX_LEX_H
#define PTX_LEX_H

#include "core/error.h"

#include <stddef.h>
#include <stdint.h>

typedef enum ptx_token_kind {
    PTX_TOKEN_END,
    PTX_TOKEN_WORD,
    PTX_TOKEN_NUMBER,
    PTX_TOKEN_TEXT,
    PTX_TOKEN_SIGN
} ptx_token_kind;

enum { PTX_WORD_BYTES = 96 };

typedef struct ptx_lexer {
    const char *rest, *file;
    uint32_t line, token_line; /* token_line: of the token at hand */
    ptx_token_kind kind;
    char word[PTX_WORD_BYTES]; /* a word or text; of a sign the first character */
    uint64_t number;
} ptx_lexer;

stk_status ptx_lexer_next(ptx_lexer *lexer, stk_error *error);

/* Is the token at hand this sign or word? */
bool ptx_lexer_is(const ptx_lexer *lexer, const char *word);

/* Takes the token at hand, which must be this one; or a word; or a number. */
stk_status ptx_lexer_expect(ptx_lexer *lexer, const char *word, stk_error *error);
stk_status ptx_lexer_take_word(ptx_lexer *lexer, char word[PTX_WORD_BYTES], stk_error *error);
stk_status ptx_lexer_take_number(ptx_lexer *lexer, uint64_t *number, stk_error *error);

/* "FILE:LINE: why" */
stk_status ptx_lexer_refuse(const ptx_lexer *lexer, stk_error *error, const char *format, ...)
    STK__PRINTF(3, 4);

#endif
