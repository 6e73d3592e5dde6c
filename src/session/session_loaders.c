/* SPDX-License-Identifier: Apache-2.0 */
/* The loaders of a session. Section `data` describes the training part, `data.val` on top of it the
 * validation part, which is neither shuffled nor augmented. Whatever a loader gets otherwise than it was
 * asked for becomes a row of the effects. One thread opens a session; the loaders have threads of their own.
 */
#include "session/session_loaders.h"

#include "session/eval_part.h"
#include "session/loader_settings.h"
#include "session/session_masks.h"

#include "augment/operation.h"
#include "loader/loader_open.h"

#include <stdio.h>
#include <string.h>

/* The engine takes f32 [n h w c] and masks of u8, whatever was asked for. */
static stk_status want_floats(stk__session *s, stk_loader_options *o, stk_error *error)
{
    static const struct {
        const char *name, *value;
    } fixed[] = {{"data.dtype", "f32"}, {"data.axes", "nhwc"}, {"data.mask_dtype", "u8"}};
    for (size_t i = 0; i < sizeof fixed / sizeof fixed[0]; i++)
        if (stk__config_requested(s->config, fixed[i].name, NULL))
            STK__TRY(
                stk__config_effect(s->config, fixed[i].name, fixed[i].value, "what the engine takes", error));
    o->axes = STK_AXES_NHWC;
    o->mask_dtype = STK_MASK_U8;
    o->low_priority = !s->device[0]; /* a GPU's engine leaves the CPUs to the workers */
    o->dtype = STK_STORE_F32;
    return STK_OK;
}

/* Several ranks would each train a network of their own. */
static stk_status refuse_ranks(const stk_loader_options *data, stk_error *error)
{
    if (data->ranks <= 1) return STK_OK;
    stk__fail(error, STK_ERROR_UNSUPPORTED,
              "data.ranks = %lld: training on several ranks is not possible yet", (long long)data->ranks);
    stk__error_hint(error, "leave data.rank and data.ranks out");
    return STK_ERROR_UNSUPPORTED;
}

stk_status stk__session_open_training(stk__session *s, stk_error *error)
{
    stk__augment_settings augment = {0};
    STK__TRY(stk__config_apply(s->config, "data", &s->data, error));
    STK__TRY(refuse_ranks(&s->data, error));
    if (stk__config_requested(s->config, "data.part", NULL))
        STK__TRY(stk__config_effect(s->config, "data.part", "train",
                                    "training uses the training part, evaluation the validation part",
                                    error));
    STK__TRY(stk__config_apply(s->config, "augment", &augment, error));
    STK__TRY(stk__session_obey_switch(s->config, s->train.use_gpu_augmentation, &augment, error));
    STK__TRY(want_floats(s, &s->data, error));
    s->data.part = STK_PART_TRAIN;
    s->data.device = s->device[0] ? s->device : NULL;
    stk__mask_look look;
    STK__TRY(stk__session_plan_look(s, &look, error));
    const stk__loader_setup setup = {
        .options = &s->data, .augment = &augment, .look = s->masks ? &look : NULL, .held = true};
    STK__TRY(stk__loader_open(&s->loader, &setup, error));
    return stk__session_tell_loading(s->config, s->loader, &s->data, &augment, error);
}

/* What of section data.val was asked for is what its loader was given … */
static stk_status tell_given(stk__session *s, stk_error *error)
{
    stk_loader_options filled = s->val_data;
    char name[96], value[512];
    STK__TRY(stk__options_fill(&stk__loader_options, &filled, error));
    for (size_t i = 0; i < stk__loader_options.count; i++) {
        const stk__option *option = &stk__loader_options.options[i];
        snprintf(name, sizeof name, "data.val.%s", option->name);
        if (!stk__config_requested(s->config, name, NULL)) continue;
        stk__option_print(option, &filled, value, sizeof value);
        STK__TRY(stk__config_effect(s->config, name, value, NULL, error));
    }
    return STK_OK;
}

/* … unless that loader knows better. */
static stk_status tell_validation(stk__session *s, stk_error *error)
{
    int count;
    char name[96];
    STK__TRY(tell_given(s, error));
    if (s->val_data.val_root) /* of no use to the loader of the training part, which has said so */
        STK__TRY(stk__config_effect(s->config, "data.val_root", s->val_data.val_root, NULL, error));
    const stk_loader_effect *effects = stk_loader_effects(s->val_loader, &count);
    for (int i = 0; i < count; i++) {
        if (strncmp(effects[i].name, "data.", 5) != 0) continue;
        snprintf(name, sizeof name, "data.val.%s", effects[i].name + 5);
        const bool costs = strcmp(effects[i].name, "data.cache") == 0 && effects[i].in_effect[0];
        if (costs || stk__config_requested(s->config, name, NULL))
            STK__TRY(stk__config_effect(s->config, name, effects[i].in_effect, effects[i].why, error));
    }
    return STK_OK;
}

stk_status stk__session_open_validation(stk__session *s, stk_error *error)
{
    const stk__augment_settings nothing = {0};
    STK__TRY(stk__config_apply(s->config, "data.val", &s->val_data, error));
    STK__TRY(stk__session_choose_part(s, error));
    if (!stk__session_has_part(s)) {
        if (!s->evaluates_only) return STK_OK;
        stk__fail(error, STK_ERROR_CONFIG, "there is no validation part to evaluate on");
        stk__error_hint(error, "set data.val_split or data.val_root, or evaluate everything: data.part=all");
        return STK_ERROR_CONFIG;
    }
    STK__TRY(want_floats(s, &s->val_data, error));
    if (!stk__config_requested(s->config, "data.val.shuffle", NULL)) s->val_data.shuffle = STK_SWITCH_OFF;
    if (!stk__config_requested(s->config, "data.val.drop_last", NULL)) s->val_data.drop_last = STK_SWITCH_OFF;
    if (!stk__config_requested(s->config, "data.val.order", NULL)) s->val_data.order = NULL;
    if (!stk__session_is_limited(s)) s->val_data.limit = 0;
    if (s->evaluates_only) s->val_data.cache = NULL; /* every sample comes once */
    stk__session_share_masks(s);
    const stk__mask_look look = {.verify = true};
    const stk__loader_setup setup = {.options = &s->val_data,
                                     .augment = &nothing,
                                     .look = stk__loader_masks(s->loader) ? &look : NULL,
                                     .held = true};
    STK__TRY(stk__loader_open(&s->val_loader, &setup, error));
    return tell_validation(s, error);
}

stk_status stk__session_start_loaders(stk__session *s, stk_error *error)
{
    s->started = true;
    STK__TRY(stk__loader_start(s->loader, &s->data, error));
    return stk__loader_start(s->val_loader, &s->val_data, error);
}
