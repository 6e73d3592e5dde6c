/* SPDX-License-Identifier: Apache-2.0 */
/* Drawing programs number the colors of each file by themselves: what is index 1 in one mask may be index 2
 * in the next. Any number of threads, each with its own counts. */
#include "loader/survey_palette.h"

#include "decode/mask_palette.h"

static void take(stk__survey_palette *p, int index, uint32_t color, uint64_t sample)
{
    const bool first = p->masks[index] == 0;
    if (first || color < p->low[index] || (color == p->low[index] && sample < p->low_mask[index])) {
        p->low[index] = color;
        p->low_mask[index] = sample;
    }
    if (first || color > p->high[index] || (color == p->high[index] && sample < p->high_mask[index])) {
        p->high[index] = color;
        p->high_mask[index] = sample;
    }
}

void stk__survey_palette_note(stk__survey_palette *palette, stk__encoded bytes, const uint64_t used[256],
                              uint64_t sample)
{
    const uint8_t *colors;
    const int count = stk__png_palette(bytes, &colors);
    for (int i = 0; i < count; i++) {
        if (!used[i]) continue;
        const uint8_t *at = colors + 3 * i;
        take(palette, i, (uint32_t)at[0] << 16 | (uint32_t)at[1] << 8 | at[2], sample);
        palette->masks[i]++;
    }
}

void stk__survey_palette_add(stk__survey_palette *sum, const stk__survey_palette *more)
{
    for (int i = 0; i < 256; i++) {
        if (!more->masks[i]) continue;
        take(sum, i, more->low[i], more->low_mask[i]);
        sum->masks[i] += more->masks[i];
        take(sum, i, more->high[i], more->high_mask[i]);
    }
}

int stk__survey_palette_conflict(const stk__survey_palette *palette)
{
    for (int i = 0; i < 256; i++)
        if (palette->masks[i] && palette->low[i] != palette->high[i]) return i;
    return -1;
}
