/* SPDX-License-Identifier: Apache-2.0 */
/* `stoker bench train-worker FOLDER [ENGINE]`: ourselves as a contestant of `stoker bench train`, in a
 * process of its own, at the train case in FOLDER (train_case.h). Answers requests as
 * bench/peers/train_worker.py does, and with the engine torch `share`: how much of a step's CPU time was not
 * spent in PyTorch's operators. Not for people. */
#include "benchmark.h"
#include "train_case.h"

#include "core/clock.h"
#include "engine/torch/torch_api.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

enum { TURN_MS = 200, SHARE_S = 1 }; /* as in bench/peers/train_worker.py */

/* --- our share of CPU time ---------------------------------------------------------------------------------
 */

/* Everything but PyTorch's operators is ours, whose calls go through a clock meanwhile. Copies count as ours,
 * too: whoever calls the operators directly needs none, their results are where they are. */
typedef struct torch_share {
    double thread_s, process_s; /* CPU time at the beginning */
} torch_share;

/* Of the thread that makes the steps; other threads work inside of operators only. */
static stk__torch_api *table;
static int32_t (*dispatch)(const char *name, const char *overload, uint64_t *stack, uint64_t version);
static double inside_s;

static double cpu_seconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int32_t time_call(const char *name, const char *overload, uint64_t *stack, uint64_t version)
{
    const double before_s = cpu_seconds(CLOCK_THREAD_CPUTIME_ID);
    const int32_t result = dispatch(name, overload, stack, version);
    if (strcmp(name, "aten::copy_") != 0) inside_s += cpu_seconds(CLOCK_THREAD_CPUTIME_ID) - before_s;
    return result;
}

static stk_status begin_share(torch_share *share, stk_error *error)
{
    const stk__torch_api *api;
    STK__TRY(stk__torch_api_open(&api, error));
    table = (stk__torch_api *)api; /* every engine of this process looks there */
    dispatch = table->torch_call_dispatcher;
    table->torch_call_dispatcher = time_call;
    inside_s = 0;
    *share = (torch_share){.thread_s = cpu_seconds(CLOCK_THREAD_CPUTIME_ID),
                           .process_s = cpu_seconds(CLOCK_PROCESS_CPUTIME_ID)};
    return STK_OK;
}

static double end_share(const torch_share *share)
{
    const double thread_s = cpu_seconds(CLOCK_THREAD_CPUTIME_ID) - share->thread_s;
    const double process_s = cpu_seconds(CLOCK_PROCESS_CPUTIME_ID) - share->process_s;
    table->torch_call_dispatcher = dispatch;
    return (thread_s - inside_s) / process_s;
}

/* --- requests ----------------------------------------------------------------------------------------------
 */

static stk_status run_first(stk__train_case_run *run, stk_error *error)
{
    double loss;
    STK__TRY(stk__train_case_step(run, error));
    STK__TRY(stk__train_case_loss(run, &loss, error));
    printf("loss %.9g\n", loss);
    return STK_OK;
}

static stk_status run_steps(stk__train_case_run *run, stk_error *error)
{
    const uint64_t start = stk__clock_ns();
    double took_ms = 0, loss;
    for (int count = 1; took_ms < TURN_MS; count++) {
        STK__TRY(stk__train_case_step(run, error));
        took_ms = (double)(stk__clock_ns() - start) * 1e-6;
        if (took_ms < TURN_MS) continue;
        STK__TRY(stk__train_case_loss(run, &loss, error)); /* waits for what may still be computed */
        printf("ms %.4f %d\n", (double)(stk__clock_ns() - start) * 1e-6 / count, count);
    }
    return STK_OK;
}

static stk_status measure_share(stk__train_case_run *run, stk_error *error)
{
    torch_share share;
    const uint64_t start = stk__clock_ns();
    STK__TRY(begin_share(&share, error));
    while (stk__clock_ns() - start < SHARE_S * STK_SECOND_NS)
        STK__TRY(stk__train_case_step(run, error));
    printf("share %.6f\n", end_share(&share));
    return STK_OK;
}

static stk_status answer_one(stk__train_case_run *run, const char *word, stk_error *error)
{
    if (strcmp(word, "check") == 0) return run_first(run, error);
    if (strcmp(word, "round") == 0) return run_steps(run, error);
    if (strcmp(word, "share") == 0) return measure_share(run, error);
    return stk__fail(error, STK_ERROR_ARGUMENT, "unknown request '%s'", word);
}

static void answer_all(stk__train_case_run *run)
{
    char line[96], word[16];
    const stk__engine_info *engine = stk__trainer_describe(run->trainer)->engine;
    printf("ready stoker " STK_VERSION ", %s %s, %d threads\n", engine->name, engine->version,
           engine->threads);
    while (fgets(line, sizeof line, stdin)) {
        stk_error error;
        if (sscanf(line, "%15s", word) != 1) continue;
        if (answer_one(run, word, &error) != STK_OK) printf("absent %.180s\n", error.message);
    }
}

void stk__train_worker(const char *folder, const char *engine)
{
    stk__train_case_run run;
    stk_error error;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (stk__train_case_open(&run, folder, engine, &error) == STK_OK)
        answer_all(&run);
    else
        printf("absent %.180s\n", error.message);
    stk__train_case_close(&run);
}
