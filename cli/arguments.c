#include "cli.h"

#include "core/nearest.h"
#include "core/number.h"

#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

static int columns(void)
{
    struct winsize size = {0};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 40) return 80;
    return size.ws_col > 120 ? 120 : size.ws_col;
}

static void print_help(const stk__arguments *a)
{
    printf("stoker %s\n\n%s\n", a->verb->usage, a->verb->about);
    if (a->flag_count) printf("\nOptions\n");
    for (size_t i = 0; i < a->flag_count; i++) {
        char left[48];
        snprintf(left, sizeof left, "--%s%s%s", a->flags[i].name, a->flags[i].value ? " " : "",
                 a->flags[i].value ? a->flags[i].value : "");
        printf("  %-22s %s\n", left, a->flags[i].help);
    }
    printf("  %-22s %s\n", "-q, --quiet", "no progress, no notes");
    printf("  %-22s %s\n", "-v, --verbose", "more notes; twice for all");
    if (a->more_help) a->more_help();
    if (!a->tables) return;
    stk__buffer text = {0};
    stk_error error;
    printf("\nSettings: key=value or --key value, STOKER_SECTION_KEY in the environment%s\n",
           a->own_words ? "" : ", or a YAML file");
    if (stk__config_help(a->tables, a->table_count, columns(), &text, &error) == STK_OK)
        fwrite(text.data, 1, text.size_bytes, stdout);
    stk__buffer_fini(&text);
}

/* "--stop-after" is "--stop_after". */
static const stk__flag *find_flag(const stk__arguments *a, const char *name)
{
    const size_t length = strlen(name);
    for (size_t i = 0; i < a->flag_count; i++)
        if (strlen(a->flags[i].name) == length && stk__name_equal(name, a->flags[i].name, length))
            return &a->flags[i];
    return NULL;
}

static int set_flag(const stk__arguments *a, const stk__flag *flag, const char *value)
{
    if (flag->text) *flag->text = value;
    if (!flag->number) return -1;
    if (!stk__number_whole(value, strlen(value), flag->number) || *flag->number < 0)
        return stk__cli_usage(a->verb->name, "--%s takes a number, not '%s'", flag->name, value);
    return -1;
}

static int set_key(const stk__arguments *a, const char *key, const char *value)
{
    stk_error error;
    return stk__config_set(a->config, key, value, STK_ORIGIN_COMMAND, "command line", &error) == STK_OK
               ? -1
               : stk__cli_fail(&error);
}

/* name is no switch. Explains if it is not a setting either but looks like a switch; -1: it may be a setting.
 */
static int refuse_near_flag(const stk__arguments *a, const char *name)
{
    char word[160], meant[64];
    stk__nearest nearest = {.word = name};
    if (a->config && stk__config_is_setting(a->config, name)) return -1;
    for (size_t i = 0; i < a->flag_count; i++)
        stk__nearest_offer(&nearest, a->flags[i].name);
    if (a->config && !nearest.best) return -1;
    snprintf(word, sizeof word, "--%s", name);
    if (nearest.best) snprintf(meant, sizeof meant, "--%s", nearest.best);
    return stk__cli_no_such(a->verb->name, "option", word, nearest.best ? meant : NULL);
}

static int refuse_without_value(const stk__arguments *a, const stk__flag *flag, const char *name)
{
    stk_error error;
    const bool known =
        flag || stk__config_set(a->config, name, "", STK_ORIGIN_COMMAND, "command line", &error) == STK_OK ||
        stk__config_is_setting(a->config, name);
    return known ? stk__cli_usage(a->verb->name, "--%s needs a value", name) : stk__cli_fail(&error);
}

/* make:gray?count=7 is a data set. */
static bool is_pair(const char *word)
{
    const char *equals = strchr(word, '=');
    return equals && word[0] != '-' && word + strcspn(word, "/:?") > equals;
}

static int set_each(const stk__flag *flag, const char *value, char **argv, int *next)
{
    int status = flag->each(value);
    while (status == -1 && argv[*next] && is_pair(argv[*next]))
        status = flag->each(argv[(*next)++]);
    return status;
}

