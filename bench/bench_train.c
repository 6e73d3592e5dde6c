/* SPDX-License-Identifier: Apache-2.0 */
/* stoker bench train: our training step beside PyTorch's, train case after train case, then from files.
 * Everybody starts with the same weights and the same batch, and rounds are interleaved. With --quick there
 * is a time limit: who has not begun by then has no numbers. One thread, but for Ctrl-C, which calls abandon.
 */
#include "bench_data.h"
#include "train_contestants.h"
#include "train_files_case.h"
#include "train_goals.h"

#include "core/clock.h"
#include "core/cpu.h"
#include "core/cpu_level.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    FIRSTS = 3,
    QUICK_S = 38,
    START_S = 900, /* to a first step: compiled ones take a minute, and longer on a busy machine */
    QUICK_LEAST_S = 10,
    FILES = 600,
    QUICK_FILES = 160
};

#define FILES_WORD "files"

typedef struct train_job {
    const stk__bench_options *options;
    uint64_t until_ns; /* a quick run ends about then; 0: takes its time */
    char program[PATH_MAX];
    int cpus, total, cases_left;
    stk__bench_data scratch; /* train cases, scripts, files */
    stk__train_race race;
    stk__train_files_case files;
    char titles[STK_TRAIN_LEVELS][STK_TRAIN_CASES][64], folder[PATH_MAX];
    stk__train_results results;
    stk__bench_progress progress;
    stk__bench *bench;
} train_job;

/* --- a case ----------------------------------------------------------------------------------------------
 */

static stk_status show(train_job *job, const stk__contestant *c, const char *what, stk_error *error)
{
    STK__TRY(stk__bench_check_stop(job->options->host, error));
    snprintf(job->progress.note, sizeof job->progress.note, ", %s %s: %s", c->name, c->setting, what);
    job->options->host->show(&job->progress, c->rows->test, (uint64_t)(job->total - job->cases_left),
                             (uint64_t)job->total);
    return STK_OK;
}

static int answer_limit_s(const train_job *job)
{
    const uint64_t now = stk__clock_ns();
    if (!job->until_ns) return START_S;
    const int left_s = job->until_ns > now ? (int)((job->until_ns - now) / STK_SECOND_NS) : 0;
    return left_s < QUICK_LEAST_S ? QUICK_LEAST_S : left_s;
}

/* A quick run has time for one peer of each case, and for more if that is left. */
static bool is_late(const train_job *job, int which, uint64_t until_ns)
{
    const uint64_t now = stk__clock_ns();
    return job->until_ns && which > 0 && now > (which == 1 ? job->until_ns : until_ns);
}

/* One after the other: the time to a first step counts. */
static stk_status begin_all(train_job *job, uint64_t until_ns, stk_error *error)
{
    for (int i = 0; i < job->race.count; i++) {
        stk__contestant *c = &job->race.contestants[i];
        if (stk__contestant_gave_up(c)) continue;
        if (is_late(job, i, until_ns)) {
            stk__contestant_dismiss(c, "no time left in a quick run");
            continue;
        }
        STK__TRY(show(job, c, "first step", error));
        c->process->answer_s = answer_limit_s(job);
        stk__train_contestant_begin(&job->race, c);
    }
    return STK_OK;
}

typedef void (*take_turn)(stk__train_race *race, stk__contestant *c);

static stk_status ask_all(train_job *job, const char *what, take_turn take, stk_error *error)
{
    for (int i = 0; i < job->race.count; i++) {
        STK__TRY(show(job, &job->race.contestants[i], what, error));
        take(&job->race, &job->race.contestants[i]);
    }
    return STK_OK;
}

static stk_status run_rounds(train_job *job, uint64_t until_ns, stk_error *error)
{
    uint64_t took_ns = 0;
    for (int64_t round = 0; round < job->options->rounds; round++) {
        const uint64_t start = stk__clock_ns();
        if (until_ns && round > 0 && start + took_ns > until_ns) break;
        STK__TRY(ask_all(job, "steps", stk__train_contestant_step, error));
        took_ns = stk__clock_ns() - start;
    }
    return STK_OK;
}

