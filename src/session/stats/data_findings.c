/* SPDX-License-Identifier: Apache-2.0 */
/* The rules: one table, errors first. A rule looks at the statistics and, if it applies, fills in how many,
 * one example and a sentence with the numbers; its id, severity and hint are in the table. Pure functions. */
#include "session/stats/data_findings.h"

#include "session/class_names.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define IMBALANCE    20.0 /* largest class over smallest */
#define COARSE_STEPS 64.0 /* so few values between the least and the most are a loss */

typedef unsigned long long number; /* what %llu takes */

const char *stk__severity_name(stk__severity severity)
{
    static const char *const names[] = {"note", "warning", "error"};
    return names[severity];
}

static bool say(stk__finding *f, const char *format, ...) STK__PRINTF(2, 3);
static bool say(stk__finding *f, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(f->text, sizeof f->text, format, arguments);
    va_end(arguments);
    return true;
}

static void hint(stk__finding *f, const char *format, ...) STK__PRINTF(2, 3);
static void hint(stk__finding *f, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(f->hint, sizeof f->hint, format, arguments);
    va_end(arguments);
}

/* How many of how many; and which. False: none. */
static bool count_event(stk__finding *f, const stk__data_event *event, uint64_t total)
{
    f->count = event->count;
    f->total = total;
    if (!event->count) return false;
    f->sample_ids[0] = event->id;
    f->paths[0] = event->path;
    return true;
}

/* "1 of 12 images is", "2 of 12 images are" */
static bool say_share(stk__finding *f, const char *noun, const char *one, const char *many)
{
    return say(f, "%llu of %llu %s%s %s", (number)f->count, (number)f->total, noun, stk__plural(f->total),
               f->count == 1 ? one : many);
}

static uint64_t good_images(const stk__data_stats *s)
{
    return s->files[STK_FIELD_IMAGE].count;
}

/* --- files ---------------------------------------------------------------------------------------------- */

/* Classes of damage that have a rule of their own; in a series it is rows that are bad. */
static bool is_own_rule(const stk__data_stats *s, int damage)
{
    const bool row = damage == STK_DAMAGE_BAD_VALUES || damage == STK_DAMAGE_BAD_ROW;
    return damage == STK_DAMAGE_MASK_IDS || damage == STK_DAMAGE_MASK_MISSING ||
           damage == STK_DAMAGE_WRONG_EXTENSION || (row && s->info.window_rows);
}

static bool corrupt_samples(const stk__data_stats *s, stk__finding *f)
{
    char kinds[160] = "";
    f->total = s->samples;
    for (int d = STK_DAMAGE_NONE + 1; d < STK_DAMAGE_COUNT; d++) {
        const stk__data_event *event = &s->damages[d];
        if (is_own_rule(s, d) || !event->count) continue;
        const size_t size = strlen(kinds);
        snprintf(kinds + size, sizeof kinds - size, "%s%llu %s", size ? ", " : "", (number)event->count,
                 stk_damage_name((stk_damage)d));
        if (f->sample_ids[0] < 0 || event->id < f->sample_ids[0]) {
            f->sample_ids[0] = event->id;
            f->paths[0] = event->path;
        }
        f->count += event->count;
    }
    if (f->count && f->count == s->damages[STK_DAMAGE_MASK_FORMAT].count)
        hint(
            f,
            "masks must hold class ids: RGB masks need data.mask_colors=auto or a file of colors, JPEG masks "
            "data.mask_map=threshold");
    return f->count && say(f, "%llu of %llu sample%s cannot be loaded (%s)", (number)f->count,
                           (number)f->total, stk__plural(f->total), kinds);
}

static bool misnamed_files(const stk__data_stats *s, stk__finding *f)
{
    const stk__data_event *refused = &s->damages[STK_DAMAGE_WRONG_EXTENSION],
                          *image = &s->files[STK_FIELD_IMAGE].misnamed,
                          *mask = &s->files[STK_FIELD_MASK].misnamed;
    if (!count_event(f, refused->count ? refused : image->count ? image : mask, s->samples)) return false;
    f->count = refused->count + image->count + mask->count;
    return say(f, "%llu file%s of another format than the name says", (number)f->count,
               f->count == 1 ? " is" : "s are");
}

static bool decoder_warnings(const stk__data_stats *s, stk__finding *f)
{
    f->count = s->loaded.warning_files;
    f->total = s->samples;
    return f->count && say(f, "%llu file%s decoder warnings that are not damage: all pixels are there",
                           (number)f->count, f->count == 1 ? " has" : "s have");
}

