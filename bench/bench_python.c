/* SPDX-License-Identifier: Apache-2.0 */
/* stoker bench python: ourselves from Python beside ourselves from C, and beside PyTorch's DataLoader with
 * two libraries for augmentation. Contestants take turns, most of them in processes of their own; goals
 * compare medians of rounds. What each turn is: bench/peers/python_stoker.py. One thread, but for Ctrl-C. */
#include "bench_batch.h"
#include "bench_data.h"
#include "benchmark.h"
#include "contestant.h"

#include "core/clock.h"
#include "core/cpu.h"
#include "core/file.h"
#include "device/host.h"
#include "source/source.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FACES = 512, QUICK_FACES = 64, SLOW_START_S = 600, ANSWER_S = 180 };

typedef enum python_process {
    OURS,
    IN_C,
    ALBUMENTATIONS,
    TORCHVISION,
    PROCESSES,
    HERE = PROCESSES
} python_process;

/* What is measured, in the order of turns; goals name rows. */
typedef enum python_row {
    C_LOADER,
    LOADER,
    STRONG,
    STRONG_ALBUMENTATIONS,
    STRONG_TORCHVISION,
    C_AUGMENT,
    AUGMENT,
    COST_BATCH,
    COST_IMPORT,
    COST_MEMORY,
    ROWS
} python_row;

static const struct {
    const char *name, *test, *setting, *unit;
    python_process process;
    const char *request, *word; /* of its process */
} rows[ROWS] = {
    [C_LOADER] = {"stoker", "files to uint8", "C: stk_loader", "samples/s", IN_C, "round pairs", "ms"},
    [LOADER] = {"stoker", "files to uint8", "stoker.Loader", "samples/s", OURS, "round pairs", "ms"},
    [STRONG] = {"stoker", "files, strong", "stoker.Loader", "samples/s", OURS, "round strong", "ms"},
    [STRONG_ALBUMENTATIONS] = {"DataLoader", "files, strong", "Albumentations", "samples/s", ALBUMENTATIONS,
                               "round strong", "ms"},
    [STRONG_TORCHVISION] = {"DataLoader", "files, strong", "torchvision v2", "samples/s", TORCHVISION,
                            "round strong", "ms"},
    [C_AUGMENT] = {"stoker", "a batch", "C: stk_augmenter_apply", "ms", HERE, NULL, NULL},
    [AUGMENT] = {"stoker", "a batch", "stoker.Augment", "ms", OURS, "round standard", "ms"},
    [COST_BATCH] = {"stoker", "own cost", "CPU time for a batch", "us", OURS, "cost batch", "us"},
    [COST_IMPORT] = {"stoker", "own cost", "import stoker", "ms", OURS, "cost import", "ms"},
    [COST_MEMORY] = {"stoker", "own cost", "import stoker", "MB", OURS, "cost memory", "MB"},
};

typedef struct python_bench {
    const stk__bench_options *options;
    stk__bench *bench;
    int cpus;
    uint64_t samples; /* of the data set */
    stk__bench_data scratch, data;
    stk__bench_batch batch;
    stk__worker_process processes[PROCESSES];
    stk__contestant contestants[ROWS];
} python_bench;

/* --- turns -----------------------------------------------------------------------------------------------
 */

static void settle(void)
{
    usleep(20000); /* threads of other libraries spin for a moment before they sleep */
}

static bool is_rate(int row)
{
    return strcmp(rows[row].unit, "samples/s") == 0;
}

static stk_status measure(python_bench *all, int row, int64_t round, double *value, double *cpu_s,
                          stk_error *error)
{
    stk__contestant *c = &all->contestants[row];
    char answer[STK_WORKER_ANSWER];
    *cpu_s = 0;
    if (rows[row].process == HERE) {
        const stk__bench_way way = {
            .chain = STK_CHAIN_STANDARD, .workers = all->cpus, .epoch = (uint32_t)round};
        return stk__bench_batch_planes(&all->batch, &way, value, error);
    }
    *value = NAN;
    const double before = stk__worker_process_cpu_seconds(c->process);
    if (stk__contestant_ask(c, rows[row].request, rows[row].word, answer)) *value = strtod(answer, NULL);
    if (isfinite(*value)) *cpu_s = stk__worker_process_cpu_seconds(c->process) - before;
    settle();
    return STK_OK;
}

