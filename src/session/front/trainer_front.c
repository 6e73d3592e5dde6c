/* SPDX-License-Identifier: Apache-2.0 */
/* The public trainer: arguments are checked here, the work is train_session's and run's. It adds what a
 * library needs and a program does not: who may call when, an interrupt from any thread, failures that leave
 * nothing behind. All calls but interrupt and close come from the opening thread. */
#include "session/front/trainer_front.h"

#include "core/logger.h"
#include "core/sized.h"
#include "session/front/front_settings.h"

#include <stddef.h>
#include <string.h>

enum { /* the structs as they were in version 0.1 */
       FIRST_OPTIONS_BYTES = offsetof(stk_trainer_options, callbacks) + sizeof(void *),
       FIRST_CALLBACKS_BYTES = offsetof(stk_trainer_callbacks, bad_sample) + sizeof(void *),
       FIRST_SCORE_BYTES = offsetof(stk_trainer_score, best) + 8
};

static _Atomic(stk_trainer *) left_behind; /* threads that hang may still use it */

/* --- closing ---------------------------------------------------------------------------------------------
 */

int stk_trainer_close(stk_trainer **pointer)
{
    if (!pointer || !*pointer) return 0;
    stk_trainer *t = *pointer;
    *pointer = NULL;
    if (!stk__train_session_close_ledgers(&t->train))
        stk__log(STK_LOG_WARNING, "cannot write the ledger '%s' completely", t->train.ledger_path);
    const int hung = stk__train_session_close(&t->train);
    if (hung) {
        atomic_store(&left_behind, t);
        return hung;
    }
    stk__config_destroy(&t->config);
    stk__free(t->effects);
    stk__free(t->run);
    stk__free(t->settings_file);
    stk__free(t);
    return 0;
}

/* --- files at the end ------------------------------------------------------------------------------------
 */

/* Of the run so far; failure NULL: it did not fail. */
static stk_status write_files(stk_trainer *t, const stk_error *failure, stk_error *error)
{
    stk__train_outcome outcome;
    if (!t->train.folder) return STK_OK;
    if (t->train.run.trainer) stk__run_settle(&t->train.run);
    const stk_status status = stk__train_session_finish(&t->train, failure, &outcome, error);
    if (outcome.monitor_note[0])
        stk__log(STK_LOG_WARNING, "GPU monitoring stopped early: %s", outcome.monitor_note);
    json_decref(outcome.report);
    STK__TRY(status);
    return stk__train_session_write_artifacts(&t->train, error);
}

/* --- opening ---------------------------------------------------------------------------------------------
 */

static stk_status check_options(const stk_trainer_options *o, stk_error *error)
{
    if (o->resume && !o->run)
        return stk__fail(error, STK_ERROR_ARGUMENT, "resume needs run: the folder of the run");
    if (o->no_files && (o->run || o->trace_steps))
        return stk__fail(error, STK_ERROR_ARGUMENT, "no_files and %s contradict each other",
                         o->run ? "run" : "trace_steps");
    if (o->stop_after < 0)
        return stk__fail(error, STK_ERROR_ARGUMENT, "stop_after is %lld: steps, or 0 for all of them",
                         (long long)o->stop_after);
    if (o->trace_steps < 0 || o->trace_steps > STK_TRACE_MOST_STEPS)
        return stk__fail(error, STK_ERROR_ARGUMENT, "trace_steps is %lld, and can be 0 to %d",
                         (long long)o->trace_steps, STK_TRACE_MOST_STEPS);
    return STK_OK;
}

static stk_status copy_text(char **copy, const char *text, stk_error *error)
{
    *copy = stk__text_copy(text);
    return *copy || !text ? STK_OK : stk__fail_memory(error, strlen(text), "a path");
}

static stk_status take_callbacks(stk_trainer *t, const stk_trainer_callbacks *given, stk_error *error)
{
    const stk__sized sized = {"stk_trainer_callbacks", FIRST_CALLBACKS_BYTES, sizeof(stk_trainer_callbacks)};
    return given ? stk__sized_take(&t->callbacks, given, &sized, error) : STK_OK;
}

