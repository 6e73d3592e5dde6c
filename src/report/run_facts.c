/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what a run left in its folder (run.json, metrics.jsonl, pictures, GPU recordings) into plain
 * arrays. Every part may be missing, and a torn last line is normal after a crash; only a lack of memory
 * is a failure. */
#include "report/run_facts.h"

#include "core/durable.h"
#include "core/file.h"
#include "monitor/gpu_label.h"
#include "monitor/record/replay.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_BYTES = 1 << 29, MOST_PICTURE_BYTES = 1 << 26, MOST_RECORDINGS = 1000 };

/* --- files -----------------------------------------------------------------------------------------------
 */

/* False: it is not there, or cannot be read; *status only when memory is short. */
static bool read_part(const stk__run_facts *f, const char *name, uint64_t limit, stk__buffer *text,
                      stk_status *status)
{
    char path[PATH_MAX];
    if (stk__durable_join(path, sizeof path, f->folder, name, NULL) != STK_OK) return false;
    const stk_status read = stk__file_read(path, limit, text, NULL);
    if (read == STK_ERROR_MEMORY) *status = read;
    if (read != STK_OK) text->size_bytes = 0;
    return read == STK_OK;
}

static json_t *read_json(const stk__run_facts *f, const char *name, stk_status *status)
{
    stk__buffer text = {0};
    json_t *json = NULL;
    if (read_part(f, name, MOST_BYTES, &text, status))
        json = json_loadb((const char *)text.data, text.size_bytes, 0, NULL);
    stk__buffer_fini(&text);
    if (json_is_object(json)) return json;
    json_decref(json);
    return NULL;
}

/* Lines other than objects with a step are ignored: the last may be torn. */
static void read_lines(stk__run_facts *f, stk_status *status)
{
    stk__buffer text = {0};
    read_part(f, "metrics.jsonl", MOST_BYTES, &text, status);
    for (size_t at = 0; at < text.size_bytes;) {
        const uint8_t *line = text.data + at;
        const uint8_t *end = memchr(line, '\n', text.size_bytes - at);
        const size_t size = end ? (size_t)(end - line) : text.size_bytes - at;
        json_t *json = json_loadb((const char *)line, size, 0, NULL);
        if (json_is_integer(json_object_get(json, "step")))
            json_array_append_new(f->lines, json);
        else
            json_decref(json);
        at += size + 1;
    }
    stk__buffer_fini(&text);
}

static int64_t changed_s(const stk__run_facts *f)
{
    static const char *const names[] = {"metrics.jsonl", "config.yaml"};
    char path[PATH_MAX];
    struct stat facts;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (stk__durable_join(path, sizeof path, f->folder, names[i], NULL) == STK_OK &&
            stat(path, &facts) == 0)
            return facts.st_mtime;
    return 0;
}

/* --- recordings of GPUs ----------------------------------------------------------------------------------
 */

static double known(stk_reading reading)
{
    return reading.known == STK_KNOWN ? reading.value : NAN;
}

static stk_status keep_frame(stk__run_facts *f, const stk_monitor_frame *frame, double start_s,
                             stk_error *error)
{
    for (int i = 0; i < frame->gpu_count && i < f->gpu_count; i++) {
        const stk_reading *r = frame->gpu_frames[i].readings;
        const stk__gpu_moment moment = {.minute = (frame->clock_s - start_s) / 60,
                                        .util_percent = known(r[STK_METRIC_UTIL]),
                                        .power_w = known(r[STK_METRIC_POWER]),
                                        .memory_percent = 100 * known(r[STK_METRIC_MEMORY_USED]) /
                                                          known(r[STK_METRIC_MEMORY_TOTAL]),
                                        .temperature_c = known(r[STK_METRIC_TEMPERATURE])};
        STK__TRY(stk__buffer_append(&f->gpus[i], &moment, sizeof moment, error));
    }
    return STK_OK;
}

/* Between two recordings nothing was measured. */
static stk_status keep_gap(stk__run_facts *f, stk_error *error)
{
    const stk__gpu_moment gap = {NAN, NAN, NAN, NAN, NAN};
    for (int i = 0; i < f->gpu_count; i++)
        if (f->gpus[i].size_bytes) STK__TRY(stk__buffer_append(&f->gpus[i], &gap, sizeof gap, error));
    return STK_OK;
}

