/* SPDX-License-Identifier: Apache-2.0 */
/* From the settings of sections `data` and `augment` to an open loader: what load, stats, augment and a
 * session share. A setting that is not obeyed, or was left open, becomes a row of the effects with its
 * reason. One thread, before the work. */
#include "session/loader_settings.h"

#include "augment/operation.h"
#include "loader/loader_open.h"
#include "train/train_settings.h"

#include <stdio.h>
#include <string.h>

/* The one key of section `train` that a loader alone can obey. */
typedef struct train_settings {
    int use_gpu_augmentation; /* stk_switch */
} train_settings;

static const stk__option train_options[] = {
    {.name = "use_gpu_augmentation",
     .type = STK_OPTION_SWITCH,
     .help = "GPU augmentation where augment.device=auto finds best; false = CPU; alone: preset standard"}};

static const stk__option_table train_table = {.section = "train",
                                              .section_aliases = "training",
                                              .options = train_options,
                                              .count = 1,
                                              .struct_bytes = sizeof(train_settings)};

const stk__option_table *const *stk__session_loader_tables(void)
{
    static const stk__option_table *tables[STK_SESSION_LOADER_TABLES];
    tables[0] = &stk__loader_options;
    tables[1] = stk__augment_options();
    tables[2] = &train_table;
    return tables;
}

stk_status stk__session_loader_foreign(stk__config *config, stk_error *error)
{
    static const struct {
        const char *section, *why;
    } foreign[] = {
        {"model", "there is no network here"},
        {"loss", "there is no network here"},
        {"train training", "nothing is trained here"},
        {"optimizer", "nothing is trained here"},
        {"run", "this is not a run"},
    };
    const stk__option_table *const tables[] = {&stk__model_options_table, &stk__loss_options_table,
                                               &stk__train_options_table, &stk__optimizer_options_table,
                                               &stk__run_options_table};
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++) {
        STK__TRY(stk__config_foreign(config, foreign[i].section, foreign[i].why, error));
        STK__TRY(stk__config_foreign_options(config, tables[i], error));
    }
    return STK_OK;
}

static stk_status tell_loader_effects(stk__config *config, const stk_loader *loader, stk_error *error)
{
    int count;
    const stk_loader_effect *effects = stk_loader_effects(loader, &count);
    for (int i = 0; i < count; i++) {
        /* A verb's own wish that means nothing for this data is nobody's news. */
        if (!effects[i].in_effect[0] && !stk__config_requested(config, effects[i].name, NULL)) continue;
        STK__TRY(stk__config_effect(config, effects[i].name, effects[i].in_effect, effects[i].why, error));
    }
    return STK_OK;
}

/* What was asked for, and what the preset adds to it; nothing of all that is off. */
static stk_status tell_augmentation(stk__config *config, const stk__augment_settings *asked, stk_error *error)
{
    static const char *const presets[] = {"none", "minimal", "standard", "strong"};
    const stk__option_table *table = stk__augment_options();
    stk__augment_settings all = *asked;
    const int preset = stk__augment_general_of(&all)->preset;
    char name[96], value[512], why[32];
    snprintf(why, sizeof why, "preset %s", presets[preset]);
    STK__TRY(stk__preset_apply(preset, &all, error));
    for (size_t i = 0; i < table->count; i++) {
        const stk__option *option = &table->options[i];
        if (stk__option_is_zero(option, &all)) continue;
        const bool added = stk__option_is_zero(option, asked);
        snprintf(name, sizeof name, "%s.%s", table->section, option->name);
        stk__option_print(option, &all, value, sizeof value);
        STK__TRY(stk__config_effect(config, name, value, added ? why : NULL, error));
    }
    return STK_OK;
}

stk_status stk__session_tell_loading(stk__config *config, const stk_loader *loader,
                                     const stk_loader_options *options, const stk__augment_settings *augment,
                                     stk_error *error)
{
    STK__TRY(tell_augmentation(config, augment, error));
    STK__TRY(tell_loader_effects(config, loader, error));
    stk_loader_options filled = *options;
    STK__TRY(stk__options_fill(&stk__loader_options, &filled, error));
    for (int c = 0; c < 3; c++)
        if (filled.std[c] == 0) filled.std[c] = 1;
    return stk__config_effects_from(config, "data", &filled, error);
}

