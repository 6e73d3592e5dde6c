/* SPDX-License-Identifier: Apache-2.0 */
/* Walks a folder tree and collects samples. One folder is open at a time; folders wait in a list, links to
 * folders behind them in bytewise order, and each folder is entered once (visited.c), so the result does
 * not depend on the order of readdir. */
#include "source/scan.h"

#include "core/logger.h"
#include "source/extension.h"
#include "source/kinds.h"
#include "source/visited.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { EXAMPLES = 1000 }; /* of the files that are not samples: the first by name of so many is told */

/* Folders are not entered when they are met but kept on a list, so one is open at a time however deep the
 * tree is. Real folders go before links, and links in bytewise order: which of two names of the same folder
 * its samples get must not depend on the order of readdir. */
typedef struct walker {
    stk__scan *scan;
    const char *root;
    stk__buffer folders; /* zero-terminated paths below root, one after the other; "" is root */
    size_t next_folder;  /* offset of the next one to enter */
    stk__catalog links;  /* paths below root of links to folders that wait */
    stk__visited visited;
    char path[PATH_MAX]; /* of the folder being read */
    const char *below;   /* the part of path below root, "" or "a/b" */
} walker;

/* "below/name", or "name" at the top; its length or 0 when it is too long. Of each file: snprintf would take
 * a quarter of the time of opening a large folder. */
static size_t join_below(const walker *walk, const char *name, char joined[PATH_MAX])
{
    const size_t above = strlen(walk->below), from = above ? above + 1 : 0, length = strlen(name);
    joined[0] = 0;
    if (from + length >= PATH_MAX) return 0;
    memcpy(joined, walk->below, above);
    joined[above] = '/';
    memcpy(joined + from, name, length + 1);
    return from + length;
}

static void count_stranger(const walker *walk, const char *name, const char *extension)
{
    char lower[STK_SCAN_STRANGER_BYTES] = "", path[PATH_MAX];
    const size_t length = strlen(extension);
    for (size_t i = 0; i < length && length < sizeof lower; i++)
        lower[i] = (char)tolower((unsigned char)extension[i]);
    for (int i = 0; i < STK_SCAN_STRANGERS; i++) {
        stk__scan *scan = walk->scan;
        const bool first = scan->strangers[i].count == 0, last = i == STK_SCAN_STRANGERS - 1;
        if (first) snprintf(scan->strangers[i].extension, sizeof lower, "%s", last ? "" : lower);
        if (!last && strcmp(scan->strangers[i].extension, lower) != 0) continue;
        scan->strangers[i].count++;
        if (scan->strangers[i].count > EXAMPLES) return;
        if (join_below(walk, name, path) && (first || strcmp(path, scan->strangers[i].example) < 0))
            snprintf(scan->strangers[i].example, sizeof scan->strangers[i].example, "%.159s", path);
        return;
    }
}

static stk_status refuse_length(const walker *walk, const char *name, stk_error *error)
{
    stk__fail(error, STK_ERROR_IO, "a path in the data set is longer than %d bytes", PATH_MAX - 1);
    stk__error_place(error, "%s/%s", walk->root, name);
    stk__error_hint(error, "move the data set nearer to the root of the file system, or shorten its names");
    return STK_ERROR_IO;
}

static stk_status add_sample(walker *walk, const char *name, size_t stem, uint8_t code, stk_error *error)
{
    char key[PATH_MAX];
    const size_t length = join_below(walk, name, key), extension = strlen(name) - stem;
    if (length == 0 || strlen(walk->root) + 1 + length >= PATH_MAX) return refuse_length(walk, name, error);
    stk__catalog *samples = &walk->scan->samples;
    STK__TRY(stk__catalog_add(samples, key, length - extension, 0, error));
    stk__catalog_at(samples, stk__catalog_count(samples) - 1)->extension = code;
    return STK_OK;
}

