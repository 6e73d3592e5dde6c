/* SPDX-License-Identifier: Apache-2.0 */
/* Who takes part in `stoker bench augment`: our kernels at every level, number of workers and device, one
 * process of Python for each way to use another library, and baselines that tell what the machine allows. A
 * turn in this process is a function of `runs`; a failure of a device or a peer makes it absent. */
#include "augment_contestants.h"

#include "timed_loader.h"

#include "core/clock.h"
#include "core/cpu.h"
#include "core/file.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { EPOCH_SAMPLES = 512, RESOLVES = 20 };

/* What each of them runs, and how it is matched with ours: bench/peers. */
static const struct {
    const char *name, *module, *how, *before, *after; /* of the number of CPUs, for people */
} peers[STK_BENCH_PEERS] = {
    {"Albumentations", "peer_albumentations", "threads", "1 process, ", " OpenCV threads"},
    {"Albumentations", "peer_albumentations", "processes", "", " processes"},
    {"torchvision v2", "peer_torchvision", "processes", "per sample, ", " processes"},
    {"torchvision v2", "peer_torchvision", "whole", "whole batch, ", " threads"},
    {"Kornia", "peer_kornia", "whole", "whole batch, ", " threads"},
    {"NumPy + PIL", "peer_pil", "processes", "per sample, ", " processes"},
};

/* --- turns -------------------------------------------------------------------------------------------------
 */

static double ms_since(uint64_t start_ns)
{
    return (double)(stk__clock_ns() - start_ns) * 1e-6;
}

static void settle(void)
{
    usleep(20000); /* threads of other libraries spin for a moment before they sleep */
}

static stk_status run_pool(stk__contestant *c, double *ms, stk_error *error)
{
    const stk__augment_turn *turn = c->context;
    return stk__bench_batch_pool(&turn->all->batch, &turn->way, ms, error);
}

static stk_status run_baseline(stk__contestant *c, double *ms, stk_error *error)
{
    const stk__augment_turn *turn = c->context;
    return stk__bench_batch_baseline(&turn->all->batch, &turn->way, ms, error);
}

static stk_status run_augmenter(stk__contestant *c, double *ms, stk_error *error)
{
    const stk__augment_turn *turn = c->context;
    return stk__bench_batch_augmenter(&turn->all->batch, &turn->way, ms, error);
}

static stk_status run_copy(stk__contestant *c, double *ms, stk_error *error)
{
    const stk__augment_turn *turn = c->context;
    (void)error;
    *ms = stk__bench_batch_copy(&turn->all->batch);
    return STK_OK;
}

static stk_status run_resolve(stk__contestant *c, double *us, stk_error *error)
{
    const stk__augment_turn *turn = c->context;
    const uint64_t start = stk__clock_ns();
    (void)error;
    for (int i = 0; i < RESOLVES; i++)
        stk__bench_batch_resolve(&turn->all->batch, &turn->way);
    *us = ms_since(start) * 1000 / RESOLVES;
    return STK_OK;
}

static stk_status run_device(stk__contestant *c, double *ms, stk_error *error)
{
    const stk__augment_turn *turn = c->context;
    const uint64_t start = stk__clock_ns();
    const stk__augment_batch work = stk__bench_batch_resolve(&turn->all->batch, &turn->way);
    if (stk__device_augment(turn->device, &work, error) != STK_OK) stk__contestant_give_up(c, error->message);
    *ms = ms_since(start);
    settle();
    return STK_OK;
}

static stk_status run_peer(stk__contestant *c, double *ms, stk_error *error)
{
    const stk__augment_turn *turn = c->context;
    char request[48], answer[STK_WORKER_ANSWER];
    (void)error;
    snprintf(request, sizeof request, "round %s", stk__chain_name(turn->way.chain));
    if (stk__contestant_ask(c, request, "ms", answer)) *ms = strtod(answer, NULL);
    settle();
    return STK_OK;
}

