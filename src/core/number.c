/* SPDX-License-Identifier: Apache-2.0 */
/* Strict number parsing, independent of the locale: the syntax is checked first, then strtod converts a
 * bounded copy in the C locale, which is made once. Any thread. */
#include "core/number.h"

#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Longest text that is read as a number: bounds the copy that strtod needs. */
enum { TEXT_BYTES = 512 };

bool stk__number_whole(const char *text, size_t length, int64_t *value)
{
    const bool minus = length > 0 && text[0] == '-';
    size_t at = minus || (length > 0 && text[0] == '+');
    if (at == length) return false;
    int64_t sum = 0; /* kept negative: the range reaches one further there */
    for (; at < length; at++) {
        if (text[at] < '0' || text[at] > '9') return false;
        if (__builtin_mul_overflow(sum, 10, &sum) || __builtin_sub_overflow(sum, text[at] - '0', &sum))
            return false;
    }
    if (!minus && sum == INT64_MIN) return false;
    *value = minus ? sum : -sum;
    return true;
}

static size_t skip_digits(const char *text, size_t length, size_t at)
{
    while (at < length && text[at] >= '0' && text[at] <= '9')
        at++;
    return at;
}

/* Where the exponent ends that starts at `at`, or 0 when it is none. */
static size_t skip_exponent(const char *text, size_t length, size_t at)
{
    at++;
    if (at < length && (text[at] == '+' || text[at] == '-')) at++;
    const size_t end = skip_digits(text, length, at);
    return end > at ? end : 0;
}

static bool is_decimal(const char *text, size_t length, size_t at)
{
    const size_t whole = skip_digits(text, length, at);
    size_t digits = whole - at;
    at = whole;
    if (at < length && text[at] == '.') {
        const size_t end = skip_digits(text, length, at + 1);
        digits += end - at - 1;
        at = end;
    }
    if (digits == 0) return false;
    if (at < length && (text[at] == 'e' || text[at] == 'E')) at = skip_exponent(text, length, at);
    return at == length;
}

static bool is_word(const char *text, size_t length, const char *word)
{
    return length == strlen(word) && strncasecmp(text, word, length) == 0;
}

static locale_t c_locale;

static void make_locale(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* glibc hands out a constant: cannot fail */
}

static double convert(const char *text, size_t length)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_locale);
    char copy[TEXT_BYTES];
    memcpy(copy, text, length);
    copy[length] = '\0';
    return strtod_l(copy, NULL, c_locale);
}

bool stk__number_real(const char *text, size_t length, double *value)
{
    if (length == 0 || length >= TEXT_BYTES) return false;
    const bool minus = text[0] == '-';
    const size_t start = minus || text[0] == '+';
    if (is_decimal(text, length, start)) {
        *value = convert(text, length);
        return true;
    }
    const char *word = text + start;
    if (is_word(word, length - start, "nan"))
        *value = NAN;
    else if (is_word(word, length - start, "inf") || is_word(word, length - start, "infinity"))
        *value = minus ? -INFINITY : INFINITY;
    else
        return false;
    return true;
}
