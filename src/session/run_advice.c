/* SPDX-License-Identifier: Apache-2.0 */
/* The rules: one table, the most important first. A rule looks at the facts and, if it applies, writes one
 * sentence: the numbers, then what to change. First what the network has learnt, then where the time went:
 * a fast run that learns nothing is no good one. */
#include "session/run_advice.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Below these nothing is said; the second: about what was learnt. */
#define LEAST_S 2.0
enum { LEAST_STEPS = 5, LEARNT_STEPS = 100, LEAST_SAMPLES = 8, GAP_SAMPLES = 100 };

static bool say(char *text, const char *format, ...) STK__PRINTF(2, 3);
static bool say(char *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, STK_ADVICE_TEXT_BYTES, format, arguments);
    va_end(arguments);
    return true;
}

static void add(char *text, const char *more)
{
    const size_t size = strlen(text);
    snprintf(text + size, STK_ADVICE_TEXT_BYTES - size, "%s", more);
}

static bool has_learnt(const stk__advice_facts *f)
{
    return f->evaluated && f->steps >= LEARNT_STEPS && f->val_samples >= LEAST_SAMPLES;
}

static double width(stk__prediction_range range)
{
    return range.most - range.least;
}

static const char *class_text(const stk__advice_facts *f, int64_t id, char text[64])
{
    if (f->class_names && id < f->classes)
        snprintf(text, 64, "'%.56s'", f->class_names[id]);
    else
        snprintf(text, 64, "%lld", (long long)id);
    return text;
}

/* Classes of a segmentation that came up in masks or predictions, and those that were ever predicted right;
 * *right: the last of these. */
static int count_classes(const stk__advice_facts *f, int *right_count, int64_t *right)
{
    int present = 0;
    *right_count = 0;
    *right = -1;
    for (int64_t c = 0; c < f->classes && c < STK_OP_CLASSES; c++) {
        const double score = f->score.per_class[c];
        present += !isnan(score);
        *right_count += score > 0;
        if (score > 0) *right = c;
    }
    return present;
}

/* --- what it has learnt ----------------------------------------------------------------------------------
 */

static bool constant_targets(const stk__advice_facts *f, char *text)
{
    const stk__prediction_stats *p = &f->predictions;
    char name[64];
    double share;
    int right_count;
    int64_t class = stk__prediction_stats_common(p, &share);
    if (!f->evaluated || f->val_samples < LEAST_SAMPLES) return false;
    if (f->task == STK_TASK_CLASSIFICATION && share == 1)
        return say(text,
                   "all %llu validation samples have class %s: there is nothing to tell apart; check the "
                   "labels (stoker stats)",
                   (unsigned long long)p->count, class_text(f, class, name));
    if (stk__task_has_values(f->task) && p->count && width(p->truth[0]) == 0)
        return say(text,
                   "all %llu validation targets are %.4g, so r2 cannot be computed; check the target column "
                   "(stoker stats)",
                   (unsigned long long)p->count, p->truth[0].least);
    if (f->task == STK_TASK_SEGMENTATION && count_classes(f, &right_count, &class) == 1 && right_count == 1)
        return say(text,
                   "all validation masks have one class only, %s: there is nothing to tell apart; check the "
                   "masks (stoker stats)",
                   class_text(f, class, name));
    return false;
}

/* Of values and points: far closer together than the targets. */
static bool is_narrow(const stk__advice_facts *f)
{
    const stk__prediction_stats *p = &f->predictions;
    const bool points = f->task == STK_TASK_POINTS;
    if (p->count < LEAST_SAMPLES || (!points && !stk__task_has_values(f->task))) return false;
    for (int i = 0; i <= points; i++)
        if (!(width(p->said[i]) < 0.02 * width(p->truth[i]))) return false;
    return true;
}

