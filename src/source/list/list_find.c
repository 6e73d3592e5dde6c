/* SPDX-License-Identifier: Apache-2.0 */
/* Which list a folder has: labels.csv, train.csv beside train/, annotations.tsv, … by a table of names, a few
 * calls however many files the folder has. Two that fit are refused; other tables are told as not read. One
 * thread, while a source opens. */
#include "source/list/list.h"

#include "core/text.h"
#include "source/folder_look.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char *const stems[] = {"labels",      "points",    "label",        "annotations",
                                    "annotation",  "train",     "training",     "train_labels",
                                    "trainLabels", "metadata",  "image_labels", "dataset",
                                    "data",        "list",      "index",        "images",
                                    "landmarks",   "keypoints", "groundtruth",  "list_attr_celeba",
                                    "_classes"}; /* Roboflow */
static const char *const endings[] = {"csv", "jsonl", "tsv", "txt"};
static const char *const beside[] = {"sample_submission.csv", "sampleSubmission.csv", "submission.csv",
                                     "list_bbox_celeba.csv", "list_landmarks_align_celeba.csv"};
enum {
    STEMS = sizeof stems / sizeof stems[0],
    ENDINGS = sizeof endings / sizeof endings[0],
    BESIDE = sizeof beside / sizeof beside[0],
    PART_TABLES = STK_PART_WORDS * ENDINGS, /* val.csv … */
    PRIMARY = 2                             /* stems that are lists whatever is in them */
};

static bool has_table(const stk__site *site, const char *name, char path[PATH_MAX])
{
    return stk__path_join(path, site->root, name) && stk__path_is_file(path);
}

static void name_table(size_t index, char name[64])
{
    snprintf(name, 64, "%s.%s", stems[index / ENDINGS], endings[index % ENDINGS]);
}

/* labels.csv, .jsonl and points.*: what else they have in them is an error, not another layout. */
static bool is_primary(size_t index)
{
    return index / ENDINGS < PRIMARY && index % ENDINGS < 2;
}

static stk_status look_at(const stk__site *site, stk__list_fit *fit, stk_error *error)
{
    const bool json = stk__text_ends_with(site->file, strlen(site->file), ".jsonl");
    return json ? stk__list_look_json(site, fit, error) : stk__list_look_csv(site, fit, error);
}

/* Other tables beside folders of images may be about something else: they need something to learn, or columns
 * about files that are not in folders, which would be classes. */
static stk_status fits(const stk__site *site, size_t index, bool *fit, stk_error *error)
{
    stk__list_fit found;
    STK__TRY(look_at(site, &found, error));
    *fit = found.list && (found.target || is_primary(index) || (found.columns > 1 && !found.foldered));
    return STK_OK;
}

static stk_status refuse_two(const stk__site *site, const char *a, const char *b, stk_error *error)
{
    stk__fail(error, STK_ERROR_DATA, "'%s' has two lists, '%s' and '%s'", site->root, a, b);
    stk__error_place(error, "%s", site->root);
    stk__error_hint(error, "give one of them as the data set: '%s/%s' or '%s/%s'", site->root, a, site->root,
                    b);
    return STK_ERROR_DATA;
}

typedef struct tables {
    size_t there[STEMS * ENDINGS], count;
} tables;

static tables find_tables(const stk__site *site)
{
    tables found = {.count = 0};
    char name[64], path[PATH_MAX];
    for (size_t i = 0; i < STEMS * ENDINGS; i++) {
        name_table(i, name);
        if (has_table(site, name, path)) found.there[found.count++] = i;
    }
    return found;
}

/* *chosen: index of the only one that fits; SIZE_MAX: none. */
static stk_status choose(stk__site *site, const tables *found, size_t *chosen, stk_error *error)
{
    char name[64], other[64];
    *chosen = SIZE_MAX;
    for (size_t i = 0; i < found->count; i++) {
        bool fit;
        name_table(found->there[i], name);
        if (!has_table(site, name, site->file)) continue;
        STK__TRY(fits(site, found->there[i], &fit, error));
        if (!fit) continue;
        if (*chosen != SIZE_MAX) {
            name_table(*chosen, other);
            return refuse_two(site, other, name, error);
        }
        *chosen = found->there[i];
    }
    return STK_OK;
}

