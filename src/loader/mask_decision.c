/* SPDX-License-Identifier: Apache-2.0 */
/* The rules, one after the other: formats, colors, frame, map, number of classes. Each either settles its
 * setting or refuses; what was asked for is never changed. Pure functions of survey and settings, but for
 * the hint that looks for a file of colors. */
#include "loader/mask_decision.h"

#include "core/error.h"
#include "decode/mask_palette.h"

#include <stdio.h>
#include <string.h>

enum { IGNORED = 255, STEP_LEAST = 25, LISTED_MOST = 8, BLURRED_LEAST = 8 };

static bool is_auto(const char *text)
{
    return !text || strcmp(text, "auto") == 0;
}

static unsigned long long number(uint64_t value)
{
    return (unsigned long long)value;
}

/* --- formats and colors ------------------------------------------------------------------------------------
 */

static stk_status check_readable(const stk__mask_survey *s, stk_error *error)
{
    if (s->looked) return STK_OK;
    stk__fail(error, STK_ERROR_DATA,
              "none of the %llu masks that were looked at is usable; the first: %.240s", number(s->chosen),
              s->first_error.message);
    stk__error_place(error, "%s", s->first_error.place[0] ? s->first_error.place : s->unusable.path);
    stk__error_hint(error, "%s",
                    s->first_error.hint[0] ? s->first_error.hint
                                           : "a mask is a PNG file of class ids, or .npy: uint8, [h w]");
    return STK_ERROR_DATA;
}

static stk_status check_formats(const stk__mask_survey *s, const stk__mask_given *given, stk_error *error)
{
    if (!s->lossy.count || (given->map && strcmp(given->map, "threshold") == 0)) return STK_OK;
    stk__fail(error, STK_ERROR_DATA,
              "%llu of %llu masks are JPEG files, whose compression blurs class ids at every edge",
              number(s->lossy.count), number(s->looked));
    stk__error_place(error, "%s", s->lossy.path);
    stk__error_hint(error,
                    "store masks as PNG; two classes in black and white: data.mask_map=threshold reads "
                    "values from 128 on as class 1, below as 0");
    return STK_ERROR_DATA;
}

/* A map that is given is one of indices. */
stk_status stk__mask_decide_palettes(const stk__mask_survey *s, const stk__mask_given *given,
                                     stk_error *error)
{
    const int index = is_auto(given->map) ? stk__survey_palette_conflict(&s->palette) : -1;
    if (index < 0) return STK_OK;
    stk__fail(error, STK_ERROR_DATA,
              "the masks have different palettes: index %d is color #%06x in '%.100s' and #%06x in '%.100s'",
              index, (unsigned)s->palette.low[index], s->palette_paths[0], (unsigned)s->palette.high[index],
              s->palette_paths[1]);
    stk__error_place(error, "%s", s->palette_paths[1]);
    stk__error_hint(error,
                    "data.mask_map=none, if the indices are the class ids; if the colors are, save the masks "
                    "as RGB (Pillow: image.convert('RGB')) and set data.mask_colors");
    return STK_ERROR_DATA;
}

static void list_colors(const stk__mask_survey *s, char *text, size_t size)
{
    size_t have = 0;
    text[0] = '\0';
    for (int32_t i = 0; i < s->color_count && i < 6 && have < size; i++)
        have += (size_t)snprintf(text + have, size - have, "%s#%06x in %llu", i ? ", " : "",
                                 (unsigned)s->colors[i].color, number(s->colors[i].masks));
    if (s->color_count > 6 && have < size) snprintf(text + have, size - have, " …");
}

/* "data.mask_colors=voc or data.mask_colors=camvid has all these colors; "; a file of the data set's own
 * comes first. Empty: none is known. */
static void guess_colors(const stk__mask_survey *s, char *text, size_t size)
{
    uint32_t colors[STK_SURVEY_COLORS];
    char path[300];
    size_t have = 0;
    int from = 0;
    text[0] = '\0';
    for (int32_t i = 0; i < s->color_count; i++)
        colors[i] = s->colors[i].color;
    const char *name = stk__mask_palette_find(s->colored.path, colors, s->color_count, path, sizeof path)
                           ? path
                           : stk__mask_palette_guess(colors, s->color_count, &from);
    while (name && have < size) {
        have += (size_t)snprintf(text + have, size - have, "%sdata.mask_colors=%s", have ? " or " : "", name);
        name = name == path ? NULL : stk__mask_palette_guess(colors, s->color_count, &from);
    }
    if (have && have < size) snprintf(text + have, size - have, " has all these colors; ");
}

