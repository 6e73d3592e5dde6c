/* SPDX-License-Identifier: Apache-2.0 */
/* What the sources folder, pairs and list have in common: a catalog of image files below one folder, their
 * paths, fingerprint and reading. */
#include "source/files.h"

#include "core/file.h"
#include "source/extension.h"
#include "source/list/list.h"

#include <stdio.h>
#include <string.h>

static stk_status copy_folder(char **copy, const char *root, const char *name, stk_error *error)
{
    char path[PATH_MAX];
    if (*name && !stk__path_join(path, root, name))
        return stk__fail(error, STK_ERROR_IO, "the path of '%s' is too long", name);
    *copy = stk__text_copy(*name == '/' ? name : *name ? path : root);
    return *copy ? STK_OK : stk__fail_memory(error, PATH_MAX, "the path of a folder");
}

stk_status stk__files_init(stk__files *files, const stk__site *site, const char *images, const char *masks,
                           stk_error *error)
{
    files->limit_bytes = site->options->limit_bytes;
    STK__TRY(copy_folder(&files->images, site->root, images, error));
    return masks ? copy_folder(&files->masks, site->root, masks, error) : STK_OK;
}

void stk__files_describe(stk__files *files, const stk__site *site, const char *layout)
{
    const char *part = site->reading && *site->reading->part_name ? site->reading->part_name : NULL;
    snprintf(files->layout, sizeof files->layout, "%s%s%s%s", layout, part ? " in " : "", part ? part : "",
             part ? "/" : "");
    files->source.info.layout = files->layout;
}

static void count_format(stk__source_info *info, int code, uint64_t images, uint64_t masks)
{
    const char *name = stk__extension_name((uint8_t)code);
    int32_t row = 0;
    while (row < info->format_count && strcmp(info->formats[row].extension, name) != 0)
        row++;
    if (row == STK_FORMATS_MOST) return; /* there are no others */
    if (row == info->format_count) {
        info->format_count++;
        snprintf(info->formats[row].extension, sizeof info->formats[row].extension, "%s", name);
    }
    info->formats[row].images += images;
    info->formats[row].masks += masks;
}

/* In the folder that was given too: the images may be in its images/, or in the folder of a part. */
static void tell_list(stk__files *files, const stk__site *site)
{
    char list[NAME_MAX + 1];
    if (files->masks) return;
    if (stk__list_find_unnamed(site->root, list) ||
        (site->reading && stk__list_find_unnamed(site->options->root, list)))
        stk__left_out_add(&files->source.info,
                          "looks like a list of images: give it as the data set (stoker train DIR/FILE.csv)",
                          1, list);
}

void stk__files_tell(stk__files *files, const stk__site *site)
{
    stk__source_info *info = &files->source.info;
    uint64_t images[256] = {0}, masks[256] = {0};
    for (uint64_t i = 0; i < stk__catalog_count(&files->catalog); i++) {
        const stk__entry *entry = stk__catalog_at(&files->catalog, i);
        images[entry->extension]++;
        masks[entry->mask_extension]++;
    }
    for (int code = 0; code < STK_EXTENSION_OTHER; code++)
        if (images[code] || masks[code]) count_format(info, code, images[code], masks[code]);
    info->folder = site->reading != NULL;
    if (info->folder) {
        stk__left_out_add(info, "folders that are not read", site->reading->others, site->reading->other);
        stk__left_out_add(info, "images next to the folders that are read", site->reading->strays,
                          site->reading->stray);
    }
    if (!info->parts) info->parts = stk__site_parts(site);
    tell_list(files, site);
    if (site->reading && !*info->how) snprintf(info->how, sizeof info->how, "%s", site->reading->how);
}

void stk__files_leave_out(stk__source_info *info, const stk__scan *scan)
{
    for (int i = 0; i < STK_SCAN_STRANGERS && scan->strangers[i].count; i++) {
        const char *name = scan->strangers[i].extension;
        char what[96];
        snprintf(what, sizeof what, "%s files: %s", *name ? name : "other",
                 stk__extension_is_unread(name, strlen(name)) ? "unsupported format" : "not images");
        stk__left_out_add(info, what, scan->strangers[i].count, scan->strangers[i].example);
    }
    stk__left_out_add(info, "folders of training runs", scan->runs, scan->run);
}

stk_status stk__files_finish(stk__files *files, stk_error *error)
{
    stk__catalog_sort(&files->catalog);
    return stk__files_count(files, error);
}

stk_status stk__files_count(stk__files *files, stk_error *error)
{
    files->source.info.count = stk__catalog_count(&files->catalog);
    return stk__catalog_fingerprint(&files->catalog, &files->source.info.fingerprint, error);
}

stk_status stk__files_refuse_duplicates(const stk__catalog *catalog, const char *folder, stk_error *error)
{
    const uint64_t duplicate = stk__catalog_duplicate(catalog, 0);
    if (duplicate == stk__catalog_count(catalog)) return STK_OK;
    char first[PATH_MAX], second[PATH_MAX];
    stk__files_path(catalog, stk__catalog_at(catalog, duplicate), folder, first, sizeof first);
    stk__files_path(catalog, stk__catalog_at(catalog, duplicate + 1), folder, second, sizeof second);
    stk__fail(error, STK_ERROR_DATA, "'%s' and '%s' are the same sample: only their extensions differ", first,
              second);
    stk__error_place(error, "%s", second);
    stk__error_hint(error, "a sample is known by its path without extension: rename or remove one of them");
    return STK_ERROR_DATA;
}

const char *stk__files_extension(const stk__catalog *catalog, const stk__entry *entry)
{
    if (entry->extension == STK_EXTENSION_NONE) return NULL;
    if (entry->extension == STK_EXTENSION_OTHER) return stk__catalog_key(catalog, entry) + entry->length + 1;
    return stk__extension_name(entry->extension);
}

void stk__files_path(const stk__catalog *catalog, const stk__entry *entry, const char *folder, char *text,
                     size_t size)
{
    char spelled[STK_EXTENSION_BYTES];
    const char *extension = stk__files_extension(catalog, entry);
    if (entry->extension < STK_EXTENSION_OTHER) {
        stk__extension_text(entry->extension, spelled);
        extension = spelled;
    }
    snprintf(text, size, "%s/%s%s%s", folder, stk__catalog_key(catalog, entry), extension ? "." : "",
             extension ? extension : "");
}

stk_status stk__files_read_image(const stk__source *source, uint64_t id, stk__buffer *buffer,
                                 const char **extension, stk_error *error)
{
    const stk__files *files = stk__files_of(source);
    const stk__entry *entry = stk__catalog_at(&files->catalog, id);
    char path[PATH_MAX];
    stk__files_path(&files->catalog, entry, files->images, path, sizeof path);
    *extension = stk__files_extension(&files->catalog, entry);
    return stk__file_read(path, files->limit_bytes, buffer, error);
}

void stk__files_key(const stk__source *source, uint64_t id, char *text, size_t size)
{
    const stk__files *files = stk__files_of(source);
    snprintf(text, size, "%s", stk__catalog_key(&files->catalog, stk__catalog_at(&files->catalog, id)));
}

bool stk__files_stamp(const stk__source *source, uint64_t id, stk__field field, stk__file_stamp *stamp)
{
    char path[PATH_MAX];
    source->ops->where(source, id, field, path, sizeof path);
    return stk__file_stamp_add(stamp, path);
}

void stk__files_fini(stk__files *files)
{
    stk__catalog_fini(&files->catalog);
    stk__classes_fini(&files->classes);
    stk__free(files->images);
    stk__free(files->masks);
}
