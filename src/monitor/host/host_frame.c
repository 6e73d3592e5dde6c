/* SPDX-License-Identifier: Apache-2.0 */
/* The host's part of a frame from /proc and /sys: CPU, memory, disks, pressure stall information and the
 * job's control groups. One thread. */
#include "monitor/host/host_frame.h"

#include "core/cgroup.h"
#include "core/clock.h"
#include "monitor/gpu_reader.h"
#include "monitor/host/host_proc.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define WALK_GAP_NS (10 * STK_SECOND_NS) /* of the job's processes */
enum { SECTOR_BYTES = 512, PRESSURES = 3 };

/* Whether a name of diskstats is a disk; looked up once. */
typedef struct disk {
    char name[32];
    bool whole;
} disk;

struct stk__host {
    char root[STK_HOST_PATH_BYTES];
    stk__host_file memory, disks, pressures[PRESSURES];
    stk__host_file groups[STK_HOST_GROUPS]; /* cpu.stat of our cgroup and its parents */
    int group_count;
    disk disk_list[STK_HOST_DISKS];
    int disk_count;
    uint64_t waited_us[PRESSURES], waited_ns; /* totals at the last read, and when that was */
    stk__host_cpus cpus;
    stk__host_job job;
    char text[STK_HOST_TEXT_BYTES];
};

static void open_group(void *context, const char *folder, bool unified)
{
    stk__host *h = context;
    (void)unified;
    if (h->group_count == STK_HOST_GROUPS) return;
    const stk__host_file file = stk__host_file_open("%s/cpu.stat", folder);
    if (file.file >= 0) h->groups[h->group_count++] = file;
}

stk_status stk__host_open(stk__host **host, int32_t pid, const char *root, stk_error *error)
{
    static const char *const names[PRESSURES] = {"cpu", "io", "memory"};
    stk__host *h = *host = stk__alloc(sizeof *h);
    if (!h) return stk__fail_memory(error, sizeof *h, "the host's readings");
    snprintf(h->root, sizeof h->root, "%s", root ? root : "");
    h->job.tree.root = h->root;
    h->job.tree.pid = pid;
    h->job.tree.walk_gap_ns = WALK_GAP_NS;
    h->cpus.all = h->root[0];
    h->cpus.stat = stk__host_file_open("%s/proc/stat", h->root);
    h->memory = stk__host_file_open("%s/proc/meminfo", h->root);
    h->disks = stk__host_file_open("%s/proc/diskstats", h->root);
    for (int i = 0; i < PRESSURES; i++)
        h->pressures[i] = stk__host_file_open("%s/proc/pressure/%s", h->root, names[i]);
    stk__cgroup_climb(h->root, pid, "cpu", open_group, h);
    return STK_OK;
}

void stk__host_close(stk__host **host)
{
    stk__host *h = *host;
    if (!h) return;
    stk__host_file_close(&h->cpus.stat);
    stk__host_file_close(&h->memory);
    stk__host_file_close(&h->disks);
    for (int i = 0; i < PRESSURES; i++)
        stk__host_file_close(&h->pressures[i]);
    for (int i = 0; i < h->group_count; i++)
        stk__host_file_close(&h->groups[i]);
    stk__free(h);
    *host = NULL;
}

static void read_memory(stk__host *h, uint64_t now_ns, stk_host_frame *frame)
{
    const char *text = stk__host_text(&h->memory, h->text);
    uint64_t total, available;
    const char *at = text ? stk__host_line(text, "MemTotal:") : NULL;
    if (!at || !stk__host_number(&at, &total)) return;
    frame->memory_total_bytes = stk__reading_known((double)total * 1024, now_ns);
    at = stk__host_line(text, "MemAvailable:");
    if (at && stk__host_number(&at, &available) && available <= total)
        frame->memory_used_bytes = stk__reading_known((double)(total - available) * 1024, now_ns);
}

