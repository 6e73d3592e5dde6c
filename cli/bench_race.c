#include "bench_race.h"

#include "bench_reference.h"

#include "core/clock.h"

#include <limits.h>
#include <math.h>
#include <signal.h>

enum { FIRSTS = 5, SLOW_START_S = 600, ANSWER_S = 180, QUICK_ANSWER_S = 15 };

/* Each with the number of CPUs as threads or workers, or, `spread`, with none, as many, and twice as many.
 * How they are set up stands in their modules. */
static const struct {
    const char *contestant, *module, *how, *setting;
    stk__rival_kind kind;
    bool workers, spread, masks, quick;
} peers[] = {
    {"DataLoader", "load_torch", "torchvision", "torchvision.io", STK_RIVAL_DATALOADER, true, true, true,
     true},
    {"DataLoader", "load_torch", "opencv", "OpenCV", STK_RIVAL_DATALOADER, true, true, true, false},
    {"DataLoader", "load_torch", "pil", "PIL", STK_RIVAL_DATALOADER, true, true, true, false},
    {"WebDataset", "load_webdataset", "shards", "shards, DataLoader", STK_RIVAL_DATALOADER, true, false, true,
     false},
    {"SPDL", "load_spdl", "simplejpeg", "simplejpeg", STK_RIVAL_OTHER, false, false, true, true},
    {"SPDL", "load_spdl", "ffmpeg", "own decoder", STK_RIVAL_OTHER, false, false, true, false},
    {"DALI", "load_dali", "cpu", "CPU", STK_RIVAL_OTHER, false, false, true, true},
    {"TurboLoader", "load_turboloader", "uint8", "tar", STK_RIVAL_OTHER, false, false, false, true},
    {"FFCV", "load_ffcv", "beton", "own file", STK_RIVAL_CONVERTED, false, false, true, true},
};

static stk__rival *add_rival(stk__race *race, const char *contestant, stk__rival_kind kind)
{
    stk__rival *rival = &race->rivals[race->count++];
    *rival = (stk__rival){.contestant = contestant, .kind = kind, .masks = true};
    return rival;
}

static void add_ours(stk__race *race)
{
    stk__rival *rival = add_rival(race, "stoker", STK_RIVAL_OURS);
    snprintf(rival->setting, sizeof rival->setting, "folder, auto");
    stk__peer_spawn(&rival->peer,
                    (char *const[]){"/proc/self/exe", "bench", "load-turns", (char *)race->data, NULL});
}

static void add_peer(stk__race *race, size_t which, int workers, const stk__reference *reference)
{
    stk__rival *rival = add_rival(race, peers[which].contestant, peers[which].kind);
    char how[32];
    snprintf(how, sizeof how, peers[which].workers ? "%s:%d" : "%s", peers[which].how, workers);
    snprintf(rival->setting, sizeof rival->setting, "%s, %d %s", peers[which].setting, workers,
             peers[which].workers ? "workers" : "threads");
    rival->masks = peers[which].masks;
    stk__peer_start(&rival->peer, &(stk__peer_options){.python = race->python,
                                                       .folder = race->scratch.folder,
                                                       .module = peers[which].module,
                                                       .how = how,
                                                       .data = race->data,
                                                       .count = reference->count,
                                                       .h = reference->h,
                                                       .w = reference->w,
                                                       .cpus = race->cpus});
}

