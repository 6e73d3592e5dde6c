/* SPDX-License-Identifier: Apache-2.0 */
/* Looks at a root, finds the kind of source it is, and opens it. */
#include "source/source.h"

#include "core/logger.h"
#include "core/text.h"
#include "source/kinds.h"
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

static bool has_folder(const char *root, const char *name)
{
    char path[PATH_MAX];
    return stk__path_join(path, root, name) && stk__path_is_folder(path);
}

bool stk__source_has_parts(const char *root)
{
    return root && has_folder(root, "train") && has_folder(root, "val");
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

static stk_status open_file(stk__source **source, stk__site *site, stk_error *error)
{
    bool list = ends_with(site->file, ".jsonl");
    if (ends_with(site->file, ".tar")) return stk__shards_open(source, site, error);
    if (ends_with(site->file, ".csv") || ends_with(site->file, ".tsv") || ends_with(site->file, ".txt"))
        STK__TRY(stk__list_fits(site, &list, error));
    if (!list && !ends_with(site->file, ".csv") && !ends_with(site->file, ".npy"))
        return stk__foreign_refuse_file(site->file, error);
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

static stk_status open_folder(stk__source **source, stk__site *site, stk_error *error)
{
    bool list;
    STK__TRY(stk__list_find(site, &list, error));
    if (has_folder(site->root, "images") && has_folder(site->root, "masks")) {
        if (list) stk__log(STK_LOG_WARNING, "'%s' is ignored: there are images/ and masks/", site->file);
        return stk__pairs_open(source, site, error);
    }
    if (list) return stk__list_open(source, site, error);
    if (find_file(site, series_names, SERIES_NAMES)) return stk__series_open(source, site, error);
    bool shards;
    STK__TRY(has_shards(site, &shards, error));
    if (shards) return stk__shards_open(source, site, error);
    STK__TRY(stk__pack_note_refuse(site->root, error));
    STK__TRY(stk__foreign_refuse_folder(site->root, error));
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

static bool enter_part(stk__site *site, const char *root)
{
    const char *part = site->options->part;
    if (!part || !stk__source_has_parts(root)) return stk__path_join(site->root, root, "");
    return stk__path_join(site->root, root, part) &&
           stk__path_join(site->sibling, root, strcmp(part, "train") == 0 ? "val" : "train");
}

static stk_status find_site(stk__site *site, bool *folder, stk_error *error)
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
    if (!enter_part(site, root)) return refuse_root(root, ENAMETOOLONG, error);
    for (size_t end = strlen(site->root); end > 1 && site->root[end - 1] == '/'; end--)
        site->root[end - 1] = '\0';
    return STK_OK;
}

stk_status stk__source_open(stk__source **source, const stk__source_options *options, stk_error *error)
{
    *source = NULL;
    if (!options->root || !*options->root) {
        stk__fail(error, STK_ERROR_ARGUMENT, "data.root is not set");
        stk__error_hint(error, "give a folder, a list, a series, or make:faces");
        return STK_ERROR_ARGUMENT;
    }
    if (options->part && strcmp(options->part, "train") != 0 && strcmp(options->part, "val") != 0 &&
        strcmp(options->part, "test") != 0)
        return stk__fail(error, STK_ERROR_ARGUMENT, "the part '%s' is none of 'train', 'val' and 'test'",
                         options->part);
    if (strncmp(options->root, made_prefix, strlen(made_prefix)) == 0)
        return stk__made_open(source, options, error);
    stk__site site = {.options = options};
    bool folder;
    STK__TRY(find_site(&site, &folder, error));
    return folder ? open_folder(source, &site, error) : open_file(source, &site, error);
}

void stk__source_close(stk__source **source)
{
    if (*source) (*source)->ops->close(*source);
    *source = NULL;
}
