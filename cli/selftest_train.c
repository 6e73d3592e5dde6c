/* The self-test's trainings: the same steps on the GPU and on the CPU, and a GPU kept as busy as it can be.
 */
#include "selftest.h"

#include "core/clock.h"
#include "train_session.h"

#include <math.h>
#include <string.h>

enum { POINTS = 20, SHOWN = 6, MOST_SETTINGS = 16 };

/* Seconds. The parts together: two minutes. */
#define COMPARE_S 30.0
#define LOAD_S    60.0
#define QUICK_S   2.0

/* Two engines that train the same run differ by less in tests/train/test_engine_change.py: by 1e-4 in the
 * next loss, by 2 % after fifty steps, when rounding has gone its own way. */
#define FIRST_BOUND 1e-3
#define CURVE_BOUND 0.02
#define WAIT_MOST   5.0  /* percent of the time */
#define UTIL_LEAST  85.0 /* as `stoker monitor` judges it */

typedef struct setting {
    const char *key, *value;
} setting;

static const char compare_section[] = "training, here and on the CPU";
static const char load_section[] = "training under load";

static stk__cli_session session; /* of one training at a time; too large for a stack */

static stk_status open_session(const setting *common, const setting *own, stk_error *error)
{
    session = (stk__cli_session){0};
    STK__TRY(stk__config_create(&session.config, stk__cli_train_tables(), STK_CLI_TRAIN_TABLES, error));
    const setting *const lists[] = {common, own};
    for (int i = 0; i < 2; i++)
        for (const setting *s = lists[i]; s->key; s++)
            STK__TRY(
                stk__config_set(session.config, s->key, s->value, STK_ORIGIN_COMMAND, "self-test", error));
    return stk__cli_session_open(&session, error);
}

/* Unlike other verbs this one has something to say when threads hang. */
static void close_session(stk__selftest *t)
{
    stk__trainer_close(&session.trainer);
    stk__engine_close(&session.engine);
    t->left_behind += stk_loader_close(&session.val_loader);
    t->left_behind += stk_loader_close(&session.loader);
    stk__config_destroy(&session.config);
}

/* The next step, over the ends of epochs. */
static stk_status step_on(stk_error *error)
{
    stk_status status = stk__trainer_step(session.trainer, error);
    if (status == STK_END) status = stk__trainer_step(session.trainer, error);
    return status;
}

static double seconds_since(uint64_t start_ns)
{
    return (double)(stk__clock_ns() - start_ns) * 1e-9;
}

/* --- the same steps on both --------------------------------------------------------------------------------
 */

typedef struct lesson {
    const char *device;
    int most_points, steps; /* of the curve; steps of a point */
    double budget_s;
    double curve[POINTS]; /* mean loss of each point's steps */
    int points;
    double step_ms; /* without the first point, in which memory is touched for the first time */
} lesson;

static stk_status take_point(lesson *l, stk_error *error)
{
    stk__trainer_log log;
    for (int i = 0; i < l->steps; i++)
        STK__TRY(step_on(error));
    STK__TRY(stk__trainer_read(session.trainer, &log, error));
    l->curve[l->points++] = log.score.loss;
    return STK_OK;
}

static stk_status take_points(stk__selftest *t, lesson *l, stk_error *error)
{
    const uint64_t start_ns = stk__clock_ns();
    uint64_t warm_ns = start_ns;
    char what[32];
    snprintf(what, sizeof what, "training on %s", l->device);
    stk__progress_start(&t->progress);
    while (l->points < l->most_points && !stk__selftest_stopped() && seconds_since(start_ns) < l->budget_s) {
        STK__TRY(take_point(l, error));
        if (l->points == 1) warm_ns = stk__clock_ns();
        stk__progress_show(&t->progress, what, (uint64_t)(l->points * l->steps),
                           (uint64_t)(l->most_points * l->steps));
    }
    const int counted = l->points > 1 ? l->points - 1 : l->points;
    if (counted)
        l->step_ms = seconds_since(l->points > 1 ? warm_ns : start_ns) * 1e3 / (double)(counted * l->steps);
    if (!l->points) return stk__fail(error, STK_ERROR_INTERRUPTED, "interrupted");
    return STK_OK;
}

/* Augmentation has the same bits on every device, so both see the same batches. On the CPU it is the engine
 * that is best there: what both agree on is right. */
