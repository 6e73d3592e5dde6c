/* SPDX-License-Identifier: Apache-2.0 */
/* Opened before the first step, because a trace needs its memory then and predictions are watched from then
 * on; written after run.json, which the report reads. One thread: the one that trains. */
#include "session/run_artifacts.h"

#include "report/report.h"

#include <unistd.h>

#define TRACE "trace.json"

/* A layer is in forward, backward, computed again, and sums of gradients; rows of the stall table come on
 * top.
 */
static size_t spans_of_step(const stk__session *s)
{
    const int layers = stk__trainer_describe(s->trainer)->network->layer_count;
    return (size_t)s->train.accumulation * (6 * (size_t)layers + 32) + 16;
}

stk_status stk__run_artifacts_open(stk__run_artifacts *artifacts, const stk__session *session,
                                   int64_t trace_steps, stk_error *error)
{
    *artifacts = (stk__run_artifacts){.session = session, .trace_steps = trace_steps};
    STK__TRY(stk__run_predictions_init(&artifacts->predictions, session, error));
    if (!trace_steps) return STK_OK;
    return stk__trace_init(&artifacts->trace, (size_t)trace_steps * spans_of_step(session), error);
}

void stk__run_artifacts_close(stk__run_artifacts *artifacts)
{
    stk__run_predictions_fini(&artifacts->predictions);
    stk__trace_fini(&artifacts->trace);
}

stk__trace *stk__run_artifacts_trace(stk__run_artifacts *artifacts)
{
    return artifacts->trace.room ? &artifacts->trace : NULL;
}

/* --- files ---------------------------------------------------------------------------------------------
 */

static stk_status write_trace(stk__run_artifacts *artifacts, const stk__run *run, stk_error *error)
{
    stk__buffer text = {0};
    artifacts->too_short = run->step_count <= STK_RUN_UNTRACED;
    if (artifacts->too_short) return STK_OK;
    stk_status status = stk__trace_json(&artifacts->trace, &text, error);
    if (status == STK_OK) status = stk__run_folder_write(run->folder, TRACE, text, error);
    stk__buffer_fini(&text);
    return status;
}

stk_status stk__run_artifacts_write(stk__run_artifacts *artifacts, stk__run *run, stk_error *error)
{
    char path[1024];
    if (artifacts->trace.room) STK__TRY(write_trace(artifacts, run, error));
    STK__TRY(stk__run_predictions_write(&artifacts->predictions, run->folder, error));
    stk__run_folder_file(run->folder, STK_REPORT_NAME, path, sizeof path);
    if (!run->step_count && access(path, F_OK) == 0) return STK_OK; /* it was over already */
    return stk__report_write(stk__run_folder_path(run->folder), NULL, error);
}
