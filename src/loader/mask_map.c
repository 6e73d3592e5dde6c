/* SPDX-License-Identifier: Apache-2.0 */
/* data.mask_map as text into a table of 256 values. Pure function. */
#include "loader/mask_decision.h"

#include "core/error.h"
#include "core/number.h"

#include <string.h>

static stk_status refuse(const char *item, size_t length, stk_error *error)
{
    stk__fail(error, STK_ERROR_CONFIG,
              "data.mask_map has '%.*s', which is not value:id with numbers from 0 to 255", (int)length,
              item);
    stk__error_hint(error, "such as 0:0,255:1; or auto, none or threshold");
    return STK_ERROR_CONFIG;
}

stk_status stk__mask_map_read(stk__mask_map *map, const char *text, stk_error *error)
{
    *map = (stk__mask_map){.on = strcmp(text, "none") != 0, .lossy = strcmp(text, "threshold") == 0};
    if (!map->on) return STK_OK;
    for (int value = 0; map->lossy && value < 256; value++) {
        map->to[value] = value >= 128;
        map->known[value] = true;
    }
    if (map->lossy) return STK_OK;
    for (const char *cursor = text; *cursor;) {
        const size_t length = strcspn(cursor, ",");
        const char *colon = memchr(cursor, ':', length);
        int64_t from = -1, to = -1;
        if (!colon || !stk__number_whole(cursor, (size_t)(colon - cursor), &from) ||
            !stk__number_whole(colon + 1, length - (size_t)(colon + 1 - cursor), &to) || from < 0 ||
            from > 255 || to < 0 || to > 255)
            return refuse(cursor, length, error);
        map->to[from] = (uint8_t)to;
        map->known[from] = true;
        cursor += length + (cursor[length] == ',');
    }
    return STK_OK;
}
