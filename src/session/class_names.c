/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of classes are sorted by their names without case and blanks around them; names that are alike
 * then stand side by side. Pure but for its memory; any thread. */
#include "session/class_names.h"

#include "core/memory.h"
#include "core/text.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct named_class {
    const char *name;
    size_t length;
    int32_t number;
} named_class;

static named_class trim(const char *name, int32_t number)
{
    size_t length = strlen(name);
    while (length && stk__is_space(name[length - 1]))
        length--;
    for (; length && stk__is_space(*name); length--)
        name++;
    return (named_class){name, length, number};
}

static int compare_names(const named_class *a, const named_class *b)
{
    const int order = strncasecmp(a->name, b->name, a->length < b->length ? a->length : b->length);
    return order ? order : (a->length > b->length) - (a->length < b->length);
}

static int compare(const void *a, const void *b)
{
    const named_class *first = a, *second = b;
    const int order = compare_names(first, second);
    return order ? order : (first->number > second->number) - (first->number < second->number);
}

int32_t stk__class_names_alike(const char *const *names, int32_t count, int32_t pair[2])
{
    named_class *sorted = names && count > 1 ? stk__alloc((size_t)count * sizeof *sorted) : NULL;
    int32_t alike = 0;
    if (!sorted) return 0;
    for (int32_t i = 0; i < count; i++)
        sorted[i] = trim(names[i], i);
    qsort(sorted, (size_t)count, sizeof *sorted, compare);
    for (int32_t i = 1; i < count; i++) {
        if (compare_names(&sorted[i - 1], &sorted[i]) != 0) continue;
        if (!alike++ || sorted[i - 1].number < pair[0]) {
            pair[0] = sorted[i - 1].number;
            pair[1] = sorted[i].number;
        }
    }
    stk__free(sorted);
    return alike;
}
