/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings of frames as JSON Lines: a head that names the GPUs, one line per frame with every value and
 * its time, and a last line that says that it is complete. One thread. */
#include "monitor/record/record.h"

#include "monitor/host/host_key.h"
#include "monitor/record/frame_json.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct stk__recorder {
    FILE *file;
    char *path;
    stk__json_line line;
    uint64_t frame_count;
};

/* Readings that share a line. */
typedef struct readings {
    const stk_reading *all;
    int count;
    const char *(*key)(int number);
} readings;

static stk_status fail_writing(const stk__recorder *recorder, stk_error *error)
{
    const int cause = errno ? errno : EIO;
    if (recorder->line.failed) return stk__fail_memory(error, 65536, "a line of the recording");
    const stk_status status = stk__fail_errno(error, cause, "cannot write the recording");
    stk__error_place(error, "%s", recorder->path);
    return status;
}

static stk_status finish_line(stk__recorder *recorder, stk_error *error)
{
    errno = 0;
    const bool written = stk__line_finish(&recorder->line, recorder->file) && fflush(recorder->file) == 0;
    return written ? STK_OK : fail_writing(recorder, error);
}

static void put_gpu(stk__json_line *line, const stk_gpu *gpu)
{
    stk__line_open(line, NULL, '{');
    stk__line_whole(line, "index", gpu->index);
    stk__line_text(line, "vendor", gpu->vendor);
    stk__line_text(line, "name", gpu->name);
    stk__line_text(line, "id", gpu->id);
    stk__line_text(line, "part", gpu->part);
    if (gpu->part[0]) stk__line_whole(line, "part_number", gpu->part_number);
    stk__line_close(line, '}');
}

static stk_status write_head(stk__recorder *recorder, const stk__record_head *head, stk_error *error)
{
    stk__json_line *line = &recorder->line;
    stk__line_start(line);
    stk__line_whole(line, "schema", STK_RECORD_SCHEMA);
    stk__line_text(line, "recording", "stoker monitor");
    stk__line_text(line, "version", stk_version());
    stk__line_real(line, "interval_s", head->interval_s);
    if (head->pid)
        stk__line_whole(line, "pid", head->pid);
    else
        stk__line_null(line, "pid");
    stk__line_text(line, "absent", head->absent ? head->absent : "");
    stk__line_open(line, "gpus", '[');
    for (int i = 0; i < head->gpu_count; i++)
        put_gpu(line, &head->gpus[i]);
    stk__line_close(line, ']');
    return finish_line(recorder, error);
}

stk_status stk__recorder_open(stk__recorder **recorder, const char *path, const stk__record_head *head,
                              stk_error *error)
{
    stk_status status = STK_OK;
    stk__recorder *made = *recorder = stk__alloc(sizeof *made);
    if (!made) return stk__fail_memory(error, sizeof *made, "the recorder");
    made->path = stk__text_copy(path);
    if (!made->path)
        status = stk__fail_memory(error, strlen(path) + 1, "the recorder");
    else if (!(made->file = fopen(path, "we"))) {
        status = stk__fail_errno(error, errno, "cannot create the recording");
        stk__error_place(error, "%s", path);
    } else
        status = write_head(made, head, error);
    if (status == STK_OK) return STK_OK;
    if (made->file) fclose(made->file);
    made->file = NULL;
    stk__recorder_close(recorder, NULL);
    return status;
}

/* --- frames ----------------------------------------------------------------------------------------------
 */

/* Most were read at the same time, which is written once; the few others have their own. */
static uint64_t common_moment(const readings *r)
{
    for (int i = 0; i < r->count; i++)
        if (r->all[i].known == STK_KNOWN) return r->all[i].when_ns;
    return 0;
}

