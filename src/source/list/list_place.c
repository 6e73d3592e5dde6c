/* SPDX-License-Identifier: Apache-2.0 */
/* Where the files of a list are. Names are relative to images/ or to the list's folder; if none of the first
 * ones is there, one scan of the folder tells which other folder has them, and which extension names without
 * one stand for. No file system call per row. One thread, while a list opens. */
#include "source/list/list.h"

#include "core/logger.h"
#include "core/text.h"
#include "source/extension.h"
#include "source/part_words.h"
#include "source/scan.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { PROBES = 16, CANDIDATES = 64 };

static bool is_good(const stk__list *list, const stk__entry *entry)
{
    return ((const stk__row *)(const void *)list->rows.data)[entry->row].state == STK_ROW_GOOD;
}

static bool is_there(const stk__list *list, const stk__entry *entry)
{
    char path[PATH_MAX];
    stk__files_path(&list->files.catalog, entry, list->files.images, path, sizeof path);
    return stk__path_is_file(path);
}

/* Ids of the first good rows. */
static size_t choose_probes(const stk__list *list, uint64_t probes[PROBES])
{
    size_t count = 0;
    for (uint64_t i = 0; i < stk__catalog_count(&list->files.catalog) && count < PROBES; i++)
        if (is_good(list, stk__catalog_at(&list->files.catalog, i))) probes[count++] = i;
    return count;
}

/* --- the folder ----------------------------------------------------------------------------------------- */

/* A folder that has the files: the start of a key of the scan, with '/' at the end; length 0 is the root. */
typedef struct candidate {
    const char *folder;
    size_t length, found; /* probes that are in it */
    int rank;             /* by its name; below 0: never */
} candidate;

typedef struct search {
    const stk__catalog *files; /* of the scan, sorted */
    uint64_t probes[PROBES];
    size_t probe_count;
    candidate candidates[CANDIDATES];
    size_t count;
} search;

static bool starts_with(const char *text, const char *start)
{
    return *start && strncasecmp(text, start, strlen(start)) == 0;
}

/* train.csv is about train/ and train_images/, never about test/. */
static int rank_folder(const char *folder, size_t length, const char *list_word)
{
    static const char *const images[] = {"images", "image", "imgs", "img", "jpegimages", "photos"};
    static const char *const never[] = {"mask", "label", "annotation", "segmentation", "gt", "ground"};
    int rank = 0;
    for (const char *part = folder; part < folder + length; part = strchr(part, '/') + 1) {
        if (starts_with(part, list_word)) return 2;
        for (size_t i = 0; i < sizeof images / sizeof images[0]; i++)
            if (starts_with(part, images[i])) rank = 1;
        for (size_t i = 0; i < sizeof never / sizeof never[0]; i++)
            if (starts_with(part, never[i])) return -1;
        size_t letters = 0;
        while (isalpha((unsigned char)part[letters]))
            letters++;
        if (stk__part_of_folder(part, letters) & ~(uint32_t)STK_SOURCE_TRAIN) return -1;
    }
    return rank;
}

/* "train" of "data/train_labels.csv"; "" of names that say nothing of a part. */
static void find_word(const char *path, char word[16])
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    uint32_t part = stk__part_at_start(name);
    if (stk__text_ends_with(name, strlen(name), ".json") && stk__part_inside(name))
        part = stk__part_inside(name); /* person_keypoints_val2017.json */
    snprintf(word, 16, "%s", part ? stk__part_name(part) : "");
}

/* The name as a scan has it: without the extension of an image. */
static void name_as_key(const stk__list *list, const stk__entry *entry, char name[PATH_MAX])
{
    const stk__catalog *names = &list->files.catalog;
    const char *extension =
        entry->extension == STK_EXTENSION_OTHER ? stk__files_extension(names, entry) : NULL;
    snprintf(name, PATH_MAX, "%s%s%s", stk__catalog_key(names, entry), extension ? "." : "",
             extension ? extension : "");
}

static const stk__entry *find_file(const search *find, const candidate *in, const char *name)
{
    char path[2 * PATH_MAX];
    const int size = snprintf(path, sizeof path, "%.*s%s", (int)in->length, in->folder, name);
    return stk__catalog_find(find->files, path, (size_t)size);
}

