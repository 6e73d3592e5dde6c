/* SPDX-License-Identifier: Apache-2.0 */
/* Lists for the parts of one data set number their classes alike: by the labels in train and val. A test set
 * may have others, which must not change the numbers. Each list is read alone first; whether a cell has
 * several labels ("cat;dog") is decided by the labels of train and val together. One thread, while a source
 * opens. */
#include "source/kinds.h"

#include "source/list/list.h"

#include <stdio.h>
#include <string.h>

enum { PARTS = 3 };

typedef struct part_lists {
    stk__list *of[PARTS]; /* by stk__part_index; NULL: none */
    stk__list *first;
    bool numbers; /* a label is several integers: "16 0" */
} part_lists;

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* --- do they fit together --------------------------------------------------------------------------------
 */

static stk_status refuse_unlike(const stk__site *site, uint32_t part, stk_error *error)
{
    const char *first = site->part_files[__builtin_ctz(site->list_parts)];
    stk__fail(error, STK_ERROR_DATA,
              "'%s' and '%s' lie in one folder, but have not the same kind of labels, masks or points",
              name_of(first), name_of(site->part_files[stk__part_index(part)]));
    stk__error_place(error, "%s", site->part_files[stk__part_index(part)]);
    stk__error_hint(error, "give one of them as the data set, such as '%s'", first);
    return STK_ERROR_DATA;
}

/* Names, or integers where other lists have several in one cell. */
static bool has_texts(const stk__list *list, bool numbers)
{
    if (!list->has_label || list->joins) return false;
    return list->label_texts == STK_LABEL_TEXTS_NAMES || list->files.classes.count ||
           (numbers && list->label_texts == STK_LABEL_TEXTS_WHOLE);
}

/* several: the labels of train and val are sets, split by what is between them. */
static bool is_like(const part_lists *lists, const stk__list *list, bool several)
{
    const stk__source_info *a = &lists->first->files.source.info, *b = &list->files.source.info;
    const bool texts = has_texts(lists->first, lists->numbers) && has_texts(list, lists->numbers);
    if (a->masks != b->masks || a->point_count != b->point_count) return false;
    if (!a->point_names != !b->point_names || lists->first->joins != list->joins) return false;
    for (int32_t i = 0; a->point_names && i < a->point_count; i++)
        if (strcmp(a->point_names[i], b->point_names[i]) != 0) return false;
    if (several) return texts;
    return a->label == b->label && !a->class_names == !b->class_names;
}

/* A label column that one list lacks would say "not this class" for all its images. */
static const char *find_lone_flag(const stk__list *one, const stk__list *other)
{
    const stk__columns *columns = &one->columns, *others = &other->columns;
    for (size_t i = 0; columns->flag_count && others->flag_count && i < stk__columns_count(columns); i++) {
        bool there = stk__columns_at(columns, i)->role != STK_ROLE_LABEL;
        for (size_t k = 0; k < stk__columns_count(others) && !there; k++)
            there = stk__columns_at(others, k)->role == STK_ROLE_LABEL &&
                    strcmp(stk__columns_name(columns, i), stk__columns_name(others, k)) == 0;
        if (!there) return stk__columns_name(columns, i);
    }
    return NULL;
}

static stk_status check_flags(const stk__list *first, const stk__list *list, const stk__site *site,
                              uint32_t part, stk_error *error)
{
    const char *names[2] = {name_of(site->part_files[__builtin_ctz(site->list_parts)]),
                            name_of(site->part_files[stk__part_index(part)])};
    const char *lone = find_lone_flag(first, list);
    const int lacks = lone ? 1 : 0;
    if (!lone) lone = find_lone_flag(list, first);
    if (!lone) return STK_OK;
    stk__fail(error, STK_ERROR_DATA,
              "the column '%.60s' of 0 and 1 is a label in '%.60s' and not in '%.60s': parts of one data set "
              "have the same labels",
              lone, names[!lacks], names[lacks]);
    stk__error_place(error, "%s", site->part_files[stk__part_index(part)]);
    stk__error_hint(error, "look for a missing column or cells that are neither 0 nor 1 in '%.60s'",
                    names[lacks]);
    return STK_ERROR_DATA;
}

static stk_status refuse_split(const stk__site *site, uint32_t part, stk_error *error)
{
    char names[160];
    stk__site_print_lists(site, names, sizeof names);
    stk__fail(
        error, STK_ERROR_DATA,
        "'%s' can be read in two ways: the lists %s are its parts, or the column of parts in '%s' tells "
        "them",
        site->root, names, name_of(site->part_files[stk__part_index(part)]));
    stk__error_place(error, "%s", site->part_files[stk__part_index(part)]);
    stk__error_hint(error, "data.columns='split=none', or '%s' as the data set",
                    site->part_files[stk__part_index(part)]);
    return STK_ERROR_DATA;
}

