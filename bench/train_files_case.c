/* SPDX-License-Identifier: Apache-2.0 */
/* Training from files, end to end: faces are made, sorted into a folder for each class, and trained on for an
 * epoch, in turns, by a `stoker train` of its own each time and by a process of PyTorch that stays. */
#include "train_files_case.h"

#include "bench_data.h"
#include "train_contestants.h"

#include "core/clock.h"
#include "core/file.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

enum { CLASSES = 2, QUICK_ANSWER_S = 20, ANSWER_S = 300 };

/* --- data ------------------------------------------------------------------------------------------------
 */

/* From the pictures of the faces to a folder for each class. */
static stk_status sort_one(const stk__train_files_case *files, const char *images, const char *name,
                           stk_error *error)
{
    char from[2 * PATH_MAX], to[2 * PATH_MAX];
    snprintf(from, sizeof from, "%s/%s", images, name);
    snprintf(to, sizeof to, "%s/%d/%s", files->folder, atoi(name) % CLASSES, name);
    return rename(from, to) == 0 ? STK_OK : stk__fail_errno(error, errno, "cannot rename '%s'", from);
}

static stk_status sort_files(const stk__train_files_case *files, const char *images, stk_error *error)
{
    char folder[PATH_MAX];
    stk_status status = STK_OK;
    for (int i = 0; i < CLASSES; i++) {
        snprintf(folder, sizeof folder, "%s/%d", files->folder, i);
        STK__TRY(stk__folder_make(folder, error));
    }
    DIR *open = opendir(images);
    if (!open) return stk__fail_errno(error, errno, "cannot read '%s'", images);
    for (struct dirent *entry; status == STK_OK && (entry = readdir(open));)
        if (entry->d_name[0] != '.') status = sort_one(files, images, entry->d_name, error);
    closedir(open);
    return status;
}

static stk_status make_files(stk__train_files_case *files, stk_error *error)
{
    char faces[PATH_MAX], images[PATH_MAX + 8];
    snprintf(faces, sizeof faces, "%s/faces", files->scratch);
    snprintf(images, sizeof images, "%s/images", faces);
    snprintf(files->folder, sizeof files->folder, "%s/files", files->scratch);
    STK__TRY(stk__bench_faces_make(faces, files->count, files->options->host, error));
    return sort_files(files, images, error);
}

/* --- turns -----------------------------------------------------------------------------------------------
 */

static double read_rate(const char *run)
{
    char path[PATH_MAX + 16];
    snprintf(path, sizeof path, "%s/run.json", run);
    json_t *report = json_load_file(path, 0, NULL);
    const json_t *rate = json_object_get(report, "samples_per_s");
    const double value = json_is_number(rate) ? json_number_value(rate) : NAN;
    json_decref(report);
    return value;
}

static stk__command train_command(const stk__train_files_case *files, const char *run)
{
    stk__command command = {0};
    const char *const words[] = {"data.batch_size=32",
                                 "augment.preset=strong",
                                 "train.max_grad_norm=1",
                                 "train.epochs=1",
                                 "--run",
                                 run,
                                 "-q"};
    stk__command_add(&command, "%s", files->program);
    stk__command_add(&command, "train");
    stk__command_add(&command, "%s", files->folder);
    stk__command_add(&command, "model.file=%s/tiny.yaml", files->scratch);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        stk__command_add(&command, "%s", words[i]);
    return command;
}

/* Says nothing; it is over when its output is. NAN: it failed. */
static double train_once(stk__train_files_case *files, int64_t round)
{
    char run[PATH_MAX];
    stk__worker_process *process = &files->our_process;
    snprintf(run, sizeof run, "%s/run-%lld", files->scratch, (long long)round);
    process->command = train_command(files, run);
    stk__worker_process_start(process);
    const uint64_t until_ns = stk__clock_ns() + ANSWER_S * STK_SECOND_NS;
    while (!stk__worker_process_answers(process, 100) && stk__clock_ns() < until_ns)
        ;
    stk__worker_process_stop(process);
    return read_rate(run);
}