/* What has no effect without files is told, if someone asked for it. */
static stk_status tell_no_files(stk_trainer *t, stk_error *error)
{
    static const char *const names[] = {"train.checkpoint_interval", "train.keep", "run.name", "run.dir"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (stk__config_requested(t->config, names[i], NULL))
            STK__TRY(stk__config_effect(t->config, names[i], "", "no files are written (no_files)", error));
    return STK_OK;
}

static stk_status open_parts(stk_trainer *t, const stk_trainer_options *o, stk_error *error)
{
    stk__train_session *s = &t->train;
    const stk__front_settings settings = {
        .config = o->config, .list = o->settings, .count = o->setting_count, .environment = o->environment};
    t->thread = pthread_self();
    STK__TRY(take_callbacks(t, o->callbacks, error));
    STK__TRY(copy_text(&t->run, o->run, error));
    STK__TRY(copy_text(&t->settings_file, o->config, error));
    STK__TRY(stk__front_settings_read(&t->config, &settings, error));
    s->session.config = t->config;
    s->start = (stk__run_start){.path = t->run, .resume = o->resume, .on_top = t->settings_file};
    s->stop_after = o->stop_after;
    s->trace_steps = o->trace_steps;
    s->no_files = o->no_files;
    s->stop = &t->stop;
    s->watch = stk__trainer_front_watch(t);
    s->tell_sample = stk__trainer_front_bad_sample;
    s->tell_context = t;
    t->inside = true; /* bad samples come up here, too */
    STK__TRY(stk__train_session_open(s, error));
    STK__TRY(stk__train_session_begin(s, error));
    t->inside = false;
    if (s->no_files) STK__TRY(tell_no_files(t, error));
    return stk__trainer_front_describe(t, error);
}

stk_status stk_trainer_open(stk_trainer **trainer, const stk_trainer_options *options, stk_error *error)
{
    if (!trainer || !options)
        return stk__fail(error, STK_ERROR_ARGUMENT, "stk_trainer_open needs a trainer and options");
    *trainer = NULL;
    const stk__sized sized = {"stk_trainer_options", FIRST_OPTIONS_BYTES, sizeof(stk_trainer_options)};
    stk_trainer_options given;
    STK__TRY(stk__sized_take(&given, options, &sized, error));
    STK__TRY(check_options(&given, error));
    stk_trainer *t = stk__alloc(sizeof *t);
    if (!t) return stk__fail_memory(error, sizeof *t, "a trainer");
    stk_error failure = {0};
    const stk_status status = open_parts(t, &given, &failure);
    if (status == STK_OK) {
        *trainer = t;
        return STK_OK;
    }
    write_files(t, &failure, NULL); /* of a run that had begun; the failure is told already */
    stk_trainer_close(&t);
    if (error) *error = failure;
    return status;
}

/* --- who may call ----------------------------------------------------------------------------------------
 */

stk_status stk__trainer_front_check(const stk_trainer *t, const char *what, stk_error *error)
{
    if (!t) return stk__fail(error, STK_ERROR_ARGUMENT, "%s needs a trainer", what);
    if (pthread_equal(t->thread, pthread_self())) return STK_OK;
    stk__fail(error, STK_ERROR_ARGUMENT, "%s is called by another thread than stk_trainer_open was", what);
    stk__error_hint(error, "open the trainer in the thread that trains with it");
    return STK_ERROR_ARGUMENT;
}

/* A call that computes begins. */
static stk_status enter(stk_trainer *t, const char *what, stk_error *error)
{
    STK__TRY(stk__trainer_front_check(t, what, error));
    if (t->inside)
        return stk__fail(error, STK_ERROR_ARGUMENT, "%s is called from a callback of the same trainer", what);
    if (stk__trainer_is_torn(t->train.session.trainer)) {
        stk__fail(error, STK_ERROR_STATE, "a step failed while it changed the weights: they are of no use");
        stk__error_hint(error, "close the trainer and resume from the last checkpoint");
        return STK_ERROR_STATE;
    }
    t->inside = true;
    return STK_OK;
}

static stk_status leave(stk_trainer *t, stk_status status)
{
    t->inside = false;
    return status;
}

/* --- training --------------------------------------------------------------------------------------------
 */

static stk_status tell_interrupt(const stk_trainer *t, stk_error *error)
{
    const stk__run_report *r = &t->train.run.report;
    stk__fail(error, STK_ERROR_INTERRUPTED, "interrupted after step %lld", (long long)r->at.step);
    if (r->checkpoint[0]) {
        stk__error_place(error, "%s", r->checkpoint);
        stk__error_hint(error, "it resumes from this checkpoint (resume)");
    }
    return STK_ERROR_INTERRUPTED;
}

static stk_status train(stk_trainer *t, stk_error *error)
{
    const stk_status status = stk__train_session_train(&t->train, error);
    atomic_store(&t->stop, false);
    if (status != STK_OK) {
        write_files(t, error, NULL); /* what failed first is told */
        return status;
    }
    STK__TRY(write_files(t, NULL, error));
    return t->train.run.report.interrupted ? tell_interrupt(t, error) : STK_OK;
}

stk_status stk_trainer_train(stk_trainer *t, stk_error *error)
{
    stk_error failure = {0};
    STK__TRY(enter(t, "stk_trainer_train", error));
    const stk_status status = train(t, &failure);
    if (status != STK_OK && error) *error = failure;
    return leave(t, status);
}

stk_status stk_trainer_step(stk_trainer *t, stk_error *error)
{
    STK__TRY(enter(t, "stk_trainer_step", error));
    const stk__trainer_place at = stk__trainer_where(t->train.session.trainer);
    const uint64_t epochs = t->train.run.report.epochs;
    if (atomic_exchange(&t->stop, false)) return leave(t, tell_interrupt(t, error));
    if (at.epoch < epochs) return leave(t, stk__run_step(&t->train.run, error));
    stk__fail(error, STK_ERROR_ARGUMENT, "the run is over: %llu of %llu epochs are done",
              (unsigned long long)at.epoch, (unsigned long long)epochs);
    stk__error_hint(error, "for more, resume it with a larger train.epochs");
    return leave(t, STK_ERROR_ARGUMENT);
}

static stk_status refuse_evaluation(stk_error *error)
{
    stk__fail(error, STK_ERROR_CONFIG, "there is no validation part to evaluate on");
    stk__error_hint(error, "set data.val_split or data.val_root");
    return STK_ERROR_CONFIG;
}

/* The last evaluation as a program gets it. */
static stk_status give_score(const stk_trainer *t, stk_trainer_score *score, stk_error *error)
{
    const stk__sized sized = {"stk_trainer_score", FIRST_SCORE_BYTES, sizeof(stk_trainer_score)};
    const stk__run_report *r = &t->train.run.report;
    const stk__task task = stk__trainer_describe(t->train.session.trainer)->network->task;
    const bool by_class = task == STK_TASK_SEGMENTATION || task == STK_TASK_MULTILABEL;
    stk_trainer_progress progress;
    stk__trainer_front_progress(t, &progress);
    stk_trainer_score made = {.loss = r->score.loss,
                              .per_class = by_class ? r->score.per_class : NULL,
                              .samples = r->score.samples,
                              .bad_samples = r->score.bad_samples,
                              .best = r->best};
    memcpy(made.values, progress.val_values, sizeof made.values);
    return stk__sized_give(score, &made, &sized, error);
}

stk_status stk_trainer_evaluate(stk_trainer *t, stk_trainer_score *score, stk_error *error)
{
    if (!score) return stk__fail(error, STK_ERROR_ARGUMENT, "stk_trainer_evaluate needs a score");
    STK__TRY(enter(t, "stk_trainer_evaluate", error));
    if (!stk__trainer_has_val(t->train.session.trainer)) return leave(t, refuse_evaluation(error));
    stk_status status = stk__run_evaluate(&t->train.run, error);
    if (status == STK_OK) status = give_score(t, score, error);
    return leave(t, status);
}

stk_status stk_trainer_save(stk_trainer *t, stk_error *error)
{
    STK__TRY(enter(t, "stk_trainer_save", error));
    if (t->train.folder) return leave(t, stk__run_save(&t->train.run, error));
    return leave(t, stk__fail(error, STK_ERROR_CONFIG, "this trainer writes no checkpoints (no_files)"));
}

stk_status stk_trainer_finish(stk_trainer *t, stk_error *error)
{
    STK__TRY(enter(t, "stk_trainer_finish", error));
    return leave(t, write_files(t, NULL, error));
}

void stk_trainer_interrupt(stk_trainer *t)
{
    if (t) atomic_store(&t->stop, true);
}
