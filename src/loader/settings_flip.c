/* SPDX-License-Identifier: Apache-2.0 */
/* data.flip_pairs: which classes and points change sides in mirrored samples, by their names or as listed,
 * and what the effects say about it. Runs once, when a loader opens and its plan is known. */
#include "loader/pump.h"

#include "core/number.h"

#include <stdio.h>
#include <string.h>

/* Things with numbers that have sides. */
typedef struct kind {
    const char *what;      /* "class" */
    bool there;            /* samples have it */
    stk__flip_names names; /* count 0: unknown */
    int32_t most;          /* numbers are below it */
    bool numbers;          /* bare numbers of a list are its */
    stk__flip_pairs *pairs;
} kind;

enum { MASKS, LABELS, POINTS, KIND_COUNT };

/* What a source names are the classes of labels, if it has labels, else of masks; data.mask_colors may name
 * those of masks, too. */
static stk__flip_names name_masks(const stk_loader *loader)
{
    const stk__source_info *info = &loader->source->info;
    if (info->label != STK_LABEL_CLASS && info->label != STK_LABEL_SET && info->class_names)
        return (stk__flip_names){info->class_names, info->class_count};
    if (!loader->palette) return (stk__flip_names){0};
    return (stk__flip_names){loader->palette->name_list, loader->palette->class_count};
}

static void list_kinds(stk_loader *loader, kind kinds[KIND_COUNT])
{
    const stk__source_info *info = &loader->source->info;
    stk__flip *flip = &loader->recipe.flip;
    const bool labels = info->label == STK_LABEL_CLASS || info->label == STK_LABEL_SET;
    const stk__flip_names classes = {info->class_names, info->class_names ? info->class_count : 0},
                          points = {info->point_names, info->point_names ? info->point_count : 0};
    const int32_t ids = loader->recipe.mask.class_count;
    kinds[MASKS] = (kind){.what = "class",
                          .there = info->masks,
                          .names = name_masks(loader),
                          .most = ids > 0 && ids < 256 ? ids : 256,
                          .pairs = &flip->masks};
    kinds[LABELS] = (kind){.what = "class",
                           .there = labels,
                           .names = classes,
                           .most = info->class_count > 0 ? info->class_count : INT32_MAX,
                           .pairs = &flip->labels};
    kinds[POINTS] = (kind){.what = "point",
                           .there = info->point_count > 0,
                           .names = points,
                           .most = info->point_count,
                           .pairs = &flip->points};
    int first = MASKS; /* then labels, then points */
    while (first < POINTS && !kinds[first].there)
        first++;
    kinds[first].numbers = kinds[first].there;
}

static stk_status find_all(const kind kinds[KIND_COUNT], stk_error *error)
{
    for (int k = 0; k < KIND_COUNT; k++) {
        stk__flip_names names = kinds[k].names;
        if (!kinds[k].there || !names.texts) continue;
        if (names.count > kinds[k].most) names.count = kinds[k].most;
        STK__TRY(stk__flip_pairs_find(kinds[k].pairs, names, error));
    }
    return STK_OK;
}

/* ---- a list: "4:5,l_eye:r_eye" ---- */

typedef struct word {
    const char *text;
    size_t length;
} word;

static word trim(const char *text, size_t length)
{
    while (length && text[0] == ' ') {
        text++;
        length--;
    }
    while (length && text[length - 1] == ' ')
        length--;
    return (word){text, length};
}

static bool read_number(word from, int64_t *number)
{
    return from.length && from.text[0] >= '0' && from.text[0] <= '9' &&
           stk__number_whole(from.text, from.length, number);
}

/* The number of a class or point; -1: there is none of that name. */
static int64_t find_number(const kind *of, word name)
{
    int64_t number;
    if (of->numbers && read_number(name, &number)) return number;
    for (int32_t i = 0; of->there && i < of->names.count; i++)
        if (strlen(of->names.texts[i]) == name.length &&
            memcmp(of->names.texts[i], name.text, name.length) == 0)
            return i;
    return -1;
}

static stk_status refuse(word pair, const char *why, stk_error *error)
{
    stk__fail(error, STK_ERROR_CONFIG, "data.flip_pairs has '%.*s': %s", (int)pair.length, pair.text, why);
    stk__error_hint(error,
                    "pairs of class ids, class names or point names, such as 4:5,l_ear:r_ear; or auto, "
                    "or none");
    return STK_ERROR_CONFIG;
}

static stk_status add_pair(const kind *to, word pair, int64_t a, int64_t b, stk_error *error)
{
    char why[96];
    if (a >= to->most || b >= to->most) {
        snprintf(why, sizeof why, "there are %d %s, numbered from 0", to->most,
                 to->what[0] == 'p' ? "points" : "classes");
        return refuse(pair, why, error);
    }
    if (stk__flip_pairs_add(to->pairs, (int32_t)a, (int32_t)b)) return STK_OK;
    snprintf(why, sizeof why, "a %s has one other side", to->what);
    return refuse(pair, why, error);
}

