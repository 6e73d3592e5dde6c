#include "cli.h"
#include "device/opencl/opencl_probe.h"

#include "core/nearest.h"

#include <string.h>

static const stk__verb verbs[] = {
    {"make", "make faces|captcha|gray|series DIR", "Makes a data set to try things on.", stk__cli_make},
    {"load", "load CONFIG|DIR [key=value …]",
     "Runs the loader alone: how fast do batches come, and what does it cost?", stk__cli_load},
    {"augment", "augment CONFIG|DIR --sheet FILE.png | --explain ID",
     "Shows what augmentation does: as a picture, or in numbers.", stk__cli_augment},
    {"stats", "stats CONFIG|DIR [key=value …]",
     "Looks at a data set: mean and std, class shares and weights, sizes, damage.", stk__cli_stats},
    {"pack", "pack DIR OUT [key=value …]",
     "Turns a data set into shards: a few large files that are quick to read and to decode.", stk__cli_pack},
    {"train", "train [CONFIG|DIR] [key=value …]",
     "Trains a network on it: unet, locator, resnet, lstm or your own.", stk__cli_train},
    {"eval", "eval RUN", "Evaluates the best checkpoint of a run.", stk__cli_eval},
    {"predict", "predict RUN FILES…", "Says what the network of a run makes of images or series.",
     stk__cli_predict},
    {"report", "report RUN [--output FILE]", "Writes report.html of a run again.", stk__cli_report},
    {"monitor", "monitor [--interval S --duration S] [-- CMD …]",
     "Watches GPUs and says how well they are used, and what holds them up.", stk__cli_monitor},
    {"devices", "devices [--check | --selftest]",
     "Lists what could augment batches here, and why something could not.", stk__cli_devices},
    {"bench", "bench load|augment|train", "Measures Stoker beside a baseline and other libraries.",
     stk__cli_bench},
};

static void print_overview(FILE *file)
{
    fprintf(file, "stoker %s keeps accelerators fed\n\n", stk_version());
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++)
        fprintf(file, "  stoker %s\n      %s\n", verbs[i].usage, verbs[i].about);
    fprintf(file, "\n  stoker VERB --help explains a verb and all its settings; stoker --version\n");
}

static int refuse_verb(const char *word)
{
    stk__nearest nearest = {.word = word};
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++)
        stk__nearest_offer(&nearest, verbs[i].name);
    return stk__cli_no_such("", "verb", word, nearest.best);
}

static int run_verb(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
    if (strcmp(word, "--version") == 0) {
        printf("stoker %s\n", stk_version());
        return STK_EXIT_GOOD;
    }
    if (strcmp(word, "--complete") == 0) {
        for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++)
            printf("%s\n", verbs[i].name);
        printf("--help\n--version\n");
        return STK_EXIT_GOOD;
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
        print_overview(stdout);
        return STK_EXIT_GOOD;
    }
    if (!*word) {
        print_overview(stderr);
        return STK_EXIT_USAGE;
    }
    stk_error error;
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        if (strcmp(word, verbs[i].name) != 0) continue;
        stk__cli_give_pocl_cache(); /* before there are threads: it may change the environment */
        if (stk__interrupt_start(&error) != STK_OK) return stk__cli_fail(&error);
        return verbs[i].run(argc - 1, argv + 1);
    }
    return refuse_verb(word);
}

int main(int argc, char **argv)
{
    stk__opencl_probe_start(argc, argv);
    const int code = run_verb(argc, argv);
    const bool written = fflush(stdout) == 0 && !ferror(stdout);
    if (written || code != STK_EXIT_GOOD) return code;
    fprintf(stderr, "stoker: cannot write to standard output\n");
    return STK_EXIT_FAILED;
}
