/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that are NaN or infinite, and epochs in which nothing counted: found, located and explained. A run
 * that gets here ends, so nothing is spared: batches are taken from the feed again, which gives the same
 * ones, and looked at layer by layer on the host. Only train.detect_nan comes here with every step. One
 * thread.
 *
 * What is named is the earliest of: data that is not finite, a parameter that is not, the first layer of the
 * last step whose output or gradient is not, a running statistic that is not. */
#include "train/trainer_internal.h"

#include "core/clock.h"
#include "core/logger.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SCAN_MOST_S = 10, WHERE_BYTES = 320 };

/* --- where -----------------------------------------------------------------------------------------------
 */

typedef enum cause { CAUSE_UNKNOWN, CAUSE_DATA, CAUSE_WEIGHTS, CAUSE_LAYER } cause;

void stk__trainer_fault_text(const stk__pass_fault *fault, char *text, size_t size)
{
    *text = '\0';
    if (fault->layer && fault->layer[0])
        snprintf(text, size, ": first in the %s of layer '%.160s'", fault->what, fault->layer);
    else if (fault->layer)
        snprintf(text, size, ": first in %s", fault->what);
}

typedef enum tensor_kind { PARAMETERS = 1, BUFFERS = 2, GRADIENTS = 4 } tensor_kind;

/* *found: the first tensor of the model that is not finite, or whose gradient is not; NULL: none. */
static stk_status find_tensor(const stk__trainer *t, unsigned kinds, const stk__model_tensor **found,
                              stk_error *error)
{
    *found = NULL;
    for (int i = 0; i < t->model->count && !*found; i++) {
        const stk__model_tensor *tensor = &t->model->tensors[i];
        const bool looks = kinds & (GRADIENTS | (tensor->buffer ? BUFFERS : PARAMETERS));
        stk__tensor *numbers = kinds & GRADIENTS ? tensor->grad : tensor->value;
        int64_t at = -1;
        if (looks && numbers) STK__TRY(stk__tensor_find_bad(numbers, &at, error));
        if (at >= 0) *found = tensor;
    }
    return STK_OK;
}

static void name_tensor(const stk__trainer *t, const stk__model_tensor *tensor, char where[WHERE_BYTES])
{
    snprintf(where, WHERE_BYTES, ": first in %s '%.120s' of layer '%.120s'",
             tensor->buffer ? "buffer" : "parameter", tensor->name, t->network->layers[tensor->layer].name);
}

/* Element `at` of input or target of a batch belongs to one of its samples. */
static void name_sample(const stk__trainer *t, const stk_batch *batch, const stk__tensor *tensor, int64_t at,
                        char text[WHERE_BYTES])
{
    const int64_t each = stk__shape_count(&tensor->desc.shape) / batch->count;
    const int64_t *ids = batch->sample_ids.data;
    char path[224];
    *text = '\0';
    if (!ids) return;
    const long long id = ids[at / each];
    if (t->feed.locate && t->feed.locate(t->feed.context, id, path, sizeof path) == STK_OK)
        snprintf(text, WHERE_BYTES, " (sample %lld, %s)", id, path);
    else
        snprintf(text, WHERE_BYTES, " (sample %lld)", id);
}

static stk_status scan_batch(stk__trainer *t, const stk_batch *batch, int64_t step, char where[WHERE_BYTES],
                             stk_error *error)
{
    stk__pass_feed feed;
    STK__TRY(stk__trainer_feed(t, batch, &feed, error));
    stk__tensor *const parts[] = {feed.input, feed.target[STK_LOSS_TARGET]};
    for (int i = 0; i < 2 && !*where; i++) {
        int64_t at;
        char sample[WHERE_BYTES];
        STK__TRY(stk__tensor_find_bad(parts[i], &at, error));
        if (at < 0) continue;
        name_sample(t, batch, parts[i], at, sample);
        snprintf(where, WHERE_BYTES, ": first in the %s of step %lld%.250s", i ? "target" : "input",
                 (long long)step, sample);
    }
    return STK_OK;
}

