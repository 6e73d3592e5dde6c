/* SPDX-License-Identifier: Apache-2.0 */
/* Goals of `stoker bench train`, network by network: how many times as fast as PyTorch a step is, what the
 * time to a first step and the peak memory are beside PyTorch's, and for the engine torch how much CPU time
 * is spent outside of its operators. */
#include "train_goals.h"

#include "core/cpu_level.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>

/* One goal for each network. */
typedef struct goal {
    bool small;       /* of small batches, which the name says */
    const char *name; /* behind the name of the network */
    size_t offset;    /* of a number of stk__train_result */
    bool at_least;
    double goals[STK_TRAIN_CASES];
} goal;

#define SPEED  offsetof(stk__train_result, speed), true
#define FIRST  offsetof(stk__train_result, first), false
#define MEMORY offsetof(stk__train_result, memory), false
#define SHARE  offsetof(stk__train_result, own_share), false

/* results NULL: not measured. */
static void judge(stk__bench *bench, const goal *g, const stk__train_result *results)
{
    static char names[STK_BENCH_RATIOS][96]; /* they stay as long as the ratios */
    for (int i = 0; i < STK_TRAIN_CASES; i++) {
        char *name = names[bench->ratio_count];
        const double value = results ? *(const double *)((const char *)&results[i] + g->offset) : NAN;
        const char *batch = stk__train_cases[i].facts.window ? ", fewer windows" : ", batch of 1 to 4";
        snprintf(name, sizeof names[0], "%.15s%s%s", stk__train_cases[i].network, g->small ? batch : "",
                 g->name);
        stk__bench_judge(bench, name, value, g->at_least, g->goals[i]);
    }
}

void stk__train_judge(stk__bench *bench, stk__train_results results, bool capped, double files)
{
    static const goal avx512 = {
        false, ": times as fast as the fastest PyTorch, AVX-512", SPEED, {1.5, 1.3, 1.5, 1.8}};
    static const goal avx2 = {
        false, ": times as fast as the fastest PyTorch, AVX2", SPEED, {1.1, 1.1, 1.1, 1.1}};
    static const goal first = {false, ": start to first step / eager PyTorch's", FIRST, {0.2, 0.2, 0.2, 0.2}};
    static const goal memory = {
        false, ": peak memory / that of the fastest PyTorch", MEMORY, {0.6, 0.6, 0.6, 0.6}};
    const bool wide = stk__cpu_level_found() == STK_CPU_AVX512;
    const stk__train_level seen = capped ? STK_TRAIN_CAPPED : STK_TRAIN_OWN;
    judge(bench, &avx512, wide ? results[STK_TRAIN_OWN] : NULL);
    judge(bench, &avx2, results[wide || capped ? STK_TRAIN_CAPPED : STK_TRAIN_OWN]);
    judge(bench, &first, results[seen]);
    judge(bench, &memory, results[seen]);
    stk__bench_judge(bench, "files, strong chain, tiny network: rate / PyTorch + DataLoader", files, true, 4);
}

void stk__train_judge_torch(stk__bench *bench, stk__train_results results)
{
    static const goal speed = {false, ": times as fast as eager PyTorch", SPEED, {1, 1, 1, 1.2}};
    static const goal small = {true, ": times as fast as eager PyTorch", SPEED, {1.2, 1.2, 1.2, 1.2}};
    static const goal first = {false, ": start to first step / eager PyTorch's", FIRST, {0.5, 0.5, 0.5, 0.5}};
    static const goal share = {
        false, ": CPU time outside of operators / all", SHARE, {0.03, 0.03, 0.03, 0.03}};
    static const goal small_share = {
        true, ": CPU time outside of operators / all", SHARE, {0.03, 0.03, 0.03, 0.03}};
    const stk__train_result *full = results[STK_TRAIN_OWN], *few = results[STK_TRAIN_SMALL];
    stk__train_result either[STK_TRAIN_CASES];
    for (int i = 0; i < STK_TRAIN_CASES; i++)
        either[i] = isnan(full[i].first) ? few[i] : full[i];
    judge(bench, &speed, full);
    judge(bench, &small, few);
    judge(bench, &first, either);
    judge(bench, &share, full);
    judge(bench, &small_share, few);
}