/* "column 'age' of the list: not used"; those that have no row of their own follow them as "other". */
static bool is_column(const stk__data_stats *s, int32_t row)
{
    const char *what = s->left_out[row].what;
    return strncmp(what, "column ", 7) == 0 || (row && strcmp(what, "other") == 0 && is_column(s, row - 1));
}

static bool unused_columns(const stk__data_stats *s, stk__finding *f)
{
    const char *first = "";
    for (int32_t i = 0; i < s->left_out_count; i++)
        if (is_column(s, i) && f->count++ == 0) first = s->left_out[i].what;
    const char *end = strstr(first, " of the list");
    return f->count &&
           say(f, "%llu column%s%s of the list %s not used: %.*s%s", (number)f->count, stk__plural(f->count),
               f->count == STK_LEFT_OUT_MOST ? " or more" : "", f->count == 1 ? "is" : "are",
               end ? (int)(end - first) : 0, first, f->count > 1 ? ", and others" : "");
}

static bool left_out(const stk__data_stats *s, stk__finding *f)
{
    const stk__left_out *first = NULL;
    int32_t rows = 0;
    for (int32_t i = 0; i < s->left_out_count; i++) {
        if (is_column(s, i)) continue;
        if (rows++ == 0) first = &s->left_out[i];
        f->count += s->left_out[i].count;
    }
    if (!s->left_out_count) f->count = s->orphans;
    if (!f->count) return false;
    if (!first)
        return say(f, "%llu mask%s without an image %s not used", (number)f->count, stk__plural(f->count),
                   f->count == 1 ? "is" : "are");
    if (first->example[0]) f->paths[0] = first->example;
    return say(f, "%llu %s not used: %s%s", (number)f->count,
               f->count == 1 ? "file or row is" : "files or rows are", first->what,
               rows > 1 ? ", and others" : "");
}

static bool duplicates(const stk__data_stats *s, stk__finding *f)
{
    f->count = s->duplicates.samples;
    f->total = good_images(s);
    if (!f->count) return false;
    for (int i = 0; i < 2; i++) {
        f->sample_ids[i] = s->duplicates.example[i];
        f->paths[i] = s->duplicate_paths[i];
    }
    return say(f, "%llu of %llu image%s %s the same bytes as another one", (number)f->count, (number)f->total,
               stk__plural(f->total), f->count == 1 ? "has" : "have");
}

static bool train_val_overlap(const stk__data_stats *s, stk__finding *f)
{
    f->count = s->overlap.samples;
    f->total = good_images(s);
    if (!f->count) return false;
    f->sample_ids[0] = s->overlap.example[0]; /* the other id is one of the other part */
    for (int i = 0; i < 2; i++)
        f->paths[i] = s->overlap_paths[i];
    return say(f, "%llu of %llu image%s %s also in part %s, byte by byte: metrics are too optimistic",
               (number)f->count, (number)f->total, stk__plural(f->total), f->count == 1 ? "is" : "are",
               s->other_part ? s->other_part : "val");
}

static bool part_unusable(const stk__data_stats *s, stk__finding *f)
{
    return s->other_error[0] &&
           say(f, "part %s cannot be opened: %.200s", s->other_part ? s->other_part : "val", s->other_error);
}

/* --- images --------------------------------------------------------------------------------------------- */

static bool tiny_images(const stk__data_stats *s, stk__finding *f)
{
    return count_event(f, &s->sizes.tiny, good_images(s)) &&
           say_share(f, "image", "is less than 8 px wide or high", "are less than 8 px wide or high");
}

static bool constant_images(const stk__data_stats *s, stk__finding *f)
{
    return count_event(f, &s->constant, good_images(s)) &&
           say_share(f, "image", "has one color in all pixels", "have one color in all pixels");
}

static bool mixed_sizes(const stk__data_stats *s, stk__finding *f)
{
    if (s->sizes.different < 2 || s->size_fixed) return false;
    const stk__data_range w = stk__data_range_of(s->sizes.w_counts),
                          h = stk__data_range_of(s->sizes.h_counts);
    f->count = s->sizes.different;
    hint(f, "data.image_size sets one size for all batches, such as data.image_size=%dx%d", w.median,
         h.median);
    return say(f, "images have %s%llu sizes, %d to %d px wide and %d to %d px high",
               s->sizes.others ? "more than " : "", (number)f->count, w.least, w.most, h.least, h.most);
}

static bool mixed_channels(const stk__data_stats *s, stk__finding *f)
{
    const stk__data_files *files = &s->files[STK_FIELD_IMAGE];
    const uint64_t colored = files->rgb + files->palette;
    if (!files->gray || !colored || s->channels_fixed) return false;
    f->count = files->gray < colored ? files->gray : colored;
    f->total = files->count;
    return say(f, "%llu image%s grayscale, %llu %s colors", (number)files->gray,
               files->gray == 1 ? " is" : "s are", (number)colored, colored == 1 ? "has" : "have");
}