/* --- parts ------------------------------------------------------------------------------------------------
 */

/* The part of a table that may stand beside train.csv; 0 for those of training, which are found before. */
static uint32_t name_part(size_t index, char name[64])
{
    const stk__part_word *word = &stk__part_words[index / ENDINGS];
    snprintf(name, 64, "%s.%s", word->name, endings[index % ENDINGS]);
    return word->part & ~(uint32_t)STK_SOURCE_TRAIN;
}

/* val.csv and test.csv beside train.csv, if they have something to learn as well, and the columns that
 * data.columns names: Kaggle's test.csv has not. */
static stk_status find_parts(stk__site *site, stk_error *error)
{
    char name[64], train[PATH_MAX];
    bool parts = false;
    snprintf(train, sizeof train, "%s", site->file);
    for (size_t i = 0; i < PART_TABLES; i++) {
        stk__list_fit fit;
        const uint32_t part = name_part(i, name);
        if (!part || !has_table(site, name, site->file)) continue;
        char *place = site->part_files[stk__part_index(part)];
        STK__TRY(look_at(site, &fit, error));
        if (!fit.list || !fit.target || fit.lacking) continue;
        if (*place) return refuse_two(site, strrchr(place, '/') + 1, name, error);
        snprintf(place, PATH_MAX, "%s", site->file);
        parts = true;
    }
    snprintf(parts ? site->part_files[stk__part_index(STK_SOURCE_TRAIN)] : site->file, PATH_MAX, "%s", train);
    if (parts) site->file[0] = '\0';
    return parts ? stk__site_choose_list(site, error) : STK_OK;
}

stk_status stk__list_find(stk__site *site, bool *found, stk_error *error)
{
    const tables all = find_tables(site);
    char name[64];
    size_t chosen = SIZE_MAX;
    *found = false;
    site->list_parts = 0;
    memset(site->part_files, 0, sizeof site->part_files);
    if (all.count == 1 && is_primary(all.there[0]))
        chosen = all.there[0];
    else if (all.count)
        STK__TRY(choose(site, &all, &chosen, error));
    if (chosen == SIZE_MAX && all.count && is_primary(all.there[0])) chosen = all.there[0];
    site->file[0] = '\0';
    if (chosen == SIZE_MAX) return STK_OK;
    name_table(chosen, name);
    *found = has_table(site, name, site->file);
    const char *stem = stems[chosen / ENDINGS];
    const bool train = stk__part_of_word(stem, strlen(stem)) == STK_SOURCE_TRAIN;
    return *found && train && !(site->reading && site->reading->part) ? find_parts(site, error) : STK_OK;
}

stk_status stk__list_refuse_partition(const stk__site *site, stk_error *error)
{
    static const char *const names[] = {"list_eval_partition.csv", "list_eval_partition.txt"};
    char path[PATH_MAX];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (!has_table(site, names[i], path)) continue;
        stk__fail(
            error, STK_ERROR_DATA,
            "the parts of the data set are in another table, '%s': samples for validation and test would be "
            "trained on",
            names[i]);
        stk__error_place(error, "%s", path);
        stk__error_hint(error, "copy its column into the list as 'split', with train, val and test; "
                               "data.columns='split=none' uses all rows");
        return STK_ERROR_DATA;
    }
    return STK_OK;
}

static void tell_other(const stk__site *site, const char *name, stk__source_info *info)
{
    char path[PATH_MAX];
    const char *slash = strrchr(site->file, '/');
    if (!has_table(site, name, path) || strcmp(name, slash ? slash + 1 : site->file) == 0) return;
    for (size_t i = 0; i < 3; i++)
        if (strcmp(path, site->part_files[i]) == 0) return;
    stk__left_out_add(info, "tables beside the list: not read", 1, name);
}

/* train.csv was given itself: val.csv is not read, but may be meant. */
static void tell_part(const stk__site *site, size_t index, stk__source_info *info)
{
    char name[64];
    stk__site other = *site;
    stk__list_fit fit = {0};
    const char *slash = strrchr(site->file, '/'), *own = slash ? slash + 1 : site->file;
    const uint32_t part = name_part(index, name);
    if (!part) return;
    const bool there = has_table(site, name, other.file);
    if (there && !site->reading && part == STK_SOURCE_VAL &&
        !(stk__part_inside(own) & ~(uint32_t)STK_SOURCE_TRAIN) && look_at(&other, &fit, NULL) == STK_OK &&
        fit.list && fit.target && !fit.lacking)
        stk__left_out_add(info, "list for validation, not read: give it as data.val_root, or the folder", 1,
                          name);
    else
        tell_other(site, name, info);
}