/* Inputs and targets of the steps since the last log. where: stays empty if they are finite. */
static stk_status scan_data(stk__trainer *t, char where[WHERE_BYTES], stk_error *error)
{
    const stk__trainer_mark *from = &t->intervals[0];
    const uint64_t end_ns = stk__clock_ns() + UINT64_C(1000000000) * SCAN_MOST_S;
    int64_t step = from->at.step + 1, in_step = 0;
    STK__TRY(t->feed.seek(t->feed.context, &from->feed, error));
    for (uint64_t i = from->batches; i < t->batches && !*where && stk__clock_ns() < end_ns;) {
        stk_batch *batch;
        const stk_status status = t->feed.next(t->feed.context, &batch, error);
        const bool ended = status == STK_END;
        if (!ended) {
            STK__TRY(status);
            const stk_status scanned = scan_batch(t, batch, step, where, error);
            stk__trainer_release(t, &t->feed, batch);
            STK__TRY(scanned);
            in_step++;
            i++;
        }
        if (in_step == t->accumulation || (ended && in_step)) {
            step++;
            in_step = 0;
        }
    }
    return STK_OK;
}

static bool locate_tensor(const stk__trainer *t, unsigned kinds, char where[WHERE_BYTES])
{
    const stk__model_tensor *tensor;
    if (find_tensor(t, kinds, &tensor, NULL) != STK_OK || !tensor) return false;
    name_tensor(t, tensor, where);
    return true;
}

/* Where it began, as far as that can be found; what fails on the way leaves it unknown. Running statistics
 * come last: a step that overflows spoils them, too. */
static cause locate(stk__trainer *t, char where[WHERE_BYTES])
{
    const bool repeats = t->feed.seek && t->batches;
    *where = '\0';
    if (repeats && scan_data(t, where, NULL) == STK_OK && *where) return CAUSE_DATA;
    *where = '\0';
    if (locate_tensor(t, PARAMETERS, where)) return CAUSE_WEIGHTS;
    if (repeats && stk__trainer_repeat_step(t, NULL) == STK_OK && t->fault.layer) {
        stk__trainer_fault_text(&t->fault, where, WHERE_BYTES);
        return CAUSE_LAYER;
    }
    return locate_tensor(t, BUFFERS, where) ? CAUSE_WEIGHTS : CAUSE_UNKNOWN;
}

/* --- what to do about it ---------------------------------------------------------------------------------
 */

static stk_status refuse(const stk__trainer *t, cause why, const char *message, stk_error *error)
{
    const char *clip = t->update.max_grad_norm > 0 ? "" : ", or set train.max_grad_norm=1";
    const char *search = t->detects || why == CAUSE_LAYER || t->evaluates_only
                             ? ""
                             : "; train.detect_nan=true finds the first step and layer";
    stk__fail(error, STK_ERROR_DATA, "%s", message);
    if (why == CAUSE_DATA)
        stk__error_hint(error, "the data has values that are NaN or infinite: fix or remove them");
    else if (t->evaluates_only)
        stk__error_hint(error, "evaluate another checkpoint (--checkpoint), or check the data");
    else if (t->info.half)
        stk__error_hint(error, "train.amp=false; or lower optimizer.lr (%g)%s%s", t->schedule.lr, clip,
                        search);
    else
        stk__error_hint(error, "lower optimizer.lr (%g)%s%s", t->schedule.lr, clip, search);
    return STK_ERROR_DATA;
}

stk_status stk__trainer_refuse(stk__trainer *t, const char *what, int64_t step, stk_error *error)
{
    char where[WHERE_BYTES], message[WHERE_BYTES + 96];
    const cause why = locate(t, where);
    snprintf(message, sizeof message, "%s NaN or infinite at step %lld%s", what, (long long)step, where);
    return refuse(t, why, message, error);
}

stk_status stk__trainer_check_weights(stk__trainer *t, int64_t step, stk_error *error)
{
    const stk__model_tensor *tensor;
    STK__TRY(find_tensor(t, PARAMETERS | BUFFERS, &tensor, error));
    return tensor ? stk__trainer_refuse(t, "weights are", step, error) : STK_OK;
}

/* --- train.detect_nan ------------------------------------------------------------------------------------
 * fp16 has its own way: a step whose gradients are not finite is skipped. */

stk_status stk__trainer_check_step(stk__trainer *t, stk_error *error)
{
    double sums[STK_LOSS_SUMS];
    const stk__model_tensor *tensor = NULL;
    if (t->scale.scale > 0) return STK_OK;
    STK__TRY(stk__tensor_read(t->loss_sums, sums, sizeof sums, error));
    const bool finite = isfinite(sums[STK_LOSS_NUMERATOR]) && isfinite(sums[STK_LOSS_DENOMINATOR]);
    if (finite) STK__TRY(find_tensor(t, GRADIENTS, &tensor, error));
    if (finite && !tensor) return STK_OK;
    return stk__trainer_refuse(t, finite ? "gradients are" : "loss is", t->at.step + 1, error);
}

