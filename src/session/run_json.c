/* SPDX-License-Identifier: Apache-2.0 */
/* Everything comes from three places: the trainer (network, memory, stall table), the run (steps, scores, how
 * it ended) and the config (effects). A number that is not known is null. Called by the thread that trained,
 * after the last step. */
#include "session/run_json.h"

#include "core/json_text.h"
#include "core/process.h"
#include "report/run_keys.h"
#include "session/data_json.h"
#include "session/file_notes_json.h"
#include "session/run_advice.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

static void put(json_t *object, const char *key, json_t *value)
{
    json_object_set_new(object, key, value);
}

static void put_real(json_t *object, const char *key, double value)
{
    put(object, key, stk__json_number(value));
}

static void put_bytes(json_t *object, const char *key, uint64_t bytes)
{
    put(object, key, json_integer((json_int_t)bytes));
}

/* --- what it was -----------------------------------------------------------------------------------------
 */

static json_t *date_json(void)
{
    char text[32];
    const time_t now = time(NULL);
    struct tm parts;
    gmtime_r(&now, &parts);
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return json_string(text);
}

static json_t *data_json(const stk__session *s, const stk__run_report *r)
{
    const stk_loader_info *train = stk_loader_describe(s->loader),
                          *val = s->val_loader ? stk_loader_describe(s->val_loader) : NULL;
    return json_pack(
        "{s:o, s:s, s:I, s:o, s:o, s:I, s:o}", STK_RUN_KEY_ROOT_OF_DATA, stk__json_string(s->data.root),
        STK_RUN_KEY_LAYOUT_OF_DATA, train->layout, STK_RUN_KEY_SAMPLES_OF_DATA,
        (json_int_t)train->sample_count, STK_RUN_KEY_VAL_SAMPLES_OF_DATA,
        val ? json_integer((json_int_t)val->sample_count) : json_null(), STK_RUN_KEY_BAD_SAMPLES_OF_DATA,
        r->evaluated ? json_integer((json_int_t)r->score.bad_samples) : json_null(),
        STK_RUN_KEY_BATCH_SIZE_OF_DATA, (json_int_t)train->batch_size, STK_RUN_KEY_FOUND_OF_DATA,
        stk__data_json(train));
}

static json_t *layer_json(const stk__pass_row *row)
{
    char shape[96];
    stk__shape_print(&row->output, shape, sizeof shape);
    return json_pack(
        "{s:s, s:s, s:s, s:I, s:f, s:I, s:b}", STK_RUN_KEY_NAME_OF_LAYER, row->layer, STK_RUN_KEY_OP_OF_LAYER,
        row->word, STK_RUN_KEY_OUTPUT_OF_LAYER, shape, STK_RUN_KEY_PARAMETERS, (json_int_t)row->param_count,
        STK_RUN_KEY_FORWARD_FLOPS, row->flops, STK_RUN_KEY_MEMORY_OF_LAYER,
        (json_int_t)(row->output_bytes + row->saved_bytes), STK_RUN_KEY_RECOMPUTED_OF_LAYER, row->recomputed);
}

static json_t *layers_json(const stk__pass_report *report)
{
    json_t *layers = json_array();
    for (int i = 0; i < report->row_count; i++)
        json_array_append_new(layers, layer_json(&report->rows[i]));
    return layers;
}

/* --- how it went -----------------------------------------------------------------------------------------
 */

static json_t *stall_json(const stk__stall *stall, double wall_s)
{
    json_t *rows = json_array();
    for (int row = 0; row < STK_STALL_ROWS; row++)
        json_array_append_new(rows,
                              json_pack("{s:s, s:f}", STK_RUN_KEY_NAME_OF_STALL,
                                        stk__stall_name((stk__stall_row)row), STK_RUN_KEY_SHARE_OF_STALL,
                                        stk__stall_share(stall, (stk__stall_row)row, wall_s)));
    return rows;
}

static json_t *trace_json(const stk__run_artifacts *artifacts)
{
    return json_pack("{s:I, s:I, s:I, s:s}", STK_RUN_KEY_STEPS_OF_TRACE, (json_int_t)artifacts->trace_steps,
                     STK_RUN_KEY_SPANS_OF_TRACE, (json_int_t)artifacts->trace.count,
                     STK_RUN_KEY_LOST_OF_TRACE, (json_int_t)artifacts->trace.lost, STK_RUN_KEY_NOTE_OF_TRACE,
                     "layers were waited for one by one meanwhile");
}

static void put_speed(json_t *report, stk__run *run)
{
    const stk__run_report *r = &run->report;
    put_real(report, STK_RUN_KEY_SAMPLES_PER_S, r->wall_s > 0 ? (double)r->at.samples / r->wall_s : NAN);
    put_real(report, STK_RUN_KEY_STEP_MS, stk__run_step_ms(run));
    put_real(report, STK_RUN_KEY_FIRST_STEP_S, stk__process_age_s(r->first_step_ns));
    put_real(report, STK_RUN_KEY_WALL_S, r->wall_s);
}

