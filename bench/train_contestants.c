#include "train_contestants.h"

#include "bench_process.h"

#include "core/clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

enum { WEIGH_MS = 10, WEIGH_MOST_S = 120 };

/* Of the same weights and the same batch: what is added up in another order, and with eight bits. */
static const double loss_bounds[] = {
    [STK_PUPIL_OURS] = 0, [STK_PUPIL_EAGER] = 1e-3, [STK_PUPIL_BF16] = 2e-2, [STK_PUPIL_COMPILED] = 1e-3};

void stk__pupil_enter(stk__pupil *pupil, stk__bench *bench, const char *test, const char *setting)
{
    static const char *const units[STK_PUPIL_METRICS] = {"ms/step", "CPU-ms/step", "MB", "s to first step"};
    const bool ours = pupil->kind == STK_PUPIL_OURS;
    for (int i = 0; i < STK_PUPIL_METRICS; i++) {
        stk__bench_row *row = stk__bench_begin(bench, ours ? "stoker" : "PyTorch", test, setting, units[i]);
        if (i == 0) pupil->rows = row;
    }
    pupil->rows->columns = STK_PUPIL_METRICS;
    pupil->rows->ours = ours;
    pupil->loss = NAN;
}

/* No number at all is better than a few good ones of somebody who then failed. */
static void give_up(stk__pupil *pupil, const char *why)
{
    for (int i = 0; i < STK_PUPIL_METRICS; i++) {
        stk__bench_row *row = &pupil->rows[i];
        row->count = 0;
        snprintf(row->why, sizeof row->why, "%s", why);
    }
    stk__peer_stop(&pupil->peer); /* memory and threads for the others */
}

/* AMX is announced but not described, as on some virtual machines: a bf16 product of oneDNN is then an
 * illegal instruction, so that it is capped, as our own engine is (onednn_api.c). */
static bool hides_tiles(void)
{
#if defined(__x86_64__)
    const unsigned tiles = 1u << 22 | 1u << 24 | 1u << 25, highest = __get_cpuid_max(0, NULL);
    unsigned a, b, c, d;
    return highest >= 7 && highest < 0x1d && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & tiles);
#else
    return false;
#endif
}

enum { MOST_BEFORE = 8, MOST_PATH = 4096 };

/* Words before the program: the environment. Both sides get all caps: each reads its own. */
static int list_before(const stk__pupil_start *s, const char *before[MOST_BEFORE])
{
    static const char *const caps[] = {"STOKER_CPU=avx2", "DNNL_MAX_CPU_ISA=AVX2", "ONEDNN_MAX_CPU_ISA=AVX2",
                                       "ATEN_CPU_CAPABILITY=avx2"};
    int count = 0;
    before[count++] = "env";
    for (size_t i = 0; s->capped && i < sizeof caps / sizeof caps[0]; i++)
        before[count++] = caps[i];
    if (s->bf16 && !s->capped && hides_tiles()) before[count++] = "ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16";
    before[count] = NULL;
    return count;
}

/* With the engine torch we compute with the peers' own PyTorch: the environment their interpreter is in. */
static int name_torch(const stk__pupil_start *s, char word[MOST_PATH], const char *before[MOST_BEFORE],
                      int count)
{
    const char *slash = s->engine && s->python ? strrchr(s->python, '/') : NULL;
    if (!slash || slash - s->python < 4 || memcmp(slash - 4, "/bin", 4) != 0) return count;
    snprintf(word, MOST_PATH, "VIRTUAL_ENV=%.*s", (int)(slash - 4 - s->python), s->python);
    before[count++] = word;
    return count;
}

static void spawn_ours(const stk__pupil_start *s, stk__peer *peer)
{
    const char *const words[] = {s->program, "bench", "train-turns", s->lesson, s->engine, NULL};
    const char *argv[MOST_BEFORE + sizeof words / sizeof words[0]];
    char environment[MOST_PATH];
    const int count = name_torch(s, environment, argv, list_before(s, argv));
    memcpy(argv + count, words, sizeof words);
    stk__peer_spawn(peer, (char *const *)argv);
}

static void spawn_theirs(const stk__pupil_start *s, stk__peer *peer)
{
    const char *before[MOST_BEFORE];
    const int count = list_before(s, before);
    if (!s->spins) before[count] = STK_PUPIL_SLEEPS;
    before[count + !s->spins] = NULL;
    stk__peer_start(peer, &(stk__peer_options){.before = before,
                                               .python = s->python,
                                               .folder = s->scripts,
                                               .module = "train_torch",
                                               .how = s->how,
                                               .data = s->lesson,
                                               .cpus = s->cpus});
}