static stk_status refuse_colors(const stk__mask_survey *s, stk_error *error)
{
    char list[200], count[32] = "more than 64", known[400];
    list_colors(s, list, sizeof list);
    guess_colors(s, known, sizeof known);
    if (!s->more_colors) snprintf(count, sizeof count, "%d", s->color_count);
    stk__fail(error, STK_ERROR_DATA, "%llu of %llu masks are RGB images, with %s colors in all%s%s",
              number(s->colored.count), number(s->looked), count, s->more_colors ? "" : ": ", list);
    stk__error_place(error, "%s", s->colored.path);
    if (s->more_colors)
        stk__error_hint(error, "photographs, or masks with blurred edges? data.mask_colors=FILE names the "
                               "colors, 'r g b name' a line");
    else
        stk__error_hint(error,
                        "%sdata.mask_colors=FILE (lines 'r g b name') says which color is which class; "
                        "data.mask_colors=auto numbers them from #%06x on",
                        known, (unsigned)s->colors[0].color);
    return STK_ERROR_DATA;
}

/* auto: in ascending order, so that black is class 0 and a count more or less changes nothing. */
static stk_status number_colors(const stk__mask_survey *s, stk__mask_decision *d, stk_error *error)
{
    size_t have = 0;
    if (s->more_colors) {
        stk__fail(error, STK_ERROR_DATA,
                  "data.mask_colors=auto: the RGB masks have more than %d colors: photographs, or masks with "
                  "blurred edges",
                  STK_SURVEY_COLORS);
        stk__error_place(error, "%s", s->colored.path);
        stk__error_hint(error, "data.mask_colors=FILE names the colors, 'r g b name' a line");
        return STK_ERROR_DATA;
    }
    for (int32_t i = 0; i < s->color_count; i++)
        have += (size_t)snprintf(d->colors + have, sizeof d->colors - have, "%s%06x:%d", i ? "," : "",
                                 (unsigned)s->colors[i].color, i);
    snprintf(d->colors_why, sizeof d->colors_why, "auto: %d colors found in %llu masks, in ascending order",
             s->color_count, number(s->colored.count + s->gray_rgb));
    return STK_OK;
}

static stk_status decide_colors(const stk__mask_survey *s, const stk__mask_given *given,
                                stk__mask_decision *d, stk_error *error)
{
    const bool none = !given->colors || strcmp(given->colors, "none") == 0;
    if (none && s->colored.count) return refuse_colors(s, error);
    if (none || !is_auto(given->colors)) return STK_OK;
    return s->colored.count ? number_colors(s, d, error) : STK_OK;
}

/* --- frame -------------------------------------------------------------------------------------------------
 */

static stk_status refuse_frames(const stk__mask_survey *s, stk_error *error)
{
    stk__fail(
        error, STK_ERROR_DATA,
        "masks of images with an EXIF orientation do not agree: %llu drawn on the stored pixels ('%.90s'), "
        "%llu on the upright image ('%.90s')",
        number(s->stored.count), s->stored.path, number(s->upright.count), s->upright.path);
    stk__error_place(error, "%s", s->stored.path);
    stk__error_hint(error, "turn the masks of one kind, or remove the EXIF orientation of their images");
    return STK_ERROR_DATA;
}

static stk_status refuse_open_frame(const stk__mask_survey *s, stk_error *error)
{
    stk__fail(
        error, STK_ERROR_CONFIG,
        "%llu of %llu images have an EXIF orientation, and no size tells whether their masks were drawn on "
        "the upright image or on the pixels as stored",
        number(s->oriented.count), number(s->looked));
    stk__error_place(error, "%s", s->oriented.path);
    stk__error_hint(error,
                    "data.mask_frame=upright (as viewers show the image) or data.mask_frame=stored (as "
                    "Pillow opens it); data.exif=false leaves all images as stored");
    return STK_ERROR_CONFIG;
}

stk_status stk__mask_decide_frame(const stk__mask_survey *s, const stk__mask_given *given,
                                  stk__mask_decision *d, stk_error *error)
{
    d->frame = given->frame;
    if (s->stored.count && s->upright.count) return refuse_frames(s, error);
    const uint64_t proofs = s->stored.count + s->upright.count;
    if (given->frame != STK_MASK_FRAME_AUTO || !s->oriented.count) return STK_OK;
    if (!proofs) return refuse_open_frame(s, error);
    d->frame = s->stored.count ? STK_MASK_FRAME_STORED : STK_MASK_FRAME_UPRIGHT;
    snprintf(d->frame_why, sizeof d->frame_why,
             "auto: by the sizes of %llu of %llu masks of images with an EXIF orientation", number(proofs),
             number(s->oriented.count));
    return STK_OK;
}

/* --- map of ids --------------------------------------------------------------------------------------------
 */

