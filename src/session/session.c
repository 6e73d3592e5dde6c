/* SPDX-License-Identifier: Apache-2.0 */
/* Opening order: settings, engine (it decides where batches end), loaders, trainer, then the checks that data
 * and network fit, and what memory all of it takes. Each room tells what is in effect; the config collects
 * it. One thread opens and closes a session. */
#include "session/session.h"

#include "session/loader_feed.h"
#include "session/session_check.h"
#include "session/session_loaders.h"
#include "session/trained_run.h"

#include "augment/operation.h"
#include "core/process.h"
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
    STK__TRY(stk__trainer_open_engine(&s->engine, &s->run, &s->train, error));
    const stk__engine_info *info = stk__engine_describe(s->engine);
    if (info->device == STK_DEVICE_CUDA) snprintf(s->device, sizeof s->device, "cuda:%d", info->device_index);
    return STK_OK;
}

static stk_status open_trainer(stk__session *s, stk_error *error)
{
    stk_loader *any = s->loader ? s->loader : s->val_loader;
    const stk_loader_options *data = s->loader ? &s->data : &s->val_data;
    const stk__trainer_setup setup = {.model = &s->model,
                                      .loss = &s->loss,
                                      .train = &s->train,
                                      .optimizer = &s->optimizer,
                                      .run = &s->run,
                                      .feed = stk__feed_of_loader(s->loader),
                                      .val = stk__feed_of_loader(s->val_loader),
                                      .facts = stk__feed_facts_of(stk_loader_describe(any)),
                                      .seed = (uint64_t)data->seed,
                                      .engine = s->engine,
                                      .evaluates_only = s->evaluates_only,
                                      .has_checkpoint = s->has_checkpoint || s->evaluates_only};
    STK__TRY(stk__session_check_data(s, error));
    if (!setup.has_checkpoint) STK__TRY(stk__run_weights_find(&s->model.weights, &s->weights, error));
    s->engine = NULL;
    STK__TRY(stk__trainer_open(&s->trainer, &setup, error));
    return tell_trainer(s, error);
}

/* --- memory ----------------------------------------------------------------------------------------------
 */

/* Usual with PyTorch: 0.4 to 0.6 GB, by GPU and version. Not measured with Stoker. */
#define CUDA_BYTES UINT64_C(600000000)

/* Slots of the training part have their second half there. */
static uint64_t device_batches(const stk__session *s)
{
    const stk_loader_info *about = s->loader ? stk_loader_describe(s->loader) : NULL;
    return about ? about->slot_bytes * (uint64_t)about->slot_count : 0;
}

/* Of what was planned, these bytes are taken already: of the model its first values at least. */
static uint64_t taken_bytes(const stk__session *s)
{
    const stk__trainer_info *info = stk__trainer_describe(s->trainer);
    const stk__model_bytes model = stk__model_measure(info->model);
    if (s->device[0]) return 0;
    return info->backed ? info->model_bytes + info->pass_bytes
                        : model.params + model.buffers + model.averages;
}

/* What is not taken yet, memory of batches that workers have not read into for instance, will be. */
static void plan_memory(stk__session *s)
{
    const stk__trainer_info *info = stk__trainer_describe(s->trainer);
    uint64_t touched = taken_bytes(s);
    const uint64_t now = stk__process_resident_bytes();
    stk_loader *const loaders[] = {s->loader, s->val_loader};
    for (int i = 0; i < 2; i++) {
        const stk_loader_info *about = loaders[i] ? stk_loader_describe(loaders[i]) : NULL;
        if (!about) continue;
        s->batch_bytes += about->slot_bytes * (uint64_t)about->slot_count;
        s->cache_bytes += about->cache_bytes;
        touched += stk__loader_filled_bytes(loaders[i]);
    }
    s->program_bytes = (now > touched ? now - touched : 0) + info->engine->first_step_bytes;
    s->planned_bytes = s->program_bytes + s->batch_bytes + s->cache_bytes;
    if (!s->device[0])
        s->planned_bytes += info->model_bytes + info->pass_bytes;
    else
        s->cuda_bytes = CUDA_BYTES;
    if (s->device[0])
        s->device_bytes = info->model_bytes + info->pass_bytes + device_batches(s) + s->cuda_bytes;
}

stk_status stk__session_open(stk__session *s, stk_error *error)
{
    STK__TRY(stk__session_read(s, error));
    STK__TRY(open_engine(s, error));
    if (!s->evaluates_only) STK__TRY(stk__session_open_training(s, error));
    STK__TRY(stk__session_open_validation(s, error));
    STK__TRY(open_trainer(s, error));
    if (s->loader) STK__TRY(stk__session_check_parts(s, error));
    plan_memory(s);
    return STK_OK;
}

int stk__session_close(stk__session *s)
{
    stk__trainer_close(&s->trainer);
    stk__engine_close(&s->engine);
    return stk_loader_close(&s->val_loader) + stk_loader_close(&s->loader);
}