static stk_status add_peers(stk__race *race, stk_error *error)
{
    stk__reference reference;
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/reference.u8", race->scratch.folder);
    STK__TRY(stk__reference_write(race->data, path, &reference, error));
    STK__TRY(stk__peer_write_texts(race->scratch.folder, error));
    for (size_t i = 0; i < sizeof peers / sizeof peers[0]; i++) {
        if (race->quick && !peers[i].quick) continue;
        const bool spread = peers[i].spread && !race->quick;
        for (int times = spread ? 0 : 1; times <= (spread ? 2 : 1); times++)
            add_peer(race, i, times * race->cpus, &reference);
    }
    return STK_OK;
}

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
        if (atomic_load(stk__interrupt_flag())) return stk__fail(error, STK_ERROR_INTERRUPTED, "interrupted");
        ask(&race->rivals[i], what);
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
    for (int i = 0; i < race->count; i++)
        if (race->rivals[i].masks || !what->masks) stk__rival_enter(&race->rivals[i], race->bench, what);
    STK__TRY(ask_all(race, what, stk__rival_check, error)); /* converts first what has to be converted */
    for (int64_t i = 0; i < what->firsts; i++)
        STK__TRY(ask_all(race, what, stk__rival_first, error));
    STK__TRY(ask_all(race, what, stk__rival_weigh, error));
    return run_rounds(race, what, until_ns, error);
}

/* The highest rate among those of these kinds; NAN: nobody. */
static double best_rate(const stk__race *race, unsigned kinds)
{
    double best = NAN;
    for (int i = 0; i < race->count; i++) {
        const stk__rival *rival = &race->rivals[i];
        if (rival->rows && (kinds & 1u << rival->kind))
            best = fmax(
                best, stk__bench_median(&rival->rows[STK_METRIC_RATE])); /* of a number and NAN: the number */
    }
    return best;
}

static void judge_case(stk__race *race, const stk__rival_case *what)
{
    enum {
        DATALOADER = 1u << STK_RIVAL_DATALOADER,
        OTHER = 1u << STK_RIVAL_OTHER,
        CONVERTED = 1u << STK_RIVAL_CONVERTED
    };
    static const struct {
        bool masks;
        unsigned kinds;
        const char *name;
        double goal;
    } ratios[] = {
        {false, DATALOADER, "JPEG: rate / best DataLoader", 1.8},
        {false, OTHER | CONVERTED, "JPEG: rate / best of FFCV, SPDL, TurboLoader, DALI", 1.2},
        {true, DATALOADER | OTHER, "image + mask: rate / best peer that reads the same files", 2},
        {true, CONVERTED, "image + mask: rate / FFCV with raw masks", 1.3},
    };
    const double ours = best_rate(race, 1u << STK_RIVAL_OURS);
    for (size_t i = 0; i < sizeof ratios / sizeof ratios[0]; i++)
        if (ratios[i].masks == what->masks)
            stk__bench_judge(race->bench, ratios[i].name, ours / best_rate(race, ratios[i].kinds), true,
                             ratios[i].goal);
}

static stk_status run_cases(stk__race *race, stk_error *error)
{
    const stk__rival_case cases[] = {
        {"jpeg", "JPEG to uint8 batches", false, race->samples, race->rounds, race->quick ? 1 : FIRSTS},
        {"pairs", "JPEG + PNG mask to uint8 batches", true, race->samples, race->rounds,
         race->quick ? 1 : FIRSTS},
    };
    const uint64_t count = sizeof cases / sizeof cases[0];
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t now = stk__clock_ns();
        const uint64_t until_ns =
            race->until_ns > now ? now + (race->until_ns - now) / (count - i) : race->until_ns;
        STK__TRY(run_case(race, &cases[i], until_ns, error));
        judge_case(race, &cases[i]);
        STK__TRY(ask_all(race, &cases[i], stk__rival_end, error));
    }
    return STK_OK;
}

stk_status stk__race_run(stk__race *race, stk_error *error)
{
    STK__TRY(stk__bench_folder_make(&race->scratch, error));
    add_ours(race);
    if (race->python) STK__TRY(add_peers(race, error));
    await_all(race);
    return run_cases(race, error);
}

void stk__race_abandon(const stk__race *race)
{
    for (int i = 0; i < race->count; i++)
        if (race->rivals[i].peer.pid) kill(-race->rivals[i].peer.pid, SIGKILL);
    stk__bench_data_remove(&race->scratch);
}

void stk__race_close(stk__race *race)
{
    for (int i = 0; i < race->count; i++)
        stk__peer_stop(&race->rivals[i].peer);
    stk__bench_data_close(&race->scratch);
}
