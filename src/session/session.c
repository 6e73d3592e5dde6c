/* SPDX-License-Identifier: Apache-2.0 */
/* Opening order: settings, engine (it decides where batches end), loaders that only decide, the plan of all
 * memory and whether it is there, then loaders that load, trainer, and the checks that data and network fit.
 * Each room tells what is in effect; the config collects it. One thread opens and closes a session. */
#include "session/session.h"

#include "session/loader_feed.h"
#include "session/session_check.h"
#include "session/session_loaders.h"
#include "session/session_masks.h"
#include "session/trained_run.h"

#include "augment/operation.h"
#include "loader/loader_open.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static stk__option_table val_table;
static const stk__option_table *session_tables[STK_SESSION_TABLES];

static void list_tables(void)
{
    val_table = stk__loader_options;
    val_table.section = "data.val";
    val_table.also = NULL;
    const stk__option_table *const all[STK_SESSION_TABLES] = {
        &stk__loader_options,          &val_table,
        stk__augment_options(),        &stk__model_options_table,
        &stk__loss_options_table,      &stk__train_options_table,
        &stk__optimizer_options_table, &stk__run_options_table};
    memcpy(session_tables, all, sizeof all);
}

const stk__option_table *const *stk__session_tables(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, list_tables);
    return session_tables;
}

stk_status stk__session_apply_preset(stk__config *config, stk_error *error)
{
    static const char *const places[] = {NULL, "preset best", "preset memory_limited", "preset debug"};
    stk__run_settings run = {0};
    STK__TRY(stk__config_apply(config, "run", &run, error));
    for (const stk__preset_value *v = stk__run_preset_values((stk__run_preset)run.preset); v->key; v++)
        STK__TRY(stk__config_set(config, v->key, v->value, STK_ORIGIN_PRESET, places[run.preset], error));
    return STK_OK;
}

stk_status stk__session_read(stk__session *s, stk_error *error)
{
    const struct {
        const stk__option_table *table;
        void *settings;
    } sections[] = {{&stk__model_options_table, &s->model},
                    {&stk__loss_options_table, &s->loss},
                    {&stk__train_options_table, &s->train},
                    {&stk__optimizer_options_table, &s->optimizer},
                    {&stk__run_options_table, &s->run}};
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++) {
        STK__TRY(stk__config_apply(s->config, sections[i].table->section, sections[i].settings, error));
        STK__TRY(stk__options_fill(sections[i].table, sections[i].settings, error));
    }
    return STK_OK;
}

/* --- engine and trainer ----------------------------------------------------------------------------------
 */

/* Options of the network that are settings too: what they came to be. */
static stk_status tell_network(stk__session *s, stk_error *error)
{
    const stk__network *network = stk__trainer_describe(s->trainer)->network;
    char name[96], value[32];
    for (int i = 0; i < network->option_count; i++) {
        snprintf(name, sizeof name, "model.%s", network->options[i].name);
        snprintf(value, sizeof value, "%lld", (long long)network->options[i].value);
        if (stk__task_has_values(network->task) && strcmp(name, "model.num_classes") == 0) continue;
        if (stk__config_is_setting(s->config, name))
            STK__TRY(stk__config_effect(s->config, name, value, NULL, error));
    }
    return STK_OK;
}

/* What nobody asked for needs no reason, but its value is known. */
static stk_status tell_effect(stk__config *config, const stk__trainer_effect *effect, stk_error *error)
{
    const bool told = !effect->quiet || stk__config_requested(config, effect->name, NULL);
    if (!told && !effect->in_effect[0]) return STK_OK;
    return stk__config_effect(config, effect->name, effect->in_effect, told ? effect->why : NULL, error);
}

static stk_status tell_trainer(stk__session *s, stk_error *error)
{
    int count;
    const stk__trainer_effect *effects = stk__trainer_effects(s->trainer, &count);
    for (int i = 0; i < count; i++)
        STK__TRY(tell_effect(s->config, &effects[i], error));
    STK__TRY(tell_network(s, error));
    STK__TRY(stk__session_tell_masks(s, error));
    STK__TRY(stk__config_effects_from(s->config, "model", &s->model, error));
    STK__TRY(stk__config_effects_from(s->config, "loss", &s->loss, error));
    STK__TRY(stk__config_effects_from(s->config, "train", &s->train, error));
    STK__TRY(stk__config_effects_from(s->config, "optimizer", &s->optimizer, error));
    return stk__config_effects_from(s->config, "run", &s->run, error);
}

/* Before the loaders, which must know where batches are to end. Who evaluates looks at batches: they stay on
 * the host, and the trainer copies them. */
static stk_status open_engine(stk__session *s, stk_error *error)
{
    stk__engine_options options;
    STK__TRY(stk__trainer_engine_options(&s->run, &s->train, &options, error));
    options.dry = s->plan_only;
    STK__TRY(stk__engine_open(&s->engine, &options, error));
    const stk__engine_info *info = stk__engine_describe(s->engine);
    if (info->device == STK_DEVICE_CUDA) snprintf(s->device, sizeof s->device, "cuda:%d", info->device_index);
    return STK_OK;
}

static const char *find_place(const void *context, const char *setting)
{
    const stk__config *config = context;
    for (size_t i = 0; i < stk__config_effect_count(config); i++) {
        const stk__effect effect = stk__config_effect_at(config, i);
        if (strcmp(effect.name, setting) == 0) return effect.place;
    }
    return NULL;
}