static stk_status take_turn(python_bench *all, int row, int64_t round, stk_error *error)
{
    double value = NAN, cpu_s;
    stk__bench_row *to = all->contestants[row].rows;
    STK__TRY(measure(all, row, round, &value, &cpu_s, error));
    if (!isfinite(value) || round == 0) return STK_OK; /* 0 warms up */
    stk__bench_add(&to[STK_COLUMN_VALUE], is_rate(row) ? (double)all->samples * 1000 / value : value);
    if (is_rate(row)) stk__bench_add(&to[STK_COLUMN_CPU], 1000 * cpu_s / (double)all->samples);
    return STK_OK;
}

static stk_status run_rounds(python_bench *all, stk_error *error)
{
    const stk__bench_host *host = all->options->host;
    const stk__bench_progress progress = {.start_ns = stk__clock_ns()};
    const int64_t rounds = all->options->rounds;
    stk_status status = STK_OK;
    for (int64_t round = 0; round <= rounds && status == STK_OK; round++)
        for (int row = 0; row < ROWS && status == STK_OK; row++) {
            host->show(&progress, "measuring", (uint64_t)(round * ROWS + row),
                       (uint64_t)((rounds + 1) * ROWS));
            status = stk__bench_check_stop(host, error);
            if (status == STK_OK) status = take_turn(all, row, round, error);
        }
    host->hide();
    return status;
}

/* --- goals -----------------------------------------------------------------------------------------------
 */

static double median_of(const python_bench *all, python_row row)
{
    return stk__bench_median(all->contestants[row].rows);
}

static void judge(python_bench *all)
{
    static const struct {
        const char *name;
        python_row row, other; /* other ROWS: the value itself */
        bool at_least;
        double goal;
    } goals[] = {
        {"stoker.Loader: rate / the C loader's", LOADER, C_LOADER, true, 0.97},
        {"image + mask, strong: rate / DataLoader + Albumentations", STRONG, STRONG_ALBUMENTATIONS, true,
         4.5},
        {"image + mask, strong: rate / DataLoader + torchvision v2", STRONG, STRONG_TORCHVISION, true, 12},
        {"stoker.Augment: time / that of stk_augmenter_apply", AUGMENT, C_AUGMENT, false, 1.03},
        {"a batch: us of CPU time in the thread that takes it", COST_BATCH, ROWS, false, 30},
        {"import stoker: ms", COST_IMPORT, ROWS, false, 30},
        {"import stoker: MB", COST_MEMORY, ROWS, false, 15},
    };
    for (size_t i = 0; i < sizeof goals / sizeof goals[0]; i++) {
        const double value = median_of(all, goals[i].row);
        stk__bench_judge(all->bench, goals[i].name,
                         goals[i].other == ROWS ? value : value / median_of(all, goals[i].other),
                         goals[i].at_least, goals[i].goal);
    }
}

/* --- who takes part --------------------------------------------------------------------------------------
 */

static void start_python(python_bench *all, python_process which, const char *module, const char *how)
{
    stk__worker_process *process = &all->processes[which];
    const char *python = all->options->python;
    stk__command_add_peer(&process->command, &(stk__peer){.python = python ? python : "python3",
                                                          .folder = all->scratch.folder,
                                                          .module = module,
                                                          .how = how,
                                                          .data = all->data.folder,
                                                          .count = all->samples,
                                                          .h = all->batch.h,
                                                          .w = all->batch.w,
                                                          .cpus = all->cpus});
    stk__worker_process_start(process);
}

static void start_c(python_bench *all)
{
    stk__command *command = &all->processes[IN_C].command;
    stk__command_add(command, "/proc/self/exe");
    stk__command_add(command, "bench");
    stk__command_add(command, "load-worker");
    stk__command_add(command, "%s", all->data.folder);
    stk__worker_process_start(&all->processes[IN_C]);
}

