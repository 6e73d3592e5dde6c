/* stoker bench augment: a batch of faces and masks by our kernels, beside other libraries. Contestants take
 * turns on the same batch, each round with other draws. */
#include "bench.h"
#include "bench_batch.h"
#include "bench_data.h"
#include "bench_peer.h"

#include "core/clock.h"
#include "core/cpu.h"
#include "core/file.h"
#include "device/device.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

enum { PEERS = 6, ENTRIES = STK_BENCH_ROWS, QUICK_SAMPLES = 8, EPOCH_SAMPLES = 512, RESOLVES = 20 };

/* What each of them runs, and how it is matched with ours: tools/peers. */
static const struct {
    const char *contestant, *module, *how, *before, *after; /* of the number of CPUs, for people */
} peer_kinds[PEERS] = {
    {"Albumentations", "peer_albumentations", "threads", "1 process, ", " OpenCV threads"},
    {"Albumentations", "peer_albumentations", "processes", "", " processes"},
    {"torchvision v2", "peer_torchvision", "processes", "per sample, ", " processes"},
    {"torchvision v2", "peer_torchvision", "whole", "whole batch, ", " threads"},
    {"Kornia", "peer_kornia", "whole", "whole batch, ", " threads"},
    {"NumPy + PIL", "peer_pil", "processes", "per sample, ", " processes"},
};

typedef struct bench_job bench_job;
typedef struct entry entry;

/* A contestant in one case. run gives a value, or sets why the row has none. */
struct entry {
    stk__bench_row *row;
    stk_status (*run)(bench_job *job, entry *e, double *value, stk_error *error);
    stk__bench_way way;
    stk__peer *peer;
};

struct bench_job {
    int64_t rounds;
    bool quick;
    const char *python; /* of the peers; NULL: none */
    int cpus;
    stk__cpu_level best;
    stk__bench_batch batch;
    stk__bench_data folder, faces; /* scripts and pixels for the peers; files for end to end */
    stk__peer peers[PEERS], loader;
    entry entries[ENTRIES];
    int entry_count;
    stk__bench bench;
};

static stk_status run_pool(bench_job *job, entry *e, double *value, stk_error *error)
{
    return stk__bench_batch_pool(&job->batch, &e->way, value, error);
}

static stk_status run_bare(bench_job *job, entry *e, double *value, stk_error *error)
{
    return stk__bench_batch_bare(&job->batch, &e->way, value, error);
}

static stk_status run_copy(bench_job *job, entry *e, double *value, stk_error *error)
{
    (void)e;
    (void)error;
    *value = stk__bench_batch_copy(&job->batch);
    return STK_OK;
}

static stk_status run_resolve(bench_job *job, entry *e, double *value, stk_error *error)
{
    (void)error;
    const uint64_t start = stk__clock_ns();
    for (int i = 0; i < RESOLVES; i++)
        stk__bench_batch_resolve(&job->batch, &e->way);
    *value = (double)(stk__clock_ns() - start) * 1e-3 / RESOLVES;
    return STK_OK;
}

static stk_status run_peer(bench_job *job, entry *e, double *value, stk_error *error)
{
    (void)job;
    (void)error;
    if (!stk__peer_round(e->peer, stk__chain_name(e->way.chain), value))
        snprintf(e->row->why, sizeof e->row->why, "%s", e->peer->words);
    usleep(20000); /* threads of its libraries spin for a moment before they sleep */
    return STK_OK;
}

static stk_status run_peer_loader(bench_job *job, entry *e, double *value, stk_error *error)
{
    double ms;
    STK__TRY(run_peer(job, e, &ms, error));
    if (!e->row->why[0]) *value = EPOCH_SAMPLES * 1000 / ms;
    return STK_OK;
}

static entry *add_entry(bench_job *job, stk__bench_row *row, stk__bench_way way,
                        stk_status (*run)(bench_job *, entry *, double *, stk_error *))
{
    entry *e = &job->entries[job->entry_count++];
    *e = (entry){.row = row, .run = run, .way = way};
    return e;
}

static void add_ours(bench_job *job, stk__chain chain, stk__cpu_level level, int workers)
{
    char setting[40];
    snprintf(setting, sizeof setting, "%s, %d worker%s", stk__cpu_level_name(level), workers,
             workers == 1 ? "" : "s");
    stk__bench_row *row = stk__bench_begin(&job->bench, "stoker", stk__chain_name(chain), setting, "ms");
    add_entry(job, row, (stk__bench_way){chain, level, workers, 0}, run_pool);
}