/* --- targets -------------------------------------------------------------------------------------------- */

static bool mask_ids_out_of_range(const stk__data_stats *s, stk__finding *f)
{
    if (!count_event(f, &s->damages[STK_DAMAGE_MASK_IDS], s->samples)) return false;
    hint(f, "data.num_classes (the largest id + 1), a classes.txt with all names, or data.mask_map; ids 255 "
            "are ignored");
    if (s->info.class_count > 0)
        return say(f, "%llu of %llu mask%s %s ids beyond the %d classes, or outside data.mask_map",
                   (number)f->count, (number)f->total, stk__plural(f->total), f->count == 1 ? "has" : "have",
                   s->info.class_count);
    return say_share(f, "mask", "has ids outside the classes or data.mask_map",
                     "have ids outside the classes or data.mask_map");
}

static bool labels_missing(const stk__data_stats *s, stk__finding *f)
{
    const stk__data_event *masks = &s->damages[STK_DAMAGE_MASK_MISSING];
    if (count_event(f, masks, s->samples)) return say_share(f, "image", "has no mask", "have no mask");
    return count_event(f, &s->unlabelled, s->samples) &&
           say_share(f, "sample", "has no label", "have no label");
}

static bool no_targets(const stk__data_stats *s, stk__finding *f)
{
    const stk_loader_info *info = &s->info;
    if (info->masks || info->classes || info->values || info->label_sets || info->point_count || !s->samples)
        return false;
    f->count = f->total = s->samples;
    return say(f, "samples have neither masks, labels, points nor values: nothing can be trained on them");
}

/* Two values as drawing programs store black and white. */
static bool binary_masks(const stk__data_stats *s, stk__finding *f)
{
    f->count = f->total = s->masks;
    return s->masks && s->masks_binary &&
           say(f,
               "masks are black and white: 255 is read as class 1 (data.mask_map=" STK_DATA_BINARY_MAP ")");
}

static bool mask_values(const stk__data_stats *s, stk__finding *f)
{
    f->count = f->total = s->masks;
    if (!s->masks_refused[0]) return false;
    hint(f, "%s", s->masks_hint);
    return say(f, "%s", s->masks_refused);
}

static bool empty_masks(const stk__data_stats *s, stk__finding *f)
{
    return count_event(f, &s->no_class, s->masks) &&
           say_share(f, "mask", "has background or ignored pixels only",
                     "have background or ignored pixels only");
}

static const char *class_text(const stk__data_stats *s, int id, char text[64])
{
    if (s->info.class_names)
        snprintf(text, 64, "'%.56s'", s->info.class_names[id]);
    else
        snprintf(text, 64, "%d", id);
    return text;
}

/* Values are trained on as float32: numbers such as times may differ behind its digits alone. */
static bool coarse_values(const stk__data_stats *s, stk__finding *f)
{
    const double spread = s->value_most - s->value_least, size = fmax(-s->value_least, s->value_most);
    f->count = f->total = s->value_count;
    return f->count > 1 && spread <= COARSE_STEPS * 0x1p-23 * size &&
           say(f, "values are from %.9g to %.9g: as float32, with about 7 digits, they %s differ",
               s->value_least, s->value_most, spread > 0 ? "hardly" : "do not");
}

/* In how many samples a class is: pixels of masks are never balanced. */
static uint64_t class_samples(const stk__data_classes *classes, int id)
{
    return classes->samples ? classes->samples[id] : classes->counts[id];
}

static bool class_imbalance(const stk__data_stats *s, stk__finding *f)
{
    const stk__data_classes classes = stk__data_classes_of(s);
    if (s->info.label_sets) return false; /* a rare label is not a rival of the others */
    int large = -1, small = -1;
    char names[2][64];
    for (int id = 0; id < classes.count; id++) {
        const uint64_t n = class_samples(&classes, id);
        if (!n) continue;
        if (large < 0 || n > class_samples(&classes, large)) large = id;
        if (small < 0 || n < class_samples(&classes, small)) small = id;
    }
    if (large < 0 || s->limited) return false;
    const uint64_t most = class_samples(&classes, large), least = class_samples(&classes, small);
    if (!((double)most > IMBALANCE * (double)least)) return false;
    f->count = least;
    f->total = s->samples;
    return say(f, "class %s has %llu sample%s, class %s has %llu: %.0f times as many",
               class_text(s, small, names[0]), (number)least, stk__plural(least),
               class_text(s, large, names[1]), (number)most, (double)most / (double)least);
}