/* Tells of settings that the verb does not obey. */
static stk_status drop_settings(stk__config *config, const stk__option_table *table, const char *names,
                                const char *why, stk_error *error)
{
    char name[96];
    for (size_t i = 0; i < table->count; i++) {
        const char *list = names, *option = table->options[i].name;
        size_t length;
        bool listed = !names;
        for (const char *word; !listed && (word = stk__name_next(&list, &length));)
            listed = strlen(option) == length && strncmp(word, option, length) == 0;
        snprintf(name, sizeof name, "%s.%s", table->section, option);
        if (listed && stk__config_requested(config, name, NULL))
            STK__TRY(stk__config_effect(config, name, "", why, error));
    }
    return STK_OK;
}

static stk_status drop_storage(stk__config *config, stk_loader_options *o, stk_error *error)
{
    o->dtype = STK_STORE_AUTO;
    o->axes = STK_AXES_NHWC;
    o->mask_dtype = STK_MASK_U8;
    o->cache = NULL;
    memset(o->mean, 0, sizeof o->mean);
    memset(o->std, 0, sizeof o->std);
    return drop_settings(config, &stk__loader_options, "dtype axes mask_dtype mean std cache",
                         "not used here: images are looked at, not fed to a network", error);
}

static stk_status drop_batches(stk__config *config, stk_loader_options *o, stk_error *error)
{
    o->order = "sequential";
    o->shuffle = STK_SWITCH_DEFAULT;
    o->batch_size = 1;
    return drop_settings(config, &stk__loader_options, "order shuffle batch_size drop_last",
                         "not used here: samples are loaded one by one", error);
}

static stk_status drop_augmentation(stk__config *config, stk_error *error)
{
    const char *why = "not used here: images are looked at as stored";
    STK__TRY(drop_settings(config, stk__augment_options(), NULL, why, error));
    return drop_settings(config, &train_table, NULL, why, error);
}

static bool is_untouched(const stk__augment_settings *settings)
{
    static const stk__augment_settings nothing;
    return memcmp(settings, &nothing, sizeof nothing) == 0;
}

stk_status stk__session_obey_switch(stk__config *config, int use_gpu_augmentation,
                                    stk__augment_settings *augment, stk_error *error)
{
    const bool on = use_gpu_augmentation == STK_SWITCH_ON;
    if (use_gpu_augmentation == STK_SWITCH_DEFAULT) return STK_OK;
    if (is_untouched(augment)) STK__TRY(stk__augment_set(augment, "preset", "standard", error));
    if (on && strcmp(stk__augment_device(augment), "cpu") == 0) {
        stk__fail(error, STK_ERROR_CONFIG, "train.use_gpu_augmentation and augment.device=cpu contradict");
        stk__error_hint(error, "leave one of them out");
        return STK_ERROR_CONFIG;
    }
    if (!on) STK__TRY(stk__augment_set(augment, "device", "cpu", error));
    return stk__config_effect(config, "train.use_gpu_augmentation", on ? "true" : "false",
                              on ? "means augment.device=auto" : "means augment.device=cpu", error);
}

stk_status stk__session_loader_open(stk__config *config, stk__session_loading *loading, stk_loader **loader,
                                    stk_error *error)
{
    stk__augment_settings augment = {0};
    STK__TRY(stk__config_apply(config, "data", &loading->options, error));
    if (loading->images != STK_SESSION_AS_ASKED) STK__TRY(drop_storage(config, &loading->options, error));
    if (loading->single) STK__TRY(drop_batches(config, &loading->options, error));
    if (loading->images == STK_SESSION_AS_SHARES) loading->options.dtype = STK_STORE_F32;
    if (loading->images == STK_SESSION_AS_DECODED) {
        STK__TRY(drop_augmentation(config, error));
    } else {
        STK__TRY(stk__config_apply(config, "augment", &augment, error));
        train_settings train = {0};
        STK__TRY(stk__config_apply(config, "train", &train, error));
        STK__TRY(stk__session_obey_switch(config, train.use_gpu_augmentation, &augment, error));
    }
    const stk__loader_setup setup = {
        .options = &loading->options, .augment = &augment, .observer = loading->observer};
    STK__TRY(stk__loader_open(loader, &setup, error));
    return stk__session_tell_loading(config, *loader, &loading->options, &augment, error);
}
