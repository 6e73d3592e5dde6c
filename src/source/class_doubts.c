/* SPDX-License-Identifier: Apache-2.0 */
/* Refuses folders as classes that look like something else. The scan has been made: keys in the catalog begin
 * with the name of their class, and only a class with folders in it is looked into. One thread, while a
 * source opens. */
#include "source/class_doubts.h"

#include "source/extension.h"
#include "source/layout_table.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

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

/* A folder for each image, as in the Data Science Bowl: ID/images/ID.png, ID/masks/ with a file per object.
 */
static stk_status refuse_objects(const doubts *d, const char *name, bool masks, stk_error *error)
{
    const char *root = d->files->images;
    stk__fail(error, STK_ERROR_DATA, "'%s' has a folder for each image, '%s' and others, %s", root, name,
              masks ? "with a mask file for each object, and an image needs one mask of class ids"
                    : "which are not classes");
    stk__error_place(error, "%s/%s", root, name);
    if (masks)
        stk__error_hint(error,
                        "merge the masks of an image into one, and put all images into images/, all masks "
                        "into masks/; %s, if '%s' is a class",
                        d->setting, name);
    else
        stk__error_hint(error, "data.layout=images with '%s' as the data set; %s, if '%s' is a class", root,
                        d->setting, name);
    return STK_ERROR_DATA;
}

/* Whether the folder of an entry has no other file, and the entry is called like its class: ID/images/ID. */
static bool is_image_folder(const stk__catalog *catalog, uint64_t index)
{
    const char *key = stk__catalog_key(catalog, stk__catalog_at(catalog, index)), *name = strrchr(key, '/');
    const size_t length = strcspn(key, "/"), folder = (size_t)(name + 1 - key);
    if (strlen(name + 1) != length || memcmp(name + 1, key, length) != 0) return false;
    if (folder != length + strlen("/images/") || memcmp(key + length, "/images/", folder - length) != 0)
        return false;
    if (index + 1 == stk__catalog_count(catalog)) return true;
    return strncmp(key, stk__catalog_key(catalog, stk__catalog_at(catalog, index + 1)), folder) != 0;
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
        const bool pair = stk__layout_table_has_pair(&table);
        if (is_image_folder(catalog, i) && (pair || !d->site->options->unlabeled))
            return refuse_objects(d, name, pair, error);
        if (looks_like_set(&table)) return refuse_set(d, name, &table, error);
    }
    return STK_OK;
}

/* --- parts of a cross-validation --------------------------------------------------------------------------
 */

/* fold_0, Fold1, split-2 */
static bool is_fold(const char *name)
{
    const size_t word = strncasecmp(name, "fold", 4) == 0 ? 4 : strncasecmp(name, "split", 5) == 0 ? 5 : 0;
    if (!word) return false;
    name += word;
    name += strchr("_- ", *name) && *name;
    return *name && strspn(name, "0123456789") == strlen(name);
}

static stk_status check_folds(const doubts *d, stk_error *error)
{
    const stk__classes *classes = &d->files->classes;
    const stk__catalog *catalog = &d->files->catalog;
    for (int32_t i = 0; i < classes->count; i++)
        if (!is_fold(classes->list[i])) return STK_OK;
    for (uint64_t i = 0; i < stk__catalog_count(catalog); i++)
        if (!folder_in_class(stk__catalog_key(catalog, stk__catalog_at(catalog, i)))) return STK_OK;
    const char *first = classes->list[0], *last = classes->list[classes->count - 1];
    stk__fail(
        error, STK_ERROR_DATA,
        "the folders '%s' to '%s' in '%s' are called like parts of a cross-validation, and have folders "
        "themselves: they are not classes",
        first, last, d->files->images);
    stk__error_place(error, "%s/%s", d->files->images, first);
    stk__error_hint(error,
                    "give '%s/%s' as the data set and data.val_root=%s/%s; %s, if they are "
                    "classes",
                    d->files->images, first, d->files->images, last, d->setting);
    return STK_ERROR_DATA;
}

/* --- one folder, and the data set deeper in it ------------------------------------------------------------
 */

enum { DEPTH = 3 };