static bool constant_masks(const stk__advice_facts *f, char *text)
{
    char name[64];
    int right_count;
    int64_t right;
    const int present = count_classes(f, &right_count, &right);
    if (present < 2 || right_count != 1) return false;
    say(text,
        "of %d classes only %s is ever predicted correctly (pixel_accuracy %.3g; the F-scores of the others "
        "are 0): train longer, another optimizer.lr (%g)",
        present, class_text(f, right, name), f->score.values[2], f->lr);
    if (!f->class_weights) add(text, ", or loss.class_weights (stoker stats)");
    return true;
}

static bool constant_predictions(const stk__advice_facts *f, char *text)
{
    const stk__prediction_stats *p = &f->predictions;
    char said[64];
    double share;
    if (!has_learnt(f)) return false;
    if (f->task == STK_TASK_SEGMENTATION) return constant_masks(f, text);
    stk__prediction_stats_common(p, &share);
    if (f->task == STK_TASK_CLASSIFICATION)
        return p->count >= LEAST_SAMPLES && !p->said_varies && share < 1 &&
               say(text,
                   "class %s is predicted for all %llu validation samples (%s %.3g): another optimizer.lr "
                   "(%g), "
                   "or train longer",
                   class_text(f, p->said_class, said), (unsigned long long)p->count, f->metric,
                   f->score.values[0], f->lr);
    if (!is_narrow(f)) return false;
    if (f->task == STK_TASK_POINTS)
        return say(text,
                   "the first point is predicted at the same place in all %llu validation samples (x %.4g to "
                   "%.4g px; in truth %.4g to %.4g px): another optimizer.lr (%g), or train longer",
                   (unsigned long long)p->count, p->said[0].least, p->said[0].most, p->truth[0].least,
                   p->truth[0].most, f->lr);
    return say(
        text,
        "the prediction is nearly the same for all %llu validation samples (%.4g to %.4g; targets %.4g "
        "to %.4g): another optimizer.lr (%g), or train longer",
        (unsigned long long)p->count, p->said[0].least, p->said[0].most, p->truth[0].least, p->truth[0].most,
        f->lr);
}

/* What the metric would be without looking at the input, and how it is reached; NAN: nothing to compare. */
static double chance_of(const stk__advice_facts *f, char how[96])
{
    double share;
    int right_count;
    int64_t class;
    char name[64];
    switch (f->task) {
    case STK_TASK_CLASSIFICATION:
        class = stk__prediction_stats_common(&f->predictions, &share);
        snprintf(how, 96, "always answering %s", class_text(f, class, name));
        return share < 1 ? share : NAN;
    case STK_TASK_SEGMENTATION: { /* of equally frequent classes: 1 / C hits among 2 / C - 1 / C^2 */
        const int present = count_classes(f, &right_count, &class);
        snprintf(how, 96, "guessing among %d classes", present);
        return present > 1 ? 1.0 / (2 * present - 1) : NAN;
    }
    case STK_TASK_POINTS: /* mean distance from the centre of a square: 0.383 of its side */
        snprintf(how, 96, "always answering the centre of %dx%d", f->image_w, f->image_h);
        return 0.383 * sqrt((double)f->image_h * f->image_w);
    case STK_TASK_REGRESSION:
    case STK_TASK_IMAGE_REGRESSION:
        snprintf(how, 96, "always answering the mean");
        return 0;
    case STK_TASK_MULTILABEL: /* the share of each class, which is not counted */
    case STK_TASK_COUNT:
        break;
    }
    return NAN;
}

static bool chance_level(const stk__advice_facts *f, char *text)
{
    char how[96], ignored[STK_ADVICE_TEXT_BYTES];
    if (!has_learnt(f) || constant_targets(f, ignored) || constant_predictions(f, ignored)) return false;
    const double chance = chance_of(f, how), value = f->trend.top_value;
    const bool bad = f->task == STK_TASK_POINTS ? value >= chance : value <= chance;
    if (isnan(chance) || isnan(value) || !bad) return false;
    return say(
        text,
        "%s %.3g at best in %llu steps is at chance level (%s gives %.3g): check that targets and inputs "
        "belong together (stoker stats), then another optimizer.lr (%g), or train longer",
        f->metric, value, (unsigned long long)f->steps, how, chance, f->lr);
}

