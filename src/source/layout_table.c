/* SPDX-License-Identifier: Apache-2.0 */
/* Fills the table of layout_find.c from a look at a folder, and chooses the part that is to be opened. One
 * thread, while a source opens. */
#include "source/layout_table.h"

#include "source/extension.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

int stk__layout_cell(uint32_t part)
{
    return part == STK_SOURCE_TRAIN ? STK_CELL_TRAIN
           : part == STK_SOURCE_VAL ? STK_CELL_VAL
           : part                   ? STK_CELL_TEST
                                    : STK_CELL_ALL;
}

static stk__folder_content content_of(const stk__layout_table *t, const stk__looked_folder *folder)
{
    char path[PATH_MAX];
    const stk__folder_content nothing = {0};
    return stk__path_join(path, t->root, folder->name) ? stk__folder_content_of(path) : nothing;
}

/* Boxes, polygons or text: what YOLO, COCO, VOC and Caltech keep in folders that others call their masks. */
static bool is_annotation(const stk__folder_content *content)
{
    return strcmp(content->other, "txt") == 0 || strcmp(content->other, "json") == 0 ||
           strcmp(content->other, "xml") == 0 || strcmp(content->other, "mat") == 0;
}

/* The first of two folders for a cell stays, unless only the second has images. */
static void take_cell(stk__layout_table *t, const stk__looked_folder *folder, bool has_images)
{
    const stk__looked_folder **cell = &t->cell[stk__layout_cell(folder->word.part)][folder->word.kind];
    if (*cell) {
        if (!has_images) return;
        if ((*cell)->word.weak == folder->word.weak && content_of(t, *cell).images) {
            t->rival[0] = *cell;
            t->rival[1] = folder;
            return;
        }
        if (folder->word.weak && !(*cell)->word.weak) return;
    }
    *cell = folder;
}

static void take_word(stk__layout_table *t, const stk__looked_folder *folder, uint32_t *empty)
{
    if (folder->word.kind == STK_FOLDER_PART_MASKS) t->part_masks = folder;
    if (folder->word.kind > STK_FOLDER_MASKS) return;
    const stk__folder_content content = content_of(t, folder);
    if (folder->word.kind == STK_FOLDER_MASKS && !content.images && is_annotation(&content)) {
        if (t->aside) return;
        t->aside = folder;
        memcpy(t->aside_extension, content.other, sizeof t->aside_extension);
        return;
    }
    take_cell(t, folder, content.images);
    if (!folder->word.part || folder->word.kind == STK_FOLDER_MASKS) return;
    if (content.images || content.tables || content.shards)
        t->parts |= folder->word.part;
    else
        *empty |= folder->word.part;
}

void stk__layout_table_fill(stk__layout_table *table, const char *root)
{
    uint32_t empty = 0;
    *table = (stk__layout_table){0};
    snprintf(table->root, sizeof table->root, "%s", root);
    stk__folder_look_at(&table->look, root);
    for (int i = 0; i < table->look.word_count; i++)
        take_word(table, &table->look.words[i], &empty);
    if (table->parts) table->parts |= empty; /* val/ without files is a part whose files are missing */
}

void stk__layout_count_others(stk__reading *reading, const stk__layout_table *t,
                              const stk__looked_folder *images, const stk__looked_folder *masks)
{
    if (!reading->strays && t->look.image_count)
        snprintf(reading->stray, sizeof reading->stray, "%s", t->look.image);
    reading->strays += t->look.image_count;
    if (!reading->others && t->look.plain_count)
        snprintf(reading->other, sizeof reading->other, "%s", t->look.plain[0].name);
    reading->others += t->look.plain_total;
    for (int i = 0; i < t->look.word_count; i++) {
        const stk__looked_folder *folder = &t->look.words[i];
        const bool used = images ? folder == images || folder == masks : folder->word.part != 0;
        const bool lists = *reading->lists && strcasecmp(folder->name, "ImageSets") == 0;
        if (used || lists) continue;
        if (!reading->others++) snprintf(reading->other, sizeof reading->other, "%s", folder->name);
    }
}