static void put_readings(stk__json_line *line, const readings *r)
{
    const uint64_t moment_ns = common_moment(r);
    stk__line_whole(line, "read_ns", (int64_t)moment_ns);
    stk__line_open(line, "readings", '{');
    for (int i = 0; i < r->count; i++)
        stk__line_reading(line, r->key(i), r->all[i]);
    stk__line_close(line, '}');
    stk__line_open(line, "unsupported", '[');
    for (int i = 0; i < r->count; i++)
        if (r->all[i].known == STK_UNSUPPORTED) stk__line_text(line, NULL, r->key(i));
    stk__line_close(line, ']');
    stk__line_open(line, "when_ns", '{');
    for (int i = 0; i < r->count; i++)
        if (r->all[i].known == STK_KNOWN && r->all[i].when_ns != moment_ns)
            stk__line_whole(line, r->key(i), (int64_t)r->all[i].when_ns);
    stk__line_close(line, '}');
}

static const char *metric_key(int number)
{
    return stk_metric_key((stk_metric)number);
}

static void put_loads(stk__json_line *line, const stk_gpu_frame *seen)
{
    stk__line_open(line, "loads_ns_ns_percent", '[');
    for (int i = 0; i < seen->load_count; i++) {
        stk__line_open(line, NULL, '[');
        stk__line_whole(line, NULL, (int64_t)seen->loads[i].from_ns);
        stk__line_whole(line, NULL, (int64_t)seen->loads[i].to_ns);
        stk__line_real(line, NULL, seen->loads[i].percent);
        stk__line_close(line, ']');
    }
    stk__line_close(line, ']');
}

static void put_gpu_frame(stk__json_line *line, const stk_gpu_frame *seen)
{
    stk__line_open(line, NULL, '{');
    stk__line_text(line, "state", stk_gpu_state_name(seen->state));
    stk__line_text(line, "note", seen->note);
    put_readings(line, &(readings){.all = seen->readings, .count = STK_METRIC_COUNT, .key = metric_key});
    put_loads(line, seen);
    stk__json_processes(line, seen);
    stk__line_close(line, '}');
}

static void put_host(stk__json_line *line, const stk_host_frame *host)
{
    stk_reading all[STK_HOST_KEYS];
    for (int i = 0; i < STK_HOST_KEYS; i++)
        memcpy(&all[i], (const char *)host + stk__host_offset(i), sizeof all[i]);
    stk__line_open(line, "host", '{');
    put_readings(line, &(readings){.all = all, .count = STK_HOST_KEYS, .key = stk__host_key});
    stk__line_open(line, "core_percent", '[');
    for (int i = 0; i < host->core_count; i++)
        stk__line_real(line, NULL, (double)host->core_percent[i]);
    stk__line_close(line, ']');
    if (host->cpu_count != host->core_count) stk__line_whole(line, "cpu_count", host->cpu_count);
    stk__line_close(line, '}');
}

stk_status stk__recorder_write(stk__recorder *recorder, const stk_monitor_frame *frame, stk_error *error)
{
    stk__json_line *line = &recorder->line;
    stk__line_start(line);
    stk__line_whole(line, "number", (int64_t)frame->number);
    stk__line_whole(line, "from_ns", (int64_t)frame->from_ns);
    stk__line_whole(line, "to_ns", (int64_t)frame->to_ns);
    stk__line_real(line, "clock_s", frame->clock_s);
    stk__line_open(line, "gpus", '[');
    for (int i = 0; i < frame->gpu_count; i++)
        put_gpu_frame(line, &frame->gpu_frames[i]);
    stk__line_close(line, ']');
    put_host(line, &frame->host);
    recorder->frame_count++;
    return finish_line(recorder, error);
}

static stk_status finish_file(stk__recorder *recorder, stk_error *error)
{
    stk__line_start(&recorder->line);
    stk__line_whole(&recorder->line, "frames", (int64_t)recorder->frame_count);
    const stk_status status = finish_line(recorder, error);
    errno = 0;
    const bool closed = fclose(recorder->file) == 0;
    return status == STK_OK && !closed ? fail_writing(recorder, error) : status;
}

stk_status stk__recorder_close(stk__recorder **recorder, stk_error *error)
{
    stk__recorder *closing = *recorder;
    if (!closing) return STK_OK;
    const stk_status status = closing->file ? finish_file(closing, error) : STK_OK;
    stk__buffer_fini(&closing->line.text);
    stk__free(closing->path);
    stk__free(closing);
    *recorder = NULL;
    return status;
}
