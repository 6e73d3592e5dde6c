/* SPDX-License-Identifier: Apache-2.0 */
/* Refuses folders as classes by what the names of folders and files say: images/ among them, files called
 * like masks in each, the same folders in each, folders of years, of letters, of parts, copies. One walk
 * along the sorted catalog each; the first key that speaks against a doubt ends it. One thread, while a
 * source opens. */
#include "source/class_doubts.h"

#include "source/part_words.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

typedef struct name_doubts {
    const stk__files *files;
    const char *setting; /* that reads the folders as classes nevertheless */
} name_doubts;

static const char *key_at(const name_doubts *d, uint64_t index)
{
    const stk__catalog *catalog = &d->files->catalog;
    return stk__catalog_key(catalog, stk__catalog_at(catalog, index));
}

static uint64_t count_of(const name_doubts *d)
{
    return stk__catalog_count(&d->files->catalog);
}

static stk_status place(const name_doubts *d, const char *name, stk_error *error)
{
    stk__error_place(error, "%s%s%s", d->files->images, *name ? "/" : "", name);
    return STK_ERROR_DATA;
}

/* --- images/ among the folders ----------------------------------------------------------------------------
 */

static stk_status check_images(const name_doubts *d, stk_error *error)
{
    const stk__classes *classes = &d->files->classes;
    for (int32_t i = 0; i < classes->count; i++) {
        const stk__folder_word word = stk__folder_word_of(classes->list[i]);
        if (word.part || word.kind != STK_FOLDER_IMAGES || word.weak) continue;
        const char *other = classes->list[i ? 0 : 1];
        stk__fail(error, STK_ERROR_DATA,
                  "'%s' has images in '%s', which is called like the images of a data set, and in '%s': "
                  "these are hardly classes",
                  d->files->images, classes->list[i], other);
        stk__error_hint(
            error,
            "data.images=%.60s data.masks=NAME, if masks are in NAME; give '%s/%.60s' as the data "
            "set, if the rest does not matter; %s, if they are classes",
            classes->list[i], d->files->images, classes->list[i], d->setting);
        return place(d, classes->list[i], error);
    }
    return STK_OK;
}

/* --- files called like masks in each folder ---------------------------------------------------------------
 */

/* One of the words between '_', '-', '.' and blanks of a file's name. */
static bool has_mask_word(const char *key)
{
    static const char *const words[] = {"mask", "masks", "seg", "segmentation", "label", "gt", "annotation"};
    const char *slash = strrchr(key, '/'), *at = slash ? slash + 1 : key;
    while (*at) {
        const size_t length = strcspn(at, "_-. ");
        for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
            if (strlen(words[i]) == length && strncasecmp(at, words[i], length) == 0) return true;
        at += length + (at[length] != '\0');
    }
    return false;
}

/* In each folder a tenth or more of the files, but not most: BraTS has t1, t2, flair and seg for a patient.
 */
static stk_status check_masks(const name_doubts *d, stk_error *error)
{
    const uint64_t count = count_of(d);
    const char *example = NULL;
    for (uint64_t i = 0; i < count;) {
        const char *first = key_at(d, i);
        const size_t length = strcspn(first, "/") + 1;
        uint64_t all = 0, masks = 0;
        for (; i < count && strncmp(key_at(d, i), first, length) == 0; i++, all++)
            if (has_mask_word(key_at(d, i)) && !masks++) example = key_at(d, i);
        if (masks * 10 < all || masks * 3 > all * 2) return STK_OK;
    }
    if (!example) return STK_OK;
    stk__fail(error, STK_ERROR_DATA,
              "each folder in '%s' has files called like masks ('%s'), which are not told from images there",
              d->files->images, example);
    stk__error_hint(error,
                    "put images into images/ and masks into masks/ under the same names, or set "
                    "data.mask_suffix to what the name of a mask adds; %s, if all files are images",
                    d->setting);
    return place(d, "", error);
}

/* --- the same folders in each -----------------------------------------------------------------------------
 */

/* Runs through the folders in one class; *digest: of their names. False: a file lies beside them. */
static bool digest_folders(const name_doubts *d, uint64_t *at, stk__digest *digest, int *folders)
{
    const char *first = key_at(d, *at), *last = NULL;
    const size_t length = strcspn(first, "/") + 1;
    size_t last_length = 0;
    *digest = (stk__digest){0};
    *folders = 0;
    for (; *at < count_of(d) && strncmp(key_at(d, *at), first, length) == 0; ++*at) {
        const char *inside = key_at(d, *at) + length, *slash = strchr(inside, '/');
        if (!slash) return false;
        const size_t size = (size_t)(slash - inside);
        if (last && size == last_length && memcmp(inside, last, size) == 0) continue;
        const stk__digest parts[2] = {*digest, stk__digest_of(inside, size)};
        *digest = stk__digest_of(parts, sizeof parts);
        last = inside;
        last_length = size;
        ++*folders;
    }
    return true;
}

