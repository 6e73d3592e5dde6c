/* SPDX-License-Identifier: Apache-2.0 */
/* Records as TFRecord has them (length, check, data, check), messages of Protocol Buffers written by hand. */
#include "train/event_file.h"

#include "core/durable.h"
#include "core/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PREFIX "events.out.tfevents."

/* Numbers of fields, from the definitions of Event, Summary, Summary.Value and SessionLog. */
enum {
    EVENT_WALL_TIME = 1,
    EVENT_STEP = 2,
    EVENT_FILE_VERSION = 3,
    EVENT_SUMMARY = 5,
    EVENT_SESSION_LOG = 7,
    SUMMARY_VALUE = 1,
    VALUE_TAG = 1,
    VALUE_SIMPLE = 2,
    SESSION_STATUS = 1,
    SESSION_START = 1
};
enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };
enum { RECORD_HEAD_BYTES = 12, TAG_BYTES = 64, MOST_FILES = 1000000 };

void stk__event_file_init(stk__event_file *events, const char *folder)
{
    *events = (stk__event_file){.folder = folder, .file = -1};
}

void stk__event_file_fini(stk__event_file *events)
{
    if (events->file >= 0) close(events->file);
    stk__buffer_fini(&events->record);
    events->file = -1;
}

/* --- bytes ---------------------------------------------------------------------------------------------
 */

static uint32_t crc32c(const uint8_t *data, size_t size_bytes)
{
    uint32_t crc = ~0u;
    for (size_t i = 0; i < size_bytes; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ (0x82f63b78u & (0u - (crc & 1u)));
    }
    return ~crc;
}

