/* SPDX-License-Identifier: Apache-2.0 */
/* Reads /proc/PID/cmdline, status, maps and task/TID/comm. PyTorch is recognized by its libraries, however it
 * was imported; its threads by the names that it gives them (torch.multiprocessing._set_thread_name), and the
 * thread of pinned memory also by the name that Python 3.14 gives to threads. Only what anybody may read of
 * his own processes; what is refused stays unknown. One thread. */
#include "doctor/process_facts.h"

#include "core/hash.h"
#include "core/utf8.h"
#include "monitor/host/host_proc.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { COMMAND_BYTES = 4096, MAPS_BYTES = 8 << 20, THREADS = 256 };

#define LIBRARY "/libtorch"

void stk__process_command(const char *line, size_t size, char command[STK_DOCTOR_TEXT])
{
    size_t length = 0;
    while (size && !line[size - 1])
        size--;
    const char *slash = memrchr(line, '/', strnlen(line, size));
    for (size_t at = slash ? (size_t)(slash - line) + 1 : 0; at < size && length + 1 < STK_DOCTOR_TEXT; at++)
        command[length++] = line[at] >= 0 && line[at] < ' ' ? ' ' : line[at];
    command[length] = '\0';
    for (size_t i = 0, step; command[i]; i += step) {
        step = stk__utf8_length(command + i);
        if (step) continue;
        command[i] = '?'; /* also a letter that was cut off at the end */
        step = 1;
    }
}

static stk__python_start start_of(const char *line, size_t size)
{
    static const struct {
        const char *text;
        stk__python_start start;
    } marks[] = {{"multiprocessing.resource_tracker", STK_START_TRACKER},
                 {"multiprocessing.forkserver", STK_START_FORKSERVER},
                 {"multiprocessing.spawn", STK_START_SPAWN}};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (memmem(line, size, marks[i].text, strlen(marks[i].text))) return marks[i].start;
    return STK_START_OTHER;
}

/* Empty for a thread of the kernel and for one that has ended: then it stays as it was. */
static void read_command(stk__process_record *record, const char *root, char *text)
{
    stk__host_file file = stk__host_file_open("%s/proc/%d/cmdline", root, (int)record->pid);
    const ssize_t size = file.file < 0 ? -1 : pread(file.file, text, COMMAND_BYTES, 0);
    stk__host_file_close(&file);
    if (size <= 0) return;
    stk__process_command(text, (size_t)size, record->command);
    const uint64_t hash = stk__digest_of(text, (size_t)size).low;
    if (hash != record->command_hash) record->torch = STK_UNSURE; /* another program: exec after fork */
    record->command_hash = hash;
    record->start = start_of(text, (size_t)size);
}

static void read_swap(stk__process_record *record, const char *root, char *text)
{
    stk__host_file file = stk__host_file_open("%s/proc/%d/status", root, (int)record->pid);
    const char *status = stk__host_text(&file, text);
    const char *at = status ? stk__host_line(status, "VmSwap:") : NULL;
    uint64_t kib;
    if (at && stk__host_number(&at, &kib)) record->swap_bytes = (double)kib * 1024;
    stk__host_file_close(&file);
}

/* Whether a library of PyTorch is mapped; in pieces, of which each begins with the end of the one before. */
static stk__tristate find_torch(const stk__process_record *record, const char *root, char *text)
{
    const size_t overlap = strlen(LIBRARY);
    stk__host_file file = stk__host_file_open("%s/proc/%d/maps", root, (int)record->pid);
    stk__tristate found = STK_UNSURE;
    size_t kept = 0;
    for (off_t at = 0; file.file >= 0 && at < MAPS_BYTES && found != STK_YES;) {
        const ssize_t got = pread(file.file, text + kept, STK_HOST_TEXT_BYTES - kept, at);
        if (got <= 0) break;
        found = memmem(text, kept + (size_t)got, LIBRARY, overlap) ? STK_YES : STK_NO;
        at += got;
        const size_t size = kept + (size_t)got;
        kept = size < overlap ? size : overlap;
        memmove(text, text + size - kept, kept);
    }
    stk__host_file_close(&file);
    return found;
}

static void see_thread(stk__process_record *record, const char *name)
{
    const bool pins = strncmp(name, "pt_data_pin", 11) == 0 || strstr(name, "(_pin_");
    if (pins) record->pin_thread = STK_YES;
    if (strncmp(name, "pt_autograd", 11) == 0) record->backward_thread = true;
}

static void read_threads(stk__process_record *record, const char *root, char *text)
{
    char path[STK_HOST_PATH_BYTES];
    snprintf(path, sizeof path, "%s/proc/%d/task", root, (int)record->pid);
    DIR *folder = opendir(path);
    if (!folder) return;
    const struct dirent *entry;
    for (int i = 0; i < THREADS && (entry = readdir(folder)); i++) {
        if (entry->d_name[0] == '.') continue;
        stk__host_file file = stk__host_file_open("%s/%s/comm", path, entry->d_name);
        const char *name = stk__host_text(&file, text);
        stk__host_file_close(&file);
        if (name) see_thread(record, name);
    }
    closedir(folder);
    /* It lives while an epoch is loaded, as the workers do. */
    if (record->pin_thread == STK_UNSURE && record->has_named_workers) record->pin_thread = STK_NO;
}

void stk__process_facts_read(stk__process_record *record, const char *root, char *text, uint64_t now_ns)
{
    const bool worker = strcmp(record->name, STK_WORKER_NAME) == 0;
    record->facts_ns = now_ns;
    read_command(record, root, text);
    read_swap(record, root, text);
    if (worker) record->torch = STK_YES;
    if (record->torch != STK_YES) record->torch = find_torch(record, root, text);
    if (!worker && record->torch != STK_NO) read_threads(record, root, text);
}
