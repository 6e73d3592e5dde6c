/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a recording back into frames, strictly: order of time, numbers of GPUs and sizes are checked, and
 * a torn last line is normal after a crash. Untrusted input (fuzzed). */
#include "monitor/record/replay.h"

#include "core/clock.h"
#include "monitor/host/host_key.h"
#include "monitor/record/replay_value.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Longer intervals than this (a year) are corrupt. A day is valid: a monitor stopped by Ctrl-Z and continued
 * later writes one frame for all that time. */
static const uint64_t longest_ns = 366 * 86400 * STK_SECOND_NS;
enum { MOST_CORES = 65536 };

struct stk__replay {
    FILE *file;
    char *path;
    stk__buffer line; /* zero-terminated */
    int line_number;
    bool ended;
    uint64_t frame_count;
    stk__record_head head;
    char *absent;
    stk_gpu *gpus;
    stk_monitor_frame frame;
    float *cores;
    int32_t core_room;
};

/* --- lines -----------------------------------------------------------------------------------------------
 */

static stk_status STK__PRINTF(3, 4)
    refuse(const stk__replay *replay, stk_error *error, const char *format, ...)
{
    char why[160];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    stk__fail(error, STK_ERROR_DATA, "corrupt recording: %s", why);
    stk__error_place(error, "%s:%d", replay->path, replay->line_number);
    return STK_ERROR_DATA;
}

static stk_status fail_reading(const stk__replay *replay, stk_error *error)
{
    const stk_status status = stk__fail_errno(error, errno ? errno : EIO, "cannot read the recording");
    stk__error_place(error, "%s", replay->path);
    return status;
}

/* STK_END at the end of the file. A last line without its line break is truncated. */
static stk_status read_line(stk__replay *replay, stk_error *error)
{
    stk__buffer *line = &replay->line;
    line->size_bytes = 0;
    for (;;) {
        STK__TRY(stk__buffer_reserve(line, line->size_bytes + 65536, error));
        char *room = (char *)line->data + line->size_bytes;
        errno = 0;
        if (!fgets(room, (int)(line->capacity_bytes - line->size_bytes), replay->file)) break;
        line->size_bytes += strlen(room);
        if (line->size_bytes && line->data[line->size_bytes - 1] == '\n') {
            replay->line_number++;
            return STK_OK;
        }
    }
    if (ferror(replay->file)) return fail_reading(replay, error);
    if (!line->size_bytes) return STK_END;
    replay->line_number++;
    return refuse(replay, error, "truncated in the middle of this line");
}

static stk_status parse_line(const stk__replay *replay, json_t **object, stk_error *error)
{
    json_error_t why;
    *object = json_loadb((const char *)replay->line.data, replay->line.size_bytes, 0, &why);
    if (*object) return STK_OK;
    return refuse(replay, error, "invalid JSON at column %d", why.column);
}

/* --- a frame ---------------------------------------------------------------------------------------------
 */

static void get_gpus(stk__getter *g, const stk__replay *replay, const json_t *object)
{
    const json_t *gpus = stk__replay_value(g, object, "gpus", JSON_ARRAY);
    if (json_array_size(gpus) != (size_t)replay->head.gpu_count && !g->missing) g->missing = "gpus";
    for (int i = 0; i < replay->head.gpu_count; i++)
        stk__replay_gpu(g, json_array_get(gpus, (size_t)i), &replay->frame.gpu_frames[i]);
}

static stk_status reserve_cores(stk__replay *replay, int32_t count, stk_error *error)
{
    if (count <= replay->core_room) return STK_OK;
    stk__free(replay->cores);
    replay->core_room = 0;
    replay->cores = stk__alloc((size_t)count * sizeof *replay->cores);
    if (!replay->cores) return stk__fail_memory(error, (size_t)count * sizeof *replay->cores, "cores");
    replay->core_room = count;
    return STK_OK;
}

/* Written only if it differs from the number of cores; older recordings never have it. */
static int32_t get_cpu_count(stk__getter *g, const json_t *host, int32_t core_count)
{
    if (!json_object_get(host, "cpu_count")) return core_count;
    const int64_t count = stk__replay_whole(g, host, "cpu_count");
    if ((count < 0 || count > core_count) && !g->missing) g->missing = "cpu_count";
    return (int32_t)count;
}

