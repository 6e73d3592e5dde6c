/* SPDX-License-Identifier: Apache-2.0 */
/* What several verbs print: errors with place and hint, log lines, JSON, numbers for people, effects of
 * settings, data sets, corrupt samples, scores.
 * Texts of others (file names, classes) are cleaned of control bytes first. Log lines may come from any
 * thread; the rest is called by the main thread. */
#include "cli.h"

#include "core/logger.h"
#include "core/utf8.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool stk__cli_quiet, stk__cli_json;
int stk__cli_verbose;

bool stk__cli_colors(FILE *file)
{
    const char *no_color = getenv("NO_COLOR"), *terminal = getenv("TERM");
    return isatty(fileno(file)) && !(no_color && *no_color) && !(terminal && strcmp(terminal, "dumb") == 0);
}

/* --- texts of others ---------------------------------------------------------------------------------------
 */

enum { CLEAN_TEXTS = 4, CLEAN_BYTES = 4 * 512 + 1 };

/* Length of what a terminal shows as it is; 0: a control byte, of C1 too, or no UTF-8. */
static size_t shown_length(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    const bool control = at[0] < 0x20 || at[0] == 0x7F || (at[0] == 0xC2 && at[1] < 0xA0);
    return control ? 0 : stk__utf8_length(text);
}

const char *stk__cli_text(const char *text)
{
    static _Thread_local char texts[CLEAN_TEXTS][CLEAN_BYTES]; /* the log is written by many threads */
    static _Thread_local int next;
    const char *from = text;
    for (size_t length; *from && (length = shown_length(from)) > 0;)
        from += length;
    if (!*from) return text;
    char *const clean = texts[next++ % CLEAN_TEXTS], *out = clean;
    for (from = text; *from && out + 5 < clean + CLEAN_BYTES;) {
        const size_t length = shown_length(from);
        if (length == 0) out += sprintf(out, "\\x%02x", (unsigned char)*from++);
        memcpy(out, from, length);
        out += length;
        from += length;
    }
    *out = '\0';
    return clean;
}

/* Prints it cleaned, however long it is. */
static void print_clean(FILE *file, const char *text)
{
    for (size_t length; *text; text += length ? length : 1) {
        length = shown_length(text);
        if (length)
            fprintf(file, "%.*s", (int)length, text);
        else
            fprintf(file, "\\x%02x", (unsigned char)*text);
    }
}

/* --- messages --------------------------------------------------------------------------------------------
 */

int stk__cli_fail(const stk_error *error)
{
    const bool colors = stk__cli_colors(stderr);
    stk__interrupt_told();
    FILE *to = stk__cli_wrap_begin(stderr);
    fprintf(to, "%sstoker:%s %s\n", colors ? STK_PAINT_ERROR : "", colors ? STK_PAINT_OFF : "",
            stk__cli_text(error->message));
    stk__cli_wrap_end(to, stderr, 8);
    if (error->place[0]) {
        fputs("  where: ", stderr);
        print_clean(stderr, error->place);
        fputc('\n', stderr);
    }
    to = stk__cli_wrap_begin(stderr);
    if (error->hint[0]) fprintf(to, "  hint:  %s\n", stk__cli_text(error->hint));
    stk__cli_wrap_end(to, stderr, 9);
    if (error->code == STK_ERROR_INTERRUPTED) return STK_EXIT_INTERRUPTED;
    const bool misuse = error->code == STK_ERROR_CONFIG || error->code == STK_ERROR_ARGUMENT;
    return misuse ? STK_EXIT_USAGE : STK_EXIT_FAILED;
}

int stk__cli_usage(const char *verb, const char *format, ...)
{
    va_list arguments;
    FILE *to = stk__cli_wrap_begin(stderr);
    va_start(arguments, format);
    fprintf(to, "stoker%s%s: ", *verb ? " " : "", verb);
    vfprintf(to, format, arguments);
    fprintf(to, "\n  hint:  stoker%s%s --help\n", *verb ? " " : "", verb);
    va_end(arguments);
    stk__cli_wrap_end(to, stderr, 9);
    return STK_EXIT_USAGE;
}