static int gcd(int a, int b)
{
    return b ? gcd(b, a % b) : a;
}

/* The values that occur, and what they have in common. */
typedef struct value_set {
    uint8_t values[256];
    int count;
    int between;      /* values other than 0 and 255 */
    int step;         /* greatest common divisor of these */
    int largest;      /* … of these; 0: none */
    bool zero, white; /* 0 and 255 occur */
    double ends;      /* share of pixels that are 0 or 255 */
} value_set;

static value_set gather_values(const stk__survey_ids *ids)
{
    value_set set = {.count = 0};
    uint64_t pixels = 0;
    for (int id = 0; id < 256; id++) {
        if (!ids->pixels[id]) continue;
        set.values[set.count++] = (uint8_t)id;
        pixels += ids->pixels[id];
        if (id == 0 || id == IGNORED) continue;
        set.between++;
        set.largest = id;
        set.step = gcd(set.step, id);
    }
    set.zero = ids->pixels[0] > 0;
    set.white = ids->pixels[IGNORED] > 0;
    set.ends = pixels ? (double)(ids->pixels[0] + ids->pixels[IGNORED]) / (double)pixels : 0;
    return set;
}

/* "0:0,128:1,255:2": the values in order. */
static void print_in_order(const value_set *set, char *text, size_t size)
{
    size_t have = 0;
    text[0] = '\0';
    for (int i = 0; i < set->count && have < size; i++)
        have += (size_t)snprintf(text + have, size - have, "%s%d:%d", i ? "," : "", set->values[i], i);
}

static void print_values(const value_set *set, char *text, size_t size)
{
    size_t have = 0;
    text[0] = '\0';
    for (int i = 0; i < set->count && i < LISTED_MOST && have < size; i++)
        have += (size_t)snprintf(text + have, size - have, "%s%d",
                                 i == 0                ? ""
                                 : i + 1 == set->count ? " and "
                                                       : ", ",
                                 set->values[i]);
    if (set->count > LISTED_MOST && have < size) snprintf(text + have, size - have, " …");
}

/* first, second: values of data.mask_map and what each means. */
typedef struct readings {
    const char *first, *first_means, *second, *second_means;
} readings;

static stk_status refuse_values(const stk__mask_survey *s, const value_set *set, const readings *both,
                                stk_error *error)
{
    char values[96];
    print_values(set, values, sizeof values);
    stk__fail(error, STK_ERROR_DATA, "the masks have the value%s %s (%llu masks): %s, or %s",
              set->count == 1 ? "" : "s", values, number(s->looked), both->first_means, both->second_means);
    stk__error_hint(error, "data.mask_map=%.120s or data.mask_map=%s", both->first, both->second);
    return STK_ERROR_DATA;
}

/* Nothing is drawn in the gray or the color channels. */
static stk_status refuse_one_value(const stk__mask_survey *s, int value, stk_error *error)
{
    stk__fail(error, STK_ERROR_DATA, "all pixels of the %llu masks that were looked at have the value %d",
              number(s->looked), value);
    stk__error_hint(error, "a mask needs two values or more; if it is in the alpha channel: "
                           "Image.open(FILE).getchannel('A').save(FILE) with Pillow");
    return STK_ERROR_DATA;
}

static stk_status map_binary(const stk__mask_survey *s, const stk__mask_given *given, const value_set *set,
                             stk__mask_decision *d, stk_error *error)
{
    if (!set->zero || (given->class_count && given->class_count != 2))
        return refuse_values(
            s, set,
            &(readings){"0:0,255:1", "255 is the foreground of two classes", "none", "255 is ignored"},
            error);
    snprintf(d->map, sizeof d->map, "0:0,255:1");
    snprintf(d->map_why, sizeof d->map_why,
             "auto: the %llu masks have the values 0 and 255 only: two classes", number(s->looked));
    return STK_OK;
}

/* 255 beside 1 in one mask is ignored there; if it never is, some files may have been saved as 0/1 and
 * others as 0/255. */
static stk_status map_binary_ignored(const stk__mask_survey *s, const value_set *set, stk__mask_decision *d,
                                     stk_error *error)
{
    if (!s->ids.beside_255)
        return refuse_values(
            s, set,
            &(readings){"0:0,1:1,255:1", "some masks are 0/1 and others 0/255", "none", "255 is ignored"},
            error);
    snprintf(d->map, sizeof d->map, "none");
    snprintf(d->map_why, sizeof d->map_why,
             "auto: two classes 0 and 1; 255 is ignored (%llu masks have both)", number(s->ids.beside_255));
    return STK_OK;
}

