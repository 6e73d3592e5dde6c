/* SPDX-License-Identifier: Apache-2.0 */
/* GPU use per process from /proc/PID/fdinfo (the kernel's DRM client usage statistics): engine time and
 * memory of every client of a card; differences between two reads give percentages. Owned by one polling
 * thread. */
#include "monitor/drm/drm_process.h"

#include "core/number.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SCAN_NS (10 * STK_SECOND_NS)

/* What one fdinfo says. */
typedef struct info {
    char slot[24];
    uint64_t id;
    double memory_bytes;
    double busy[STK_DRM_ENGINES], clock[STK_DRM_ENGINES];
} info;

bool stk__drm_processes_complete(void)
{
    return geteuid() == 0 || stk__drm_root()[0];
}

static int find_engine(stk__drm_processes *c, const char *name, size_t length)
{
    for (int i = 0; i < c->engine_count; i++)
        if (strncmp(c->engines[i], name, length) == 0 && !c->engines[i][length]) return i;
    if (c->engine_count == STK_DRM_ENGINES || length >= sizeof c->engines[0]) return -1;
    snprintf(c->engines[c->engine_count], sizeof c->engines[0], "%.*s", (int)length, name);
    c->capacity[c->engine_count] = 1;
    return c->engine_count++;
}

static double bytes_of(const char *value)
{
    double number = 0;
    const size_t digits = strspn(value, "0123456789");
    stk__number_real(value, digits, &number);
    const char *unit = value + digits + strspn(value + digits, " ");
    return number * (strncmp(unit, "KiB", 3) == 0 ? 1024 : strncmp(unit, "MiB", 3) == 0 ? 1048576 : 1);
}

/* The rest of a key behind a prefix, or NULL. */
static const char *behind(const char *key, const char *prefix)
{
    const size_t length = strlen(prefix);
    return strncmp(key, prefix, length) == 0 ? key + length : NULL;
}

static void read_engine(stk__drm_processes *c, const char *key, size_t length, const char *value, info *out)
{
    const char *end = key + length, *name;
    double number = bytes_of(value);
    int engine;
    if ((name = behind(key, "drm-engine-capacity-"))) {
        engine = find_engine(c, name, (size_t)(end - name));
        if (engine >= 0 && number >= 1) c->capacity[engine] = number;
    } else if ((name = behind(key, "drm-engine-"))) {
        engine = find_engine(c, name, (size_t)(end - name));
        if (engine >= 0) out->busy[engine] = number;
    } else if ((name = behind(key, "drm-total-cycles-"))) {
        engine = find_engine(c, name, (size_t)(end - name));
        if (engine >= 0) out->clock[engine] = number;
        if (engine >= 0) c->cycles[engine] = true;
    } else if ((name = behind(key, "drm-cycles-"))) {
        engine = find_engine(c, name, (size_t)(end - name));
        if (engine >= 0) out->busy[engine] = number;
    }
}

static void read_pair(stk__drm_processes *c, const char *key, const char *value, info *out)
{
    const size_t length = (size_t)(strchr(key, ':') - key);
    if (behind(key, "drm-pdev:"))
        snprintf(out->slot, sizeof out->slot, "%.*s", (int)strcspn(value, "\n"), value);
    else if (behind(key, "drm-client-id:"))
        out->id = (uint64_t)bytes_of(value) + 1;
    else if (behind(key, "drm-resident-vram") || (out->memory_bytes < 0 && behind(key, "drm-memory-vram")))
        out->memory_bytes = bytes_of(value);
    else
        read_engine(c, key, length, value, out);
}

/* False: closed, or not a client of this card. */
static bool read_info(stk__drm_processes *c, const stk__drm_card *card, int32_t pid, int32_t file, info *out)
{
    char text[8192];
    *out = (info){.memory_bytes = -1};
    if (!stk__drm_text(text, sizeof text, "%s/proc/%d/fdinfo/%d", card->root, (int)pid, (int)file))
        return false;
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        const char *colon = strpbrk(line, ":\n");
        if (colon && *colon == ':') read_pair(c, line, colon + 1 + strspn(colon + 1, " \t"), out);
    }
    return out->id && strcmp(out->slot, card->slot) == 0;
}

static bool is_known(const stk__drm_processes *c, uint64_t id)
{
    for (int i = 0; i < c->count; i++)
        if (c->clients[i].id == id) return true;
    return false;
}

static void add_client(stk__drm_processes *c, const stk__drm_card *card, int32_t pid, int32_t file)
{
    info found;
    if (c->count == STK_DRM_CLIENTS || !read_info(c, card, pid, file, &found) || is_known(c, found.id))
        return;
    stk__drm_client *client = &c->clients[c->count++];
    *client = (stk__drm_client){.pid = pid, .file = file, .id = found.id};
    stk__drm_text(client->name, sizeof client->name, "%s/proc/%d/comm", card->root, (int)pid);
}

