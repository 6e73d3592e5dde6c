/* SPDX-License-Identifier: Apache-2.0 */
/* What a run writes into its checkpoints beside tensors, and how it begins again from the newest: state of
 * the trainer (position, counts), best metric, and which lines of metrics.jsonl belong to it. One thread. */
#include "train/run_state.h"

#include "core/json_text.h"

#include <math.h>
#include <string.h>

/* What the line of the epoch that is under way needs. */
static json_t *epoch_json(const stk__run *run)
{
    return json_pack("{s:o, s:o, s:I, s:b}", "loss", stk__json_number(run->epoch_loss), "counted",
                     stk__json_number(run->epoch_counted), "skipped", (json_int_t)run->epoch_skipped, "whole",
                     run->epoch_is_whole);
}

json_t *stk__run_state_json(const stk__run *run)
{
    const stk__run_report *r = &run->report;
    return json_pack("{s:i, s:o, s:{s:o, s:I, s:I, s:I, s:I, s:o}}", "schema", 1, "trainer",
                     stk__trainer_tell(run->trainer), "run", "best_value", stk__json_number(r->best_value),
                     "best_step", (json_int_t)r->best_step, "worse_count", (json_int_t)r->worse_count,
                     "logged_step", (json_int_t)run->logged_step, "evaluated_step",
                     (json_int_t)run->evaluated_step, "epoch", epoch_json(run));
}

stk__checkpoint_options stk__run_checkpoints(const stk__run *run, char folder[STK_RUN_CHECKPOINTS_BYTES])
{
    const stk__trainer_info *info = stk__trainer_describe(run->trainer);
    stk__run_folder_file(run->folder, "checkpoints", folder, STK_RUN_CHECKPOINTS_BYTES);
    return (stk__checkpoint_options){.folder = folder,
                                     .keep = (int)run->train->keep,
                                     .best_is_low = stk__task_describe(info->network->task)->low[info->value],
                                     .optimizer = true};
}

/* Checkpoints of older programs have no sums of the epoch: its line is then about the steps since the resume.
 */
void stk__run_resume_epoch(stk__run *run, const json_t *epoch)
{
    const stk__trainer_place *at = &run->report.at;
    double loss, counted;
    json_int_t skipped;
    int whole;
    run->epoch_is_whole = at->batch == 0;
    run->epoch_skipped = at->skipped;
    run->epoch_loss = run->epoch_counted = 0;
    if (at->batch == 0 || json_unpack((json_t *)(uintptr_t)epoch, "{s:F, s:F, s:I, s:b}", "loss", &loss,
                                      "counted", &counted, "skipped", &skipped, "whole", &whole) != 0)
        return;
    if (!isfinite(loss) || !(counted >= 0 && counted < 1e18)) return;
    run->epoch_loss = loss;
    run->epoch_counted = counted;
    run->epoch_skipped = skipped;
    run->epoch_is_whole = whole;
}

static bool read_run(stk__run *run, const json_t *state)
{
    json_t *best;
    json_int_t step, worse, logged, evaluated = -1; /* older ones do not say it */
    if (json_unpack((json_t *)(uintptr_t)state, "{s:{s:o, s:I, s:I, s:I, s?:I}}", "run", "best_value", &best,
                    "best_step", &step, "worse_count", &worse, "logged_step", &logged, "evaluated_step",
                    &evaluated) != 0)
        return false;
    run->report.best_value = json_is_number(best) ? json_number_value(best) : NAN;
    run->report.best_step = step;
    run->report.worse_count = worse;
    run->logged_step = logged;
    run->evaluated_step = evaluated;
    return true;
}

static stk_status go_on_from(stk__run *run, const char *path, stk_error *error)
{
    stk__checkpoint_state state;
    STK__TRY(stk__checkpoint_read_state(path, &state, error));
    stk_status status = STK_OK;
    if (!read_run(run, state.json))
        status = stk__fail(error, STK_ERROR_STATE, "state.json does not contain the state of a run");
    if (status == STK_OK)
        status = stk__trainer_seek(run->trainer, json_object_get(state.json, "trainer"), error);
    if (status == STK_OK)
        status = stk__checkpoint_read_model(path, stk__trainer_describe(run->trainer)->model, true, error);
    run->report.at = stk__trainer_where(run->trainer);
    if (status == STK_OK)
        stk__run_resume_epoch(run, json_object_get(json_object_get(state.json, "run"), "epoch"));
    json_decref(state.json);
    if (status != STK_OK && error && !error->place[0]) stk__error_place(error, "%s", path);
    return status;
}

/* A start that resumed from this place before may have left lines of the same step. Where the state does not
 * say what was evaluated: a place within an epoch, its very end too, was not. */
static stk__metrics_end lines_so_far(const stk__run *run)
{
    const stk__trainer_place *at = &run->report.at;
    const int64_t guess = at->batch && at->step ? at->step - 1 : at->step;
    return (stk__metrics_end){.logged = (uint64_t)run->logged_step,
                              .evaluated = (uint64_t)(run->evaluated_step < 0 ? guess : run->evaluated_step),
                              .epoch = at->epoch + 1};
}

stk_status stk__run_resume(stk__run *run, stk_error *error)
{
    char folder[STK_RUN_CHECKPOINTS_BYTES];
    stk__checkpoint_found found;
    const stk__checkpoint_options options = stk__run_checkpoints(run, folder);
    STK__TRY(stk__checkpoint_newest(folder, &found, error));
    STK__TRY(go_on_from(run, found.path, error));
    stk__checkpoint_tidy(&options, found.path);
    stk__run_report *r = &run->report;
    r->resumed = true;
    r->resumed_step = r->at.step;
    r->skipped_checkpoints = found.skipped;
    memcpy(r->skipped_reason, found.first_reason, sizeof r->skipped_reason);
    memcpy(r->checkpoint, found.path, sizeof r->checkpoint);
    return stk__run_folder_cut(run->folder, lines_so_far(run), error);
}
