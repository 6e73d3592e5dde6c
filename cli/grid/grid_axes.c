/* SPDX-License-Identifier: Apache-2.0 */
/* From "hidden=128,256" to the runs of a grid. */
#include "grid.h"

#include "session/session.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

enum { NAME_BYTES = 96 }; /* of a run's folder; longer ones are cut and numbered */

/* --- axes ------------------------------------------------------------------------------------------------
 */

static stk_status refuse(stk_error *error, const char *hint, const char *format, const char *a, const char *b)
{
    char text[256];
    snprintf(text, sizeof text, format, a, b);
    stk__fail(error, STK_ERROR_CONFIG, "%s", text);
    stk__error_hint(error, "%s", hint);
    return STK_ERROR_CONFIG;
}

/* The end of a value: a comma outside of brackets and quotes. */
static size_t value_length(const char *text)
{
    int depth = 0;
    char quote = '\0';
    for (size_t i = 0;; i++) {
        const char c = text[i];
        if (c == '\0') return i;
        if (quote)
            quote = c == quote ? '\0' : quote;
        else if (c == '"' || c == '\'')
            quote = c;
        else if (c == '[' || c == '{' || c == '(')
            depth++;
        else if (c == ']' || c == '}' || c == ')')
            depth--;
        else if (c == ',' && depth <= 0)
            return i;
    }
}

/* Is text one list from its first to its last character: "[64, 128]"? */
static bool is_list(const char *text)
{
    const size_t length = strlen(text);
    const char *end = length > 2 ? text + length - 1 : text;
    return length == value_length(text) && ((*text == '[' && *end == ']') || (*text == '(' && *end == ')'));
}

static stk_status split_values(stk__grid_axis *axis, char *text, stk_error *error)
{
    static const char hint[] = "write --grid key=a,b,c";
    for (;;) {
        const size_t length = value_length(text);
        const bool last = text[length] == '\0';
        text[length] = '\0';
        text += strspn(text, " ");
        for (size_t end = strlen(text); end && text[end - 1] == ' '; end--)
            text[end - 1] = '\0';
        if (!*text) return refuse(error, hint, "--grid: '%s' has an empty value%s", axis->name, "");
        for (int i = 0; i < axis->count; i++)
            if (strcmp(axis->values[i], text) == 0)
                return refuse(error, hint, "--grid: '%s' has the value '%s' twice", axis->name, text);
        if (axis->count == STK_GRID_VALUES)
            return refuse(error, "64 values are the most", "--grid: '%s' has too many values%s", axis->name,
                          "");
        axis->values[axis->count++] = text;
        if (last) return STK_OK;
        text += strlen(text) + 1;
    }
}

/* Every section reads its values: what an option refuses is found here. */
static stk_status try_sections(const stk__config *config, stk_error *error)
{
    const stk__option_table *const *tables = stk__session_tables();
    stk_status status = STK_OK;
    for (int i = 0; i < STK_SESSION_TABLES && status == STK_OK; i++) {
        void *options = stk__alloc(tables[i]->struct_bytes);
        if (!options) return stk__fail_memory(error, tables[i]->struct_bytes, "settings");
        status = stk__config_apply(config, tables[i]->section, options, error);
        stk__free(options);
    }
    return status;
}

/* The whole name of the one setting of a config; a value that is read as another one would be lost on the way
 * to the runs. */
static stk_status name_axis(const stk__config *config, const char *value, char name[96], stk_error *error)
{
    if (!stk__config_effect_count(config)) return STK_OK;
    const stk__effect row = stk__config_effect_at(config, 0);
    if (row.requested && strcmp(row.requested, value) != 0) {
        stk__fail(error, STK_ERROR_CONFIG, "--grid: '%s=%.80s' is %s=%s here", name, value, row.name,
                  row.requested);
        stk__error_hint(error, "write the axis so");
        return STK_ERROR_CONFIG;
    }
    snprintf(name, 96, "%s", row.name);
    return STK_OK;
}

