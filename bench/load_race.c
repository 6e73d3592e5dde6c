/* SPDX-License-Identifier: Apache-2.0 */
/* The load race. In each case (JPEG; JPEG and PNG mask; progressive JPEG) every contestant loads the files
 * once to have its pixels checked, once to have its memory watched, then rounds are interleaved, and at last
 * loaders are opened anew to time their first batch. Requests: bench/peers/load_worker.py, load_worker.c. */
#include "load_race.h"

#include "core/clock.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { FIRSTS = 5, SLOW_START_S = 600, ANSWER_S = 180, QUICK_ANSWER_S = 15, WEIGH_MOST_S = 60 };

typedef struct race_case {
    stk__load_files files;
    const char *word;  /* as processes know it: "jpeg", "pairs" */
    const char *title; /* "JPEG to uint8 batches" */
    uint64_t samples;
    int64_t rounds, firsts;
} race_case;

/* --- turns -------------------------------------------------------------------------------------------------
 */

static void settle(void)
{
    usleep(20000); /* threads of other libraries spin for a moment before they sleep */
}

static bool ask_number(stk__contestant *c, const char *request, const race_case *what, const char *word,
                       double *value)
{
    char line[48], answer[STK_WORKER_ANSWER];
    snprintf(line, sizeof line, "%s %s", request, what->word);
    if (!stk__contestant_ask(c, line, word, answer)) return false;
    *value = strtod(answer, NULL);
    settle();
    return true;
}

/* Every sample once, and the right pixels. Converts first what has to be converted. */
static void check_pixels(stk__contestant *c, const race_case *what)
{
    double difference;
    if (!ask_number(c, "check", what, "difference", &difference)) return;
    if (!c->ours || c->kind == STK_LOAD_COARSE) c->rows->difference = difference;
}

static void measure_memory(stk__contestant *c, const race_case *what)
{
    char line[48];
    snprintf(line, sizeof line, "round %s", what->word);
    stk__contestant_weigh(c, line, WEIGH_MOST_S);
    settle();
}

static void measure_epoch(stk__contestant *c, const race_case *what)
{
    double ms;
    const double before = stk__worker_process_cpu_seconds(c->process);
    if (!ask_number(c, "round", what, "ms", &ms)) return;
    const double cpu_s = stk__worker_process_cpu_seconds(c->process) - before;
    stk__bench_add(&c->rows[STK_COLUMN_VALUE], (double)what->samples * 1000 / ms);
    stk__bench_add(&c->rows[STK_COLUMN_CPU], 1000 * cpu_s / (double)what->samples);
}

static void measure_first(stk__contestant *c, const race_case *what)
{
    double ms;
    if (ask_number(c, "first", what, "ms", &ms)) stk__bench_add(&c->rows[STK_COLUMN_FIRST], ms);
}

typedef void (*take_turn)(stk__contestant *c, const race_case *what);

/* Everybody has a turn. */
static stk_status ask_all(stk__load_race *race, const race_case *what, take_turn take, stk_error *error)
{
    const stk__bench_host *host = race->options->host;
    for (int i = 0; i < race->count; i++) {
        stk__contestant *c = &race->contestants[i];
        STK__TRY(stk__bench_check_stop(host, error));
        snprintf(race->progress.note, sizeof race->progress.note, ", %s", c->name);
        host->show(&race->progress, "load race", race->turns_done++, race->turns);
        if (race->until_ns && stk__clock_ns() > race->until_ns && !c->ours)
            stk__contestant_dismiss(c, "no time left in a quick run");
        else
            take(c, what);
    }
    return STK_OK;
}

static stk_status run_rounds(stk__load_race *race, const race_case *what, uint64_t until_ns, stk_error *error)
{
    uint64_t took_ns = 0;
    for (int64_t round = 0; round < what->rounds; round++) {
        const uint64_t start = stk__clock_ns();
        if (until_ns && round > 0 && start + took_ns > until_ns) break;
        STK__TRY(ask_all(race, what, measure_epoch, error));
        took_ns = stk__clock_ns() - start;
    }
    return STK_OK;
}

static stk_status run_turns(stk__load_race *race, const race_case *what, uint64_t until_ns, stk_error *error)
{
    STK__TRY(ask_all(race, what, check_pixels, error));
    STK__TRY(ask_all(race, what, measure_memory, error));
    STK__TRY(run_rounds(race, what, until_ns, error));
    for (int64_t i = 0; i < what->firsts; i++)
        STK__TRY(ask_all(race, what, measure_first, error));
    return STK_OK;
}

/* --- goals -------------------------------------------------------------------------------------------------
 */

/* The highest rate among those of these kinds; NAN: nobody. */
static double best_rate(const stk__load_race *race, unsigned kinds)
{
    double best = NAN;
    for (int i = 0; i < race->count; i++)
        if (kinds & 1u << race->contestants[i].kind) /* fmax of a number and NAN: the number */
            best = fmax(best, stk__contestant_median(&race->contestants[i], STK_COLUMN_VALUE));
    return best;
}