static stk_status run_turns(train_job *job, uint64_t until_ns, stk_error *error)
{
    STK__TRY(begin_all(job, until_ns, error));
    STK__TRY(ask_all(job, "memory", stk__train_contestant_weigh, error));
    STK__TRY(run_rounds(job, until_ns, error));
    for (int i = 1; !job->options->quick && i < FIRSTS; i++)
        STK__TRY(ask_all(job, "first step", stk__train_contestant_begin_again, error));
    return STK_OK;
}

static double ratio_of(const stk__contestant *one, const stk__contestant *other, stk__column column)
{
    return stk__contestant_median(one, column) / stk__contestant_median(other, column);
}

/* The fastest variant of PyTorch is 1; the first step is compared with the eager one that has it first. */
static stk__train_result result_of(const stk__train_race *race)
{
    const stk__contestant *ours = &race->contestants[0], *fastest = NULL;
    double eager_s = NAN;
    for (int i = 1; i < race->count; i++) {
        const stk__contestant *c = &race->contestants[i];
        if (c->rows->count == 0) continue;
        if (!fastest || ratio_of(c, fastest, STK_COLUMN_VALUE) < 1) fastest = c;
        if (c->kind == STK_TRAIN_EAGER) /* fmin of a number and NAN: the number */
            eager_s = fmin(eager_s, stk__contestant_median(c, STK_COLUMN_FIRST));
    }
    if (!fastest) return (stk__train_result){NAN, NAN, NAN, NAN};
    return (stk__train_result){ratio_of(fastest, ours, STK_COLUMN_VALUE),
                               stk__contestant_median(ours, STK_COLUMN_FIRST) / eager_s,
                               ratio_of(ours, fastest, STK_COLUMN_MEMORY), NAN};
}

static void prepare_race(train_job *job, const stk__train_case *train_case, const char *title,
                         stk__train_level level)
{
    stk__train_race *race = &job->race;
    race->options = job->options;
    race->bench = job->bench;
    race->program = job->program;
    race->scripts = job->scratch.folder;
    race->cpus = job->cpus;
    race->title = title;
    race->folder = job->folder;
    race->windows = train_case->facts.window > 0;
    race->capped = level == STK_TRAIN_CAPPED;
}

static stk_status run_case(train_job *job, int index, stk__train_level level, stk_error *error)
{
    const bool small = job->options->quick || level == STK_TRAIN_SMALL;
    const stk__train_case *train_case = small ? &stk__train_cases_quick[index] : &stk__train_cases[index];
    char *title = job->titles[level][index];
    const uint64_t now = stk__clock_ns();
    const uint64_t until_ns =
        job->until_ns > now ? now + (job->until_ns - now) / (uint64_t)job->cases_left : job->until_ns;
    stk__train_case_title(train_case, title, sizeof job->titles[0][0]);
    if (level == STK_TRAIN_CAPPED) strncat(title, ", AVX2", sizeof job->titles[0][0] - strlen(title) - 1);
    snprintf(job->folder, sizeof job->folder, "%s/%s", job->scratch.folder, train_case->network);
    STK__TRY(stk__train_case_write(train_case, job->folder, error));
    prepare_race(job, train_case, title, level);
    stk__train_contestants_enter(&job->race);
    const stk_status status = run_turns(job, until_ns, error);
    if (status == STK_OK) job->results[level][index] = result_of(&job->race);
    if (status == STK_OK && job->options->engine)
        job->results[level][index].own_share = stk__train_contestant_share(&job->race.contestants[0]);
    stk__train_contestants_stop(&job->race);
    job->cases_left--;
    return status;
}

/* --- all of it -------------------------------------------------------------------------------------------
 */

static bool is_wanted(const stk__bench_options *options, const char *name)
{
    for (size_t i = 0; i < options->case_count; i++)
        if (strcmp(options->cases[i], name) == 0) return true;
    return options->case_count == 0;
}

const char *stk__bench_train_unknown(const stk__bench_options *options)
{
    for (size_t i = 0; i < options->case_count; i++) {
        bool known = strcmp(options->cases[i], FILES_WORD) == 0;
        for (int c = 0; c < STK_TRAIN_CASES; c++)
            known |= strcmp(options->cases[i], stk__train_cases[c].network) == 0;
        if (!known) return options->cases[i];
    }
    return NULL;
}

