/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the command line of a verb: flags, settings and words, in any order. A setting is key=value or --key
 * value; everything behind "--" is a word. Then the other layers of settings: CONFIG and the environment. */
#include "cli.h"

#include "core/nearest.h"
#include "core/number.h"
#include "core/text.h"

#include <string.h>
#include <sys/stat.h>

extern char **environ;

enum { GO_ON = -1, NAME_BYTES = 128 }; /* GO_ON: read on; all other values are exit statuses */

/* The place in the command line. */
typedef struct reader {
    stk__arguments *a;
    int argc;
    char **argv;
    int next;        /* the word that is read next */
    bool only_words; /* "--" was there */
} reader;

static const char *config_file; /* of --config */

const stk__flag *stk__common_flags(const stk__arguments *a)
{
    static const stk__flag flags[] = {
        {.name = "config",
         .value = "FILE",
         .help = "settings file (YAML, or lines KEY = value): the same as CONFIG",
         .text = &config_file},
        {.name = "quiet", .letter = "q", .help = "print results and errors only", .given = &stk__cli_quiet},
        {.name = "verbose",
         .letter = "v",
         .help = "print more; -vv: also debug messages and where each setting comes from",
         .count = &stk__cli_verbose},
        {.name = "help", .letter = "h", .help = "print this help"},
        {0}};
    const bool takes_config = a && a->verb->settings && !a->own_words;
    return takes_config ? flags : flags + 1;
}

/* --- words -------------------------------------------------------------------------------------------------
 */

/* make:gray?count=7 is a data set. */
static bool is_pair(const char *word)
{
    const char *equals = strchr(word, '=');
    return equals && word[0] != '-' && word + strcspn(word, "/:?") > equals;
}

static int set_key(const stk__arguments *a, const char *key, const char *value)
{
    stk_error error;
    return stk__config_set(a->config, key, value, STK_ORIGIN_COMMAND, "command line", &error) == STK_OK
               ? GO_ON
               : stk__cli_fail(&error);
}

/* key=value, unless there is a file of that name; else one of the verb's own words. */
static int read_word(stk__arguments *a, const char *word)
{
    struct stat facts;
    if (a->config && is_pair(word) && stat(word, &facts) != 0) {
        char key[NAME_BYTES];
        const char *equals = strchr(word, '=');
        if ((size_t)snprintf(key, sizeof key, "%.*s", (int)(equals - word), word) < sizeof key)
            return set_key(a, key, equals + 1);
    }
    if (a->word_count == a->most_words)
        return stk__cli_usage(a->verb->name, "'%s' is one argument too many", word);
    (a->all_words ? a->all_words : a->words)[a->word_count++] = word;
    return GO_ON;
}

/* --- flags -------------------------------------------------------------------------------------------------
 */

/* "--stop-after" is "--stop_after". */
static bool is_named(const stk__flag *flag, const char *name)
{
    const size_t length = strlen(name);
    return strlen(flag->name) == length && stk__name_equal(name, flag->name, length);
}

static const stk__flag *find_flag(const stk__arguments *a, const char *name)
{
    for (size_t i = 0; i < a->flag_count; i++)
        if (is_named(&a->flags[i], name)) return &a->flags[i];
    for (const stk__flag *flag = stk__common_flags(a); flag->name; flag++)
        if (is_named(flag, name)) return flag;
    return NULL;
}

static int set_switch(const stk__arguments *a, const stk__flag *flag)
{
    if (flag->given) *flag->given = true;
    if (flag->count) ++*flag->count;
    if (flag->given || flag->count) return GO_ON;
    stk__help_print(a, false); /* --help */
    return STK_EXIT_GOOD;
}

static int set_value(const stk__arguments *a, const stk__flag *flag, const char *value)
{
    if (flag->text) *flag->text = value;
    if (!flag->number) return GO_ON;
    if (!stk__number_whole(value, strlen(value), flag->number) || *flag->number < 0)
        return stk__cli_usage(a->verb->name, "--%s takes a number, not '%s'", flag->name, value);
    return GO_ON;
}

