/* SPDX-License-Identifier: Apache-2.0 */
/* CelebAMask-HQ as it is unpacked: 'CelebA-HQ-img/0.jpg' has the masks
 * 'CelebAMask-HQ-mask-anno/0/00000_skin.png', '…/00000_l_brow.png', …, one for each part that is visible,
 * 2,000 images a folder. Which parts an image has is found at open, as bits; reading its mask reads these
 * files into one bundle (image/part_bundle.h), which the decoder paints in the order of the classes.
 *
 * Names, numbers and order are those of the data set's own script, so that ids are the ones of its merged
 * masks: github.com/switchablenorms/CelebAMask-HQ, face_parsing/Data_preprocessing/g_mask.py (label_list). A
 * classes.txt with the same names in another order changes them. Constant after open. */
#include "source/part_masks.h"

#include "core/file.h"
#include "image/part_bundle.h"
#include "source/extension.h"
#include "source/pairs.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const stk__part_mask_names[STK_PART_MASK_NAMES] = {
    "background", "skin",  "nose",  "eye_g", "l_eye", "r_eye", "l_brow", "r_brow", "l_ear", "r_ear",
    "mouth",      "u_lip", "l_lip", "hair",  "hat",   "ear_r", "neck_l", "neck",   "cloth"};

enum { IMAGES_PER_FOLDER = 2000, DIGITS = 5 };

typedef struct part_masks {
    stk__files files;  /* row of an image: its set + 1, 0: it has none */
    stk__catalog sets; /* "0/00000": where the parts of an image lie, without "_skin.png"; row: bits of
                          classes as in stk__part_mask_names. In the order they were found */
    uint8_t order[STK_PART_MASK_NAMES]; /* [id] -> index in stk__part_mask_names */
} part_masks;

static const part_masks *masks_of(const stk__source *source)
{
    return (const part_masks *)(const void *)source;
}

/* --- reading ----------------------------------------------------------------------------------------------
 */

static const stk__entry *image_at(const part_masks *m, uint64_t id)
{
    return stk__catalog_at(&m->files.catalog, id);
}

/* "…/0/00000_skin.png" */
static void part_path(const part_masks *m, const stk__entry *set, const char *part, char *text, size_t size)
{
    char extension[STK_EXTENSION_BYTES];
    stk__extension_text(set->extension, extension);
    snprintf(text, size, "%s/%s_%s.%s", m->files.masks, stk__catalog_key(&m->sets, set), part, extension);
}

/* "…/0/00000_*.png"; of an image without masks, where they might be. */
static void mask_where(const part_masks *m, const stk__entry *image, char *text, size_t size)
{
    const char *key = stk__catalog_key(&m->files.catalog, image);
    if (image->row) {
        part_path(m, stk__catalog_at(&m->sets, image->row - 1), "*", text, size);
        return;
    }
    const bool number = strspn(key, "0123456789") == image->length && image->length <= DIGITS;
    const int value = number ? atoi(key) : 0;
    if (number)
        snprintf(text, size, "%s/%d/%0*d_*.png", m->files.masks, value / IMAGES_PER_FOLDER, DIGITS, value);
    else
        snprintf(text, size, "%s/%s_*.png", m->files.masks, key);
}

static void masks_where(const stk__source *source, uint64_t id, stk__field field, char *text, size_t size)
{
    const part_masks *m = masks_of(source);
    if (field == STK_FIELD_MASK)
        mask_where(m, image_at(m, id), text, size);
    else
        stk__files_path(&m->files.catalog, image_at(m, id), m->files.images, text, size);
}

static stk_status refuse_unmasked(const part_masks *m, const stk__entry *image, stk_error *error)
{
    char path[PATH_MAX];
    mask_where(m, image, path, sizeof path);
    stk__damaged(error, STK_DAMAGE_MASK_MISSING, "the image '%s' has no mask of any part",
                 stk__catalog_key(&m->files.catalog, image));
    stk__error_place(error, "%s", path);
    stk__error_hint(error, "the image '0' has the masks '00000_skin', '00000_hair', …, .png or .npy");
    return STK_ERROR_SAMPLE;
}

