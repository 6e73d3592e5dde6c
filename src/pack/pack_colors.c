/* SPDX-License-Identifier: Apache-2.0 */
/* The table of colors that a pack is made with. It is applied while packing, so a pack has ids and names, and
 * a loader gives the same stream with the setting or without; pack.json remembers its digest. One thread,
 * while packing starts. */
#include "pack/pack_colors.h"

#include "core/memory.h"

#include <string.h>

stk_status stk__pack_colors_read(stk__mask_palette **palette, const char *text, stk_error *error)
{
    if (!text || strcmp(text, "none") == 0) return STK_OK;
    if (strcmp(text, "auto") == 0) {
        stk__fail(error, STK_ERROR_CONFIG, "data.mask_colors = auto: a pack needs the colors themselves");
        stk__error_hint(error, "'stoker train' with auto lists the colors that it found, such as "
                               "000000:0,ff0000:1: give that list, or a file");
        return STK_ERROR_CONFIG;
    }
    *palette = stk__alloc(sizeof **palette);
    if (!*palette) return stk__fail_memory(error, sizeof **palette, "the colors of masks");
    const stk_status status = stk__mask_palette_read(*palette, text, error);
    if (status != STK_OK) stk__pack_colors_hint(error);
    return status;
}

void stk__pack_colors_hint(stk_error *error)
{
    if (error && strstr(error->hint, "or auto"))
        stk__error_hint(error,
                        "set data.mask_colors to a file of lines 'r g b name', voc, cityscapes, camvid, "
                        "or a list such as 000000:0,ff0000:1");
}

stk_status stk__pack_colors_check(const stk__mask_palette *palette, const stk__source_info *info,
                                  stk_error *error)
{
    if (!palette || info->masks) return STK_OK;
    stk__fail(error, STK_ERROR_CONFIG, "data.mask_colors is set, but the data set has no masks");
    stk__error_hint(error, "leave data.mask_colors out");
    return STK_ERROR_CONFIG;
}

stk__digest stk__pack_colors_digest(const stk__mask_palette *palette)
{
    if (!palette) return (stk__digest){0};
    const size_t count = (size_t)palette->colors.count;
    stk__digest digest = stk__digest_of(palette->colors.color, count * sizeof palette->colors.color[0]);
    digest = stk__digest_of((const stk__digest[]){digest, stk__digest_of(palette->colors.id, count)},
                            2 * sizeof digest);
    for (int32_t i = 0; i < palette->class_count; i++) { /* behind a name its array may hold anything */
        const stk__digest name = stk__digest_of(palette->names[i], strlen(palette->names[i]));
        digest = stk__digest_of((const stk__digest[]){digest, name}, 2 * sizeof digest);
    }
    return digest;
}

/* A list such as 000000:0,ff0000:5 leaves classes without a name. */
static bool names_all(const stk__mask_palette *palette)
{
    for (int32_t i = 0; i < palette->class_count; i++)
        if (!palette->names[i][0]) return false;
    return true;
}

stk__source_info stk__pack_colors_names(const stk__mask_palette *palette, const stk__source_info *info)
{
    stk__source_info named = *info;
    if (!palette || info->class_count || !names_all(palette)) return named;
    named.class_names = palette->name_list;
    named.class_count = palette->class_count;
    return named;
}