static stk_status run_peer_loader(stk__contestant *c, double *per_s, stk_error *error)
{
    double ms = 0;
    STK__TRY(run_peer(c, &ms, error));
    *per_s = EPOCH_SAMPLES * 1000 / ms;
    return STK_OK;
}

static stk_status run_loader(stk__contestant *c, double *per_s, stk_error *error)
{
    const stk__augment_turn *turn = c->context;
    const stk_loader_options options = {.root = turn->all->faces.folder,
                                        .batch_size = STK_BENCH_SAMPLES,
                                        .augment = "strong",
                                        .axes = STK_AXES_NCHW,
                                        .mean = {0.485, 0.456, 0.406},
                                        .std = {0.229, 0.224, 0.225},
                                        .seed = turn->way.epoch,
                                        .epochs = 1,
                                        .dedicated_cpus = true};
    stk__loader_cost cost;
    STK__TRY(stk__timed_loader_run(&options, NULL, &cost, error));
    *per_s = (double)cost.samples / cost.wall_s;
    return STK_OK;
}

/* --- who takes part ----------------------------------------------------------------------------------------
 */

static stk_status (*const runs[STK_BENCH_KINDS])(stk__contestant *, double *,
                                                 stk_error *) = {[STK_BENCH_POOL] = run_pool,
                                                                 [STK_BENCH_DEVICE] = run_device,
                                                                 [STK_BENCH_PEER] = run_peer,
                                                                 [STK_BENCH_COPY] = run_copy,
                                                                 [STK_BENCH_SCALED] = run_pool,
                                                                 [STK_BENCH_BASELINE] = run_baseline,
                                                                 [STK_BENCH_CALLER] = run_augmenter,
                                                                 [STK_BENCH_KERNELS] = run_pool,
                                                                 [STK_BENCH_RESOLVE] = run_resolve,
                                                                 [STK_BENCH_LOADER] = run_loader,
                                                                 [STK_BENCH_PEER_LOADER] = run_peer_loader};

/* Its setting is still to be said, and its row to be begun. */
static stk__contestant *add(stk__augment_bench *all, const char *name, stk__augment_kind kind,
                            stk__bench_way way)
{
    stk__augment_turn *turn = &all->turns[all->count];
    stk__contestant *c = &all->contestants[all->count++];
    *turn = (stk__augment_turn){.all = all, .way = way};
    *c = (stk__contestant){.name = name, .kind = kind, .run = runs[kind], .context = turn};
    return c;
}

static void STK__PRINTF(3, 4) enter(stk__contestant *c, const char *test, const char *format, ...)
{
    const stk__augment_turn *turn = c->context;
    static const char *const units[STK_BENCH_KINDS] = {
        [STK_BENCH_RESOLVE] = "us", [STK_BENCH_LOADER] = "samples/s", [STK_BENCH_PEER_LOADER] = "samples/s"};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(c->setting, sizeof c->setting, format, arguments);
    va_end(arguments);
    stk__contestant_enter_rows(c, turn->all->bench, test, units[c->kind] ? units[c->kind] : "ms", NULL);
}

static void add_ours(stk__augment_bench *all, stk__chain chain, stk__cpu_level level, int workers)
{
    enter(add(all, "stoker", STK_BENCH_POOL, (stk__bench_way){chain, level, workers, 0}),
          stk__chain_name(chain), "%s, %d worker%s", stk__cpu_level_name(level), workers,
          workers == 1 ? "" : "s");
}

/* The best level with every number of workers, the others with one. */
static void add_all_ours(stk__augment_bench *all, stk__chain chain)
{
    static const int workers[] = {1, 2, 4, 8, 16};
    bool all_cpus = false;
    for (size_t i = 0; i < sizeof workers / sizeof workers[0]; i++) {
        add_ours(all, chain, all->best, workers[i]);
        all_cpus |= workers[i] == all->cpus;
    }
    if (!all_cpus) add_ours(all, chain, all->best, all->cpus);
    for (int level = (int)all->best - 1; level >= STK_CPU_C; level--)
        if (stk__augment_at((stk__cpu_level)level)) add_ours(all, chain, (stk__cpu_level)level, 1);
}

