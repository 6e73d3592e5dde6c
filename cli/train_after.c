#include "train_after.h"

#include "report/report.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#define TRACE "trace.json"

/* A layer is in forward, backward, computed again, and sums of gradients; rows of the stall table come on
 * top.
 */
static size_t spans_of_step(const stk__cli_session *s)
{
    const int layers = stk__trainer_describe(s->trainer)->network->layer_count;
    return (size_t)s->train.accumulation * (6 * (size_t)layers + 32) + 16;
}

stk_status stk__train_after_open(stk__train_after *after, const stk__cli_session *session,
                                 int64_t trace_steps, stk_error *error)
{
    *after = (stk__train_after){.session = session, .trace_steps = trace_steps};
    STK__TRY(stk__train_answers_init(&after->answers, session, error));
    if (!trace_steps) return STK_OK;
    return stk__trace_init(&after->trace, (size_t)trace_steps * spans_of_step(session), error);
}

void stk__train_after_close(stk__train_after *after)
{
    stk__train_answers_fini(&after->answers);
    stk__trace_fini(&after->trace);
}

stk__trace *stk__train_after_trace(stk__train_after *after)
{
    return after->trace.room ? &after->trace : NULL;
}

/* --- run.json ------------------------------------------------------------------------------------------
 */

static json_t *layer_json(const stk__pass_row *row)
{
    char shape[96];
    stk__shape_print(&row->output, shape, sizeof shape);
    return json_pack("{s:s, s:s, s:s, s:I, s:f, s:I, s:b}", "name", row->layer, "op", row->word, "output",
                     shape, "parameters", (json_int_t)row->param_count, "forward_flops", row->flops,
                     "memory_bytes", (json_int_t)(row->output_bytes + row->saved_bytes), "recomputed",
                     row->recomputed);
}

static json_t *layers_json(const stk__pass_report *report)
{
    json_t *layers = json_array();
    for (int i = 0; i < report->row_count; i++)
        json_array_append_new(layers, layer_json(&report->rows[i]));
    return layers;
}

static json_t *date_json(void)
{
    char text[32];
    const time_t now = time(NULL);
    struct tm parts;
    gmtime_r(&now, &parts);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return json_string(text);
}

static json_t *data_json(const stk__cli_session *s)
{
    const stk_loader_info *train = stk_loader_describe(s->loader),
                          *val = s->val_loader ? stk_loader_describe(s->val_loader) : NULL;
    return json_pack("{s:o, s:s, s:I, s:o, s:I}", "root", stk__json_string(s->data.root), "layout",
                     train->layout, "samples", (json_int_t)train->sample_count, "val_samples",
                     val ? json_integer((json_int_t)val->sample_count) : json_null(), "batch_size",
                     (json_int_t)train->batch_size);
}

void stk__train_after_tell(const stk__train_after *after, const stk__run *run, json_t *report)
{
    const stk__trainer_info *info = stk__trainer_describe(after->session->trainer);
    json_object_set_new(report, "date", date_json());
    json_object_set_new(report, "steps_run", json_integer((json_int_t)run->step_count));
    json_object_set_new(report, "data", data_json(after->session));
    json_object_set_new(report, "parameters", json_integer((json_int_t)info->report->param_count));
    json_object_set_new(report, "step_flops", json_real(info->report->step_flops));
    json_object_set_new(report, "layers", layers_json(info->report));
    if (after->trace.room)
        json_object_set_new(report, "trace",
                            json_pack("{s:I, s:I, s:I, s:s}", "steps", (json_int_t)after->trace_steps,
                                      "spans", (json_int_t)after->trace.count, "lost_spans",
                                      (json_int_t)after->trace.lost, "note",
                                      "layers were waited for one by one meanwhile"));
}

/* --- files ---------------------------------------------------------------------------------------------
 */

static stk_status write_trace(const stk__train_after *after, const stk__run *run, stk_error *error)
{
    stk__buffer text = {0};
    if (run->step_count <= STK_RUN_UNTRACED) {
        fprintf(stderr, "stoker: no " TRACE ": the run ended before step %d\n", STK_RUN_UNTRACED + 1);
        return STK_OK;
    }
    if (after->trace.lost)
        fprintf(stderr, "stoker: " TRACE " is short of %llu spans, for which there was no room\n",
                (unsigned long long)after->trace.lost);
    stk_status status = stk__trace_json(&after->trace, &text, error);
    if (status == STK_OK) status = stk__run_folder_write(run->folder, TRACE, text, error);
    stk__buffer_fini(&text);
    return status;
}

stk_status stk__train_after_write(stk__train_after *after, stk__run *run, stk_error *error)
{
    char path[1024];
    if (after->trace.room) STK__TRY(write_trace(after, run, error));
    STK__TRY(stk__train_answers_write(&after->answers, run->folder, error));
    stk__run_folder_file(run->folder, STK_REPORT_NAME, path, sizeof path);
    if (!run->step_count && access(path, F_OK) == 0) return STK_OK; /* it was over already */
    return stk__report_write(stk__run_folder_path(run->folder), NULL, error);
}
