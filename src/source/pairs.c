/* SPDX-License-Identifier: Apache-2.0 */
/* Images and masks, in two folders or side by side. A mask has the path of its image, whatever their
 * extensions, or a name that follows from it by one rule for the whole data set (pair_rules.h). */
#include "source/pairs.h"

#include "core/file.h"
#include "source/extension.h"
#include "source/part_lists.h"
#include "source/part_masks.h"

#include <stdio.h>
#include <string.h>

stk_status stk__pairs_facts(const stk__source *source, uint64_t id, stk__sample_facts *facts,
                            stk_error *error)
{
    (void)source;
    (void)id;
    (void)error;
    *facts = (stk__sample_facts){0};
    return STK_OK;
}

/* Where the mask is, or for a missing one where it might be. */
static void mask_path(const stk__files *files, const stk__entry *entry, char *text, size_t size)
{
    char key[PATH_MAX], extension[STK_EXTENSION_BYTES] = "png";
    const char *image = stk__catalog_key(&files->catalog, entry);
    const bool fits = stk__pair_rule_mask(&files->rule, image, entry->length, key, sizeof key);
    if (entry->mask_extension != STK_EXTENSION_NONE) stk__extension_text(entry->mask_extension, extension);
    if (snprintf(text, size, "%s/%s.%s", files->masks, fits ? key : image, extension) < 0) text[0] = '\0';
}

static void pairs_where(const stk__source *source, uint64_t id, stk__field field, char *text, size_t size)
{
    const stk__files *files = stk__files_of(source);
    const stk__entry *entry = stk__catalog_at(&files->catalog, id);
    if (field == STK_FIELD_MASK)
        mask_path(files, entry, text, size);
    else
        stk__files_path(&files->catalog, entry, files->images, text, size);
}

static stk_status pairs_read(const stk__source *source, uint64_t id, stk__field field, stk__buffer *buffer,
                             const char **extension, stk_error *error)
{
    if (field == STK_FIELD_IMAGE) return stk__files_read_image(source, id, buffer, extension, error);
    const stk__files *files = stk__files_of(source);
    const stk__entry *entry = stk__catalog_at(&files->catalog, id);
    char path[PATH_MAX];
    mask_path(files, entry, path, sizeof path);
    if (entry->mask_extension == STK_EXTENSION_NONE) {
        stk__damaged(error, STK_DAMAGE_MASK_MISSING, "the image '%s' has no mask",
                     stk__catalog_key(&files->catalog, entry));
        stk__error_place(error, "%s", path);
        char rule[128];
        stk__pair_rule_print(&files->rule, rule);
        stk__error_hint(error, "%s, .png or .npy", rule);
        return STK_ERROR_SAMPLE;
    }
    *extension = stk__extension_name(entry->mask_extension);
    return stk__file_read(path, files->limit_bytes, buffer, error);
}

static void pairs_hint(const stk__source *source, uint64_t id)
{
    char path[PATH_MAX];
    pairs_where(source, id, STK_FIELD_IMAGE, path, sizeof path);
    stk__file_hint(path);
    pairs_where(source, id, STK_FIELD_MASK, path, sizeof path);
    stk__file_hint(path);
}

static void pairs_close(stk__source *source)
{
    stk__files_fini((stk__files *)(void *)source);
    stk__free(source);
}

static const stk__source_ops pairs_ops = {
    .name = "pairs",
    .facts = stk__pairs_facts,
    .read = pairs_read,
    .hint = pairs_hint,
    .key = stk__files_key,
    .where = pairs_where,
    .stamp = stk__files_stamp,
    .close = pairs_close,
};

/* What walking along both sorted catalogs finds. */
typedef struct match {
    uint64_t pairs, orphans;
    const stk__entry *orphan; /* one mask without image */
} match;

static match match_masks(const stk__catalog *images, const stk__catalog *masks)
{
    match found = {0};
    uint64_t i = 0, m = 0;
    while (m < stk__catalog_count(masks)) {
        const stk__entry *mask = stk__catalog_at(masks, m);
        stk__entry *image = i < stk__catalog_count(images) ? stk__catalog_at(images, i) : NULL;
        const int order = image ? stk__catalog_compare(stk__catalog_key(images, image), image->length,
                                                       stk__catalog_key(masks, mask), mask->length)
                                : 1;
        if (order == 0) {
            image->mask_extension = mask->extension;
            found.pairs++;
        }
        if (order > 0 && found.orphans++ == 0) found.orphan = mask;
        i += order <= 0;
        m += order >= 0;
    }
    return found;
}

