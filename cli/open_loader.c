#include "open_loader.h"

#include "loader/loader_open.h"

#include <string.h>
#include <unistd.h>

const stk__option_table *const stk__cli_loader_tables[1] = {&stk__loader_options};

stk_status stk__cli_loader_foreign(stk__config *config, stk_error *error)
{
    static const struct {
        const char *section, *why;
    } foreign[] = {
        {"model", "there is no network here"},
        {"loss", "there is no network here"},
        {"augment gpu_augmentation", "nothing is augmented here"},
        {"train training", "nothing is trained here"},
        {"optimizer", "nothing is trained here"},
        {"run", "this is not a run"},
    };
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++)
        STK__TRY(stk__config_foreign(config, foreign[i].section, foreign[i].why, error));
    return STK_OK;
}

static void interrupt_loader(void *loader)
{
    stk_loader_interrupt(loader);
}

static stk_status tell_effects(stk__config *config, const stk_loader *loader,
                               const stk_loader_options *options, stk_error *error)
{
    int count;
    const stk_loader_effect *effects = stk_loader_effects(loader, &count);
    for (int i = 0; i < count; i++)
        STK__TRY(stk__config_effect(config, effects[i].name, effects[i].in_effect, effects[i].why, error));
    stk_loader_options filled = *options;
    STK__TRY(stk__options_fill(&stk__loader_options, &filled, error));
    return stk__config_effects_from(config, "data", &filled, error);
}

stk_status stk__cli_loader_open(stk__arguments *arguments, stk_loader_options *options, stk_loader **loader,
                                stk_error *error)
{
    STK__TRY(stk__config_apply(arguments->config, "data", options, error));
    STK__TRY(stk_loader_open(loader, options, error));
    stk__interrupt_target(interrupt_loader, *loader);
    return tell_effects(arguments->config, *loader, options, error);
}

void stk__cli_loader_close(stk_loader **loader, int status)
{
    stk__interrupt_target(NULL, NULL);
    if (stk_loader_close(loader) == 0) return;
    fflush(NULL);
    _exit(status);
}

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

void stk__cli_print_effects(const stk__config *config)
{
    const char *const heads[EFFECT_COLUMNS] = {"setting", "asked for", "in effect"};
    const char *cells[EFFECT_COLUMNS];
    int widths[EFFECT_COLUMNS], rows = 0;
    for (int c = 0; c < EFFECT_COLUMNS; c++)
        widths[c] = (int)strlen(heads[c]);
    for (size_t i = 0; i < stk__config_effect_count(config); i++) {
        const stk__effect row = stk__config_effect_at(config, i);
        effect_cells(&row, cells);
        for (int c = 0; row.why && c < EFFECT_COLUMNS; c++)
            if ((int)strlen(cells[c]) > widths[c]) widths[c] = (int)strlen(cells[c]);
        rows += row.why != NULL;
    }
    if (rows) print_cells(heads, widths, "why");
    for (size_t i = 0; i < stk__config_effect_count(config); i++) {
        const stk__effect row = stk__config_effect_at(config, i);
        effect_cells(&row, cells);
        if (row.why) print_cells(cells, widths, row.why);
    }
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

void stk__cli_print_dataset(const stk_loader_info *info, const char *root)
{
    fprintf(stderr, "%s: %s, %s samples", root ? root : "data", info->layout,
            stk__cli_grouped(info->sample_count));
    if (info->sample_count != info->dataset_count)
        fprintf(stderr, " of %s", stk__cli_grouped(info->dataset_count));
    if (info->w) fprintf(stderr, ", %dx%d, %s", info->w, info->h, info->channels == 1 ? "grey" : "RGB");
    if (info->class_count) fprintf(stderr, ", %d classes", info->class_count);
    fprintf(stderr, "\n");
}