static stk_status get_host(stk__getter *g, stk__replay *replay, const json_t *object, stk_error *error)
{
    stk_reading readings[STK_HOST_KEYS];
    stk_host_frame *host = &replay->frame.host;
    const json_t *from = stk__replay_value(g, object, "host", JSON_OBJECT);
    stk__replay_readings(g, from, STK_HOST_KEYS, stk__host_key, readings);
    for (int i = 0; i < STK_HOST_KEYS; i++)
        memcpy((char *)host + stk__host_offset(i), &readings[i], sizeof readings[i]);
    const json_t *cores = stk__replay_value(g, from, "core_percent", JSON_ARRAY);
    const size_t count = json_array_size(cores) <= MOST_CORES ? json_array_size(cores) : 0;
    STK__TRY(reserve_cores(replay, (int32_t)count, error));
    host->core_count = (int32_t)count;
    host->cpu_count = get_cpu_count(g, from, host->core_count);
    host->core_percent = replay->cores;
    for (size_t i = 0; i < count; i++) {
        const json_t *core = json_array_get(cores, i);
        const double percent = json_is_number(core) ? json_number_value(core) : -1;
        if (fabs(percent) > FLT_MAX && !g->missing) g->missing = "core_percent";
        replay->cores[i] = g->missing ? -1 : (float)percent;
    }
    return STK_OK;
}

/* before_ns: the end of the frame before it; 0: it is the first. */
static bool is_timely(const stk_monitor_frame *frame, uint64_t before_ns)
{
    const bool forward = frame->from_ns >= before_ns && frame->to_ns >= frame->from_ns;
    const bool near = frame->to_ns - frame->from_ns <= longest_ns &&
                      (!frame->number || frame->from_ns - before_ns <= longest_ns);
    return forward && near && frame->clock_s >= 0 && frame->clock_s < 1e11;
}

static stk_status get_frame(stk__replay *replay, const json_t *object, stk_error *error)
{
    stk__getter g = {0};
    stk_monitor_frame *frame = &replay->frame;
    const uint64_t before_ns = frame->to_ns;
    frame->number = stk__replay_moment(&g, object, "number");
    frame->from_ns = stk__replay_moment(&g, object, "from_ns");
    frame->to_ns = stk__replay_moment(&g, object, "to_ns");
    frame->clock_s = json_number_value(stk__replay_value(&g, object, "clock_s", JSON_REAL));
    get_gpus(&g, replay, object);
    STK__TRY(get_host(&g, replay, object, error));
    if (g.missing) return refuse(replay, error, "'%s' is missing or invalid", g.missing);
    if (frame->number != replay->frame_count)
        return refuse(replay, error, "frame %llu where frame %llu was expected",
                      (unsigned long long)frame->number, (unsigned long long)replay->frame_count);
    if (!is_timely(frame, before_ns))
        return refuse(replay, error, "timestamps run backwards or jump too far");
    replay->frame_count++;
    return STK_OK;
}

/* --- the first and the last line -------------------------------------------------------------------------
 */

/* Older recordings have none: then instances are numbered in their order. gpus: this one is the last.
 */
static int32_t get_part_number(stk__getter *g, const json_t *from, const stk_gpu *gpus, int count)
{
    const stk_gpu *gpu = &gpus[count - 1];
    int32_t before = 0;
    if (!gpu->part[0]) return 0;
    if (json_object_get(from, "part_number")) {
        const int64_t number = stk__replay_whole(g, from, "part_number");
        if ((number < 0 || number > INT32_MAX) && !g->missing) g->missing = "part_number";
        return (int32_t)number;
    }
    for (int i = 0; i < count - 1; i++)
        before += gpus[i].part[0] && gpus[i].index == gpu->index && strcmp(gpus[i].vendor, gpu->vendor) == 0;
    return before;
}

static void get_gpu(stk__getter *g, const json_t *from, stk_gpu *gpu)
{
    gpu->index = (int32_t)stk__replay_whole(g, from, "index");
    stk__replay_text(g, from, "vendor", gpu->vendor, sizeof gpu->vendor);
    stk__replay_text(g, from, "name", gpu->name, sizeof gpu->name);
    stk__replay_text(g, from, "id", gpu->id, sizeof gpu->id);
    stk__replay_text(g, from, "part", gpu->part, sizeof gpu->part);
}

static stk_status alloc_gpus(stk__replay *replay, size_t count, stk_error *error)
{
    if (!count) return STK_OK;
    replay->gpus = stk__alloc(count * sizeof *replay->gpus);
    replay->frame.gpu_frames = stk__alloc(count * sizeof *replay->frame.gpu_frames);
    if (!replay->gpus || !replay->frame.gpu_frames)
        return stk__fail_memory(error, count * sizeof *replay->frame.gpu_frames, "frames of the recording");
    replay->head.gpu_count = replay->frame.gpu_count = (int32_t)count;
    replay->head.gpus = replay->frame.gpus = replay->gpus;
    return STK_OK;
}

