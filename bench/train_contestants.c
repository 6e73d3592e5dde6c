/* SPDX-License-Identifier: Apache-2.0 */
/* Who takes part in a train case, how their processes are started, and what each is asked for. A turn is as
 * many steps as fit into 200 ms, one at least (bench/peers/train_worker.py, train_worker.c). A contestant
 * whose first loss is not ours computes something else, and has no numbers. One thread, but for abandon. */
#include "train_contestants.h"

#include "core/clock.h"
#include "core/cpu_level.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

enum { WEIGH_MOST_S = 120 };

static const struct {
    const char *setting, *layout, *how;
    stk__train_kind kind;
    bool quick, windows; /* windows: also with a network that has no pictures, and so no layout */
    bool spins;          /* its threads wait for each other awake, as PyTorch's do if nobody says otherwise */
} peers[] = {
    {"eager f32", ", NCHW", "eager:nchw", STK_TRAIN_EAGER, true, true, false},
    {"eager f32", ", channels_last", "eager:nhwc", STK_TRAIN_EAGER, true, false, false},
    {"eager bf16", ", channels_last", "bf16:nhwc", STK_TRAIN_BF16, true, true, false},
    {"eager f32", ", NCHW", "eager:nchw", STK_TRAIN_EAGER, false, true, true},
    {"eager f32", ", channels_last", "eager:nhwc", STK_TRAIN_EAGER, false, false, true},
    {"compiled f32", ", channels_last", "compiled:nhwc", STK_TRAIN_COMPILED, false, true, false},
};

/* Of the same weights and the same batch: what is added up in another order, and with eight bits. */
static const double loss_bounds[] = {
    [STK_TRAIN_OURS] = 0, [STK_TRAIN_EAGER] = 1e-3, [STK_TRAIN_BF16] = 2e-2, [STK_TRAIN_COMPILED] = 1e-3};

/* --- how they are started ----------------------------------------------------------------------------------
 */

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

/* The environment comes first. Both sides get all caps: each reads its own. */
static void add_environment(const stk__train_race *race, stk__command *command, bool bf16)
{
    static const char *const caps[] = {"STOKER_CPU=avx2", "DNNL_MAX_CPU_ISA=AVX2", "ONEDNN_MAX_CPU_ISA=AVX2",
                                       "ATEN_CPU_CAPABILITY=avx2"};
    stk__command_add(command, "env");
    for (size_t i = 0; race->capped && i < sizeof caps / sizeof caps[0]; i++)
        stk__command_add(command, "%s", caps[i]);
    if (bf16 && !race->capped && hides_tiles())
        stk__command_add(command, "ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16");
}

/* With the engine torch we compute with the peers' own PyTorch: the environment their interpreter is in. */
static void add_torch(const stk__bench_options *options, stk__command *command)
{
    const char *python = options->python, *slash = options->engine && python ? strrchr(python, '/') : NULL;
    if (slash && slash - python >= 4 && memcmp(slash - 4, "/bin", 4) == 0)
        stk__command_add(command, "VIRTUAL_ENV=%.*s", (int)(slash - 4 - python), python);
}

static void command_ours(const stk__train_race *race, stk__command *command)
{
    add_environment(race, command, false);
    add_torch(race->options, command);
    stk__command_add(command, "%s", race->program);
    stk__command_add(command, "bench");
    stk__command_add(command, "train-worker");
    stk__command_add(command, "%s", race->folder);
    if (race->options->engine) stk__command_add(command, "%s", race->options->engine);
}

static void command_peer(const stk__train_race *race, size_t which, stk__command *command)
{
    add_environment(race, command, peers[which].kind == STK_TRAIN_BF16);
    if (!peers[which].spins) stk__command_add(command, STK_TRAIN_SLEEPS);
    stk__command_add_peer(command, &(stk__peer){.python = race->options->python,
                                                .folder = race->scripts,
                                                .module = "train_torch",
                                                .how = peers[which].how,
                                                .data = race->folder,
                                                .cpus = race->cpus});
}

/* --- who takes part ----------------------------------------------------------------------------------------
 */

static stk__contestant *add_contestant(stk__train_race *race, const char *name, stk__train_kind kind)
{
    stk__contestant *c = &race->contestants[race->count];
    stk__worker_process *process = &race->processes[race->count++];
    *process = (stk__worker_process){.stop = race->options->host->stop};
    *c = (stk__contestant){.name = name, .kind = kind, .ours = kind == STK_TRAIN_OURS, .process = process};
    return c;
}

static void enter(stk__train_race *race, stk__contestant *c)
{
    static const char *const units[STK_COLUMNS] = {"ms/step", "CPU-ms/step", "MB", "s to first step"};
    stk__contestant_enter(c, race->bench, race->title, units);
}

/* The engine torch has eager PyTorch beside it; a small batch is nothing to wait for. */
static bool takes_part(const stk__train_race *race, size_t which)
{
    if (race->options->engine && peers[which].kind != STK_TRAIN_EAGER) return false;
    return (!race->options->quick || peers[which].quick) && (!race->windows || peers[which].windows);
}