/* Sets one value alone. name (may be NULL) is the axis's and gets the setting's whole name. */
static stk_status try_value(const char *key, const char *value, char name[96], stk_error *error)
{
    stk__config *config = NULL;
    STK__TRY(stk__config_create(&config, stk__session_tables(), STK_SESSION_TABLES, error));
    stk_status status = stk__config_set(config, key, value, STK_ORIGIN_COMMAND, "--grid", error);
    if (status == STK_OK) status = try_sections(config, error);
    if (status == STK_OK && name) status = name_axis(config, value, name, error);
    stk__config_destroy(&config);
    return status;
}

/* "[64, 128]" is a list of values where the setting does not take it as one value: *text becomes "64, 128".
 */
static void open_list(const char *key, char **text)
{
    if (!is_list(*text) || try_value(key, *text, NULL, NULL) == STK_OK) return;
    (*text)[strlen(*text) - 1] = '\0';
    ++*text;
}

bool stk__grid_is_axis(const char *word)
{
    const char *equals = strchr(word, '=');
    char key[96];
    if (!equals || (size_t)(equals - word) >= sizeof key) return false;
    if (equals[1 + value_length(equals + 1)] == ',') return true;
    snprintf(key, sizeof key, "%.*s", (int)(equals - word), word);
    return is_list(equals + 1) && try_value(key, equals + 1, NULL, NULL) != STK_OK;
}

static stk_status check_axis(const stk__grid *grid, stk__grid_axis *axis, stk_error *error)
{
    static const char *const own[] = {"run.dir", "run.name", "run.resume"};
    stk__origin origin;
    char key[96];
    memcpy(key, axis->name, sizeof key);
    for (int i = 0; i < axis->count; i++)
        STK__TRY(try_value(key, axis->values[i], axis->name, error));
    const char *dot = strrchr(axis->name, '.');
    axis->label = dot ? dot + 1 : axis->name;
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (strcmp(axis->name, own[i]) == 0)
            return refuse(error, "leave it out; --run DIR sets the folder of the grid",
                          "--grid: '%s' is not for a grid: it has its own folders%s", axis->name, "");
    for (const stk__grid_axis *other = grid->axes; other < axis; other++)
        if (strcmp(other->name, axis->name) == 0)
            return refuse(error, "put all values behind one of them", "--grid: '%s' is there twice%s",
                          axis->name, "");
    if (stk__config_requested(grid->arguments->config, axis->name, &origin) && origin == STK_ORIGIN_COMMAND)
        return refuse(error, "leave one of them out",
                      "'%s' is set on the command line and in the grid: which is it?%s", axis->name, "");
    return STK_OK;
}

static stk_status read_axis(stk__grid *grid, const char *word, stk_error *error)
{
    const char *equals = strchr(word, '=');
    stk__grid_axis *axis = &grid->axes[grid->axis_count];
    if (!equals || equals == word || (size_t)(equals - word) >= sizeof axis->name)
        return refuse(error, "write --grid key=a,b,c", "--grid: '%s' is not key=a,b,c%s", word, "");
    grid->axis_count++;
    snprintf(axis->name, sizeof axis->name, "%.*s", (int)(equals - word), word);
    axis->text = stk__text_copy(equals + 1);
    if (!axis->text) return stk__fail_memory(error, strlen(word), "the values of a grid");
    if (!*axis->text) {
        if (!stk__config_is_setting(grid->arguments->config, axis->name))
            STK__TRY(try_value(axis->name, "0", NULL, error)); /* says so */
        return refuse(error, "write --grid key=a,b,c", "--grid: '%s' has no values%s", axis->name, "");
    }
    char *values = axis->text;
    open_list(axis->name, &values);
    STK__TRY(split_values(axis, values, error));
    return check_axis(grid, axis, error);
}

/* --- runs ------------------------------------------------------------------------------------------------
 */