static stk_status check_same_folders(const name_doubts *d, stk_error *error)
{
    stk__digest first = {0}, other;
    int folders = 0, others;
    uint64_t at = 0;
    if (!digest_folders(d, &at, &first, &folders) || folders < 2) return STK_OK;
    while (at < count_of(d))
        if (!digest_folders(d, &at, &other, &others) || memcmp(&first, &other, sizeof first) != 0)
            return STK_OK;
    const char *key = key_at(d, 0), *slash = strchr(key, '/');
    if (isdigit((unsigned char)slash[1])) return STK_OK; /* cat/2023, dog/2023: no classes */
    const int length = (int)(slash - key), inside = (int)strcspn(slash + 1, "/");
    stk__fail(error, STK_ERROR_DATA,
              "'%s' can be read in two ways: its folders are classes ('%.*s', …), or those in each of them, "
              "which have the same names ('%.*s', …)",
              d->files->images, length, key, inside, slash + 1);
    stk__error_hint(error,
                    "%s, if '%.*s' is a class; give '%s/%.*s' as the data set, or put the files of all into "
                    "one folder per class",
                    d->setting, length, key, d->files->images, length, key);
    return place(d, "", error);
}

/* --- dates ------------------------------------------------------------------------------------------------
 */

/* 2023, 2023-01, 20230105 */
static bool is_date(const char *name)
{
    int digits = 0;
    if (strncmp(name, "19", 2) != 0 && strncmp(name, "20", 2) != 0) return false;
    for (; *name; name++) {
        digits += isdigit((unsigned char)*name) != 0;
        if (!isdigit((unsigned char)*name) && (digits < 4 || !strchr("-_.", *name))) return false;
    }
    return digits == 4 || digits == 6 || digits == 8;
}

static stk_status check_dates(const name_doubts *d, stk_error *error)
{
    const stk__classes *classes = &d->files->classes;
    for (int32_t i = 0; i < classes->count; i++)
        if (!is_date(classes->list[i])) return STK_OK;
    const char *first = classes->list[0], *last = classes->list[classes->count - 1];
    stk__fail(error, STK_ERROR_DATA,
              "the folders '%s' to '%s' in '%s' are called like dates, and are hardly classes", first, last,
              d->files->images);
    stk__error_hint(error, "data.layout=images reads the images without labels; %s, if they are classes",
                    d->setting);
    return place(d, first, error);
}

/* --- parts by longer names --------------------------------------------------------------------------------
 */

/* train, Training, trainA, train2017; 0: another word. */
static uint32_t part_of_word(const char *word, size_t length)
{
    while (length && isdigit((unsigned char)word[length - 1]))
        length--;
    if (length > 3 && isupper((unsigned char)word[length - 1]) && islower((unsigned char)word[length - 2]))
        length--;
    return stk__part_of_word(word, length);
}

/* Of a word between '_', '-', '.' and blanks: cars_train, DIV2K_valid_HR; 0: of none. */
static uint32_t part_in(const char *name)
{
    uint32_t part = 0;
    bool start = true; /* of a word */
    for (; *name && !part; name++) {
        if (start) part = part_of_word(name, strcspn(name, "_-. "));
        start = strchr("_-. ", *name) != NULL;
    }
    return part;
}

/* A folder for training and one for something else, and half of all are like that. */
static stk_status check_parts(const name_doubts *d, stk_error *error)
{
    const stk__classes *classes = &d->files->classes;
    const char *train = NULL, *other = NULL;
    int32_t count = 0;
    for (int32_t i = 0; i < classes->count; i++) {
        const uint32_t part = part_in(classes->list[i]);
        count += part != 0;
        if (part == STK_SOURCE_TRAIN && !train) train = classes->list[i];
        if (part && part != STK_SOURCE_TRAIN && !other) other = classes->list[i];
    }
    if (!train || !other || 2 * count < classes->count) return STK_OK;
    stk__fail(error, STK_ERROR_DATA,
              "the folders '%s' and '%s' in '%s' are called like parts of a data set, and are hardly classes",
              train, other, d->files->images);
    stk__error_hint(error,
                    "give '%s/%.60s' as the data set, or rename the folders train, val and test; %s, if they "
                    "are classes",
                    d->files->images, train, d->setting);
    return place(d, train, error);
}