static void add_costs(const stk__train_files_case *files, stk__contestant *c, double rate, double cpu_s)
{
    stk__bench_add(&c->rows[STK_COLUMN_VALUE], rate);
    stk__bench_add(&c->rows[STK_COLUMN_CPU], 1000 * cpu_s / (double)files->count);
}

/* Of children that have ended. */
static double children_cpu_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/* Start and end of the program count in its CPU time, not in its rate. */
static void run_ours(stk__train_files_case *files, stk__contestant *ours, int64_t round)
{
    if (stk__contestant_gave_up(ours)) return;
    const double before = children_cpu_seconds(), rate = train_once(files, round);
    if (isnan(rate))
        stk__contestant_give_up(ours, "stoker train failed");
    else if (round > 0) /* 0: the files come into the page cache */
        add_costs(files, ours, rate, children_cpu_seconds() - before);
}

static void start_peer(stk__train_files_case *files, stk__contestant *peer)
{
    char answer[STK_WORKER_ANSWER];
    stk__worker_process *process = peer->process;
    stk__command_add(&process->command, "env");
    stk__command_add(&process->command, STK_TRAIN_SLEEPS); /* spinning would take its workers' time */
    stk__command_add_peer(&process->command, &(stk__peer){.python = files->options->python,
                                                          .folder = files->scratch,
                                                          .module = "train_files",
                                                          .how = "albumentations",
                                                          .data = files->folder,
                                                          .count = files->count,
                                                          .cpus = files->cpus});
    process->answer_s = files->until_ns ? QUICK_ANSWER_S : ANSWER_S;
    stk__worker_process_start(process);
    stk__worker_process_await(process);
    stk__contestant_tell_versions(peer);
    stk__contestant_ask(peer, "check epoch", "loss", answer);
}

static void run_peer(const stk__train_files_case *files, stk__contestant *peer)
{
    char answer[STK_WORKER_ANSWER];
    const double before = stk__worker_process_cpu_seconds(peer->process);
    if (!stk__contestant_ask(peer, "round epoch", "ms", answer)) return;
    add_costs(files, peer, (double)files->count * 1000 / strtod(answer, NULL),
              stk__worker_process_cpu_seconds(peer->process) - before);
}

static bool is_late(const stk__train_files_case *files, uint64_t took_ns)
{
    return files->until_ns && stk__clock_ns() + took_ns > files->until_ns;
}

static stk_status run_rounds(stk__train_files_case *files, stk__contestant *ours, stk__contestant *peer,
                             stk_error *error)
{
    uint64_t took_ns = 0;
    for (int64_t round = 1; round <= files->options->rounds; round++) {
        const uint64_t start = stk__clock_ns();
        if (round > 1 && is_late(files, took_ns)) break;
        STK__TRY(stk__bench_check_stop(files->options->host, error));
        run_ours(files, ours, round);
        run_peer(files, peer);
        took_ns = stk__clock_ns() - start;
    }
    return STK_OK;
}

stk_status stk__train_files_run(stk__train_files_case *files, stk_error *error)
{
    stk__contestant ours = {.name = "stoker", .setting = "stoker train", .ours = true},
                    peer = {.name = "PyTorch", .process = &files->peer_process};
    snprintf(peer.setting, sizeof peer.setting, "Albumentations, %d workers", files->cpus);
    files->our_process.stop = files->peer_process.stop = files->options->host->stop;
    STK__TRY(make_files(files, error));
    stk__contestant_enter_rows(&ours, files->bench, "files, strong", "samples/s", "ms/sample");
    stk__contestant_enter_rows(&peer, files->bench, "files, strong", "samples/s", "ms/sample");
    run_ours(files, &ours, 0);
    if (!files->options->python)
        stk__contestant_give_up(&peer, "no --peers PYTHON");
    else if (is_late(files, 0))
        stk__contestant_give_up(&peer, "no time left in a quick run");
    else
        start_peer(files, &peer);
    const stk_status status = run_rounds(files, &ours, &peer, error);
    stk__worker_process_stop(&files->peer_process);
    files->ratio = stk__bench_median(ours.rows) / stk__bench_median(peer.rows);
    return status;
}

void stk__train_files_abandon(const stk__train_files_case *files)
{
    stk__worker_process_kill(&files->our_process);
    stk__worker_process_kill(&files->peer_process);
}
