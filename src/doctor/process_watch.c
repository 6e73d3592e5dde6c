/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps a record of each process of a command and looks at them in turns. The tree (monitor/host) says who is
 * there, records count, kinds are judged after each look; records of processes that have ended stay while
 * there is room. One thread. */
#include "doctor/process_watch.h"

#include "core/clock.h"
#include "core/memory.h"
#include "doctor/machine_watch.h"
#include "doctor/process_facts.h"
#include "doctor/process_kind.h"
#include "doctor/storage_kind.h"
#include "monitor/host/host_proc.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WALK_GAP_NS      (2 * STK_SECOND_NS)
#define FACTS_GAP_NS     (2 * STK_SECOND_NS)
#define LOOK_NS          (STK_SECOND_NS / 100) /* counters of the processes that are left come first next time */
#define LEAST_READ_BYTES (1 << 20)             /* for a share of the page cache */
enum { FACTS_AT_ONCE = 16, HOOKED = 64 };

struct stk__process_watch {
    char root[STK_HOST_PATH_BYTES];
    stk__process_tree tree;
    uint64_t first_ns, last_ns; /* of the first and the latest look */
    int64_t boot_ns;            /* the monotonic clock at boot */
    stk__machine_watch *machine;
    stk__process_record records[STK_PROCESS_RECORDS];
    int count, turn; /* turn: whose counters are read first */
    int32_t hooked[HOOKED];
    int hooked_count;
    int64_t workers_evicted, workers_at_once; /* evicted: began, ended, and gave up their records */
    int storage_turn;
    stk__storage_tally storage;
    char text[STK_HOST_TEXT_BYTES];
};

/* Start times of processes count from boot, also the time in which the machine slept. */
static int64_t find_boot_ns(const char *root)
{
    struct timespec boot;
    if (*root) return 0; /* in a test its clock is theirs */
    clock_gettime(CLOCK_BOOTTIME, &boot);
    return (int64_t)stk__clock_ns() - (int64_t)boot.tv_sec * (int64_t)STK_SECOND_NS - boot.tv_nsec;
}

stk_status stk__process_watch_open(stk__process_watch **watch, const char *root, int32_t pid,
                                   stk_error *error)
{
    *watch = NULL;
    const stk__host_file file = stk__host_file_open("%s/proc/%d/stat", root ? root : "", (int)pid);
    if (file.file < 0) {
        stk__fail(error, STK_ERROR_ARGUMENT, "there is no process %d to watch", (int)pid);
        stk__error_hint(error, "find the pid of the training process with `pgrep -af python`");
        return STK_ERROR_ARGUMENT;
    }
    close(file.file);
    stk__process_watch *w = *watch = stk__alloc(sizeof *w);
    if (!w) return stk__fail_memory(error, sizeof *w, "the watch of processes");
    snprintf(w->root, sizeof w->root, "%s", root ? root : "");
    w->tree.root = w->root;
    w->tree.pid = pid;
    w->tree.stray = STK_WORKER_NAME;
    w->tree.walk_gap_ns = WALK_GAP_NS;
    w->boot_ns = find_boot_ns(w->root);
    const stk_status status = stk__machine_watch_open(&w->machine, w->root, error);
    if (status != STK_OK) stk__process_watch_close(watch);
    return status;
}

void stk__process_watch_close(stk__process_watch **watch)
{
    if (!*watch) return;
    stk__machine_watch_close(&(*watch)->machine);
    stk__free(*watch);
    *watch = NULL;
}

void stk__process_watch_add_trainer(stk__process_watch *w, int32_t pid)
{
    for (int i = 0; i < w->hooked_count; i++)
        if (w->hooked[i] == pid) return;
    if (w->hooked_count < HOOKED) w->hooked[w->hooked_count++] = pid;
}

static bool is_started_worker(const stk__process_record *record)
{
    return record->began && record->trainer &&
           (record->kind == STK_PROCESS_WORKER || record->kind == STK_PROCESS_ORPHAN);
}