/* Folders with a file of this name; usual: where names of a list are, but for their extension. */
static void find_candidates(search *find, const char *name, const char *word, const char *usual)
{
    const size_t length = strlen(name);
    for (uint64_t i = 0; i < stk__catalog_count(find->files) && find->count < CANDIDATES; i++) {
        const stk__entry *file = stk__catalog_at(find->files, i);
        const char *key = stk__catalog_key(find->files, file);
        const size_t above = file->length < length ? 0 : file->length - length;
        if (file->length < length || memcmp(key + above, name, length) != 0) continue;
        if (above && key[above - 1] != '/') continue;
        const bool here = strlen(usual) == above && memcmp(key, usual, above) == 0;
        const candidate one = {key, above, 0, here ? 3 : rank_folder(key, above, word)};
        const candidate *last = find->count ? &find->candidates[find->count - 1] : NULL;
        if (last && last->length == above && memcmp(last->folder, key, above) == 0) continue;
        if (one.rank >= 0) find->candidates[find->count++] = one;
    }
}

static void count_found(const stk__list *list, search *find)
{
    for (size_t i = 0; i < find->count; i++)
        for (size_t p = 0; p < find->probe_count; p++) {
            char name[PATH_MAX];
            name_as_key(list, stk__catalog_at(&list->files.catalog, find->probes[p]), name);
            find->candidates[i].found += find_file(find, &find->candidates[i], name) != NULL;
        }
}

static bool is_better(const candidate *a, const candidate *b)
{
    return a->found != b->found ? a->found > b->found : a->rank > b->rank;
}

static stk_status refuse_two(const stk__list *list, const candidate *a, const candidate *b, stk_error *error)
{
    stk__fail(error, STK_ERROR_DATA, "the files of the list can be those in '%s/%.*s' or in '%s/%.*s'",
              list->root, (int)a->length, a->folder, list->root, (int)b->length, b->folder);
    stk__error_place(error, "%s", list->path);
    stk__error_hint(error,
                    "write the folder in front of the names in the list, or put the images into images/");
    return STK_ERROR_DATA;
}

/* *best: the folder that has most of the probes; NULL: none. */
static stk_status choose_folder(const stk__list *list, search *find, const candidate **best, stk_error *error)
{
    char name[PATH_MAX], word[16];
    find_word(list->path, word);
    for (size_t p = 0; p < find->probe_count && find->count == 0; p++) {
        name_as_key(list, stk__catalog_at(&list->files.catalog, find->probes[p]), name);
        find_candidates(find, name, word, list->below_images ? "images/" : "");
    }
    count_found(list, find);
    *best = NULL;
    for (size_t i = 0; i < find->count; i++)
        if (!*best || is_better(&find->candidates[i], *best)) *best = &find->candidates[i];
    for (size_t i = 0; *best && i < find->count; i++)
        if (&find->candidates[i] != *best && !is_better(*best, &find->candidates[i]))
            return refuse_two(list, *best, &find->candidates[i], error);
    return STK_OK;
}

static stk_status move_to(stk__list *list, const candidate *to, stk_error *error)
{
    char path[PATH_MAX];
    const size_t length = to->length ? to->length - 1 : 0; /* without the '/' at its end */
    if (snprintf(path, sizeof path, "%s%s%.*s", list->root, length ? "/" : "", (int)length, to->folder) >=
        (int)sizeof path)
        return STK_OK;
    char *images = stk__text_copy(path);
    if (!images) return stk__fail_memory(error, strlen(path) + 1, "the path of a folder");
    stk__free(list->files.images);
    list->files.images = images;
    stk__log(STK_LOG_INFO, "the files of '%s' are in '%s'", list->path, images);
    return STK_OK;
}

/* --- extensions ----------------------------------------------------------------------------------------- */

static stk_status refuse_extensions(const stk__list *list, const search *find, const stk__entry *file,
                                    stk_error *error)
{
    char first[PATH_MAX], second[PATH_MAX];
    stk__files_path(find->files, file, "", first, sizeof first);
    stk__files_path(find->files, file + 1, "", second, sizeof second);
    stk__fail(error, STK_ERROR_DATA, "a name of the list can be '%s' or '%s'", first + 1, second + 1);
    stk__error_place(error, "%s", list->path);
    stk__error_hint(error, "write the names with their extensions, or remove one of the files");
    return STK_ERROR_DATA;
}

