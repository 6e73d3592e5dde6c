/* SPDX-License-Identifier: Apache-2.0 */
/* stoker make: data sets to try things on. */
#include "cli.h"

#include "make/make_write.h"

#include <string.h>

enum { NOT_GIVEN = -1 }; /* --count */

typedef struct make_job {
    stk__progress progress;
    const char *kind;
} make_job;

static void show_progress(void *context, const stk__make_progress *done)
{
    make_job *job = context;
    stk__progress_show(&job->progress, job->kind, done->samples, done->count);
}

static bool find_kind(const char *word, stk__make_kind *kind)
{
    for (int i = 0; i < STK_MAKE_COUNT; i++) {
        if (strcmp(stk__make_describe((stk__make_kind)i)->name, word) != 0) continue;
        *kind = (stk__make_kind)i;
        return true;
    }
    return false;
}

static void print_kinds(FILE *file)
{
    fprintf(file, "\nKinds\n");
    for (int i = 0; i < STK_MAKE_COUNT; i++) {
        const stk__make_info *info = stk__make_describe((stk__make_kind)i);
        fprintf(file, "  %-8s %s\n", info->name, info->about);
    }
    fprintf(file, "Without --count:");
    for (int i = 0; i < STK_MAKE_COUNT; i++) {
        const stk__make_info *info = stk__make_describe((stk__make_kind)i);
        fprintf(file, "%s %s %s", i ? "," : "", stk__cli_grouped(info->default_count), info->name);
    }
    fprintf(file, "\n");
}

static void print_summary(const stk__make_options *options, const stk__make_progress *done)
{
    const double rate = done->seconds > 0 ? (double)done->samples / done->seconds : 0;
    const char *what = options->kind == STK_MAKE_SERIES ? "row" : "image";
    printf("%s: %s, %s in %.1f s: %s %ss/s with %s\n", options->folder, stk__cli_count(done->samples, what),
           stk__cli_bytes((double)done->bytes), done->seconds, stk__cli_rate(rate), what,
           stk__cli_count((uint64_t)done->workers, "thread"));
}

static int run_job(stk__make_options *options)
{
    make_job job = {.kind = stk__make_describe(options->kind)->name};
    stk__make_progress done = {0};
    stk_error error;
    options->stop = stk__interrupt_flag();
    options->show = show_progress;
    options->context = &job;
    stk__progress_start(&job.progress);
    const stk_status status = stk__make_write(options, &done, &error);
    stk__progress_end(&job.progress);
    if (status != STK_OK) return stk__cli_fail(&error);
    if (!stk__cli_quiet) print_summary(options, &done);
    return STK_EXIT_GOOD;
}

static int run_verb(const stk__verb *verb, int argc, char **argv)
{
    int64_t count = NOT_GIVEN, seed = 0, workers = 0;
    stk__make_options options = {0};
    const stk__flag flags[] = {
        {.name = "count",
         .value = "N",
         .help = "number of images, or of rows of the series, at least 1",
         .number = &count},
        {.name = "seed",
         .value = "S",
         .help = "random seed (0); the same kind, count and seed give the same files",
         .number = &seed},
        {.name = "workers", .value = "N", .help = "number of threads (all usable CPUs)", .number = &workers},
        {.name = "force",
         .help = "write into a folder that is not empty; other files stay",
         .given = &options.force},
    };
    stk__arguments arguments = {.verb = verb,
                                .flags = flags,
                                .flag_count = sizeof flags / sizeof flags[0],
                                .more_help = print_kinds,
                                .most_words = 2};
    const int code = stk__arguments_read(&arguments, argc, argv);
    if (code >= 0) return code;
    if (arguments.word_count < 2)
        return stk__cli_usage("make", "name a kind and a folder: stoker make faces DIR");
    if (!find_kind(arguments.words[0], &options.kind))
        return stk__cli_usage("make", "there is no kind '%s'", arguments.words[0]);
    if (count == 0) return stk__cli_usage("make", "--count must be at least 1");
    if (workers > 1024) return stk__cli_usage("make", "--workers must be at most 1024");
    options.folder = arguments.words[1];
    options.count = count == NOT_GIVEN ? 0 : (uint64_t)count; /* 0: by the kind */
    options.seed = (uint64_t)seed;
    options.workers = (int)workers;
    return run_job(&options);
}

const stk__verb stk__verb_make = {
    .name = "make",
    .usage = "make faces|captcha|gray|series DIR",
    .about = "Generate a data set to try things on: faces, captcha, gray, series.",
    .examples = {{"stoker make faces faces --count 64", "64 images with segmentation masks of 19 classes"},
                 {"stoker make gray gray --count 500 --seed 1",
                  "a folder for each of 10 classes, from another seed"}},
    .run = run_verb};
