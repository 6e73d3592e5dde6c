/* SPDX-License-Identifier: Apache-2.0 */
/* stoker bench augment: a batch of faces and masks by our kernels, beside other libraries. Contestants take
 * turns on the same batch, each round with other draws; ratios compare medians of rounds. */
#include "augment_contestants.h"

#include "core/clock.h"

#include <math.h>

static stk_status take_turn(const stk__bench_host *host, stk__contestant *c, bool counts, stk_error *error)
{
    double value = 0;
    STK__TRY(stk__bench_check_stop(host, error));
    if (stk__contestant_gave_up(c)) return STK_OK;
    STK__TRY(c->run(c, &value, error));
    if (counts && !stk__contestant_gave_up(c)) stk__bench_add(c->rows, value);
    return STK_OK;
}

static stk_status run_rounds(stk__augment_bench *all, stk_error *error)
{
    const stk__bench_host *host = all->options->host;
    const stk__bench_progress progress = {.start_ns = stk__clock_ns()};
    const int64_t rounds = all->options->rounds;
    stk_status status = STK_OK;
    for (int64_t round = 0; round <= rounds && status == STK_OK; round++) /* 0 warms up */
        for (int i = 0; i < all->count && status == STK_OK; i++) {
            host->show(&progress, "measuring", (uint64_t)(round * all->count + i),
                       (uint64_t)((rounds + 1) * all->count));
            all->turns[i].way.epoch = (uint32_t)round;
            status = take_turn(host, &all->contestants[i], round > 0, error);
        }
    host->hide();
    return status;
}

/* All that is asked for must be the same; zeros are asked for, too. */
static double find_median(const stk__augment_bench *all, stk__augment_kind kind, stk__bench_way way)
{
    for (int i = 0; i < all->count; i++) {
        const stk__bench_way *its = &all->turns[i].way;
        if ((int)kind == all->contestants[i].kind && its->chain == way.chain && its->level == way.level &&
            its->workers == way.workers)
            return stk__bench_median(all->contestants[i].rows);
    }
    return NAN;
}

static double ours_ms(const stk__augment_bench *all, stk__chain chain, stk__cpu_level level, int workers)
{
    return find_median(all, STK_BENCH_POOL,
                       (stk__bench_way){.chain = chain, .level = level, .workers = workers});
}

static double best_peer_ms(const stk__augment_bench *all, stk__chain chain)
{
    double best = NAN;
    for (int i = 0; i < all->count; i++)
        if (all->contestants[i].kind == STK_BENCH_PEER && all->turns[i].way.chain == chain)
            best = fmin(best, stk__bench_median(all->contestants[i].rows)); /* of a number and NAN: that */
    return best;
}

static void judge_peers(stk__augment_bench *all)
{
    static const char *const names[] = {"standard: times as fast as the best peer",
                                        "strong: times as fast as the best peer"};
    static const double goals[] = {7, 8};
    for (int chain = 0; chain <= STK_CHAIN_STRONG; chain++) {
        const double ours = ours_ms(all, (stk__chain)chain, all->best, all->cpus);
        stk__bench_judge(all->bench, names[chain], best_peer_ms(all, (stk__chain)chain) / ours, true,
                         goals[chain])
            ->aim = 10;
    }
}

static void judge_levels(stk__augment_bench *all)
{
    static const struct {
        const char *names[2];
        stk__cpu_level fast, slow;
        double goal;
    } pairs[] = {{{"AVX2 / reference, standard", "AVX2 / reference, strong"}, STK_CPU_AVX2, STK_CPU_C, 4},
                 {{"AVX-512 / AVX2, standard", "AVX-512 / AVX2, strong"}, STK_CPU_AVX512, STK_CPU_AVX2, 1.3}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        for (int chain = 0; chain <= STK_CHAIN_STRONG; chain++) {
            const double slow = ours_ms(all, (stk__chain)chain, pairs[i].slow, 1),
                         fast = ours_ms(all, (stk__chain)chain, pairs[i].fast, 1);
            stk__bench_judge(all->bench, pairs[i].names[chain], slow / fast, true, pairs[i].goal);
        }
}

/* How many times as fast two threads are as one. */
static double scaling_of(const stk__augment_bench *all, stk__augment_kind kind)
{
    const stk__bench_way one = {STK_CHAIN_STANDARD, all->best, 1, 0},
                         two = {STK_CHAIN_STANDARD, all->best, 2, 0};
    return find_median(all, kind, one) / find_median(all, kind, two);
}

static void judge_more(stk__augment_bench *all)
{
    stk__bench *b = all->bench;
    const stk__bench_way strong = {.chain = STK_CHAIN_STRONG};
    const double copy = find_median(all, STK_BENCH_COPY, strong);
    for (int i = 0; i < all->count; i++)
        if (all->contestants[i].kind == STK_BENCH_POOL)
            all->contestants[i].rows->copy_share = copy / stk__bench_median(all->contestants[i].rows);
    stk__bench_judge(b, "no warp: share of the bandwidth of a plain copy",
                     copy / ours_ms(all, STK_CHAIN_NO_WARP, all->best, all->cpus), true, 0.6);
    stk__bench_judge(b, "1 to 2 workers: scaling / that of the baseline",
                     scaling_of(all, STK_BENCH_SCALED) / scaling_of(all, STK_BENCH_BASELINE), true, 0.95);
    const stk__bench_way own = {STK_CHAIN_STANDARD, all->best, all->cpus, 0};
    stk__bench_judge(b, "own pixels: the kernels' time / that of stk_augmenter_apply",
                     find_median(all, STK_BENCH_KERNELS, own) / find_median(all, STK_BENCH_CALLER, own), true,
                     0.97);
    stk__bench_judge(b, "draw + resolve: us for the batch", find_median(all, STK_BENCH_RESOLVE, strong),
                     false, 50);
    stk__bench_judge(
        b, "files to augmented batches: rate / DataLoader",
        find_median(all, STK_BENCH_LOADER, strong) / find_median(all, STK_BENCH_PEER_LOADER, strong), true, 5)
        ->aim = 6;
}

static stk_status run_all(stk__augment_bench *all, stk_error *error)
{
    STK__TRY(stk__augment_bench_open(all, error));
    all->bench->spaced = true;
    stk__bench_describe(all->bench, "%llu x %d x %d RGB + masks to float32 NCHW, %lld interleaved rounds",
                        (unsigned long long)all->options->samples, (int)all->batch.h, (int)all->batch.w,
                        (long long)all->options->rounds);
    STK__TRY(run_rounds(all, error));
    judge_peers(all);
    judge_levels(all);
    if (all->files) judge_more(all);
    return STK_OK;
}

stk_status stk__bench_augment(const stk__bench_options *options, stk__bench *bench, stk_error *error)
{
    static stk__augment_bench all; /* too large for a stack */
    all.options = options;
    all.bench = bench;
    const stk_status status = run_all(&all, error);
    stk__augment_bench_close(&all);
    return status;
}
