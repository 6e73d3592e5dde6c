/* stoker bench train: our training step beside PyTorch's, network after network, then from files. Everybody
 * starts with the same weights and the same batch, and rounds are interleaved. */
#include "bench_data.h"
#include "train_files_case.h"
#include "train_case.h"
#include "train_contestants.h"
#include "train_goals.h"

#include "core/clock.h"
#include "core/cpu.h"
#include "core/cpu_level.h"

#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    ROUNDS = 7,
    QUICK_ROUNDS = 3,
    FIRSTS = 3,
    PUPILS = 8,
    QUICK_S = 38,
    START_S = 900, /* to a first step: compiled ones take a minute, and longer on a busy machine */
    QUICK_LEAST_S = 10,
    FILES = 600,
    QUICK_FILES = 160
};

#define FILES_WORD "files"

/* As both sides are measured: as they are, or both capped to AVX2; with an engine: as they are, with full
 * batches and with small ones. */
typedef enum train_level { LEVEL_OWN, LEVEL_CAPPED, LEVEL_SMALL, LEVELS } train_level;

typedef struct train_job {
    uint64_t start_ns, until_ns; /* until_ns: a quick run ends about then; 0: takes its time */
    int64_t rounds;
    bool quick;
    const char *python;       /* of the peers; NULL: none */
    const char *const *cases; /* that were asked for … */
    size_t case_count;        /* … or 0: all */
    const char *isa;    /* "avx2": only capped; NULL: as the machine is, and capped where that is less */
    const char *engine; /* "torch": its goals alone; NULL: the best there is, and all goals */
    char program[PATH_MAX];
    int cpus, total, cases_left;
    stk__bench_data scratch; /* lessons, scripts, files */
    stk__pupil pupils[PUPILS];
    int count;
    stk__files_case files;
    char titles[LEVELS][STK_LESSONS][64], lesson[PATH_MAX];
    stk__lesson_result results[LEVELS][STK_LESSONS];
    stk__progress progress;
    stk__bench bench;
} train_job;

/* --- who takes part --------------------------------------------------------------------------------------
 */

static const struct {
    const char *setting, *layout, *how;
    stk__pupil_kind kind;
    bool quick, windows; /* windows: also with a network that has no pictures, and so no layout */
    bool spins;
} peers[] = {
    {"eager f32", ", NCHW", "eager:nchw", STK_PUPIL_EAGER, true, true, false},
    {"eager f32", ", channels_last", "eager:nhwc", STK_PUPIL_EAGER, true, false, false},
    {"eager bf16", ", channels_last", "bf16:nhwc", STK_PUPIL_BF16, true, true, false},
    {"eager f32", ", NCHW", "eager:nchw", STK_PUPIL_EAGER, false, true, true},
    {"eager f32", ", channels_last", "eager:nhwc", STK_PUPIL_EAGER, false, false, true},
    {"compiled f32", ", channels_last", "compiled:nhwc", STK_PUPIL_COMPILED, false, true, false},
};

static stk__pupil *add_pupil(train_job *job, stk__pupil_kind kind, train_level level)
{
    stk__pupil *pupil = &job->pupils[job->count++];
    *pupil = (stk__pupil){.kind = kind,
                          .start = {.program = job->program,
                                    .python = job->python,
                                    .scripts = job->scratch.folder,
                                    .lesson = job->lesson,
                                    .engine = job->engine,
                                    .capped = level == LEVEL_CAPPED,
                                    .bf16 = kind == STK_PUPIL_BF16,
                                    .cpus = job->cpus}};
    return pupil;
}

/* The engine torch has eager PyTorch beside it; a small batch is nothing to wait for. */
static bool takes_part(const train_job *job, size_t peer, bool windows)
{
    if (job->engine && peers[peer].kind != STK_PUPIL_EAGER) return false;
    return (!job->quick || peers[peer].quick) && (!windows || peers[peer].windows);
}

static bool has_bf16(train_level level)
{
    return level == LEVEL_OWN && stk__cpu_level_found() == STK_CPU_AVX512;
}

