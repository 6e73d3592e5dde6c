#include "train_session.h"

#include "train_check.h"

#include "loader/loader_open.h"

#include "augment/operation.h"

#include <string.h>

const stk__option_table *const *stk__cli_train_tables(void)
{
    static stk__option_table val;
    static const stk__option_table *tables[STK_CLI_TRAIN_TABLES];
    val = stk__loader_options;
    val.section = "data.val";
    val.also = NULL;
    tables[0] = &stk__loader_options;
    tables[1] = &val;
    tables[2] = stk__augment_options();
    tables[3] = &stk__model_options_table;
    tables[4] = &stk__loss_options_table;
    tables[5] = &stk__train_options_table;
    tables[6] = &stk__optimizer_options_table;
    tables[7] = &stk__run_options_table;
    return tables;
}

stk_status stk__cli_apply_preset(stk__config *config, stk_error *error)
{
    static const char *const places[] = {NULL, "preset best", "preset memory_limited", "preset debug"};
    stk__run_settings run = {0};
    STK__TRY(stk__config_apply(config, "run", &run, error));
    for (const stk__preset_value *v = stk__run_preset_values((stk__run_preset)run.preset); v->key; v++)
        STK__TRY(stk__config_set(config, v->key, v->value, STK_ORIGIN_PRESET, places[run.preset], error));
    return STK_OK;
}

stk_status stk__cli_session_read(stk__cli_session *s, stk_error *error)
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

/* --- loaders ---------------------------------------------------------------------------------------------
 */

/* The engine takes f32 [n h w c] and masks of u8, whatever was asked for. */
static stk_status want_floats(stk__cli_session *s, stk_loader_options *o, stk_error *error)
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
    o->yielding = !s->device[0]; /* a GPU's engine leaves the CPUs to the workers */
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

static stk_status open_training(stk__cli_session *s, stk_error *error)
{
    stk__augment_settings augment = {0};
    STK__TRY(stk__config_apply(s->config, "data", &s->data, error));
    STK__TRY(refuse_ranks(&s->data, error));
    if (stk__config_requested(s->config, "data.part", NULL))
        STK__TRY(stk__config_effect(s->config, "data.part", "train",
                                    "training uses the training part, evaluation the validation part",
                                    error));
    STK__TRY(stk__config_apply(s->config, "augment", &augment, error));
    STK__TRY(stk__cli_obey_switch(s->config, s->train.use_gpu_augmentation, &augment, error));
    STK__TRY(want_floats(s, &s->data, error));
    s->data.part = STK_PART_TRAIN;
    s->data.device = s->device[0] ? s->device : NULL;
    const stk__loader_setup setup = {.options = &s->data, .augment = &augment};
    STK__TRY(stk__loader_open(&s->loader, &setup, error));
    return stk__cli_tell_loading(s->config, s->loader, &s->data, &augment, error);
}

/* What of section data.val was asked for is what its loader was given … */
static stk_status tell_given(stk__cli_session *s, stk_error *error)
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
static stk_status tell_validation(stk__cli_session *s, stk_error *error)
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

static bool has_validation(const stk_loader_options *o)
{
    return o->val_split > 0 || o->val_root || (o->root && stk__source_has_parts(o->root));
}

static stk_status open_validation(stk__cli_session *s, stk_error *error)
{
    const stk__augment_settings nothing = {0};
    STK__TRY(stk__config_apply(s->config, "data.val", &s->val_data, error));
    if (!has_validation(&s->val_data)) {
        if (!s->evaluates_only) return STK_OK;
        stk__fail(error, STK_ERROR_CONFIG, "there is no validation part to evaluate on");
        stk__error_hint(error, "set data.val_split or data.val_root");
        return STK_ERROR_CONFIG;
    }
    STK__TRY(want_floats(s, &s->val_data, error));
    if (!stk__config_requested(s->config, "data.val.shuffle", NULL)) s->val_data.shuffle = STK_SWITCH_OFF;
    if (!stk__config_requested(s->config, "data.val.drop_last", NULL)) s->val_data.drop_last = STK_SWITCH_OFF;
    if (!stk__config_requested(s->config, "data.val.order", NULL)) s->val_data.order = NULL;
    if (!stk__config_requested(s->config, "data.val.limit", NULL)) s->val_data.limit = 0;
    if (s->evaluates_only) s->val_data.cache = NULL; /* every sample comes once */
    s->val_data.part = STK_PART_VAL;
    const stk__loader_setup setup = {.options = &s->val_data, .augment = &nothing};
    STK__TRY(stk__loader_open(&s->val_loader, &setup, error));
    return tell_validation(s, error);
}

/* --- feeds -----------------------------------------------------------------------------------------------
 */

static stk_status feed_next(void *loader, stk_batch **batch, stk_error *error)
{
    return stk_loader_next(loader, batch, error);
}