static void add_devices(stk__augment_bench *all, stk__chain chain)
{
    for (int i = 0; i < all->device_count; i++) {
        const stk__device_info *info = &all->devices[i]->info;
        stk__contestant *c = add(all, "stoker", STK_BENCH_DEVICE, (stk__bench_way){.chain = chain});
        ((stk__augment_turn *)c->context)->device = all->devices[i];
        enter(c, stk__chain_name(chain), "%.12s: %.24s", info->name, info->model);
    }
}

static void add_peers(stk__augment_bench *all, stk__chain chain)
{
    for (int i = 0; i < STK_BENCH_PEERS; i++) {
        stk__contestant *c = add(all, peers[i].name, STK_BENCH_PEER, (stk__bench_way){.chain = chain});
        c->process = &all->processes[i];
        enter(c, stk__chain_name(chain), "%s%d%s", peers[i].before, all->cpus, peers[i].after);
    }
}

/* Turns of the pool and of the baseline follow each other, so that what disturbs one disturbs both. */
static void add_scaling(stk__augment_bench *all, int threads)
{
    const stk__bench_way way = {STK_CHAIN_STANDARD, all->best, threads, 0};
    const char *level = stk__cpu_level_name(all->best), *more = threads == 1 ? "" : "s";
    enter(add(all, "stoker", STK_BENCH_SCALED, way), "scaling", "%s, %d worker%s", level, threads, more);
    enter(add(all, "baseline", STK_BENCH_BASELINE, way), "scaling", "%s, %d thread%s", level, threads, more);
}

/* Of stk_augmenter_apply, what the kernels alone take. */
static void add_caller(stk__augment_bench *all)
{
    const stk__bench_way way = {STK_CHAIN_STANDARD, all->best, all->cpus, 0};
    enter(add(all, "stoker", STK_BENCH_CALLER, way), "own pixels", "stk_augmenter_apply");
    enter(add(all, "stoker", STK_BENCH_KERNELS, way), "own pixels", "the kernels alone");
}

/* What only a full run measures: limits of the machine, and what is around the kernels. */
static void add_more(stk__augment_bench *all)
{
    const stk__bench_way strong = {.chain = STK_CHAIN_STRONG};
    add_ours(all, STK_CHAIN_NO_WARP, all->best, all->cpus);
    enter(add(all, "memcpy", STK_BENCH_COPY, strong), "no warp", "%.0f MB read, as many written",
          (double)all->batch.copy_bytes * 1e-6);
    add_scaling(all, 1);
    add_scaling(all, 2);
    add_caller(all);
    enter(add(all, "stoker", STK_BENCH_RESOLVE, strong), "draw, resolve", "strong, %llu samples",
          (unsigned long long)all->batch.count);
    enter(add(all, "stoker", STK_BENCH_LOADER, strong), "files, strong", "batches of 32, auto");
    stk__contestant *c = add(all, "DataLoader", STK_BENCH_PEER_LOADER, strong);
    c->process = &all->processes[STK_BENCH_PEERS];
    enter(c, "files, strong", "Albumentations, %d workers", all->cpus);
}

/* --- devices and processes ---------------------------------------------------------------------------------
 */

/* Those that compute: cpu has its own rows, null makes nothing. */
static void open_devices(stk__augment_bench *all)
{
    const int count = stk__device_list(all->infos, STK_DEVICE_MOST);
    for (int i = 0; i < count && all->device_count < STK_BENCH_DEVICES; i++) {
        const stk__device_info *info = &all->infos[i];
        const bool computes = info->kind == STK_DEVICE_OPENCL || info->kind == STK_DEVICE_CUDA;
        if (!computes || !info->available) continue;
        if (stk__device_open(&all->devices[all->device_count], info->name, NULL) == STK_OK)
            all->device_count++;
    }
}

