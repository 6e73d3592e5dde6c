/* stoker bench augment: a batch of faces and masks by our kernels, beside other libraries. Contestants take
 * turns on the same batch, each round with other draws. */
#include "augment_contestants.h"

#include <math.h>

enum { QUICK_SAMPLES = 8, ROUNDS = 7, QUICK_ROUNDS = 3 };

/* Who has failed once has no number at all. */
static stk_status take_turn(stk__contest *contest, stk__contestant *c, bool counts, stk_error *error)
{
    double value = 0;
    if (atomic_load(stk__interrupt_flag())) return stk__fail(error, STK_ERROR_INTERRUPTED, "interrupted");
    if (c->row->why[0]) return STK_OK;
    STK__TRY(stk__contest_turn(contest, c, &value, error));
    if (c->row->why[0])
        c->row->count = 0;
    else if (counts)
        stk__bench_add(c->row, value);
    return STK_OK;
}

static stk_status run_rounds(stk__contest *contest, int64_t rounds, stk_error *error)
{
    stk__progress progress;
    stk__progress_start(&progress);
    stk_status status = STK_OK;
    for (int64_t round = 0; round <= rounds && status == STK_OK; round++) /* 0 warms up */
        for (int i = 0; i < contest->count && status == STK_OK; i++) {
            stk__progress_show(&progress, "measuring", (uint64_t)(round * contest->count + i),
                               (uint64_t)((rounds + 1) * contest->count));
            contest->contestants[i].way.epoch = (uint32_t)round;
            status = take_turn(contest, &contest->contestants[i], round > 0, error);
        }
    stk__progress_end(&progress);
    return status;
}

/* All that is asked for must be the same; zeros are asked for, too. */
static double find_median(const stk__contest *contest, stk__contest_kind kind, stk__bench_way way)
{
    for (int i = 0; i < contest->count; i++) {
        const stk__contestant *c = &contest->contestants[i];
        if (c->kind == kind && c->way.chain == way.chain && c->way.level == way.level &&
            c->way.workers == way.workers)
            return stk__bench_median(c->row);
    }
    return NAN;
}

static double ours_ms(const stk__contest *contest, stk__chain chain, stk__cpu_level level, int workers)
{
    return find_median(contest, STK_CONTEST_POOL,
                       (stk__bench_way){.chain = chain, .level = level, .workers = workers});
}

static double best_peer_ms(const stk__contest *contest, stk__chain chain)
{
    double best = NAN;
    for (int i = 0; i < contest->count; i++) {
        const stk__contestant *c = &contest->contestants[i];
        if (c->kind == STK_CONTEST_PEER && c->way.chain == chain)
            best = fmin(best, stk__bench_median(c->row)); /* of a number and NAN: the number */
    }
    return best;
}

static void judge_peers(stk__contest *contest)
{
    static const char *const names[] = {"standard: times as fast as the best peer",
                                        "strong: times as fast as the best peer"};
    static const double goals[] = {7, 8};
    for (int chain = 0; chain <= STK_CHAIN_STRONG; chain++) {
        const double ours = ours_ms(contest, (stk__chain)chain, contest->best, contest->cpus);
        stk__bench_judge(&contest->bench, names[chain], best_peer_ms(contest, (stk__chain)chain) / ours, true,
                         goals[chain])
            ->aim = 10;
    }
}

