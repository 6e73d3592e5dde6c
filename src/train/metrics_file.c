/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.jsonl: one JSON line per log interval or evaluation, appended by a single write; on a full disk
 * the partial line is taken back. When a run resumes from a checkpoint, later lines are cut off. */
#include "train/metrics_file.h"

#include "core/durable.h"
#include "core/file.h"
#include "core/json_text.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void stk__metrics_file_init(stk__metrics_file *metrics, const char *path)
{
    *metrics = (stk__metrics_file){.path = path, .file = -1};
}

void stk__metrics_file_fini(stk__metrics_file *metrics)
{
    if (metrics->file >= 0) close(metrics->file);
    stk__buffer_fini(&metrics->line);
    metrics->file = -1;
}

/* One write does it; what is left of a line on a full disk is taken back. Returns an errno. */
static int append(int file, const stk__buffer *line)
{
    struct stat before, after;
    if (fstat(file, &before) != 0) return errno;
    const int failed = stk__file_write_all(file, line->data, line->size_bytes);
    if (!failed) return 0;
    const bool torn = fstat(file, &after) != 0 || after.st_size > before.st_size;
    if (torn && ftruncate(file, before.st_size) != 0) return errno;
    return failed;
}

stk_status stk__metrics_file_add(stk__metrics_file *metrics, json_t *line, stk_error *error)
{
    metrics->line.size_bytes = 0;
    STK__TRY(stk__json_text(&metrics->line, line, JSON_COMPACT, error));
    if (metrics->file < 0)
        metrics->file = open(metrics->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    const int failed = metrics->file < 0 ? errno : append(metrics->file, &metrics->line);
    return failed ? stk__durable_fail(error, failed, metrics->path) : STK_OK;
}

typedef struct filter {
    stk__metrics_end end;
    bool beyond; /* the last line that has a step was */
} filter;

static bool keeps(filter *f, const uint8_t *line, size_t size)
{
    json_t *json = json_loadb((const char *)line, size, 0, NULL);
    const json_t *step = json_object_get(json, "step");
    const bool is_line = json_is_object(json);
    const bool evaluation = json_object_get(json, "val_loss") != NULL;
    const uint64_t last = evaluation ? f->end.evaluated : f->end.logged;
    const json_int_t epoch = json_integer_value(json_object_get(json, "epoch"));
    if (json_is_integer(step))
        f->beyond = json_integer_value(step) > 0 && (uint64_t)json_integer_value(step) > last;
    if (evaluation && f->end.epoch && epoch > 0) f->beyond = (uint64_t)epoch >= f->end.epoch;
    json_decref(json);
    return is_line && !f->beyond;
}

/* Moves the lines that stay together, at the start of text. */
static void filter_lines(stk__buffer *text, stk__metrics_end end_step)
{
    filter f = {.end = end_step};
    size_t kept = 0;
    for (size_t at = 0; at < text->size_bytes;) {
        const uint8_t *line = text->data + at;
        const uint8_t *end = memchr(line, '\n', text->size_bytes - at);
        if (!end) break; /* torn */
        const size_t size = (size_t)(end - line) + 1;
        if (keeps(&f, line, size - 1)) {
            memmove(text->data + kept, line, size);
            kept += size;
        }
        at += size;
    }
    text->size_bytes = kept;
}

stk_status stk__metrics_file_cut(stk__metrics_file *metrics, stk__metrics_end end, stk_error *error)
{
    stk__buffer text = {0};
    stk_error why = {0};
    stk_status status = stk__file_read(metrics->path, 0, &text, &why);
    const size_t before = text.size_bytes;
    if (status != STK_OK && why.damage == STK_DAMAGE_MISSING) return STK_OK;
    if (status == STK_OK) filter_lines(&text, end);
    if (status != STK_OK)
        status = stk__fail(error, status == STK_ERROR_MEMORY ? status : STK_ERROR_IO, "'%s': %s",
                           metrics->path, why.message);
    else if (text.size_bytes != before) {
        stk__metrics_file_fini(metrics); /* the file behind the name becomes another */
        status = stk__file_write(metrics->path, text, STK_FILE_DURABLE, error);
    }
    stk__buffer_fini(&text);
    return status;
}