/* --- a copy of the other folders --------------------------------------------------------------------------
 */

static bool is_class(const name_doubts *d, const char *name, size_t length)
{
    const stk__classes *classes = &d->files->classes;
    for (int32_t i = 0; i < classes->count; i++)
        if (strlen(classes->list[i]) == length && memcmp(classes->list[i], name, length) == 0) return true;
    return false;
}

/* Behind the last entry of a class, without a look at each of a million. */
static uint64_t class_end(const name_doubts *d, uint64_t first)
{
    const stk__catalog *catalog = &d->files->catalog;
    const uint32_t row = stk__catalog_at(catalog, first)->row;
    uint64_t step = 1, low, high;
    while (first + step < count_of(d) && stk__catalog_at(catalog, first + step)->row == row)
        step *= 2;
    low = first + step / 2; /* is of it; high is not */
    high = first + step < count_of(d) ? first + step : count_of(d);
    while (high - low > 1) {
        const uint64_t middle = low + (high - low) / 2;
        if (stk__catalog_at(catalog, middle)->row == row)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* What is unpacked twice: yes/, no/ and brain_tumor/yes/, brain_tumor/no/. The folders in one class are two
 * or more, all called like other classes. */
static stk_status check_copies(const name_doubts *d, stk_error *error)
{
    for (uint64_t i = 0, end; i < count_of(d); i = end) {
        const char *first = key_at(d, i), *last = NULL;
        const size_t length = strcspn(first, "/") + 1;
        size_t last_length = 0;
        int folders = 0;
        bool copy = true;
        end = class_end(d, i);
        for (uint64_t at = i; at < end && copy; at++) {
            const char *inside = key_at(d, at) + length, *slash = strchr(inside, '/');
            const size_t size = slash ? (size_t)(slash - inside) : 0;
            if (last && size == last_length && memcmp(inside, last, size) == 0) continue;
            copy = slash && is_class(d, inside, size);
            last = inside;
            last_length = size;
            folders++;
        }
        if (!copy || folders < 2) continue;
        char name[NAME_MAX + 1];
        snprintf(name, sizeof name, "%.*s", (int)length - 1, first);
        stk__fail(
            error, STK_ERROR_DATA,
            "the folder '%s' in '%s' has %d folders that are called like those beside it ('%.*s', …): a "
            "second copy of the data set, and no class",
            name, d->files->images, folders, (int)last_length, last);
        stk__error_hint(error, "give '%s/%.80s' as the data set, or move it away; %s, if '%.80s' is a class",
                        d->files->images, name, d->setting, name);
        return place(d, name, error);
    }
    return STK_OK;
}

/* --- letters ----------------------------------------------------------------------------------------------
 */

/* a/abbey, b/bar (SUN, Places): the letter that the names of classes begin with. */
static stk_status check_letters(const name_doubts *d, stk_error *error)
{
    const stk__classes *classes = &d->files->classes;
    for (int32_t i = 0; i < classes->count; i++)
        if (strlen(classes->list[i]) != 1 || !isalpha((unsigned char)*classes->list[i])) return STK_OK;
    for (uint64_t i = 0; i < count_of(d); i++) {
        const char *key = key_at(d, i);
        if (!strchr(key + 2, '/') || tolower((unsigned char)key[2]) != tolower((unsigned char)key[0]))
            return STK_OK;
    }
    const char *first = classes->list[0];
    stk__fail(error, STK_ERROR_DATA,
              "the folders '%s' to '%s' in '%s' are letters, with folders in them that begin with the same "
              "letter: those are the classes",
              first, classes->list[classes->count - 1], d->files->images);
    stk__error_hint(error, "move the folders of all letters into one folder; %s, if letters are the classes",
                    d->setting);
    return place(d, first, error);
}

stk_status stk__class_names_refuse(const stk__files *files, const char *setting, stk_error *error)
{
    const name_doubts d = {files, setting};
    if (files->classes.count < 2) return STK_OK;
    STK__TRY(check_images(&d, error));
    STK__TRY(check_dates(&d, error));
    STK__TRY(check_masks(&d, error));
    STK__TRY(check_parts(&d, error));
    STK__TRY(check_same_folders(&d, error));
    STK__TRY(check_copies(&d, error));
    return check_letters(&d, error);
}