static bool loss_rises(const stk__advice_facts *f, char *text)
{
    const double first = f->trend.first_loss, last = f->log.score.loss;
    if (f->trend.logs < 3 || !(first > 0) || !(last > 3 * first)) return false;
    return say(text, "the training loss rose from %.3g to %.3g in %llu steps: lower optimizer.lr (%g)%s",
               first, last, (unsigned long long)f->steps, f->lr,
               f->max_grad_norm > 0 ? "" : ", or set train.max_grad_norm=1");
}

/* Where it is clipped, its length does no harm. */
static bool gradient_norm(const stk__advice_facts *f, char *text)
{
    const stk__run_trend *t = &f->trend;
    if (t->logs < 3 || f->max_grad_norm > 0 || !(t->first_norm > 0)) return false;
    if (!(t->top_norm > 100 * t->first_norm)) return false;
    return say(
        text,
        "the gradient norm exploded: from %.3g to %.3g at step %lld; set train.max_grad_norm=1, or lower "
        "optimizer.lr (%g)",
        t->first_norm, t->top_norm, (long long)t->top_norm_step, f->lr);
}

static void add_remedies(const stk__advice_facts *f, char *text)
{
    add(text, ": more data");
    if (!f->augments && !stk__task_reads_windows(f->task)) add(text, ", augment.preset=standard");
    if (!f->early_stop) add(text, ", train.early_stop=3");
    add(text, ", or a smaller network");
}

static bool overfitting(const stk__advice_facts *f, char *text)
{
    const stk__run_trend *t = &f->trend;
    const double train = f->log.score.loss, val = f->score.loss;
    const double top = f->log.score.values[0], val_top = f->score.values[0];
    const bool high = f->task != STK_TASK_POINTS; /* the metric is at most 1, and better when higher */
    const bool enough = f->log.step_count * (double)f->batch_size >= GAP_SAMPLES;
    if (!has_learnt(f) || t->evaluations < 3) return false;
    if (t->low_val_loss > 0 && val > 1.25 * t->low_val_loss && train < 0.9 * t->low_train_loss)
        say(text,
            "overfitting: val_loss rose from %.3g (step %lld) to %.3g while the training loss fell from "
            "%.3g to %.3g",
            t->low_val_loss, (long long)t->low_step, val, t->low_train_loss, train);
    else if (high && enough && top > 0.25 && top - val_top > 0.25)
        say(text, "overfitting: %s is %.3g on the training part and %.3g on the validation part", f->metric,
            top, val_top);
    else
        return false;
    add_remedies(f, text);
    return true;
}

static bool no_validation(const stk__advice_facts *f, char *text)
{
    const uint64_t held = f->samples / 5;
    if (f->has_val || held == 0) return false;
    return say(
        text,
        "there is no validation part: nothing shows whether the network overfits, and there is no best "
        "checkpoint; data.val_split=0.2 holds back %llu of %llu samples",
        (unsigned long long)held, (unsigned long long)f->samples);
}

/* --- where the time went ---------------------------------------------------------------------------------
 */

