#include "train_files_case.h"

#include "bench_data.h"
#include "bench_process.h"
#include "train_contestants.h"

#include "core/clock.h"
#include "core/file.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>

enum { CLASSES = 2, QUICK_ANSWER_S = 20, ANSWER_S = 300 };

/* --- data ------------------------------------------------------------------------------------------------
 */

/* From the pictures of the faces to a folder for each class. */
static stk_status sort_one(const stk__files_case *files, const char *images, const char *name,
                           stk_error *error)
{
    char from[2 * PATH_MAX], to[2 * PATH_MAX];
    snprintf(from, sizeof from, "%s/%s", images, name);
    snprintf(to, sizeof to, "%s/%d/%s", files->folder, atoi(name) % CLASSES, name);
    return rename(from, to) == 0 ? STK_OK : stk__fail_errno(error, errno, "cannot rename '%s'", from);
}

static stk_status sort_files(const stk__files_case *files, const char *images, stk_error *error)
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

static stk_status make_files(stk__files_case *files, stk_error *error)
{
    char faces[PATH_MAX], images[PATH_MAX + 8];
    snprintf(faces, sizeof faces, "%s/faces", files->scratch);
    snprintf(images, sizeof images, "%s/images", faces);
    snprintf(files->folder, sizeof files->folder, "%s/files", files->scratch);
    STK__TRY(stk__bench_faces_make(faces, files->count, error));
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

/* Says nothing; it is over when its output is. NAN: it failed. */
static double train_once(stk__files_case *files, int64_t round)
{
    char run[PATH_MAX], network[PATH_MAX];
    snprintf(run, sizeof run, "%s/run-%lld", files->scratch, (long long)round);
    snprintf(network, sizeof network, "model.file=%s/tiny.yaml", files->scratch);
    stk__peer_spawn(&files->ours,
                    (char *const[]){(char *)files->program, "train", files->folder, network,
                                    "data.batch_size=32", "augment.preset=strong", "train.max_grad_norm=1",
                                    "train.epochs=1", "--run", run, "-q", NULL});
    const uint64_t until_ns = stk__clock_ns() + ANSWER_S * STK_SECOND_NS;
    while (!stk__peer_answers(&files->ours, 100) && stk__clock_ns() < until_ns)
        ;
    stk__peer_stop(&files->ours);
    return read_rate(run);
}

/* Rows: rate and CPU time of a sample. */
static void lose(stk__bench_row *rows, const char *why)
{
    for (int i = 0; i < 2; i++) {
        rows[i].count = 0;
        snprintf(rows[i].why, sizeof rows[i].why, "%s", why);
    }
}

static void add_costs(const stk__files_case *files, stk__bench_row *rows, double rate, double cpu_s)
{
    stk__bench_add(&rows[0], rate);
    stk__bench_add(&rows[1], 1000 * cpu_s / (double)files->count);
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
static void take_ours(stk__files_case *files, stk__bench_row *rows, int64_t round)
{
    if (rows->why[0]) return;
    const double before = children_cpu_seconds(), rate = train_once(files, round);
    if (isnan(rate))
        lose(rows, "stoker train failed");
    else if (round > 0) /* 0: the files come into the page cache */
        add_costs(files, rows, rate, children_cpu_seconds() - before);
}

static void start_peer(stk__files_case *files, stk__bench_row *rows)
{
    static const char *const sleeps[] = {"env", STK_PUPIL_SLEEPS,
                                         NULL}; /* spinning would take its workers' time */
    char answer[STK_PEER_ANSWER];
    stk__peer_start(&files->peer, &(stk__peer_options){.before = sleeps,
                                                       .python = files->python,
                                                       .folder = files->scratch,
                                                       .module = "train_files",
                                                       .how = "albumentations",
                                                       .data = files->folder,
                                                       .count = files->count,
                                                       .cpus = files->cpus});
    files->peer.answer_s = files->until_ns ? QUICK_ANSWER_S : ANSWER_S;
    stk__peer_await(&files->peer);
    if (files->peer.present) snprintf(rows->versions, sizeof rows->versions, "%.150s", files->peer.words);
    if (!stk__peer_send(&files->peer, "check epoch") || !stk__peer_receive(&files->peer, "loss", answer))
        lose(rows, files->peer.words);
}

static void take_peer(stk__files_case *files, stk__bench_row *rows)
{
    double ms;
    if (rows->why[0]) return;
    const double before = stk__group_cpu_seconds(files->peer.pid);
    if (!stk__peer_round(&files->peer, "epoch", &ms)) {
        lose(rows, files->peer.words);
        stk__peer_stop(&files->peer);
        return;
    }
    add_costs(files, rows, (double)files->count * 1000 / ms,
              stk__group_cpu_seconds(files->peer.pid) - before);
}

static bool is_late(const stk__files_case *files, uint64_t took_ns)
{
    return files->until_ns && stk__clock_ns() + took_ns > files->until_ns;
}

static stk_status run_rounds(stk__files_case *files, stk__bench_row *ours, stk__bench_row *peer,
                             stk_error *error)
{
    uint64_t took_ns = 0;
    for (int64_t round = 1; round <= files->rounds && !(round > 1 && is_late(files, took_ns)); round++) {
        const uint64_t start = stk__clock_ns();
        if (atomic_load(stk__interrupt_flag())) return stk__fail(error, STK_ERROR_INTERRUPTED, "interrupted");
        take_ours(files, ours, round);
        take_peer(files, peer);
        took_ns = stk__clock_ns() - start;
    }
    return STK_OK;
}

static stk__bench_row *enter(const stk__files_case *files, const char *who, const char *setting)
{
    stk__bench_row *rows = stk__bench_begin(files->bench, who, "files, strong", setting, "samples/s");
    stk__bench_begin(files->bench, who, "files, strong", "CPU time", "ms/sample");
    return rows;
}

stk_status stk__files_run(stk__files_case *files, stk_error *error)
{
    char setting[48];
    snprintf(setting, sizeof setting, "Albumentations, %d workers", files->cpus);
    STK__TRY(make_files(files, error));
    stk__bench_row *ours = enter(files, "stoker", "stoker train"), *peer = enter(files, "PyTorch", setting);
    take_ours(files, ours, 0);
    if (!files->python)
        lose(peer, "no --peers PYTHON");
    else if (is_late(files, 0))
        lose(peer, "no time left in a quick run");
    else
        start_peer(files, peer);
    const stk_status status = run_rounds(files, ours, peer, error);
    stk__peer_stop(&files->peer);
    files->ratio = stk__bench_median(ours) / stk__bench_median(peer);
    return status;
}

void stk__files_abandon(const stk__files_case *files)
{
    if (files->ours.pid) kill(-files->ours.pid, SIGKILL);
    if (files->peer.pid) kill(-files->peer.pid, SIGKILL);
}
