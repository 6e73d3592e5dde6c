/* SPDX-License-Identifier: Apache-2.0 */
/* stoker bench: arguments, help and output of the benchmarks in bench/, to which it lends Ctrl-C and the
 * progress line. */
#include "../bench/benchmark.h"
#include "../bench/bench_batch.h"
#include "cli.h"

#include <string.h>

/* --- what benchmarks are lent ------------------------------------------------------------------------------
 */

static stk__progress shown;
static bool show_goals; /* --goals */

static void show_progress(const stk__bench_progress *progress, const char *what, uint64_t done,
                          uint64_t total)
{
    if (!shown.start_ns) stk__progress_start(&shown);
    shown.start_ns = progress->start_ns;
    memcpy(shown.note, progress->note, sizeof shown.note);
    stk__progress_show(&shown, what, done, total);
}

static void hide_progress(void)
{
    stk__progress_end(&shown);
}

static stk__bench_host make_host(void)
{
    return (stk__bench_host){.stop = stk__interrupt_flag(),
                             .on_stop = stk__interrupt_target,
                             .show = show_progress,
                             .hide = hide_progress};
}

typedef stk_status (*run_benchmark)(const stk__bench_options *options, stk__bench *bench, stk_error *error);

static int run_and_print(run_benchmark run, stk__bench_options *options)
{
    static stk__bench bench; /* too large for a stack */
    stk_error error;
    const stk__bench_host host = make_host();
    options->host = &host;
    if (run(options, &bench, &error) != STK_OK) return stk__cli_fail(&error);
    if (stk__cli_json) return stk__cli_print_json(stk__bench_json(&bench));
    stk__bench_print(&bench, show_goals);
    return STK_EXIT_GOOD;
}

static const char goals_help[] = "for developers of Stoker: print the goal of each ratio beside it";

/* --- arguments of each -------------------------------------------------------------------------------------
 */

static int run_load(const stk__verb *verb, int argc, char **argv)
{
    enum { ROUNDS = 7, QUICK_ROUNDS = 3, MOST_ROUNDS = STK_BENCH_ROUNDS / 3 };
    stk__bench_options o = {.rounds = ROUNDS};
    const stk__flag flags[] = {
        {.name = "rounds", .value = "N", .help = "interleaved rounds (7)", .number = &o.rounds},
        {.name = "quick", .help = "three rounds, 160 faces, fewer peers", .given = &o.quick},
        {.name = "peers",
         .value = "PYTHON",
         .help = "interpreter that has the other libraries (bench/peers/setup makes one)",
         .text = &o.python},
        {.name = "goals", .help = goals_help, .given = &show_goals},
        {.name = "json", .help = "print the report as JSON on standard output", .given = &stk__cli_json},
    };
    stk__arguments arguments = {
        .verb = verb, .flags = flags, .flag_count = sizeof flags / sizeof flags[0], .most_words = 1};
    const int code = stk__arguments_read(&arguments, argc, argv);
    if (code >= 0) return code;
    if (o.quick) o.rounds = QUICK_ROUNDS;
    if (o.rounds < 1 || o.rounds > MOST_ROUNDS)
        return stk__cli_usage("bench load", "--rounds must be from 1 to %d", MOST_ROUNDS);
    o.folder = arguments.words[0];
    return run_and_print(stk__bench_load, &o);
}

static int run_augment(const stk__verb *verb, int argc, char **argv)
{
    enum { ROUNDS = 7, QUICK_ROUNDS = 3, QUICK_SAMPLES = 8 };
    stk__bench_options o = {0};
    int64_t samples = 0;
    const stk__flag flags[] = {
        {.name = "rounds", .value = "N", .help = "interleaved rounds (7)", .number = &o.rounds},
        {.name = "samples", .value = "N", .help = "images in the batch (32)", .number = &samples},
        {.name = "quick", .help = "three rounds, eight faces, no files", .given = &o.quick},
        {.name = "peers",
         .value = "PYTHON",
         .help = "interpreter that has the other libraries (bench/peers/setup makes one)",
         .text = &o.python},
        {.name = "goals", .help = goals_help, .given = &show_goals},
        {.name = "json", .help = "print the report as JSON on standard output", .given = &stk__cli_json},
    };
    stk__arguments arguments = {
        .verb = verb, .flags = flags, .flag_count = sizeof flags / sizeof flags[0], .most_words = 1};
    const int code = stk__arguments_read(&arguments, argc, argv);
    if (code >= 0) return code;
    o.folder = arguments.words[0];
    if (o.rounds == 0) o.rounds = o.quick ? QUICK_ROUNDS : ROUNDS;
    if (samples == 0) samples = o.quick ? QUICK_SAMPLES : STK_BENCH_SAMPLES;
    if (o.rounds > STK_BENCH_ROUNDS || samples > STK_BENCH_SAMPLES)
        return stk__cli_usage("bench augment", "--rounds must be from 1 to %d, --samples from 1 to %d",
                              STK_BENCH_ROUNDS, STK_BENCH_SAMPLES);
    o.samples = (uint64_t)samples;
    return run_and_print(stk__bench_augment, &o);
}