static void add_all_ours(bench_job *job, stk__chain chain)
{
    static const int workers[] = {1, 2, 4, 8, 16};
    bool all_cpus = false;
    for (size_t i = 0; i < sizeof workers / sizeof workers[0]; i++) {
        add_ours(job, chain, job->best, workers[i]);
        all_cpus |= workers[i] == job->cpus;
    }
    if (!all_cpus) add_ours(job, chain, job->best, job->cpus);
    for (int level = (int)job->best - 1; level >= STK_CPU_C; level--)
        if (stk__augment_at((stk__cpu_level)level)) add_ours(job, chain, (stk__cpu_level)level, 1);
}

static void add_peers(bench_job *job, stk__chain chain)
{
    for (int i = 0; i < PEERS; i++) {
        char setting[40];
        snprintf(setting, sizeof setting, "%s%d%s", peer_kinds[i].before, job->cpus, peer_kinds[i].after);
        stk__bench_row *row =
            stk__bench_begin(&job->bench, peer_kinds[i].contestant, stk__chain_name(chain), setting, "ms");
        add_entry(job, row, (stk__bench_way){.chain = chain}, run_peer)->peer = &job->peers[i];
    }
}

static void add_bare(bench_job *job, int threads)
{
    char setting[40];
    snprintf(setting, sizeof setting, "%s, %d thread%s", stk__cpu_level_name(job->best), threads,
             threads == 1 ? "" : "s");
    stk__bench_row *row = stk__bench_begin(&job->bench, "bare loop", "scaling", setting, "ms");
    add_entry(job, row, (stk__bench_way){STK_CHAIN_STANDARD, job->best, threads, 0}, run_bare);
}

/* What only a full run measures: limits of the machine, and what is around the kernels. */
static void add_more(bench_job *job)
{
    stk__bench *b = &job->bench;
    char setting[40];
    add_ours(job, STK_CHAIN_NO_WARP, job->best, job->cpus);
    snprintf(setting, sizeof setting, "%.0f MB read, as many written", (double)job->batch.copy_bytes * 1e-6);
    add_entry(job, stk__bench_begin(b, "memcpy", "no warp", setting, "ms"), (stk__bench_way){0}, run_copy);
    add_bare(job, 1);
    add_bare(job, 2);
    snprintf(setting, sizeof setting, "strong, %llu samples", (unsigned long long)job->batch.count);
    add_entry(job, stk__bench_begin(b, "stoker", "draw, resolve", setting, "us"),
              (stk__bench_way){.chain = STK_CHAIN_STRONG}, run_resolve);
    snprintf(setting, sizeof setting, "Albumentations, %d workers", job->cpus);
    add_entry(job, stk__bench_begin(b, "DataLoader", "files, strong", setting, "samples/s"),
              (stk__bench_way){.chain = STK_CHAIN_STRONG}, run_peer_loader)
        ->peer = &job->loader;
}

static stk_status write_pixels(bench_job *job, char *path, size_t size, stk_error *error)
{
    snprintf(path, size, "%s/batch.u8", job->folder.folder);
    const stk__buffer pixels = {.data = job->batch.arena, .size_bytes = job->batch.arena_bytes};
    STK__TRY(stk__peer_write_texts(job->folder.folder, error));
    return stk__file_write(path, pixels, STK_FILE_QUICK, error);
}

static stk__peer_options peer_options(const bench_job *job, const char *module, const char *how)
{
    return (stk__peer_options){
        .python = job->python, .folder = job->folder.folder, .module = module, .how = how, .cpus = job->cpus};
}

static stk_status start_peers(bench_job *job, stk_error *error)
{
    char path[600];
    STK__TRY(stk__bench_folder_make(&job->folder, error));
    STK__TRY(write_pixels(job, path, sizeof path, error));
    for (int i = 0; i < PEERS; i++) {
        stk__peer_options options = peer_options(job, peer_kinds[i].module, peer_kinds[i].how);
        options.data = path;
        options.count = job->batch.count;
        options.h = job->batch.h;
        options.w = job->batch.w;
        stk__peer_start(&job->peers[i], &options);
    }
    if (!job->quick) {
        STK__TRY(stk__bench_data_open(&job->faces, NULL, EPOCH_SAMPLES, error));
        stk__peer_options options = peer_options(job, "peer_loader", "loader");
        options.data = job->faces.folder;
        options.count = EPOCH_SAMPLES;
        stk__peer_start(&job->loader, &options);
    }
    for (int i = 0; i < PEERS; i++)
        stk__peer_await(&job->peers[i]);
    stk__peer_await(&job->loader);
    return STK_OK;
}

