#include "train_worker.h"

#include "train_case.h"
#include "bench_torch_share.h"

#include "core/clock.h"

#include <signal.h>
#include <string.h>
#include <sys/prctl.h>

enum { TURN_MS = 200, SHARE_S = 1 }; /* as in bench/peers/train_turns.py */

static stk_status take_check(stk__lesson_run *run, stk_error *error)
{
    double loss;
    STK__TRY(stk__lesson_step(run, error));
    STK__TRY(stk__lesson_loss(run, &loss, error));
    printf("loss %.9g\n", loss);
    return STK_OK;
}

static stk_status take_round(stk__lesson_run *run, stk_error *error)
{
    const uint64_t start = stk__clock_ns();
    double took_ms = 0, loss;
    for (int count = 1; took_ms < TURN_MS; count++) {
        STK__TRY(stk__lesson_step(run, error));
        took_ms = (double)(stk__clock_ns() - start) * 1e-6;
        if (took_ms < TURN_MS) continue;
        STK__TRY(stk__lesson_loss(run, &loss, error)); /* waits for what may still be computed */
        printf("ms %.4f %d\n", (double)(stk__clock_ns() - start) * 1e-6 / count, count);
    }
    return STK_OK;
}

static stk_status take_share(stk__lesson_run *run, stk_error *error)
{
    stk__torch_share share;
    const uint64_t start = stk__clock_ns();
    STK__TRY(stk__torch_share_begin(&share, error));
    while (stk__clock_ns() - start < SHARE_S * STK_SECOND_NS)
        STK__TRY(stk__lesson_step(run, error));
    printf("share %.6f\n", stk__torch_share_end(&share));
    return STK_OK;
}

static stk_status take_turn(stk__lesson_run *run, const char *word, stk_error *error)
{
    if (strcmp(word, "check") == 0) return take_check(run, error);
    if (strcmp(word, "round") == 0) return take_round(run, error);
    if (strcmp(word, "share") == 0) return take_share(run, error);
    return stk__fail(error, STK_ERROR_ARGUMENT, "'%s' is no turn", word);
}

static void answer(stk__lesson_run *run)
{
    char line[96], word[16];
    const stk__engine_info *engine = stk__trainer_describe(run->trainer)->engine;
    printf("ready stoker " STK_VERSION ", %s %s, %d threads\n", engine->name, engine->version,
           engine->threads);
    while (fgets(line, sizeof line, stdin)) {
        stk_error error;
        if (sscanf(line, "%15s", word) != 1) continue;
        if (take_turn(run, word, &error) != STK_OK) printf("absent %.180s\n", error.message);
    }
}

int stk__bench_train_turns(int argc, char **argv)
{
    if (argc != 2 && argc != 3) return stk__cli_usage("bench train-turns", "it takes the folder of a lesson");
    stk__lesson_run run;
    stk_error error;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (stk__lesson_open(&run, argv[1], argv[2], &error) == STK_OK)
        answer(&run);
    else
        printf("absent %.180s\n", error.message);
    stk__lesson_close(&run);
    return STK_EXIT_GOOD;
}