static stk_status masks_read(const stk__source *source, uint64_t id, stk__field field, stk__buffer *buffer,
                             const char **extension, stk_error *error)
{
    if (field == STK_FIELD_IMAGE) return stk__files_read_image(source, id, buffer, extension, error);
    const part_masks *m = masks_of(source);
    const stk__entry *image = image_at(m, id);
    if (!image->row) return refuse_unmasked(m, image, error);
    const stk__entry *set = stk__catalog_at(&m->sets, image->row - 1);
    STK__TRY(stk__part_bundle_begin(buffer, error));
    for (uint8_t number = 1; number < STK_PART_MASK_NAMES; number++) {
        char path[PATH_MAX];
        if (!(set->row & 1u << m->order[number])) continue;
        part_path(m, set, stk__part_mask_names[m->order[number]], path, sizeof path);
        STK__TRY(stk__part_bundle_add(buffer, number, path, m->files.limit_bytes, error));
    }
    *extension = stk__part_bundle_extension;
    return STK_OK;
}

static void masks_hint(const stk__source *source, uint64_t id)
{
    const part_masks *m = masks_of(source);
    const stk__entry *image = image_at(m, id);
    char path[PATH_MAX];
    stk__files_path(&m->files.catalog, image, m->files.images, path, sizeof path);
    stk__file_hint(path);
    const stk__entry *set = image->row ? stk__catalog_at(&m->sets, image->row - 1) : NULL;
    for (int i = 1; set && i < STK_PART_MASK_NAMES; i++) {
        if (!(set->row & 1u << i)) continue;
        part_path(m, set, stk__part_mask_names[i], path, sizeof path);
        stk__file_hint(path);
    }
}

static bool masks_stamp(const stk__source *source, uint64_t id, stk__field field, stk__file_stamp *stamp)
{
    const part_masks *m = masks_of(source);
    const stk__entry *image = image_at(m, id);
    char path[PATH_MAX];
    if (field == STK_FIELD_IMAGE) {
        stk__files_path(&m->files.catalog, image, m->files.images, path, sizeof path);
        return stk__file_stamp_add(stamp, path);
    }
    const stk__entry *set = image->row ? stk__catalog_at(&m->sets, image->row - 1) : NULL;
    bool known = set;
    const stk__digest both[2] = {stamp->digest, stk__digest_of(m->order, sizeof m->order)};
    stamp->digest = stk__digest_of(both, sizeof both); /* classes.txt changes ids */
    for (int i = 1; i < STK_PART_MASK_NAMES && known; i++) {
        if (!(set->row & 1u << i)) continue;
        part_path(m, set, stk__part_mask_names[i], path, sizeof path);
        known = stk__file_stamp_add(stamp, path);
    }
    return known;
}

static void masks_close(stk__source *source)
{
    part_masks *m = (part_masks *)(void *)source;
    stk__files_fini(&m->files);
    stk__catalog_fini(&m->sets);
    stk__free(m);
}

static const stk__source_ops masks_ops = {
    .name = "part masks",
    .facts = stk__pairs_facts,
    .read = masks_read,
    .hint = masks_hint,
    .key = stk__files_key,
    .where = masks_where,
    .stamp = masks_stamp,
    .close = masks_close,
};

/* --- names ------------------------------------------------------------------------------------------------
 */

/* A file's name, "0/00000_l_brow": set is "0/00000", stem "00000". */
typedef struct part_name {
    size_t set_length;
    const char *stem;
    size_t stem_length;
    const char *part; /* what is not the stem: "l_brow" */
    int index;        /* in stk__part_mask_names; 0: none of them */
} part_name;

static int find_part(const char *text)
{
    for (int i = 1; i < STK_PART_MASK_NAMES; i++)
        if (strcmp(text, stk__part_mask_names[i]) == 0) return i;
    return 0;
}

/* A number ends at the first '_'; other names may have some themselves and end where a part follows. */
static part_name split_name(const char *key)
{
    const char *slash = strrchr(key, '/');
    part_name name = {.stem = slash ? slash + 1 : key};
    const size_t digits = strspn(name.stem, "0123456789");
    const bool number = digits && name.stem[digits] == '_';
    const char *bar = strchr(name.stem, '_');
    while (bar && !number && !find_part(bar + 1))
        bar = strchr(bar + 1, '_');
    name.part = bar ? bar + 1 : name.stem;
    name.index = bar ? find_part(bar + 1) : 0;
    name.stem_length = bar ? (size_t)(bar - name.stem) : 0;
    name.set_length = (size_t)(name.stem - key) + name.stem_length;
    return name;
}