static void name_gpus(stk__run_facts *f, const stk__record_head *head)
{
    if (head->gpu_count > f->watched_count) f->watched_count = head->gpu_count;
    for (int i = f->gpu_count; i < head->gpu_count && i < STK_FACTS_GPUS; i++)
        snprintf(f->gpu_names[f->gpu_count++], sizeof f->gpu_names[0], "GPU %s",
                 stk__gpu_label_of(&head->gpus[i]).text);
}

/* The page tells what is wrong with a recording; only without memory there is no page. */
static stk_status note_fault(stk__run_facts *f, stk_status status, const stk_error *fault, stk_error *error)
{
    if (status == STK_ERROR_MEMORY) return stk__fail_memory(error, sizeof(stk__gpu_moment), "a recording");
    memcpy(f->recording_fault, fault->message, sizeof f->recording_fault);
    return STK_OK;
}

static stk_status keep_recording(stk__run_facts *f, stk__replay *replay, double *start_s, stk_error *error)
{
    stk_monitor_frame *frame;
    stk_error fault;
    stk_status status;
    name_gpus(f, stk__replay_head(replay));
    STK__TRY(keep_gap(f, error));
    while ((status = stk__replay_next(replay, &frame, &fault)) == STK_OK) {
        if (isnan(*start_s)) *start_s = frame->clock_s;
        STK__TRY(keep_frame(f, frame, *start_s, error));
    }
    return status == STK_END ? STK_OK : note_fault(f, status, &fault, error);
}

static stk_status read_recordings(stk__run_facts *f, stk_error *error)
{
    char path[PATH_MAX], name[32] = "monitor.jsonl";
    double start_s = NAN;
    stk_error fault;
    stk__replay *replay;
    struct stat facts;
    for (int part = 2; part < MOST_RECORDINGS; part++) {
        if (stk__durable_join(path, sizeof path, f->folder, name, NULL) != STK_OK) break;
        if (stat(path, &facts) != 0) break;
        const stk_status status = stk__replay_open(&replay, path, &fault);
        if (status == STK_OK) {
            const stk_status kept = keep_recording(f, replay, &start_s, error);
            stk__replay_close(&replay);
            STK__TRY(kept);
        } else
            STK__TRY(note_fault(f, status, &fault, error));
        snprintf(name, sizeof name, "monitor-%d.jsonl", part);
    }
    return STK_OK;
}

/* --- all of it -------------------------------------------------------------------------------------------
 */

stk_status stk__run_facts_read(stk__run_facts *f, const char *folder, stk_error *error)
{
    stk_status status = STK_OK;
    *f = (stk__run_facts){.folder = folder, .lines = json_array()};
    if (!f->lines) return stk__fail_memory(error, 64, "the lines of metrics");
    f->run = read_json(f, STK_RUN_FILE, &status);
    f->answers = read_json(f, "predictions.json", &status);
    read_lines(f, &status);
    const bool configured = read_part(f, "config.yaml", MOST_BYTES, &f->config, &status);
    read_part(f, "predictions.png", MOST_PICTURE_BYTES, &f->picture, &status);
    f->changed_s = changed_s(f);
    if (status != STK_OK) return stk__fail_memory(error, MOST_BYTES, "the files of a run");
    if (!f->run && !configured && !json_array_size(f->lines)) {
        stk__fail(error, STK_ERROR_DATA, "'%s' is not a run folder", folder);
        stk__error_hint(error, "a run has config.yaml, metrics.jsonl and, when it is finished, run.json");
        return STK_ERROR_DATA;
    }
    return read_recordings(f, error);
}

void stk__run_facts_fini(stk__run_facts *f)
{
    json_decref(f->run);
    json_decref(f->lines);
    json_decref(f->answers);
    stk__buffer_fini(&f->config);
    stk__buffer_fini(&f->picture);
    for (int i = 0; i < STK_FACTS_GPUS; i++)
        stk__buffer_fini(&f->gpus[i]);
}

double stk__run_facts_number(const stk__run_facts *f, const char *key)
{
    const json_t *value = json_object_get(f->run, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

const char *stk__run_facts_text(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

bool stk__run_facts_is(const stk__run_facts *f, const char *key)
{
    return json_is_true(json_object_get(f->run, key));
}

const json_t *stk__run_facts_setting(const stk__run_facts *f, const char *name)
{
    const json_t *rows = json_object_get(f->run, STK_RUN_KEY_EFFECTS);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        const char *its = stk__run_facts_text(row, STK_RUN_KEY_NAME_OF_EFFECT);
        if (its && strcmp(its, name) == 0) return json_object_get(row, STK_RUN_KEY_IN_EFFECT_OF_EFFECT);
    }
    return NULL;
}
