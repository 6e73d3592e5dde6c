/* SPDX-License-Identifier: Apache-2.0 */
/* How batches are finished: augmented, normalised, mixed, and in which type. */
#include "loader/loader_open.h"
#include "loader/pump.h"

#include "augment/normalization.h"
#include "core/clock.h"
#include "core/config.h"

#include <string.h>

static bool is_zero(const void *bytes, size_t size)
{
    const unsigned char *byte = bytes;
    for (size_t i = 0; i < size; i++)
        if (byte[i]) return false;
    return true;
}

static stk_dtype choose_dtype(stk_loader *loader, const stk_loader_options *o, bool finished)
{
    static const stk_dtype types[] = {STK_DTYPE_NONE, STK_DTYPE_U8, STK_DTYPE_F32, STK_DTYPE_F16,
                                      STK_DTYPE_BF16};
    if (o->dtype != STK_STORE_AUTO) return types[o->dtype];
    if (!finished) return STK_DTYPE_U8;
    stk__loader_note(loader, "data.dtype", "f32", "auto: images are %s",
                     loader->target_device ? "finished on a GPU" : "augmented, normalized or rearranged");
    return STK_DTYPE_F32;
}

static stk_status refuse_bytes(const char *what, stk_error *error)
{
    stk__fail(error, STK_ERROR_CONFIG, "data.dtype=u8 keeps images as decoded, but %s is requested", what);
    stk__error_hint(error, "data.dtype=f32, f16 or bf16");
    return STK_ERROR_CONFIG;
}

static stk_status choose_normalisation(stk__recipe *recipe, const stk_loader_options *o, stk_error *error)
{
    stk__normalization made;
    STK__TRY(stk__normalization_make(&made, o->mean, o->std, "data.std", error));
    memcpy(recipe->scale, made.scale, sizeof recipe->scale);
    memcpy(recipe->bias, made.bias, sizeof recipe->bias);
    return STK_OK;
}

static void choose_mixing(stk_loader *loader, stk__storage *store)
{
    store->mixed = stk__plan_mixes(loader->plan);
    if (!store->mixed || !loader->source->info.point_count) return;
    store->mixed = false;
    stk__loader_note(loader, "augment.mixup_prob", "0", "mixup and cutmix do not support points");
    stk__loader_note(loader, "augment.cutmix_prob", "0", "mixup and cutmix do not support points");
}

/* Only CUDA is worth its way there and back, and PoCL is this very CPU: auto is the workers. */
static void choose_workers(stk_loader *loader, bool automatic)
{
    const stk__cpu_level level = stk__device_cpu_level();
    stk__loader_note(loader, "augment.device", "cpu", "%sdone by the workers (%s)%s%s",
                     automatic ? "auto: " : "", stk__cpu_level_name(level),
                     loader->target_device ? "; finished batches are copied to " : "",
                     loader->target_device ? loader->target_device->info.name : "");
    loader->recipe.kernel = stk__augment_at(level);
}

static bool is_target_device(const stk_loader *loader, const char *asked, bool automatic)
{
    const char *name = loader->target_device ? loader->target_device->info.name : "";
    return *name && (automatic || strcmp(asked, name) == 0 ||
                     (strcmp(asked, "cuda") == 0 && strcmp(name, "cuda:0") == 0));
}

static stk_status open_device(stk_loader *loader, const char *name, const char *option, stk__device **device,
                              stk_error *error)
{
    const stk_status status = stk__device_open(device, name, error);
    if (status != STK_OK && error && !error->place[0]) stk__error_place(error, "%s=%s", option, name);
    STK__TRY(status);
    (*device)->timeout_ns = stk__seconds_ns(loader->timeout_s);
    return STK_OK;
}

static stk_status choose_device(stk_loader *loader, const stk__augment_settings *settings,
                                stk__storage *store, stk_error *error)
{
    const char *asked = stk__augment_device(settings);
    const bool automatic = !*asked || strcmp(asked, "auto") == 0;
    if (is_target_device(loader, asked, automatic)) {
        loader->device = loader->target_device;
        store->remote = true;
    } else if (automatic || strcmp(asked, "cpu") == 0) {
        choose_workers(loader, automatic);
        return STK_OK;
    } else {
        STK__TRY(open_device(loader, asked, "augment.device", &loader->device, error));
    }
    const stk__device_info *info = &loader->device->info;
    stk__loader_note(loader, "augment.device", info->name, "%s%s%s%s", info->model,
                     loader->target_device && !store->remote ? "; its batches are copied on to another device"
                                                             : "",
                     info->note[0] ? "; " : "", info->note);
    store->staged = true;
    return STK_OK;
}