static bool classes_without_samples(const stk__data_stats *s, stk__finding *f)
{
    const stk__data_classes classes = stk__data_classes_of(s);
    char list[160] = "", name[64];
    if (s->limited || !s->info.class_count) return false;
    for (int id = 0; id < classes.count; id++) {
        if (class_samples(&classes, id)) continue;
        const size_t size = strlen(list);
        if (f->count++ < 3)
            snprintf(list + size, sizeof list - size, "%s%s", size ? ", " : "", class_text(s, id, name));
    }
    f->total = (uint64_t)classes.count;
    return f->count && say(f, "%llu of %llu classes %s no sample: %s%s", (number)f->count, (number)f->total,
                           f->count == 1 ? "has" : "have", list, f->count > 3 ? ", …" : "");
}

static bool similar_classes(const stk__data_stats *s, stk__finding *f)
{
    int32_t pair[2];
    char names[2][64];
    f->count = (uint64_t)stk__class_names_alike(s->info.class_names, s->info.class_count, pair);
    f->total = (uint64_t)s->info.class_count;
    return f->count && say(f, "classes %s and %s%s differ in case or surrounding blanks alone",
                           class_text(s, pair[0], names[0]), class_text(s, pair[1], names[1]),
                           f->count > 1 ? ", and others," : "");
}

static bool points_outside(const stk__data_stats *s, stk__finding *f)
{
    return count_event(f, &s->outside, good_images(s)) &&
           say_share(f, "image", "has points outside its pixels", "have points outside their pixels");
}

static bool points_missing(const stk__data_stats *s, stk__finding *f)
{
    int32_t first = -1;
    char name[64];
    for (int32_t k = 0; s->points && k < s->info.point_count; k++) {
        if (s->points[k].visible || !s->samples) continue;
        if (first < 0) first = k;
        f->count++;
    }
    if (!f->count) return false;
    f->total = (uint64_t)s->info.point_count;
    snprintf(name, sizeof name, "%d", first + 1);
    if (s->info.point_names) snprintf(name, sizeof name, "'%.56s'", s->info.point_names[first]);
    return say(f, "%llu of %llu points %s visible in no image: %s%s", (number)f->count, (number)f->total,
               f->count == 1 ? "is" : "are", name, f->count > 1 ? ", …" : "");
}

/* --- series --------------------------------------------------------------------------------------------- */

static bool series_nan(const stk__data_stats *s, stk__finding *f)
{
    const stk__data_column *worst = NULL;
    f->count = s->bad_rows;
    f->total = s->rows;
    for (int32_t i = 0; i < s->column_count; i++)
        if (!worst || s->columns[i].not_numbers > worst->not_numbers) worst = &s->columns[i];
    if (!f->count || !worst) return false;
    if (s->damages[STK_DAMAGE_BAD_VALUES].count)
        f->paths[0] = s->damages[STK_DAMAGE_BAD_VALUES].path;
    else if (s->damages[STK_DAMAGE_BAD_ROW].count)
        f->paths[0] = s->damages[STK_DAMAGE_BAD_ROW].path;
    return say(f,
               "%llu of %llu rows have cells that are NaN, infinite or not a number, most of them (%llu) in "
               "column '%s'; windows with such a row are skipped",
               (number)f->count, (number)f->total, (number)worst->not_numbers, worst->name);
}

static bool series_gaps(const stk__data_stats *s, stk__finding *f)
{
    for (int32_t i = 0; i < s->column_count; i++) {
        const stk__data_column *column = &s->columns[i];
        if (!column->gaps) continue;
        f->count = column->gaps;
        f->total = s->rows;
        return say(f, "column '%s' rises by %.6g from row to row, but %llu time%s by more, at most by %.6g",
                   column->name, column->step, (number)column->gaps, stk__plural(column->gaps), column->gap);
    }
    return false;
}

static bool constant_features(const stk__data_stats *s, stk__finding *f)
{
    const char *first = NULL;
    for (int32_t i = 0; i < s->column_count; i++) {
        const stk__data_column *column = &s->columns[i];
        if (column->count < 2 || column->least < column->most) continue;
        if (!first) first = column->name;
        f->count++;
    }
    f->total = (uint64_t)s->column_count;
    return first && say(f, "%llu of %llu columns %s the same value in all rows: '%s'%s", (number)f->count,
                        (number)f->total, f->count == 1 ? "has" : "have", first, f->count > 1 ? ", …" : "");
}

/* --- all of them ---------------------------------------------------------------------------------------- */

