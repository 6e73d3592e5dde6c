/* SPDX-License-Identifier: Apache-2.0 */
/* Lists a folder up to a bound and keeps the folders with telling names and the first of the others, both by
 * name, so that the result does not depend on the order of readdir. Called while a source opens, by one
 * thread. */
#include "source/folder_look.h"

#include "source/extension.h"
#include "source/kinds.h"
#include "source/scan.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { CONTENT_NAMES = 512, CONTENT_FOLDERS = 16, CONTENT_DEPTH = 4 };

/* The text behind the last dot; "" without. */
static const char *extension_of(const char *name)
{
    const size_t stem = stk__extension_stem(name, strlen(name));
    return name[stem] ? name + stem + 1 : "";
}

static bool is_image(const char *extension)
{
    return stk__extension_code(extension, strlen(extension)) != STK_EXTENSION_NONE;
}

/* Only links and file systems that do not tell the type cost a call. */
static bool is_folder(const char *folder, const struct dirent *found)
{
    char path[PATH_MAX];
    if (found->d_type == DT_DIR) return true;
    if (found->d_type != DT_LNK && found->d_type != DT_UNKNOWN) return false;
    return stk__path_join(path, folder, found->d_name) && stk__path_is_folder(path);
}

static bool is_run(const char *path)
{
    const int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool run = folder >= 0 && stk__scan_is_run(folder);
    if (folder >= 0) close(folder);
    return run;
}

/* A folder of `stoker train`, or runs/ with some in it: not a class, though there are pictures in it. */
static bool has_runs(const char *folder, const char *name)
{
    char path[PATH_MAX], below[PATH_MAX];
    if (!stk__path_join(path, folder, name)) return false;
    if (is_run(path)) return true;
    DIR *opened = strcmp(name, "runs") == 0 ? opendir(path) : NULL;
    bool found = false;
    for (const struct dirent *entry; opened && !found && (entry = readdir(opened));)
        found = entry->d_name[0] != '.' && stk__path_join(below, path, entry->d_name) && is_run(below);
    if (opened) closedir(opened);
    return found;
}

/* Keeps the first `most` by name. */
static void insert(stk__looked_folder *list, int *count, int most, const stk__looked_folder *folder)
{
    int at = *count < most ? (*count)++ : most;
    for (; at > 0 && strcmp(list[at - 1].name, folder->name) > 0; at--)
        if (at < most) list[at] = list[at - 1];
    if (at < most) list[at] = *folder;
}

static void take_folder(stk__folder_look *look, const char *parent, const char *name)
{
    stk__looked_folder folder = {.word = stk__folder_word_of(name)};
    snprintf(folder.name, sizeof folder.name, "%s", name);
    if (folder.word.kind != STK_FOLDER_PLAIN || folder.word.part)
        insert(look->words, &look->word_count, STK_LOOK_WORDS, &folder);
    else if (!has_runs(parent, name)) {
        insert(look->plain, &look->plain_count, STK_LOOK_PLAIN, &folder);
        look->plain_total++;
    }
}

bool stk__folder_look_at(stk__folder_look *look, const char *folder)
{
    *look = (stk__folder_look){0};
    DIR *opened = opendir(folder);
    if (!opened) return false;
    int names = 0;
    for (const struct dirent *found; names < STK_LOOK_NAMES; names++) {
        found = readdir(opened);
        if (!found) break;
        if (stk__scan_skips(found->d_name)) continue;
        const char *extension = extension_of(found->d_name);
        if (is_image(extension)) { /* a folder with such a name is a sample, too */
            look->images = true;
            if (!look->image_count++ || strcmp(found->d_name, look->image) < 0)
                snprintf(look->image, sizeof look->image, "%s", found->d_name);
        } else if (is_folder(folder, found))
            take_folder(look, folder, found->d_name);
        else if (stk__shards_named(found->d_name))
            look->shards = true;
    }
    look->whole = names < STK_LOOK_NAMES;
    closedir(opened);
    return true;
}

/* --- what lies in it --------------------------------------------------------------------------------------
 */

typedef struct search {
    stk__folder_content content;
    size_t top;         /* bytes of the path of the folder that is searched */
    int names, folders; /* that may still be read */
} search;

static void take_file(stk__folder_content *content, const char *name)
{
    const char *extension = extension_of(name);
    if (stk__shards_named(name))
        content->shards = true;
    else if (strcasecmp(extension, "csv") == 0 || strcasecmp(extension, "jsonl") == 0)
        content->tables = true;
    else if (*extension && !content->other[0] && strlen(extension) < sizeof content->other)
        for (size_t i = 0; extension[i]; i++)
            content->other[i] = (char)tolower((unsigned char)extension[i]);
}

static void take_image(search *s, const char *folder, const char *name)
{
    const char *below = folder + s->top;
    below += *below == '/';
    snprintf(s->content.image, sizeof s->content.image, "%s%s%.*s", below, *below ? "/" : "",
             (int)stk__extension_stem(name, strlen(name)), name);
    s->content.images = true;
}

static void search_folder(search *s, const char *folder, int depth)
{
    char below[CONTENT_DEPTH][NAME_MAX + 1];
    int below_count = 0;
    DIR *opened = opendir(folder);
    if (!opened) {
        if (errno == EACCES) s->content.images = true;
        return;
    }
    for (const struct dirent *found; s->names > 0 && !s->content.images && (found = readdir(opened));) {
        s->names--;
        if (stk__scan_skips(found->d_name)) continue;
        if (is_image(extension_of(found->d_name)))
            take_image(s, folder, found->d_name);
        else if (!is_folder(folder, found))
            take_file(&s->content, found->d_name);
        else if (below_count < CONTENT_DEPTH)
            snprintf(below[below_count++], NAME_MAX + 1, "%s", found->d_name);
    }
    closedir(opened);
    char path[PATH_MAX];
    for (int i = 0; i < below_count && depth < CONTENT_DEPTH && !s->content.images; i++)
        if (s->folders-- > 0 && stk__path_join(path, folder, below[i])) search_folder(s, path, depth + 1);
}

stk__folder_content stk__folder_content_of(const char *folder)
{
    search s = {.names = CONTENT_NAMES, .folders = CONTENT_FOLDERS, .top = strlen(folder)};
    search_folder(&s, folder, 0);
    return s.content;
}
