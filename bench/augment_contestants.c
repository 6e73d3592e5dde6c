#include "augment_contestants.h"

#include "timed_loader.h"

#include "core/clock.h"
#include "core/cpu.h"
#include "core/file.h"

#include <unistd.h>

enum { EPOCH_SAMPLES = 512, RESOLVES = 20 };

/* What each of them runs, and how it is matched with ours: bench/peers. */
static const struct {
    const char *contestant, *module, *how, *before, *after; /* of the number of CPUs, for people */
} peer_kinds[STK_CONTEST_PEERS] = {
    {"Albumentations", "peer_albumentations", "threads", "1 process, ", " OpenCV threads"},
    {"Albumentations", "peer_albumentations", "processes", "", " processes"},
    {"torchvision v2", "peer_torchvision", "processes", "per sample, ", " processes"},
    {"torchvision v2", "peer_torchvision", "whole", "whole batch, ", " threads"},
    {"Kornia", "peer_kornia", "whole", "whole batch, ", " threads"},
    {"NumPy + PIL", "peer_pil", "processes", "per sample, ", " processes"},
};

static double ms_since(uint64_t start_ns)
{
    return (double)(stk__clock_ns() - start_ns) * 1e-6;
}

static double run_resolve(stk__contest *contest, const stk__bench_way *way)
{
    const uint64_t start = stk__clock_ns();
    for (int i = 0; i < RESOLVES; i++)
        stk__bench_batch_resolve(&contest->batch, way);
    return ms_since(start) * 1000 / RESOLVES;
}

static double run_device(stk__contest *contest, stk__contestant *c)
{
    stk_error error;
    const uint64_t start = stk__clock_ns();
    const stk__augment_batch work = stk__bench_batch_resolve(&contest->batch, &c->way);
    if (stk__device_augment(c->device, &work, &error) != STK_OK)
        snprintf(c->row->why, sizeof c->row->why, "%.190s", error.message);
    return ms_since(start);
}

static double run_peer(stk__contestant *c)
{
    double ms = 0;
    if (!stk__peer_round(c->peer, stk__chain_name(c->way.chain), &ms))
        snprintf(c->row->why, sizeof c->row->why, "%s", c->peer->words);
    return ms;
}

static stk_status run_loader(stk__contest *contest, const stk__bench_way *way, double *per_s,
                             stk_error *error)
{
    const stk_loader_options options = {.root = contest->faces.folder,
                                        .batch_size = STK_BENCH_SAMPLES,
                                        .augment = "strong",
                                        .axes = STK_AXES_NCHW,
                                        .mean = {0.485, 0.456, 0.406},
                                        .std = {0.229, 0.224, 0.225},
                                        .seed = way->epoch,
                                        .epochs = 1,
                                        .alone = true};
    stk__bench_cost cost;
    STK__TRY(stk__bench_drain(&options, NULL, &cost, error));
    *per_s = (double)cost.samples / cost.wall_s;
    return STK_OK;
}

stk_status stk__contest_turn(stk__contest *contest, stk__contestant *c, double *value, stk_error *error)
{
    switch (c->kind) {
    case STK_CONTEST_POOL:
    case STK_CONTEST_SCALED:
        return stk__bench_batch_pool(&contest->batch, &c->way, value, error);
    case STK_CONTEST_BARE:
        return stk__bench_batch_bare(&contest->batch, &c->way, value, error);
    case STK_CONTEST_LOADER:
        return run_loader(contest, &c->way, value, error);
    case STK_CONTEST_COPY:
        *value = stk__bench_batch_copy(&contest->batch);
        return STK_OK;
    case STK_CONTEST_RESOLVE:
        *value = run_resolve(contest, &c->way);
        return STK_OK;
    case STK_CONTEST_DEVICE:
        *value = run_device(contest, c);
        break;
    case STK_CONTEST_PEER:
        *value = run_peer(c);
        break;
    case STK_CONTEST_PEER_LOADER:
        *value = EPOCH_SAMPLES * 1000 / run_peer(c);
        break;
    }
    usleep(20000); /* threads of other libraries spin for a moment before they sleep */
    return STK_OK;
}

static stk__contestant *enter(stk__contest *contest, stk__contest_kind kind, stk__bench_way way,
                              stk__bench_row *row)
{
    stk__contestant *c = &contest->contestants[contest->count++];
    *c = (stk__contestant){.kind = kind, .row = row, .way = way};
    return c;
}

