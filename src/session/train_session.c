/* SPDX-License-Identifier: Apache-2.0 */
/* What a training run opens, in the order in which it depends on each other, and what it leaves behind. One
 * thread: the one that trains; the loaders', the monitor's and the engine's threads are theirs. */
#include "session/train_session.h"

#include "report/run_keys.h"
#include "session/run_json.h"
#include "session/trained_run.h"

static stk_status open_ledgers(stk__train_session *t, stk_error *error)
{
    if (t->folder) stk__run_folder_file(t->folder, "ledger.jsonl", t->ledger_path, sizeof t->ledger_path);
    const stk__ledger_file form = {.path = t->folder ? t->ledger_path : NULL,
                                   .late = true,
                                   .tell = t->tell_sample,
                                   .context = t->tell_context};
    t->ledger = t->val_ledger = form;
    STK__TRY(stk__ledger_file_open(&t->ledger, t->session.loader, true, error));
    if (!t->session.val_loader) return STK_OK;
    return stk__ledger_file_open(&t->val_ledger, t->session.val_loader, true, error);
}

/* Whatever ran out of memory, the settings that need less are the same. */
static stk_status explain_memory(stk_status status, stk_error *error)
{
    if (status == STK_ERROR_MEMORY && error && !error->hint[0])
        stk__error_hint(error,
                        "lower data.batch_size or model.width, or set "
                        "train.gradient_checkpointing=true; stoker train --plan prints what is needed");
    return status;
}

static stk_status open_all(stk__train_session *t, stk_error *error)
{
    stk__session *s = &t->session;
    STK__TRY(stk__run_read_settings(s->config, &t->start, error));
    s->has_checkpoint = t->start.resume && stk__run_has_checkpoint(t->start.path);
    STK__TRY(stk__session_open(s, error));
    if (!s->plan_only) {
        if (!t->no_files) STK__TRY(stk__run_open_folder(&t->folder, s, &t->start, &t->settings, error));
        STK__TRY(open_ledgers(t, error));
        if (t->folder) STK__TRY(stk__run_artifacts_open(&t->artifacts, s, t->trace_steps, error));
    }
    return stk__run_monitor_open(&t->monitor, s->config, s->run.monitor_interval, t->folder, error);
}

stk_status stk__train_session_open(stk__train_session *t, stk_error *error)
{
    return explain_memory(open_all(t, error), error);
}

stk_status stk__train_session_begin(stk__train_session *t, stk_error *error)
{
    t->run = (stk__run){.trainer = t->session.trainer,
                        .folder = t->folder,
                        .train = &t->session.train,
                        .resume = t->start.resume,
                        .settings = &t->settings,
                        .stop_after = t->stop_after,
                        .watch = t->watch,
                        .stop = t->stop,
                        .trace = stk__run_artifacts_trace(&t->artifacts),
                        .trace_steps = t->trace_steps};
    return explain_memory(stk__run_begin(&t->run, error), error);
}

stk_status stk__train_session_train(stk__train_session *t, stk_error *error)
{
    if (!t->run.begun) STK__TRY(stk__train_session_begin(t, error));
    return explain_memory(stk__run_train(&t->run, error), error);
}

stk_status stk__train_session_finish(stk__train_session *t, const stk_error *failure,
                                     stk__train_outcome *result, stk_error *error)
{
    *result = (stk__train_outcome){.report = NULL};
    /* A resumed run that fails before its first step keeps the report that it has. */
    const bool began = t->run.trainer && !t->start.resume;
    if (!t->run.step_count && (failure ? !began : stk__run_json_is_current(&t->run))) return STK_OK;
    const stk__run_result about = {
        .session = &t->session,
        .run = &t->run,
        .artifacts = &t->artifacts,
        .failure = failure,
        .monitor = stk__run_monitor_summary(t->monitor, result->monitor_note, sizeof result->monitor_note)};
    result->report = stk__run_json(&about);
    return stk__run_folder_write_json(t->folder, STK_RUN_FILE, json_incref(result->report), error);
}

stk_status stk__train_session_write_artifacts(stk__train_session *t, stk_error *error)
{
    if (!t->run.trainer) return STK_OK; /* it never began */
    return stk__run_artifacts_write(&t->artifacts, &t->run, error);
}

bool stk__train_session_close_ledgers(stk__train_session *t)
{
    const bool whole = stk__ledger_file_close(&t->ledger), val_whole = stk__ledger_file_close(&t->val_ledger);
    return whole && val_whole;
}

int stk__train_session_close(stk__train_session *t)
{
    stk__run_artifacts_close(&t->artifacts);
    stk__run_folder_close(&t->folder);
    stk__buffer_fini(&t->settings);
    const int hung = stk__run_monitor_close(&t->monitor);
    return hung + stk__session_close(&t->session);
}
