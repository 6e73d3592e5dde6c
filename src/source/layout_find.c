/* SPDX-License-Identifier: Apache-2.0 */
/* Which folders below a root hold images, masks and parts. The folders with telling names go into a table by
 * part (none, train, val, test) and kind (everything, images, masks); the reading follows from which of its
 * cells are taken. Folders that look like masks or parts never become classes without a word:
 *
 *     images/ masks/                      pairs; parts below them: images/train masks/train
 *     train/ val/ test/                   parts, each read by the same rules
 *     train_images/ train_masks/, train/ train_masks/     pairs of a part
 *     cat/ dog/                           nothing telling: source.c and folder.c decide
 *
 * One thread, while a source opens. */
#include "source/layout_find.h"

#include "source/layout_table.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static stk_status read_level(stk__reading *reading, const stk__source_options *o, bool parts_allowed,
                             stk_error *error);

/* --- two readings -----------------------------------------------------------------------------------------
 */

static stk_status refuse_two(const stk__layout_table *t, const char *first, const char *second,
                             const char *hint, stk_error *error)
{
    stk__fail(error, STK_ERROR_DATA, "'%s' can be read in two ways: %s, or %s", t->root, first, second);
    stk__error_place(error, "%s", t->root);
    if (t->in_part)
        stk__error_hint(error, "%s, with '%s' as the data set", hint, t->root);
    else
        stk__error_hint(error, "%s", hint);
    return STK_ERROR_DATA;
}

/* "a folder of classes ('cat', 'images', …)" */
static void print_classes(const stk__layout_table *t, char text[160])
{
    char names[120] = "";
    int shown = 0;
    for (int i = 0; i < t->look.plain_count && shown < 2; i++, shown++)
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s'%.24s'", shown ? ", " : "",
                 t->look.plain[i].name);
    for (int i = 0; i < t->look.word_count && shown < 4; i++, shown++)
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s'%.24s'", shown ? ", " : "",
                 t->look.words[i].name);
    snprintf(text, 160, "a folder of classes (%s%s)", names,
             shown < t->look.plain_count + t->look.word_count ? ", …" : "");
}

static void print_pair(const stk__looked_folder *images, const stk__looked_folder *masks, char text[160])
{
    snprintf(text, 160, "images in '%.40s' with masks in '%.40s'", images->name, masks->name);
}

static stk_status refuse_rivals(const stk__layout_table *t, stk_error *error)
{
    char first[160], second[160], hint[160];
    const bool masks = t->rival[0]->word.kind == STK_FOLDER_MASKS;
    const char *kind = masks ? "masks" : t->rival[0]->word.kind == STK_FOLDER_IMAGES ? "images" : "a part";
    snprintf(first, sizeof first, "%s in '%.60s'", kind, t->rival[0]->name);
    snprintf(second, sizeof second, "%s in '%.60s'", kind, t->rival[1]->name);
    snprintf(hint, sizeof hint, "data.%s=%.50s or data.%s=%.50s", kind, t->rival[0]->name, kind,
             t->rival[1]->name);
    return refuse_two(t, first, second, strcmp(kind, "a part") == 0 ? "rename or remove one of them" : hint,
                      error);
}

static stk_status refuse_lone_masks(const stk__layout_table *t, stk_error *error)
{
    const stk__looked_folder *masks = t->cell[STK_CELL_ALL][STK_FOLDER_MASKS];
    stk__fail(error, STK_ERROR_DATA,
              "the folder '%s' in '%s' is called like masks, but no folder beside it like images",
              masks->name, t->root);
    stk__error_place(error, "%s/%s", t->root, masks->name);
    /* data.layout=classes reads a root without parts */
    stk__error_hint(error,
                    "data.images=NAME names the folder of the images; if '%.60s' is a class: data.layout=%s",
                    masks->name, t->in_part ? "parts" : "classes");
    return STK_ERROR_DATA;
}

static stk_status refuse_lone_part_masks(const stk__layout_table *t, stk_error *error)
{
    stk__fail(
        error, STK_ERROR_DATA,
        "the folder '%s' in '%s' holds CelebAMask-HQ's masks of parts, but no folder beside it is called "
        "like images",
        t->part_masks->name, t->root);
    stk__error_place(error, "%s/%s", t->root, t->part_masks->name);
    stk__error_hint(error, "data.images=NAME with data.masks=%s names the folder of the images",
                    t->part_masks->name);
    return STK_ERROR_DATA;
}

/* --- pairs ------------------------------------------------------------------------------------------------
 */

static bool join(char path[PATH_MAX], const char *folder, const char *name)
{
    return stk__path_join(path, folder, name);
}