/* -1: they are good; else the status to leave with. */
static int check_train(const stk__bench_options *o, const char *isa)
{
    if (o->rounds > STK_BENCH_ROUNDS)
        return stk__cli_usage("bench train", "--rounds must be from 1 to %d", STK_BENCH_ROUNDS);
    if (stk__bench_train_unknown(o))
        return stk__cli_usage("bench train", "there is no case '%s'", stk__bench_train_unknown(o));
    if (o->engine && strcmp(o->engine, "torch") != 0)
        return stk__cli_usage("bench train", "--engine can only be torch, not '%s'", o->engine);
    if (isa && strcmp(isa, "avx2") != 0)
        return stk__cli_usage("bench train", "--isa can only be avx2, not '%s'", isa);
    return -1;
}

static int run_train(const stk__verb *verb, int argc, char **argv)
{
    enum { ROUNDS = 7, QUICK_ROUNDS = 3 };
    stk__bench_options o = {0};
    const char *isa = NULL;
    const stk__flag flags[] = {
        {.name = "rounds", .value = "N", .help = "interleaved rounds (7)", .number = &o.rounds},
        {.name = "quick",
         .help = "three rounds, smaller batches, no compiled peers, under 45 s (unless --rounds is given)",
         .given = &o.quick},
        {.name = "isa",
         .value = "avx2",
         .help = "cap both sides to these instructions; without it, capped rows are extra ones where the CPU "
                 "has AVX-512",
         .text = &isa},
        {.name = "engine",
         .value = "torch",
         .help = "compare the engine torch with eager PyTorch, with goals of its own: full and small batches",
         .text = &o.engine},
        {.name = "peers",
         .value = "PYTHON",
         .help = "interpreter that has PyTorch (bench/peers/setup makes one)",
         .text = &o.python},
        {.name = "goals", .help = goals_help, .given = &show_goals},
        {.name = "json", .help = "print the report as JSON on standard output", .given = &stk__cli_json},
    };
    stk__arguments arguments = {
        .verb = verb, .flags = flags, .flag_count = sizeof flags / sizeof flags[0], .most_words = 4};
    int code = stk__arguments_read(&arguments, argc, argv);
    if (code >= 0) return code;
    o.timed = o.quick && o.rounds == 0;
    if (o.rounds == 0) o.rounds = o.quick ? QUICK_ROUNDS : ROUNDS;
    o.capped = isa;
    o.cases = arguments.words;
    o.case_count = arguments.word_count;
    code = check_train(&o, isa);
    return code >= 0 ? code : run_and_print(stk__bench_train, &o);
}

static int run_python(const stk__verb *verb, int argc, char **argv)
{
    enum { ROUNDS = 7, QUICK_ROUNDS = 2, QUICK_SAMPLES = 8 };
    stk__bench_options o = {0};
    const stk__flag flags[] = {
        {.name = "rounds", .value = "N", .help = "interleaved rounds (7)", .number = &o.rounds},
        {.name = "quick", .help = "two rounds, 64 faces, eight in the batch", .given = &o.quick},
        {.name = "peers",
         .value = "PYTHON",
         .help =
             "interpreter that has PyTorch and the other libraries (bench/peers/setup makes one); without it "
             "python3, with NumPy",
         .text = &o.python},
        {.name = "goals", .help = goals_help, .given = &show_goals},
        {.name = "json", .help = "print the report as JSON on standard output", .given = &stk__cli_json},
    };
    stk__arguments arguments = {
        .verb = verb, .flags = flags, .flag_count = sizeof flags / sizeof flags[0], .most_words = 1};
    const int code = stk__arguments_read(&arguments, argc, argv);
    if (code >= 0) return code;
    if (o.rounds == 0) o.rounds = o.quick ? QUICK_ROUNDS : ROUNDS;
    if (o.rounds < 1 || o.rounds > STK_BENCH_ROUNDS)
        return stk__cli_usage("bench python", "--rounds must be from 1 to %d", STK_BENCH_ROUNDS);
    o.folder = arguments.words[0];
    o.samples = o.quick ? QUICK_SAMPLES : STK_BENCH_SAMPLES;
    return run_and_print(stk__bench_python, &o);
}