/* Neither partitions nor devices built on disks or memory (dm, md, zram): bytes count once. */
static bool is_disk(stk__host *h, const char *name, size_t length)
{
    char path[STK_HOST_PATH_BYTES + 64];
    for (int i = 0; i < h->disk_count; i++)
        if (strncmp(h->disk_list[i].name, name, length) == 0 && !h->disk_list[i].name[length])
            return h->disk_list[i].whole;
    if (h->disk_count == STK_HOST_DISKS || length >= sizeof h->disk_list[0].name) return false;
    disk *d = &h->disk_list[h->disk_count++];
    snprintf(d->name, sizeof d->name, "%.*s", (int)length, name);
    snprintf(path, sizeof path, "%s/sys/block/%s/device", h->root, d->name); /* only of real ones */
    d->whole = access(path, F_OK) == 0;
    return d->whole;
}

static void read_disks(stk__host *h, uint64_t now_ns, stk_host_frame *frame)
{
    const char *at = stk__host_text(&h->disks, h->text);
    uint64_t read_sectors = 0, written_sectors = 0;
    bool found = false;
    if (!at) return;
    for (; *at; at += *at == '\n') {
        uint64_t numbers[7], major, minor;
        int count = 0;
        const bool good = stk__host_number(&at, &major) && stk__host_number(&at, &minor);
        at += strspn(at, " ");
        const char *name = at;
        const size_t length = strcspn(name, " \n");
        at += length;
        while (count < 7 && stk__host_number(&at, &numbers[count]))
            count++;
        if (good && count == 7 && is_disk(h, name, length)) {
            found = true;
            read_sectors += numbers[2];
            written_sectors += numbers[6];
        }
        at += strcspn(at, "\n");
    }
    if (!found) return; /* a sandbox may hide all disks: unknown, not 0 */
    frame->disk_read_bytes_total = stk__reading_known((double)read_sectors * SECTOR_BYTES, now_ns);
    frame->disk_written_bytes_total = stk__reading_known((double)written_sectors * SECTOR_BYTES, now_ns);
}

static void read_pressures(stk__host *h, uint64_t now_ns, stk_host_frame *frame)
{
    stk_reading *readings[PRESSURES] = {&frame->cpu_pressure_percent, &frame->io_pressure_percent,
                                        &frame->memory_pressure_percent};
    for (int i = 0; i < PRESSURES; i++) {
        const char *text = stk__host_text(&h->pressures[i], h->text);
        uint64_t waited_us;
        readings[i]->known = text ? STK_UNKNOWN : STK_UNSUPPORTED;
        if (!text || !stk__host_pressure_us(text, &waited_us)) continue;
        if (h->waited_ns && now_ns > h->waited_ns && waited_us >= h->waited_us[i]) {
            const double share =
                (double)(waited_us - h->waited_us[i]) * 1e3 / (double)(now_ns - h->waited_ns);
            *readings[i] = stk__reading_known(share > 1 ? 100 : 100 * share, now_ns);
        }
        h->waited_us[i] = waited_us;
    }
    h->waited_ns = now_ns;
}

/* Each cgroup counts the time throttled by its own quota: the maximum applies. */
static void read_groups(stk__host *h, uint64_t now_ns, stk_host_frame *frame)
{
    double longest_s = -1;
    for (int i = 0; i < h->group_count; i++) {
        const char *text = stk__host_text(&h->groups[i], h->text);
        const char *microseconds = text ? stk__host_line(text, "throttled_usec ") : NULL; /* version 2 */
        const char *at = text && !microseconds ? stk__host_line(text, "throttled_time ") : microseconds;
        uint64_t throttled;
        if (!at || !stk__host_number(&at, &throttled)) continue;
        const double seconds = (double)throttled * (microseconds ? 1e-6 : 1e-9);
        if (seconds > longest_s) longest_s = seconds;
    }
    if (longest_s >= 0)
        frame->quota_throttled_s = stk__reading_known(longest_s, now_ns);
    else
        frame->quota_throttled_s.known = STK_UNSUPPORTED;
}

void stk__host_read(stk__host *h, stk_host_frame *frame)
{
    const uint64_t now_ns = stk__clock_ns();
    *frame = (stk_host_frame){0};
    stk__host_read_cpus(&h->cpus, h->text, now_ns, frame);
    stk__host_read_job(&h->job, h->text, now_ns, frame);
    read_memory(h, now_ns, frame);
    read_disks(h, now_ns, frame);
    read_pressures(h, now_ns, frame);
    read_groups(h, now_ns, frame);
}
