/* SPDX-License-Identifier: Apache-2.0 */
/* From stk_augment_options to what an augmenter does, and why: each option is checked, decided, and noted as
 * an effect where it is not as requested. Runs once, in the thread that opens. */
#include "augmenter/augmenter.h"

#include "augment/flip_list.h"
#include "augment/settings.h"
#include "core/clock.h"
#include "core/config.h"
#include "core/pool.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static stk_loader_effect *STK__PRINTF(4, 5)
    note(stk_augmenter *augmenter, const char *name, const char *requested, const char *why, ...)
{
    stk_loader_effect *effect = &augmenter->effects[augmenter->effect_count++];
    effect->name = name;
    snprintf(effect->requested, sizeof effect->requested, "%s", requested);
    va_list arguments;
    va_start(arguments, why);
    vsnprintf(effect->why, sizeof effect->why, why, arguments);
    va_end(arguments);
    return effect;
}

static void set_in_effect(stk_loader_effect *effect, const char *text)
{
    snprintf(effect->in_effect, sizeof effect->in_effect, "%s", text);
}

static stk_status refuse(const char *option, const char *why, stk_error *error)
{
    return stk__fail(error, STK_ERROR_ARGUMENT, "options.%s %s", option, why);
}

static stk_status make_plan(stk_augmenter *augmenter, const stk_augment_options *o, stk_error *error)
{
    stk__config *config = NULL;
    stk__augment_settings settings = {0};
    stk_status status = o->augment ? stk__augment_read_text(o->augment, &config, &settings, error) : STK_OK;
    if (status == STK_OK) {
        const char *device = stk__augment_device(&settings);
        if (*device && strcmp(device, "auto") != 0) {
            status = refuse("augment", "sets a device, which is ignored here", error);
            stk__error_hint(error, "set options.device");
        }
    }
    if (status == STK_OK)
        status = stk__plan_create(&augmenter->plan, o->augment ? &settings : NULL, o->seed, error);
    stk__config_destroy(&config);
    STK__TRY(status);
    augmenter->crops = stk__plan_crops(augmenter->plan);
    augmenter->mixes = stk__plan_mixes(augmenter->plan);
    return STK_OK;
}

static stk_status choose_size(stk_augmenter *augmenter, const stk_augment_options *o, stk_error *error)
{
    const int32_t h = o->image_size[0], w = o->image_size[1];
    const bool none = !h && !w;
    if (!none && (h < 1 || w < 1 || h > UINT16_MAX || w > UINT16_MAX || (int64_t)h * w >= 1 << 28))
        return refuse("image_size", "is h, w of 1 to 65535 with fewer than 2^28 pixels, or 0, 0", error);
    augmenter->size = (stk__extent){w, h};
    return STK_OK;
}

static bool is_given(const double triple[3])
{
    return triple[0] != 0 || triple[1] != 0 || triple[2] != 0;
}

static stk_status choose_values(stk_augmenter *augmenter, const stk_augment_options *o, stk_error *error)
{
    static const stk_dtype types[] = {STK_DTYPE_F32, STK_DTYPE_U8, STK_DTYPE_F32, STK_DTYPE_F16,
                                      STK_DTYPE_BF16};
    if ((unsigned)o->dtype >= sizeof types / sizeof types[0])
        return refuse("dtype", "is no stk_store", error);
    if ((unsigned)o->axes > STK_AXES_NCHW) return refuse("axes", "is no stk_axes", error);
    for (int c = 0; c < 3; c++) {
        if (!(o->mean[c] >= -10 && o->mean[c] <= 10)) return refuse("mean", "is not -10 to 10", error);
        if (!(o->std[c] >= 0 && o->std[c] <= 100)) return refuse("std", "is not 0 to 100", error);
    }
    augmenter->dtype = types[o->dtype];
    augmenter->planar = o->axes == STK_AXES_NCHW;
    augmenter->rows = stk__pixel_rows_at(stk__cpu_level_allowed());
    STK__TRY(stk__normalization_make(&augmenter->normalization, o->mean, o->std, "options.std", error));
    if (o->dtype == STK_STORE_AUTO) set_in_effect(note(augmenter, "dtype", "", "auto"), "f32");
    if (o->dtype == STK_STORE_U8 && (is_given(o->mean) || is_given(o->std))) {
        refuse(is_given(o->mean) ? "mean" : "std", "is set, but bytes cannot hold normalized values", error);
        stk__error_hint(error, "options.dtype f32, f16 or bf16");
        return STK_ERROR_ARGUMENT;
    }
    return STK_OK;
}

static stk_status check_names(const char *option, const char *const *names, int32_t count, stk_error *error)
{
    char what[32];
    snprintf(what, sizeof what, "%s_count", option);
    if (count < 0 || count > UINT16_MAX) return refuse(what, "is not 0 to 65535", error);
    snprintf(what, sizeof what, "%s_names", option);
    if (names && !count) return refuse(what, "is set, but their count is 0", error);
    for (int32_t i = 0; names && i < count; i++)
        if (!names[i]) return refuse(what, "has NULL for a name", error);
    return STK_OK;
}

/* Pairs of classes are for labels; those that ids of masks can be are for masks, too. */
static stk_status copy_pairs(stk__flip *flip, stk_error *error)
{
    STK__TRY(stk__flip_pairs_reserve(&flip->masks, flip->labels.count, error));
    for (int32_t i = 0; i < flip->labels.count; i++)
        if (flip->labels.pairs[i].b < 256)
            stk__flip_pairs_add(&flip->masks, flip->labels.pairs[i].a, flip->labels.pairs[i].b);
    return STK_OK;
}

