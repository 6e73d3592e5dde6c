#include "load_race.h"

#include "core/clock.h"

#include <math.h>
#include <signal.h>

enum { FIRSTS = 5, SLOW_START_S = 600, ANSWER_S = 180, QUICK_ANSWER_S = 15 };

static int seconds_left(const stk__race *race)
{
    const uint64_t now = stk__clock_ns();
    return race->until_ns > now ? (int)((race->until_ns - now) / STK_SECOND_NS) + 1 : 1;
}

/* All load their libraries at once. */
static void await_all(stk__race *race)
{
    for (int i = 0; i < race->count; i++) {
        stk__peer *peer = &race->rivals[i].peer;
        peer->answer_s = race->quick ? seconds_left(race) : SLOW_START_S;
        stk__peer_await(peer);
        peer->answer_s = race->quick ? QUICK_ANSWER_S : ANSWER_S;
    }
}

typedef void (*ask_rival)(stk__rival *rival, const stk__rival_case *what);

/* Everybody has a turn. */
static stk_status ask_all(stk__race *race, const stk__rival_case *what, ask_rival ask, stk_error *error)
{
    for (int i = 0; i < race->count; i++) {
        stk__rival *rival = &race->rivals[i];
        if (atomic_load(stk__interrupt_flag())) return stk__fail(error, STK_ERROR_INTERRUPTED, "interrupted");
        snprintf(race->progress.note, sizeof race->progress.note, ", %s", rival->contestant);
        stk__progress_show(&race->progress, "racing", race->turns_done++, race->turns);
        if (race->until_ns && stk__clock_ns() > race->until_ns && !rival->rows->ours)
            stk__rival_dismiss(rival, "no time left in a quick run");
        else
            ask(rival, what);
    }
    return STK_OK;
}

static stk_status run_rounds(stk__race *race, const stk__rival_case *what, uint64_t until_ns,
                             stk_error *error)
{
    uint64_t took_ns = 0;
    for (int64_t round = 0; round < what->rounds; round++) {
        const uint64_t start = stk__clock_ns();
        if (until_ns && round > 0 && start + took_ns > until_ns) break;
        STK__TRY(ask_all(race, what, stk__rival_run, error));
        took_ns = stk__clock_ns() - start;
    }
    return STK_OK;
}

/* until_ns: 0, or when a quick race goes on to the next case. */
static stk_status run_case(stk__race *race, const stk__rival_case *what, uint64_t until_ns, stk_error *error)
{
    STK__TRY(ask_all(race, what, stk__rival_check, error)); /* converts first what has to be converted */
    STK__TRY(ask_all(race, what, stk__rival_weigh, error));
    STK__TRY(run_rounds(race, what, until_ns, error));
    for (int64_t i = 0; i < what->firsts; i++)
        STK__TRY(ask_all(race, what, stk__rival_first, error));
    return STK_OK;
}

/* The highest rate among those of these kinds; NAN: nobody. */
static double best_rate(const stk__race *race, unsigned kinds)
{
    double best = NAN;
    for (int i = 0; i < race->count; i++) {
        const stk__rival *rival = &race->rivals[i];
        if (kinds & 1u << rival->kind) /* fmax of a number and NAN: the number */
            best = fmax(best, stk__bench_median(&rival->rows[STK_METRIC_RATE]));
    }
    return best;
}