/* --- worker processes, not for people ----------------------------------------------------------------------
 */

static int run_load_worker(int argc, char **argv)
{
    const bool fast = argc == 3 && strcmp(argv[2], "fast") == 0;
    if (argc != 2 && !fast) return stk__cli_usage("bench load-worker", "expected a folder or shards");
    stk__load_worker(argv[1], fast);
    return STK_EXIT_GOOD;
}

static int run_train_worker(int argc, char **argv)
{
    if (argc != 2 && argc != 3)
        return stk__cli_usage("bench train-worker", "expected the folder of a train case");
    stk__train_worker(argv[1], argv[2]);
    return STK_EXIT_GOOD;
}

/* --- the verb ----------------------------------------------------------------------------------------------
 */

static const stk__verb load_verb = {
    .name = "bench load",
    .usage = "bench load [DIR]",
    .about = "Load files into batches, against a baseline and other libraries.",
    .examples = {{"stoker bench load --quick", "160 generated faces, three rounds"},
                 {"stoker bench load faces --rounds 7 --json", "your own files, as JSON"}},
    .run = run_load};

static const stk__verb augment_verb = {
    .name = "bench augment",
    .usage = "bench augment [DIR]",
    .about = "Augment a batch of images and masks, against other libraries.",
    .examples = {{"stoker bench augment --quick", "three rounds of eight faces"},
                 {"stoker bench augment faces --rounds 7 --json",
                  "your own images, resized to 512 x 512, as JSON"}},
    .run = run_augment};

static const stk__verb train_verb = {
    .name = "bench train",
    .usage = "bench train [unet|locator|resnet|lstm|files …]",
    .about = "Train four networks, and from files, against PyTorch.",
    .examples = {{"stoker bench train --quick", "all cases, three rounds at most"},
                 {"stoker bench train unet lstm --rounds 3 --json", "two networks, as JSON"}},
    .run = run_train};

static const stk__verb python_verb = {
    .name = "bench python",
    .usage = "bench python [DIR]",
    .about = "The Python module, against the C library and DataLoaders.",
    .examples = {{"stoker bench python --quick", "two rounds of 64 faces, with python3"},
                 {"stoker bench python faces --peers PYTHON --json", "your own images and masks, as JSON"}},
    .run = run_python};

static const stk__verb *const parts[] = {&load_verb, &augment_verb, &train_verb, &python_verb, NULL};

static void print_parts(FILE *file)
{
    fprintf(file, "\nBenchmarks\n");
    for (size_t i = 0; parts[i]; i++)
        fprintf(file, "  %-9s %s\n", strchr(parts[i]->name, ' ') + 1, parts[i]->about);
    fprintf(file, "\nOptions of one: stoker help bench load\n");
}

static int run_verb(const stk__verb *verb, int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    if (strcmp(name, "load-worker") == 0) return run_load_worker(argc - 1, argv + 1);
    if (strcmp(name, "train-worker") == 0) return run_train_worker(argc - 1, argv + 1);
    for (size_t i = 0; parts[i]; i++)
        if (strcmp(name, strchr(parts[i]->name, ' ') + 1) == 0)
            return parts[i]->run(parts[i], argc - 1, argv + 1);
    stk__arguments arguments = {.verb = verb, .more_help = print_parts, .most_words = 4};
    const int code = stk__arguments_read(&arguments, argc, argv);
    if (code >= 0) return code;
    if (!arguments.word_count)
        return stk__cli_usage("bench", "name a benchmark: load, augment, train, python");
    return stk__cli_usage("bench", "there is no benchmark '%s'", arguments.words[0]);
}

const stk__verb stk__verb_bench = {.name = "bench",
                                   .usage = "bench load|augment|train|python [OPTION …]",
                                   .about = "Benchmark Stoker against baseline loops and other libraries.",
                                   .examples = {{"stoker bench load --quick", "the data loader"},
                                                {"stoker bench augment --quick", "augmentation"},
                                                {"stoker bench train --quick", "training steps"}},
                                   .parts = parts,
                                   .run = run_verb};