/* 000001 -> 000001.jpg; "a.b" -> a.b.jpg, whose key is "a.b". */
static stk_status extend(stk__list *list, const search *find, const candidate *in, stk__entry *entry,
                         stk_error *error)
{
    char name[PATH_MAX];
    name_as_key(list, entry, name);
    const stk__entry *file = find_file(find, in, name);
    const stk__entry *end = stk__catalog_at(find->files, stk__catalog_count(find->files));
    if (!file) return STK_OK;
    while (file > stk__catalog_at(find->files, 0) && file[-1].length == file->length &&
           memcmp(stk__catalog_key(find->files, file - 1), stk__catalog_key(find->files, file),
                  file->length) == 0)
        file--;
    if (file + 1 < end && file[1].length == file->length &&
        memcmp(stk__catalog_key(find->files, file + 1), stk__catalog_key(find->files, file), file->length) ==
            0)
        return refuse_extensions(list, find, file, error);
    if (entry->extension == STK_EXTENSION_OTHER) {
        size_t offset;
        STK__TRY(stk__buffer_text(&list->files.catalog.texts, name, strlen(name), &offset, error));
        entry->offset = offset;
        entry->length = (uint16_t)strlen(name);
    }
    entry->extension = file->extension;
    return STK_OK;
}

static stk_status extend_all(stk__list *list, const search *find, const candidate *in, stk_error *error)
{
    for (uint64_t i = 0; i < stk__catalog_count(&list->files.catalog); i++) {
        stk__entry *entry = stk__catalog_at(&list->files.catalog, i);
        if (entry->extension < STK_EXTENSION_OTHER || !is_good(list, entry)) continue;
        STK__TRY(extend(list, find, in, entry, error));
    }
    return STK_OK;
}

/* --- several folders ---------------------------------------------------------------------------------------
 *
 * part_1/ and part_2/, and names in the list that say nothing of them: files are found by the end of their
 * path. */

/* True when a name is not in the folder, but, with names given, among these. */
static bool lacks_some(const stk__list *list, const search *find, const candidate *in,
                       const stk__catalog *names)
{
    char name[PATH_MAX];
    for (uint64_t i = 0; i < stk__catalog_count(&list->files.catalog); i++) {
        const stk__entry *entry = stk__catalog_at(&list->files.catalog, i);
        if (!is_good(list, entry)) continue;
        name_as_key(list, entry, name);
        if (!find_file(find, in, name) && (!names || stk__catalog_find(names, name, strlen(name))))
            return true;
    }
    return false;
}

/* Keys are names without folders, row is the place in the scan. Without folders that never belong to a list.
 */
static stk_status index_names(const stk__list *list, const search *find, stk__catalog *names,
                              stk_error *error)
{
    char word[16];
    find_word(list->path, word);
    for (uint64_t i = 0; i < stk__catalog_count(find->files); i++) {
        const stk__entry *file = stk__catalog_at(find->files, i);
        const char *key = stk__catalog_key(find->files, file), *slash = strrchr(key, '/');
        const size_t above = slash ? (size_t)(slash + 1 - key) : 0;
        if (rank_folder(key, above, word) < 0) continue;
        STK__TRY(stk__catalog_add(names, key + above, file->length - above, (uint32_t)i, error));
    }
    stk__catalog_sort(names);
    return STK_OK;
}

/* The first of the names that are equal. */
static const stk__entry *find_name(const stk__catalog *names, const char *name, size_t length)
{
    const stk__entry *found = stk__catalog_find(names, name, length), *start = stk__catalog_at(names, 0);
    while (found && found > start && found[-1].length == length &&
           memcmp(stk__catalog_key(names, found - 1), name, length) == 0)
        found--;
    return found;
}

static stk_status refuse_files(const stk__list *list, const search *find, const uint32_t files[2],
                               stk_error *error)
{
    char first[PATH_MAX], second[PATH_MAX];
    stk__files_path(find->files, stk__catalog_at(find->files, files[0]), "", first, sizeof first);
    stk__files_path(find->files, stk__catalog_at(find->files, files[1]), "", second, sizeof second);
    stk__fail(error, STK_ERROR_DATA, "a name of the list can be '%s' or '%s'", first + 1, second + 1);
    stk__error_place(error, "%s", list->path);
    stk__error_hint(error, "write the folder and the extension with the names in the list");
    return STK_ERROR_DATA;
}

