/* SPDX-License-Identifier: Apache-2.0 */
/* The table of generated data sets, and sample names: numbers of equal length, so that sorted names are
 * sorted numbers. */
#include "make/make.h"

#include "make/canvas.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const stk__make_info *const kinds[STK_MAKE_COUNT] = {
    [STK_MAKE_FACES] = &stk__make_faces,
    [STK_MAKE_CAPTCHA] = &stk__make_captcha,
    [STK_MAKE_GRAY] = &stk__make_gray,
    [STK_MAKE_SERIES] = &stk__make_series_info,
};

const stk__make_info *stk__make_describe(stk__make_kind kind)
{
    assert(kind < STK_MAKE_COUNT);
    return kinds[kind];
}

stk__make_kind stk__make_find(const char *name)
{
    for (int kind = 0; kind < STK_MAKE_COUNT; kind++)
        if (strcmp(kinds[kind]->name, name) == 0) return (stk__make_kind)kind;
    return STK_MAKE_COUNT;
}

void stk__make_draw(stk__make_kind kind, uint64_t seed, uint64_t index, stk__pixels image, stk__pixels mask,
                    uint8_t *scratch)
{
    const stk__make_info *info = stk__make_describe(kind);
    assert(info->draw && stk__canvas_bytes(info->w, info->h, info->channels) <= info->scratch_bytes);
    info->draw(seed, index, image, mask, scratch);
}

stk__made stk__make_facts(stk__make_kind kind, uint64_t seed, uint64_t index)
{
    stk__made made = {.label = -1};
    if (kinds[kind]->facts) kinds[kind]->facts(seed, index, &made);
    return made;
}

void stk__make_key(stk__make_kind kind, uint64_t index, uint64_t count, char *key, size_t size)
{
    int digits = 6; /* equally long, so that the order of names is the order of numbers */
    for (uint64_t most = 1000000; most < count && digits < 20; most *= 10)
        digits++;
    const int32_t label = stk__make_facts(kind, 0, index).label;
    if (label >= 0)
        snprintf(key, size, "%s/%0*llu", kinds[kind]->class_names[label], digits, (unsigned long long)index);
    else
        snprintf(key, size, "%0*llu", digits, (unsigned long long)index);
}