/* A name that classes and points have is meant for both. */
static stk_status read_pair(const kind kinds[KIND_COUNT], word pair, stk_error *error)
{
    const char *colon = memchr(pair.text, ':', pair.length);
    if (!colon) return refuse(pair, "not two names or numbers with a colon between them", error);
    const word left = trim(pair.text, (size_t)(colon - pair.text)),
               right = trim(colon + 1, pair.length - (size_t)(colon + 1 - pair.text));
    word missing = left;
    bool found = false;
    for (int k = 0; k < KIND_COUNT; k++) {
        const int64_t a = find_number(&kinds[k], left), b = find_number(&kinds[k], right);
        if (a >= 0) missing = right;
        if (a < 0 || b < 0) continue;
        STK__TRY(add_pair(&kinds[k], pair, a, b, error));
        found = true;
    }
    if (found) return STK_OK;
    char why[160];
    snprintf(why, sizeof why, "no class or point is called '%.*s'",
             (int)(missing.length < 100 ? missing.length : 100), missing.text);
    return refuse(pair, why, error);
}

/* Braces of a YAML map may stay. */
static stk_status read_list(const kind kinds[KIND_COUNT], const char *text, stk_error *error)
{
    word list = trim(text, strlen(text));
    int32_t most = 1;
    if (list.length >= 2 && list.text[0] == '{' && list.text[list.length - 1] == '}')
        list = (word){list.text + 1, list.length - 2};
    for (size_t i = 0; i < list.length; i++)
        most += list.text[i] == ',';
    for (int k = 0; k < KIND_COUNT; k++)
        STK__TRY(stk__flip_pairs_reserve(kinds[k].pairs, most, error));
    while (list.length) {
        const char *comma = memchr(list.text, ',', list.length);
        const size_t length = comma ? (size_t)(comma - list.text) : list.length;
        STK__TRY(read_pair(kinds, trim(list.text, length), error));
        list = (word){list.text + length + (comma != NULL), list.length - length - (comma != NULL)};
    }
    return STK_OK;
}

/* ---- what the effects say ---- */

/* "4:5,6:7", "points 0:1", or both. */
static void print_pairs(const stk__flip *flip, char *text, size_t size)
{
    const stk__flip_pairs *classes = flip->masks.count ? &flip->masks : &flip->labels;
    stk__flip_pairs_print(classes, text, flip->points.count ? size / 2 : size);
    if (!flip->points.count) return;
    const size_t used = strlen(text);
    const int more = snprintf(text + used, size - used, "%spoints ", used ? "; " : "");
    stk__flip_pairs_print(&flip->points, text + used + more, size - used - (size_t)more);
}

static void note_auto(stk_loader *loader, const kind kinds[KIND_COUNT], const char *asked)
{
    const kind *example = NULL;
    char text[64];
    for (int k = KIND_COUNT - 1; k >= 0; k--)
        if (kinds[k].pairs->count) example = &kinds[k];
    if (!example) {
        if (asked) stk__loader_note(loader, "data.flip_pairs", "none", "auto: no names of two sides");
        return;
    }
    const stk__flip_pair pair = example->pairs->pairs[0];
    print_pairs(&loader->recipe.flip, text, sizeof text);
    stk__loader_note(loader, "data.flip_pairs", text, "auto: %s names, such as %.40s and %.40s",
                     example->what, example->names.texts[pair.a], example->names.texts[pair.b]);
}

/* Names became numbers. */
static void note_list(stk_loader *loader, const char *asked)
{
    char text[64];
    print_pairs(&loader->recipe.flip, text, sizeof text);
    if (strcmp(text, asked) != 0)
        stk__loader_note(loader, "data.flip_pairs", text, "numbers of the classes and points listed");
}

static const char *find_useless(const stk_loader *loader, const kind kinds[KIND_COUNT])
{
    bool any = false;
    for (int k = 0; k < KIND_COUNT; k++)
        any = any || kinds[k].there;
    if (!loader->source->info.images) return "there are no images";
    if (!any) return "there are no classes and no points";
    if (!loader->plan || !stk__plan_mirrors(loader->plan)) return "no image is mirrored";
    return NULL;
}

stk_status stk__loader_choose_flip(stk_loader *loader, const stk_loader_options *o, stk_error *error)
{
    const char *asked = loader->asked->flip_pairs; /* NULL: left to us */
    stk__flip *flip = &loader->recipe.flip;
    kind kinds[KIND_COUNT];
    if (strcmp(o->flip_pairs, "none") == 0) return STK_OK;
    list_kinds(loader, kinds);
    const char *useless = find_useless(loader, kinds);
    if (useless) {
        if (asked) stk__loader_note(loader, "data.flip_pairs", "", "not used here: %s", useless);
        return STK_OK;
    }
    const bool automatic = strcmp(o->flip_pairs, "auto") == 0;
    STK__TRY(automatic ? find_all(kinds, error) : read_list(kinds, o->flip_pairs, error));
    if (automatic)
        note_auto(loader, kinds, asked);
    else
        note_list(loader, asked);
    flip->on = flip->masks.count || flip->labels.count || flip->points.count;
    flip->by_names = flip->on && !asked;
    stk__flip_make_ids(flip);
    return STK_OK;
}

stk_status stk__loader_refuse_new_pairs(const stk_loader *loader, const char *what, stk_error *error)
{
    char text[64];
    if (!loader || !loader->recipe.flip.by_names) return STK_OK;
    print_pairs(&loader->recipe.flip, text, sizeof text);
    stk__fail(error, STK_ERROR_CONFIG,
              "%s was begun without data.flip_pairs, and now left and right would change places in mirrored "
              "images (%s)",
              what, text);
    stk__error_hint(
        error,
        "data.flip_pairs=none resumes as it was begun; data.flip_pairs=auto goes over to the new rule");
    return STK_ERROR_CONFIG;
}