static stk_status write_pixels(stk__augment_bench *all, char *path, size_t size, stk_error *error)
{
    snprintf(path, size, "%s/batch.u8", all->folder.folder);
    const stk__buffer pixels = {.data = all->batch.arena, .size_bytes = all->batch.arena_bytes};
    STK__TRY(stk__peer_write_texts(all->folder.folder, error));
    return stk__file_write(path, pixels, STK_FILE_QUICK, error);
}

static void start_peer(stk__augment_bench *all, int which, const char *data)
{
    const bool files = which == STK_BENCH_PEERS;
    stk__worker_process *process = &all->processes[which];
    stk__command_add_peer(&process->command,
                          &(stk__peer){.python = all->options->python,
                                       .folder = all->folder.folder,
                                       .module = files ? "peer_loader" : peers[which].module,
                                       .how = files ? "loader" : peers[which].how,
                                       .data = data,
                                       .count = files ? EPOCH_SAMPLES : all->batch.count,
                                       .h = all->batch.h,
                                       .w = all->batch.w,
                                       .cpus = all->cpus});
    stk__worker_process_start(process);
}

/* All load their libraries at once. */
static stk_status start_peers(stk__augment_bench *all, stk_error *error)
{
    char path[600];
    STK__TRY(write_pixels(all, path, sizeof path, error));
    for (int i = 0; i < STK_BENCH_PEERS; i++)
        start_peer(all, i, path);
    if (all->files) start_peer(all, STK_BENCH_PEERS, all->faces.folder);
    for (int i = 0; i <= STK_BENCH_PEERS; i++)
        stk__worker_process_await(&all->processes[i]);
    return STK_OK;
}

static void do_without_peers(stk__augment_bench *all)
{
    for (int i = 0; i <= STK_BENCH_PEERS; i++)
        snprintf(all->processes[i].words, sizeof all->processes[i].words, "no --peers PYTHON");
}

/* After Ctrl-C. Peers die with the program. */
static void remove_folders(void *context)
{
    const stk__augment_bench *all = context;
    stk__bench_data_remove(&all->folder);
    stk__bench_data_remove(&all->faces);
}

stk_status stk__augment_bench_open(stk__augment_bench *all, stk_error *error)
{
    const stk__bench_options *options = all->options;
    all->cpus = stk__cpu_budget_read(NULL).cpus;
    all->best = stk__device_cpu_level();
    for (int i = 0; i <= STK_BENCH_PEERS; i++)
        all->processes[i].stop = options->host->stop;
    all->files = !options->quick && !options->folder;
    STK__TRY(stk__bench_batch_open(&all->batch, options->samples, error));
    if (options->folder) STK__TRY(stk__bench_batch_fill(&all->batch, options->folder, error));
    STK__TRY(stk__bench_folder_make(&all->folder, error));
    if (all->files) STK__TRY(stk__bench_data_open(&all->faces, options, EPOCH_SAMPLES, error));
    options->host->on_stop(remove_folders, all);
    open_devices(all);
    if (options->python)
        STK__TRY(start_peers(all, error));
    else
        do_without_peers(all);
    for (int chain = 0; chain <= STK_CHAIN_STRONG; chain++) {
        add_all_ours(all, (stk__chain)chain);
        add_devices(all, (stk__chain)chain);
        add_peers(all, (stk__chain)chain);
    }
    if (all->files) add_more(all);
    return STK_OK;
}

void stk__augment_bench_close(stk__augment_bench *all)
{
    all->options->host->on_stop(NULL, NULL);
    for (int i = 0; i <= STK_BENCH_PEERS; i++)
        stk__worker_process_stop(&all->processes[i]);
    for (int i = 0; i < all->device_count; i++)
        stk__device_close(&all->devices[i]);
    stk__bench_data_close(&all->folder);
    stk__bench_data_close(&all->faces);
    stk__bench_batch_close(&all->batch);
    stk__pool_stop();
}
