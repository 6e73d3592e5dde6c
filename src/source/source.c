/* SPDX-License-Identifier: Apache-2.0 */
/* Looks at a root, finds the kind of source it is, and opens it. */
#include "source/source.h"

#include "core/logger.h"
#include "core/text.h"
#include "source/folder_look.h"
#include "source/kinds.h"
#include "source/part_lists.h"
#include "source/shards/pack_note.h"
#include "source/scan.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const char made_prefix[] = "make:";
static const char *const series_names[] = {"series.csv", "series.npy"};
enum { SERIES_NAMES = sizeof series_names / sizeof series_names[0] };

bool stk__path_join(char path[PATH_MAX], const char *folder, const char *name)
{
    const size_t length = strlen(folder);
    const char *slash = length && folder[length - 1] == '/' ? "" : "/";
    const int size = snprintf(path, PATH_MAX, "%s%s%s", folder, slash, name);
    return size >= 0 && size < PATH_MAX;
}

bool stk__path_is_folder(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 && S_ISDIR(facts.st_mode);
}

bool stk__path_is_file(const char *path)
{
    struct stat facts;
    return stat(path, &facts) == 0 && !S_ISDIR(facts.st_mode);
}

/* Puts the first of the names that is there into site->file. */
static bool find_file(stk__site *site, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (stk__path_join(site->file, site->root, names[i]) && stk__path_is_file(site->file)) return true;
    site->file[0] = '\0';
    return false;
}

static bool ends_with(const char *text, const char *end)
{
    return stk__text_ends_with(text, strlen(text), end);
}

/* Images lie beside the folder annotations/, not in it. */
static stk_status open_coco(stk__source **source, stk__site *site, stk_error *error)
{
    char *slash = strrchr(site->root, '/');
    if (stk__coco_is_folder(slash ? slash + 1 : site->root)) {
        if (slash)
            slash[slash == site->root] = '\0';
        else
            snprintf(site->root, sizeof site->root, ".");
    }
    return stk__list_open(source, site, error);
}

static stk_status open_file(stk__source **source, stk__site *site, stk_error *error)
{
    bool list = ends_with(site->file, ".jsonl"), coco;
    STK__TRY(stk__coco_has_points(site->file, &coco, error));
    if (coco) return open_coco(source, site, error);
    if (ends_with(site->file, ".tar")) return stk__shards_open(source, site, error);
    if (ends_with(site->file, ".csv") || ends_with(site->file, ".tsv") || ends_with(site->file, ".txt"))
        STK__TRY(stk__list_fits(site, &list, error));
    if (!list && !ends_with(site->file, ".csv") && !ends_with(site->file, ".npy"))
        return stk__unsupported_refuse_file(site->file, error);
    return list ? stk__list_open(source, site, error) : stk__series_open(source, site, error);
}

/* Shards at the top of a folder are the data set, unless there are images beside. */
static stk_status has_shards(const stk__site *site, bool *shards, stk_error *error)
{
    *shards = stk__shards_fit(site->root);
    if (!*shards) return STK_OK;
    stk__scan scan = {.stop_after = 1};
    const stk_status status = stk__scan_folder(&scan, site->root, error);
    *shards = stk__catalog_count(&scan.samples) == 0;
    stk__scan_fini(&scan);
    if (status == STK_OK && !*shards)
        stk__log(STK_LOG_WARNING, "the .tar files in '%s' are ignored: the folder also has images",
                 site->root);
    return status;
}

static stk_status refuse_list_or_pairs(const stk__site *site, stk_error *error)
{
    stk__fail(error, STK_ERROR_DATA, "'%s' can be read in two ways: the list '%s', or %s", site->root,
              site->file, site->reading->how);
    stk__error_place(error, "%s", site->root);
    stk__error_hint(error, "data.layout=list or data.layout=pairs");
    return STK_ERROR_DATA;
}