static stk_status choose_flip(stk_augmenter *augmenter, const stk_augment_options *o, stk_error *error)
{
    stk__flip *flip = &augmenter->flip;
    const char *asked = o->flip_pairs ? o->flip_pairs : "auto";
    const bool points = o->point_count && !o->class_count; /* bare numbers are theirs */
    STK__TRY(check_names("class", o->class_names, o->class_count, error));
    STK__TRY(check_names("point", o->point_names, o->point_count, error));
    augmenter->point_count = o->point_count;
    const stk__flip_kind kinds[] = {{.what = "class",
                                     .there = !points,
                                     .names = {o->class_names, o->class_names ? o->class_count : 0},
                                     .most = o->class_count ? o->class_count : INT32_MAX,
                                     .numbers = !points,
                                     .pairs = &flip->labels},
                                    {.what = "point",
                                     .there = o->point_count > 0,
                                     .names = {o->point_names, o->point_names ? o->point_count : 0},
                                     .most = o->point_count,
                                     .numbers = points,
                                     .pairs = &flip->points}};
    if (strcmp(asked, "none") == 0) return STK_OK;
    if (!stk__plan_mirrors(augmenter->plan)) {
        if (o->flip_pairs)
            note(augmenter, "flip_pairs", o->flip_pairs, "not used here: no image is mirrored");
        return STK_OK;
    }
    STK__TRY(stk__flip_list_read(&(stk__flip_list){"options.flip_pairs", kinds, 2}, asked, error));
    STK__TRY(copy_pairs(flip, error));
    flip->on = flip->labels.count || flip->points.count;
    stk__flip_make_ids(flip);
    char text[64];
    stk__flip_print(flip, text, sizeof text);
    if (strcmp(asked, "auto") == 0) {
        if (flip->on || o->flip_pairs)
            set_in_effect(note(augmenter, "flip_pairs", o->flip_pairs ? "auto" : "", "%s",
                               flip->on ? "auto: names of two sides" : "auto: no names of two sides"),
                          flip->on ? text : "none");
    } else if (strcmp(asked, text) != 0) {
        set_in_effect(note(augmenter, "flip_pairs", asked, "numbers of the classes and points listed"), text);
    }
    return STK_OK;
}

static stk_status choose_pool(stk_augmenter *augmenter, const stk_augment_options *o)
{
    char text[24], asked[24] = "";
    const int64_t most = STK_POOL_WORKERS;
    const int64_t threads = o->threads > most ? most : o->threads ? o->threads : stk__pool_default_workers();
    const stk__cpu_level level = stk__device_cpu_level();
    augmenter->crew.kernel = stk__augment_at(level);
    augmenter->crew.workers = (int)threads;
    set_in_effect(note(augmenter, "device", o->device ? o->device : "",
                       "done by the process's pool of threads (%s)", stk__cpu_level_name(level)),
                  "cpu");
    if (o->threads == threads) return STK_OK;
    snprintf(text, sizeof text, "%lld", (long long)threads);
    if (o->threads) snprintf(asked, sizeof asked, "%lld", (long long)o->threads);
    set_in_effect(note(augmenter, "threads", asked, "%s",
                       o->threads ? "the most that a pool has" : "auto: the CPU budget"),
                  text);
    return STK_OK;
}

static stk_status choose_device(stk_augmenter *augmenter, const stk_augment_options *o, stk_error *error)
{
    if (o->threads < 0) return refuse("threads", "is negative", error);
    if (o->timeout_s != 0 && !(o->timeout_s >= 0.1 && o->timeout_s <= 86400))
        return refuse("timeout_s", "is not 0.1 to 86400", error);
    if (!o->device || !*o->device || strcmp(o->device, "cpu") == 0) return choose_pool(augmenter, o);
    if (augmenter->dtype == STK_DTYPE_U8 && strncmp(o->device, "cuda", 4) != 0)
        return stk__fail(error, STK_ERROR_UNSUPPORTED,
                         "options.dtype is u8, which is made on CPUs and CUDA GPUs only, not on '%s'",
                         o->device);
    const stk_status status = stk__device_open(&augmenter->device, o->device, error);
    if (status != STK_OK && error && !error->place[0])
        stk__error_place(error, "options.device=%s", o->device);
    STK__TRY(status);
    if (o->timeout_s > 0) augmenter->device->timeout_ns = stk__seconds_ns(o->timeout_s);
    const stk__device_info *info = &augmenter->device->info;
    set_in_effect(
        note(augmenter, "device", o->device, "%s%s%s", info->model, info->note[0] ? "; " : "", info->note),
        info->name);
    if (o->threads) {
        char asked[24];
        snprintf(asked, sizeof asked, "%lld", (long long)o->threads);
        note(augmenter, "threads", asked, "not used here: '%s' augments", info->name);
    }
    return STK_OK;
}

stk_status stk__augmenter_configure(stk_augmenter *augmenter, const stk_augment_options *options,
                                    stk_error *error)
{
    STK__TRY(choose_size(augmenter, options, error));
    STK__TRY(choose_values(augmenter, options, error));
    STK__TRY(make_plan(augmenter, options, error));
    STK__TRY(choose_flip(augmenter, options, error));
    return choose_device(augmenter, options, error);
}