static void put_score(json_t *report, const stk__run_report *r, const stk__trainer_info *info)
{
    put(report, STK_RUN_KEY_METRIC,
        json_string(stk__task_describe(info->network->task)->values[info->value]));
    put_real(report, STK_RUN_KEY_BEST_METRIC, r->best_value);
    put(report, STK_RUN_KEY_BEST_STEP, json_integer(r->best_step));
    put_real(report, STK_RUN_KEY_LOSS, r->logged ? r->log.score.loss : NAN);
}

static void put_estimate_why(json_t *report, const stk__session *s)
{
    const char *why = s->plan.estimate_why;
    put(report, STK_RUN_KEY_ESTIMATE_WHY, why ? json_string(why) : json_null());
}

static void put_memory(json_t *report, const stk__session *s)
{
    const stk__trainer_info *info = stk__trainer_describe(s->trainer);
    put_bytes(report, STK_RUN_KEY_PEAK_MEMORY, stk__process_peak_bytes());
    put_bytes(report, STK_RUN_KEY_PLANNED_MEMORY, s->plan.planned_bytes);
    put_estimate_why(report, s);
    put_bytes(report, STK_RUN_KEY_MODEL, info->model_bytes);
    put_bytes(report, STK_RUN_KEY_ACTIVATION, info->pass_bytes);
}

static void put_device(json_t *report, const stk__session *s)
{
    if (!s->plan.device_bytes) return;
    const int64_t peak = stk__trainer_memory(s->trainer).peak_bytes;
    put(report, STK_RUN_KEY_DEVICE, json_string(s->device));
    put_bytes(report, STK_RUN_KEY_PLANNED_DEVICE, s->plan.device_bytes);
    put_bytes(report, STK_RUN_KEY_CUDA, s->plan.cuda_bytes);
    put(report, STK_RUN_KEY_PEAK_DEVICE, peak < 0 ? json_null() : json_integer(peak));
}

/* Milliseconds a batch, by the device's clock; null: no device makes them. */
static void put_device_batches(json_t *report, stk_loader *loader)
{
    stk_loader_stats stats;
    stk_loader_get_stats(loader, &stats);
    const double each_ms = stats.device_batches ? 1e-6 / (double)stats.device_batches : NAN;
    put_real(report, STK_RUN_KEY_DEVICE_COPY_MS, each_ms * (double)stats.device_copy_ns);
    put_real(report, STK_RUN_KEY_DEVICE_AUGMENT_MS, each_ms * (double)stats.device_kernel_ns);
}

static void put_notes(json_t *report, const stk__session *s)
{
    json_t *rows = json_array();
    stk__file_notes_append(rows, s->loader, "train");
    stk__file_notes_append(rows, s->val_loader, "val");
    put(report, STK_RUN_KEY_NOTES, rows);
}

static void put_end(json_t *report, const stk__run_report *r, const stk_error *failure)
{
    put(report, STK_RUN_KEY_INTERRUPTED, json_boolean(r->interrupted));
    put(report, STK_RUN_KEY_FAILED, json_boolean(failure != NULL));
    put(report, STK_RUN_KEY_ERROR,
        failure
            ? json_pack("{s:o, s:o, s:o}", STK_RUN_KEY_MESSAGE_OF_ERROR, stk__json_string(failure->message),
                        STK_RUN_KEY_PLACE_OF_ERROR, stk__json_string(failure->place),
                        STK_RUN_KEY_HINT_OF_ERROR, stk__json_string(failure->hint))
            : json_null());
    put(report, STK_RUN_KEY_STOPPED_EARLY, json_boolean(r->stopped_early));
    put(report, STK_RUN_KEY_CHECKPOINT, stk__json_string(r->checkpoint));
}

/* A run that failed has its error instead. */
static void put_advice(json_t *report, const stk__run_result *result)
{
    stk__advice list[STK_ADVICE_MOST];
    const int count = result->failure ? 0 : stk__run_advise(result, list);
    json_t *rules = json_array();
    for (int i = 0; i < count; i++)
        json_array_append_new(rules, json_pack("{s:s, s:o}", STK_RUN_KEY_ID_OF_ADVICE, list[i].id,
                                               STK_RUN_KEY_TEXT_OF_ADVICE, stk__json_string(list[i].text)));
    put(report, STK_RUN_KEY_ADVICE, stk__json_string(count ? list[0].text : ""));
    put(report, STK_RUN_KEY_ADVICE_RULES, rules);
}

static void put_network(json_t *report, const stk__pass_report *pass)
{
    put(report, STK_RUN_KEY_PARAMETERS, json_integer((json_int_t)pass->param_count));
    put(report, STK_RUN_KEY_STEP_FLOPS, json_real(pass->step_flops));
    put(report, STK_RUN_KEY_LAYERS, layers_json(pass));
}

/* --- all of it -------------------------------------------------------------------------------------------
 */