static void enter_ours(stk__contest *contest, stk__chain chain, stk__cpu_level level, int workers)
{
    char setting[40];
    snprintf(setting, sizeof setting, "%s, %d worker%s", stk__cpu_level_name(level), workers,
             workers == 1 ? "" : "s");
    enter(contest, STK_CONTEST_POOL, (stk__bench_way){chain, level, workers, 0},
          stk__bench_begin(&contest->bench, "stoker", stk__chain_name(chain), setting, "ms"));
}

/* The best level with every number of workers, the others with one. */
static void enter_all_ours(stk__contest *contest, stk__chain chain)
{
    static const int workers[] = {1, 2, 4, 8, 16};
    bool all_cpus = false;
    for (size_t i = 0; i < sizeof workers / sizeof workers[0]; i++) {
        enter_ours(contest, chain, contest->best, workers[i]);
        all_cpus |= workers[i] == contest->cpus;
    }
    if (!all_cpus) enter_ours(contest, chain, contest->best, contest->cpus);
    for (int level = (int)contest->best - 1; level >= STK_CPU_C; level--)
        if (stk__augment_at((stk__cpu_level)level)) enter_ours(contest, chain, (stk__cpu_level)level, 1);
}

static void enter_devices(stk__contest *contest, stk__chain chain)
{
    for (int i = 0; i < contest->device_count; i++) {
        const stk__device_info *info = &contest->devices[i]->info;
        char setting[40];
        snprintf(setting, sizeof setting, "%.12s: %.24s", info->name, info->model);
        enter(contest, STK_CONTEST_DEVICE, (stk__bench_way){.chain = chain},
              stk__bench_begin(&contest->bench, "stoker", stk__chain_name(chain), setting, "ms"))
            ->device = contest->devices[i];
    }
}

static void enter_peers(stk__contest *contest, stk__chain chain)
{
    for (int i = 0; i < STK_CONTEST_PEERS; i++) {
        char setting[40];
        snprintf(setting, sizeof setting, "%s%d%s", peer_kinds[i].before, contest->cpus, peer_kinds[i].after);
        enter(contest, STK_CONTEST_PEER, (stk__bench_way){.chain = chain},
              stk__bench_begin(&contest->bench, peer_kinds[i].contestant, stk__chain_name(chain), setting,
                               "ms"))
            ->peer = &contest->peers[i];
    }
}

/* Turns of the pool and of bare threads follow each other, so that what disturbs one disturbs both. */
static void enter_scaling(stk__contest *contest, int threads)
{
    const stk__bench_way way = {STK_CHAIN_STANDARD, contest->best, threads, 0};
    const char *level = stk__cpu_level_name(contest->best), *more = threads == 1 ? "" : "s";
    char setting[40];
    snprintf(setting, sizeof setting, "%s, %d worker%s", level, threads, more);
    enter(contest, STK_CONTEST_SCALED, way,
          stk__bench_begin(&contest->bench, "stoker", "scaling", setting, "ms"));
    snprintf(setting, sizeof setting, "%s, %d thread%s", level, threads, more);
    enter(contest, STK_CONTEST_BARE, way,
          stk__bench_begin(&contest->bench, "bare loop", "scaling", setting, "ms"));
}

/* What only a full run measures: limits of the machine, and what is around the kernels. */
static void enter_more(stk__contest *contest)
{
    stk__bench *b = &contest->bench;
    const stk__bench_way strong = {.chain = STK_CHAIN_STRONG};
    char setting[40];
    enter_ours(contest, STK_CHAIN_NO_WARP, contest->best, contest->cpus);
    snprintf(setting, sizeof setting, "%.0f MB read, as many written",
             (double)contest->batch.copy_bytes * 1e-6);
    enter(contest, STK_CONTEST_COPY, strong, stk__bench_begin(b, "memcpy", "no warp", setting, "ms"));
    enter_scaling(contest, 1);
    enter_scaling(contest, 2);
    snprintf(setting, sizeof setting, "strong, %llu samples", (unsigned long long)contest->batch.count);
    enter(contest, STK_CONTEST_RESOLVE, strong,
          stk__bench_begin(b, "stoker", "draw, resolve", setting, "us"));
    enter(contest, STK_CONTEST_LOADER, strong,
          stk__bench_begin(b, "stoker", "files, strong", "batches of 32, auto", "samples/s"));
    snprintf(setting, sizeof setting, "Albumentations, %d workers", contest->cpus);
    enter(contest, STK_CONTEST_PEER_LOADER, strong,
          stk__bench_begin(b, "DataLoader", "files, strong", setting, "samples/s"))
        ->peer = &contest->peer_loader;
}