static const struct {
    const char *id;
    stk__severity severity;
    bool (*applies)(const stk__data_stats *stats, stk__finding *finding);
    const char *hint; /* NULL: the rule writes one */
} rules[] = {
    {"corrupt_samples", STK_SEVERITY_ERROR, corrupt_samples,
     "fix or remove them, or train with data.on_bad_sample=skip or =replace"},
    {"mask_ids_out_of_range", STK_SEVERITY_ERROR, mask_ids_out_of_range, NULL},
    {"labels_missing", STK_SEVERITY_ERROR, labels_missing,
     "add the missing labels or remove the images; data.on_bad_sample=skip leaves them out"},
    {"part_unusable", STK_SEVERITY_ERROR, part_unusable, "stoker stats with data.part=val shows why"},
    {"train_val_overlap", STK_SEVERITY_ERROR, train_val_overlap, "remove these images from one of the parts"},
    {"mask_values", STK_SEVERITY_ERROR, mask_values, NULL},
    {"series_nan", STK_SEVERITY_ERROR, series_nan,
     "fill in or remove these rows, or train with data.on_bad_sample=skip"},
    {"no_targets", STK_SEVERITY_WARNING, no_targets,
     "add masks/, a folder per class, or a list with labels, values or points; stoker predict needs none"},
    {"empty_masks", STK_SEVERITY_WARNING, empty_masks,
     "fine for images without objects; else check how the masks were exported, and data.mask_map"},
    {"duplicates", STK_SEVERITY_WARNING, duplicates,
     "remove all but one of each; with data.val_split copies end up in both parts"},
    {"tiny_images", STK_SEVERITY_WARNING, tiny_images, "remove thumbnails and icons"},
    {"constant_images", STK_SEVERITY_WARNING, constant_images, "remove them: there is nothing to learn"},
    {"classes_without_samples", STK_SEVERITY_WARNING, classes_without_samples,
     "check classes.txt or data.num_classes"},
    {"similar_classes", STK_SEVERITY_WARNING, similar_classes,
     "they are trained as different classes: give both the same name if they are one"},
    {"class_imbalance", STK_SEVERITY_WARNING, class_imbalance,
     "loss.class_weights (column weight), or more samples of the small classes"},
    {"coarse_values", STK_SEVERITY_WARNING, coarse_values,
     "check data.columns='value=COLUMN'; of large numbers such as times subtract a constant"},
    {"points_outside", STK_SEVERITY_WARNING, points_outside,
     "points are in pixels of the stored image; outside they count as not visible"},
    {"points_missing", STK_SEVERITY_WARNING, points_missing, "leave these points out of the list"},
    {"series_gaps", STK_SEVERITY_WARNING, series_gaps,
     "windows across a gap mix distant moments: fill in the missing rows, or cut the series there"},
    {"constant_features", STK_SEVERITY_WARNING, constant_features, "leave these columns out"},
    {"binary_masks", STK_SEVERITY_NOTE, binary_masks, "data.mask_map=none reads 255 as ignored pixels"},
    {"misnamed_files", STK_SEVERITY_NOTE, misnamed_files, "rename them: other programs go by the name"},
    {"decoder_warnings", STK_SEVERITY_NOTE, decoder_warnings, "stoker load names the first one"},
    {"mixed_sizes", STK_SEVERITY_NOTE, mixed_sizes, NULL},
    {"mixed_channels", STK_SEVERITY_NOTE, mixed_channels,
     "data.channels=3 repeats gray three times, data.channels=1 converts colors to gray"},
    {"unused_columns", STK_SEVERITY_NOTE, unused_columns,
     "data.columns says what a column is, such as data.columns='label=COLUMN' or 'value=COLUMN'"},
    {"left_out", STK_SEVERITY_NOTE, left_out, "convert or move what should be used"},
};

_Static_assert(sizeof rules / sizeof rules[0] <= STK_FINDING_MOST,
               "lists of findings have no room for so many");

int stk__data_rule_count(void)
{
    return (int)(sizeof rules / sizeof rules[0]);
}

bool stk__data_rule(int rule, const stk__data_stats *stats, stk__finding *finding)
{
    *finding = (stk__finding){.id = rules[rule].id, .severity = rules[rule].severity, .sample_ids = {-1, -1}};
    if (rules[rule].hint) hint(finding, "%s", rules[rule].hint);
    return rules[rule].applies(stats, finding);
}

int stk__data_findings(const stk__data_stats *stats, stk__finding list[STK_FINDING_MOST])
{
    int count = 0;
    for (int rule = 0; rule < stk__data_rule_count(); rule++)
        count += stk__data_rule(rule, stats, &list[count]);
    return count;
}