/* The network of a run is the one that it was trained with, whatever it is evaluated on; sizes are those of
 * the batches. */
static stk__feed_facts choose_facts(const stk__session *s, const stk_loader_info *info)
{
    const stk__feed_facts found = stk__feed_facts_of(info);
    if (!s->trained) return found;
    stk__feed_facts facts = *s->trained;
    if (facts.image_w && found.image_w) {
        facts.image_h = found.image_h;
        facts.image_w = found.image_w;
        facts.image_c = found.image_c;
    }
    if (facts.window && found.window) facts.window = found.window;
    return facts;
}

stk__trainer_setup stk__session_trainer_setup(const stk__session *s)
{
    stk_loader *any = s->loader ? s->loader : s->val_loader;
    const stk_loader_options *data = s->loader ? &s->data : &s->val_data;
    return (stk__trainer_setup){.model = &s->model,
                                .loss = &s->loss,
                                .train = &s->train,
                                .optimizer = &s->optimizer,
                                .run = &s->run,
                                .feed = stk__feed_of_loader(s->loader),
                                .val = stk__feed_of_loader(s->val_loader),
                                .facts = choose_facts(s, stk_loader_describe(any)),
                                .seed = (uint64_t)data->seed,
                                .place_of = find_place,
                                .place_context = s->config,
                                .evaluates_only = s->evaluates_only,
                                .has_checkpoint = s->has_checkpoint || s->evaluates_only};
}

static stk_status refuse_unless_forced(const stk__session *s, stk_error *error)
{
    return s->run.force == STK_SWITCH_ON ? STK_OK : stk__memory_refuse(&s->verdict, error);
}

/* The trainer knows all sizes, and has allocated nothing. */
static stk_status admit(void *context, const stk__trainer *trainer, stk_error *error)
{
    stk__session *s = context;
    stk__memory_plan_fill(s, stk_loader_describe(s->loader)->batch_size, trainer, &s->plan);
    const stk__engine_memory device = stk__trainer_memory((stk__trainer *)(uintptr_t)trainer);
    STK__TRY(stk__memory_judge(s, NULL, device.free_bytes, &s->verdict, error));
    return refuse_unless_forced(s, error);
}

static stk_status open_trainer(stk__session *s, stk_error *error)
{
    stk__trainer_setup setup = stk__session_trainer_setup(s);
    setup.engine = s->engine;
    if (!setup.has_checkpoint) STK__TRY(stk__run_weights_find(&s->model.weights, &s->weights, error));
    if (s->loader) setup.admit = admit;
    setup.admit_context = s;
    s->engine = NULL;
    STK__TRY(stk__trainer_open(&s->trainer, &setup, error));
    return tell_trainer(s, error);
}

/* Before the engine allocates anything: for `--plan`, which keeps the trainer for its layers, for engines
 * that measure their methods on tensors of their own when operations are made, and for GPUs, in whose memory
 * the loaders' batches lie. */
static stk_status plan_dry(stk__session *s, stk_error *error)
{
    stk__trainer *trainer = NULL;
    const stk__memory_question question = {.batch_size = stk_loader_describe(s->loader)->batch_size};
    STK__TRY(stk__session_open_dry(s, &question, &trainer, error));
    stk__memory_plan_fill(s, question.batch_size, trainer, &s->plan);
    if (s->plan_only)
        s->trainer = trainer;
    else
        stk__trainer_close(&trainer);
    const int64_t free_bytes = s->plan_only ? -1 : stk__engine_measure(s->engine).free_bytes;
    STK__TRY(stk__memory_judge(s, NULL, free_bytes, &s->verdict, error));
    return s->plan_only ? tell_trainer(s, error) : refuse_unless_forced(s, error);
}

/* --- open and close --------------------------------------------------------------------------------------
 */

stk_status stk__session_open(stk__session *s, stk_error *error)
{
    STK__TRY(stk__session_read(s, error));
    STK__TRY(open_engine(s, error));
    if (!s->evaluates_only) STK__TRY(stk__session_open_training(s, error));
    STK__TRY(stk__session_open_validation(s, error));
    STK__TRY(stk__session_check_data(s, error));
    if (s->has_checkpoint) STK__TRY(stk__loader_refuse_new_pairs(s->loader, "the run", error));
    const bool tunes = s->train.compile_mode == STK_COMPILE_MAX_AUTOTUNE;
    if (s->loader && (s->plan_only || tunes || s->device[0])) STK__TRY(plan_dry(s, error));
    if (s->plan_only) return stk__session_check_parts(s, error);
    /* For a GPU always: whether its batches are pinned, which the trainer asks, is known when they are there.
     */
    const bool early = !s->loader || s->device[0] || stk__memory_loaders_are_small(s);
    if (early) STK__TRY(stk__session_start_loaders(s, error));
    STK__TRY(open_trainer(s, error));
    if (!early) STK__TRY(stk__session_start_loaders(s, error));
    return s->loader ? stk__session_check_parts(s, error) : STK_OK;
}

int stk__session_close(stk__session *s)
{
    stk__trainer_close(&s->trainer);
    stk__engine_close(&s->engine);
    stk__free(s->masks);
    s->masks = NULL;
    return stk_loader_close(&s->val_loader) + stk_loader_close(&s->loader);
}
