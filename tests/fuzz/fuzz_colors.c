/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a file of mask colors, as data.mask_colors and as data.mask_map: what is accepted has a name
 * for every class, a class for every color, and written as a list reads back as the same; or the line is
 * named. */
#include "fuzz.h"

#include "loader/mask_decision.h"
#include "decode/mask_palette.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static stk__mask_palette palette, again;

static void check_palette(const stk__mask_palette *p)
{
    assert(p->class_count > 0 && p->class_count <= 255 && p->colors.count > 0);
    for (int i = 0; i < p->class_count; i++)
        assert(p->name_list[i] == p->names[i] && strlen(p->names[i]) < STK_PALETTE_NAME_BYTES);
    for (int i = 0; i < p->colors.count; i++) {
        assert(p->colors.id[i] == 255 || p->colors.id[i] < p->class_count);
        assert(stk__mask_colors_find(&p->colors, p->colors.color[i]) == i);
    }
}

static void check_list(void)
{
    static char text[STK_MASK_COLORS_MOST * 12];
    size_t have = 0;
    for (int i = 0; i < palette.colors.count; i++)
        have += (size_t)snprintf(text + have, sizeof text - have, "%s%06x:%d", i ? "," : "",
                                 (unsigned)palette.colors.color[i], palette.colors.id[i]);
    again = (stk__mask_palette){.class_count = 0};
    assert(stk__mask_palette_read(&again, text, NULL) == STK_OK);
    assert(memcmp(&again.colors, &palette.colors, sizeof again.colors) == 0);
}

static void check_map(const char *text)
{
    stk__mask_map map;
    stk_error error = {0};
    const stk_status status = stk__mask_map_read(&map, text, &error);
    if (status != STK_OK) fuzz_check_failure(status, &error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_limit_memory(64u << 20);
    char *text = (char *)fuzz_copy(data, size, 1);
    stk_error error = {0};
    palette = (stk__mask_palette){.class_count = 0};
    const stk_status status = stk__mask_palette_parse(&palette, text, "colors.txt", &error);
    if (status == STK_OK) {
        check_palette(&palette);
        check_list();
    } else {
        fuzz_check_failure(status, &error);
        assert(strstr(error.message, "line"));
    }
    check_map(text);
    free(text);
    return 0;
}