uint32_t stk__event_check(const uint8_t *data, size_t size_bytes)
{
    const uint32_t crc = crc32c(data, size_bytes);
    return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

static void store(uint8_t *to, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        to[i] = (uint8_t)(value >> (8 * i));
}

static stk_status put_fixed(stk__buffer *to, uint64_t value, int bytes, stk_error *error)
{
    uint8_t text[8];
    store(text, value, bytes);
    return stk__buffer_append(to, text, (size_t)bytes, error);
}

static stk_status put_varint(stk__buffer *to, uint64_t value, stk_error *error)
{
    uint8_t text[10];
    size_t size = 0;
    for (; value >= 0x80; value >>= 7)
        text[size++] = (uint8_t)(value | 0x80);
    text[size++] = (uint8_t)value;
    return stk__buffer_append(to, text, size, error);
}

static stk_status put_key(stk__buffer *to, int field, int wire, stk_error *error)
{
    return put_varint(to, (uint64_t)(field << 3 | wire), error);
}

static stk_status put_bytes(stk__buffer *to, int field, const void *data, size_t size, stk_error *error)
{
    STK__TRY(put_key(to, field, WIRE_BYTES, error));
    STK__TRY(put_varint(to, size, error));
    return stk__buffer_append(to, data, size, error);
}

/* --- records -------------------------------------------------------------------------------------------
 */

/* Everything that an event begins with; its length and check are filled in by finish. */
static stk_status start_event(stk__event_file *events, uint64_t step, stk_error *error)
{
    static const uint8_t head[RECORD_HEAD_BYTES];
    struct timespec now;
    uint64_t bits;
    clock_gettime(CLOCK_REALTIME, &now);
    const double wall_s = (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
    memcpy(&bits, &wall_s, sizeof bits);
    STK__TRY(stk__buffer_append(&events->record, head, sizeof head, error));
    STK__TRY(put_key(&events->record, EVENT_WALL_TIME, WIRE_64, error));
    STK__TRY(put_fixed(&events->record, bits, 8, error));
    STK__TRY(put_key(&events->record, EVENT_STEP, WIRE_VARINT, error));
    return put_varint(&events->record, step, error);
}

/* start: where in the buffer the event was begun. */
static stk_status finish_event(stk__event_file *events, size_t start, stk_error *error)
{
    uint8_t *head = events->record.data + start;
    const size_t size = events->record.size_bytes - start - RECORD_HEAD_BYTES;
    store(head, size, 8);
    store(head + 8, stk__event_check(head, 8), 4);
    return put_fixed(&events->record, stk__event_check(head + RECORD_HEAD_BYTES, size), 4, error);
}

/* Returns an errno. */
static stk_status flush(stk__event_file *events, stk_error *error)
{
    const int failed = stk__file_write_all(events->file, events->record.data, events->record.size_bytes);
    events->record.size_bytes = 0;
    return failed ? stk__durable_fail(error, failed, events->path) : STK_OK;
}

/* --- the file ------------------------------------------------------------------------------------------
 */

/* TensorBoard reads files in the order of their names: a new one comes last, whatever the clock says. */
static void look_for_last(const char *folder, long long *second, int *number)
{
    DIR *entries = opendir(folder);
    if (!entries) return;
    for (const struct dirent *entry; (entry = readdir(entries));) {
        long long its_second;
        int its_number;
        if (sscanf(entry->d_name, PREFIX "%lld.%d", &its_second, &its_number) != 2) continue;
        if (its_number > *number) *number = its_number;
        if (its_second > *second) *second = its_second;
    }
    closedir(entries);
}

static stk_status create(stk__event_file *events, stk_error *error)
{
    char name[64];
    long long second = (long long)time(NULL);
    int number = 0;
    look_for_last(events->folder, &second, &number);
    while (events->file < 0 && number++ < MOST_FILES) {
        snprintf(name, sizeof name, PREFIX "%010lld.%06d.stoker", second, number);
        STK__TRY(stk__durable_join(events->path, sizeof events->path, events->folder, name, error));
        events->file = open(events->path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
        if (events->file < 0 && errno != EEXIST) break;
    }
    return events->file < 0 ? stk__durable_fail(error, errno, events->path) : STK_OK;
}

/* What a file begins with: its version, and the step from which on it replaces what came before. */
static stk_status put_beginning(stk__event_file *events, stk_error *error)
{
    static const char version[] = "brain.Event:2";
    static const uint8_t session[] = {SESSION_STATUS << 3 | WIRE_VARINT, SESSION_START};
    events->record.size_bytes = 0;
    STK__TRY(start_event(events, 0, error));
    STK__TRY(put_bytes(&events->record, EVENT_FILE_VERSION, version, sizeof version - 1, error));
    STK__TRY(finish_event(events, 0, error));
    const size_t second = events->record.size_bytes;
    STK__TRY(start_event(events, events->step + 1, error));
    STK__TRY(put_bytes(&events->record, EVENT_SESSION_LOG, session, sizeof session, error));
    return finish_event(events, second, error);
}

/* --- scalars -------------------------------------------------------------------------------------------
 */

/* "val_loss" -> "val/loss", "lr" -> "run/lr", the rest is of training. */
static void name_tag(const char *key, char tag[TAG_BYTES])
{
    static const char *const of_the_run[] = {"lr", "grad_norm", "samples_per_s", "wait_share"};
    const char *group = "train";
    for (size_t i = 0; i < sizeof of_the_run / sizeof of_the_run[0]; i++)
        if (strcmp(key, of_the_run[i]) == 0) group = "run";
    if (strncmp(key, "val_", 4) == 0) {
        group = "val";
        key += 4;
    }
    snprintf(tag, TAG_BYTES, "%s/%s", group, key);
}

static stk_status put_value(stk__buffer *to, const char *key, double number, stk_error *error)
{
    char tag[TAG_BYTES];
    uint8_t value[TAG_BYTES + 16];
    const float simple = (float)number;
    uint32_t bits;
    name_tag(key, tag);
    const size_t length = strlen(tag); /* below 128: one byte tells it */
    memcpy(&bits, &simple, sizeof bits);
    value[0] = VALUE_TAG << 3 | WIRE_BYTES;
    value[1] = (uint8_t)length;
    memcpy(value + 2, tag, length);
    value[2 + length] = VALUE_SIMPLE << 3 | WIRE_32;
    store(value + 3 + length, bits, 4);
    return put_bytes(to, SUMMARY_VALUE, value, length + 7, error);
}

static stk_status put_summary(stk__buffer *summary, const json_t *line, stk_error *error)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)line, key, value)
    {
        if (!json_is_number(value) || strcmp(key, "step") == 0 || strcmp(key, "epoch") == 0) continue;
        STK__TRY(put_value(summary, key, json_number_value(value), error));
    }
    return STK_OK;
}

static stk_status put_scalars(stk__event_file *events, const json_t *line, stk_error *error)
{
    const size_t start = events->record.size_bytes;
    stk__buffer summary = {0};
    const json_int_t step = json_integer_value(json_object_get(line, "step"));
    stk_status status = put_summary(&summary, line, error);
    if (status == STK_OK) status = start_event(events, step > 0 ? (uint64_t)step : 0, error);
    if (status == STK_OK)
        status = put_bytes(&events->record, EVENT_SUMMARY, summary.data, summary.size_bytes, error);
    stk__buffer_fini(&summary);
    return status == STK_OK ? finish_event(events, start, error) : status;
}

stk_status stk__event_file_add(stk__event_file *events, const json_t *line, stk_error *error)
{
    events->record.size_bytes = 0;
    if (events->file < 0) {
        STK__TRY(create(events, error));
        STK__TRY(put_beginning(events, error));
    }
    STK__TRY(put_scalars(events, line, error));
    return flush(events, error);
}