bool stk__layout_table_has_classes(const stk__layout_table *t)
{
    for (int i = 0; i < t->look.plain_count; i++)
        if (content_of(t, &t->look.plain[i]).images) return true;
    return false;
}

/* "x" and "y" are letters as well: a mask that is met in one of them must have its image in the other. */
static bool letters_fit(const stk__layout_table *t, const char *images, const char *masks)
{
    char folder[PATH_MAX], path[PATH_MAX];
    if (!stk__path_join(folder, t->root, masks)) return false;
    const stk__folder_content content = stk__folder_content_of(folder);
    return content.images && stk__path_join(folder, t->root, images) &&
           stk__path_join(path, folder, content.image) && stk__extension_finds_file(path);
}

/* Weak words count when there is nothing else. */
bool stk__layout_table_has_pair(const stk__layout_table *t)
{
    const stk__looked_folder *images = t->cell[STK_CELL_ALL][STK_FOLDER_IMAGES],
                             *masks = t->cell[STK_CELL_ALL][STK_FOLDER_MASKS];
    if (!images || !masks) return false;
    if (!images->word.weak && !masks->word.weak) return true;
    if (!images->name[1] && !masks->name[1] && !letters_fit(t, images->name, masks->name)) return false;
    return !stk__layout_table_has_classes(t);
}

bool stk__layout_table_has_named(const stk__layout_table *t, const stk__source_options *o)
{
    const char *name = o->images ? o->images : o->masks;
    char path[PATH_MAX];
    return name[0] == '/' || (stk__path_join(path, t->root, name) && stk__path_is_folder(path));
}

/* --- parts ------------------------------------------------------------------------------------------------
 */

/* "train, val and test", quoted or not. */
static void print_names(const stk__layout_table *t, const char *quote, char *text, size_t size)
{
    int left = __builtin_popcount(t->parts);
    text[0] = '\0';
    for (uint32_t part = STK_SOURCE_TRAIN; part <= STK_SOURCE_TEST; part <<= 1) {
        if (!(t->parts & part)) continue;
        const int cell = stk__layout_cell(part);
        const stk__looked_folder *folder = t->cell[cell][STK_FOLDER_PLAIN] ? t->cell[cell][STK_FOLDER_PLAIN]
                                                                           : t->cell[cell][STK_FOLDER_IMAGES];
        const size_t length = strlen(text);
        left--;
        snprintf(text + length, size - length, "%s%s%.30s%s",
                 !length ? ""
                 : left  ? ", "
                         : " and ",
                 quote, folder ? folder->name : stk__part_name(part), quote);
    }
}

void stk__layout_print_parts(const stk__layout_table *table, char text[160])
{
    char names[128];
    print_names(table, "'", names, sizeof names);
    snprintf(text, 160, "parts of a data set (%s)", names);
}

static stk_status refuse_part(const stk__layout_table *t, const char *part, stk_error *error)
{
    char names[128];
    print_names(t, "", names, sizeof names);
    stk__fail(error, STK_ERROR_CONFIG, "'%s' has no part '%s': only %s", t->root, part, names);
    stk__error_place(error, "%s", t->root);
    stk__error_hint(error,
                    strcmp(part, "train") == 0
                        ? "give the folder of the training set as the data set; or data.layout=classes, if "
                          "its folders are classes"
                        : "data.part=train, or another one of them");
    return STK_ERROR_CONFIG;
}

stk_status stk__layout_choose_part(stk__reading *reading, const stk__source_options *options,
                                   const stk__layout_table *table, stk_error *error)
{
    uint32_t wanted = stk__part_bit(options->part);
    reading->parts = table->parts;
    reading->part = 0;
    if (!wanted && (table->parts & (table->parts - 1)) == 0) wanted = table->parts;      /* the only one */
    if (wanted == STK_SOURCE_VAL && !(table->parts & wanted)) wanted = STK_SOURCE_TRAIN; /* to be split */
    if (!wanted) return STK_OK;
    if (!(table->parts & wanted)) return refuse_part(table, options->part, error);
    reading->part = wanted;
    return STK_OK;
}