/* Where batches end. */
static stk_status choose_target_device(stk_loader *loader, const stk_loader_options *o, stk_error *error)
{
    if (!o->device || !*o->device || strcmp(o->device, "cpu") == 0) return STK_OK;
    STK__TRY(open_device(loader, o->device, "options.device", &loader->target_device, error));
    if (stk__device_keeps(loader->target_device)) return STK_OK;
    stk__fail(error, STK_ERROR_UNSUPPORTED, "batches cannot be placed in the memory of '%s'",
              loader->target_device->info.name);
    stk__error_hint(error, "only CUDA devices can hold them");
    return STK_ERROR_UNSUPPORTED;
}

typedef struct wish {
    const stk__augment_settings *settings; /* NULL: none */
    bool normalise, rearrange;
} wish;

static stk_status finish_images(stk_loader *loader, const stk_loader_options *o, const wish *asked,
                                stk__storage *store, stk_error *error)
{
    static const stk__augment_settings nothing;
    const bool augments = asked->settings && o->part == STK_PART_TRAIN;
    if (asked->settings && !augments)
        stk__loader_note(loader, "augment.preset", "none", "only the training set is augmented");
    STK__TRY(stk__plan_create(&loader->plan, augments ? asked->settings : NULL, o->seed, error));
    loader->recipe.plan = loader->plan;
    loader->augments = augments;
    loader->recipe.crops = stk__plan_crops(loader->plan);
    choose_mixing(loader, store);
    return choose_device(loader, asked->settings ? asked->settings : &nothing, store, error);
}

static stk_status choose_storage(stk_loader *loader, const stk_loader_options *o, const wish *asked,
                                 stk__storage *store, stk_error *error)
{
    const bool finished = asked->settings || asked->normalise || asked->rearrange || loader->target_device;
    *store = (stk__storage){
        .image = STK_DTYPE_U8, .mask = STK_DTYPE_U8, .resident = loader->target_device != NULL};
    if (!loader->source->info.images) {
        if (asked->settings) stk__loader_note(loader, "augment.preset", "none", "there are no images");
        return STK_OK;
    }
    store->image = choose_dtype(loader, o, finished);
    if (store->image == STK_DTYPE_U8)
        return !finished ? STK_OK
                         : refuse_bytes(asked->settings    ? "augmentation"
                                        : asked->normalise ? "data.mean or data.std"
                                        : asked->rearrange ? "data.axes=nchw or data.mask_dtype=i64"
                                                           : "a batch in a GPU's memory",
                                        error);
    store->mask = o->mask_dtype == STK_MASK_I64 ? STK_DTYPE_I64 : STK_DTYPE_U8;
    store->planar = o->axes == STK_AXES_NCHW;
    return finish_images(loader, o, asked, store, error);
}

stk_status stk__loader_choose_storage(stk_loader *loader, const stk_loader_options *o,
                                      const stk__augment_settings *augment, stk__storage *store,
                                      stk_error *error)
{
    stk__config *config = NULL;
    stk__augment_settings read = {0};
    const bool wide = o->mask_dtype == STK_MASK_I64 && loader->source->info.masks;
    STK__TRY(choose_normalisation(&loader->recipe, o, error));
    STK__TRY(choose_target_device(loader, o, error));
    stk_status status = o->augment ? stk__augment_read_text(o->augment, &config, &read, error) : STK_OK;
    if (o->augment) augment = &read;
    const wish asked = {
        .settings = augment && !is_zero(augment, sizeof *augment) ? augment : NULL,
        .normalise = !is_zero(o->mean, sizeof o->mean) || !is_zero(o->std, sizeof o->std),
        .rearrange = o->axes == STK_AXES_NCHW || wide,
    };
    loader->asked_augment = asked.settings;
    if (status == STK_OK) status = choose_storage(loader, o, &asked, store, error);
    loader->asked_augment = NULL;
    stk__config_destroy(&config);
    return status;
}