const char *stk__grid_value(const stk__grid *grid, int run, int axis)
{
    for (int a = grid->axis_count - 1; a > axis; a--) /* the last one changes fastest */
        run /= grid->axes[a].count;
    return grid->axes[axis].values[run % grid->axes[axis].count];
}

void stk__grid_print_settings(const stk__grid *grid, int run, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (int a = 0; a < grid->axis_count && used < size; a++)
        used += (size_t)snprintf(text + used, size - used, "%s%s=%s", a ? " " : "", grid->axes[a].label,
                                 stk__grid_value(grid, run, a));
}

static bool is_taken(const stk__grid *grid, int run)
{
    for (int i = 0; i < run; i++)
        if (strcmp(grid->runs[i].name, grid->runs[run].name) == 0) return true;
    return false;
}

/* "hidden-128_lr-0.01": letters that are safe everywhere. */
static void name_run(stk__grid *grid, int run)
{
    char text[512];
    stk__grid_run *r = &grid->runs[run];
    size_t used = 0;
    text[0] = '\0';
    for (int a = 0; a < grid->axis_count && used < sizeof text; a++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s-%s", a ? "_" : "",
                                 grid->axes[a].label, stk__grid_value(grid, run, a));
    for (char *c = text; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("._-", *c)) *c = '-';
    snprintf(r->name, sizeof r->name, "%.*s", NAME_BYTES, text);
    if (used > NAME_BYTES || is_taken(grid, run))
        snprintf(r->name, sizeof r->name, "%.*s-%03d", NAME_BYTES, text, run + 1);
}

static stk_status make_runs(stk__grid *grid, stk_error *error)
{
    int64_t count = 1;
    for (int a = 0; a < grid->axis_count; a++)
        count *= grid->axes[a].count;
    if (count > STK_GRID_RUNS) {
        stk__fail(error, STK_ERROR_CONFIG, "the grid has %lld combinations; %d are the most",
                  (long long)count, STK_GRID_RUNS);
        stk__error_hint(error, "leave out values, or train it in parts");
        return STK_ERROR_CONFIG;
    }
    grid->run_count = (int)count;
    grid->runs = stk__alloc((size_t)count * sizeof *grid->runs);
    if (!grid->runs) return stk__fail_memory(error, (size_t)count * sizeof *grid->runs, "the runs");
    for (int i = 0; i < grid->run_count; i++) {
        stk__grid_run *r = &grid->runs[i];
        r->told = -1;
        r->best = r->final_loss = r->step_ms = r->samples_per_s = r->loss = NAN;
        name_run(grid, i);
    }
    return STK_OK;
}

/* --- what makes it this grid -----------------------------------------------------------------------------
 */

static stk_status describe(stk__grid *grid, stk_error *error)
{
    const stk__config *config = grid->arguments->config;
    grid->settings = json_object();
    grid->axes_json = json_array();
    for (size_t i = 0; i < stk__config_effect_count(config); i++) {
        const stk__effect row = stk__config_effect_at(config, i);
        if (row.requested && *row.requested)
            json_object_set_new(grid->settings, row.name, stk__json_string(row.requested));
    }
    for (int a = 0; a < grid->axis_count; a++) {
        json_t *values = json_array();
        for (int v = 0; v < grid->axes[a].count; v++)
            json_array_append_new(values, stk__json_string(grid->axes[a].values[v]));
        json_array_append_new(grid->axes_json,
                              json_pack("{s:s, s:o}", "name", grid->axes[a].name, "values", values));
        json_object_del(grid->settings, grid->axes[a].name); /* the grid's values stand above a file's */
    }
    if (json_array_size(grid->axes_json) == (size_t)grid->axis_count) return STK_OK;
    return stk__fail_memory(error, 4096, "the settings of a grid");
}

stk_status stk__grid_read(stk__grid *grid, const stk__grid_request *request, stk_error *error)
{
    for (int i = 0; i < request->word_count; i++)
        STK__TRY(read_axis(grid, request->words[i], error));
    STK__TRY(make_runs(grid, error));
    return describe(grid, error);
}
