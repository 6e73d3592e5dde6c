/* SPDX-License-Identifier: Apache-2.0 */
/* Between text and value: what people write, read and printed. */
#include "core/number.h"
#include "core/option_value.h"

#include <float.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double exact_most = 9007199254740992.0; /* 2^53: above it doubles skip whole numbers */

static bool is_word(const char *text, const char *word)
{
    return strlen(text) == strlen(word) && stk__name_equal(text, word, strlen(word));
}

static bool is_word_of(const char *text, const char *words)
{
    size_t length;
    for (const char *word; (word = stk__name_next(&words, &length));)
        if (strlen(text) == length && stk__name_equal(text, word, length)) return true;
    return false;
}

static bool read_finite(const char *text, size_t length, double *value)
{
    double number;
    if (!stk__number_real(text, length, &number) || !isfinite(number)) return false;
    *value = number;
    return true;
}

/* As readers do: a float is read as a double first. */
static bool reads_back(const char *text, double value, bool is_float)
{
    const double number = strtod(text, NULL);
    return is_float ? (float)number == (float)value : number == value;
}

static void print_shortest(double value, bool is_float, char *text, size_t size)
{
    const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    const locale_t former = plain ? uselocale(plain) : (locale_t)0;
    const int most = is_float ? FLT_DECIMAL_DIG : DBL_DECIMAL_DIG;
    char number[32];
    for (int digits = is_float ? FLT_DIG : DBL_DIG; digits <= most; digits++) {
        snprintf(number, sizeof number, "%.*g", digits, value);
        if (reads_back(number, value, is_float)) break;
    }
    snprintf(text, size, "%s", number);
    if (!plain) return;
    uselocale(former);
    freelocale(plain);
}

void stk__option_print_number(double value, char *text, size_t size)
{
    print_shortest(value, false, text, size);
}

void stk__option_print_float(float value, char *text, size_t size)
{
    print_shortest((double)value, true, text, size);
}

static bool read_whole(const char *text, size_t length, int64_t *value)
{
    if (stk__number_whole(text, length, value)) return true;
    double number; /* 1e6 */
    if (!read_finite(text, length, &number)) return false;
    if (number != floor(number) || fabs(number) > exact_most) return false;
    *value = (int64_t)number;
    return true;
}

static bool read_count(const char *text, int64_t *value)
{
    if (is_word(text, "auto")) {
        *value = 0;
        return true;
    }
    if (!read_whole(text, strlen(text), value) || *value < 0) return false;
    if (*value == 0) *value = -1;
    return true;
}

static bool read_switch(const char *text, int *value)
{
    if (is_word(text, "auto"))
        *value = 0;
    else if (is_word_of(text, "true yes on 1"))
        *value = 1;
    else if (is_word_of(text, "false no off 0"))
        *value = -1;
    else
        return false;
    return true;
}

int stk__option_choice_count(const stk__option *option)
{
    int count = 1;
    for (const char *c = option->choices; *c; c++)
        count += *c == '|';
    return count;
}

const char *stk__option_choice(const stk__option *option, int index, size_t *length)
{
    const char *choice = option->choices;
    for (; index > 0; index--)
        choice += strcspn(choice, "|") + 1;
    *length = strcspn(choice, "|");
    return choice;
}

size_t stk__option_choice_print(const stk__option *option, int index, char *text, size_t size)
{
    size_t length;
    const char *word = stk__option_choice(option, index, &length);
    return (size_t)snprintf(text, size, "%.*s", (int)strcspn(word, "=|"), word);
}

static bool read_choice(const stk__option *option, const char *text, int *value)
{
    const size_t size = strlen(text);
    for (int i = 0; i < stk__option_choice_count(option); i++) {
        size_t left;
        const char *word = stk__option_choice(option, i, &left);
        for (const char *end = word + left; word < end;) {
            const size_t length = strcspn(word, "=|");
            if (size == length && stk__name_equal(word, text, length)) {
                *value = i;
                return true;
            }
            word += length + 1;
        }
    }
    return false;
}

/* Splits "64 MiB" into its number and its unit. */
static const char *read_quantity(const char *text, double *number)
{
    size_t length = strspn(text, "0123456789.+-");
    /* An 'e' belongs to the number when digits follow: 1e6. */
    if ((text[length] == 'e' || text[length] == 'E') && strspn(text + length + 1, "+-0123456789"))
        length += 1 + strspn(text + length + 1, "+-0123456789");
    if (!read_finite(text, length, number)) return NULL;
    return text + length + strspn(text + length, " ");
}

