/* SPDX-License-Identifier: Apache-2.0 */
/* What verbs with a loader share: opening it so that Ctrl-C interrupts it, closing it, and what they print of
 * it. */
#include "verb_loader.h"

#include <string.h>

static void interrupt_loader(void *loader)
{
    stk_loader_interrupt(loader);
}

void stk__cli_loader_target(stk_loader *loader)
{
    stk__interrupt_target(interrupt_loader, loader);
}

stk_status stk__cli_loader_open(stk__arguments *arguments, stk__session_loading *loading, stk_loader **loader,
                                stk_error *error)
{
    const stk_status status = stk__session_loader_open(arguments->config, loading, loader, error);
    if (*loader) stk__cli_loader_target(*loader);
    return status;
}

void stk__cli_loader_close(stk_loader **loader, int status)
{
    stk__interrupt_target(NULL, NULL);
    if (stk_loader_close(loader) != 0) stk__cli_leave(status);
}

void stk__cli_session_close(stk__session *session, int status)
{
    stk__interrupt_target(NULL, NULL);
    if (stk__session_close(session) != 0) stk__cli_leave(status);
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

enum { EFFECT_COLUMNS = 3 }; /* name, asked for, in effect; the reason follows */

static void effect_cells(const stk__effect *row, const char *cells[EFFECT_COLUMNS])
{
    cells[0] = row->name;
    cells[1] = row->requested ? row->requested : "-";
    cells[2] = row->in_effect ? row->in_effect : "-";
}

static void print_cells(const char *const cells[EFFECT_COLUMNS], const int widths[EFFECT_COLUMNS],
                        const char *why)
{
    for (int c = 0; c < EFFECT_COLUMNS; c++)
        fprintf(stderr, "  %-*s", widths[c], cells[c]);
    fprintf(stderr, "  %s\n", why);
}

/* What is printed as why; NULL: the row is not printed. With -vv all are, as they were asked for or left
 * open. */
static const char *reason_of(const stk__effect *row)
{
    static const char *const origins[STK_ORIGIN_COUNT] = {"default", "preset", "config file", "environment",
                                                          "command line"};
    if (row->why || stk__cli_verbose < 2) return row->why;
    return origins[row->requested ? row->origin : STK_ORIGIN_DEFAULT];
}

void stk__cli_print_effects(const stk__config *config)
{
    const char *const heads[EFFECT_COLUMNS] = {"setting", "requested", "in effect"};
    const char *cells[EFFECT_COLUMNS];
    int widths[EFFECT_COLUMNS], rows = 0;
    for (int c = 0; c < EFFECT_COLUMNS; c++)
        widths[c] = (int)strlen(heads[c]);
    for (size_t i = 0; i < stk__config_effect_count(config); i++) {
        const stk__effect row = stk__config_effect_at(config, i);
        if (!reason_of(&row)) continue;
        effect_cells(&row, cells);
        for (int c = 0; c < EFFECT_COLUMNS; c++)
            if ((int)strlen(cells[c]) > widths[c]) widths[c] = (int)strlen(cells[c]);
        rows++;
    }
    if (rows) print_cells(heads, widths, "why");
    for (size_t i = 0; i < stk__config_effect_count(config); i++) {
        const stk__effect row = stk__config_effect_at(config, i);
        effect_cells(&row, cells);
        if (reason_of(&row)) print_cells(cells, widths, reason_of(&row));
    }
}

void stk__cli_print_all_effects(const stk__config *config)
{
    if (stk__cli_verbose >= 2 && !stk__cli_quiet) stk__cli_print_effects(config);
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
    const bool elsewhere = options->part == STK_PART_VAL && options->val_root;
    const char *root = elsewhere ? options->val_root : options->root;
    fprintf(stderr, "%s: %s, %s samples", root ? root : "data", info->layout,
            stk__cli_grouped(info->sample_count));
    if (info->sample_count != info->dataset_count)
        fprintf(stderr, " of %s", stk__cli_grouped(info->dataset_count));
    if (info->w) fprintf(stderr, ", %dx%d, %s", info->w, info->h, info->channels == 1 ? "gray" : "RGB");
    if (info->class_count) fprintf(stderr, ", %d classes", info->class_count);
    fprintf(stderr, "\n");
}
