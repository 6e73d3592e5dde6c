/* SPDX-License-Identifier: Apache-2.0 */
/* Which files are the shards of a root. */
#include "source/shards/shards.h"

#include "core/text.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { SHARDS_MOST = 1000000 };

static const char suffix[] = ".tar";

bool stk__shards_named(const char *name)
{
    return name[0] != '.' && stk__text_ends_with(name, strlen(name), suffix);
}

static stk_status refuse_folder(const char *folder, int error_number, stk_error *error)
{
    const stk_status status = stk__fail_errno(error, error_number, "cannot read a folder of the data set");
    stk__error_place(error, "%s", folder);
    return status;
}

/* Called like one, and no folder: a class may have such a name. */
static bool is_shard(const char *folder, const struct dirent *entry)
{
    char path[PATH_MAX];
    if (!stk__shards_named(entry->d_name) || entry->d_type == DT_DIR) return false;
    if (entry->d_type != DT_UNKNOWN && entry->d_type != DT_LNK) return true;
    return !stk__path_join(path, folder, entry->d_name) || !stk__path_is_folder(path);
}

bool stk__shards_fit(const char *folder)
{
    DIR *opened = opendir(folder);
    bool found = false;
    for (const struct dirent *entry; opened && !found && (entry = readdir(opened));)
        found = is_shard(folder, entry);
    if (opened) closedir(opened);
    return found;
}

static stk_status read_names(stk__shards *shards, DIR *folder, const char *path, stk_error *error)
{
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(folder);
        if (!entry) return errno ? refuse_folder(path, errno, error) : STK_OK;
        if (is_shard(path, entry))
            STK__TRY(stk__catalog_add(&shards->shards, entry->d_name, strlen(entry->d_name), 0, error));
    }
}

static stk_status find_in_folder(stk__shards *shards, const char *path, stk_error *error)
{
    DIR *folder = opendir(path);
    if (!folder) return refuse_folder(path, errno, error);
    const stk_status status = read_names(shards, folder, path, error);
    closedir(folder);
    return status;
}

/* {first..last} in a text: where it begins and ends, and its numbers. */
typedef struct range {
    const char *open, *close; /* the braces */
    uint64_t first, last;
    int width; /* of the digits; 0: as many as there are */
} range;

static bool read_digits(const char **at, uint64_t *number, int *width)
{
    const char *start = *at;
    for (*number = 0; **at >= '0' && **at <= '9' && *at - start < 18; (*at)++)
        *number = *number * 10 + (uint64_t)(**at - '0');
    *width = start[0] == '0' && *at - start > 1 ? (int)(*at - start) : 0;
    return *at > start;
}

static bool find_range(const char *text, range *found)
{
    for (const char *open = strchr(text, '{'); open; open = strchr(open + 1, '{')) {
        const char *at = open + 1;
        int width;
        if (!read_digits(&at, &found->first, &found->width) || strncmp(at, "..", 2) != 0) continue;
        at += 2;
        if (!read_digits(&at, &found->last, &width) || *at != '}') continue;
        found->open = open;
        found->close = at;
        return true;
    }
    return false;
}

const char *stk__shards_range(const char *path)
{
    range found;
    const char *slash = strrchr(path, '/');
    return stk__shards_named(slash ? slash + 1 : path) && find_range(path, &found) ? found.open : NULL;
}

static stk_status refuse_range(const char *pattern, const char *why, stk_error *error)
{
    stk__fail(error, STK_ERROR_DATA, "the range of shards '%s' %s", pattern, why);
    stk__error_place(error, "%s", pattern);
    stk__error_hint(error, "such as faces-{000000..000012}.tar");
    return STK_ERROR_DATA;
}

/* Adds the names that a pattern stands for, which is `whole` or, of several ranges, `whole` with numbers in
 * the first of them. */
static stk_status expand(stk__shards *shards, const char *pattern, const char *whole, stk_error *error)
{
    range found;
    if (!find_range(pattern, &found)) {
        if (stk__catalog_count(&shards->shards) >= SHARDS_MOST)
            return refuse_range(whole, "has more than 1000000 shards", error);
        return stk__catalog_add(&shards->shards, pattern, strlen(pattern), 0, error);
    }
    if (found.first > found.last) return refuse_range(pattern, "ends before it begins", error);
    for (uint64_t i = found.first; i <= found.last; i++) {
        char name[PATH_MAX];
        if (snprintf(name, sizeof name, "%.*s%0*llu%s", (int)(found.open - pattern), pattern, found.width,
                     (unsigned long long)i, found.close + 1) >= (int)sizeof name)
            return refuse_range(pattern, "is too long", error);
        STK__TRY(expand(shards, name, whole, error));
    }
    return STK_OK;
}

stk_status stk__shards_find(stk__shards *shards, const stk__site *site, stk_error *error)
{
    if (!*site->file) {
        STK__TRY(find_in_folder(shards, site->root, error));
    } else {
        const char *open = stk__path_is_file(site->file) ? NULL : stk__shards_range(site->file);
        const char *end = open ? open : site->file + strlen(site->file);
        const char *slash = memrchr(site->file, '/', (size_t)(end - site->file));
        const char *name = slash ? slash + 1 : site->file; /* below the root */
        STK__TRY(open ? expand(shards, name, name, error)
                      : stk__catalog_add(&shards->shards, name, strlen(name), 0, error));
    }
    stk__catalog_sort(&shards->shards);
    return STK_OK;
}
