/* SPDX-License-Identifier: Apache-2.0 */
/* A parser by recursive descent that computes as it reads. Loosest first:
 *     comparison: sum [== != < <= > >= sum]      sum: product {+ - product}      product: sign {* / % sign}
 *     sign: {-} power                            power: atom [^ sign]
 *     atom: number, name, min(a, b), max(a, b), (comparison)                                              */
#include "train/network/network_expression.h"

#include "core/nearest.h"
#include "core/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { DEPTH_MOST = 32, SHOWN_MOST = 40 };

typedef struct parser {
    const stk__expression *expression;
    size_t at;
    int depth;
    stk__mistake *mistake;
} parser;

static bool fail(const parser *p, size_t at, const char *format, ...) __attribute__((format(printf, 3, 4)));
static bool compare(parser *p, int64_t *value);
static bool sign(parser *p, int64_t *value);

static bool fail(const parser *p, size_t at, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(p->mistake->message, sizeof p->mistake->message, format, arguments);
    va_end(arguments);
    p->mistake->at = at;
    p->mistake->hint[0] = '\0';
    return false;
}

static bool fail_large(const parser *p, size_t at)
{
    return fail(p, at, "the value is too large");
}

const stk__scope *stk__scope_find(const stk__scope *scope, const char *name, size_t length)
{
    for (; scope; scope = scope->outer)
        if (strlen(scope->name) == length && memcmp(scope->name, name, length) == 0) return scope;
    return NULL;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The next character that is not a blank; 0 at the end. */
static char peek(parser *p)
{
    const stk__expression *e = p->expression;
    while (p->at < e->length && stk__is_blank(e->text[p->at]))
        p->at++;
    return p->at < e->length ? e->text[p->at] : '\0';
}

static bool take(parser *p, char c)
{
    if (peek(p) != c) return false;
    p->at++;
    return true;
}

static bool fail_here(parser *p, const char *wanted)
{
    const char c = peek(p);
    if (c == '\0') return fail(p, p->at, "the expression ends where %s should follow", wanted);
    if (c < ' ' || c > '~') return fail(p, p->at, "an unexpected character where %s should follow", wanted);
    return fail(p, p->at, "'%c' where %s should follow", c, wanted);
}

static bool number(parser *p, int64_t *value)
{
    const stk__expression *e = p->expression;
    const size_t start = p->at;
    int64_t sum = 0;
    for (; p->at < e->length && is_digit(e->text[p->at]); p->at++)
        if (__builtin_mul_overflow(sum, 10, &sum) || __builtin_add_overflow(sum, e->text[p->at] - '0', &sum))
            return fail_large(p, start);
    if (p->at < e->length && (e->text[p->at] == '.' || is_letter(e->text[p->at])))
        return fail(p, start, "only integers are possible here");
    *value = sum;
    return true;
}

static bool unknown_name(const parser *p, const char *name, size_t at)
{
    stk__nearest nearest = {.word = name};
    for (const stk__scope *scope = p->expression->scope; scope; scope = scope->outer)
        stk__nearest_offer(&nearest, scope->name);
    static const char *const words[] = {"min", "max", "true", "false"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        stk__nearest_offer(&nearest, words[i]);
    fail(p, at, "there is no option, fact or loop variable '%s'", name);
    if (strcmp(name, "yes") == 0 || strcmp(name, "no") == 0)
        snprintf(p->mistake->hint, sizeof p->mistake->hint, "write true or false");
    else if (nearest.best)
        snprintf(p->mistake->hint, sizeof p->mistake->hint, "did you mean '%s'?", nearest.best);
    return false;
}

/* A comma inside {…} or […] is YAML's, unless there are quotes around it. */
static bool fail_comma(parser *p)
{
    fail_here(p, "','");
    if (peek(p) == '\0')
        snprintf(p->mistake->hint, sizeof p->mistake->hint, "put an expression with commas into quotes");
    return false;
}

/* The rest of min(a, b) or max(a, b). */
static bool extreme(parser *p, bool largest, int64_t *value)
{
    int64_t a, b;
    if (!take(p, '(')) return fail_here(p, "'('");
    if (!compare(p, &a)) return false;
    if (!take(p, ',')) return fail_comma(p);
    if (!compare(p, &b)) return false;
    if (!take(p, ')')) return fail_here(p, "')'");
    *value = (a > b) == largest ? a : b;
    return true;
}

static bool name(parser *p, int64_t *value)
{
    const stk__expression *e = p->expression;
    const size_t start = p->at;
    char word[SHOWN_MOST + 1] = "";
    while (p->at < e->length && (is_letter(e->text[p->at]) || is_digit(e->text[p->at])))
        p->at++;
    const size_t length = p->at - start;
    if (length > SHOWN_MOST) return fail(p, start, "a name of more than %d letters", SHOWN_MOST);
    memcpy(word, e->text + start, length);
    const stk__scope *found = stk__scope_find(e->scope, word, length);
    if (found && found->unknown && !e->check) return fail(p, start, "the data has no '%s'", word);
    if (found && found->used) *found->used = true;
    if (found) {
        *value = found->value;
        return true;
    }
    if (strcmp(word, "min") == 0) return extreme(p, false, value);
    if (strcmp(word, "max") == 0) return extreme(p, true, value);
    if (strcmp(word, "true") != 0 && strcmp(word, "false") != 0) return unknown_name(p, word, start);
    *value = word[0] == 't';
    return true;
}

static bool atom(parser *p, int64_t *value)
{
    const char c = peek(p);
    if (is_digit(c)) return number(p, value);
    if (is_letter(c)) return name(p, value);
    if (!take(p, '(')) return fail_here(p, "a number or name");
    if (!compare(p, value)) return false;
    return take(p, ')') || fail_here(p, "')'");
}

/* By squaring: few turns however large the exponent is. */
static bool raise(const parser *p, int64_t base, int64_t exponent, int64_t *value)
{
    int64_t result = 1;
    if (exponent < 0) return fail(p, p->at, "the exponent %lld is negative", (long long)exponent);
    for (;;) {
        if ((exponent & 1) && __builtin_mul_overflow(result, base, &result)) return fail_large(p, p->at);
        exponent >>= 1;
        if (!exponent) break;
        if (__builtin_mul_overflow(base, base, &base)) return fail_large(p, p->at);
    }
    *value = result;
    return true;
}

static bool power(parser *p, int64_t *value)
{
    int64_t base, exponent;
    if (!atom(p, &base)) return false;
    if (!take(p, '^')) {
        *value = base;
        return true;
    }
    if (!sign(p, &exponent)) return false;
    if (!p->expression->check) return raise(p, base, exponent, value);
    *value = 1;
    return true;
}

static bool sign(parser *p, int64_t *value)
{
    if (++p->depth > DEPTH_MOST) return fail(p, p->at, "the expression is nested too deep");
    const size_t start = p->at;
    if (take(p, '-')) {
        if (!sign(p, value)) return false;
        if (__builtin_sub_overflow(0, *value, value)) return fail_large(p, start);
    } else if (!power(p, value)) {
        return false;
    }
    p->depth--;
    return true;
}

static bool divide(const parser *p, char operation, size_t at, int64_t b, int64_t *value)
{
    const long long a = *value;
    if (b == 0) return fail(p, at, "%lld %c 0 has no value", a, operation);
    if (b == -1) { /* the one quotient that may not fit */
        if (operation == '%')
            *value = 0;
        else if (__builtin_sub_overflow(0, *value, value))
            return fail_large(p, at);
        return true;
    }
    if (operation == '/' && a % b != 0) return fail(p, at, "%lld / %lld is not an integer", a, (long long)b);
    *value = operation == '/' ? a / b : a % b;
    return true;
}

static bool product(parser *p, int64_t *value)
{
    if (!sign(p, value)) return false;
    for (;;) {
        const char c = peek(p);
        const size_t at = p->at;
        int64_t b;
        if (c != '*' && c != '/' && c != '%') return true;
        p->at++;
        if (!sign(p, &b)) return false;
        if (p->expression->check)
            *value = 1;
        else if (c != '*' && !divide(p, c, at, b, value))
            return false;
        else if (c == '*' && __builtin_mul_overflow(*value, b, value))
            return fail_large(p, at);
    }
}

static bool sum(parser *p, int64_t *value)
{
    if (!product(p, value)) return false;
    for (;;) {
        const char c = peek(p);
        const size_t at = p->at;
        int64_t b;
        if (c != '+' && c != '-') return true;
        p->at++;
        if (!product(p, &b)) return false;
        const bool large =
            c == '+' ? __builtin_add_overflow(*value, b, value) : __builtin_sub_overflow(*value, b, value);
        if (p->expression->check)
            *value = 1;
        else if (large)
            return fail_large(p, at);
    }
}

static bool compare(parser *p, int64_t *value)
{
    int64_t a, b;
    if (!sum(p, &a)) return false;
    const char c = peek(p);
    *value = a;
    if (c != '=' && c != '!' && c != '<' && c != '>') return true;
    p->at++;
    const bool equal = p->at < p->expression->length && p->expression->text[p->at] == '=';
    if (!equal && (c == '=' || c == '!')) return fail(p, p->at - 1, "'%c' where '%c=' is meant", c, c);
    p->at += equal;
    if (!sum(p, &b)) return false;
    if (c == '=' || c == '!')
        *value = (a == b) == (c == '=');
    else
        *value = c == '<' ? a < b || (equal && a == b) : a > b || (equal && a == b);
    return true;
}

bool stk__expression_value(const stk__expression *expression, int64_t *value, stk__mistake *mistake)
{
    parser p = {.expression = expression, .mistake = mistake};
    int64_t result = 0;
    if (!compare(&p, &result)) return false;
    if (peek(&p) != '\0' || p.at < expression->length) return fail_here(&p, "the end");
    *value = result;
    return true;
}