/* --name, --name value, --name=value. *next is moved over a value that was used. */
static int read_dashes(const stk__arguments *a, char **argv, int *next)
{
    const char *word = argv[*next - 1] + 2, *inline_value = strchr(word, '=');
    char name[128];
    const size_t length = inline_value ? (size_t)(inline_value - word) : strlen(word);
    if (length >= sizeof name) return stk__cli_no_such(a->verb->name, "option", word - 2, NULL);
    snprintf(name, sizeof name, "%.*s", (int)length, word);
    const stk__flag *flag = find_flag(a, name);
    if (flag && !flag->value) {
        if (inline_value) return stk__cli_usage(a->verb->name, "--%s takes no value", flag->name);
        *flag->given = true;
        return -1;
    }
    const int refused = flag ? -1 : refuse_near_flag(a, name);
    if (refused != -1) return refused;
    if (flag && flag->given) { /* its value may be left out */
        *flag->given = true;
        if (!inline_value && (!argv[*next] || argv[*next][0] == '-')) return -1;
    }
    const char *value = inline_value ? inline_value + 1 : argv[*next];
    if (!value) return refuse_without_value(a, flag, name);
    if (!inline_value) (*next)++;
    if (flag && flag->each) return set_each(flag, value, argv, next);
    return flag ? set_flag(a, flag, value) : set_key(a, name, value);
}

static int read_word(stk__arguments *a, const char *word)
{
    struct stat facts;
    if (a->config && is_pair(word) && stat(word, &facts) != 0) {
        char key[128];
        const char *equals = strchr(word, '=');
        if ((size_t)snprintf(key, sizeof key, "%.*s", (int)(equals - word), word) < sizeof key)
            return set_key(a, key, equals + 1);
    }
    if (a->word_count == a->most_words)
        return stk__cli_usage(a->verb->name, "'%s' is one argument too many", word);
    (a->all_words ? a->all_words : a->words)[a->word_count++] = word;
    return -1;
}

static int read_common(const stk__arguments *a, const char *word)
{
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        print_help(a);
        return STK_EXIT_GOOD;
    }
    if (strcmp(word, "--complete") == 0) {
        stk__completion_print(a);
        return STK_EXIT_GOOD;
    }
    if (strcmp(word, "-q") == 0 || strcmp(word, "--quiet") == 0)
        stk__cli_quiet = true;
    else if (strcmp(word, "-v") == 0 || strcmp(word, "--verbose") == 0)
        stk__cli_verbose++;
    else
        return -2; /* not a common one */
    return -1;
}

static int read_all(stk__arguments *a, int argc, char **argv)
{
    bool only_words = false;
    for (int next = 1; next < argc;) {
        const char *word = argv[next++];
        int status = only_words ? -2 : read_common(a, word);
        if (status == -2 && !only_words && strcmp(word, "--") == 0)
            only_words = true, status = -1;
        else if (status == -2 && !only_words && strncmp(word, "--", 2) == 0)
            status = read_dashes(a, argv, &next);
        else if (status == -2 && !only_words && word[0] == '-' && word[1])
            status = stk__cli_usage(a->verb->name, "there is no option '%s'", word);
        else if (status == -2)
            status = read_word(a, word);
        if (status != -1) return status;
    }
    return -1;
}

static bool is_config(const char *word)
{
    const char *dot = strrchr(word, '.');
    return dot && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0);
}

static stk_status set_root(stk__arguments *a, stk_error *error)
{
    const char *before = stk__config_requested(a->config, "data.root", NULL);
    if (!before)
        return stk__config_set(a->config, "data.root", a->words[0], STK_ORIGIN_COMMAND, "command line",
                               error);
    stk__fail(error, STK_ERROR_CONFIG, "the data set is given twice: '%s' and data.root=%s", a->words[0],
              before);
    stk__error_place(error, "command line");
    return STK_ERROR_CONFIG;
}

const char *stk__arguments_config(const stk__arguments *a)
{
    return !a->own_words && a->word_count && is_config(a->words[0]) ? a->words[0] : NULL;
}

static stk_status read_layers(stk__arguments *a, stk_error *error)
{
    const char *file = stk__arguments_config(a);
    if (a->own_words) return stk__config_read_environment(a->config, environ, error);
    if (file)
        STK__TRY(stk__config_read_file(a->config, file, error));
    else if (a->word_count)
        STK__TRY(set_root(a, error));
    return stk__config_read_environment(a->config, environ, error);
}

int stk__arguments_read(stk__arguments *a, int argc, char **argv)
{
    stk_error error;
    if (a->tables && stk__config_create(&a->config, a->tables, a->table_count, &error) != STK_OK)
        return stk__cli_fail(&error);
    if (a->prepare && a->prepare(a->config, &error) != STK_OK) return stk__cli_fail(&error);
    const int status = read_all(a, argc, argv);
    if (status != -1) return status;
    stk__cli_open_log();
    if (a->config && read_layers(a, &error) != STK_OK) return stk__cli_fail(&error);
    return -1;
}

void stk__arguments_fini(stk__arguments *a)
{
    stk__config_destroy(&a->config);
}