static bool read_bytes(const char *text, uint64_t *value)
{
    double number, scale = 1;
    const char *unit = read_quantity(text, &number);
    if (!unit) return false;
    static const char prefixes[] = "kmgt";
    const char *prefix = *unit ? strchr(prefixes, *unit | 0x20) : NULL;
    if (prefix) {
        const bool decimal = is_word(unit + 1, "b");
        if (!decimal && unit[1] && !is_word(unit + 1, "ib")) return false;
        for (const char *p = prefixes; p <= prefix; p++)
            scale *= decimal ? 1000 : 1024;
    } else if (*unit && !is_word(unit, "b")) {
        return false;
    }
    number *= scale;
    if (number < 0 || number != floor(number) || number > exact_most) return false;
    *value = (uint64_t)number;
    return true;
}

static bool read_seconds(const char *text, double *value)
{
    static const struct {
        const char *unit;
        double seconds;
    } units[] = {{"", 1}, {"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"m", 60}, {"min", 60}, {"h", 3600}};
    double number;
    const char *unit = read_quantity(text, &number);
    for (size_t i = 0; unit && i < sizeof units / sizeof units[0]; i++)
        if (is_word(unit, units[i].unit)) {
            *value = number * units[i].seconds;
            return number >= 0 && isfinite(*value);
        }
    return false;
}

static bool read_side(const char *text, size_t length, int32_t *side)
{
    for (; length && *text == ' '; text++)
        length--;
    while (length && text[length - 1] == ' ')
        length--;
    int64_t whole;
    if (!read_whole(text, length, &whole) || whole < INT32_MIN || whole > INT32_MAX) return false;
    *side = (int32_t)whole;
    return true;
}

/* "[…" or, as Python writes tuples, "(…". */
static bool is_opened(const char *text)
{
    return text[0] == '[' || text[0] == '(';
}

static bool is_closed(const char *text, size_t length)
{
    return text[length - 1] == (text[0] == '[' ? ']' : ')');
}

static bool read_size(const char *text, int32_t size[2])
{
    const size_t length = strlen(text);
    if (is_opened(text)) {
        const size_t first = strcspn(text, ",");
        if (first == length || !is_closed(text, length)) return false;
        return read_side(text + 1, first - 1, &size[0]) &&
               read_side(text + first + 1, length - first - 2, &size[1]);
    }
    const size_t first = strcspn(text, "xX");
    if (first < length)
        return read_side(text, first, &size[1]) && read_side(text + first + 1, length - first - 1, &size[0]);
    if (!read_side(text, length, &size[0])) return false;
    size[1] = size[0];
    return true;
}

static bool read_bound(const char *text, size_t length, double *bound)
{
    for (; length && *text == ' '; text++)
        length--;
    while (length && text[length - 1] == ' ')
        length--;
    return read_finite(text, length, bound);
}

static bool read_range(const char *text, double range[2])
{
    const size_t length = strlen(text);
    range[1] = INFINITY;
    if (!is_opened(text)) return read_finite(text, length, &range[0]);
    const size_t first = strcspn(text, ",");
    if (first == length || !is_closed(text, length)) return false;
    if (!read_bound(text + 1, first - 1, &range[0]) ||
        !read_bound(text + first + 1, length - first - 2, &range[1]) || range[0] > range[1])
        return false;
    if (range[0] == 0 && range[1] == 0) range[1] = INFINITY; /* both zero would mean default */
    return true;
}

/* "[a, b]", "a,b", or one number for all. Zeroes are stored as -0.0: all of them plain would mean default. */
static bool read_tuple(const char *text, int count, double *tuple)
{
    size_t length = strlen(text);
    if (is_opened(text)) {
        if (length < 2 || !is_closed(text, length)) return false;
        text++;
        length -= 2;
    }
    int found = 0;
    for (const char *end = text + length;; found++) {
        const char *comma = memchr(text, ',', (size_t)(end - text)), *stop = comma ? comma : end;
        if (found == count || !read_bound(text, (size_t)(stop - text), &tuple[found])) return false;
        if (tuple[found] == 0) tuple[found] = -0.0;
        if (!comma) break;
        text = comma + 1;
    }
    for (int i = 1; i < count && found == 0; i++)
        tuple[i] = tuple[0];
    return found == 0 || found == count - 1;
}

static bool read_share(const char *text, double *share)
{
    if (!read_finite(text, strlen(text), share) || *share < 0 || *share > 1) return false;
    if (*share == 0) *share = -1;
    return true;
}

bool stk__option_value_read(const stk__option *option, const char *text, stk__option_value *value)
{
    switch (option->type) {
    case STK_OPTION_TEXT:
        value->text = text;
        return true;
    case STK_OPTION_INT:
        return read_whole(text, strlen(text), &value->whole);
    case STK_OPTION_COUNT:
        return read_count(text, &value->whole);
    case STK_OPTION_NUMBER:
        return read_finite(text, strlen(text), &value->number);
    case STK_OPTION_SWITCH:
        return read_switch(text, &value->flag);
    case STK_OPTION_WORD:
        return read_choice(option, text, &value->flag);
    case STK_OPTION_BYTES:
        return read_bytes(text, &value->bytes);
    case STK_OPTION_SECONDS:
        return read_seconds(text, &value->number);
    case STK_OPTION_SIZE2:
        return read_size(text, value->size);
    case STK_OPTION_SHARE:
        return read_share(text, &value->number);
    case STK_OPTION_RANGE:
        return read_range(text, value->range);
    case STK_OPTION_PAIR:
    case STK_OPTION_TRIPLE:
        return read_tuple(text, stk__option_tuple_count(option->type), value->triple);
    }
    return false;
}

static void print_range(const double range[2], char *text, size_t size)
{
    char low[32], high[32];
    stk__option_print_number(range[0], low, sizeof low);
    stk__option_print_number(range[1], high, sizeof high);
    if (isinf(range[1]) || (range[0] == 0 && range[1] == 0)) /* the latter: not set */
        snprintf(text, size, "%s", low);
    else
        snprintf(text, size, "[%s, %s]", low, high);
}

static void print_tuple(const double *tuple, int count, char *text, size_t size)
{
    bool same = true;
    for (int i = 1; i < count; i++)
        same = same && tuple[i] == tuple[0];
    size_t used = 0;
    for (int i = 0; i < (same ? 1 : count) && used < size; i++) {
        char number[32];
        stk__option_print_number(tuple[i] + 0.0, number, sizeof number); /* -0.0 becomes 0 */
        used += (size_t)snprintf(text + used, size - used, "%s%s", same ? "" : i ? ", " : "[", number);
    }
    if (!same && used < size) snprintf(text + used, size - used, "]");
}

static void print_bytes(uint64_t bytes, char *text, size_t size)
{
    static const char *const units[] = {"", "k", "M", "G", "T"};
    size_t steps = 0;
    for (; steps < 4 && bytes && bytes % 1024 == 0; steps++)
        bytes /= 1024;
    snprintf(text, size, "%" PRIu64 "%s", bytes, units[steps]);
}

static void print_choice(const stk__option *option, int index, char *text, size_t size)
{
    if (index < 0 || index >= stk__option_choice_count(option)) {
        snprintf(text, size, "%d", index);
        return;
    }
    stk__option_choice_print(option, index, text, size);
}

void stk__option_print(const stk__option *option, const void *options, char *text, size_t size)
{
    const stk__option_value value = stk__option_load(option, options);
    switch (option->type) {
    case STK_OPTION_TEXT:
        snprintf(text, size, "%s", value.text ? value.text : "");
        break;
    case STK_OPTION_COUNT:
        if (value.whole == 0)
            snprintf(text, size, "auto");
        else
            snprintf(text, size, "%" PRId64, value.whole == -1 ? 0 : value.whole);
        break;
    case STK_OPTION_INT:
        snprintf(text, size, "%" PRId64, value.whole);
        break;
    case STK_OPTION_SECONDS:
    case STK_OPTION_NUMBER:
        stk__option_print_number(value.number, text, size);
        break;
    case STK_OPTION_SWITCH:
        snprintf(text, size, "%s", value.flag == 0 ? "auto" : value.flag > 0 ? "true" : "false");
        break;
    case STK_OPTION_WORD:
        print_choice(option, value.flag, text, size);
        break;
    case STK_OPTION_BYTES:
        print_bytes(value.bytes, text, size);
        break;
    case STK_OPTION_SIZE2:
        if (value.size[0] == value.size[1])
            snprintf(text, size, "%d", value.size[0]);
        else
            snprintf(text, size, "[%d, %d]", value.size[0], value.size[1]);
        break;
    case STK_OPTION_SHARE:
        stk__option_print_number(value.number < 0 ? 0 : value.number, text, size);
        break;
    case STK_OPTION_RANGE:
        print_range(value.range, text, size);
        break;
    case STK_OPTION_PAIR:
    case STK_OPTION_TRIPLE:
        print_tuple(value.triple, stk__option_tuple_count(option->type), text, size);
        break;
    }
}