static void judge_case(stk__load_race *race, const race_case *what)
{
    enum {
        OURS = 1u << STK_LOAD_OURS,
        COARSE = 1u << STK_LOAD_COARSE,
        PACKED = 1u << STK_LOAD_PACKED,
        DATALOADER = 1u << STK_LOAD_DATALOADER,
        OTHER = 1u << STK_LOAD_OTHER,
        CONVERTED = 1u << STK_LOAD_CONVERTED
    };
    static const struct {
        stk__load_files files;
        unsigned ours, others;
        const char *name;
        double goal;
    } ratios[] = {
        {STK_LOAD_JPEG, OURS, DATALOADER, "JPEG: rate / best DataLoader", 1.8},
        {STK_LOAD_JPEG, OURS, OTHER | CONVERTED, "JPEG: rate / best of FFCV, SPDL, TurboLoader, DALI", 1.2},
        {STK_LOAD_JPEG, COARSE, OTHER | CONVERTED, "JPEG, coarser as FFCV: rate / best of the same", 1.2},
        {STK_LOAD_PAIRS, OURS, DATALOADER | OTHER, "image + mask: rate / best peer that reads the same files",
         2},
        {STK_LOAD_PAIRS, OURS, CONVERTED, "image + mask: rate / FFCV with raw masks", 1.3},
        {STK_LOAD_PAIRS, COARSE, CONVERTED, "image + mask, coarser as FFCV: rate / FFCV with raw masks", 1.3},
        {STK_LOAD_PAIRS, PACKED, OURS, "image + mask: packed shards / folder", 1},
        {STK_LOAD_PROGRESSIVE, PACKED, OURS, "progressive JPEG: packed / as they are", 2.3},
    };
    for (size_t i = 0; i < sizeof ratios / sizeof ratios[0]; i++)
        if (ratios[i].files == what->files)
            stk__bench_judge(race->bench, ratios[i].name,
                             best_rate(race, ratios[i].ours) / best_rate(race, ratios[i].others), true,
                             ratios[i].goal);
}

/* --- a case, and all of them -------------------------------------------------------------------------------
 */

static int seconds_left(const stk__load_race *race)
{
    const uint64_t now = stk__clock_ns();
    return race->until_ns > now ? (int)((race->until_ns - now) / STK_SECOND_NS) + 1 : 1;
}

/* All load their libraries at once. */
static void await_all(stk__load_race *race)
{
    const bool quick = race->options->quick;
    for (int i = 0; i < race->count; i++) {
        stk__worker_process *process = &race->processes[i];
        process->answer_s = quick ? seconds_left(race) : SLOW_START_S;
        stk__worker_process_await(process);
        process->answer_s = quick ? QUICK_ANSWER_S : ANSWER_S;
    }
}

static void enter_all(stk__load_race *race, const race_case *what)
{
    static const char *const units[STK_COLUMNS] = {"samples/s", "CPU-s/1000", "MB", "ms to first batch"};
    for (int i = 0; i < race->count; i++) {
        stk__contestant_enter(&race->contestants[i], race->bench, what->title, units);
        stk__contestant_tell_versions(&race->contestants[i]);
    }
}

static void stop_all(stk__load_race *race)
{
    for (int i = 0; i < race->count; i++)
        stk__worker_process_stop(&race->processes[i]);
    race->count = 0;
}

/* until_ns: 0, or when a quick race goes on to the next case. */
static stk_status run_case(stk__load_race *race, const race_case *what, uint64_t until_ns, stk_error *error)
{
    STK__TRY(stk__load_contestants_start(race, what->files, error));
    await_all(race);
    enter_all(race, what);
    race->turns_done = 0;
    race->turns = (uint64_t)race->count * (uint64_t)(2 + what->firsts + what->rounds);
    race->progress.start_ns = stk__clock_ns();
    const stk_status status = run_turns(race, what, until_ns, error);
    race->options->host->hide();
    if (status == STK_OK) judge_case(race, what);
    stop_all(race);
    return status;
}

stk_status stk__load_race_run(stk__load_race *race, stk_error *error)
{
    const uint64_t samples = race->source->info.count, few = stk__load_progressive_count(race);
    const int64_t rounds = race->options->rounds, firsts = race->options->quick ? 1 : FIRSTS;
    const race_case cases[] = {
        {STK_LOAD_JPEG, "jpeg", "JPEG to uint8 batches", samples, rounds, firsts},
        {STK_LOAD_PAIRS, "pairs", "JPEG + PNG mask to uint8 batches", samples, rounds, firsts},
        {STK_LOAD_PROGRESSIVE, "jpeg", "progressive JPEG to uint8 batches", few, rounds, firsts}};
    const uint64_t now = stk__clock_ns();
    const uint64_t half_ns = race->until_ns > now ? now + (race->until_ns - now) / 2 : race->until_ns;
    STK__TRY(stk__bench_folder_make(&race->scratch, error));
    for (int i = 0; i < 3; i++)
        STK__TRY(run_case(race, &cases[i], i == 0 ? half_ns : race->until_ns, error));
    return STK_OK;
}

void stk__load_race_abandon(const stk__load_race *race)
{
    for (int i = 0; i < race->count; i++)
        stk__worker_process_kill(&race->processes[i]);
    stk__bench_data_remove(&race->scratch);
}

void stk__load_race_close(stk__load_race *race)
{
    stop_all(race);
    stk__bench_data_close(&race->scratch);
}