/* Room for one more: a new record, or that of the process that ended first; NULL: all live. */
static stk__process_record *find_room(stk__process_watch *w)
{
    stk__process_record *oldest = NULL;
    if (w->count < STK_PROCESS_RECORDS) return &w->records[w->count++];
    for (int i = 0; i < w->count; i++) {
        stk__process_record *record = &w->records[i];
        if (!record->alive && (!oldest || record->last_ns < oldest->last_ns)) oldest = record;
    }
    if (oldest) w->workers_evicted += is_started_worker(oldest);
    return oldest;
}

static stk__process_record *find_record(stk__process_watch *w, const stk__tree_process *process)
{
    for (int i = 0; i < w->count; i++)
        if (w->records[i].pid == process->pid && w->records[i].start_ticks == process->stat.start_ticks)
            return &w->records[i];
    return NULL;
}

static void begin_record(stk__process_watch *w, const stk__tree_process *process, uint64_t now_ns)
{
    stk__process_record *record = find_room(w);
    if (!record) return;
    const double start_s = (double)process->stat.start_ticks / (double)sysconf(_SC_CLK_TCK);
    const int64_t start_ns = (int64_t)(start_s * 1e9) + w->boot_ns;
    const bool began = start_ns > (int64_t)w->first_ns && start_ns < (int64_t)now_ns;
    stk__process_record_begin(record, process->pid, &process->stat, began ? (uint64_t)start_ns : 0, now_ns);
}

/* A zombie has ended: what it did is in the look before. */
static bool is_living(const stk__tree_process *process)
{
    return process->stat.state != 'Z' && process->stat.state != 'X';
}

static void look_at_tree(stk__process_watch *w, uint64_t now_ns)
{
    stk__process_tree_look(&w->tree, w->text, now_ns);
    for (int i = 0; i < w->count; i++)
        w->records[i].alive = false;
    for (int i = 0; i < w->tree.count; i++) {
        stk__process_record *record = find_record(w, &w->tree.members[i]);
        if (record) record->alive = is_living(&w->tree.members[i]);
    }
    for (int i = 0; i < w->tree.count; i++) { /* only now it is known whose records may be given up */
        const stk__tree_process *process = &w->tree.members[i];
        if (is_living(process) && !find_record(w, process)) begin_record(w, process, now_ns);
    }
}

static bool is_hooked(const stk__process_watch *w, int32_t pid)
{
    for (int i = 0; i < w->hooked_count; i++)
        if (w->hooked[i] == pid) return true;
    return false;
}

/* Counters of all, from the one that was left out last time on. */
static void look_at_counters(stk__process_watch *w, uint64_t now_ns)
{
    const uint64_t begin_ns = stk__clock_ns();
    const int first = w->turn;
    for (int i = 0; i < w->tree.count; i++) {
        const stk__tree_process *process = &w->tree.members[(first + i) % w->tree.count];
        stk__process_record *record = find_record(w, process);
        w->turn = (first + i + 1) % w->tree.count;
        if (!record || !record->alive) continue;
        record->hooked = is_hooked(w, record->pid);
        stk__process_record_look(record, w->root, &process->stat, w->text, now_ns);
        if (stk__clock_ns() - begin_ns > LOOK_NS) return;
    }
}

/* Those first whose facts are the oldest. */
static void look_at_facts(stk__process_watch *w, uint64_t now_ns)
{
    const uint64_t begin_ns = stk__clock_ns();
    for (int n = 0; n < FACTS_AT_ONCE && stk__clock_ns() - begin_ns <= LOOK_NS; n++) {
        stk__process_record *oldest = NULL;
        for (int i = 0; i < w->count; i++) {
            stk__process_record *record = &w->records[i];
            if (record->alive && (!oldest || record->facts_ns < oldest->facts_ns)) oldest = record;
        }
        if (!oldest || (oldest->facts_ns && now_ns < oldest->facts_ns + FACTS_GAP_NS)) return;
        stk__process_facts_read(oldest, w->root, w->text, now_ns);
    }
}

static const stk__process_record *find_kind(const stk__process_watch *w, stk__process_kind kind, int turn)
{
    const stk__process_record *found = NULL;
    for (int i = 0; i < w->count && turn >= 0; i++) {
        const stk__process_record *record = &w->records[i];
        if (!record->alive || record->kind != kind) continue;
        found = record;
        turn--;
    }
    return found;
}