int stk__cli_no_such(const char *verb, const char *kind, const char *word, const char *meant)
{
    return stk__cli_usage(verb, "there is no %s '%s'%s%s%s", kind, word, meant ? "; did you mean '" : "",
                          meant ? meant : "", meant ? "'?" : "");
}

static void print_log(void *context, stk_log_level level, const char *line)
{
    (void)context;
    static const char *const words[] = {"error", "warning", "info", "debug"};
    const bool colors = level <= STK_LOG_WARNING && stk__cli_colors(stderr);
    fprintf(stderr, "%sstoker: %s:%s %s\n", colors ? STK_PAINT_NOTE : "", words[level],
            colors ? STK_PAINT_OFF : "", stk__cli_text(line));
}

_Noreturn void stk__cli_leave(int status)
{
    fflush(NULL);
    _exit(status);
}

void stk__cli_open_log(void)
{
    const int most = STK_LOG_WARNING + stk__cli_verbose;
    stk_log_set(print_log, NULL,
                stk__cli_quiet         ? STK_LOG_ERROR
                : most > STK_LOG_DEBUG ? STK_LOG_DEBUG
                                       : (stk_log_level)most);
}

int stk__cli_print_json(json_t *object)
{
    if (!object) {
        fprintf(stderr, "stoker: no memory for the JSON report\n");
        return STK_EXIT_FAILED;
    }
    const int failed = json_dumpf(object, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    json_decref(object);
    if (failed || printf("\n") < 0 || fflush(stdout) != 0) {
        fprintf(stderr, "stoker: cannot write the JSON report to standard output\n");
        return STK_EXIT_FAILED;
    }
    return STK_EXIT_GOOD;
}

enum { TEXTS = 16, TEXT_BYTES = 48 };

static char *next_text(void)
{
    static char texts[TEXTS][TEXT_BYTES];
    static int next;
    return texts[next++ % TEXTS];
}

const char *stk__cli_grouped(uint64_t value)
{
    char digits[24], *text = next_text(), *out = text;
    const int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)value);
    for (int i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0) *out++ = ',';
        *out++ = digits[i];
    }
    *out = '\0';
    return text;
}