static stk_status run_lesson(stk__selftest *t, lesson *l, stk_error *error)
{
    const setting common[MOST_SETTINGS] = {{"data.root",
                                            t->quick ? "make:faces?count=16" : "make:faces?count=64"},
                                           {"data.image_size", t->quick ? "32" : "64"},
                                           {"data.batch_size", "8"},
                                           {"data.cache", "auto"},
                                           {"augment.preset", "standard"},
                                           {"model.name", "unet"},
                                           {"model.width", t->quick ? "4" : "16"},
                                           {"train.epochs", "1000"},
                                           {"train.amp", "false"},
                                           {"train.tf32", "false"},
                                           {"train.conv", "direct"}},
                  own[] = {{"run.device", l->device}, {NULL, NULL}};
    stk_status status = open_session(common, own, error);
    if (status == STK_OK) status = take_points(t, l, error);
    stk__progress_end(&t->progress);
    close_session(t);
    return status;
}

static double difference(const lesson *here, const lesson *there, int from, int to)
{
    double most = 0;
    for (int i = from; i < to; i++) {
        const double away = fabs(here->curve[i] - there->curve[i]) / fmax(fabs(there->curve[i]), 1e-6);
        if (!(away <= most)) most = isnan(away) ? INFINITY : away;
    }
    return most;
}

static void put_curve(stk__selftest *t, const lesson *l, int points)
{
    stk__selftest_row row = {.section = compare_section, .value = NAN};
    snprintf(row.name, sizeof row.name, "loss on %s", l->device);
    const int shown = points < SHOWN ? points : SHOWN;
    for (int i = 0; i < shown; i++) {
        const int point = shown > 1 ? i * (points - 1) / (shown - 1) : 0;
        const size_t used = strlen(row.words);
        snprintf(row.words + used, sizeof row.words - used, "%s%.5g", i ? " " : "", l->curve[point]);
    }
    stk__selftest_put(t->gpu, &row, t->quick);
}

static void put_comparison(stk__selftest *t, const lesson *here, const lesson *there)
{
    const int points = here->points < there->points ? here->points : there->points;
    put_curve(t, here, points);
    put_curve(t, there, points);
    stk__selftest_row row = {.section = compare_section,
                             .value = difference(here, there, 0, 1),
                             .kind = STK_LIMIT_MOST,
                             .limit = FIRST_BOUND};
    snprintf(row.name, sizeof row.name, "relative difference, first %d steps", here->steps);
    stk__selftest_put(t->gpu, &row, t->quick);
    row.value = difference(here, there, 0, points);
    row.limit = CURVE_BOUND;
    snprintf(row.name, sizeof row.name, "largest of %d steps", points * here->steps);
    stk__selftest_put(t->gpu, &row, t->quick);
    row = (stk__selftest_row){.section = compare_section,
                              .name = "a step",
                              .value = here->step_ms,
                              .unit = "ms",
                              .kind = STK_LIMIT_MOST,
                              .limit = there->step_ms,
                              .basis = "the CPU's",
                              .speed = true};
    stk__selftest_put(t->gpu, &row, t->quick);
}

void stk__selftest_compare(stk__selftest *t)
{
    stk_error error = {0};
    lesson here = {.device = t->gpu->info.name,
                   .most_points = t->quick ? 4 : POINTS,
                   .steps = t->quick ? 2 : 10,
                   .budget_s = t->quick ? 10 * QUICK_S : COMPARE_S};
    lesson there = here;
    there.device = "cpu";
    stk_status status = run_lesson(t, &here, &error);
    there.most_points = here.points;
    if (status != STK_OK) {
        stk__selftest_fail(t->gpu, compare_section, here.device, &error);
        return;
    }
    status = run_lesson(t, &there, &error);
    if (status != STK_OK)
        stk__selftest_fail(t->gpu, compare_section, there.device, &error);
    else
        put_comparison(t, &here, &there);
}

/* --- under load --------------------------------------------------------------------------------------------
 */

typedef struct load {
    int64_t steps;
    double seconds, wait_percent, util_percent;
    int64_t peak_bytes, planned_bytes; /* -1: unknown */
} load;

static stk_status step_until(stk__selftest *t, double until_s, uint64_t start_ns, int64_t most,
                             int64_t *steps, stk_error *error)
{
    const double whole_s = t->quick ? QUICK_S : LOAD_S;
    while (*steps < most && (!*steps || seconds_since(start_ns) < until_s)) { /* one at least */
        if (stk__selftest_stopped()) return STK_OK;
        STK__TRY(step_on(error));
        ++*steps;
        stk__progress_show(&t->progress, "training under load", (uint64_t)(seconds_since(start_ns) * 10),
                           (uint64_t)(whole_s * 10));
    }
    return STK_OK;
}