static stk_status refuse_part(const part_masks *m, const stk__catalog *found, const stk__entry *entry,
                              const char *part, stk_error *error)
{
    char path[PATH_MAX];
    stk__files_path(found, entry, m->files.masks, path, sizeof path);
    stk__fail(error, STK_ERROR_DATA, "'%.80s' is not the name of a part of CelebAMask-HQ", part);
    stk__error_place(error, "%s", path);
    stk__error_hint(error,
                    "files are called NUMBER_PART, with the parts skin, nose, eye_g, l_eye, r_eye, l_brow, "
                    "r_brow, l_ear, r_ear, mouth, u_lip, l_lip, hair, hat, ear_r, neck_l, neck, cloth");
    return STK_ERROR_DATA;
}

/* '00000' belongs to 00000.jpg, or else to 0.jpg. */
static stk__entry *find_image(const part_masks *m, const part_name *name)
{
    const char *stem = name->stem;
    size_t length = name->stem_length;
    const stk__catalog *images = &m->files.catalog;
    const stk__entry *image = stk__catalog_find(images, stem, length);
    for (; length > 1 && *stem == '0' && isdigit((unsigned char)stem[1]); length--)
        stem++;
    if (!image) image = stk__catalog_find(images, stem, length);
    return image ? stk__catalog_at(images, (uint64_t)(image - stk__catalog_at(images, 0))) : NULL;
}

/* --- opening ----------------------------------------------------------------------------------------------
 */

static stk_status refuse_two_places(const part_masks *m, const stk__entry *set, const stk__catalog *found,
                                    const stk__entry *entry, stk_error *error)
{
    char first[PATH_MAX], second[PATH_MAX];
    part_path(m, set, "*", first, sizeof first);
    stk__files_path(found, entry, m->files.masks, second, sizeof second);
    stk__fail(error, STK_ERROR_DATA, "the masks of an image lie in two places: '%s' and '%s'", first, second);
    stk__error_place(error, "%s", second);
    stk__error_hint(error,
                    "the parts of an image lie in one folder and have one extension: move or remove some");
    return STK_ERROR_DATA;
}

/* Adds a file to the set of its image. */
static stk_status take_part(part_masks *m, stk__entry *image, const stk__catalog *found,
                            const stk__entry *entry, stk_error *error)
{
    const char *key = stk__catalog_key(found, entry);
    const part_name name = split_name(key);
    if (!image->row) {
        STK__TRY(stk__catalog_add(&m->sets, key, name.set_length, 0, error));
        image->row = (uint32_t)stk__catalog_count(&m->sets);
        stk__catalog_at(&m->sets, image->row - 1)->extension = image->mask_extension = entry->extension;
    }
    stk__entry *set = stk__catalog_at(&m->sets, image->row - 1);
    if (set->extension != entry->extension ||
        stk__catalog_compare(stk__catalog_key(&m->sets, set), set->length, key, name.set_length) != 0)
        return refuse_two_places(m, set, found, entry, error);
    set->row |= 1u << name.index;
    return STK_OK;
}

static stk_status refuse_strangers(const part_masks *m, const stk__entry *stranger, const stk__catalog *found,
                                   stk_error *error)
{
    char path[PATH_MAX];
    stk__files_path(found, stranger, m->files.masks, path, sizeof path);
    stk__fail(error, STK_ERROR_DATA, "no mask belongs to an image in '%s'", m->files.images);
    stk__error_place(error, "%s", path);
    stk__error_hint(error,
                    "the image '0' has the masks '00000_skin', '00000_hair', …: is it the same data set?");
    return STK_ERROR_DATA;
}