static void spawn(const stk__pupil *pupil, stk__peer *peer)
{
    const int answer_s = pupil->peer.answer_s;
    (pupil->kind == STK_PUPIL_OURS ? spawn_ours : spawn_theirs)(&pupil->start, peer);
    peer->answer_s = answer_s;
}

/* NAN: it failed, and its words say why. */
static double time_first(const stk__pupil *pupil, stk__peer *peer, double *loss)
{
    const uint64_t start = stk__clock_ns();
    spawn(pupil, peer);
    stk__peer_await(peer);
    char answer[STK_PEER_ANSWER];
    if (!stk__peer_send(peer, "check step") || !stk__peer_receive(peer, "loss", answer)) return NAN;
    *loss = strtod(answer, NULL);
    return (double)(stk__clock_ns() - start) * 1e-9;
}

static bool is_near(const stk__pupil *pupil, double ours)
{
    return isnan(ours) || fabs(pupil->loss - ours) <= loss_bounds[pupil->kind] * fabs(ours);
}

void stk__pupil_begin(stk__pupil *pupil, double ours)
{
    const double took_s = time_first(pupil, &pupil->peer, &pupil->loss);
    if (isnan(took_s)) {
        give_up(pupil, pupil->peer.words);
        return;
    }
    if (!pupil->rows->ours)
        snprintf(pupil->rows->versions, sizeof pupil->rows->versions, "%.150s", pupil->peer.words);
    if (!is_near(pupil, ours)) {
        char why[96];
        snprintf(why, sizeof why, "its first loss is %.6g, ours %.6g", pupil->loss, ours);
        give_up(pupil, why);
        return;
    }
    pupil->rows->difference = isnan(ours) ? NAN : fabs(pupil->loss / ours - 1);
    stk__bench_add(&pupil->rows[STK_PUPIL_FIRST], took_s);
}

void stk__pupil_begin_again(stk__pupil *pupil)
{
    double loss;
    if (pupil->rows->why[0]) return;
    const double took_s = time_first(pupil, &pupil->again, &loss);
    stk__peer_stop(&pupil->again);
    if (!isnan(took_s)) stk__bench_add(&pupil->rows[STK_PUPIL_FIRST], took_s);
}

/* The most while it has not answered. */
static uint64_t watch_memory(const stk__pupil *pupil)
{
    uint64_t most = 0;
    const uint64_t until_ns = stk__clock_ns() + WEIGH_MOST_S * STK_SECOND_NS;
    do {
        const uint64_t now = stk__group_memory_bytes(pupil->peer.pid);
        if (now > most) most = now;
    } while (!stk__peer_answers(&pupil->peer, WEIGH_MS) && stk__clock_ns() < until_ns);
    return most;
}

void stk__pupil_weigh(stk__pupil *pupil)
{
    char answer[STK_PEER_ANSWER];
    if (pupil->rows->why[0]) return;
    const uint64_t most = stk__peer_send(&pupil->peer, "round step") ? watch_memory(pupil) : 0;
    if (!stk__peer_receive(&pupil->peer, "ms", answer)) {
        give_up(pupil, pupil->peer.words);
        return;
    }
    stk__bench_row *row = &pupil->rows[STK_PUPIL_MEMORY];
    if (most > 0)
        stk__bench_add(row, (double)most * 1e-6);
    else
        snprintf(row->why, sizeof row->why, "the kernel does not tell (smaps_rollup)");
}

void stk__pupil_step(stk__pupil *pupil)
{
    char answer[STK_PEER_ANSWER], *rest;
    if (pupil->rows->why[0]) return;
    const double before = stk__group_cpu_seconds(pupil->peer.pid);
    if (!stk__peer_send(&pupil->peer, "round step") || !stk__peer_receive(&pupil->peer, "ms", answer)) {
        give_up(pupil, pupil->peer.words);
        return;
    }
    stk__bench_add(&pupil->rows[STK_PUPIL_STEP], strtod(answer, &rest));
    const double steps = fmax(strtod(rest, NULL), 1),
                 cpu_s = stk__group_cpu_seconds(pupil->peer.pid) - before;
    stk__bench_add(&pupil->rows[STK_PUPIL_CPU], 1000 * cpu_s / steps);
    usleep(20000); /* threads of other libraries spin for a moment before they sleep */
}

double stk__pupil_share(stk__pupil *pupil)
{
    char answer[STK_PEER_ANSWER];
    if (pupil->rows->why[0] || !stk__peer_send(&pupil->peer, "share step")) return NAN;
    return stk__peer_receive(&pupil->peer, "share", answer) ? strtod(answer, NULL) : NAN;
}

void stk__pupil_dismiss(stk__pupil *pupil, const char *why)
{
    if (pupil->rows->count == 0 && !pupil->rows->why[0]) give_up(pupil, why);
}