static void scan_process(stk__drm_processes *c, const stk__drm_card *card, int32_t pid)
{
    char path[600], target[64];
    snprintf(path, sizeof path, "%s/proc/%d/fd", card->root, (int)pid);
    DIR *folder = opendir(path);
    if (!folder) return; /* process of another user */
    for (const struct dirent *entry; (entry = readdir(folder));) {
        const ssize_t length = readlinkat(dirfd(folder), entry->d_name, target, sizeof target - 1);
        target[length > 0 ? length : 0] = '\0';
        if (strncmp(target, "/dev/dri/", 9) == 0)
            add_client(c, card, pid, (int32_t)strtol(entry->d_name, NULL, 10));
    }
    closedir(folder);
}

static void scan_all(stk__drm_processes *c, stk__poller_context *context, const stk__drm_card *card)
{
    char path[600];
    snprintf(path, sizeof path, "%s/proc", card->root);
    DIR *folder = opendir(path);
    if (!folder) return;
    for (const struct dirent *entry; (entry = readdir(folder));) {
        const int32_t pid = (int32_t)strtol(entry->d_name, NULL, 10);
        stk__poller_context_beat(context);
        if (pid > 0) scan_process(c, card, pid);
    }
    closedir(folder);
}

/* A process can have several clients: their memory and load are summed. */
static void tell_process(const stk__drm_client *client, double percent, uint64_t now_ns, stk_gpu_frame *frame)
{
    int i = 0;
    while (i < frame->process_count && frame->processes[i].pid != client->pid)
        i++;
    if (i == STK_GPU_PROCESSES) return;
    stk_gpu_process *process = &frame->processes[i];
    if (i == frame->process_count) {
        *process = (stk_gpu_process){.pid = client->pid};
        memcpy(process->name, client->name, sizeof process->name);
        frame->process_count++;
    }
    if (client->memory_bytes >= 0)
        process->memory_bytes =
            stk__reading_known(process->memory_bytes.value + client->memory_bytes, now_ns);
    if (percent >= 0) {
        const double sum = process->util_percent.value + percent;
        process->util_percent = stk__reading_known(sum > 100 ? 100 : sum, now_ns);
    }
}

/* Adds the client's engine time since the last read to busy[]; returns the load of its busiest engine in
 * percent, -1: unknown. */
static double add_client_load(stk__drm_processes *c, stk__drm_client *client, const info *now,
                              const double *span, double *busy)
{
    double most = client->begun ? 0 : -1;
    for (int e = 0; e < c->engine_count; e++) {
        const double worked = now->busy[e] - client->busy[e];
        if (client->begun && worked > 0 && span[e] > 0) {
            const double percent = 100 * worked / span[e] / c->capacity[e];
            busy[e] += percent;
            if (percent > most) most = percent;
        }
        client->busy[e] = now->busy[e];
    }
    client->begun = true;
    client->memory_bytes = now->memory_bytes;
    return most > 100 ? 100 : most;
}

/* Time available to each engine since the last read, in its own unit. */
static void find_spans(stk__drm_processes *c, const info *infos, uint64_t now_ns, double *span)
{
    for (int e = 0; e < c->engine_count; e++) {
        double clock = 0;
        for (int i = 0; i < c->count; i++)
            if (infos[i].clock[e] > clock) clock = infos[i].clock[e];
        span[e] = c->cycles[e] ? (c->clock[e] > 0 ? clock - c->clock[e] : 0)
                               : (c->when_ns ? (double)(now_ns - c->when_ns) : 0);
        c->clock[e] = clock;
    }
}

void stk__drm_processes_read(stk__drm_processes *c, stk__poller_context *context, const stk__drm_card *card,
                             stk_gpu_frame *frame)
{
    info infos[STK_DRM_CLIENTS];
    double span[STK_DRM_ENGINES] = {0}, busy[STK_DRM_ENGINES] = {0}, most = 0;
    const uint64_t now_ns = stk__clock_ns();
    if (!c->scanned_ns || now_ns > c->scanned_ns + SCAN_NS) {
        scan_all(c, context, card);
        c->scanned_ns = now_ns;
    }
    int kept = 0;
    for (int i = 0; i < c->count; i++) {
        stk__poller_context_beat(context);
        if (!read_info(c, card, c->clients[i].pid, c->clients[i].file, &infos[kept]) ||
            infos[kept].id != c->clients[i].id)
            continue;
        c->clients[kept++] = c->clients[i];
    }
    c->count = kept;
    find_spans(c, infos, now_ns, span);
    for (int i = 0; i < c->count; i++)
        tell_process(&c->clients[i], add_client_load(c, &c->clients[i], &infos[i], span, busy), now_ns,
                     frame);
    for (int e = 0; e < c->engine_count; e++)
        if (busy[e] > most) most = busy[e];
    c->load = (stk_reading){0};
    if (c->when_ns) c->load = stk__reading_known(most > 100 ? 100 : most, now_ns);
    c->when_ns = now_ns;
    frame->processes_known = frame->process_count || stk__drm_processes_complete();
}