/* What would make loading faster, and is not so already; empty: nothing is known. */
static void data_remedies(const stk__advice_facts *f, char *text)
{
    const bool images = !stk__task_reads_windows(f->task);
    const char *last = NULL;
    if (f->slowest == STK_STALL_READ && f->made)
        last = "write the samples to files once (stoker make) instead of generating them";
    else if (f->slowest == STK_STALL_READ)
        last = f->in_blocks ? "a faster disk" : "data.order=blocks(256), a faster disk";
    else if (images)
        last =
            f->slowest == STK_STALL_AUGMENT ? "a lighter augment.preset" : "images stored at data.image_size";
    *text = '\0';
    if (f->workers == 0) {
        add(text, "data.num_workers=0 loads in the training thread: leave it to auto");
        return;
    }
    if (f->workers < f->cpus)
        say(text, "more data.num_workers (%lld of %lld CPUs)", (long long)f->workers, (long long)f->cpus);
    if (images && !f->cached && f->slowest != STK_STALL_AUGMENT)
        add(text, *text ? ", data.cache=auto" : "data.cache=auto");
    if (last && *text) add(text, ", ");
    if (last) add(text, last);
}

static bool data_wait(const stk__advice_facts *f, char *text)
{
    char remedies[STK_ADVICE_TEXT_BYTES];
    data_remedies(f, remedies);
    if (f->wait_share <= 0.05 || !*remedies) return false;
    say(text, "%.0f %% of %.1f s were spent waiting for data, most of it for %s: ", 100 * f->wait_share,
        f->wall_s, stk__stall_name(f->slowest));
    add(text, remedies);
    return true;
}

static bool evaluation_time(const stk__advice_facts *f, char *text)
{
    const int64_t fewer = 3 * f->eval_interval;
    return f->eval_share > 0.15 && fewer <= f->epochs &&
           say(text,
               "%.0f %% of %.1f s went into evaluation: train.eval_interval=%lld would take a third of that",
               100 * f->eval_share, f->wall_s, (long long)fewer);
}

static bool checkpoint_time(const stk__advice_facts *f, char *text)
{
    const int64_t fewer = 3 * f->checkpoint_interval;
    return f->checkpoint_share > 0.05 && fewer <= f->epochs &&
           say(text,
               "%.0f %% of %.1f s went into checkpoints: train.checkpoint_interval=%lld would take a third "
               "of "
               "that",
               100 * f->checkpoint_share, f->wall_s, (long long)fewer);
}

static bool optimizer_time(const stk__advice_facts *f, char *text)
{
    return f->optimizer_share > 0.2 && 2 * f->batch_size <= f->samples &&
           say(text,
               "%.0f %% of %.1f s went into optimizer steps: a larger data.batch_size (%llu samples a step "
               "now) "
               "makes fewer of them",
               100 * f->optimizer_share, f->wall_s, (unsigned long long)f->batch_size);
}

/* --- all of them -----------------------------------------------------------------------------------------
 */

static const struct {
    const char *id;
    bool (*applies)(const stk__advice_facts *facts, char *text);
} rules[STK_ADVICE_RULES] = {
    {"constant_targets", constant_targets},
    {"constant_predictions", constant_predictions},
    {"loss_rises", loss_rises},
    {"chance_level", chance_level},
    {"gradient_norm", gradient_norm},
    {"overfitting", overfitting},
    {"no_validation", no_validation},
    {"data_wait", data_wait},
    {"evaluation_time", evaluation_time},
    {"checkpoint_time", checkpoint_time},
    {"optimizer_time", optimizer_time},
};

static bool is_enough(double wall_s, uint64_t steps)
{
    return wall_s >= LEAST_S && steps >= LEAST_STEPS;
}

bool stk__run_is_judged(const stk__run *run)
{
    return is_enough(run->report.wall_s, run->step_count);
}

bool stk__advice_rule(int rule, const stk__advice_facts *facts, stk__advice *advice)
{
    *advice = (stk__advice){.id = rules[rule].id};
    return is_enough(facts->wall_s, facts->steps) && rules[rule].applies(facts, advice->text);
}

int stk__advise(const stk__advice_facts *facts, stk__advice list[STK_ADVICE_MOST])
{
    int count = 0;
    for (int rule = 0; rule < STK_ADVICE_RULES && count < STK_ADVICE_MOST; rule++)
        count += stk__advice_rule(rule, facts, &list[count]);
    return count;
}