/* Those that compute: cpu has its own rows, null makes nothing. */
static void open_devices(stk__contest *contest)
{
    const int count = stk__device_list(contest->infos, STK_DEVICE_MOST);
    for (int i = 0; i < count && contest->device_count < STK_CONTEST_DEVICES; i++) {
        const stk__device_info *info = &contest->infos[i];
        const bool computes = info->kind == STK_DEVICE_OPENCL || info->kind == STK_DEVICE_CUDA;
        if (!computes || !info->available) continue;
        if (stk__device_open(&contest->devices[contest->device_count], info->name, NULL) == STK_OK)
            contest->device_count++;
    }
}

static stk_status write_pixels(stk__contest *contest, char *path, size_t size, stk_error *error)
{
    snprintf(path, size, "%s/batch.u8", contest->folder.folder);
    const stk__buffer pixels = {.data = contest->batch.arena, .size_bytes = contest->batch.arena_bytes};
    STK__TRY(stk__peer_write_texts(contest->folder.folder, error));
    return stk__file_write(path, pixels, STK_FILE_QUICK, error);
}

static void start_peer(const stk__contest *contest, stk__peer *peer, const char *module, const char *how,
                       const char *data)
{
    const bool files = data == contest->faces.folder;
    const stk__peer_options options = {.python = contest->python,
                                       .folder = contest->folder.folder,
                                       .module = module,
                                       .how = how,
                                       .data = data,
                                       .count = files ? EPOCH_SAMPLES : contest->batch.count,
                                       .h = contest->batch.h,
                                       .w = contest->batch.w,
                                       .cpus = contest->cpus};
    stk__peer_start(peer, &options);
}

/* All load their libraries at once. */
static stk_status start_peers(stk__contest *contest, stk_error *error)
{
    char path[600];
    STK__TRY(write_pixels(contest, path, sizeof path, error));
    for (int i = 0; i < STK_CONTEST_PEERS; i++)
        start_peer(contest, &contest->peers[i], peer_kinds[i].module, peer_kinds[i].how, path);
    if (!contest->quick)
        start_peer(contest, &contest->peer_loader, "peer_loader", "loader", contest->faces.folder);
    for (int i = 0; i < STK_CONTEST_PEERS; i++)
        stk__peer_await(&contest->peers[i]);
    stk__peer_await(&contest->peer_loader);
    return STK_OK;
}

static void do_without_peers(stk__contest *contest)
{
    static const stk__peer absent = {.words = "no --peers PYTHON"};
    for (int i = 0; i < STK_CONTEST_PEERS; i++)
        contest->peers[i] = absent;
    contest->peer_loader = absent;
}

/* After Ctrl-C: a turn may last longer than the program is given to end. Peers die with it. */
static void remove_folders(void *context)
{
    const stk__contest *contest = context;
    stk__bench_data_remove(&contest->folder);
    stk__bench_data_remove(&contest->faces);
}

stk_status stk__contest_open(stk__contest *contest, uint64_t samples, stk_error *error)
{
    contest->cpus = stk__cpu_budget_read(NULL).cpus;
    contest->best = stk__device_cpu_level();
    STK__TRY(stk__bench_batch_open(&contest->batch, samples, error));
    STK__TRY(stk__bench_folder_make(&contest->folder, error));
    if (!contest->quick) STK__TRY(stk__bench_data_open(&contest->faces, NULL, EPOCH_SAMPLES, error));
    stk__interrupt_target(remove_folders, contest);
    open_devices(contest);
    if (contest->python)
        STK__TRY(start_peers(contest, error));
    else
        do_without_peers(contest);
    for (int chain = 0; chain <= STK_CHAIN_STRONG; chain++) {
        enter_all_ours(contest, (stk__chain)chain);
        enter_devices(contest, (stk__chain)chain);
        enter_peers(contest, (stk__chain)chain);
    }
    if (!contest->quick) enter_more(contest);
    return STK_OK;
}

void stk__contest_close(stk__contest *contest)
{
    stk__interrupt_target(NULL, NULL);
    for (int i = 0; i < STK_CONTEST_PEERS; i++)
        stk__peer_stop(&contest->peers[i]);
    stk__peer_stop(&contest->peer_loader);
    for (int i = 0; i < contest->device_count; i++)
        stk__device_close(&contest->devices[i]);
    stk__bench_data_close(&contest->folder);
    stk__bench_data_close(&contest->faces);
    stk__bench_batch_close(&contest->batch);
    stk__pool_stop();
}