/* The word that would be read next; NULL: none. */
static const char *peek(const reader *r)
{
    return r->next < r->argc ? r->argv[r->next] : NULL;
}

/* --grid a=1,2 b=3,4 c=5: all pairs that follow; c is a setting. */
static int set_each(reader *r, const stk__flag *flag, const char *value)
{
    int status = flag->each(value);
    for (const char *word; status == GO_ON && (word = peek(r)) && is_pair(word); r->next++)
        status = flag->takes(word) ? flag->each(word) : read_word(r->a, word);
    return status;
}

/* value: what stands behind '=', or NULL. */
static int read_flag(reader *r, const stk__flag *flag, const char *value)
{
    if (!flag->value)
        return value ? stk__cli_usage(r->a->verb->name, "--%s takes no value", flag->name)
                     : set_switch(r->a, flag);
    if (flag->given) { /* its value may be left out */
        *flag->given = true;
        const char *word = peek(r);
        if (!value && (!word || word[0] == '-')) return GO_ON;
    }
    if (!value) value = peek(r) ? r->argv[r->next++] : NULL;
    if (!value) return stk__cli_usage(r->a->verb->name, "--%s needs a value", flag->name);
    return flag->each ? set_each(r, flag, value) : set_value(r->a, flag, value);
}

/* --- settings ----------------------------------------------------------------------------------------------
 */

/* name is no flag. Refuses it if it is no setting either but nearly a flag; GO_ON: it may be a setting. */
static int refuse_near_flag(const stk__arguments *a, const char *name)
{
    char word[NAME_BYTES + 2], meant[64];
    stk__nearest nearest = {.word = name};
    if (a->config && stk__config_is_setting(a->config, name)) return GO_ON;
    for (size_t i = 0; i < a->flag_count; i++)
        stk__nearest_offer(&nearest, a->flags[i].name);
    for (const stk__flag *flag = stk__common_flags(a); flag->name; flag++)
        stk__nearest_offer(&nearest, flag->name);
    if (a->config && !nearest.best) return GO_ON;
    snprintf(word, sizeof word, "--%s", name);
    if (nearest.best) snprintf(meant, sizeof meant, "--%s", nearest.best);
    return stk__cli_no_such(a->verb->name, "option", word, nearest.best ? meant : NULL);
}

/* An unknown key is named as such; a known one needs a value. */
static int refuse_without_value(const stk__arguments *a, const char *name)
{
    stk_error error;
    const bool known =
        stk__config_set(a->config, name, "", STK_ORIGIN_COMMAND, "command line", &error) == STK_OK ||
        stk__config_is_setting(a->config, name);
    return known ? stk__cli_usage(a->verb->name, "--%s needs a value", name) : stk__cli_fail(&error);
}

/* --key value or --key=value. */
static int read_setting(reader *r, const char *name, const char *value)
{
    const int refused = refuse_near_flag(r->a, name);
    if (refused != GO_ON) return refused;
    if (!value) value = peek(r) ? r->argv[r->next++] : NULL;
    return value ? set_key(r->a, name, value) : refuse_without_value(r->a, name);
}

/* What is not for people: asked for by stoker help, shells and the build. GO_ON: none of it. */
static int answer(const stk__arguments *a, const char *word)
{
    const bool brief = strcmp(word, "--help=brief") == 0, complete = strcmp(word, "--complete") == 0,
               described = strcmp(word, "--complete=help") == 0, man = strcmp(word, "--man") == 0;
    if (brief) stk__help_print(a, true);
    if (complete || described) stk__completion_print(a, described);
    if (man) stk__man_print(a);
    return brief || complete || described || man ? STK_EXIT_GOOD : GO_ON;
}

/* --name, --name value, --name=value: a flag or a setting. */
static int read_dashes(reader *r, const char *word)
{
    char name[NAME_BYTES];
    const char *equals = strchr(word, '=');
    const size_t length = equals ? (size_t)(equals - word) - 2 : strlen(word) - 2;
    const int answered = answer(r->a, word);
    if (answered != GO_ON) return answered;
    if (length >= sizeof name) return stk__cli_no_such(r->a->verb->name, "option", word, NULL);
    snprintf(name, sizeof name, "%.*s", (int)length, word + 2);
    const stk__flag *flag = find_flag(r->a, name);
    const char *value = equals ? equals + 1 : NULL;
    return flag ? read_flag(r, flag, value) : read_setting(r, name, value);
}

