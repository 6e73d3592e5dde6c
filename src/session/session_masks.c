/* SPDX-License-Identifier: Apache-2.0 */
/* The training loader looks at the masks and decides (loader/mask_decision.h). The decisions are values of
 * settings: the validation loader gets them as such, and config.yaml keeps them for runs that are resumed or
 * evaluated. One thread, while a session opens. */
#include "session/session_masks.h"

#include "core/number.h"
#include "loader/mask_decision.h"

#include <stdio.h>
#include <string.h>

stk_status stk__session_plan_look(stk__session *s, stk__mask_look *look, stk_error *error)
{
    const char *ignored = s->loss.ignore_index;
    *look = (stk__mask_look){.class_count = s->model.num_classes, .ignore_index = -1};
    if (s->has_checkpoint) return STK_OK;
    s->masks = stk__alloc(sizeof *s->masks);
    if (!s->masks) return stk__fail_memory(error, sizeof *s->masks, "a look at the masks");
    look->keep = s->masks;
    if (ignored && !stk__number_whole(ignored, strlen(ignored), &look->ignore_index)) look->ignore_index = -1;
    return STK_OK;
}

static bool is_open(const char *text)
{
    return !text || strcmp(text, "auto") == 0;
}

void stk__session_share_masks(stk__session *s)
{
    const stk__mask_decision *d = stk__loader_masks(s->loader);
    stk_loader_options *val = &s->val_data;
    if (!d) return;
    if (!val->num_classes) val->num_classes = d->class_count;
    if (is_open(val->mask_map)) val->mask_map = d->map[0] ? d->map : NULL; /* NULL: ids as stored */
    if (val->mask_colors && is_open(val->mask_colors)) val->mask_colors = d->colors[0] ? d->colors : NULL;
    if (val->mask_frame == STK_MASK_FRAME_AUTO) val->mask_frame = d->frame;
}

/* The loader's own rows have room for 64 bytes. */
static stk_status tell_text(const stk__session *s, const char *name, const char *value, const char *why,
                            stk_error *error)
{
    return why[0] ? stk__config_effect(s->config, name, value, why, error) : STK_OK;
}

stk_status stk__session_tell_masks(const stk__session *s, stk_error *error)
{
    const stk__mask_decision *d = stk__loader_masks(s->loader);
    char count[16];
    if (!d) return STK_OK;
    STK__TRY(tell_text(s, "data.mask_map", d->map, d->map_why, error));
    STK__TRY(tell_text(s, "data.mask_colors", d->colors, d->colors_why, error));
    if (!d->count_why[0] || s->model.num_classes) return STK_OK;
    snprintf(count, sizeof count, "%d", d->class_count);
    return stk__config_effect(s->config, "model.num_classes", count, d->count_why, error);
}