static stk_status add_folder(walker *walk, const char *name, bool link, stk_error *error)
{
    char below[PATH_MAX];
    const size_t length = join_below(walk, name, below);
    if (length == 0) return refuse_length(walk, name, error);
    if (link) return stk__catalog_add(&walk->links, below, length, 0, error);
    return stk__buffer_text(&walk->folders, below, length, NULL, error);
}

/* Only links and file systems that do not tell the type cost a call. */
static unsigned char type_of(int folder, const struct dirent *found)
{
    struct stat facts;
    if (found->d_type != DT_UNKNOWN) return found->d_type;
    if (fstatat(folder, found->d_name, &facts, AT_SYMLINK_NOFOLLOW) != 0) return DT_UNKNOWN;
    return (unsigned char)IFTODT(facts.st_mode);
}

static bool leads_to_folder(int folder, const char *name)
{
    struct stat facts;
    return fstatat(folder, name, &facts, 0) == 0 && S_ISDIR(facts.st_mode);
}

static void note_other_file(walker *walk, const char *name, size_t stem)
{
    stk__scan *scan = walk->scan;
    const char *extension = name + stem + (name[stem] == '.');
    count_stranger(walk, name, extension);
    if (*walk->below || strcasecmp(extension, "csv") != 0) return;
    if (scan->tables++ == 0) snprintf(scan->table, sizeof scan->table, "%s", name);
}

static stk_status take_name(walker *walk, int folder, const struct dirent *found, stk_error *error)
{
    const char *name = found->d_name;
    if (name[0] == '.') return STK_OK;
    const size_t length = strlen(name), stem = stk__extension_stem(name, length);
    const uint8_t code =
        stem < length ? stk__extension_code(name + stem + 1, length - stem - 1) : STK_EXTENSION_NONE;
    if (code != STK_EXTENSION_NONE) return add_sample(walk, name, stem, code, error);
    if (stk__scan_is_system(name)) return STK_OK;
    const unsigned char type = type_of(folder, found);
    if (walk->scan->skip && !*walk->below && strcmp(name, walk->scan->skip) == 0) return STK_OK;
    if (type == DT_DIR) return add_folder(walk, name, false, error);
    if (type == DT_LNK && leads_to_folder(folder, name)) return add_folder(walk, name, true, error);
    note_other_file(walk, name, stem);
    return STK_OK;
}

static bool has_enough(const stk__scan *scan)
{
    return scan->stop_after && stk__catalog_count(&scan->samples) >= scan->stop_after;
}

static stk_status refuse_folder(const walker *walk, int error_number, stk_error *error)
{
    const stk_status status = stk__fail_errno(error, error_number, "cannot read a folder of the data set");
    stk__error_place(error, "%s", walk->path);
    stk__error_hint(
        error,
        "samples in it would be missing: make it readable, or exclude it with a leading dot in its name");
    return status;
}

static stk_status read_names(walker *walk, DIR *folder, stk_error *error)
{
    while (!has_enough(walk->scan)) {
        errno = 0;
        const struct dirent *found = readdir(folder);
        if (!found) return errno ? refuse_folder(walk, errno, error) : STK_OK;
        STK__TRY(take_name(walk, dirfd(folder), found, error));
    }
    return STK_OK;
}

bool stk__scan_is_system(const char *name)
{
    static const char *const names[] = {"@eaDir", "__MACOSX", "$RECYCLE.BIN", "#recycle", "__pycache__"};
    if (*name != '@' && *name != '_' && *name != '$' && *name != '#') return false;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0) return true;
    return false;
}

bool stk__scan_is_run(int folder)
{
    return faccessat(folder, "metrics.jsonl", F_OK, 0) == 0 && faccessat(folder, "config.yaml", F_OK, 0) == 0;
}