static stk_status refuse_length(const stk__layout_table *t, stk_error *error)
{
    stk__fail(error, STK_ERROR_IO, "the path of a folder in '%s' is too long", t->root);
    stk__error_place(error, "%s", t->root);
    return STK_ERROR_IO;
}

static stk_status take_pair(stk__reading *reading, const stk__layout_table *t, const char *images,
                            const char *masks, stk_error *error)
{
    if (!join(reading->images, t->root, images) || !join(reading->masks, t->root, masks))
        return refuse_length(t, error);
    reading->pairs = true;
    snprintf(reading->how, sizeof reading->how, "images in '%.60s', masks in '%.60s'", *images ? images : ".",
             masks);
    return STK_OK;
}

/* Folders called train, val, test below images/ (and masks/): parts, unless other images lie beside them. */
static stk_status find_parts_below(stk__reading *reading, const stk__source_options *o,
                                   const stk__layout_table *above, stk_error *error)
{
    const stk__looked_folder *images = above->cell[STK_CELL_ALL][STK_FOLDER_IMAGES],
                             *masks = above->cell[STK_CELL_ALL][STK_FOLDER_MASKS];
    stk__layout_table below, masked = {0};
    char folder[PATH_MAX], mask_folder[PATH_MAX] = "";
    if (!join(folder, above->root, images->name) || (masks && !join(mask_folder, above->root, masks->name)))
        return refuse_length(above, error);
    stk__layout_table_fill(&below, folder);
    if (!below.parts) return STK_OK;
    if (o->layout != STK_LAYOUT_PARTS && (below.look.images || stk__layout_table_has_classes(&below))) {
        return refuse_two(&below, "its folders are parts of the data set", "they are one set",
                          "data.layout=parts or data.layout=pairs", error);
    }
    STK__TRY(stk__layout_choose_part(reading, o, &below, error));
    if (!reading->part) return STK_OK; /* everything: as one set */
    const int cell = stk__layout_cell(reading->part);
    const char *name = below.cell[cell][STK_FOLDER_PLAIN] ? below.cell[cell][STK_FOLDER_PLAIN]->name : "";
    snprintf(reading->part_name, sizeof reading->part_name, "%s", name);
    if (!join(reading->images, folder, name)) return refuse_length(above, error);
    if (masks) stk__layout_table_fill(&masked, mask_folder);
    reading->pairs = masks && masked.cell[cell][STK_FOLDER_PLAIN];
    if (reading->pairs) {
        if (!join(reading->masks, mask_folder, masked.cell[cell][STK_FOLDER_PLAIN]->name))
            return refuse_length(above, error);
        return STK_OK;
    }
    snprintf(reading->root, sizeof reading->root, "%s", reading->images);
    snprintf(reading->how, sizeof reading->how, "images in '%.60s/%.60s', without masks", images->name, name);
    return STK_OK;
}

static stk_status read_pairs(stk__reading *reading, const stk__source_options *o, const stk__layout_table *t,
                             stk_error *error)
{
    const stk__looked_folder *images = t->cell[STK_CELL_ALL][STK_FOLDER_IMAGES],
                             *masks = t->cell[STK_CELL_ALL][STK_FOLDER_MASKS];
    if (o->layout != STK_LAYOUT_PAIRS && stk__layout_table_has_classes(t)) {
        char first[160], second[160];
        print_pair(images, masks, first);
        print_classes(t, second);
        return refuse_two(t, first, second, "data.layout=pairs or data.layout=classes", error);
    }
    STK__TRY(take_pair(reading, t, images->name, masks->name, error));
    reading->voc = strcasecmp(images->name, "JPEGImages") == 0 &&
                   strncasecmp(masks->name, "SegmentationClass", strlen("SegmentationClass")) == 0;
    if (reading->voc) STK__TRY(stk__layout_find_voc(reading, o, t->root, error));
    stk__layout_count_others(reading, t, images, masks);
    if (reading->voc) return STK_OK;
    return o->layout == STK_LAYOUT_PAIRS ? STK_OK : find_parts_below(reading, o, t, error);
}

/* CelebAMask-HQ: a mask file for each part of a face. Folders of parts of the data set beside it may have
 * been made from it. */
static stk_status read_part_masks(stk__reading *reading, const stk__source_options *o,
                                  const stk__layout_table *t, stk_error *error)
{
    const stk__looked_folder *images = t->cell[STK_CELL_ALL][STK_FOLDER_IMAGES];
    if (!images) return refuse_lone_part_masks(t, error);
    if (t->parts && o->layout != STK_LAYOUT_PAIRS) {
        char first[160], second[160];
        stk__layout_print_parts(t, first);
        print_pair(images, t->part_masks, second);
        return refuse_two(t, first, second, "data.layout=parts or data.layout=pairs", error);
    }
    STK__TRY(take_pair(reading, t, images->name, t->part_masks->name, error));
    reading->part_masks = true;
    snprintf(reading->how, sizeof reading->how, "CelebAMask-HQ: images in '%.40s', masks of parts in '%.40s'",
             images->name, t->part_masks->name);
    stk__layout_count_others(reading, t, images, t->part_masks);
    return STK_OK;
}