/* A list beside the folders of parts may be the labels of what is in them. */
static stk_status refuse_list_above(const stk__site *site, stk_error *error)
{
    bool found;
    stk__site above = {.options = site->options};
    snprintf(above.root, sizeof above.root, "%s", site->options->root);
    const stk_status status = stk__list_find(&above, &found, error);
    if (!above.list_parts) STK__TRY(status);
    if (!found && !above.list_parts) return STK_OK;
    if (above.list_parts) snprintf(above.file, sizeof above.file, "%s", above.part_files[0]);
    stk__fail(error, STK_ERROR_DATA,
              "'%s' can be read in two ways: the list '%s', or parts of a data set ('%s', …)", above.root,
              strrchr(above.file, '/') + 1, site->reading->part_name);
    stk__error_place(error, "%s", above.root);
    stk__error_hint(error, "data.layout=list or data.layout=parts");
    return STK_ERROR_DATA;
}

static stk_status refuse_no_list(const stk__site *site, stk_error *error)
{
    stk__fail(error, STK_ERROR_DATA, "data.layout = list, but '%s' has no list of images", site->root);
    stk__error_place(error, "%s", site->root);
    stk__error_hint(error,
                    "labels.csv, labels.jsonl, points.csv or points.jsonl; or give the file as the data set");
    return STK_ERROR_DATA;
}

/* What lies beside the images has been recognized, and cannot be read. */
static stk_status refuse_unread(const stk__site *site, stk_error *error)
{
    stk__fail(error, STK_ERROR_DATA, "%s", site->reading->unread);
    stk__error_place(error, "%s", site->root);
    stk__error_hint(error,
                    "data.layout=images with '%s' as the data set loads the images alone, and without the "
                    "setting its folders are classes; data.masks=NAME names a folder of masks",
                    *site->reading->images ? site->reading->images : site->root);
    return STK_ERROR_DATA;
}

static stk_status refuse_part_lists(const stk__site *site, const char *why, stk_error *error)
{
    stk__fail(error, STK_ERROR_CONFIG, "data.train_list, data.val_list and data.test_list cannot be used: %s",
              why);
    stk__error_place(error, "%s", site->root);
    stk__error_hint(error, "leave them out, or data.layout=pairs|images|classes to read folders as one set");
    return STK_ERROR_CONFIG;
}

/* Lists, series and shards of a folder, before its images. */
static stk_status open_tables(stk__source **source, stk__site *site, bool list, stk_error *error)
{
    const bool lists = stk__part_lists_given(site);
    bool shards = false;
    if (list && lists) return refuse_part_lists(site, "the data set is a list", error);
    if (list) return stk__list_open(source, site, error);
    /* A pack of parts with one of them there: it may have been interrupted. */
    if (*site->reading->part_name && !(site->reading->parts & (site->reading->parts - 1)))
        STK__TRY(stk__pack_note_refuse(site->options->root, error));
    if (*site->reading->unread && !(site->options->unlabeled && *site->reading->images)) {
        STK__TRY(stk__unsupported_refuse_folder(site->options->root, error)); /* it may know the format */
        return refuse_unread(site, error);
    }
    if (find_file(site, series_names, SERIES_NAMES)) return stk__series_open(source, site, error);
    if (!site->reading->no_shards) STK__TRY(has_shards(site, &shards, error));
    if (shards && lists) return refuse_part_lists(site, "the data set is a set of shards", error);
    return shards ? stk__shards_open(source, site, error) : STK_OK;
}

