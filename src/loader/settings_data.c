/* SPDX-License-Identifier: Apache-2.0 */
/* Which samples a loader has: opens the source, chooses the part that is loaded, and describes what was
 * found. One thread, while a loader opens. */
#include "loader/open_watchdog.h"
#include "loader/pump.h"
#include "source/folder_look.h"
#include "source/kinds.h"
#include "source/layout_options.h"

#include <stdio.h>
#include <string.h>

/* dataset: instead of a root; NULL: none. */
static stk_status open_guarded(stk_loader *loader, const stk__source_options *options,
                               const stk_dataset *dataset, double patience_s, stk_error *error)
{
    char what[128];
    stk__open_watchdog watchdog;
    const int64_t held_bytes = stk__alloc_held_bytes();
    snprintf(what, sizeof what, "opening '%.100s'", dataset ? "stk_dataset" : options->root);
    STK__TRY(stk__open_watchdog_start(&watchdog, what, patience_s, error));
    const stk_status status = dataset
                                  ? stk__caller_open(&loader->source, dataset, options->limit_bytes, error)
                                  : stk__source_open(&loader->source, options, error);
    stk__open_watchdog_stop(&watchdog);
    const int64_t index_bytes = stk__alloc_held_bytes() - held_bytes;
    loader->index_bytes = index_bytes > 0 ? (uint64_t)index_bytes : 0;
    return status;
}

static stk_status open_dataset(stk_loader *loader, const stk_loader_options *o, stk_error *error)
{
    const struct {
        const char *name, *path;
    } others[] = {{"root", o->root},
                  {"val_root", o->val_root},
                  {"train_list", o->train_list},
                  {"val_list", o->val_list},
                  {"test_list", o->test_list}};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (!others[i].path) continue;
        stk__fail(error, STK_ERROR_ARGUMENT,
                  "data.%s = '%s' is set beside stk_loader_options.dataset: samples come from one of them",
                  others[i].name, others[i].path);
        stk__error_hint(error, "leave it out; a validation set is a loader of its own, or data.val_split");
        return STK_ERROR_ARGUMENT;
    }
    return open_guarded(loader, &(stk__source_options){.limit_bytes = o->limit_bytes}, o->dataset,
                        o->timeout_s, error);
}

/* By stk_part; a data set that names no parts does not look at it. */
static const char *const part_names[] = {
    [STK_PART_TRAIN] = "train", [STK_PART_VAL] = "val", [STK_PART_ALL] = NULL, [STK_PART_TEST] = "test"};

static stk_status refuse_val_root(const char *root, stk_error *error)
{
    stk__fail(error, STK_ERROR_CONFIG, "data.val_root = '%s' has parts of its own, and none for validation",
              root);
    stk__error_hint(error, "name the folder that is meant, such as '%s/train'", root);
    return STK_ERROR_CONFIG;
}

stk_status stk__loader_open_source(stk_loader *loader, const stk_loader_options *o, stk_error *error)
{
    if (loader->source) return STK_OK;
    if (o->dataset) return open_dataset(loader, o, error);
    const bool elsewhere = o->part == STK_PART_VAL && o->val_root;
    const char *root = elsewhere ? o->val_root : o->root;
    if (!root || !*root) {
        stk__fail(error, STK_ERROR_CONFIG, "data.root is not set");
        stk__error_hint(error, "name a folder, or try data.root=make:faces");
        return STK_ERROR_CONFIG;
    }
    stk__source_options source = {.root = root,
                                  .part = part_names[o->part],
                                  .window_rows = o->sequence_length,
                                  .limit_bytes = o->limit_bytes,
                                  STK_LAYOUT_FIELDS(o)};
    if (elsewhere) source.train_list = source.val_list = source.test_list = NULL; /* of data.root's samples */
    STK__TRY(open_guarded(loader, &source, NULL, o->timeout_s, error));
    const uint32_t parts = loader->source->info.parts;
    if (elsewhere && parts && !(parts & STK_SOURCE_VAL)) return refuse_val_root(root, error);
    if (!elsewhere && parts & STK_SOURCE_VAL && o->val_split > 0)
        stk__loader_note(loader, "data.val_split", "0", "the data set has its own train and val parts");
    return STK_OK;
}

