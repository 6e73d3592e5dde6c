#include "load_worker.h"

#include "timed_loader.h"
#include "cli.h"

#include "core/clock.h"

#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { BATCH = 32 };

typedef struct turns {
    const char *root;
    char images[PATH_MAX]; /* without the masks */
    stk_jpeg jpeg;
} turns;

static stk_loader_options make_options(const turns *t, const char *case_word)
{
    return (stk_loader_options){.root = strcmp(case_word, "jpeg") == 0 ? t->images : t->root,
                                .batch_size = BATCH,
                                .jpeg = t->jpeg,
                                .epochs = 1,
                                .alone = true};
}

/* Open to first batch; what was read ahead is thrown away. */
static stk_status take_first(const stk_loader_options *options, double *ms, stk_error *error)
{
    stk_loader *loader;
    stk_batch *batch;
    const uint64_t start = stk__clock_ns();
    STK__TRY(stk_loader_open(&loader, options, error));
    const stk_status status = stk_loader_next(loader, &batch, error);
    *ms = (double)(stk__clock_ns() - start) * 1e-6;
    if (status == STK_OK) stk_batch_release(batch);
    stk_loader_close(&loader);
    return status;
}

/* An epoch, opening included: we keep nothing from one to the next, where others do. */
static stk_status take_epoch(const stk_loader_options *options, double *ms, stk_error *error)
{
    stk__bench_cost cost;
    STK__TRY(stk__bench_drain(options, NULL, &cost, error));
    *ms = cost.wall_s * 1000;
    return STK_OK;
}

static double mean_difference(const stk_tensor *a, const stk_tensor *b)
{
    const uint8_t *left = a->data, *right = b->data;
    const int64_t size = stk_tensor_bytes(a);
    uint64_t sum = 0;
    for (int64_t i = 0; i < size; i++)
        sum += (uint64_t)abs(left[i] - right[i]);
    return (double)sum / (double)size;
}

/* Both in the same order. */
static stk_status compare(stk_loader *ours, stk_loader *exact, double *difference, stk_error *error)
{
    int64_t count = 0;
    double sum = 0;
    stk_status status;
    for (stk_batch *a, *b; (status = stk_loader_next(ours, &a, error)) == STK_OK;) {
        status = stk_loader_next(exact, &b, error);
        if (status == STK_OK) {
            sum += mean_difference(&a->images, &b->images) * (double)a->count;
            count += a->count;
            stk_batch_release(b);
        }
        stk_batch_release(a);
        if (status != STK_OK) return status;
    }
    *difference = sum / (double)count;
    return status == STK_END ? STK_OK : status;
}

/* How far our pixels are from those decoded exactly: others are compared with these. */
static stk_status take_check(const stk_loader_options *options, double *difference, stk_error *error)
{
    stk_loader *ours, *exact;
    stk_loader_options plain = *options;
    plain.jpeg = STK_JPEG_EXACT;
    STK__TRY(stk_loader_open(&ours, options, error));
    stk_status status = stk_loader_open(&exact, &plain, error);
    if (status == STK_OK) {
        status = compare(ours, exact, difference, error);
        stk_loader_close(&exact);
    }
    stk_loader_close(&ours);
    return status;
}

static stk_status take_turn(const turns *t, const char *word, const char *case_word, stk_error *error)
{
    const stk_loader_options options = make_options(t, case_word);
    double found = 0;
    if (strcmp(word, "first") == 0)
        STK__TRY(take_first(&options, &found, error));
    else if (strcmp(word, "check") == 0)
        STK__TRY(take_check(&options, &found, error));
    else if (strcmp(word, "round") == 0)
        STK__TRY(take_epoch(&options, &found, error));
    else
        return stk__fail(error, STK_ERROR_ARGUMENT, "'%s' is no turn", word);
    printf(strcmp(word, "check") == 0 ? "difference %.6g\n" : "ms %.4f\n", found);
    return STK_OK;
}

int stk__bench_turns(int argc, char **argv)
{
    const bool fast = argc == 3 && strcmp(argv[2], "fast") == 0;
    if (argc != 2 && !fast) return stk__cli_usage("bench load-turns", "it takes a folder or shards");
    turns t = {.root = argv[1], .jpeg = fast ? STK_JPEG_FAST : STK_JPEG_EXACT};
    snprintf(t.images, sizeof t.images, "%s/images", t.root);
    if (access(t.images, F_OK) != 0) snprintf(t.images, sizeof t.images, "%s", t.root);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("ready stoker " STK_VERSION "\n");
    char line[96], word[16], case_word[32];
    while (fgets(line, sizeof line, stdin)) {
        stk_error error;
        if (sscanf(line, "%15s %31s", word, case_word) != 2) continue;
        if (take_turn(&t, word, case_word, &error) != STK_OK) printf("absent %.180s\n", error.message);
    }
    return STK_EXIT_GOOD;
}
