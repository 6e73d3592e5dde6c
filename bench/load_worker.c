/* SPDX-License-Identifier: Apache-2.0 */
/* `stoker bench load-worker ROOT [fast]`: ourselves as a contestant of the load race, in a process of its
 * own. Requests on standard input, a line each, `check`, `round` or `first` and a case, are answered on
 * standard output as bench/peers/serve.py answers them. Not for people. */
#include "benchmark.h"
#include "timed_loader.h"

#include "core/clock.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { BATCH = 32 };

typedef struct load_worker {
    const char *root;
    char images[PATH_MAX]; /* without the masks */
    stk_jpeg jpeg;
} load_worker;

static stk_loader_options make_options(const load_worker *w, const char *case_word)
{
    return (stk_loader_options){.root = strcmp(case_word, "jpeg") == 0 ? w->images : w->root,
                                .batch_size = BATCH,
                                .jpeg = w->jpeg,
                                .epochs = 1,
                                .dedicated_cpus = true};
}

/* Open to first batch; what was read ahead is thrown away. */
static stk_status measure_first(const stk_loader_options *options, double *ms, stk_error *error)
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
static stk_status measure_epoch(const stk_loader_options *options, double *ms, stk_error *error)
{
    stk__loader_cost cost;
    STK__TRY(stk__timed_loader_run(options, NULL, &cost, error));
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
static stk_status check_pixels(const stk_loader_options *options, double *difference, stk_error *error)
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

static stk_status answer(const load_worker *w, const char *word, const char *case_word, stk_error *error)
{
    const stk_loader_options options = make_options(w, case_word);
    double found = 0;
    if (strcmp(word, "first") == 0)
        STK__TRY(measure_first(&options, &found, error));
    else if (strcmp(word, "check") == 0)
        STK__TRY(check_pixels(&options, &found, error));
    else if (strcmp(word, "round") == 0)
        STK__TRY(measure_epoch(&options, &found, error));
    else
        return stk__fail(error, STK_ERROR_ARGUMENT, "unknown request '%s'", word);
    printf(strcmp(word, "check") == 0 ? "difference %.6g\n" : "ms %.4f\n", found);
    return STK_OK;
}

void stk__load_worker(const char *root, bool fast)
{
    load_worker w = {.root = root, .jpeg = fast ? STK_JPEG_FAST : STK_JPEG_EXACT};
    snprintf(w.images, sizeof w.images, "%s/images", root);
    if (access(w.images, F_OK) != 0) snprintf(w.images, sizeof w.images, "%s", root);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("ready stoker " STK_VERSION "\n");
    char line[96], word[16], case_word[32];
    while (fgets(line, sizeof line, stdin)) {
        stk_error error;
        if (sscanf(line, "%15s %31s", word, case_word) != 2) continue;
        if (answer(&w, word, case_word, &error) != STK_OK) printf("absent %.180s\n", error.message);
    }
}