/* All load their libraries at once. Without --peers Python is that of the user, and only has ourselves. */
static stk_status start_all(python_bench *all, stk_error *error)
{
    char path[600];
    const stk__buffer pixels = {.data = all->batch.arena, .size_bytes = all->batch.arena_bytes};
    snprintf(path, sizeof path, "%s/batch.u8", all->scratch.folder);
    STK__TRY(stk__peer_write_texts(all->scratch.folder, error));
    STK__TRY(stk__file_write(path, pixels, STK_FILE_QUICK, error));
    for (int i = 0; i < PROCESSES; i++) {
        all->processes[i].stop = all->options->host->stop;
        all->processes[i].answer_s = SLOW_START_S;
    }
    start_python(all, OURS, "python_stoker", path);
    start_c(all);
    if (all->options->python) {
        start_python(all, ALBUMENTATIONS, "peer_loader", "loader");
        start_python(all, TORCHVISION, "peer_loader_v2", "loader");
    }
    for (int i = 0; i < PROCESSES; i++) {
        stk__worker_process *process = &all->processes[i];
        if (i >= ALBUMENTATIONS && !all->options->python)
            snprintf(process->words, sizeof process->words, "no --peers PYTHON");
        else
            stk__worker_process_await(process);
        process->answer_s = ANSWER_S;
    }
    return STK_OK;
}

static void enter_all(python_bench *all)
{
    for (int i = 0; i < ROWS; i++) {
        stk__contestant *c = &all->contestants[i];
        *c = (stk__contestant){.name = rows[i].name};
        snprintf(c->setting, sizeof c->setting, "%s", rows[i].setting);
        if (rows[i].process != HERE) c->process = &all->processes[rows[i].process];
        stk__contestant_enter_rows(c, all->bench, rows[i].test, rows[i].unit,
                                   is_rate(i) ? "ms/sample" : NULL);
        if (c->process) stk__contestant_tell_versions(c);
    }
}

/* --- all of it -------------------------------------------------------------------------------------------
 */

/* After Ctrl-C. Python dies with the program. */
static void remove_folders(void *context)
{
    const python_bench *all = context;
    for (int i = 0; i < PROCESSES; i++)
        stk__worker_process_kill(&all->processes[i]);
    stk__bench_data_remove(&all->scratch);
    stk__bench_data_remove(&all->data);
}

static stk_status count_samples(python_bench *all, stk_error *error)
{
    stk__source *source = NULL;
    const stk__source_options options = {.root = all->data.folder};
    STK__TRY(stk__source_open(&source, &options, error));
    all->samples = source->info.count;
    const bool masks = source->info.images && source->info.masks;
    stk__source_close(&source);
    if (masks) return STK_OK;
    return stk__fail(error, STK_ERROR_DATA, "'%s' has no images with masks", all->data.folder);
}

static stk_status run_all(python_bench *all, stk_error *error)
{
    const stk__bench_options *options = all->options;
    all->cpus = stk__cpu_budget_read(NULL).cpus;
    STK__TRY(stk__bench_batch_open(&all->batch, options->samples, error));
    STK__TRY(stk__bench_folder_make(&all->scratch, error));
    STK__TRY(stk__bench_data_open(&all->data, options, options->quick ? QUICK_FACES : FACES, error));
    STK__TRY(count_samples(all, error));
    STK__TRY(start_all(all, error));
    all->bench->spaced = true;
    stk__bench_describe(all->bench, "%llu samples, %s; a batch of %llu x %d x %d; %lld interleaved rounds",
                        (unsigned long long)all->samples,
                        all->processes[OURS].present ? all->processes[OURS].words : "no stoker in Python",
                        (unsigned long long)options->samples, (int)all->batch.h, (int)all->batch.w,
                        (long long)options->rounds);
    enter_all(all);
    STK__TRY(run_rounds(all, error));
    judge(all);
    return STK_OK;
}

stk_status stk__bench_python(const stk__bench_options *options, stk__bench *bench, stk_error *error)
{
    static python_bench all; /* too large for a stack */
    all.options = options;
    all.bench = bench;
    options->host->on_stop(remove_folders, &all);
    const stk_status status = run_all(&all, error);
    options->host->on_stop(NULL, NULL);
    for (int i = 0; i < PROCESSES; i++)
        stk__worker_process_stop(&all.processes[i]);
    stk__bench_data_close(&all.scratch);
    stk__bench_data_close(&all.data);
    stk__bench_batch_close(&all.batch);
    stk__pool_stop();
    return status;
}