static stk_status refuse_schema(const stk__replay *replay, const json_t *object, stk_error *error)
{
    const json_t *schema = json_object_get(object, "schema");
    if (!json_object_get(object, "recording") || !json_is_integer(schema)) {
        stk__fail(error, STK_ERROR_DATA, "not a recording of stoker monitor");
        stk__error_place(error, "%s:1", replay->path);
        stk__error_hint(error, "record one with `stoker monitor --record FILE`");
        return STK_ERROR_DATA;
    }
    if (json_integer_value(schema) == STK_RECORD_SCHEMA) return STK_OK;
    stk__fail(error, STK_ERROR_DATA, "unsupported recording: schema %lld, this stoker reads %d",
              (long long)json_integer_value(schema), STK_RECORD_SCHEMA);
    stk__error_place(error, "%s:1", replay->path);
    return STK_ERROR_DATA;
}

static stk_status get_head(stk__replay *replay, const json_t *object, stk_error *error)
{
    stk__getter g = {0};
    STK__TRY(refuse_schema(replay, object, error));
    const json_t *gpus = stk__replay_value(&g, object, "gpus", JSON_ARRAY),
                 *pid = json_object_get(object, "pid");
    const char *absent = json_string_value(stk__replay_value(&g, object, "absent", JSON_STRING));
    if (json_array_size(gpus) > STK_GPUS) return refuse(replay, error, "more than %d GPUs", STK_GPUS);
    STK__TRY(alloc_gpus(replay, json_array_size(gpus), error));
    for (int i = 0; i < replay->head.gpu_count; i++) {
        const json_t *gpu = json_array_get(gpus, (size_t)i);
        get_gpu(&g, gpu, &replay->gpus[i]);
        replay->gpus[i].part_number = get_part_number(&g, gpu, replay->gpus, i + 1);
    }
    replay->head.interval_s = json_number_value(stk__replay_value(&g, object, "interval_s", JSON_REAL));
    replay->head.pid = (int32_t)json_integer_value(pid);
    if (g.missing) return refuse(replay, error, "'%s' is missing or invalid", g.missing);
    replay->head.absent = replay->absent = stk__text_copy(absent);
    return replay->absent ? STK_OK : stk__fail_memory(error, strlen(absent) + 1, "the recording's head");
}

static stk_status get_end(stk__replay *replay, const json_t *object, stk_error *error)
{
    const int64_t count = json_integer_value(json_object_get(object, "frames"));
    if (count != (int64_t)replay->frame_count)
        return refuse(replay, error, "the last line counts %lld frames, but the recording has %llu",
                      (long long)count, (unsigned long long)replay->frame_count);
    replay->ended = true;
    return STK_END;
}

/* --- life ------------------------------------------------------------------------------------------------
 */

static stk_status open_replay(stk__replay *replay, const char *path, stk_error *error)
{
    json_t *object = NULL;
    replay->path = stk__text_copy(path);
    if (!replay->path) return stk__fail_memory(error, strlen(path) + 1, "the replay");
    replay->file = fopen(path, "re");
    if (!replay->file) return fail_reading(replay, error);
    stk_status status = read_line(replay, error);
    if (status == STK_END) {
        replay->line_number = 1;
        return refuse(replay, error, "the file is empty");
    }
    if (status == STK_OK) status = parse_line(replay, &object, error);
    if (status == STK_OK) status = get_head(replay, object, error);
    json_decref(object);
    return status;
}

stk_status stk__replay_open(stk__replay **replay, const char *path, stk_error *error)
{
    *replay = stk__alloc(sizeof **replay);
    if (!*replay) return stk__fail_memory(error, sizeof **replay, "the replay");
    const stk_status status = open_replay(*replay, path, error);
    if (status != STK_OK) stk__replay_close(replay);
    return status;
}

const stk__record_head *stk__replay_head(const stk__replay *replay)
{
    return &replay->head;
}

stk_status stk__replay_next(stk__replay *replay, stk_monitor_frame **frame, stk_error *error)
{
    json_t *object = NULL;
    if (replay->ended) return STK_END;
    stk_status status = read_line(replay, error);
    if (status == STK_END) return refuse(replay, error, "truncated after this line");
    if (status == STK_OK) status = parse_line(replay, &object, error);
    if (status == STK_OK)
        status = json_object_get(object, "frames") ? get_end(replay, object, error)
                                                   : get_frame(replay, object, error);
    json_decref(object);
    *frame = &replay->frame;
    return status;
}

void stk__replay_close(stk__replay **replay)
{
    stk__replay *closing = *replay;
    if (!closing) return;
    if (closing->file) fclose(closing->file);
    stk__buffer_fini(&closing->line);
    stk__free(closing->path);
    stk__free(closing->absent);
    stk__free(closing->gpus);
    stk__free(closing->frame.gpu_frames);
    stk__free(closing->cores);
    stk__free(closing);
    *replay = NULL;
}
