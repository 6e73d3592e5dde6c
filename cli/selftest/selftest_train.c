/* SPDX-License-Identifier: Apache-2.0 */
/* The self-test's training: the same steps on the GPU and on the CPU, with MixUp and a frozen block, then an
 * evaluation; and once more on the GPU with mixed precision. */
#include "selftest_session.h"

#include "core/clock.h"

#include <math.h>
#include <string.h>

enum { POINTS = 20, SHOWN = 6 };

#define COMPARE_S 30.0 /* each of three */
#define QUICK_S   20.0

/* Two engines that train the same run differ by less in tests/train/test_engine_change.py: by 1e-4 in the
 * next loss, by 2 % after fifty steps, when rounding errors have grown. */
#define FIRST_BOUND 1e-3
#define CURVE_BOUND 0.02
/* Mixed precision against f32: bf16 rounds each activation by up to 0.4 %, and fp16 may skip its first steps
 * while it searches a loss scale. */
#define HALF_BOUND 0.1

static const char section[] = "training on the GPU and on the CPU";

stk__session stk__selftest_session; /* too large for a stack */
#define session stk__selftest_session

stk_status stk__selftest_session_open(const stk__selftest_setting *common, const stk__selftest_setting *own,
                                      stk_error *error)
{
    session = (stk__session){0};
    STK__TRY(stk__config_create(&session.config, stk__session_tables(), STK_SESSION_TABLES, error));
    const stk__selftest_setting *const lists[] = {common, own};
    for (int i = 0; i < 2; i++)
        for (const stk__selftest_setting *s = lists[i]; s->key; s++)
            STK__TRY(
                stk__config_set(session.config, s->key, s->value, STK_ORIGIN_COMMAND, "self-test", error));
    return stk__session_open(&session, error);
}

/* Unlike other verbs this one reports even when threads hang. */
void stk__selftest_session_close(stk__selftest *t)
{
    t->left_behind += stk__session_close(&session);
    stk__config_destroy(&session.config);
}

stk_status stk__selftest_session_step(stk_error *error)
{
    stk_status status = stk__trainer_step(session.trainer, error);
    if (status == STK_END) status = stk__trainer_step(session.trainer, error);
    return status;
}

double stk__selftest_seconds_since(uint64_t start_ns)
{
    return (double)(stk__clock_ns() - start_ns) * 1e-9;
}

typedef struct train_case {
    const char *device, *amp;
    int most_points, steps; /* of the curve; steps of a point */
    double budget_s;
    double curve[POINTS]; /* mean loss of each point's steps */
    int points;
    double evaluated; /* loss on the validation part, after the first point */
    stk_dtype half;   /* what the steps were in; 0: f32 */
    double step_ms;   /* without the first point, in which memory is touched for the first time */
} train_case;

static stk_status take_point(train_case *c, stk_error *error)
{
    stk__trainer_log log;
    for (int i = 0; i < c->steps; i++)
        STK__TRY(stk__selftest_session_step(error));
    STK__TRY(stk__trainer_read(session.trainer, &log, error));
    c->curve[c->points++] = log.score.loss;
    return STK_OK;
}

static stk_status take_points(stk__selftest *t, train_case *c, stk_error *error)
{
    const uint64_t start_ns = stk__clock_ns();
    uint64_t warm_ns = start_ns;
    char what[32];
    snprintf(what, sizeof what, "training on %s", c->device);
    stk__progress_start(&t->progress);
    while (c->points < c->most_points && !stk__selftest_stopped() &&
           stk__selftest_seconds_since(start_ns) < c->budget_s) {
        STK__TRY(take_point(c, error));
        if (c->points == 1) {
            stk__score score;
            STK__TRY(stk__trainer_evaluate(session.trainer, &score, error));
            c->evaluated = score.loss;
            warm_ns = stk__clock_ns();
        }
        stk__progress_show(&t->progress, what, (uint64_t)(c->points * c->steps),
                           (uint64_t)(c->most_points * c->steps));
    }
    const int counted = c->points > 1 ? c->points - 1 : c->points;
    if (counted)
        c->step_ms = stk__selftest_seconds_since(c->points > 1 ? warm_ns : start_ns) * 1e3 /
                     (double)(counted * c->steps);
    if (!c->points) return stk__fail(error, STK_ERROR_INTERRUPTED, "interrupted");
    return STK_OK;
}

/* Augmentation has the same bits on every device, so both see the same batches. On the CPU the best engine is
 * used: results that agree are right. */