/* -v, or several at once: -qvv. */
static int read_letters(const stk__arguments *a, const char *word)
{
    for (const char *letter = word + 1; *letter; letter++) {
        const stk__flag *flag = stk__common_flags(NULL); /* those with a letter */
        while (flag->name && *flag->letter != *letter)
            flag++;
        if (!flag->name) return stk__cli_usage(a->verb->name, "there is no option '%s'", word);
        const int status = set_switch(a, flag);
        if (status != GO_ON) return status;
    }
    return GO_ON;
}

static int read_next(reader *r)
{
    const char *word = r->argv[r->next++];
    if (r->only_words || word[0] != '-' || !word[1]) return read_word(r->a, word);
    if (word[1] != '-') return read_letters(r->a, word);
    if (word[2]) return read_dashes(r, word);
    r->only_words = true; /* "--" */
    return GO_ON;
}

static int read_all(reader *r)
{
    int status = GO_ON;
    while (status == GO_ON && r->next < r->argc)
        status = read_next(r);
    return status;
}

/* --- layers ------------------------------------------------------------------------------------------------
 */

static bool is_config(const char *word)
{
    static const char *const endings[] = {".yaml", ".yml", ".ini", ".cfg", ".conf", ".toml", ".py"};
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++)
        if (stk__text_ends_with(word, strlen(word), endings[i])) return true;
    return false;
}

static stk_status set_root(stk__arguments *a, stk_error *error)
{
    stk__origin origin;
    const char *before = stk__config_requested(a->config, "data.root", &origin);
    if (!before || origin != STK_ORIGIN_COMMAND)
        return stk__config_set(a->config, "data.root", a->words[0], STK_ORIGIN_COMMAND, "command line",
                               error);
    stk__fail(error, STK_ERROR_CONFIG, "the data set is given twice: '%s' and data.root=%s", a->words[0],
              before);
    stk__error_place(error, "command line");
    return STK_ERROR_CONFIG;
}

static bool has_config_word(const stk__arguments *a)
{
    return !a->own_words && a->word_count && is_config(a->words[0]);
}

const char *stk__arguments_config(const stk__arguments *a)
{
    return config_file ? config_file : has_config_word(a) ? a->words[0] : NULL;
}

/* CONFIG or --config FILE, and the data set if that is a word. */
static stk_status read_words(stk__arguments *a, stk_error *error)
{
    const char *file = stk__arguments_config(a);
    if (config_file && has_config_word(a)) {
        stk__fail(error, STK_ERROR_CONFIG, "the settings are given twice: '%s' and --config %s", a->words[0],
                  config_file);
        stk__error_place(error, "command line");
        return STK_ERROR_CONFIG;
    }
    if (file) STK__TRY(stk__config_read_file(a->config, file, error));
    return a->word_count && !has_config_word(a) ? set_root(a, error) : STK_OK;
}

static stk_status read_layers(stk__arguments *a, stk_error *error)
{
    if (!a->own_words) STK__TRY(read_words(a, error));
    return stk__config_read_environment(a->config, environ, error);
}

int stk__arguments_read(stk__arguments *a, int argc, char **argv)
{
    stk_error error;
    const stk__verb *verb = a->verb;
    if (verb->settings &&
        stk__config_create(&a->config, verb->settings(), verb->settings_count, &error) != STK_OK)
        return stk__cli_fail(&error);
    if (a->prepare && a->prepare(a->config, &error) != STK_OK) return stk__cli_fail(&error);
    const int status = read_all(&(reader){.a = a, .argc = argc, .argv = argv, .next = 1});
    if (status != GO_ON) return status;
    stk__cli_open_log();
    if (a->config && read_layers(a, &error) != STK_OK) return stk__cli_fail(&error);
    return GO_ON;
}

void stk__arguments_fini(stk__arguments *a)
{
    stk__config_destroy(&a->config);
}