void stk__list_tell_others(const stk__site *site, stk__source_info *info)
{
    for (size_t i = 0; i < BESIDE; i++)
        tell_other(site, beside[i], info);
    for (size_t i = 0; i < PART_TABLES; i++)
        tell_part(site, i, info);
    for (size_t i = 0; i < STEMS * ENDINGS; i++) {
        char name[64];
        name_table(i, name);
        tell_other(site, name, info);
    }
}

/* --- tables by what is in them ---------------------------------------------------------------------------
 */

enum { NAMES_MOST = 4096, TABLES_MOST = 16 };

/* Results are no list of what there is to learn. */
static bool is_result(const char *name)
{
    static const char *const starts[] = {"prediction", "submission", "sample", "result"};
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++)
        if (strncasecmp(name, starts[i], strlen(starts[i])) == 0) return true;
    return (stk__part_at_start(name) & ~(uint32_t)STK_SOURCE_TRAIN) != 0;
}

/* Images lie in root itself, or in one of its first folders. */
static bool has_image(const char *root, const char *cell)
{
    stk__folder_look look;
    if (stk__list_names_image(root, "", cell) || stk__list_names_image(root, "images/", cell)) return true;
    if (!stk__folder_look_at(&look, root)) return false;
    for (int i = 0; i < look.plain_count + look.word_count; i++) {
        char below[NAME_MAX + 2];
        const stk__looked_folder *folder =
            i < look.plain_count ? &look.plain[i] : &look.words[i - look.plain_count];
        snprintf(below, sizeof below, "%s/", folder->name);
        if (stk__list_names_image(root, below, cell)) return true;
    }
    return false;
}

/* any: also a table whose columns say nothing, if its first cell is an image. */
static bool is_list(const char *root, const char *name, bool any)
{
    const stk__source_options options = {.root = root};
    stk__site site = {.options = &options};
    stk__list_fit found;
    snprintf(site.root, sizeof site.root, "%s", root);
    if (!stk__path_join(site.file, root, name) || !stk__path_is_file(site.file)) return false;
    if (stk__list_look_csv(&site, &found, NULL) != STK_OK || !*found.cell) return false;
    const bool known = found.list && (found.target || (found.columns > 1 && !found.foldered));
    return (known || (any && found.columns > 1)) && has_image(root, found.cell);
}

static bool find_unnamed(const char *root, bool any, char name[NAME_MAX + 1])
{
    DIR *folder = opendir(root);
    int looked_at = 0;
    *name = '\0';
    if (!folder) return false;
    const struct dirent *found;
    for (int names = 0; names < NAMES_MOST && looked_at < TABLES_MOST && (found = readdir(folder)); names++) {
        const char *one = found->d_name;
        const size_t length = strlen(one);
        if (one[0] == '.' || is_result(one)) continue;
        if (!stk__text_ends_with(one, length, ".csv") && !stk__text_ends_with(one, length, ".tsv")) continue;
        looked_at++;
        if ((!*name || strcmp(one, name) < 0) && is_list(root, one, any))
            snprintf(name, NAME_MAX + 1, "%s", one);
    }
    closedir(folder);
    return *name != '\0';
}

bool stk__list_find_unnamed(const char *root, char name[NAME_MAX + 1])
{
    return find_unnamed(root, true, name);
}

stk_status stk__list_refuse_unnamed(const char *root, stk_error *error)
{
    char name[NAME_MAX + 1];
    stk__folder_look look;
    if (!stk__folder_look_at(&look, root) || look.images || look.plain_total == 0) return STK_OK;
    if (!find_unnamed(root, false, name)) return STK_OK;
    stk__fail(error, STK_ERROR_DATA,
              "'%s' can be read in two ways: '%s', which looks like a list of images, or folders of classes",
              root, name);
    stk__error_place(error, "%s", root);
    stk__error_hint(error, "data.root=%s/%s or data.layout=classes", root, name);
    return STK_ERROR_DATA;
}