static stk_status open_folder(stk__source **source, stk__site *site, stk_error *error)
{
    const stk__reading *reading = site->reading;
    const stk_layout layout = site->options->layout;
    const bool unlabeled = site->options->unlabeled; /* annotations do not matter */
    const bool named = site->options->images || site->options->masks,
               literal = layout == STK_LAYOUT_CLASSES || layout == STK_LAYOUT_IMAGES;
    bool list = false;
    if (reading->parts && !*reading->lists && stk__part_lists_given(site))
        return refuse_part_lists(site, "the data set has folders for its parts", error);
    if (!literal) STK__TRY(stk__list_find(site, &list, error));
    if (!list && !literal && !unlabeled && !reading->pairs && layout != STK_LAYOUT_PAIRS)
        STK__TRY(stk__coco_find(site, &list, error));
    if (!list && layout == STK_LAYOUT_AUTO && *reading->part_name) STK__TRY(refuse_list_above(site, error));
    if (layout == STK_LAYOUT_LIST && !list) return refuse_no_list(site, error);
    if (reading->pairs) {
        if (list && layout != STK_LAYOUT_PAIRS && !named) return refuse_list_or_pairs(site, error);
        return reading->part_masks ? stk__part_masks_open(source, site, error)
                                   : stk__pairs_open(source, site, error);
    }
    if (!literal && layout != STK_LAYOUT_PAIRS) {
        STK__TRY(open_tables(source, site, list, error));
        if (*source) return STK_OK;
    }
    STK__TRY(stk__pack_note_refuse(site->root, error));
    if (!literal && !unlabeled) STK__TRY(stk__unsupported_refuse_folder(site->root, error));
    if (*reading->images) snprintf(site->root, sizeof site->root, "%s", reading->images);
    return stk__folder_open(source, site, error);
}

static stk_status refuse_root(const char *root, int error_number, stk_error *error)
{
    const stk_status status = stk__fail_errno(error, error_number, "cannot open the data set '%s'", root);
    stk__error_place(error, "%s", root);
    stk__error_hint(
        error,
        "check the path (data.root): a folder of images, a list (.csv, .jsonl), a time series (.csv, .npy) "
        "or shards (.tar, x-{000..012}.tar); data to try it with: make:faces, make:captcha, "
        "make:gray, make:series");
    return status;
}

/* Where a relative name in a list starts: the folder of the list. Of a range of shards it is the one above.
 */
static void set_folder_of_file(stk__site *site, const char *range)
{
    const size_t length = range ? (size_t)(range - site->options->root) : strlen(site->file);
    const char *slash = memrchr(site->file, '/', length);
    if (!slash)
        snprintf(site->root, PATH_MAX, ".");
    else
        snprintf(site->root, PATH_MAX, "%.*s", slash == site->file ? 1 : (int)(slash - site->file),
                 site->file);
}

static stk_status find_site(stk__site *site, stk__reading *reading, bool *folder, stk_error *error)
{
    const char *root = site->options->root;
    struct stat facts;
    const bool there = stat(root, &facts) == 0;
    const char *range = there ? NULL : stk__shards_range(root);
    if (!there && !range) return refuse_root(root, errno, error);
    *folder = there && S_ISDIR(facts.st_mode);
    if (!*folder) {
        if (snprintf(site->file, PATH_MAX, "%s", root) >= PATH_MAX)
            return refuse_root(root, ENAMETOOLONG, error);
        set_folder_of_file(site, range);
        return STK_OK;
    }
    if (strlen(root) >= PATH_MAX - 1) return refuse_root(root, ENAMETOOLONG, error);
    site->reading = reading;
    STK__TRY(stk__layout_find(reading, site->options, error));
    snprintf(site->root, sizeof site->root, "%s", reading->root);
    snprintf(site->sibling, sizeof site->sibling, "%s", reading->siblings[0]);
    return STK_OK;
}

static stk_status check_options(const stk__source_options *options, stk_error *error)
{
    if (!options->root || !*options->root) {
        stk__fail(error, STK_ERROR_ARGUMENT, "data.root is not set");
        stk__error_hint(error, "give a folder, a list, a series, or make:faces");
        return STK_ERROR_ARGUMENT;
    }
    if (options->part && !stk__part_bit(options->part))
        return stk__fail(error, STK_ERROR_ARGUMENT, "the part '%s' is none of 'train', 'val' and 'test'",
                         options->part);
    return STK_OK;
}

/* train.csv next to train/ and test/, as Kaggle has it: the list is the data set, and images that it does not
 * name are not used. */