stk_status stk__trainer_check_update(stk__trainer *t, stk_error *error)
{
    return t->scale.scale > 0 ? STK_OK : stk__trainer_check_weights(t, t->at.step, error);
}

/* --- evaluations -----------------------------------------------------------------------------------------
 */

/* With the weights that were evaluated, and nobody watching. */
static void search_evaluation(stk__trainer *t)
{
    stk__score ignored;
    const stk__trainer_look look = t->look;
    t->look = NULL;
    t->fault = (stk__pass_fault){0};
    t->searches = true;
    if (t->ema > 0) stk__model_swap_average(t->model);
    if (stk__trainer_evaluate_all(t, &ignored, NULL) != STK_OK) t->fault = (stk__pass_fault){0};
    if (t->ema > 0) stk__model_swap_average(t->model);
    t->searches = false;
    t->look = look;
}

/* What does not count, and where to look. */
static stk_status refuse_nothing(const stk__trainer *t, const stk__feed *feed, const char *when,
                                 stk_error *error)
{
    static const char *const things[] = {
        [STK_TASK_SEGMENTATION] = "pixel",     [STK_TASK_POINTS] = "visible point",
        [STK_TASK_CLASSIFICATION] = "label",   [STK_TASK_REGRESSION] = "value",
        [STK_TASK_IMAGE_REGRESSION] = "value", [STK_TASK_MULTILABEL] = "label"};
    static const char *const hints[] = {
        [STK_TASK_SEGMENTATION] = ("compare the mask values (stoker stats) with data.num_classes, "
                                   "data.mask_map, loss.ignore_index and loss.class_weights"),
        [STK_TASK_POINTS] = "check the points: outside the image or marked as not visible, they do not count",
        [STK_TASK_CLASSIFICATION] =
            "compare the labels (stoker stats) with loss.ignore_index and loss.class_weights",
        [STK_TASK_REGRESSION] = "check the target column (stoker stats)",
        [STK_TASK_IMAGE_REGRESSION] = "check the column of values (stoker stats)",
        [STK_TASK_MULTILABEL] = "check the labels (stoker stats)"};
    const stk__task task = t->network->task;
    stk_loader_stats stats = {0};
    if (t->forced) {
        stk__log(STK_LOG_WARNING, "no %s counted in %s (run.force)", things[task], when);
        return STK_OK;
    }
    feed->measure(feed->context, &stats);
    stk__fail(error, STK_ERROR_DATA,
              "no %s counted in %s: there is nothing to %s (%llu of %llu samples corrupt)", things[task],
              when, feed == &t->val ? "measure" : "learn", (unsigned long long)stats.bad_samples,
              (unsigned long long)stats.samples);
    if (stats.bad_samples && t->evaluates_only)
        stk__error_hint(error, "stoker load names the corrupt samples of a data set");
    else if (stats.bad_samples)
        stk__error_hint(error, "ledger.jsonl names the corrupt samples (data.on_bad_sample)");
    else
        stk__error_hint(error, "%s", hints[task]);
    return STK_ERROR_DATA;
}

stk_status stk__trainer_refuse_empty(stk__trainer *t, uint64_t epoch, stk_error *error)
{
    char when[48];
    snprintf(when, sizeof when, "epoch %llu", (unsigned long long)epoch);
    return refuse_nothing(t, &t->feed, when, error);
}

stk_status stk__trainer_check_score(stk__trainer *t, const stk__score *score, stk_error *error)
{
    char where[WHERE_BYTES], message[WHERE_BYTES + 96];
    if (score->finite && score->counted == 0) return refuse_nothing(t, &t->val, "the evaluation", error);
    if (score->finite) return STK_OK;
    search_evaluation(t);
    const bool data = t->fault.layer && !t->fault.layer[0];
    stk__trainer_fault_text(&t->fault, where, sizeof where);
    cause why = data ? CAUSE_DATA : t->fault.layer ? CAUSE_LAYER : CAUSE_UNKNOWN;
    if (!data && locate_tensor(t, PARAMETERS | BUFFERS, where)) why = CAUSE_WEIGHTS;
    snprintf(message, sizeof message, "validation %s is NaN or infinite after step %lld%s",
             isfinite(score->loss) ? "metric" : "loss", (long long)t->at.step, where);
    return refuse(t, why, message, error);
}