static int count_cases(const train_job *job, bool own, bool capped)
{
    int count = 0;
    for (int i = 0; i < STK_TRAIN_CASES; i++)
        count += is_wanted(job->options, stk__train_cases[i].network);
    return count * (own + capped) + is_wanted(job->options, FILES_WORD);
}

static stk_status run_cases(train_job *job, stk__train_level level, stk_error *error)
{
    for (int i = 0; i < STK_TRAIN_CASES; i++)
        if (is_wanted(job->options, stk__train_cases[i].network)) STK__TRY(run_case(job, i, level, error));
    return STK_OK;
}

static stk_status run_files(train_job *job, stk_error *error)
{
    job->files.ratio = NAN;
    if (!is_wanted(job->options, FILES_WORD)) return STK_OK;
    job->files = (stk__train_files_case){.options = job->options,
                                         .bench = job->bench,
                                         .program = job->program,
                                         .scratch = job->scratch.folder,
                                         .count = job->options->quick ? QUICK_FILES : FILES,
                                         .until_ns = job->until_ns,
                                         .cpus = job->cpus};
    return stk__train_files_run(&job->files, error);
}

static stk_status prepare(train_job *job, stk_error *error)
{
    const ssize_t length = readlink("/proc/self/exe", job->program, sizeof job->program - 1);
    if (length < 0) return stk__fail(error, STK_ERROR_IO, "cannot find this program (/proc/self/exe)");
    job->program[length] = '\0';
    job->cpus = stk__cpu_budget_read(NULL).cpus;
    for (int level = 0; level < STK_TRAIN_LEVELS; level++)
        for (int i = 0; i < STK_TRAIN_CASES; i++)
            job->results[level][i] = (stk__train_result){NAN, NAN, NAN, NAN};
    double busy = NAN;
    getloadavg(&busy, 1);
    stk__bench_describe(job->bench, "%d threads, %lld interleaved rounds, load %.1f before the first",
                        job->cpus, (long long)job->options->rounds, busy);
    STK__TRY(stk__bench_folder_make(&job->scratch, error));
    return stk__peer_write_texts(job->scratch.folder, error);
}

/* Ours through PyTorch beside eager PyTorch; a quick run has small batches only. */
static stk_status run_engine(train_job *job, stk_error *error)
{
    const bool quick = job->options->quick;
    job->total = job->cases_left = count_cases(job, !quick, true);
    STK__TRY(prepare(job, error));
    if (!quick) STK__TRY(run_cases(job, STK_TRAIN_OWN, error));
    STK__TRY(run_cases(job, STK_TRAIN_SMALL, error));
    stk__train_judge_torch(job->bench, job->results);
    return STK_OK;
}

static stk_status run_all(train_job *job, stk_error *error)
{
    const stk__bench_options *o = job->options;
    const bool capped = o->capped || (!o->quick && stk__cpu_level_found() == STK_CPU_AVX512);
    job->total = job->cases_left = count_cases(job, !o->capped, capped);
    STK__TRY(prepare(job, error));
    if (!o->capped) STK__TRY(run_cases(job, STK_TRAIN_OWN, error));
    if (capped) STK__TRY(run_cases(job, STK_TRAIN_CAPPED, error));
    STK__TRY(run_files(job, error));
    stk__train_judge(job->bench, job->results, o->capped, job->files.ratio);
    return STK_OK;
}

/* After Ctrl-C. */
static void abandon(void *context)
{
    const train_job *job = context;
    stk__train_contestants_abandon(&job->race);
    stk__train_files_abandon(&job->files);
    stk__bench_data_remove(&job->scratch);
}

stk_status stk__bench_train(const stk__bench_options *options, stk__bench *bench, stk_error *error)
{
    static train_job job; /* too large for a stack */
    const uint64_t now = stk__clock_ns();
    job = (train_job){.options = options, .bench = bench, .progress = {.start_ns = now}};
    if (options->timed) job.until_ns = now + QUICK_S * STK_SECOND_NS;
    options->host->on_stop(abandon, &job);
    const stk_status status = (options->engine ? run_engine : run_all)(&job, error);
    options->host->hide();
    options->host->on_stop(NULL, NULL);
    stk__train_contestants_stop(&job.race);
    stk__bench_data_close(&job.scratch);
    return status;
}