json_t *stk__run_json(const stk__run_result *result)
{
    const stk__session *s = result->session;
    const stk__run_report *r = &result->run->report;
    const stk__trainer_info *info = stk__trainer_describe(s->trainer);
    json_t *report =
        json_pack("{s:i, s:s, s:s, s:s, s:s, s:i, s:I, s:I}", STK_RUN_KEY_SCHEMA, 1, STK_RUN_KEY_RUN,
                  stk__run_folder_path(result->run->folder), STK_RUN_KEY_NETWORK, info->network->name,
                  STK_RUN_KEY_ENGINE, info->engine->name, STK_RUN_KEY_ENGINE_VERSION, info->engine->version,
                  STK_RUN_KEY_THREADS, info->engine->threads, STK_RUN_KEY_STEPS, (json_int_t)r->at.step,
                  STK_RUN_KEY_EPOCHS, (json_int_t)r->at.epoch);
    put_speed(report, result->run);
    put_score(report, r, info);
    put_memory(report, s);
    if (r->at.loss_scale > 0) {
        put(report, STK_RUN_KEY_LOSS_SCALE, json_real(r->at.loss_scale));
        put(report, STK_RUN_KEY_SKIPPED_STEPS, json_integer(r->at.skipped));
    }
    put_device(report, s);
    put_end(report, r, result->failure);
    put_advice(report, result);
    put(report, STK_RUN_KEY_STALL, stall_json(stk__trainer_stall(s->trainer), r->wall_s));
    put_device_batches(report, s->loader);
    put_notes(report, s);
    put(report, STK_RUN_KEY_EFFECTS, stk__config_effects_json(s->config));
    put(report, STK_RUN_KEY_DATE, date_json());
    put(report, STK_RUN_KEY_STEPS_RUN, json_integer((json_int_t)result->run->step_count));
    put(report, STK_RUN_KEY_DATA, data_json(s, r));
    put(report, STK_RUN_KEY_EVALUATION, stk__confusion_json(&result->artifacts->predictions.confusion));
    put_network(report, info->report);
    if (result->artifacts->trace.room) put(report, STK_RUN_KEY_TRACE, trace_json(result->artifacts));
    if (result->monitor) put(report, STK_RUN_KEY_MONITOR, result->monitor);
    return report;
}

json_t *stk__plan_json(const stk__session *s)
{
    const stk__trainer_info *info = stk__trainer_describe(s->trainer);
    json_t *plan = json_pack(
        "{s:i, s:s, s:s, s:I, s:f, s:f, s:I, s:I, s:I, s:I, s:o}", STK_RUN_KEY_SCHEMA, 1, STK_RUN_KEY_NETWORK,
        info->network->name, STK_RUN_KEY_ENGINE, info->engine->name, STK_RUN_KEY_PARAMETERS,
        (json_int_t)info->report->param_count, STK_RUN_KEY_FORWARD_FLOPS, info->report->flops,
        STK_RUN_KEY_STEP_FLOPS, info->report->step_flops, STK_RUN_KEY_MODEL, (json_int_t)info->model_bytes,
        STK_RUN_KEY_ACTIVATION, (json_int_t)info->pass_bytes, STK_RUN_KEY_BATCHES,
        (json_int_t)s->plan.batch_bytes, STK_RUN_KEY_PLANNED_MEMORY, (json_int_t)s->plan.planned_bytes,
        STK_RUN_KEY_EFFECTS, stk__config_effects_json(s->config));
    if (!plan) return NULL;
    if (s->plan.device_bytes) {
        put_bytes(plan, STK_RUN_KEY_PLANNED_DEVICE, s->plan.device_bytes);
        put_bytes(plan, STK_RUN_KEY_CUDA, s->plan.cuda_bytes);
    }
    put_estimate_why(plan, s);
    put_bytes(plan, STK_RUN_KEY_CACHE, s->plan.cache_bytes);
    put_real(plan, STK_RUN_KEY_SAMPLE_FLOPS, info->report->step_flops / (double)info->pass_samples);
    put_bytes(plan, STK_RUN_KEY_TEMPORARY, s->plan.temporary_bytes);
    put_bytes(plan, STK_RUN_KEY_PROGRAM, s->plan.program_bytes);
    put(plan, STK_RUN_KEY_VERDICT, stk__memory_verdict_json(&s->verdict));
    return plan;
}

bool stk__run_json_is_current(const stk__run *run)
{
    char path[1024];
    stk__run_folder_file(run->folder, STK_RUN_FILE, path, sizeof path);
    json_t *report = json_load_file(path, 0, NULL);
    const bool current =
        json_integer_value(json_object_get(report, STK_RUN_KEY_STEPS)) == run->report.at.step &&
        json_is_false(json_object_get(report, STK_RUN_KEY_INTERRUPTED)) &&
        !json_is_true(json_object_get(report, STK_RUN_KEY_FAILED));
    json_decref(report);
    return current;
}