static stk_status decide_map(const stk__mask_survey *s, const stk__mask_given *given, stk__mask_decision *d,
                             stk_error *error)
{
    const value_set set = gather_values(&s->ids);
    char in_order[160];
    if (!is_auto(given->map) || !set.count) return STK_OK;
    if (set.white && !set.between) return map_binary(s, given, &set, d, error);
    if (set.white && set.between == 1 && set.largest == 1) return map_binary_ignored(s, &set, d, error);
    if (set.zero && set.white && set.between >= BLURRED_LEAST && set.ends >= 0.8)
        return refuse_values(
            s, &set,
            &(readings){"threshold", "a black and white mask with blurred edges", "none", "class ids"},
            error);
    if (set.step < STEP_LEAST || set.largest < given->class_count || s->indexed == s->looked) return STK_OK;
    if (set.count == 1) return refuse_one_value(s, set.values[0], error);
    print_in_order(&set, in_order, sizeof in_order);
    return refuse_values(
        s, &set, &(readings){in_order, "gray levels that stand for classes", "none", "class ids"}, error);
}

/* --- number of classes -------------------------------------------------------------------------------------
 */

/* An id that the loss ignores is no class, and where it is the largest it must not make room for one: it
 * becomes 255, which no number of classes refuses. */
static void ignore_largest(const stk__mask_survey *s, const stk__mask_given *given, stk__mask_decision *d)
{
    const int64_t ignored = given->ignore_index;
    size_t have = 0;
    int largest = -1;
    if (ignored < 0 || ignored >= IGNORED || !is_auto(given->map) || d->map[0] || !s->ids.pixels[ignored])
        return;
    for (int id = 0; id < IGNORED; id++)
        if (s->ids.pixels[id]) largest = id;
    if (largest != ignored) return;
    for (int id = 0; id <= IGNORED; id++)
        have += (size_t)snprintf(d->map + have, sizeof d->map - have, "%s%d:%d", id ? "," : "", id,
                                 id == ignored ? IGNORED : id);
    snprintf(d->map_why, sizeof d->map_why, "auto: id %d is ignored (loss.ignore_index), as 255 is", largest);
}

/* Of what the map makes of the ids that occur; -1: all are ignored. */
static stk_status find_largest(const stk__mask_survey *s, const char *text, int *largest, stk_error *error)
{
    stk__mask_map map;
    *largest = -1;
    STK__TRY(stk__mask_map_read(&map, text, error));
    if (map.lossy) *largest = 1;
    for (int value = 0; value < 256; value++) {
        const int id = map.on && map.known[value] ? map.to[value] : value;
        if (s->ids.pixels[value] && id != IGNORED && id > *largest) *largest = id;
    }
    return STK_OK;
}

static stk_status decide_count(const stk__mask_survey *s, const stk__mask_given *given, stk__mask_decision *d,
                               stk_error *error)
{
    const char *text = d->map[0] ? d->map : is_auto(given->map) ? "none" : given->map;
    int largest;
    const int32_t colors = d->colors[0] ? s->color_count : given->color_classes;
    if (given->class_count) {
        d->class_count = given->class_count;
        return STK_OK;
    }
    STK__TRY(find_largest(s, text, &largest, error));
    if (largest < 0 && !colors) {
        stk__fail(error, STK_ERROR_DATA, "all pixels of the %llu masks that were looked at are 255: ignored",
                  number(s->looked));
        stk__error_hint(error, "set data.mask_map, such as 0:0,255:1, if 255 is a class");
        return STK_ERROR_DATA;
    }
    d->class_count = largest + 1 > colors ? largest + 1 : colors;
    if (colors >= largest + 1)
        snprintf(d->count_why, sizeof d->count_why, "classes of data.mask_colors");
    else
        snprintf(d->count_why, sizeof d->count_why, "largest mask id found %d + 1, in %llu mask%s", largest,
                 number(s->looked), stk__plural(s->looked));
    return STK_OK;
}

stk_status stk__mask_decide(const stk__mask_survey *s, const stk__mask_given *given, stk__mask_decision *d,
                            stk_error *error)
{
    d->looked = true;
    d->masks = s->looked;
    d->part_count = s->part_count;
    d->resized = s->resized.count;
    d->seconds = s->seconds;
    d->kept = s->kept;
    STK__TRY(check_readable(s, error));
    STK__TRY(check_formats(s, given, error));
    STK__TRY(stk__mask_decide_palettes(s, given, error));
    STK__TRY(decide_colors(s, given, d, error));
    STK__TRY(stk__mask_decide_frame(s, given, d, error));
    STK__TRY(decide_map(s, given, d, error));
    ignore_largest(s, given, d);
    return decide_count(s, given, d, error);
}