static void judge_case(stk__race *race, const stk__rival_case *what)
{
    enum {
        OURS = 1u << STK_RIVAL_OURS,
        COARSE = 1u << STK_RIVAL_COARSE,
        PACKED = 1u << STK_RIVAL_PACKED,
        DATALOADER = 1u << STK_RIVAL_DATALOADER,
        OTHER = 1u << STK_RIVAL_OTHER,
        CONVERTED = 1u << STK_RIVAL_CONVERTED
    };
    static const struct {
        stk__race_case which;
        unsigned ours, others;
        const char *name;
        double goal;
    } ratios[] = {
        {STK_RACE_JPEG, OURS, DATALOADER, "JPEG: rate / best DataLoader", 1.8},
        {STK_RACE_JPEG, OURS, OTHER | CONVERTED, "JPEG: rate / best of FFCV, SPDL, TurboLoader, DALI", 1.2},
        {STK_RACE_JPEG, COARSE, OTHER | CONVERTED, "JPEG, coarser as FFCV: rate / best of the same", 1.2},
        {STK_RACE_PAIRS, OURS, DATALOADER | OTHER, "image + mask: rate / best peer that reads the same files",
         2},
        {STK_RACE_PAIRS, OURS, CONVERTED, "image + mask: rate / FFCV with raw masks", 1.3},
        {STK_RACE_PAIRS, COARSE, CONVERTED, "image + mask, coarser as FFCV: rate / FFCV with raw masks", 1.3},
        {STK_RACE_PAIRS, PACKED, OURS, "image + mask: packed shards / folder", 1},
        {STK_RACE_PROGRESSIVE, PACKED, OURS, "progressive JPEG: packed / as they are", 2.3},
    };
    for (size_t i = 0; i < sizeof ratios / sizeof ratios[0]; i++)
        if (ratios[i].which == what->which)
            stk__bench_judge(race->bench, ratios[i].name,
                             best_rate(race, ratios[i].ours) / best_rate(race, ratios[i].others), true,
                             ratios[i].goal);
}

static void stop_all(stk__race *race)
{
    for (int i = 0; i < race->count; i++)
        stk__peer_stop(&race->rivals[i].peer);
    race->count = 0;
}

static stk_status race_once(stk__race *race, const stk__rival_case *what, uint64_t until_ns, stk_error *error)
{
    STK__TRY(stk__race_enter(race, what->which, error));
    await_all(race);
    for (int i = 0; i < race->count; i++)
        stk__rival_enter(&race->rivals[i], race->bench, what);
    race->turns_done = 0;
    race->turns = (uint64_t)race->count * (uint64_t)(2 + what->firsts + what->rounds);
    stk__progress_start(&race->progress);
    const stk_status status = run_case(race, what, until_ns, error);
    stk__progress_end(&race->progress);
    if (status == STK_OK) judge_case(race, what);
    stop_all(race);
    return status;
}

stk_status stk__race_run(stk__race *race, stk_error *error)
{
    const uint64_t samples = race->source->info.count;
    const int64_t rounds = race->rounds, firsts = race->quick ? 1 : FIRSTS;
    const stk__rival_case jpeg = {STK_RACE_JPEG, "jpeg", "JPEG to uint8 batches", samples, rounds, firsts};
    const stk__rival_case pairs = {STK_RACE_PAIRS, "pairs", "JPEG + PNG mask to uint8 batches",
                                   samples,        rounds,  firsts};
    const stk__rival_case progressive = {STK_RACE_PROGRESSIVE,
                                         "jpeg",
                                         "progressive JPEG to uint8 batches",
                                         stk__race_progressive_count(race),
                                         rounds,
                                         firsts};
    const uint64_t now = stk__clock_ns();
    const uint64_t half_ns = race->until_ns > now ? now + (race->until_ns - now) / 2 : race->until_ns;
    STK__TRY(stk__bench_folder_make(&race->scratch, error));
    STK__TRY(race_once(race, &jpeg, half_ns, error));
    STK__TRY(race_once(race, &pairs, race->until_ns, error));
    return race_once(race, &progressive, race->until_ns, error);
}

void stk__race_abandon(const stk__race *race)
{
    for (int i = 0; i < race->count; i++)
        if (race->rivals[i].peer.pid) kill(-race->rivals[i].peer.pid, SIGKILL);
    stk__bench_data_remove(&race->scratch);
}

void stk__race_close(stk__race *race)
{
    stop_all(race);
    stk__bench_data_close(&race->scratch);
}
