/* SPDX-License-Identifier: Apache-2.0 */
/* Refuses folders as classes that look like something else. The scan has been made: keys in the catalog begin
 * with the name of their class, and only a class with folders in it is looked into. One thread, while a
 * source opens. */
#include "source/class_doubts.h"

#include "source/layout_table.h"

#include <stdio.h>
#include <string.h>

enum { LOOKS = 16 }; /* classes that are looked into */

typedef struct doubts {
    const stk__files *files;
    const stk__site *site;
    const char *setting; /* that reads the folders as classes nevertheless */
} doubts;

/* "cat/2024/x": what follows the class; NULL when the file lies in the folder of the class itself. */
static const char *folder_in_class(const char *key)
{
    const char *slash = strchr(key, '/');
    return slash && strchr(slash + 1, '/') ? slash + 1 : NULL;
}

static bool looks_like_set(const stk__layout_table *t)
{
    return stk__layout_table_has_pair(t) || (t->parts && !stk__layout_table_has_classes(t));
}

/* --- data sets among the classes --------------------------------------------------------------------------
 */

static stk_status refuse_set(const doubts *d, const char *name, const stk__layout_table *t, stk_error *error)
{
    char what[160];
    if (stk__layout_table_has_pair(t))
        snprintf(what, sizeof what, "images in '%.60s' and masks in '%.60s'",
                 t->cell[STK_CELL_ALL][STK_FOLDER_IMAGES]->name,
                 t->cell[STK_CELL_ALL][STK_FOLDER_MASKS]->name);
    else
        stk__layout_print_parts(t, what);
    stk__fail(error, STK_ERROR_DATA,
              "the folder '%s' in '%s' is not a class, but looks like a data set itself: %s", name,
              d->files->images, what);
    stk__error_place(error, "%s", t->root);
    stk__error_hint(error, "give '%s' as the data set; %s, if '%s' is a class", t->root, d->setting, name);
    return STK_ERROR_DATA;
}

/* Looks into the first classes that have folders. */
static stk_status check_sets(const doubts *d, stk_error *error)
{
    const stk__catalog *catalog = &d->files->catalog;
    stk__layout_table table;
    char path[PATH_MAX], name[NAME_MAX + 1];
    uint32_t looked = UINT32_MAX;
    int looks = 0;
    for (uint64_t i = 0; i < stk__catalog_count(catalog) && looks < LOOKS; i++) {
        const stk__entry *entry = stk__catalog_at(catalog, i);
        const char *key = stk__catalog_key(catalog, entry), *inside = folder_in_class(key);
        if (!inside || entry->row == looked) continue;
        snprintf(name, sizeof name, "%.*s", (int)(inside - 1 - key), key);
        if (!stk__path_join(path, d->files->images, name)) continue;
        looked = entry->row;
        looks++;
        stk__layout_table_fill(&table, path);
        if (looks_like_set(&table)) return refuse_set(d, name, &table, error);
    }
    return STK_OK;
}

stk_status stk__class_doubts_refuse(const stk__files *files, const stk__site *site, stk_error *error)
{
    /* data.layout=classes reads a root without parts */
    const bool part = site->reading && *site->reading->part_name;
    const doubts d = {files, site, part ? "data.layout=parts" : "data.layout=classes"};
    return check_sets(&d, error);
}