static stk_status read_open_folder(walker *walk, DIR *folder, stk_error *error)
{
    struct stat facts;
    if (*walk->below && stk__scan_is_run(dirfd(folder))) {
        if (walk->scan->runs++ == 0) snprintf(walk->scan->run, sizeof walk->scan->run, "%.255s", walk->below);
        return STK_OK;
    }
    if (fstat(dirfd(folder), &facts) != 0) return refuse_folder(walk, errno, error);
    bool first;
    STK__TRY(stk__visited_add(&walk->visited, facts.st_dev, facts.st_ino, &first, error));
    if (first) return read_names(walk, folder, error);
    stk__log(STK_LOG_DEBUG, "'%s' is a link to a folder that was already read: ignored", walk->path);
    return STK_OK;
}

static stk_status enter_folder(walker *walk, const char *below, stk_error *error)
{
    const int length = snprintf(walk->path, PATH_MAX, "%s%s%s", walk->root, *below ? "/" : "", below);
    if (length < 0 || length >= PATH_MAX) return refuse_length(walk, below, error);
    walk->below = *below ? walk->path + strlen(walk->root) + 1 : "";
    DIR *folder = opendir(walk->path);
    if (!folder) return refuse_folder(walk, errno, error);
    const stk_status status = read_open_folder(walk, folder, error);
    closedir(folder);
    return status;
}

/* Moves the links met so far behind the folders. */
static stk_status take_links(walker *walk, stk_error *error)
{
    stk__catalog_sort(&walk->links);
    for (uint64_t i = 0; i < stk__catalog_count(&walk->links); i++) {
        const stk__entry *link = stk__catalog_at(&walk->links, i);
        STK__TRY(stk__buffer_text(&walk->folders, stk__catalog_key(&walk->links, link), link->length, NULL,
                                  error));
    }
    stk__catalog_fini(&walk->links);
    return STK_OK;
}

static stk_status walk_all(walker *walk, stk_error *error)
{
    STK__TRY(stk__buffer_text(&walk->folders, "", 0, NULL, error));
    while (walk->next_folder < walk->folders.size_bytes && !has_enough(walk->scan)) {
        char below[PATH_MAX]; /* the list moves when it grows */
        snprintf(below, sizeof below, "%s", (const char *)walk->folders.data + walk->next_folder);
        walk->next_folder += strlen(below) + 1;
        STK__TRY(enter_folder(walk, below, error));
        if (walk->next_folder == walk->folders.size_bytes) STK__TRY(take_links(walk, error));
    }
    return STK_OK;
}

stk_status stk__scan_folder(stk__scan *scan, const char *folder, stk_error *error)
{
    walker walk = {.scan = scan, .root = folder, .below = ""};
    const stk_status status = walk_all(&walk, error);
    stk__buffer_fini(&walk.folders);
    stk__catalog_fini(&walk.links);
    stk__visited_fini(&walk.visited);
    return status;
}

stk_status stk__scan_nothing(const stk__scan *scan, const char *folder, stk_error *error)
{
    int most = -1;
    for (int i = 0; i < STK_SCAN_STRANGERS; i++)
        if (scan->strangers[i].extension[0] && scan->strangers[i].count &&
            (most < 0 || scan->strangers[i].count > scan->strangers[most].count))
            most = i;
    if (most >= 0)
        stk__fail(error, STK_ERROR_DATA, "found no images in '%s', but %llu .%s file%s: unsupported format",
                  folder, (unsigned long long)scan->strangers[most].count, scan->strangers[most].extension,
                  scan->strangers[most].count == 1 ? "" : "s");
    else
        stk__fail(error, STK_ERROR_DATA, "found no images in '%s'", folder);
    stk__error_place(error, "%s", folder);
    const char *convert = most >= 0 ? stk__unsupported_hint(scan->strangers[most].extension) : NULL;
    if (convert)
        stk__error_hint(error, "%s", convert);
    else
        stk__error_hint(
            error, "looked for .jpg .jpeg .png .npy below images/ with masks/, below a folder per class, or "
                   "at the top; for labels.csv|tsv|jsonl, points.csv|jsonl, train.csv, series.csv|npy");
    return STK_ERROR_DATA;
}

void stk__scan_fini(stk__scan *scan)
{
    stk__catalog_fini(&scan->samples);
}