static stk_status prefer_list(stk__source_options *options, stk_error *error)
{
    char name[32], path[PATH_MAX];
    stk__folder_look look;
    bool list = false;
    stk__site above = {.options = options};
    if (options->layout != STK_LAYOUT_AUTO || !options->root || strlen(options->root) >= PATH_MAX)
        return STK_OK;
    for (size_t i = 0; i < 2 * STK_PART_WORDS; i++) {
        const stk__part_word *word = &stk__part_words[i / 2];
        if (word->part != STK_SOURCE_TRAIN) continue;
        snprintf(name, sizeof name, "%s%s", word->name, i % 2 ? "_images" : "");
        if (!stk__path_join(path, options->root, name) || !stk__folder_look_at(&look, path)) continue;
        if (!look.images || look.word_count || look.plain_total) continue;
        snprintf(above.root, sizeof above.root, "%s", options->root);
        const stk_status status = stk__list_find(&above, &list, error);
        if (!above.list_parts) STK__TRY(status); /* with parts, the one that is asked for may not be there */
        if (above.list_parts ||
            (list && stk__part_at_start(strrchr(above.file, '/') + 1) == STK_SOURCE_TRAIN))
            options->layout = STK_LAYOUT_LIST;
        return STK_OK;
    }
    return STK_OK;
}

stk_status stk__source_open(stk__source **source, const stk__source_options *given, stk_error *error)
{
    *source = NULL;
    STK__TRY(check_options(given, error));
    stk__source_options settled = *given, *options = &settled;
    STK__TRY(prefer_list(options, error));
    stk__site site = {.options = options};
    stk__reading reading = {0};
    bool folder = false;
    const bool made = strncmp(options->root, made_prefix, strlen(made_prefix)) == 0;
    if (!made) STK__TRY(find_site(&site, &reading, &folder, error));
    if (!folder && stk__part_lists_given(&site))
        return refuse_part_lists(&site, "they are for folders of images", error);
    if (made) return stk__made_open(source, options, error);
    STK__TRY(folder ? open_folder(source, &site, error) : open_file(source, &site, error));
    if (!(*source)->info.parts) (*source)->info.parts = site.list_parts ? site.list_parts : reading.parts;
    return STK_OK;
}

/* The reading of everything; the site's options are `all`. False: nothing is to be read there. */
static bool read_all_parts(stk__source_options *all, stk__site *site, stk__reading *reading, bool *folder)
{
    all->part = NULL;
    if (!all->root || !*all->root || strncmp(all->root, made_prefix, strlen(made_prefix)) == 0) return false;
    (void)prefer_list(all, NULL);
    (void)find_site(site, reading, folder, NULL); /* with parts it refuses everything, but tells them */
    return true;
}

/* As open_folder does; without a part to choose it fails, but tells list_parts. */
static void find_list(stk__site *site, bool *list)
{
    const stk_layout layout = site->options->layout;
    if (!*site->root || layout == STK_LAYOUT_CLASSES || layout == STK_LAYOUT_IMAGES) return;
    if (stk__list_find(site, list, NULL) != STK_OK || *list) return;
    if (!site->reading->pairs && layout != STK_LAYOUT_PAIRS) (void)stk__coco_find(site, list, NULL);
}

uint32_t stk__source_folder_parts(const stk__source_options *options)
{
    stk__source_options all = *options;
    stk__reading reading = {0};
    stk__site site = {.options = &all};
    bool folder = false;
    return read_all_parts(&all, &site, &reading, &folder) ? reading.parts : 0;
}

uint32_t stk__source_find_parts(const stk__source_options *options)
{
    stk__source_options all = *options;
    stk__reading reading = {0};
    stk__site site = {.options = &all};
    bool folder = false;
    if (!read_all_parts(&all, &site, &reading, &folder)) return 0;
    if (reading.parts) return reading.parts;
    if (folder && stk__part_lists_given(&site))
        return STK_SOURCE_TRAIN | (all.val_list ? STK_SOURCE_VAL : 0) | (all.test_list ? STK_SOURCE_TEST : 0);
    bool list = false;
    if (folder) find_list(&site, &list);
    if (site.list_parts || (folder && !list)) return site.list_parts;
    stk__source *source = NULL;
    const uint32_t parts = stk__source_open(&source, &all, NULL) == STK_OK ? source->info.parts : 0;
    stk__source_close(&source);
    return parts;
}

void stk__source_close(stk__source **source)
{
    if (*source) (*source)->ops->close(*source);
    *source = NULL;
}
