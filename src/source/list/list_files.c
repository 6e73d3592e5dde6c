/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a data set that have lists of their own in one folder: train.csv, val.csv and test.csv, or COCO's
 * files with these words in their names. The finders fill a site's part_files; here one of them is chosen.
 * One thread, while a source opens. */
#include "source/kinds.h"

#include "source/list/list.h"

#include <stdio.h>
#include <string.h>

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

void stk__site_print_lists(const stk__site *site, char *text, size_t size)
{
    int left = __builtin_popcount(site->list_parts);
    size_t length = 0;
    text[0] = '\0';
    for (uint32_t part = STK_SOURCE_TRAIN; part <= STK_SOURCE_TEST; part <<= 1) {
        if (!(site->list_parts & part)) continue;
        left--;
        const int added = snprintf(text + length, size - length, "'%.40s'%s",
                                   name_of(site->part_files[stk__part_index(part)]),
                                   left > 1    ? ", "
                                   : left == 1 ? " and "
                                               : "");
        length += added > 0 && (size_t)added < size - length ? (size_t)added : 0;
    }
}

static stk_status refuse_part(const stk__site *site, stk_error *error)
{
    char names[160], hint[128] = "";
    stk__site_print_lists(site, names, sizeof names);
    for (uint32_t part = STK_SOURCE_TRAIN; part <= STK_SOURCE_TEST; part <<= 1)
        if (site->list_parts & part)
            snprintf(hint + strlen(hint), sizeof hint - strlen(hint), "%sdata.part=%s", *hint ? " or " : "",
                     stk__part_name(part));
    if (site->options->part)
        stk__fail(error, STK_ERROR_CONFIG, "'%s' has no part '%s': only the lists %s", site->root,
                  site->options->part, names);
    else
        stk__fail(error, STK_ERROR_CONFIG, "'%s' has the lists %s for its parts: load one of them",
                  site->root, names);
    stk__error_place(error, "%s", site->root);
    stk__error_hint(error, "%s; or one of the lists as the data set", hint);
    return STK_ERROR_CONFIG;
}

static stk_status refuse_two(const stk__site *site, const char *other, stk_error *error)
{
    stk__fail(error, STK_ERROR_DATA, "'%s' has two lists, '%s' and '%s'", site->root, name_of(site->file),
              name_of(other));
    stk__error_place(error, "%s", site->root);
    stk__error_hint(error, "give one of them as the data set: '%s' or '%s'", site->file, other);
    return STK_ERROR_DATA;
}

stk_status stk__site_choose_list(stk__site *site, stk_error *error)
{
    uint32_t parts = 0, wanted = stk__part_bit(site->options->part);
    for (uint32_t part = STK_SOURCE_TRAIN; part <= STK_SOURCE_TEST; part <<= 1)
        if (*site->part_files[stk__part_index(part)]) parts |= part;
    if (!parts) return STK_OK;
    const bool lone = !(parts & (parts - 1));
    if (*site->file) return refuse_two(site, site->part_files[__builtin_ctz(parts)], error);
    if (!lone) site->list_parts = parts;
    if (lone) wanted = parts;
    if (wanted == STK_SOURCE_VAL && !(parts & wanted)) wanted = STK_SOURCE_TRAIN; /* to be split */
    if (!(wanted & parts)) return refuse_part(site, error);
    snprintf(site->file, sizeof site->file, "%s", site->part_files[stk__part_index(wanted)]);
    return STK_OK;
}