/* --- parts ------------------------------------------------------------------------------------------------
 */

static stk_status check_parts(const stk__source_options *o, const stk__layout_table *t, stk_error *error)
{
    char first[160], second[160];
    if (o->layout == STK_LAYOUT_PARTS) return STK_OK;
    stk__layout_print_parts(t, first);
    if (stk__layout_table_has_pair(t)) {
        print_pair(t->cell[STK_CELL_ALL][STK_FOLDER_IMAGES], t->cell[STK_CELL_ALL][STK_FOLDER_MASKS], second);
        return refuse_two(t, first, second, "data.layout=parts or data.layout=pairs", error);
    }
    if (!stk__layout_table_has_classes(t)) return STK_OK;
    print_classes(t, second);
    return refuse_two(t, first, second, "data.layout=parts or data.layout=classes", error);
}

static void print_unread(const stk__layout_table *t, char *text, size_t size)
{
    snprintf(text, size, "'%.60s' beside the images holds .%s files: neither masks nor a list of labels",
             t->aside->name, t->aside_extension);
}

/* The folders of the part that is to be opened. */
static stk_status enter_part(stk__reading *reading, const stk__source_options *o, const stk__layout_table *t,
                             stk_error *error)
{
    const int cell = stk__layout_cell(reading->part);
    const stk__looked_folder *plain = t->cell[cell][STK_FOLDER_PLAIN],
                             *images = t->cell[cell][STK_FOLDER_IMAGES],
                             *masks = t->cell[cell][STK_FOLDER_MASKS];
    const stk__looked_folder *shown = plain ? plain : images;
    snprintf(reading->part_name, sizeof reading->part_name, "%s", shown->name);
    stk__layout_count_others(reading, t, NULL, NULL);
    if (masks) return take_pair(reading, t, images ? images->name : plain->name, masks->name, error);
    if (!join(reading->root, t->root, shown->name)) return refuse_length(t, error);
    for (int i = 1, n = 0; i < STK_CELL_PARTS && n < 2; i++) {
        const stk__looked_folder *other = t->cell[i][STK_FOLDER_PLAIN];
        /* a test set may have classes that nothing was trained on: they must not change the others' numbers
         */
        if (i == cell || i == STK_CELL_TEST || !other || !plain) continue;
        if (!join(reading->siblings[n++], t->root, other->name)) return refuse_length(t, error);
    }
    stk__source_options inside = *o;
    inside.layout = STK_LAYOUT_AUTO;
    STK__TRY(read_level(reading, &inside, false, error));
    if (t->aside) print_unread(t, reading->unread_plain, sizeof reading->unread_plain);
    return STK_OK;
}

/* --- settings ---------------------------------------------------------------------------------------------
 */

static bool find_named(char path[PATH_MAX], const char *root, const char *name)
{
    if (name[0] == '/') return snprintf(path, PATH_MAX, "%s", name) < PATH_MAX && stk__path_is_folder(path);
    return join(path, root, name) && stk__path_is_folder(path);
}

static stk_status refuse_named(const char *root, const char *setting, const char *name, stk_error *error)
{
    stk__fail(error, STK_ERROR_CONFIG, "data.%s = '%s': there is no such folder in '%s'", setting, name,
              root);
    stk__error_place(error, "%s/%s", root, name);
    stk__error_hint(error, "the name of a folder in data.root, or an absolute path");
    return STK_ERROR_CONFIG;
}

