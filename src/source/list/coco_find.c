/* SPDX-License-Identifier: Apache-2.0 */
/* Which JSON file of a folder has COCO's key points: by a table of names and the folders that are called
 * annotations. Files whose names say train, val and test are parts of one data set. A file is read once, up
 * to its first key point; boxes and polygons alone are unsupported_formats.c's to refuse. One thread, while a
 * source opens. */
#include "source/kinds.h"

#include "core/text.h"
#include "source/list/list.h"
#include "source/reader.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const folders[] = {"annotations", "Annotations", "annotation", "labels"};
static const char *const files[] = {"annotations.json",
                                    "_annotations.coco.json",
                                    "coco.json",
                                    "keypoints.json",
                                    "person_keypoints.json",
                                    "person_keypoints_default.json",
                                    "instances_default.json",
                                    "result.json",
                                    "labels.json"};
enum {
    FOLDERS = sizeof folders / sizeof folders[0],
    FILES = sizeof files / sizeof files[0],
    NAMES_MOST = 1000, /* of a folder that are looked at */
};

/* --- one file ------------------------------------------------------------------------------------------- */

static int next_filled(stk__byte_reader *reader)
{
    int byte;
    do
        byte = stk__byte_reader_next(reader);
    while (byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t');
    return byte;
}

/* "keypoints": [ with something in it: names of points, or numbers. */
static bool find_points(stk__byte_reader *reader)
{
    static const char word[] = "\"keypoints\"";
    size_t matched = 0;
    for (int byte; (byte = stk__byte_reader_next(reader)) != STK_BYTE_READER_END;) {
        matched = byte == word[matched] ? matched + 1 : byte == '"';
        if (word[matched]) continue;
        matched = 0;
        if (next_filled(reader) != ':' || next_filled(reader) != '[') continue;
        byte = next_filled(reader);
        if (byte != ']' && byte != '[' && byte != '{') return true;
    }
    return false;
}

/* Its first bytes: an object with the keys of COCO. */
static bool is_coco(stk__byte_reader *reader)
{
    static const char *const keys[] = {"\"images\"", "\"annotations\"", "\"categories\"", "\"licenses\""};
    char start[4096];
    size_t length = 0;
    bool named = false;
    for (int byte; length + 1 < sizeof start && (byte = stk__byte_reader_next(reader)) >= 0;)
        start[length++] = (char)(byte ? byte : ' ');
    start[length] = '\0';
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        named |= strstr(start, keys[i]) != NULL;
    return named && start[strspn(start, " \n\r\t")] == '{';
}

stk_status stk__coco_has_points(const char *path, bool *found, stk_error *error)
{
    stk__byte_reader reader;
    stk_error why = {0};
    *found = false;
    if (!stk__text_ends_with(path, strlen(path), ".json") || !stk__path_is_file(path)) return STK_OK;
    const stk_status status = stk__byte_reader_open(&reader, path, &why);
    if (status == STK_OK && is_coco(&reader)) {
        stk__byte_reader_seek(&reader, 0);
        *found = find_points(&reader);
    }
    stk__byte_reader_close(&reader);
    if (status == STK_ERROR_MEMORY && error) *error = why;
    return status == STK_ERROR_MEMORY ? status : STK_OK; /* what cannot be read is unsupported_formats.c's */
}

/* --- a folder ------------------------------------------------------------------------------------------- */

static stk_status refuse_two(const stk__site *site, const char *a, const char *b, stk_error *error)
{
    stk__fail(error, STK_ERROR_DATA, "'%s' has two COCO files with key points, '%s' and '%s'", site->root, a,
              b);
    stk__error_place(error, "%s", site->root);
    stk__error_hint(error, "give one of them as the data set, with data.val_root= for the other");
    return STK_ERROR_DATA;
}

static stk_status take_file(stk__site *site, const char *path, stk_error *error)
{
    const char *slash = strrchr(path, '/');
    const uint32_t part = stk__part_inside(slash ? slash + 1 : path);
    char *place = part ? site->part_files[stk__part_index(part)] : site->file;
    bool points;
    STK__TRY(stk__coco_has_points(path, &points, error));
    if (!points || strcmp(place, path) == 0) return STK_OK;
    if (*place) return refuse_two(site, place, path, error);
    snprintf(place, PATH_MAX, "%s", path);
    return STK_OK;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* In the order of their names, so that a refusal names the same two everywhere. */
static stk_status take_folder(stk__site *site, const char *folder, stk_error *error)
{
    enum { MOST = 64 };
    char names[MOST][NAME_MAX + 1], path[PATH_MAX];
    size_t count = 0;
    DIR *open = opendir(folder);
    if (!open) return STK_OK;
    int looked_at = 0;
    for (const struct dirent *found; looked_at < NAMES_MOST && count < MOST && (found = readdir(open));
         looked_at++) {
        const char *name = found->d_name;
        if (name[0] != '.' && stk__text_ends_with(name, strlen(name), ".json"))
            snprintf(names[count++], sizeof names[0], "%s", name);
    }
    closedir(open);
    qsort(names, count, sizeof names[0], compare_names);
    for (size_t i = 0; i < count; i++)
        if (stk__path_join(path, folder, names[i])) STK__TRY(take_file(site, path, error));
    return STK_OK;
}

static stk_status take_folders(stk__site *site, const char *root, stk_error *error)
{
    char path[PATH_MAX];
    for (size_t i = 0; i < FOLDERS; i++)
        if (stk__path_join(path, root, folders[i])) STK__TRY(take_folder(site, path, error));
    return STK_OK;
}

/* Of a part in a folder of its own the file may lie in annotations/ beside that folder. */
static stk_status choose_beside(stk__site *site, stk_error *error)
{
    STK__TRY(take_folders(site, site->options->root, error));
    const char *chosen = site->part_files[stk__part_index(site->reading->part)];
    if (*site->file || !*chosen) return STK_OK;
    snprintf(site->file, sizeof site->file, "%s", chosen);
    snprintf(site->root, sizeof site->root, "%s", site->options->root); /* names may have the part in front */
    return STK_OK;
}

stk_status stk__coco_find(stk__site *site, bool *found, stk_error *error)
{
    char path[PATH_MAX];
    memset(site->part_files, 0, sizeof site->part_files);
    site->file[0] = '\0';
    for (size_t i = 0; i < FILES; i++)
        if (stk__path_join(path, site->root, files[i])) STK__TRY(take_file(site, path, error));
    STK__TRY(take_folders(site, site->root, error));
    if (site->reading->part && !*site->file)
        STK__TRY(choose_beside(site, error));
    else
        STK__TRY(stk__site_choose_list(site, error));
    *found = *site->file != '\0';
    return STK_OK;
}

bool stk__coco_is_folder(const char *name)
{
    for (size_t i = 0; i < FOLDERS; i++)
        if (strcmp(name, folders[i]) == 0) return true;
    return false;
}