/* Parts of a series lie one after the other in time, a window apart: no row is in both. */
static stk_status split_series(stk_loader *loader, stk_part part, uint64_t held, stk_error *error)
{
    stk__stream *stream = &loader->stream;
    const stk__source_info *info = &loader->source->info;
    const uint64_t gap = (uint64_t)info->window_rows;
    if (held + gap >= info->count) {
        stk__fail(error, STK_ERROR_DATA,
                  "the series has %llu windows: too few for a validation set of %llu and a gap of %llu",
                  (unsigned long long)info->count, (unsigned long long)held, (unsigned long long)gap);
        stk__error_hint(error, "lower data.val_split or data.sequence_length");
        return STK_ERROR_DATA;
    }
    stream->count = part == STK_PART_VAL ? held : info->count - held - gap;
    stream->first_id = part == STK_PART_VAL ? info->count - held : 0;
    stream->split = (stk__split){.count = stream->count};
    return STK_OK;
}

/* What a state must agree in: two parts can have as many samples as each other. */
static void name_part(stk_loader *loader, const stk_loader_options *o, bool own_part, uint64_t held)
{
    const char *word = o->part == STK_PART_ALL ? "all" : part_names[o->part];
    const size_t size = sizeof loader->part;
    if (held && loader->source->info.window_rows)
        snprintf(loader->part, size, "%s, the last %llu held back", word, (unsigned long long)held);
    else if (held)
        snprintf(loader->part, size, "%s, %llu held back by seed %lld", word, (unsigned long long)held,
                 (long long)o->split_seed);
    else
        snprintf(loader->part, size, "%s", own_part || loader->source->info.parts ? word : "all");
}

/* The samples of the source are those of the part, or the whole validation set comes from elsewhere. */
static bool has_own_part(const stk_loader *loader, const stk_loader_options *o)
{
    static const uint32_t bits[] = {[STK_PART_TRAIN] = STK_SOURCE_VAL, /* then nothing is split off */
                                    [STK_PART_VAL] = STK_SOURCE_VAL,
                                    [STK_PART_ALL] = 0,
                                    [STK_PART_TEST] = STK_SOURCE_TEST};
    return (o->part == STK_PART_VAL && o->val_root) || loader->source->info.parts & bits[o->part];
}

/* How many samples are held back for validation: none where it has data of its own (a part of the data set,
 * data.val_root) or where everything is loaded; else data.val_split of all, rounded, at least one. 0.25 of 10
 * are 3. */
static uint64_t count_held(const stk_loader_options *o, bool own_part, uint64_t count)
{
    if (own_part || o->val_root || o->part == STK_PART_ALL || o->part == STK_PART_TEST || o->val_split <= 0)
        return 0;
    const uint64_t held = (uint64_t)(o->val_split * (double)count + 0.5);
    return held > 0 ? held : 1;
}

/* Kaggle's train.csv beside train/ and test/: the images of the test are in no list. */
static bool find_test_folder(const char *root, char path[PATH_MAX])
{
    stk__folder_look look;
    if (!stk__folder_look_at(&look, root)) return false;
    for (int i = 0; i < look.word_count; i++) {
        const stk__folder_word *word = &look.words[i].word;
        if (word->part != STK_SOURCE_TEST || word->kind == STK_FOLDER_MASKS) continue;
        if (stk__path_join(path, root, look.words[i].name) && stk__folder_content_of(path).images)
            return true;
    }
    return false;
}