static void judge_levels(stk__contest *contest)
{
    static const struct {
        const char *names[2];
        stk__cpu_level fast, slow;
        double goal;
    } pairs[] = {{{"AVX2 / reference, standard", "AVX2 / reference, strong"}, STK_CPU_AVX2, STK_CPU_C, 4},
                 {{"AVX-512 / AVX2, standard", "AVX-512 / AVX2, strong"}, STK_CPU_AVX512, STK_CPU_AVX2, 1.3}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        for (int chain = 0; chain <= STK_CHAIN_STRONG; chain++) {
            const double slow = ours_ms(contest, (stk__chain)chain, pairs[i].slow, 1),
                         fast = ours_ms(contest, (stk__chain)chain, pairs[i].fast, 1);
            stk__bench_judge(&contest->bench, pairs[i].names[chain], slow / fast, true, pairs[i].goal);
        }
}

/* How many times as fast two threads are as one. */
static double scaling_of(const stk__contest *contest, stk__contest_kind kind)
{
    const stk__bench_way one = {STK_CHAIN_STANDARD, contest->best, 1, 0},
                         two = {STK_CHAIN_STANDARD, contest->best, 2, 0};
    return find_median(contest, kind, one) / find_median(contest, kind, two);
}

static void judge_more(stk__contest *contest)
{
    stk__bench *b = &contest->bench;
    const stk__bench_way strong = {.chain = STK_CHAIN_STRONG};
    const double copy = find_median(contest, STK_CONTEST_COPY, strong);
    for (int i = 0; i < contest->count; i++)
        if (contest->contestants[i].kind == STK_CONTEST_POOL)
            contest->contestants[i].row->copy_share = copy / stk__bench_median(contest->contestants[i].row);
    stk__bench_judge(b, "no warp: share of the bandwidth of a plain copy",
                     copy / ours_ms(contest, STK_CHAIN_NO_WARP, contest->best, contest->cpus), true, 0.6);
    stk__bench_judge(b, "1 to 2 workers: scaling / that of a bare loop of threads",
                     scaling_of(contest, STK_CONTEST_SCALED) / scaling_of(contest, STK_CONTEST_BARE), true,
                     0.95);
    stk__bench_judge(b, "draw + resolve: us for the batch", find_median(contest, STK_CONTEST_RESOLVE, strong),
                     false, 50);
    stk__bench_judge(b, "files to augmented batches: rate / DataLoader",
                     find_median(contest, STK_CONTEST_LOADER, strong) /
                         find_median(contest, STK_CONTEST_PEER_LOADER, strong),
                     true, 5)
        ->aim = 6;
}

static stk_status run_contest(stk__contest *contest, int64_t rounds, uint64_t samples, stk_error *error)
{
    STK__TRY(stk__contest_open(contest, samples, error));
    contest->bench.spaced = true;
    stk__bench_describe(
        &contest->bench, "%llu x %d x %d RGB + masks to float32 NCHW, %lld interleaved rounds",
        (unsigned long long)samples, (int)contest->batch.h, (int)contest->batch.w, (long long)rounds);
    STK__TRY(run_rounds(contest, rounds, error));
    judge_peers(contest);
    judge_levels(contest);
    if (!contest->quick) judge_more(contest);
    return STK_OK;
}

int stk__bench_augment(int argc, char **argv)
{
    static const stk__verb verb = {
        .name = "bench augment",
        .usage = "bench augment",
        .about =
            "A batch of faces and masks, augmented by every level of our kernels and every device, beside "
            "other libraries."};
    static stk__contest contest; /* too large for a stack */
    int64_t rounds = 0, samples = 0;
    const stk__flag flags[] = {
        {.name = "rounds", .value = "N", .help = "interleaved rounds (7)", .number = &rounds},
        {.name = "samples", .value = "N", .help = "faces in the batch (32)", .number = &samples},
        {.name = "quick", .help = "three rounds, eight faces, no files", .given = &contest.quick},
        {.name = "peers",
         .value = "PYTHON",
         .help = "interpreter that has the other libraries (bench/peers/setup makes one)",
         .text = &contest.python},
        {.name = "json", .help = "report as JSON on standard output", .given = &stk__cli_json},
    };
    stk__arguments arguments = {.verb = &verb, .flags = flags, .flag_count = sizeof flags / sizeof flags[0]};
    int code = stk__arguments_read(&arguments, argc, argv);
    if (code >= 0) return code;
    if (rounds == 0) rounds = contest.quick ? QUICK_ROUNDS : ROUNDS;
    if (samples == 0) samples = contest.quick ? QUICK_SAMPLES : STK_BENCH_SAMPLES;
    if (rounds > STK_BENCH_ROUNDS || samples > STK_BENCH_SAMPLES)
        return stk__cli_usage("bench augment", "--rounds must be from 1 to %d, --samples from 1 to %d",
                              STK_BENCH_ROUNDS, STK_BENCH_SAMPLES);
    stk_error error;
    const stk_status status = run_contest(&contest, rounds, (uint64_t)samples, &error);
    code = status == STK_OK ? stk__bench_report(&contest.bench) : stk__cli_fail(&error);
    stk__contest_close(&contest);
    return code;
}