/* A first epoch, in which images are drawn and kept, does not count; nor does more than a third of the time.
 */
static stk_status measure_load(stk__selftest *t, load *l, stk_error *error)
{
    const double whole_s = t->quick ? QUICK_S : LOAD_S;
    stk__trainer_log log;
    int64_t warm = 0;
    const uint64_t start_ns = stk__clock_ns();
    stk__progress_start(&t->progress);
    STK__TRY(step_until(t, whole_s / 3, start_ns, stk__trainer_describe(session.trainer)->steps_per_epoch,
                        &warm, error));
    STK__TRY(stk__trainer_read(session.trainer, &log, error)); /* waits for what is queued */
    stk__stall *stall = stk__trainer_stall(session.trainer);
    stk__stall_start(stall);
    stk__selftest_watch_start(t->watch);
    const uint64_t begun_ns = stk__clock_ns();
    STK__TRY(step_until(t, whole_s, start_ns, INT64_MAX, &l->steps, error));
    STK__TRY(stk__trainer_read(session.trainer, &log, error));
    l->seconds = seconds_since(begun_ns);
    l->util_percent = stk__selftest_watch_stop(t->watch);
    l->wait_percent = 100 * stk__stall_wait_ns(stall) * 1e-9 / l->seconds;
    l->peak_bytes = stk__trainer_memory(session.trainer).peak_bytes;
    l->planned_bytes = (int64_t)session.device_bytes;
    return l->steps ? STK_OK : stk__fail(error, STK_ERROR_INTERRUPTED, "interrupted");
}

static void put_utilisation(stk__selftest *t, const load *l)
{
    static const char name[] = "utilisation by NVML";
    const stk__selftest_row row = {.section = load_section,
                                   .name = "utilisation by NVML",
                                   .value = l->util_percent,
                                   .unit = "%",
                                   .kind = STK_LIMIT_LEAST,
                                   .limit = UTIL_LEAST,
                                   .speed = true};
    if (!t->watch)
        stk__selftest_unknown(t->gpu, load_section, name, t->no_watch);
    else if (isnan(l->util_percent))
        stk__selftest_unknown(t->gpu, load_section, name, "the driver told nothing in that time");
    else
        stk__selftest_put(t->gpu, &row, t->quick);
}

static void put_load(stk__selftest *t, const load *l)
{
    stk__selftest_row row = {.section = load_section,
                             .name = "a step",
                             .value = l->seconds * 1e3 / (double)l->steps,
                             .unit = "ms"};
    snprintf(row.basis, sizeof row.basis, "of %lld; nobody has a number yet", (long long)l->steps);
    stk__selftest_put(t->gpu, &row, t->quick);
    row = (stk__selftest_row){.section = load_section,
                              .name = "waiting for data",
                              .value = l->wait_percent,
                              .unit = "%",
                              .kind = STK_LIMIT_MOST,
                              .limit = WAIT_MOST,
                              .speed = true};
    stk__selftest_put(t->gpu, &row, t->quick);
    put_utilisation(t, l);
    if (l->peak_bytes < 0) return;
    row = (stk__selftest_row){
        .section = load_section, .name = "memory, most", .value = (double)l->peak_bytes * 1e-9, .unit = "GB"};
    snprintf(row.basis, sizeof row.basis, "planned: %.4g GB, beside what others use",
             (double)l->planned_bytes * 1e-9);
    stk__selftest_put(t->gpu, &row, t->quick);
}

void stk__selftest_load(stk__selftest *t)
{
    stk_error error = {0};
    load l = {0};
    const setting full[MOST_SETTINGS] = {{"data.root", "make:faces?count=256"},
                                         {"data.image_size", "256"},
                                         {"data.batch_size", "16"}},
                  quick[MOST_SETTINGS] = {{"data.root", "make:faces?count=16"},
                                          {"data.image_size", "32"},
                                          {"data.batch_size", "8"},
                                          {"model.width", "4"}},
                  own[] = {{"data.cache", "auto"},
                           {"augment.preset", "strong"},
                           {"model.name", "unet"},
                           {"train.epochs", "1000000"},
                           {"run.engine", "torch"},
                           {"run.device", t->gpu->info.name},
                           {NULL, NULL}};
    stk_status status = open_session(t->quick ? quick : full, own, &error);
    if (status == STK_OK) status = measure_load(t, &l, &error);
    stk__progress_end(&t->progress);
    close_session(t);
    if (status != STK_OK)
        stk__selftest_fail(t->gpu, load_section, t->gpu->info.name, &error);
    else
        put_load(t, &l);
}
