/* SPDX-License-Identifier: Apache-2.0 */
/* data.mask_colors of a pack: RGB masks are stored as the class ids that a loader would make of them. */
#ifndef STK_PACK_PACK_COLORS_H
#define STK_PACK_PACK_COLORS_H

#include "core/hash.h"
#include "decode/mask_palette.h"
#include "source/source.h"

/* *palette is a new one, or NULL for no table; free it with stk__free. */
stk_status stk__pack_colors_read(stk__mask_palette **palette, const char *text, stk_error *error);

/* Where a hint of the decoder names auto: what a pack takes instead. */
void stk__pack_colors_hint(stk_error *error);

/* STK_ERROR_CONFIG when there is a table but the source has no masks. */
stk_status stk__pack_colors_check(const stk__mask_palette *palette, const stk__source_info *info,
                                  stk_error *error);

/* Zero without a table. Two are the same if they give the same ids and names. */
stk__digest stk__pack_colors_digest(const stk__mask_palette *palette);

/* The source's info with the names that its classes have in the pack: its own, else those of the table if
 * each class has one. */
stk__source_info stk__pack_colors_names(const stk__mask_palette *palette, const stk__source_info *info);

#endif