static void add_peer(stk__train_race *race, size_t which)
{
    const bool has_bf16 = !race->capped && stk__cpu_level_found() == STK_CPU_AVX512;
    stk__contestant *c = add_contestant(race, "PyTorch", peers[which].kind);
    snprintf(c->setting, sizeof c->setting, "%s%s%s", peers[which].setting,
             race->windows ? "" : peers[which].layout, peers[which].spins ? ", spin" : "");
    enter(race, c);
    if (!race->options->python)
        stk__contestant_dismiss(c, "no --peers PYTHON");
    else if (peers[which].kind == STK_TRAIN_BF16 && !has_bf16)
        stk__contestant_dismiss(c, "the CPU computes nothing in bf16 below AVX-512");
    else
        command_peer(race, which, &c->process->command);
}

void stk__train_contestants_enter(stk__train_race *race)
{
    race->count = 0;
    race->our_loss = NAN;
    stk__contestant *ours = add_contestant(race, "stoker", STK_TRAIN_OURS);
    snprintf(ours->setting, sizeof ours->setting, race->options->engine ? "engine torch, f32" : "f32");
    command_ours(race, &ours->process->command);
    enter(race, ours);
    for (size_t i = 0; i < sizeof peers / sizeof peers[0]; i++)
        if (takes_part(race, i)) add_peer(race, i);
}

void stk__train_contestants_stop(stk__train_race *race)
{
    for (int i = 0; i < race->count; i++)
        stk__worker_process_stop(&race->processes[i]);
    race->count = 0;
}

void stk__train_contestants_abandon(const stk__train_race *race)
{
    for (int i = 0; i < race->count; i++)
        stk__worker_process_kill(&race->processes[i]);
    stk__worker_process_kill(&race->again);
}

/* --- turns -------------------------------------------------------------------------------------------------
 */

/* NAN: it failed, and its words say why. */
static double time_first(stk__worker_process *process, double *loss)
{
    char answer[STK_WORKER_ANSWER];
    const uint64_t start = stk__clock_ns();
    stk__worker_process_start(process);
    stk__worker_process_await(process);
    if (!stk__worker_process_send(process, "check step") ||
        !stk__worker_process_receive(process, "loss", answer))
        return NAN;
    *loss = strtod(answer, NULL);
    return (double)(stk__clock_ns() - start) * 1e-9;
}

void stk__train_contestant_begin(stk__train_race *race, stk__contestant *c)
{
    double loss = NAN;
    const double ours = race->our_loss, took_s = time_first(c->process, &loss);
    if (isnan(took_s)) {
        stk__contestant_give_up(c, c->process->words);
        return;
    }
    stk__contestant_tell_versions(c);
    if (fabs(loss - ours) > loss_bounds[c->kind] * fabs(ours)) { /* ours NAN: no */
        char why[96];
        snprintf(why, sizeof why, "its first loss is %.6g, ours %.6g", loss, ours);
        stk__contestant_give_up(c, why);
        return;
    }
    c->rows->difference = fabs(loss / ours - 1);
    stk__bench_add(&c->rows[STK_COLUMN_FIRST], took_s);
    if (c->ours) race->our_loss = loss;
}

void stk__train_contestant_begin_again(stk__train_race *race, stk__contestant *c)
{
    double loss;
    if (c->kind == STK_TRAIN_COMPILED || stk__contestant_gave_up(c)) return;
    race->again = (stk__worker_process){
        .command = c->process->command, .stop = c->process->stop, .answer_s = c->process->answer_s};
    const double took_s = time_first(&race->again, &loss);
    stk__worker_process_stop(&race->again);
    if (!isnan(took_s)) stk__bench_add(&c->rows[STK_COLUMN_FIRST], took_s);
}

void stk__train_contestant_weigh(stk__train_race *race, stk__contestant *c)
{
    (void)race;
    stk__contestant_weigh(c, "round step", WEIGH_MOST_S);
}

void stk__train_contestant_step(stk__train_race *race, stk__contestant *c)
{
    char answer[STK_WORKER_ANSWER], *rest;
    (void)race;
    const double before = stk__worker_process_cpu_seconds(c->process);
    if (!stk__contestant_ask(c, "round step", "ms", answer)) return;
    stk__bench_add(&c->rows[STK_COLUMN_VALUE], strtod(answer, &rest));
    const double steps = fmax(strtod(rest, NULL), 1),
                 cpu_s = stk__worker_process_cpu_seconds(c->process) - before;
    stk__bench_add(&c->rows[STK_COLUMN_CPU], 1000 * cpu_s / steps);
    usleep(20000); /* threads of other libraries spin for a moment before they sleep */
}

double stk__train_contestant_share(stk__contestant *c)
{
    char answer[STK_WORKER_ANSWER];
    if (stk__contestant_gave_up(c) || !stk__worker_process_send(c->process, "share step")) return NAN;
    return stk__worker_process_receive(c->process, "share", answer) ? strtod(answer, NULL) : NAN;
}