/* A peer that failed once has no number at all. */
static stk_status run_entry(bench_job *job, entry *e, bool counts, stk_error *error)
{
    double value = 0;
    if (atomic_load(stk__interrupt_flag())) return stk__fail(error, STK_ERROR_INTERRUPTED, "interrupted");
    if (e->row->why[0]) return STK_OK;
    STK__TRY(e->run(job, e, &value, error));
    if (e->row->why[0])
        e->row->count = 0;
    else if (counts)
        stk__bench_add(e->row, value);
    return STK_OK;
}

static stk_status run_rounds(bench_job *job, stk_error *error)
{
    stk__progress progress;
    stk__progress_start(&progress);
    stk_status status = STK_OK;
    for (int64_t round = 0; round <= job->rounds && status == STK_OK; round++) /* 0 warms up */
        for (int i = 0; i < job->entry_count && status == STK_OK; i++) {
            stk__progress_show(&progress, "measuring", (uint64_t)(round * job->entry_count + i),
                               (uint64_t)((job->rounds + 1) * job->entry_count));
            job->entries[i].way.epoch = (uint32_t)round;
            status = run_entry(job, &job->entries[i], round > 0, error);
        }
    stk__progress_end(&progress);
    return status;
}

/* Of our entries; NULL when there is none. */
static stk__bench_row *find_row(bench_job *job, stk__chain chain, stk__cpu_level level, int workers)
{
    for (int i = 0; i < job->entry_count; i++) {
        const entry *e = &job->entries[i];
        if (e->run == run_pool && e->way.chain == chain && e->way.level == level && e->way.workers == workers)
            return e->row;
    }
    return NULL;
}

static double median_of(const stk__bench_row *row)
{
    return row ? stk__bench_median(row) : NAN;
}

static double find_median(bench_job *job, stk_status (*run)(bench_job *, entry *, double *, stk_error *),
                          int workers)
{
    for (int i = 0; i < job->entry_count; i++)
        if (job->entries[i].run == run && job->entries[i].way.workers == workers)
            return median_of(job->entries[i].row);
    return NAN;
}

static double best_peer_ms(bench_job *job, stk__chain chain)
{
    double best = NAN;
    for (int i = 0; i < job->entry_count; i++) {
        const entry *e = &job->entries[i];
        if (e->run == run_peer && e->way.chain == chain)
            best = fmin(best, median_of(e->row)); /* NAN: the other */
    }
    return best;
}