stk_status stk__layout_refuse_all(const stk__layout_table *table, stk_error *error)
{
    char names[128], hint[128] = "";
    print_names(table, "", names, sizeof names);
    for (uint32_t part = STK_SOURCE_TRAIN; part <= STK_SOURCE_TEST; part <<= 1)
        if (table->parts & part)
            snprintf(hint + strlen(hint), sizeof hint - strlen(hint), "%sdata.part=%s", *hint ? " or " : "",
                     stk__part_name(part));
    stk__fail(error, STK_ERROR_CONFIG, "'%s' has folders %s: load one of them", table->root, names);
    stk__error_hint(error, "%s", hint);
    return STK_ERROR_CONFIG;
}

stk_status stk__layout_enter_again(stk__reading *reading, const stk__layout_table *table, stk_error *error)
{
    const stk__looked_folder *inner = table->cell[stk__layout_cell(reading->part)][STK_FOLDER_PLAIN];
    char path[PATH_MAX];
    if (inner && table->parts == reading->part && !table->look.images &&
        !stk__layout_table_has_classes(table) && stk__path_join(path, table->root, inner->name)) {
        snprintf(reading->root, sizeof reading->root, "%s", path);
        reading->siblings[0][0] = reading->siblings[1][0] = '\0'; /* theirs are one deeper, too */
        return STK_OK;
    }
    char names[128];
    print_names(table, "'", names, sizeof names);
    stk__fail(error, STK_ERROR_DATA, "'%s' is a part of a data set and has parts itself: %s", table->root,
              names);
    stk__error_place(error, "%s", table->root);
    stk__error_hint(error, "give the folder that is meant as the data set, such as '%s'", table->root);
    return STK_ERROR_DATA;
}

stk_status stk__layout_refuse_wrapped(const stk__layout_table *table, stk_error *error)
{
    const stk__folder_look *look = &table->look;
    char path[PATH_MAX];
    if (look->word_count || look->plain_total != 1 || look->images || look->shards || !look->whole)
        return STK_OK;
    if (!stk__path_join(path, table->root, look->plain[0].name)) return STK_OK;
    stk__layout_table inner;
    stk__layout_table_fill(&inner, path);
    if (!inner.parts && !inner.part_masks && !stk__layout_table_has_pair(&inner)) return STK_OK;
    stk__fail(error, STK_ERROR_DATA,
              "'%s' holds nothing but the folder '%s', which looks like a data set itself", table->root,
              look->plain[0].name);
    stk__error_place(error, "%s", path);
    stk__error_hint(error, "give '%s' as the data set", path);
    return STK_ERROR_DATA;
}

/* --- VOC --------------------------------------------------------------------------------------------------
 */

static bool has_list(const char *folder, const char *name)
{
    char path[PATH_MAX];
    return stk__path_join(path, folder, name) && stk__path_is_file(path);
}

stk_status stk__layout_find_voc(stk__reading *reading, const stk__source_options *options, const char *root,
                                stk_error *error)
{
    char folder[PATH_MAX];
    snprintf(reading->how, sizeof reading->how, "VOC: JPEGImages, SegmentationClass");
    if (options->layout == STK_LAYOUT_PAIRS || options->train_list || options->val_list || options->test_list)
        return STK_OK;
    if (!stk__path_join(folder, root, "ImageSets/Segmentation") || !stk__path_is_folder(folder))
        return STK_OK;
    stk__layout_table lists = {0};
    snprintf(lists.root, sizeof lists.root, "%s", root);
    const bool train = has_list(folder, "train.txt"), val = has_list(folder, "val.txt");
    if (train || has_list(folder, "trainval.txt")) lists.parts |= STK_SOURCE_TRAIN;
    if (val) lists.parts |= STK_SOURCE_VAL;
    if (has_list(folder, "test.txt")) lists.parts |= STK_SOURCE_TEST;
    if (!lists.parts) return STK_OK;
    STK__TRY(stk__layout_choose_part(reading, options, &lists, error));
    snprintf(reading->lists, sizeof reading->lists, "%s", folder);
    snprintf(reading->how, sizeof reading->how,
             "VOC: JPEGImages, SegmentationClass, parts in ImageSets/Segmentation");
    return STK_OK;
}