static stk_status open_alone(stk__source **source, const stk__site *site, uint32_t part, stk_error *error)
{
    stk__source_options options = *site->options;
    stk__site alone = *site;
    options.part = NULL;
    alone.options = &options;
    alone.list_parts = 0;
    snprintf(alone.file, sizeof alone.file, "%s", site->part_files[stk__part_index(part)]);
    return stk__list_open(source, &alone, error);
}

/* --- classes --------------------------------------------------------------------------------------------
 */

/* Labels as they are written: combinations are not split. */
static stk_status add_texts(stk__classes *texts, const stk__list *part, stk_error *error)
{
    const bool sets = part->set_bits.size_bytes && !part->joins;
    const stk__classes *from = sets ? &part->sets : &part->files.classes;
    for (int32_t i = 0; i < from->count; i++)
        STK__TRY(stk__catalog_add(&texts->names, from->list[i], strlen(from->list[i]), 0, error));
    return STK_OK;
}

/* Class ids beside lists of "16 0". */
static stk_status add_numbers(stk__classes *texts, const stk__list *part, stk_error *error)
{
    const stk__row *rows = (const stk__row *)(const void *)part->rows.data;
    for (size_t i = 0; i < part->rows.size_bytes / sizeof *rows; i++) {
        char text[24];
        const int length = snprintf(text, sizeof text, "%d", (int)rows[i].label);
        if (rows[i].state == STK_ROW_GOOD)
            STK__TRY(stk__catalog_add(&texts->names, text, (size_t)length, 0, error));
    }
    return STK_OK;
}

/* The labels of train and val, numbered; none where they are class ids, values or points. */
static stk_status gather(stk__list *list, const part_lists *lists, stk__classes *texts, stk_error *error)
{
    for (uint32_t part = STK_SOURCE_TRAIN; part <= STK_SOURCE_VAL; part <<= 1) {
        const stk__list *one = lists->of[stk__part_index(part)];
        if (!one) continue;
        const bool ids = one->label_texts == STK_LABEL_TEXTS_WHOLE;
        if (!ids)
            STK__TRY(add_texts(texts, one, error));
        else if (lists->numbers)
            STK__TRY(add_numbers(texts, one, error));
        else if (one->highest_class > list->highest_class)
            list->highest_class = one->highest_class;
    }
    return stk__catalog_count(&texts->names) ? stk__classes_number(texts, NULL, error) : STK_OK;
}

static stk_status share(stk__list *list, const part_lists *lists, const stk__site *site, stk__classes *texts,
                        stk_error *error)
{
    const bool known = list->files.classes.count; /* classes.txt */
    if (!known) STK__TRY(gather(list, lists, texts, error));
    for (int i = 0; i < PARTS && known && !list->separators; i++)
        if (lists->of[i]) list->separators = lists->of[i]->separators;
    const char *separators = known || lists->first->joins || !texts->count
                                 ? NULL
                                 : stk__list_find_separators(&list->columns, texts);
    for (uint32_t part = STK_SOURCE_TRAIN; part <= STK_SOURCE_TEST; part <<= 1) {
        const stk__list *one = lists->of[stk__part_index(part)];
        if (!one) continue;
        if (one->files.source.info.parts) return refuse_split(site, part, error);
        if (!is_like(lists, one, separators || (known && list->separators)))
            return refuse_unlike(site, part, error);
        STK__TRY(check_flags(lists->first, one, site, part, error));
    }
    if (!texts->count) return STK_OK;
    list->shared_classes = true;
    list->separators = separators;
    if (separators) {
        list->label_texts = STK_LABEL_TEXTS_NAMES;
        return stk__list_split_labels(&list->shared, texts, separators, error);
    }
    list->files.classes = *texts;
    *texts = (stk__classes){0};
    return STK_OK;
}

static stk_status open_all(part_lists *lists, const stk__site *site, stk_error *error)
{
    for (uint32_t part = STK_SOURCE_TRAIN; part <= STK_SOURCE_TEST; part <<= 1) {
        stk__source *source = NULL;
        if (!(site->list_parts & part)) continue;
        STK__TRY(open_alone(&source, site, part, error));
        stk__list *list = lists->of[stk__part_index(part)] = (stk__list *)(void *)source;
        const int label = stk__columns_find(&list->columns, STK_ROLE_LABEL);
        if (!lists->first) lists->first = list;
        lists->numbers |= label >= 0 && stk__columns_at(&list->columns, (size_t)label)->several;
    }
    return STK_OK;
}

stk_status stk__list_share_classes(stk__list *list, const stk__site *site, stk_error *error)
{
    part_lists lists = {.first = NULL};
    stk__classes texts = {0};
    stk_status status = open_all(&lists, site, error);
    if (status == STK_OK) status = share(list, &lists, site, &texts, error);
    stk__classes_fini(&texts);
    for (int i = 0; i < PARTS; i++) {
        stk__source *source = lists.of[i] ? &lists.of[i]->files.source : NULL;
        stk__source_close(&source);
    }
    return status;
}