static stk_status run_case(stk__selftest *t, train_case *c, stk_error *error)
{
    const stk__selftest_setting common[] = {{"data.root",
                                             t->quick ? "make:faces?count=16" : "make:faces?count=64"},
                                            {"data.image_size", t->quick ? "32" : "64"},
                                            {"data.batch_size", "8"},
                                            {"data.val_split", "0.25"},
                                            {"data.cache", "auto"},
                                            {"augment.preset", "standard"},
                                            {"augment.mixup_alpha", "0.4"},
                                            {"augment.mixup_prob", "0.5"},
                                            {"model.name", "unet"},
                                            {"model.freeze", "middle"},
                                            {"model.width", t->quick ? "4" : "16"},
                                            {"train.epochs", "1000"},
                                            {"train.tf32", "false"},
                                            {"train.conv", "direct"},
                                            {NULL, NULL}},
                                own[] = {{"run.device", c->device}, {"train.amp", c->amp}, {NULL, NULL}};
    stk_status status = stk__selftest_session_open(common, own, error);
    if (status == STK_OK) status = take_points(t, c, error);
    if (status == STK_OK) c->half = stk__trainer_describe(session.trainer)->half;
    stk__progress_end(&t->progress);
    stk__selftest_session_close(t);
    return status;
}

static double difference(double here, double there)
{
    const double away = fabs(here - there) / fmax(fabs(there), 1e-6);
    return isnan(away) ? INFINITY : away;
}

static double largest_difference(const train_case *here, const train_case *there, int points)
{
    double most = 0;
    for (int i = 0; i < points; i++)
        most = fmax(most, difference(here->curve[i], there->curve[i]));
    return most;
}

static void put_curve(stk__selftest *t, const train_case *c, int points)
{
    stk__selftest_row row = {.section = section, .value = NAN};
    snprintf(row.name, sizeof row.name, "loss on %s", c->device);
    const int shown = points < SHOWN ? points : SHOWN;
    for (int i = 0; i < shown; i++) {
        const int point = shown > 1 ? i * (points - 1) / (shown - 1) : 0;
        const size_t used = strlen(row.words);
        snprintf(row.words + used, sizeof row.words - used, "%s%.5g", i ? " " : "", c->curve[point]);
    }
    stk__selftest_put(t->gpu, &row, t->quick);
}

static void put_difference(stk__selftest *t, const char *name, double value, double limit)
{
    stk__selftest_row row = {.section = section, .value = value, .kind = STK_LIMIT_MOST, .limit = limit};
    snprintf(row.name, sizeof row.name, "%s", name);
    stk__selftest_put(t->gpu, &row, t->quick);
}

static void put_comparison(stk__selftest *t, const train_case *here, const train_case *there)
{
    const int points = here->points < there->points ? here->points : there->points;
    char name[48];
    put_curve(t, here, points);
    put_curve(t, there, points);
    snprintf(name, sizeof name, "relative difference, first %d steps", here->steps);
    put_difference(t, name, difference(here->curve[0], there->curve[0]), FIRST_BOUND);
    snprintf(name, sizeof name, "max rel. difference, %d steps", points * here->steps);
    put_difference(t, name, largest_difference(here, there, points), CURVE_BOUND);
    snprintf(name, sizeof name, "evaluation after %d steps", here->steps);
    put_difference(t, name, difference(here->evaluated, there->evaluated), FIRST_BOUND);
    const stk__selftest_row row = {.section = section,
                                   .name = "step time",
                                   .value = here->step_ms,
                                   .unit = "ms",
                                   .kind = STK_LIMIT_MOST,
                                   .limit = there->step_ms,
                                   .basis = "step time on the CPU",
                                   .speed = true};
    stk__selftest_put(t->gpu, &row, t->quick);
}

/* bf16 where it is native, else fp16; GPUs that are not faster with either stay in f32. */
static void compare_half(stk__selftest *t, const train_case *there)
{
    train_case half = *there;
    stk_error error = {0};
    char name[48];
    half.device = t->gpu->info.name;
    half.amp = "true";
    half.points = 0;
    if (run_case(t, &half, &error) != STK_OK) {
        stk__selftest_fail(t->gpu, section, "mixed precision (AMP)", &error);
        return;
    }
    stk__selftest_row row = {
        .section = section, .name = "mixed precision (AMP)", .value = NAN, .words = "not faster on this GPU"};
    if (!half.half) {
        stk__selftest_put(t->gpu, &row, t->quick);
        return;
    }
    const int points = half.points < there->points ? half.points : there->points;
    snprintf(name, sizeof name, "%s, max rel. difference, %d steps",
             half.half == STK_DTYPE_BF16 ? "bf16" : "fp16", points * half.steps);
    put_difference(t, name, largest_difference(&half, there, points), HALF_BOUND);
}

void stk__selftest_compare(stk__selftest *t)
{
    stk_error error = {0};
    train_case here = {.device = t->gpu->info.name,
                       .amp = "false",
                       .most_points = t->quick ? 4 : POINTS,
                       .steps = t->quick ? 2 : 10,
                       .budget_s = t->quick ? QUICK_S : COMPARE_S};
    train_case there = here;
    there.device = "cpu";
    stk_status status = run_case(t, &here, &error);
    there.most_points = here.points;
    if (status != STK_OK) {
        stk__selftest_fail(t->gpu, section, here.device, &error);
        return;
    }
    status = run_case(t, &there, &error);
    if (status != STK_OK) {
        stk__selftest_fail(t->gpu, section, there.device, &error);
        return;
    }
    put_comparison(t, &here, &there);
    compare_half(t, &there);
}