static void feed_release(void *loader, stk_batch *batch)
{
    (void)loader; /* the batch knows it */
    stk_batch_release(batch);
}

static void feed_release_after(void *loader, stk_batch *batch, void *stream)
{
    (void)loader;
    stk_batch_release_after(batch, stream);
}

static void feed_measure(void *loader, stk_loader_stats *stats)
{
    stk_loader_measure(loader, stats);
}

static void feed_tell(void *loader, stk_loader_state *state)
{
    stk_loader_tell(loader, state);
}

static stk_status feed_seek(void *loader, const stk_loader_state *state, stk_error *error)
{
    return stk_loader_seek(loader, state, error);
}

static stk__feed feed_of(stk_loader *loader, bool drop_last)
{
    if (!loader) return (stk__feed){.next = NULL};
    const stk_loader_info *info = stk_loader_describe(loader);
    const int64_t tail = (int64_t)(info->sample_count % (uint64_t)info->batch_size);
    return (stk__feed){.context = loader,
                       .next = feed_next,
                       .release = feed_release,
                       .release_after = feed_release_after,
                       .measure = feed_measure,
                       .tell = feed_tell,
                       .seek = feed_seek,
                       .resident = info->resident,
                       .pinned = info->pinned,
                       .batches_per_epoch = info->batches_per_epoch,
                       .batch_size = info->batch_size,
                       .last_batch_size = tail && !drop_last ? tail : info->batch_size};
}

/* --- trainer ---------------------------------------------------------------------------------------------
 */

/* Options of the network that are settings too: what they came to be. */
static stk_status tell_network(stk__cli_session *s, stk_error *error)
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

static stk_status tell_trainer(stk__cli_session *s, stk_error *error)
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
static stk_status open_engine(stk__cli_session *s, stk_error *error)
{
    STK__TRY(stk__trainer_open_engine(&s->engine, &s->run, &s->train, error));
    const stk__engine_info *info = stk__engine_describe(s->engine);
    if (info->device == STK_DEVICE_CUDA) snprintf(s->device, sizeof s->device, "cuda:%d", info->device_index);
    return STK_OK;
}

static stk_status open_trainer(stk__cli_session *s, stk_error *error)
{
    stk_loader *any = s->loader ? s->loader : s->val_loader;
    const stk_loader_options *data = s->loader ? &s->data : &s->val_data;
    const stk__trainer_setup setup = {.model = &s->model,
                                      .loss = &s->loss,
                                      .train = &s->train,
                                      .optimizer = &s->optimizer,
                                      .run = &s->run,
                                      .feed = feed_of(s->loader, s->data.drop_last == STK_SWITCH_ON),
                                      .val = feed_of(s->val_loader, s->val_data.drop_last == STK_SWITCH_ON),
                                      .facts = stk__run_facts(stk_loader_describe(any)),
                                      .seed = (uint64_t)data->seed,
                                      .engine = s->engine,
                                      .evaluates_only = s->evaluates_only,
                                      .has_checkpoint = s->has_checkpoint || s->evaluates_only};
    s->engine = NULL;
    STK__TRY(stk__trainer_open(&s->trainer, &setup, error));
    return tell_trainer(s, error);
}

/* Usual with PyTorch: 0.4 to 0.6 GB, by GPU and version. Not measured with Stoker. */
#define CUDA_BYTES UINT64_C(600000000)

/* Slots of the training part have their second half there. */
static uint64_t device_batches(const stk__cli_session *s)
{
    const stk_loader_info *about = s->loader ? stk_loader_describe(s->loader) : NULL;
    return about ? about->slot_bytes * (uint64_t)about->slot_count : 0;
}

/* Of what was planned, these bytes are taken already: of the model its first values at least. */
static uint64_t taken_bytes(const stk__cli_session *s)
{
    const stk__trainer_info *info = stk__trainer_describe(s->trainer);
    const stk__model_bytes model = stk__model_measure(info->model);
    if (s->device[0]) return 0;
    return info->backed ? info->model_bytes + info->pass_bytes
                        : model.params + model.buffers + model.averages;
}

/* What is not taken yet, memory of batches that workers have not read into for instance, will be. */
static void plan_memory(stk__cli_session *s)
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

stk_status stk__cli_session_open(stk__cli_session *s, stk_error *error)
{
    STK__TRY(stk__cli_session_read(s, error));
    STK__TRY(open_engine(s, error));
    if (!s->evaluates_only) STK__TRY(open_training(s, error));
    STK__TRY(open_validation(s, error));
    STK__TRY(open_trainer(s, error));
    if (s->loader) STK__TRY(stk__train_check_parts(s, error));
    plan_memory(s);
    return STK_OK;
}

void stk__cli_session_close(stk__cli_session *s, int status)
{
    stk__trainer_close(&s->trainer);
    stk__engine_close(&s->engine);
    stk__cli_loader_close(&s->val_loader, status);
    stk__cli_loader_close(&s->loader, status);
}