/* The masks' names by a rule: each leads to the key of its image. */
static match match_by_rule(const stk__pair_rule *rule, const stk__catalog *images, const stk__catalog *masks)
{
    match found = {0};
    char key[PATH_MAX];
    for (uint64_t m = 0; m < stk__catalog_count(masks); m++) {
        const stk__entry *mask = stk__catalog_at(masks, m);
        const size_t length =
            stk__pair_rule_image(rule, stk__catalog_key(masks, mask), mask->length, key, sizeof key);
        const stk__entry *image = length ? stk__catalog_find(images, key, length) : NULL;
        if (image) {
            stk__catalog_at(images, (uint64_t)(image - stk__catalog_at(images, 0)))->mask_extension =
                mask->extension;
            found.pairs++;
        } else if (found.orphans++ == 0) {
            found.orphan = mask;
        }
    }
    return found;
}

/* "trimaps/pug_1" is the mask of "pug_1": the folder between. */
static bool find_deeper(const stk__catalog *images, const stk__catalog *masks, const stk__entry *mask,
                        char folder[NAME_MAX + 1])
{
    const char *key = stk__catalog_key(masks, mask), *slash = strchr(key, '/');
    if (!slash || slash - key > NAME_MAX) return false;
    snprintf(folder, NAME_MAX + 1, "%.*s", (int)(slash - key), key);
    return stk__catalog_find(images, slash + 1, strlen(slash + 1)) != NULL;
}

static void print_setting(const stk__pair_rule *rule, char text[128])
{
    const bool suffix = *rule->mask_suffix;
    snprintf(text, 128, "data.mask_%s=%s", suffix ? "suffix" : "prefix",
             suffix ? rule->mask_suffix : rule->mask_prefix);
}

static stk_status refuse_strangers(const stk__files *files, const stk__catalog *masks, const match *found,
                                   stk_error *error)
{
    const stk__entry *image = stk__catalog_at(&files->catalog, 0);
    stk__fail(error, STK_ERROR_DATA, "no image of %llu has a mask: '%s.png' does not exist, but '%s.%s' does",
              (unsigned long long)stk__catalog_count(&files->catalog),
              stk__catalog_key(&files->catalog, image), stk__catalog_key(masks, found->orphan),
              stk__extension_name(found->orphan->extension));
    stk__error_place(error, "%s", files->masks);
    char folder[NAME_MAX + 1];
    const char *slash = strrchr(files->masks, '/');
    if (find_deeper(&files->catalog, masks, found->orphan, folder)) {
        stk__error_hint(error, "data.masks=%.80s/%.100s takes the masks from there",
                        slash ? slash + 1 : files->masks, folder);
        return STK_ERROR_DATA;
    }
    stk__pair_rule rule;
    if (stk__pair_rule_guess(&files->catalog, masks, found->orphan, &rule)) {
        char setting[128];
        print_setting(&rule, setting);
        stk__error_hint(error, "%s, if they are masks", setting);
        return STK_ERROR_DATA;
    }
    stk__error_hint(error,
                    "a mask has the name of its image, or data.mask_suffix, data.mask_prefix tell what "
                    "is added; data.images and data.masks name other folders; if the folders are classes: "
                    "data.layout=classes");
    return STK_ERROR_DATA;
}

static stk_status refuse_rules(const stk__files *files, stk__pair_found found, stk_error *error)
{
    const stk__pair_rule *best = stk__pair_rule_at(found.best), *second = stk__pair_rule_at(found.second);
    char first[128], other[128];
    stk__pair_rule_print(best, first);
    stk__pair_rule_print(second, other);
    stk__fail(error, STK_ERROR_DATA, "masks can be paired in two ways: %s, or %s", first, other);
    stk__error_place(error, "%s", files->masks);
    print_setting(best, first);
    print_setting(second, other);
    stk__error_hint(error, "%s or %s", first, other);
    return STK_ERROR_DATA;
}

bool stk__pairs_rule_set(const stk__source_options *o, stk__pair_rule *rule)
{
    *rule = (stk__pair_rule){0};
    const bool suffix = o->mask_suffix && strcmp(o->mask_suffix, "none") != 0,
               prefix = o->mask_prefix && strcmp(o->mask_prefix, "none") != 0;
    if (suffix) snprintf(rule->mask_suffix, sizeof rule->mask_suffix, "%s", o->mask_suffix);
    if (prefix) snprintf(rule->mask_prefix, sizeof rule->mask_prefix, "%s", o->mask_prefix);
    return suffix || prefix;
}

