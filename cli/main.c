/* SPDX-License-Identifier: Apache-2.0 */
/* The program `stoker`: finds the verb among its words and runs it. The list of verbs is here; each is
 * described in its own file. Words that are not verbs: help, man, version, and --complete, which shells ask
 * for. */
#include "cli.h"
#include "device/opencl/opencl_probe.h"

#include "core/nearest.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const stk__verb *const stk__verbs[] = {&stk__verb_make,    &stk__verb_load,
                                       &stk__verb_augment, &stk__verb_stats,
                                       &stk__verb_pack,    &stk__verb_train,
                                       &stk__verb_eval,    &stk__verb_predict,
                                       &stk__verb_report,  &stk__verb_monitor,
                                       &stk__verb_doctor,  &stk__verb_devices,
                                       &stk__verb_bench,   NULL};

static bool is(const char *word, const char *name)
{
    return strcmp(word, name) == 0;
}

/* The last word of a verb's name: a part is called "bench load". */
static const char *short_name(const stk__verb *verb)
{
    const char *space = strrchr(verb->name, ' ');
    return space ? space + 1 : verb->name;
}

static const stk__verb *find_among(const stk__verb *const *list, const char *word)
{
    for (; *list; list++)
        if (is(short_name(*list), word)) return *list;
    return NULL;
}

const stk__verb *stk__verb_find(int count, char **words, int *used)
{
    const stk__verb *verb = count > 0 ? find_among(stk__verbs, words[0]) : NULL;
    const stk__verb *part = verb && verb->parts && count > 1 ? find_among(verb->parts, words[1]) : NULL;
    *used = part ? 2 : verb ? 1 : 0;
    return part ? part : verb;
}

int stk__verb_ask(const stk__verb *verb, const char *argument)
{
    char name[32], word[32];
    snprintf(name, sizeof name, "%s", short_name(verb));
    snprintf(word, sizeof word, "%s", argument);
    return verb->run(verb, 2, (char *[]){name, word, NULL});
}

static int refuse_verb(const char *word)
{
    stk__nearest nearest = {.word = word};
    for (size_t i = 0; stk__verbs[i]; i++)
        stk__nearest_offer(&nearest, stk__verbs[i]->name);
    stk__nearest_offer(&nearest, "help");
    stk__nearest_offer(&nearest, "man");
    stk__nearest_offer(&nearest, "version");
    return stk__cli_no_such("", "verb", word, nearest.best);
}

/* --- a cache for PoCL
 * ---------------------------------------------------------------------------------------- PoCL (OpenCL on
 * CPUs) offers no device when it cannot write its cache below HOME. Containers and services often have no
 * such place, so the program gives it one; the library never changes the environment. */

static bool can_write_below(const char *folder)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/.cache", folder);
    return access(path, F_OK) == 0 ? access(path, W_OK) == 0 : access(folder, W_OK) == 0;
}

/* The folder itself is made where it is missing, as the specification of XDG wants it. */
static bool can_write_to(const char *cache)
{
    return access(cache, W_OK) == 0 || mkdir(cache, 0700) == 0;
}

/* A folder of our own that nobody else could have prepared. */
static bool make_own(const char *path)
{
    struct stat facts;
    if (mkdir(path, 0700) == 0) return true;
    return lstat(path, &facts) == 0 && S_ISDIR(facts.st_mode) && facts.st_uid == geteuid() &&
           (facts.st_mode & 077) == 0;
}

static void give_pocl_cache(void)
{
    const char *home = getenv("HOME"), *cache = getenv("XDG_CACHE_HOME"), *temporary = getenv("TMPDIR");
    char path[4096];
    if (getenv("POCL_CACHE_DIR")) return;
    if (cache && *cache ? can_write_to(cache) : home && *home && can_write_below(home)) return;
    snprintf(path, sizeof path, "%s/stoker-pocl-%ld", temporary && *temporary ? temporary : "/tmp",
             (long)geteuid());
    if (make_own(path)) setenv("POCL_CACHE_DIR", path, 0);
}

/* --- words -----------------------------------------------------------------------------------------------
 */

static int run_verb(const stk__verb *verb, int argc, char **argv)
{
    stk_error error;
    give_pocl_cache(); /* before there are threads: it may change the environment */
    if (stk__interrupt_start(&error) != STK_OK) return stk__cli_fail(&error);
    return verb->run(verb, argc, argv);
}

static int run_words(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
    if (!*word) {
        stk__help_overview(stderr);
        return STK_EXIT_USAGE;
    }
    if (is(word, "version") || is(word, "--version") || is(word, "-V")) {
        printf("stoker %s\n", stk_version());
        return STK_EXIT_GOOD;
    }
    if (is(word, "help")) return stk__help_run(argc - 1, argv + 1);
    if (is(word, "--help") || is(word, "-h")) {
        stk__help_overview(stdout);
        return STK_EXIT_GOOD;
    }
    if (is(word, "--complete") || is(word, "--complete=help"))
        return stk__completion_run(argc - 2, argv + 2, is(word, "--complete=help"));
    if (is(word, "man")) return stk__man_run(argc - 2, argv + 2);
    const stk__verb *verb = find_among(stk__verbs, word);
    return verb ? run_verb(verb, argc - 1, argv + 1) : refuse_verb(word);
}

int main(int argc, char **argv)
{
    stk__opencl_probe_start(argc, argv);
    const int code = run_words(argc, argv);
    const bool written = fflush(stdout) == 0 && !ferror(stdout);
    if (written || code != STK_EXIT_GOOD) return code;
    fprintf(stderr, "stoker: cannot write to standard output\n");
    return STK_EXIT_FAILED;
}
