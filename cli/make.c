#include "make.h"

#include "source/make_write.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GOOD = 0, FAILED = 1, USAGE = 2, INTERRUPTED = 130 };

static atomic_bool stop;

static void ask_to_stop(int signal_number)
{
    (void)signal_number;
    atomic_store(&stop, true);
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = ask_to_stop, .sa_flags = SA_RESTART | (int)SA_RESETHAND};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

static void print_help(FILE *file)
{
    fprintf(file,
            "stoker make KIND DIR [--count N] [--seed S] [--workers N] [--force] [--quiet]\n"
            "Makes a data set to try things on; the same KIND, N and S give the same files everywhere.\n\n");
    for (int kind = 0; kind < STK_MAKE_COUNT; kind++) {
        const stk__make_info *info = stk__make_describe((stk__make_kind)kind);
        fprintf(file, "  %-10s%s; default count %llu\n", info->name, info->about,
                (unsigned long long)info->default_count);
    }
    fprintf(file, "\n"
                  "  --count N    how many images, or rows of the series\n"
                  "  --seed S     another seed, another data set (default 0)\n"
                  "  --workers N  threads (default: the CPUs this process may use)\n"
                  "  --force      write into a folder that holds something else; other files stay\n"
                  "  --quiet      print nothing but errors\n");
}

static int refuse(const char *what, const char *word)
{
    fprintf(stderr, "stoker make: %s%s%s%s\n", what, *word ? " '" : "", word, *word ? "'" : "");
    fprintf(stderr, "  hint: stoker make --help\n");
    return USAGE;
}

static int fail(const stk_error *error)
{
    fprintf(stderr, "stoker make: %s\n", error->message);
    if (*error->hint) fprintf(stderr, "  hint: %s\n", error->hint);
    return error->code == STK_ERROR_INTERRUPTED ? INTERRUPTED : FAILED;
}

static bool read_number(const char *text, uint64_t *number)
{
    char *end;
    if (!text || *text < '0' || *text > '9') return false;
    errno = 0;
    *number = strtoull(text, &end, 10);
    return errno == 0 && *end == '\0';
}

typedef struct order {
    stk__make_options options;
    const char *kind;
    bool quiet, help;
} order;

/* The number an option takes, or NULL for a word that is no such option. */
static uint64_t *number_of(order *command, const char *name, uint64_t *workers)
{
    if (strcmp(name, "--count") == 0) return &command->options.count;
    if (strcmp(name, "--seed") == 0) return &command->options.seed;
    return strcmp(name, "--workers") == 0 ? workers : NULL;
}

static bool *switch_of(order *command, const char *name)
{
    if (strcmp(name, "--force") == 0) return &command->options.force;
    if (strcmp(name, "--quiet") == 0) return &command->quiet;
    return strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 ? &command->help : NULL;
}

/* "--name value" and "--name=value". */
static int read_option(order *command, int argc, char **argv, int *at)
{
    char name[32];
    const char *equals = strchr(argv[*at], '=');
    snprintf(name, sizeof name, "%.*s", equals ? (int)(equals - argv[*at]) : (int)sizeof name - 1, argv[*at]);
    bool *given = switch_of(command, name);
    uint64_t workers = 0, *number = number_of(command, name, &workers);
    if (given && !equals) {
        *given = true;
        return GOOD;
    }
    if (!number) return refuse("there is no option", argv[*at]);
    const char *value = equals ? equals + 1 : *at + 1 < argc ? argv[++*at] : NULL;
    if (!read_number(value, number)) return refuse("a whole number must follow", name);
    if (number != &command->options.seed && *number == 0) return refuse("a number above 0 must follow", name);
    if (number == &workers) command->options.workers = workers > 256 ? 256 : (int)workers;
    return GOOD;
}

static int read_command(order *command, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] == '-' && argv[i][1]) {
            const int status = read_option(command, argc, argv, &i);
            if (status != GOOD) return status;
        } else if (!command->kind) {
            command->kind = argv[i];
        } else if (!command->options.folder) {
            command->options.folder = argv[i];
        } else {
            return refuse("too many words:", argv[i]);
        }
    }
    if (command->help) return GOOD;
    if (!command->kind || !command->options.folder) return refuse("KIND and DIR are needed", "");
    command->options.kind = stk__make_find(command->kind);
    if (command->options.kind == STK_MAKE_COUNT) return refuse("there is no kind", command->kind);
    return GOOD;
}

static void show_bar(void *context, const stk__make_progress *progress)
{
    enum { CELLS = 40 };
    char bar[CELLS + 1];
    const int filled = (int)(progress->samples * CELLS / progress->count);
    for (int i = 0; i < CELLS; i++)
        bar[i] = i < filled ? '#' : '.';
    bar[CELLS] = '\0';
    fprintf(stderr, "\r%s [%s] %llu/%llu ", (const char *)context, bar, (unsigned long long)progress->samples,
            (unsigned long long)progress->count);
}

static void print_summary(const order *command, const stk__make_progress *done)
{
    const char *unit = command->options.kind == STK_MAKE_SERIES ? "rows" : "images";
    printf("%s: %llu %s, %.1f MB in %.2f s, %.0f %s/s with %d thread%s, seed %llu, in '%s'\n", command->kind,
           (unsigned long long)done->count, unit, (double)done->bytes * 1e-6, done->seconds,
           (double)done->count / (done->seconds > 1e-9 ? done->seconds : 1e-9), unit, done->workers,
           done->workers == 1 ? "" : "s", (unsigned long long)command->options.seed, command->options.folder);
}

int stk__cli_make(int argc, char **argv)
{
    order command = {.options.stop = &stop};
    const int status = read_command(&command, argc, argv);
    if (status != GOOD) return status;
    if (command.help) {
        print_help(stdout);
        return GOOD;
    }
    const bool bar = !command.quiet && isatty(STDERR_FILENO);
    if (bar) {
        command.options.show = show_bar;
        command.options.context = (void *)command.kind;
    }
    catch_signals();
    stk_error error;
    stk__make_progress done;
    const stk_status made = stk__make_write(&command.options, &done, &error);
    if (bar) fprintf(stderr, "\r\033[K");
    if (made != STK_OK) return fail(&error);
    if (!command.quiet) print_summary(&command, &done);
    return GOOD;
}