/* The same name; by the settings; or by the known rule that fits, where no mask has the name of an image. */
static stk_status pair_by_names(stk__files *files, const stk__catalog *masks, const stk__source_options *o,
                                match *found, stk_error *error)
{
    if (stk__pairs_rule_set(o, &files->rule)) {
        *found = match_by_rule(&files->rule, &files->catalog, masks);
        for (int i = 0; !found->pairs && stk__pair_rule_at(i); i++)
            if (stk__pair_rule_replace(&files->rule, i))
                *found = match_by_rule(&files->rule, &files->catalog, masks);
        return STK_OK;
    }
    *found = match_masks(&files->catalog, masks);
    if (found->pairs || o->mask_suffix || o->mask_prefix) return STK_OK;
    const stk__pair_found rules = stk__pair_rules_find(&files->catalog, masks);
    if (rules.best < 0) return STK_OK;
    if (rules.second >= 0) return refuse_rules(files, rules, error);
    files->rule = *stk__pair_rule_at(rules.best);
    *found = match_by_rule(&files->rule, &files->catalog, masks);
    return STK_OK;
}

/* Adds how names go together to how folders were found. */
static void tell_rule(stk__files *files, const stk__site *site)
{
    static const stk__pair_rule same;
    char rule[128] = "the same names";
    if (memcmp(&files->rule, &same, sizeof same) != 0) stk__pair_rule_print(&files->rule, rule);
    const char *how =
        site->reading && *site->reading->how ? site->reading->how : "images and masks side by side";
    snprintf(files->source.info.how, sizeof files->source.info.how, "%.75s; %.80s", how, rule);
}

static stk_status pair_up(stk__files *files, stk__catalog *masks, const stk__site *site, stk_error *error)
{
    match found = {0};
    stk__catalog_sort(masks);
    STK__TRY(stk__files_refuse_duplicates(masks, files->masks, error));
    STK__TRY(pair_by_names(files, masks, site->options, &found, error));
    if (found.pairs == 0) return refuse_strangers(files, masks, &found, error);
    files->source.info.orphans = found.orphans;
    if (found.orphans) {
        char path[PATH_MAX];
        stk__files_path(masks, found.orphan, "", path, sizeof path);
        stk__left_out_add(&files->source.info, "masks without an image", found.orphans, path + 1);
    }
    return STK_OK;
}

static stk_status scan_masks(stk__files *files, const stk__site *site, stk_error *error)
{
    stk__scan scan = {0};
    stk_status status = stk__scan_folder(&scan, files->masks, error);
    if (status == STK_OK && stk__catalog_count(&scan.samples) == 0) {
        status = stk__scan_nothing(&scan, files->masks, error);
        if (error &&
            strncmp(error->hint, "looked for", 10) == 0) /* files without extension, or nothing at all */
            stk__error_hint(error, "if there are no masks, give '%.200s' as the data set", files->images);
    }
    if (status == STK_OK) stk__files_leave_out(&files->source.info, &scan);
    if (status == STK_OK) status = pair_up(files, &scan.samples, site, error);
    stk__scan_fini(&scan);
    return status;
}

stk_status stk__pairs_scan_images(stk__files *files, const stk__site *site, stk_error *error)
{
    stk__scan scan = {.skip = *site->reading->skip ? site->reading->skip : NULL};
    stk_status status = stk__scan_folder(&scan, files->images, error);
    if (status == STK_OK && stk__catalog_count(&scan.samples) == 0)
        status = stk__scan_nothing(&scan, files->images, error);
    if (status == STK_OK) stk__files_leave_out(&files->source.info, &scan);
    files->catalog = scan.samples;
    stk__catalog_sort(&files->catalog);
    return status == STK_OK ? stk__files_refuse_duplicates(&files->catalog, files->images, error) : status;
}

/* --- what is left -----------------------------------------------------------------------------------------
 */

static uint64_t count_unmasked(const stk__catalog *catalog, const stk__entry **first)
{
    uint64_t unmasked = 0;
    for (uint64_t i = 0; i < stk__catalog_count(catalog); i++) {
        const stk__entry *entry = stk__catalog_at(catalog, i);
        if (entry->mask_extension == STK_EXTENSION_NONE && unmasked++ == 0) *first = entry;
    }
    return unmasked;
}