static stk_status place_entry(stk__list *list, const search *find, const stk__catalog *names,
                              stk__entry *entry, stk_error *error)
{
    char name[PATH_MAX];
    name_as_key(list, entry, name);
    const size_t length = strlen(name);
    const stk__entry *at = find_name(names, name, length),
                     *end = stk__catalog_at(names, stk__catalog_count(names));
    uint32_t files[2] = {0};
    size_t count = 0;
    for (; at && at < end && at->length == length && count < 2; at++) {
        if (memcmp(stk__catalog_key(names, at), name, length) != 0) break;
        const uint8_t extension = stk__catalog_at(find->files, at->row)->extension;
        if (entry->extension >= STK_EXTENSION_OTHER || entry->extension == extension)
            files[count++] = at->row;
    }
    if (count == 0) return STK_OK; /* missing when it is read */
    if (count > 1) return refuse_files(list, find, files, error);
    const stk__entry *file = stk__catalog_at(find->files, files[0]);
    size_t offset;
    STK__TRY(stk__buffer_text(&list->files.catalog.texts, stk__catalog_key(find->files, file), file->length,
                              &offset, error));
    entry->offset = offset;
    entry->length = file->length;
    entry->extension = file->extension;
    return STK_OK;
}

static stk_status place_by_name(stk__list *list, const search *find, const stk__catalog *names,
                                stk_error *error)
{
    static const candidate root = {"", 0, 0, 0};
    STK__TRY(move_to(list, &root, error));
    for (uint64_t i = 0; i < stk__catalog_count(&list->files.catalog); i++) {
        stk__entry *entry = stk__catalog_at(&list->files.catalog, i);
        if (is_good(list, entry)) STK__TRY(place_entry(list, find, names, entry, error));
    }
    return STK_OK;
}

/* *done: the files are in several folders, and every one is found. */
static stk_status spread(stk__list *list, const search *find, const candidate *in, bool *done,
                         stk_error *error)
{
    stk__catalog names = {0};
    *done = false;
    if (in->length == 0 || !lacks_some(list, find, in, NULL)) return STK_OK;
    stk_status status = index_names(list, find, &names, error);
    *done = status == STK_OK && lacks_some(list, find, in, &names);
    if (*done) status = place_by_name(list, find, &names, error);
    stk__catalog_fini(&names);
    return status;
}

/* --- both ----------------------------------------------------------------------------------------------- */

static stk_status place_scanned(stk__list *list, search *find, bool there, stk_error *error)
{
    static const candidate here = {"", 0, 0, 0};
    const candidate *in = &here;
    if (!there) {
        STK__TRY(choose_folder(list, find, &in, error));
        if (!in) return STK_OK; /* each is missing when it is read */
        bool several;
        STK__TRY(spread(list, find, in, &several, error));
        if (several) return STK_OK;
        STK__TRY(move_to(list, in, error));
    }
    return extend_all(list, find, in, error);
}

static stk_status scan_and_place(stk__list *list, search *find, bool there, stk_error *error)
{
    stk__scan scan = {0};
    stk_status status = stk__scan_folder(&scan, there ? list->files.images : list->root, error);
    if (status == STK_OK) {
        stk__catalog_sort(&scan.samples);
        find->files = &scan.samples;
        status = place_scanned(list, find, there, error);
    }
    stk__scan_fini(&scan);
    return status;
}

stk_status stk__list_place(stk__list *list, stk_error *error)
{
    search find = {0};
    bool there = false, bare = false;
    find.probe_count = choose_probes(list, find.probes);
    for (size_t i = 0; i < find.probe_count && !there; i++)
        there = is_there(list, stk__catalog_at(&list->files.catalog, find.probes[i]));
    for (uint64_t i = 0; i < stk__catalog_count(&list->files.catalog) && !bare; i++) {
        const stk__entry *entry = stk__catalog_at(&list->files.catalog, i);
        bare = entry->extension == STK_EXTENSION_NONE && is_good(list, entry);
    }
    if (find.probe_count == 0 || (there && !bare)) return STK_OK;
    return scan_and_place(list, &find, there, error);
}