static void judge_levels(bench_job *job)
{
    static const struct {
        const char *names[2];
        stk__cpu_level fast, slow;
        double goal;
    } pairs[] = {{{"AVX2 / reference, standard", "AVX2 / reference, strong"}, STK_CPU_AVX2, STK_CPU_C, 4},
                 {{"AVX-512 / AVX2, standard", "AVX-512 / AVX2, strong"}, STK_CPU_AVX512, STK_CPU_AVX2, 1.3}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        for (int chain = 0; chain <= STK_CHAIN_STRONG; chain++) {
            const double slow = median_of(find_row(job, (stk__chain)chain, pairs[i].slow, 1)),
                         fast = median_of(find_row(job, (stk__chain)chain, pairs[i].fast, 1));
            stk__bench_judge(&job->bench, pairs[i].names[chain], slow / fast, true, pairs[i].goal);
        }
}

static void judge(bench_job *job)
{
    stk__bench *b = &job->bench;
    const double standard = median_of(find_row(job, STK_CHAIN_STANDARD, job->best, job->cpus));
    const double strong = median_of(find_row(job, STK_CHAIN_STRONG, job->best, job->cpus));
    stk__bench_judge(b, "standard: times as fast as the best peer",
                     best_peer_ms(job, STK_CHAIN_STANDARD) / standard, true, 7)
        ->aim = 10;
    stk__bench_judge(b, "strong: times as fast as the best peer",
                     best_peer_ms(job, STK_CHAIN_STRONG) / strong, true, 8)
        ->aim = 10;
    judge_levels(job);
    if (job->quick) return;
    const double copy = find_median(job, run_copy, 0);
    for (int i = 0; i < job->entry_count; i++)
        if (job->entries[i].run == run_pool)
            job->entries[i].row->copy_share = copy / median_of(job->entries[i].row);
    stk__bench_judge(b, "no warp: share of the bandwidth of a plain copy",
                     copy / median_of(find_row(job, STK_CHAIN_NO_WARP, job->best, job->cpus)), true, 0.6);
    const double ours = median_of(find_row(job, STK_CHAIN_STANDARD, job->best, 1)) /
                        median_of(find_row(job, STK_CHAIN_STANDARD, job->best, 2));
    const double bare = find_median(job, run_bare, 1) / find_median(job, run_bare, 2);
    stk__bench_judge(b, "1 to 2 workers: scaling / that of a bare loop of threads", ours / bare, true, 0.95);
    stk__bench_judge(b, "draw + resolve: us for the batch", find_median(job, run_resolve, 0), false, 50);
    stk__bench_judge(b, "files to augmented batches: rate / DataLoader", NAN, true, 5)->aim = 6;
}

static stk_status run_all(bench_job *job, stk_error *error)
{
    STK__TRY(stk__bench_batch_open(&job->batch, job->quick ? QUICK_SAMPLES : STK_BENCH_SAMPLES, error));
    job->cpus = stk__cpu_budget_read(NULL).cpus;
    job->best = stk__device_cpu_level();
    if (job->python) STK__TRY(start_peers(job, error));
    for (int i = 0; i < PEERS && !job->python; i++)
        snprintf(job->peers[i].words, sizeof job->peers[i].words, "no --peers PYTHON");
    snprintf(job->loader.words, sizeof job->loader.words, "%s",
             job->python ? job->loader.words : job->peers[0].words);
    for (int chain = 0; chain <= STK_CHAIN_STRONG; chain++) {
        add_all_ours(job, (stk__chain)chain);
        add_peers(job, (stk__chain)chain);
    }
    if (!job->quick) add_more(job);
    job->bench.spaced = true;
    stk__bench_describe(&job->bench, "%llu x %d x %d RGB + masks to float32 NCHW, %lld interleaved rounds",
                        (unsigned long long)job->batch.count, (int)job->batch.h, (int)job->batch.w,
                        (long long)job->rounds);
    STK__TRY(run_rounds(job, error));
    judge(job);
    return STK_OK;
}

static void close_all(bench_job *job)
{
    for (int i = 0; i < PEERS; i++)
        stk__peer_stop(&job->peers[i]);
    stk__peer_stop(&job->loader);
    stk__bench_data_close(&job->folder);
    stk__bench_data_close(&job->faces);
    stk__bench_batch_close(&job->batch);
    stk__pool_stop();
}

int stk__bench_augment(int argc, char **argv)
{
    static const stk__verb verb = {
        .name = "bench augment",
        .usage = "bench augment",
        .about = "A batch of 32 faces and masks, augmented by every level of our kernels, beside other "
                 "libraries."};
    static bench_job job; /* too large for a stack */
    job.rounds = 7;
    const stk__flag flags[] = {
        {.name = "rounds", .value = "N", .help = "interleaved rounds (7)", .number = &job.rounds},
        {.name = "quick", .help = "three rounds, eight faces", .given = &job.quick},
        {.name = "peers",
         .value = "PYTHON",
         .help = "interpreter that has the other libraries (make bench makes one)",
         .text = &job.python},
        {.name = "json", .help = "report as JSON on standard output", .given = &stk__cli_json},
    };
    stk__arguments arguments = {.verb = &verb, .flags = flags, .flag_count = sizeof flags / sizeof flags[0]};
    int code = stk__arguments_read(&arguments, argc, argv);
    if (code >= 0) return code;
    if (job.quick) job.rounds = 3;
    if (job.rounds < 1 || job.rounds > STK_BENCH_ROUNDS)
        return stk__cli_usage("bench augment", "--rounds must be from 1 to %d", STK_BENCH_ROUNDS);
    stk_error error;
    const stk_status status = run_all(&job, &error);
    code = status == STK_OK ? stk__bench_report(&job.bench) : stk__cli_fail(&error);
    close_all(&job);
    return code;
}