static int count_kind(const stk__process_watch *w, stk__process_kind kind)
{
    int count = 0;
    for (int i = 0; i < w->count; i++)
        count += w->records[i].alive && w->records[i].kind == kind;
    return count;
}

/* One process per look; without workers the trainer reads the data itself. */
static void look_at_storage(stk__process_watch *w)
{
    const int workers = count_kind(w, STK_PROCESS_WORKER);
    const stk__process_kind kind = workers ? STK_PROCESS_WORKER : STK_PROCESS_TRAINER;
    const int count = workers ? workers : count_kind(w, kind);
    if (workers > w->workers_at_once) w->workers_at_once = workers;
    if (!count) return;
    w->storage_turn = (w->storage_turn + 1) % count;
    stk__storage_look(&w->storage, w->root, find_kind(w, kind, w->storage_turn)->pid, w->text);
}

static bool is_first_alive(const stk__process_watch *w)
{
    return w->count && w->records[0].pid == w->tree.pid && w->records[0].alive;
}

bool stk__process_watch_look(stk__process_watch *w, uint64_t now_ns)
{
    if (!w->first_ns) w->first_ns = now_ns;
    w->last_ns = now_ns;
    look_at_tree(w, now_ns);
    look_at_counters(w, now_ns);
    look_at_facts(w, now_ns);
    stk__process_kinds(w->records, w->count, now_ns);
    look_at_storage(w);
    const stk__process_record *trainer = find_kind(w, STK_PROCESS_TRAINER, 0);
    const bool alive = is_first_alive(w);
    stk__machine_watch_look(w->machine, trainer ? trainer->pid : alive ? w->tree.pid : 0, w->text, now_ns);
    return alive;
}

/* Of what workers (without any, trainers) read by calls, the share that no disk had to read. Network file
 * systems do not count as disks. */
static double page_cache_share(const stk__process_watch *w)
{
    const stk__process_kind kind = w->workers_at_once ? STK_PROCESS_WORKER : STK_PROCESS_TRAINER;
    double read = 0, disk = 0;
    for (int i = 0; i < w->count; i++) {
        const stk__counter *counters = w->records[i].counters;
        if (w->records[i].kind != kind) continue;
        read += counters[STK_COUNT_READ].last - counters[STK_COUNT_READ].first;
        disk += counters[STK_COUNT_DISK].last - counters[STK_COUNT_DISK].first;
    }
    return read < LEAST_READ_BYTES ? NAN : disk < read ? 1 - disk / read : 0;
}

/* Named as a worker, but of another command, and not (yet) known to have been left behind. */
static bool is_foreign(const stk__process_watch *w, const stk__process_record *record)
{
    return record->first_parent <= 1 && w->tree.pid != 1 && record->kind != STK_PROCESS_ORPHAN &&
           strcmp(record->name, STK_WORKER_NAME) == 0;
}

stk_status stk__process_watch_report(const stk__process_watch *w, stk__evidence *evidence, stk_error *error)
{
    stk__machine_evidence *machine = &evidence->machine;
    stk__free(evidence->processes);
    evidence->process_count = 0;
    evidence->processes = stk__alloc((size_t)w->count * sizeof *evidence->processes);
    if (!evidence->processes && w->count)
        return stk__fail_memory(error, (size_t)w->count * sizeof *evidence->processes, "processes");
    evidence->watched_s = (double)(w->last_ns - w->first_ns) * 1e-9;
    machine->workers_started = w->workers_evicted;
    machine->workers_at_once = w->workers_at_once;
    for (int i = 0; i < w->count; i++) {
        machine->workers_started += is_started_worker(&w->records[i]);
        if (is_foreign(w, &w->records[i])) continue;
        evidence->processes[evidence->process_count++] = stk__process_record_evidence(&w->records[i]);
    }
    stk__machine_watch_report(w->machine, machine);
    machine->page_cache_share = page_cache_share(w);
    snprintf(machine->storage, sizeof machine->storage, "%s", stk__storage_most(&w->storage));
    return STK_OK;
}