const char *stk__cli_bytes(double bytes)
{
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB"};
    size_t unit = 0;
    for (; bytes >= 1000 && unit + 1 < sizeof units / sizeof units[0]; unit++)
        bytes /= 1000;
    char *text = next_text();
    snprintf(text, TEXT_BYTES, bytes < 10 && unit ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
    return text;
}

const char *stk__cli_count(uint64_t value, const char *noun)
{
    const size_t length = strlen(noun);
    const char last = length ? noun[length - 1] : '\0', before = length > 1 ? noun[length - 2] : '\0';
    const bool hissing = last == 's' || last == 'x' ||
                         (last == 'h' && (before == 'c' || before == 's') && strcmp(noun, "epoch") != 0);
    char number[32], *text = next_text();
    snprintf(number, sizeof number, "%s", stk__cli_grouped(value));
    snprintf(text, TEXT_BYTES, "%s %s%s", number, noun, value == 1 ? "" : hissing ? "es" : "s");
    return text;
}

const char *stk__cli_rate(double per_s)
{
    if (per_s >= 99.95) return stk__cli_grouped((uint64_t)(per_s + 0.5));
    char *text = next_text();
    snprintf(text, TEXT_BYTES, "%.3g", per_s);
    return text;
}

const char *stk__cli_scaled(double value)
{
    char *text = next_text();
    if (value >= 1e9)
        snprintf(text, TEXT_BYTES, "%.2f G", value * 1e-9);
    else if (value >= 1e6)
        snprintf(text, TEXT_BYTES, "%.2f M", value * 1e-6);
    else if (value >= 1e4)
        snprintf(text, TEXT_BYTES, "%.0f k", value * 1e-3);
    else
        snprintf(text, TEXT_BYTES, "%.0f", value);
    return text;
}

/* --- bad samples -----------------------------------------------------------------------------------------
 */

void stk__cli_tell_sample(void *progress, const stk_ledger_entry *entry)
{
    if (stk__cli_quiet || stk__cli_json || strcmp(entry->action, "failed") == 0) return;
    if (progress) stk__progress_end(progress);
    fprintf(stderr, "  %s: %s, %s (%s)\n", stk__cli_text(entry->path), entry->action,
            stk_damage_name(entry->damage), stk__cli_text(entry->detail));
}

bool stk__cli_ledger_close(stk__ledger_file *ledger)
{
    const bool whole = stk__ledger_file_close(ledger);
    if (!whole) fprintf(stderr, "stoker: cannot write the ledger '%s' completely\n", ledger->path);
    return whole;
}

/* --- effects and the data set ----------------------------------------------------------------------------
 */

enum { EFFECT_COLUMNS = 4 }; /* name, asked for, in effect, why */

/* Asked for, but not in this file, whose lines are "PATH:3:5". */
static bool is_asked_now(const stk__effect *row, const char *file)
{
    const size_t length = strlen(file);
    const bool in_file = row->place && strncmp(row->place, file, length) == 0 && row->place[length] == ':';
    return row->requested && row->origin > STK_ORIGIN_PRESET && !in_file;
}

/* What is printed as why; NULL: the row is not printed. With -vv all are, as they were asked for or left
 * open. Values of a preset are, too: nobody has written them. file: see stk__cli_print_effects_now. */
static const char *reason_of(const stk__effect *row, const char *file)
{
    static const char *const origins[STK_ORIGIN_COUNT] = {"default", "preset", "config file", "environment",
                                                          "command line"};
    const char *origin = origins[row->requested ? row->origin : STK_ORIGIN_DEFAULT];
    const bool all = stk__cli_verbose >= 2;
    if (file && !all && !is_asked_now(row, file)) return NULL;
    if (row->why) return row->why;
    if (row->requested && row->origin == STK_ORIGIN_PRESET) return row->place ? row->place : origin;
    return all || file ? origin : NULL;
}

/* False: the row is not printed. */
static bool effect_cells(const stk__effect *row, const char *file, const char *cells[EFFECT_COLUMNS])
{
    cells[0] = row->name;
    cells[1] = row->requested ? row->requested : "-";
    cells[2] = row->in_effect ? row->in_effect : "-";
    cells[3] = reason_of(row, file);
    return cells[3];
}

void stk__cli_print_effects(const stk__config *config)
{
    stk__cli_print_effects_now(config, NULL);
}

void stk__cli_print_effects_now(const stk__config *config, const char *file)
{
    const char *const heads[EFFECT_COLUMNS] = {"setting", "requested", "in effect", "why"};
    const char *cells[EFFECT_COLUMNS];
    stk__table table;
    int rows = 0;
    stk__table_init(&table, stderr, EFFECT_COLUMNS, 2);
    for (int c = 0; c < EFFECT_COLUMNS; c++)
        stk__table_fit(&table, c, heads[c]);
    for (size_t i = 0; i < stk__config_effect_count(config); i++) {
        const stk__effect row = stk__config_effect_at(config, i);
        if (!effect_cells(&row, file, cells)) continue;
        for (int c = 0; c < EFFECT_COLUMNS; c++)
            stk__table_fit(&table, c, cells[c]);
        rows++;
    }
    if (rows) stk__table_row(&table, heads);
    for (size_t i = 0; i < stk__config_effect_count(config); i++) {
        const stk__effect row = stk__config_effect_at(config, i);
        if (effect_cells(&row, file, cells)) stk__table_row(&table, cells);
    }
}

void stk__cli_print_all_effects(const stk__config *config)
{
    if (stk__cli_verbose >= 2 && !stk__cli_quiet) stk__cli_print_effects(config);
}

void stk__cli_print_file_notes(const char *indent, const char *part, stk_loader *loader)
{
    char text[STK_FILE_NOTE_BYTES];
    for (int kind = 0; kind < STK_FILE_NOTE_KINDS; kind++)
        if (stk__loader_file_note(loader, (stk__file_note_kind)kind, text, sizeof text))
            printf("%snote: %s%s\n", indent, part, stk__cli_text(text));
}

void stk__cli_add_file_notes(json_t *report, stk_loader *loader)
{
    json_t *rows = json_array();
    stk__file_notes_append(rows, loader, NULL);
    json_object_set_new(report, "notes", rows);
}

json_t *stk__cli_damages_json(const stk_loader_stats *stats)
{
    json_t *object = json_object();
    for (int i = 0; i < STK_DAMAGE_COUNT; i++)
        if (stats->damages[i])
            json_object_set_new(object, stk_damage_name((stk_damage)i),
                                json_integer((json_int_t)stats->damages[i]));
    return object;
}

void stk__cli_print_dataset(const stk_loader_info *info, const stk_loader_options *options)
{
    FILE *to = stk__cli_wrap_begin(stderr);
    const bool elsewhere = options->part == STK_PART_VAL && options->val_root;
    const char *root = elsewhere ? options->val_root : options->root;
    fprintf(to, "%s: %s, %s", root ? root : "data", info->layout,
            stk__cli_count(info->sample_count, "sample"));
    if (info->sample_count != info->dataset_count)
        fprintf(to, " of %s", stk__cli_grouped(info->dataset_count));
    if (info->w) fprintf(to, ", %dx%d, %s", info->w, info->h, info->channels == 1 ? "gray" : "RGB");
    if (info->class_count) fprintf(to, ", %s", stk__cli_count((uint64_t)info->class_count, "class"));
    fprintf(to, "\n");
    stk__cli_wrap_end(to, stderr, 2);
}

static void print_formats(FILE *to, const stk_loader_info *info, bool masks)
{
    bool first = true;
    for (int32_t i = 0; i < info->format_count; i++) {
        const uint64_t count = masks ? info->formats[i].masks : info->formats[i].count;
        if (!count) continue;
        fprintf(to, "%s%s %s", first ? "" : ", ", stk__cli_grouped(count), info->formats[i].what);
        first = false;
    }
}

void stk__cli_print_found(FILE *to, const stk_loader_info *info, const char *head)
{
    if (stk__cli_quiet || stk__cli_json) return;
    if (info->format_count) {
        fprintf(to, "  %-8s ", head ? head : "files");
        print_formats(to, info, false);
        if (info->masks) fprintf(to, "; masks: ");
        if (info->masks) print_formats(to, info, true);
        fprintf(to, "%s%s\n", *info->found ? "; " : "", stk__cli_text(info->found));
    } else if (*info->found) {
        fprintf(to, "  %-8s %s\n", head ? head : "found", stk__cli_text(info->found));
    }
    if (!head && (info->train_part || info->val_part || info->test_part))
        fprintf(to, "  parts    named by the data set:%s%s%s\n", info->train_part ? " train" : "",
                info->val_part ? " val" : "", info->test_part ? " test (held out)" : "");
    for (int32_t i = 0; i < info->left_out_count; i++) {
        fprintf(to, "  left out %s: %s", stk__cli_grouped(info->left_out[i].count),
                stk__cli_text(info->left_out[i].what));
        if (*info->left_out[i].example) fprintf(to, " ('%s')", stk__cli_text(info->left_out[i].example));
        fprintf(to, "\n");
    }
    if (info->unmasked_count)
        fprintf(to, "  masks    %s without a mask: bad samples (data.on_bad_sample)\n",
                stk__cli_count(info->unmasked_count, "image"));
}

void stk__cli_print_score(FILE *file, stk__task task, const stk__score *score)
{
    const stk__task_info *info = stk__task_describe(task);
    for (int i = 0; i < info->value_count; i++) {
        const int width = i + 1 < info->value_count ? 7 : 0; /* columns, but no blanks at the end */
        if (isnan(score->values[i]) && task == STK_TASK_CLASSIFICATION && i > 0)
            continue; /* top5 of five classes or fewer, or beside a top1 that is missing, too */
        if (isnan(score->values[i]))
            fprintf(file, "  %s %-*s", info->values[i], width, "-");
        else
            fprintf(file, "  %s %-*.4g", info->values[i], width, score->values[i]);
    }
}

void stk__cli_print_skipped(int count, const char *reason)
{
    if (count && !stk__cli_quiet)
        fprintf(stderr, "stoker: %d checkpoint%s not valid and passed over: %s\n", count,
                count == 1 ? " is" : "s are", reason);
}