static stk_status match_parts(part_masks *m, const stk__catalog *found, stk_error *error)
{
    uint64_t orphans = 0;
    const stk__entry *orphan = NULL;
    for (uint64_t i = 0; i < stk__catalog_count(&m->files.catalog); i++)
        stk__catalog_at(&m->files.catalog, i)->row = 0;
    for (uint64_t i = 0; i < stk__catalog_count(found); i++) {
        const stk__entry *entry = stk__catalog_at(found, i);
        const part_name name = split_name(stk__catalog_key(found, entry));
        if (!name.index) return refuse_part(m, found, entry, name.part, error);
        stk__entry *image = find_image(m, &name);
        if (image)
            STK__TRY(take_part(m, image, found, entry, error));
        else if (orphans++ == 0)
            orphan = entry;
    }
    if (!stk__catalog_count(&m->sets)) return refuse_strangers(m, orphan, found, error);
    if (!orphans) return STK_OK;
    char path[PATH_MAX];
    stk__files_path(found, orphan, "", path, sizeof path);
    m->files.source.info.orphans = orphans;
    stk__left_out_add(&m->files.source.info, "masks without an image", orphans, path + 1);
    return STK_OK;
}

static stk_status scan_parts(part_masks *m, stk_error *error)
{
    stk__scan scan = {0};
    stk_status status = stk__scan_folder(&scan, m->files.masks, error);
    if (status == STK_OK && stk__catalog_count(&scan.samples) == 0)
        status = stk__scan_nothing(&scan, m->files.masks, error);
    if (status == STK_OK) {
        stk__files_leave_out(&m->files.source.info, &scan);
        stk__catalog_sort(&scan.samples);
        status = stk__files_refuse_duplicates(&scan.samples, m->files.masks, error);
    }
    if (status == STK_OK) status = match_parts(m, &scan.samples, error);
    stk__scan_fini(&scan);
    return status;
}

/* classes.txt may number the parts in another way; what belongs to no part is class 0. */
static stk_status number_parts(part_masks *m, const stk__site *site, stk_error *error)
{
    const stk__classes *classes = &m->files.classes;
    for (uint8_t i = 1; i < STK_PART_MASK_NAMES; i++) {
        const char *name = stk__part_mask_names[i];
        const int32_t id = stk__classes_find(classes, name, strlen(name));
        if (id > 0 && id < STK_PART_MASK_NAMES) m->order[id] = i;
        if (id > 0 && classes->count == STK_PART_MASK_NAMES) continue;
        if (classes->count != STK_PART_MASK_NAMES)
            stk__fail(error, STK_ERROR_DATA, "classes.txt has %d names, masks of parts have %d",
                      classes->count, STK_PART_MASK_NAMES);
        else if (id < 0)
            stk__fail(error, STK_ERROR_DATA, "classes.txt does not have the part '%s'", name);
        else
            stk__fail(error, STK_ERROR_DATA, "class 0 of classes.txt is '%s': 0 is what belongs to no part",
                      name);
        stk__error_place(error, "%s/classes.txt", site->root);
        stk__error_hint(
            error, "remove it, for the order of CelebAMask-HQ; or a name for what belongs to no part, then "
                   "the 18 parts in any order");
        return STK_ERROR_DATA;
    }
    return STK_OK;
}

static stk_status open_masks(part_masks *m, const stk__site *site, stk_error *error)
{
    stk__files *files = &m->files;
    files->limit_bytes = site->options->limit_bytes;
    files->images = stk__text_copy(site->reading->images);
    files->masks = stk__text_copy(site->reading->masks);
    if (!files->images || !files->masks) return stk__fail_memory(error, PATH_MAX, "the path of a folder");
    stk__files_describe(files, site, "images and masks of parts");
    STK__TRY(stk__pairs_scan_images(files, site, error));
    STK__TRY(scan_parts(m, error));
    STK__TRY(stk__pairs_finish(files, site, error));
    files->source.ops = &masks_ops;
    return number_parts(m, site, error);
}

stk_status stk__part_masks_open(stk__source **source, const stk__site *site, stk_error *error)
{
    part_masks *m = stk__alloc(sizeof *m);
    if (!m) return stk__fail_memory(error, sizeof *m, "a source");
    const stk_status status = open_masks(m, site, error);
    if (status != STK_OK)
        masks_close(&m->files.source);
    else
        *source = &m->files.source;
    return status;
}