/* In VOC most images have boxes only: those are no samples of a segmentation. */
static stk_status leave_unmasked(stk__files *files, stk_error *error)
{
    stk__catalog *catalog = &files->catalog;
    const stk__entry *first = NULL;
    const uint64_t unmasked = count_unmasked(catalog, &first);
    if (!unmasked) return STK_OK;
    stk__left_out_add(&files->source.info, "images without a mask", unmasked,
                      stk__catalog_key(catalog, first));
    uint64_t kept = 0;
    for (uint64_t i = 0; i < stk__catalog_count(catalog); i++)
        if (stk__catalog_at(catalog, i)->mask_extension != STK_EXTENSION_NONE)
            *stk__catalog_at(catalog, kept++) = *stk__catalog_at(catalog, i);
    catalog->entries.size_bytes = (size_t)kept * sizeof(stk__entry);
    if (kept) return STK_OK;
    stk__fail(error, STK_ERROR_DATA, "no image of this part has a mask");
    stk__error_place(error, "%s", files->masks);
    stk__error_hint(error, "data.part=train or data.part=val, if they have masks");
    return STK_ERROR_DATA;
}

static const char *const voc_names[] = {
    "background", "aeroplane", "bicycle",     "bird",  "boat",        "bottle", "bus",
    "car",        "cat",       "chair",       "cow",   "diningtable", "dog",    "horse",
    "motorbike",  "person",    "pottedplant", "sheep", "sofa",        "train",  "tvmonitor"};

/* 2007_000032, or 000032 as in VOC 2007: other data sets in VOC's folders have classes of their own. */
static bool has_voc_keys(const stk__catalog *catalog)
{
    for (uint64_t i = 0; i < stk__catalog_count(catalog) && i < 16; i++) {
        const stk__entry *entry = stk__catalog_at(catalog, i);
        const char *key = stk__catalog_key(catalog, entry);
        const bool dated = entry->length == 11 && key[4] == '_' && strspn(key, "0123456789") == 4;
        if (!(dated || entry->length == 6) || strspn(key + (dated ? 5 : 0), "0123456789") != 6) return false;
    }
    return true;
}

stk_status stk__pairs_finish(stk__files *files, const stk__site *site, stk_error *error)
{
    const bool voc = site->reading && site->reading->voc, parts = site->reading && site->reading->part_masks;
    const stk__entry *first = NULL;
    STK__TRY(stk__part_lists_apply(files, site, error));
    if (voc) STK__TRY(leave_unmasked(files, error));
    STK__TRY(stk__files_count(files, error));
    files->source.info.unmasked = count_unmasked(&files->catalog, &first);
    STK__TRY(stk__classes_read(&files->classes, site, error));
    if (stk__classes_numbered_from_one(&files->classes)) {
        stk__classes_fini(&files->classes);
        stk__left_out_add(&files->source.info, "numbered from 1: not names of mask classes", 1,
                          "classes.txt");
    }
    if (voc && !files->classes.count && has_voc_keys(&files->catalog))
        STK__TRY(
            stk__classes_take(&files->classes, voc_names, sizeof voc_names / sizeof voc_names[0], error));
    if (parts && !files->classes.count)
        STK__TRY(stk__classes_take(&files->classes, stk__part_mask_names, STK_PART_MASK_NAMES, error));
    stk__classes_tell(&files->classes, &files->source.info);
    if (!parts) tell_rule(files, site);
    stk__files_tell(files, site);
    files->source.info.images = files->source.info.masks = true;
    files->source.ops = &pairs_ops;
    return STK_OK;
}

/* --- side by side -----------------------------------------------------------------------------------------
 */

uint64_t stk__pairs_separate(stk__files *files, const stk__pair_rule *rule)
{
    stk__catalog *catalog = &files->catalog;
    const uint64_t count = stk__catalog_count(catalog);
    char key[PATH_MAX];
    for (uint64_t i = 0; i < count; i++)
        stk__catalog_at(catalog, i)->row = 0;
    for (uint64_t i = 0; i < count; i++) {
        stk__entry *mask = stk__catalog_at(catalog, i);
        const size_t length =
            stk__pair_rule_image(rule, stk__catalog_key(catalog, mask), mask->length, key, sizeof key);
        const stk__entry *image = length ? stk__catalog_find(catalog, key, length) : NULL;
        if (!image || image == mask) continue;
        stk__catalog_at(catalog, (uint64_t)(image - stk__catalog_at(catalog, 0)))->mask_extension =
            mask->extension;
        mask->row = 1;
    }
    uint64_t kept = 0;
    for (uint64_t i = 0; i < count; i++)
        if (!stk__catalog_at(catalog, i)->row)
            *stk__catalog_at(catalog, kept++) = *stk__catalog_at(catalog, i);
    catalog->entries.size_bytes = (size_t)kept * sizeof(stk__entry);
    return count - kept;
}