/* The only folder in it that has images; NULL: there are others, or none. */
static const stk__looked_folder *only_folder(const stk__layout_table *t)
{
    const stk__looked_folder *only = NULL;
    char path[PATH_MAX];
    if (t->look.images || t->aside || looks_like_set(t) || t->look.plain_total > STK_LOOK_PLAIN) return NULL;
    for (int i = 0; i < t->look.plain_count + t->look.word_count; i++) {
        const stk__looked_folder *folder =
            i < t->look.plain_count ? &t->look.plain[i] : &t->look.words[i - t->look.plain_count];
        if (!stk__path_join(path, t->root, folder->name) || !stk__folder_content_of(path).images) continue;
        if (only) return NULL;
        only = folder;
    }
    return only;
}

/* One class without a file of its own: food-101/images/apple_pie/1.jpg. Where classes do not matter, only a
 * data set with masks or parts is refused: they would be images like others. */
static stk_status check_depth(const doubts *d, stk_error *error)
{
    const stk__catalog *catalog = &d->files->catalog;
    stk__layout_table table;
    char path[PATH_MAX];
    if (d->files->classes.count != 1) return STK_OK;
    for (uint64_t i = 0; i < stk__catalog_count(catalog); i++)
        if (!folder_in_class(stk__catalog_key(catalog, stk__catalog_at(catalog, i)))) return STK_OK;
    const char *name = d->files->classes.list[0];
    if (!stk__path_join(path, d->files->images, name)) return STK_OK;
    for (int depth = 0; depth < DEPTH; depth++) {
        stk__layout_table_fill(&table, path);
        const stk__looked_folder *only = only_folder(&table);
        if (!only || !stk__path_join(path, table.root, only->name)) break;
    }
    if (d->site->options->unlabeled && !looks_like_set(&table)) return STK_OK;
    stk__fail(error, STK_ERROR_DATA,
              "'%s' has images in one folder alone, '%s', which has folders of images itself: the data set "
              "seems to be '%s'",
              d->files->images, name, path);
    stk__error_place(error, "%s", path);
    stk__error_hint(error, "give '%s' as the data set; %s, if '%s' is a class", path, d->setting, name);
    return STK_ERROR_DATA;
}

/* --- words for parts and masks ----------------------------------------------------------------------------
 */

/* seg_train, seg_test (Intel scenes) have classes in them, train_masks, test_masks have masks. */
static void hint_part(const doubts *d, const char *name, stk_error *error)
{
    const stk__classes *classes = &d->files->classes;
    stk__layout_table table;
    char path[PATH_MAX];
    for (int32_t i = 0; i < classes->count; i++) {
        const stk__folder_word word = stk__folder_word_of(classes->list[i]);
        if (word.part == STK_SOURCE_TRAIN && word.kind == STK_FOLDER_MASKS) name = classes->list[i];
    }
    if (!stk__path_join(path, d->files->images, name)) return;
    for (int depth = 0; depth < DEPTH; depth++) {
        stk__layout_table_fill(&table, path);
        const stk__looked_folder *only = only_folder(&table);
        if (!only || !stk__path_join(path, table.root, only->name)) break;
    }
    if (stk__layout_table_has_classes(&table))
        stk__error_hint(error,
                        "give '%s' as the data set, if its folders are classes; %s, if '%.60s' is a class",
                        path, d->setting, name);
    else
        stk__error_hint(error, "data.images=NAME data.masks=%.60s, if they are masks; %s, if it is a class",
                        name, d->setting);
}

/* What layout_find.c leaves, or does not see in a folder of very many names. */
static stk_status check_words(const doubts *d, stk_error *error)
{
    const stk__classes *classes = &d->files->classes;
    for (int32_t i = 0; i < classes->count; i++) {
        const stk__folder_word word = stk__folder_word_of(classes->list[i]);
        if (!word.part && (word.kind == STK_FOLDER_PLAIN || word.kind == STK_FOLDER_IMAGES || word.weak))
            continue;
        stk__fail(error, STK_ERROR_DATA, "the folder '%s' is called like %s, and lies beside classes",
                  classes->list[i], word.part ? "a part of a data set" : "masks");
        stk__error_place(error, "%s/%s", d->files->images, classes->list[i]);
        stk__error_hint(error, "%s, if it is a class", d->setting);
        if (word.part && word.kind == STK_FOLDER_MASKS) hint_part(d, classes->list[i], error);
        return STK_ERROR_DATA;
    }
    return STK_OK;
}

/* --- folders whose files pair -----------------------------------------------------------------------------
 */

enum { PAIR_FILES = 3, PAIR_TRIES = 256, FOLDERS_MOST = 8 };