static void enter_all(train_job *job, const stk__lesson *lesson, train_level level, const char *title)
{
    const bool windows = lesson->facts.window > 0;
    job->count = 0;
    stk__pupil_enter(add_pupil(job, STK_PUPIL_OURS, level), &job->bench, title,
                     job->engine ? "engine torch, f32" : "f32");
    for (size_t i = 0; i < sizeof peers / sizeof peers[0]; i++) {
        if (!takes_part(job, i, windows)) continue;
        char setting[40];
        snprintf(setting, sizeof setting, "%s%s%s", peers[i].setting, windows ? "" : peers[i].layout,
                 peers[i].spins ? ", spin" : "");
        stk__pupil *pupil = add_pupil(job, peers[i].kind, level);
        pupil->start.how = peers[i].how;
        pupil->start.spins = peers[i].spins;
        stk__pupil_enter(pupil, &job->bench, title, setting);
        if (!job->python) stk__pupil_dismiss(pupil, "no --peers PYTHON");
        if (peers[i].kind == STK_PUPIL_BF16 && !has_bf16(level))
            stk__pupil_dismiss(pupil, "the CPU computes nothing in bf16 below AVX-512");
    }
}

/* --- a case ----------------------------------------------------------------------------------------------
 */

static stk_status show(train_job *job, const stk__pupil *pupil, const char *what, stk_error *error)
{
    if (atomic_load(stk__interrupt_flag())) return stk__fail(error, STK_ERROR_INTERRUPTED, "interrupted");
    snprintf(job->progress.note, sizeof job->progress.note, ", %s %s: %s", pupil->rows->contestant,
             pupil->rows->setting, what);
    stk__progress_show(&job->progress, pupil->rows->test, (uint64_t)(job->total - job->cases_left),
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
    for (int i = 0; i < job->count; i++) {
        stk__pupil *pupil = &job->pupils[i];
        if (pupil->rows->why[0]) continue;
        if (is_late(job, i, until_ns)) {
            stk__pupil_dismiss(pupil, "no time left in a quick run");
            continue;
        }
        STK__TRY(show(job, pupil, "first step", error));
        pupil->peer.answer_s = answer_limit_s(job);
        stk__pupil_begin(pupil, job->pupils[0].loss);
    }
    return STK_OK;
}

typedef void (*ask_pupil)(stk__pupil *pupil);

static stk_status ask_all(train_job *job, const char *what, ask_pupil ask, stk_error *error)
{
    for (int i = 0; i < job->count; i++) {
        STK__TRY(show(job, &job->pupils[i], what, error));
        ask(&job->pupils[i]);
    }
    return STK_OK;
}

static stk_status run_rounds(train_job *job, uint64_t until_ns, stk_error *error)
{
    uint64_t took_ns = 0;
    for (int64_t round = 0; round < job->rounds; round++) {
        const uint64_t start = stk__clock_ns();
        if (until_ns && round > 0 && start + took_ns > until_ns) break;
        STK__TRY(ask_all(job, "steps", stk__pupil_step, error));
        took_ns = stk__clock_ns() - start;
    }
    return STK_OK;
}

static void begin_again(stk__pupil *pupil)
{
    if (pupil->kind != STK_PUPIL_COMPILED) stk__pupil_begin_again(pupil);
}

static void stop_all(train_job *job)
{
    for (int i = 0; i < job->count; i++)
        stk__peer_stop(&job->pupils[i].peer);
    job->count = 0;
}

static double median_of(const stk__pupil *pupil, stk__pupil_metric metric)
{
    return stk__bench_median(&pupil->rows[metric]);
}

/* The fastest variant of PyTorch is 1; the first step is compared with the eager one that has it first. */
static stk__lesson_result judge_lesson(const train_job *job)
{
    const stk__pupil *ours = &job->pupils[0], *fastest = NULL;
    double eager_s = NAN;
    for (int i = 1; i < job->count; i++) {
        const stk__pupil *p = &job->pupils[i];
        if (p->rows->count == 0) continue;
        if (!fastest || median_of(p, STK_PUPIL_STEP) < median_of(fastest, STK_PUPIL_STEP)) fastest = p;
        if (p->kind == STK_PUPIL_EAGER)
            eager_s = fmin(eager_s, median_of(p, STK_PUPIL_FIRST)); /* of a number and NAN: the number */
    }
    if (!fastest) return (stk__lesson_result){NAN, NAN, NAN, NAN};
    return (stk__lesson_result){median_of(fastest, STK_PUPIL_STEP) / median_of(ours, STK_PUPIL_STEP),
                                median_of(ours, STK_PUPIL_FIRST) / eager_s,
                                median_of(ours, STK_PUPIL_MEMORY) / median_of(fastest, STK_PUPIL_MEMORY),
                                NAN};
}

static stk_status run_turns(train_job *job, uint64_t until_ns, stk_error *error)
{
    STK__TRY(begin_all(job, until_ns, error));
    STK__TRY(ask_all(job, "memory", stk__pupil_weigh, error));
    STK__TRY(run_rounds(job, until_ns, error));
    for (int i = 1; !job->quick && i < FIRSTS; i++)
        STK__TRY(ask_all(job, "first step", begin_again, error));
    return STK_OK;
}

static stk_status run_lesson(train_job *job, int index, train_level level, stk_error *error)
{
    const bool small = job->quick || level == LEVEL_SMALL;
    const stk__lesson *lesson = small ? &stk__lessons_quick[index] : &stk__lessons[index];
    char *title = job->titles[level][index];
    const uint64_t now = stk__clock_ns();
    const uint64_t until_ns =
        job->until_ns > now ? now + (job->until_ns - now) / (uint64_t)job->cases_left : job->until_ns;
    stk__lesson_title(lesson, title, sizeof job->titles[0][0]);
    if (level == LEVEL_CAPPED) strncat(title, ", AVX2", sizeof job->titles[0][0] - strlen(title) - 1);
    snprintf(job->lesson, sizeof job->lesson, "%s/%s", job->scratch.folder, lesson->network);
    STK__TRY(stk__lesson_write(lesson, job->lesson, error));
    enter_all(job, lesson, level, title);
    const stk_status status = run_turns(job, until_ns, error);
    if (status == STK_OK) job->results[level][index] = judge_lesson(job);
    if (status == STK_OK && job->engine)
        job->results[level][index].own_share = stk__pupil_share(&job->pupils[0]);
    stop_all(job);
    job->cases_left--;
    return status;
}

/* --- all of it -------------------------------------------------------------------------------------------
 */

static bool is_wanted(const train_job *job, const char *name)
{
    for (size_t i = 0; i < job->case_count; i++)
        if (strcmp(job->cases[i], name) == 0) return true;
    return job->case_count == 0;
}

/* A word that is no case; NULL: none. */
static const char *find_stranger(const train_job *job)
{
    for (size_t i = 0; i < job->case_count; i++) {
        bool known = strcmp(job->cases[i], FILES_WORD) == 0;
        for (int l = 0; l < STK_LESSONS; l++)
            known |= strcmp(job->cases[i], stk__lessons[l].network) == 0;
        if (!known) return job->cases[i];
    }
    return NULL;
}

static int count_cases(const train_job *job, bool own, bool capped)
{
    int lessons = 0;
    for (int i = 0; i < STK_LESSONS; i++)
        lessons += is_wanted(job, stk__lessons[i].network);
    return lessons * (own + capped) + is_wanted(job, FILES_WORD);
}

static stk_status run_lessons(train_job *job, train_level level, stk_error *error)
{
    for (int i = 0; i < STK_LESSONS; i++)
        if (is_wanted(job, stk__lessons[i].network)) STK__TRY(run_lesson(job, i, level, error));
    return STK_OK;
}

static stk_status run_files(train_job *job, stk_error *error)
{
    job->files.ratio = NAN;
    if (!is_wanted(job, FILES_WORD)) return STK_OK;
    job->files = (stk__files_case){.bench = &job->bench,
                                   .program = job->program,
                                   .python = job->python,
                                   .scratch = job->scratch.folder,
                                   .count = job->quick ? QUICK_FILES : FILES,
                                   .rounds = job->rounds,
                                   .until_ns = job->until_ns,
                                   .cpus = job->cpus};
    return stk__files_run(&job->files, error);
}

static void judge_all(train_job *job)
{
    static const struct {
        const char *avx512, *avx2, *first, *memory;
        double goal;
    } goals[STK_LESSONS] = {
        {"unet: times as fast as the fastest PyTorch, AVX-512",
         "unet: times as fast as the fastest PyTorch, AVX2", "unet: start to first step / eager PyTorch's",
         "unet: peak memory / that of the fastest PyTorch", 1.5},
        {"locator: times as fast as the fastest PyTorch, AVX-512",
         "locator: times as fast as the fastest PyTorch, AVX2",
         "locator: start to first step / eager PyTorch's",
         "locator: peak memory / that of the fastest PyTorch", 1.3},
        {"resnet: times as fast as the fastest PyTorch, AVX-512",
         "resnet: times as fast as the fastest PyTorch, AVX2",
         "resnet: start to first step / eager PyTorch's", "resnet: peak memory / that of the fastest PyTorch",
         1.5},
        {"lstm: times as fast as the fastest PyTorch, AVX-512",
         "lstm: times as fast as the fastest PyTorch, AVX2", "lstm: start to first step / eager PyTorch's",
         "lstm: peak memory / that of the fastest PyTorch", 1.8},
    };
    const bool wide = stk__cpu_level_found() == STK_CPU_AVX512;
    const stk__lesson_result *own = job->results[LEVEL_OWN], *capped = job->results[LEVEL_CAPPED],
                             *seen = job->isa ? capped : own;
    for (int i = 0; i < STK_LESSONS; i++)
        stk__bench_judge(&job->bench, goals[i].avx512, wide ? own[i].speed : NAN, true, goals[i].goal);
    for (int i = 0; i < STK_LESSONS; i++)
        stk__bench_judge(&job->bench, goals[i].avx2, wide || job->isa ? capped[i].speed : own[i].speed, true,
                         1.1);
    for (int i = 0; i < STK_LESSONS; i++)
        stk__bench_judge(&job->bench, goals[i].first, seen[i].first, false, 0.2);
    for (int i = 0; i < STK_LESSONS; i++)
        stk__bench_judge(&job->bench, goals[i].memory, seen[i].memory, false, 0.6);
    stk__bench_judge(&job->bench, "files, strong chain, tiny network: rate / PyTorch + DataLoader",
                     job->files.ratio, true, 4);
}

static stk_status prepare(train_job *job, stk_error *error)
{
    const ssize_t length = readlink("/proc/self/exe", job->program, sizeof job->program - 1);
    if (length < 0) return stk__fail(error, STK_ERROR_IO, "cannot find this program (/proc/self/exe)");
    job->program[length] = '\0';
    job->cpus = stk__cpu_budget_read(NULL).cpus;
    for (int level = 0; level < LEVELS; level++)
        for (int i = 0; i < STK_LESSONS; i++)
            job->results[level][i] = (stk__lesson_result){NAN, NAN, NAN, NAN};
    double busy = NAN;
    getloadavg(&busy, 1);
    stk__bench_describe(&job->bench, "%d threads, %lld interleaved rounds, load %.1f before the first",
                        job->cpus, (long long)job->rounds, busy);
    STK__TRY(stk__bench_folder_make(&job->scratch, error));
    return stk__peer_write_texts(job->scratch.folder, error);
}

/* Ours through PyTorch beside eager PyTorch; a quick run has small batches only. */
static stk_status run_engine(train_job *job, stk_error *error)
{
    job->total = job->cases_left = count_cases(job, !job->quick, true);
    STK__TRY(prepare(job, error));
    stk__progress_start(&job->progress);
    stk_status status = job->quick ? STK_OK : run_lessons(job, LEVEL_OWN, error);
    if (status == STK_OK) status = run_lessons(job, LEVEL_SMALL, error);
    stk__progress_end(&job->progress);
    if (status == STK_OK)
        stk__train_torch_judge(&job->bench, job->results[LEVEL_OWN], job->results[LEVEL_SMALL]);
    return status;
}

static stk_status run_all(train_job *job, stk_error *error)
{
    if (job->engine) return run_engine(job, error);
    const bool capped = job->isa || (!job->quick && stk__cpu_level_found() == STK_CPU_AVX512);
    job->total = job->cases_left = count_cases(job, !job->isa, capped);
    STK__TRY(prepare(job, error));
    stk__progress_start(&job->progress);
    stk_status status = job->isa ? STK_OK : run_lessons(job, LEVEL_OWN, error);
    if (status == STK_OK && capped) status = run_lessons(job, LEVEL_CAPPED, error);
    if (status == STK_OK) status = run_files(job, error);
    stk__progress_end(&job->progress);
    if (status == STK_OK) judge_all(job);
    return status;
}

/* After Ctrl-C: a turn may last longer than the program is given to end. */
static void abandon(void *context)
{
    const train_job *job = context;
    for (int i = 0; i < job->count; i++) {
        if (job->pupils[i].peer.pid) kill(-job->pupils[i].peer.pid, SIGKILL);
        if (job->pupils[i].again.pid) kill(-job->pupils[i].again.pid, SIGKILL);
    }
    stk__files_abandon(&job->files);
    stk__bench_data_remove(&job->scratch);
}

static int run_bench(train_job *job)
{
    stk_error error;
    stk__interrupt_target(abandon, job);
    const stk_status status = run_all(job, &error);
    const int code = status == STK_OK ? stk__bench_report(&job->bench) : stk__cli_fail(&error);
    stk__interrupt_target(NULL, NULL);
    stop_all(job);
    stk__bench_data_close(&job->scratch);
    return code;
}

int stk__bench_train(int argc, char **argv)
{
    static const stk__verb verb = {
        .name = "bench train",
        .usage = "bench train [unet|locator|resnet|lstm|files …]",
        .about =
            "Training steps of unet, locator, resnet and lstm, and training from files, beside PyTorch's "
            "with the same weights and batches."};
    static train_job job; /* too large for a stack */
    job = (train_job){.start_ns = stk__clock_ns()};
    const stk__flag flags[] = {
        {.name = "rounds", .value = "N", .help = "interleaved rounds (7)", .number = &job.rounds},
        {.name = "quick",
         .help = "three rounds, smaller batches, no compiled peers, under 45 s (unless --rounds is given)",
         .given = &job.quick},
        {.name = "isa",
         .value = "avx2",
         .help = "cap both sides to these instructions; without it, capped rows are extra ones where the CPU "
                 "has AVX-512",
         .text = &job.isa},
        {.name = "engine",
         .value = "torch",
         .help = "the engine torch beside eager PyTorch, with goals of its own: full batches and small ones",
         .text = &job.engine},
        {.name = "peers",
         .value = "PYTHON",
         .help = "interpreter that has PyTorch (bench/peers/setup makes one)",
         .text = &job.python},
        {.name = "json", .help = "report as JSON on standard output", .given = &stk__cli_json},
    };
    stk__arguments arguments = {
        .verb = &verb, .flags = flags, .flag_count = sizeof flags / sizeof flags[0], .most_words = 4};
    const int code = stk__arguments_read(&arguments, argc, argv);
    if (code >= 0) return code;
    if (job.quick && job.rounds == 0) job.until_ns = job.start_ns + QUICK_S * STK_SECOND_NS;
    if (job.rounds == 0) job.rounds = job.quick ? QUICK_ROUNDS : ROUNDS;
    if (job.rounds > STK_BENCH_ROUNDS)
        return stk__cli_usage("bench train", "--rounds must be from 1 to %d", STK_BENCH_ROUNDS);
    job.cases = arguments.words;
    job.case_count = arguments.word_count;
    if (find_stranger(&job))
        return stk__cli_usage("bench train", "there is no case '%s'", find_stranger(&job));
    if (job.engine && strcmp(job.engine, "torch") != 0)
        return stk__cli_usage("bench train", "--engine can only be torch, not '%s'", job.engine);
    if (job.isa && strcmp(job.isa, "avx2") != 0)
        return stk__cli_usage("bench train", "--isa can only be avx2, not '%s'", job.isa);
    return run_bench(&job);
}