void stk__pairs_leave_further(stk__files *files)
{
    stk__catalog *catalog = &files->catalog;
    const uint64_t count = stk__catalog_count(catalog);
    uint64_t kept = 0;
    char text[PATH_MAX];
    for (uint64_t i = 0; i < count; i++)
        stk__catalog_at(catalog, i)->row = stk__pair_rules_further(catalog, stk__catalog_at(catalog, i));
    for (uint64_t i = 0; i < count; i++) {
        stk__entry *entry = stk__catalog_at(catalog, i);
        if (!entry->row) {
            *stk__catalog_at(catalog, kept++) = *entry;
            continue;
        }
        stk__files_path(catalog, entry, "", text, sizeof text);
        stk__left_out_add(&files->source.info, "further masks of an image", 1, text + 1);
    }
    catalog->entries.size_bytes = (size_t)kept * sizeof(stk__entry);
}

/* What is called like a mask, has no image and no mask itself: no sample. */
static void leave_orphans(stk__files *files)
{
    stk__catalog *catalog = &files->catalog;
    const uint64_t count = stk__catalog_count(catalog);
    stk__source_info *info = &files->source.info;
    uint64_t kept = 0;
    char text[PATH_MAX];
    for (uint64_t i = 0; i < count; i++) {
        const stk__entry *entry = stk__catalog_at(catalog, i);
        const char *key = stk__catalog_key(catalog, entry);
        if (entry->mask_extension != STK_EXTENSION_NONE ||
            !stk__pair_rule_image(&files->rule, key, entry->length, text, sizeof text)) {
            *stk__catalog_at(catalog, kept++) = *entry;
            continue;
        }
        stk__files_path(catalog, entry, "", text, sizeof text);
        stk__left_out_add(info, "masks without an image", 1, text + 1);
    }
    info->orphans = count - kept;
    catalog->entries.size_bytes = (size_t)kept * sizeof(stk__entry);
}

stk_status stk__pairs_beside(stk__files *files, const stk__site *site, const stk__pair_rule *rule,
                             stk_error *error)
{
    files->rule = *rule;
    uint64_t masks = stk__pairs_separate(files, rule);
    for (int i = 0; !masks && stk__pair_rule_at(i); i++)
        if (stk__pair_rule_replace(&files->rule, i)) masks = stk__pairs_separate(files, &files->rule);
    if (masks == 0) {
        char text[128];
        stk__pair_rule_print(rule, text);
        stk__fail(error, STK_ERROR_DATA, "no image has a mask beside it: %s", text);
        stk__error_place(error, "%s", files->images);
        stk__error_hint(error,
                        "data.masks=NAME names a folder of masks, data.mask_suffix what their names add");
        return STK_ERROR_DATA;
    }
    stk__pairs_leave_further(files);
    leave_orphans(files);
    files->masks = stk__text_copy(files->images);
    if (!files->masks) return stk__fail_memory(error, PATH_MAX, "the path of a folder");
    stk__files_describe(files, site, "images and masks");
    return stk__pairs_finish(files, site, error);
}

/* --- two folders ------------------------------------------------------------------------------------------
 */

static stk_status open_pairs(stk__files *files, const stk__site *site, stk_error *error)
{
    const stk__reading *reading = site->reading;
    files->limit_bytes = site->options->limit_bytes;
    files->images = stk__text_copy(reading->images);
    if (!files->images) return stk__fail_memory(error, PATH_MAX, "the path of a folder");
    STK__TRY(stk__pairs_scan_images(files, site, error));
    stk__pair_rule rule;
    if (strcmp(reading->images, reading->masks) == 0) {
        stk__pairs_rule_set(site->options, &rule);
        return stk__pairs_beside(files, site, &rule, error);
    }
    files->masks = stk__text_copy(reading->masks);
    if (!files->masks) return stk__fail_memory(error, PATH_MAX, "the path of a folder");
    stk__files_describe(files, site, "images and masks");
    STK__TRY(scan_masks(files, site, error));
    return stk__pairs_finish(files, site, error);
}

stk_status stk__pairs_open(stk__source **source, const stk__site *site, stk_error *error)
{
    stk__files *files = stk__alloc(sizeof *files);
    if (!files) return stk__fail_memory(error, sizeof *files, "a source");
    const stk_status status = open_pairs(files, site, error);
    if (status != STK_OK)
        pairs_close(&files->source);
    else
        *source = &files->source;
    return status;
}