static stk_status refuse_test(const stk_loader_options *o, stk_error *error)
{
    char path[PATH_MAX];
    const bool listed = o->layout == STK_LAYOUT_AUTO || o->layout == STK_LAYOUT_LIST;
    if (listed && o->root && find_test_folder(o->root, path)) {
        stk__fail(error, STK_ERROR_CONFIG,
                  "there is no test set with labels: the list of '%s' does not name the images in '%s'",
                  o->root, path);
        stk__error_hint(error,
                        "stoker predict RUN %s predicts them; '%s' as the data set loads them without "
                        "labels",
                        path, path);
        return STK_ERROR_CONFIG;
    }
    stk__fail(error, STK_ERROR_CONFIG, "there is no test set");
    stk__error_hint(error, o->dataset ? "open a loader with a stk_dataset of the test samples, data.part=all"
                                      : "create a folder test beside train, or set data.test_list");
    return STK_ERROR_CONFIG;
}

static stk_status check_held(const stk_loader_options *o, bool own_part, uint64_t held, uint64_t count,
                             stk_error *error)
{
    if (o->part == STK_PART_VAL && !own_part && held == 0) {
        stk__fail(error, STK_ERROR_CONFIG, "there is no validation set");
        stk__error_hint(
            error,
            o->dataset
                ? "set data.val_split, or open a loader with a stk_dataset of them, data.part=all"
                : "set data.val_split, data.val_root or data.val_list, or create folders train and val");
        return STK_ERROR_CONFIG;
    }
    if (o->part == STK_PART_TEST && !own_part) return refuse_test(o, error);
    if (held > 0 && held >= count)
        return stk__fail(error, STK_ERROR_DATA, "too few samples to split: %llu", (unsigned long long)count);
    return STK_OK;
}

/* Which samples the stream has, of the `count` of its source:
 *
 *     own_part        all: the source holds the samples of the part alone
 *     part = val      those that are held back, chosen by data.split_seed; of a series the last ones
 *     part = train    all others; of a series without the windows that share rows with the last ones
 *     part = all      all
 *
 * and of these the first data.limit. */
stk_status stk__loader_choose_part(stk_loader *loader, const stk_loader_options *o, stk_error *error)
{
    stk__stream *stream = &loader->stream;
    const stk__source_info *info = &loader->source->info;
    const bool own_part = has_own_part(loader, o);
    const uint64_t held = count_held(o, own_part, info->count);
    STK__TRY(check_held(o, own_part, held, info->count, error));
    if (held && info->window_rows) {
        STK__TRY(split_series(loader, o->part, held, error));
    } else {
        stream->take_held = o->part == STK_PART_VAL && !own_part;
        stream->split = (stk__split){.count = info->count, .held = held, .seed = (uint64_t)o->split_seed};
        stream->count = stream->take_held ? held : info->count - held;
    }
    name_part(loader, o, own_part, held);
    if (o->limit && (uint64_t)o->limit < stream->count) stream->count = (uint64_t)o->limit;
    if (stream->count > UINT32_MAX)
        return stk__fail(error, STK_ERROR_DATA, "%llu samples: the maximum is %u",
                         (unsigned long long)stream->count, UINT32_MAX);
    return STK_OK;
}

/* The public face of what the source found; texts stay the source's. */
void stk__loader_describe_data(stk_loader *loader)
{
    const stk__source_info *source = &loader->source->info;
    stk_loader_info *info = &loader->info;
    for (int32_t i = 0; i < source->left_out_count; i++)
        loader->left_out[i] = (stk_data_count){.what = source->left_out[i].what,
                                               .example = source->left_out[i].example,
                                               .count = source->left_out[i].count};
    for (int32_t i = 0; i < source->format_count; i++)
        loader->formats[i] = (stk_data_count){.what = source->formats[i].extension,
                                              .example = "",
                                              .count = source->formats[i].images,
                                              .masks = source->formats[i].masks};
    info->found = source->how;
    info->left_out = loader->left_out;
    info->left_out_count = source->left_out_count;
    info->formats = loader->formats;
    info->format_count = source->format_count;
    info->unmasked_count = source->unmasked;
    info->train_part = source->parts & STK_SOURCE_TRAIN;
    info->val_part = source->parts & STK_SOURCE_VAL;
    info->test_part = source->parts & STK_SOURCE_TEST;
}