/* One of the classes: a range of the catalog. */
typedef struct half {
    const char *name;
    uint64_t first, count;
    bool png, jpeg; /* all files are */
    bool called;    /* its name speaks of masks */
} half;

static bool is_called_masks(const char *name)
{
    static const char *const words[] = {"mask", "truth", "segment", "semantic", "label", "annot", "matte"};
    const size_t length = strlen(name);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcasestr(name, words[i])) return true;
    if (strncasecmp(name, "gt_", 3) == 0) return true;
    return length > 3 && strcasecmp(name + length - 2, "gt") == 0 && strchr("_- ", name[length - 3]);
}

static half half_of(const doubts *d, const char *name, uint64_t first)
{
    const stk__catalog *catalog = &d->files->catalog;
    half h = {.name = name, .first = first, .png = true, .jpeg = true, .called = is_called_masks(name)};
    const uint64_t end = stk__catalog_count(catalog);
    const size_t length = strlen(name);
    for (uint64_t i = first; i < end; i++, h.count++) {
        const stk__entry *entry = stk__catalog_at(catalog, i);
        const char *key = stk__catalog_key(catalog, entry),
                   *extension = stk__extension_name(entry->extension);
        if (strncmp(key, name, length) != 0 || key[length] != '/') break;
        h.png = h.png && strcasecmp(extension, "png") == 0;
        h.jpeg = h.jpeg && (strcasecmp(extension, "jpg") == 0 || strcasecmp(extension, "jpeg") == 0);
    }
    return h;
}

/* Whether masks/x has the image images/x by this rule. */
static bool fits(const doubts *d, const half *images, const half *masks, const stk__pair_rule *rule,
                 const stk__entry *mask)
{
    const stk__catalog *catalog = &d->files->catalog;
    char key[4096], other[4096];
    const size_t length =
        stk__pair_rule_image(rule, stk__catalog_key(catalog, mask), mask->length, key, sizeof key);
    if (!length) return false;
    const int written = snprintf(other, sizeof other, "%s%s", images->name, key + strlen(masks->name));
    return written > 0 && (size_t)written < sizeof other &&
           stk__catalog_find(catalog, other, (size_t)written);
}

/* Nine of ten files of the smaller folder have a partner. */
static bool pair_by(const doubts *d, const half *images, const half *masks, const stk__pair_rule *rule)
{
    const uint64_t tries = masks->count < PAIR_TRIES ? masks->count : PAIR_TRIES,
                   smaller = masks->count < images->count ? masks->count : images->count;
    uint64_t hits = 0;
    for (uint64_t i = 0; i < tries; i++)
        hits += fits(d, images, masks, rule,
                     stk__catalog_at(&d->files->catalog, masks->first + i * masks->count / tries));
    return (double)hits / (double)tries * (double)masks->count >= 0.9 * (double)smaller;
}

/* "image_2" and "gt_image_2", "scans" and "scans_mask": the name of the images, and a word for masks. */
static bool is_named_after(const half *masks, const half *images)
{
    const size_t length = strlen(images->name), size = strlen(masks->name);
    char rest[NAME_MAX + 1];
    if (size <= length + 1) return false;
    if (strncmp(masks->name, images->name, length) == 0 && strchr("_- ", masks->name[length]))
        snprintf(rest, sizeof rest, "%s", masks->name + length + 1);
    else if (strcmp(masks->name + size - length, images->name) == 0 &&
             strchr("_- ", masks->name[size - length - 1]))
        snprintf(rest, sizeof rest, "%.*s", (int)(size - length - 1), masks->name);
    else
        return false;
    return stk__folder_word_of(rest).kind == STK_FOLDER_MASKS;
}

/* The rule that the longest common start of a mask's and an image's name makes: "x_RGB" and "x_label". */
static bool guess_rule(const doubts *d, const half *images, const half *masks, stk__pair_rule *rule)
{
    const stk__catalog *catalog = &d->files->catalog;
    const char *mask =
                   stk__catalog_key(catalog, stk__catalog_at(catalog, masks->first)) + strlen(masks->name),
               *image = NULL;
    size_t most = 1;
    for (uint64_t i = images->first; i < images->first + images->count; i++) {
        const char *key = stk__catalog_key(catalog, stk__catalog_at(catalog, i)) + strlen(images->name);
        size_t same = 0;
        while (key[same] && key[same] == mask[same])
            same++;
        if (same <= most) continue;
        most = same;
        image = key;
    }
    while (image && most > 1 && !strchr("_-. ", mask[most - 1]))
        most--; /* whole words */
    if (!image || most < 3) return false;
    const char *image_end = image + most - 1, *mask_end = mask + most - 1;
    *rule = (stk__pair_rule){.image_suffix = ""};
    return !strchr(image_end, '/') && !strchr(mask_end, '/') &&
           strcspn(image_end, "0123456789") == strlen(image_end) &&
           snprintf(rule->image_suffix, STK_AFFIX_BYTES, "%s", image_end) < STK_AFFIX_BYTES &&
           snprintf(rule->mask_suffix, STK_AFFIX_BYTES, "%s", mask_end) < STK_AFFIX_BYTES;
}