/* Of data.images and data.masks one may be missing: then it is found by name, or lies around or beside. */
static stk_status read_named(stk__reading *reading, const stk__source_options *o, const stk__layout_table *t,
                             stk_error *error)
{
    const stk__looked_folder *images = t->cell[STK_CELL_ALL][STK_FOLDER_IMAGES],
                             *masks = t->cell[STK_CELL_ALL][STK_FOLDER_MASKS];
    if (o->images && !find_named(reading->images, t->root, o->images))
        return refuse_named(t->root, "images", o->images, error);
    if (o->masks && !find_named(reading->masks, t->root, o->masks))
        return refuse_named(t->root, "masks", o->masks, error);
    if (!o->masks) {
        if (masks && !join(reading->masks, t->root, masks->name)) return refuse_length(t, error);
        if (!masks && !o->mask_suffix && !o->mask_prefix) {
            stk__fail(error, STK_ERROR_CONFIG,
                      "data.images = '%s', but no folder in '%s' is called like masks", o->images, t->root);
            stk__error_hint(error, "data.masks=NAME, or data.mask_suffix=_mask for masks beside the images");
            return STK_ERROR_CONFIG;
        }
        if (!masks) snprintf(reading->masks, sizeof reading->masks, "%s", reading->images);
    }
    if (!o->images) {
        if (!join(reading->images, t->root, images ? images->name : "")) return refuse_length(t, error);
        if (!images) snprintf(reading->skip, sizeof reading->skip, "%.255s", o->masks);
    }
    if (o->images && o->masks && strcmp(o->images, ".") == 0)
        snprintf(reading->skip, sizeof reading->skip, "%.255s", o->masks); /* they lie in the same folder */
    reading->pairs = true;
    const char *slash = strrchr(reading->masks, '/');
    reading->part_masks =
        stk__folder_word_of(slash ? slash + 1 : reading->masks).kind == STK_FOLDER_PART_MASKS;
    snprintf(reading->how, sizeof reading->how, "images in '%.60s', masks in '%.60s', as set",
             o->images ? o->images
             : images  ? images->name
                       : ".",
             o->masks ? o->masks
             : masks  ? masks->name
                      : o->images);
    return STK_OK;
}

/* --- a folder ---------------------------------------------------------------------------------------------
 */

static stk_status read_others(stk__reading *reading, const stk__source_options *o, const stk__layout_table *t,
                              stk_error *error)
{
    const stk__looked_folder *images = t->cell[STK_CELL_ALL][STK_FOLDER_IMAGES],
                             *masks = t->cell[STK_CELL_ALL][STK_FOLDER_MASKS];
    if (masks && !masks->word.weak && t->look.images && !images) {
        snprintf(reading->skip, sizeof reading->skip, "%s", masks->name);
        return take_pair(reading, t, "", masks->name, error);
    }
    if (masks && !masks->word.weak && !images) {
        if (reading->told_parts && t->in_part) return STK_OK; /* train/mask, train/no_mask: classes */
        return refuse_lone_masks(t, error);
    }
    if (!images || images->word.weak || stk__layout_table_has_classes(t)) return STK_OK;
    if (t->aside && !t->look.images) print_unread(t, reading->unread, sizeof reading->unread);
    if (t->look.whole && !t->look.images && t->look.plain_count < STK_LOOK_PLAIN &&
        !join(reading->images, t->root, images->name))
        return refuse_length(t, error);
    return find_parts_below(reading, o, t, error);
}

static stk_status read_level(stk__reading *reading, const stk__source_options *o, bool parts_allowed,
                             stk_error *error)
{
    stk__layout_table t;
    stk__layout_table_fill(&t, reading->root);
    t.in_part = !parts_allowed;
    reading->no_shards = t.look.whole && !t.look.shards;
    const bool named = o->images || o->masks, above = parts_allowed && t.parts;
    if (named && !(above && !stk__layout_table_has_named(&t, o))) return read_named(reading, o, &t, error);
    if (t.rival[0] && o->layout == STK_LAYOUT_AUTO) return refuse_rivals(&t, error);
    if (t.part_masks && !t.cell[STK_CELL_ALL][STK_FOLDER_MASKS] && !(above && o->layout == STK_LAYOUT_PARTS))
        return read_part_masks(reading, o, &t, error);
    if (above && o->layout != STK_LAYOUT_PAIRS) {
        STK__TRY(check_parts(o, &t, error));
        STK__TRY(stk__layout_choose_part(reading, o, &t, error));
        if (reading->part) return enter_part(reading, o, &t, error);
        return stk__layout_refuse_all(&t, error);
    }
    if (stk__layout_table_has_pair(&t)) return read_pairs(reading, o, &t, error);
    if (!parts_allowed && t.parts) return stk__layout_enter_again(reading, &t, error);
    if (parts_allowed) STK__TRY(stk__layout_refuse_wrapped(&t, error));
    return read_others(reading, o, &t, error);
}

stk_status stk__layout_find(stk__reading *reading, const stk__source_options *options, stk_error *error)
{
    *reading = (stk__reading){0};
    if (!join(reading->root, options->root, ""))
        return stk__fail_errno(error, ENAMETOOLONG, "cannot open the data set '%s'", options->root);
    for (size_t end = strlen(reading->root); end > 1 && reading->root[end - 1] == '/'; end--)
        reading->root[end - 1] = '\0';
    const stk_layout layout = options->layout;
    reading->told_parts = layout == STK_LAYOUT_PARTS;
    if (layout == STK_LAYOUT_CLASSES || layout == STK_LAYOUT_IMAGES || layout == STK_LAYOUT_LIST)
        return STK_OK;
    return read_level(reading, options, true, error);
}