/* Files of classes are often numbered alike: equal names alone say nothing. */
static bool are_pairs(const doubts *d, const half *images, const half *masks)
{
    const stk__pair_rule same = {0};
    const bool told = (masks->called && !images->called) || (masks->png && images->jpeg);
    if (told && pair_by(d, images, masks, &same)) return true;
    for (int i = 0; stk__pair_rule_at(i); i++)
        if (stk__pair_rule_is_beside(i) && pair_by(d, images, masks, stk__pair_rule_at(i))) return true;
    if (is_named_after(masks, images)) return true;
    stk__pair_rule rule;
    return told && guess_rule(d, images, masks, &rule) && pair_by(d, images, masks, &rule);
}

static stk_status refuse_pairs(const doubts *d, const half *images, const half *masks, stk_error *error)
{
    const stk__catalog *catalog = &d->files->catalog;
    const char *key = stk__catalog_key(catalog, stk__catalog_at(catalog, images->first));
    stk__fail(error, STK_ERROR_DATA,
              "'%s' can be read in two ways: images in '%s' with masks in '%s', whose %s "
              "match, or a folder of classes with these names",
              d->files->images, images->name, masks->name,
              is_named_after(masks, images) ? "names" : "file names");
    stk__error_place(error, "%s", d->files->images);
    if (folder_in_class(key))
        stk__error_hint(error,
                        "data.images=%s data.masks=%s; give '%s/%s' as the data set, if its folders are "
                        "classes; or %s",
                        images->name, masks->name, d->files->images, images->name, d->setting);
    else
        stk__error_hint(error, "data.images=%s data.masks=%s, or %s", images->name, masks->name, d->setting);
    return STK_ERROR_DATA;
}

static stk_status check_pairs(const doubts *d, stk_error *error)
{
    const int32_t count = d->files->classes.count;
    char names[FOLDERS_MOST][NAME_MAX + 1];
    half folders[FOLDERS_MOST];
    uint64_t at = 0;
    if (count < 2 || count > FOLDERS_MOST) return STK_OK;
    for (int32_t i = 0; i < count; i++) { /* keys are not sorted like names: "a b/x" < "a/x" */
        if (at == stk__catalog_count(&d->files->catalog)) return STK_OK; /* a class of another part */
        const char *key = stk__catalog_key(&d->files->catalog, stk__catalog_at(&d->files->catalog, at));
        snprintf(names[i], sizeof names[i], "%.*s", (int)strcspn(key, "/"), key);
        folders[i] = half_of(d, names[i], at);
        if (folders[i].count < PAIR_FILES) return STK_OK;
        at += folders[i].count;
    }
    if (at != stk__catalog_count(&d->files->catalog)) return STK_OK;
    for (int32_t images = 0; images < count; images++)
        for (int32_t masks = 0; masks < count; masks++)
            if (images != masks && (count == 2 || folders[masks].called) &&
                are_pairs(d, &folders[images], &folders[masks]))
                return refuse_pairs(d, &folders[images], &folders[masks], error);
    return STK_OK;
}

stk_status stk__class_doubts_refuse(const stk__files *files, const stk__site *site, stk_error *error)
{
    /* data.layout=classes reads a root without parts */
    const bool part = site->reading && *site->reading->part_name;
    const doubts d = {files, site, part ? "data.layout=parts" : "data.layout=classes"};
    const bool labels = !site->options->unlabeled;
    STK__TRY(check_words(&d, error));
    if (labels) STK__TRY(check_folds(&d, error));
    STK__TRY(check_sets(&d, error));
    STK__TRY(check_depth(&d, error));
    STK__TRY(check_pairs(&d, error));
    return labels ? stk__class_names_refuse(files, d.setting, error) : STK_OK;
}
