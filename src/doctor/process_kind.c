/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds of processes from what was read of each: names of threads, libraries, command lines, parents. Pure:
 * no file is read here. One thread. */
#include "doctor/process_kind.h"

#include "core/clock.h"

#include <string.h>

/* PyTorch's workers look after their trainer every 5 s. */
#define ORPHAN_NS  (6 * STK_SECOND_NS)
#define IDLE_SHARE 0.5
#define IMPORT_NS  (30 * STK_SECOND_NS)

typedef struct family {
    stk__process_record *records;
    int count;
    bool named; /* this PyTorch names its workers */
    uint64_t now_ns;
    int16_t parents[STK_PROCESS_RECORDS], owners[STK_PROCESS_RECORDS]; /* -1: not among them */
} family;

static bool is_named_worker(const stk__process_record *r)
{
    return strcmp(r->name, STK_WORKER_NAME) == 0;
}

/* Number of the process that had started r. A pid is given again: never one that is younger than r, and the
 * latest of the others. */
static int16_t find_parent(const family *f, const stk__process_record *r)
{
    int16_t found = -1;
    for (int i = 0; i < f->count; i++) {
        const stk__process_record *p = &f->records[i];
        if (p != r && p->pid == r->first_parent && p->start_ticks <= r->start_ticks &&
            (found < 0 || p->start_ticks >= f->records[found].start_ticks))
            found = (int16_t)i;
    }
    return found;
}

static stk__process_record *record_at(const family *f, int16_t number)
{
    return number < 0 ? NULL : &f->records[number];
}

static stk__process_record *parent_of(const family *f, const stk__process_record *r)
{
    return record_at(f, f->parents[r - f->records]);
}

/* Who wanted it to be started; a forkserver only does it for another. */
static stk__process_record *owner_of(const family *f, const stk__process_record *r)
{
    return record_at(f, f->owners[r - f->records]);
}

static void find_owners(family *f)
{
    for (int i = 0; i < f->count; i++)
        f->parents[i] = find_parent(f, &f->records[i]);
    for (int i = 0; i < f->count; i++) {
        const int16_t parent = f->parents[i];
        const bool served = parent >= 0 && f->records[parent].start == STK_START_FORKSERVER;
        f->owners[i] = served ? f->parents[parent] : parent;
    }
}

static bool is_server(const family *f, const stk__process_record *r)
{
    const stk__process_record *parent = parent_of(f, r);
    return r->start == STK_START_FORKSERVER && !(parent && parent->start == STK_START_FORKSERVER);
}

/* Python's multiprocessing made it out of its owner: the same program, no other command. */
static bool is_copy(const stk__process_record *r, const stk__process_record *owner)
{
    return r->start == STK_START_SPAWN || r->start == STK_START_FORKSERVER ||
           (r->command_hash && r->command_hash == owner->command_hash);
}

static bool has_torch(const stk__process_record *r)
{
    return r->hooked || r->torch == STK_YES || r->backward_thread || r->has_named_workers;
}

/* It has children that may be workers of its own. */
static bool has_copies(const family *f, const stk__process_record *r)
{
    for (int i = 0; i < f->count; i++)
        if (owner_of(f, &f->records[i]) == r && is_copy(&f->records[i], r)) return true;
    return false;
}

/* A child that Python has spawned imports PyTorch first, and is named then. */
static bool may_be_importing(const family *f, const stk__process_record *r)
{
    return r->start != STK_START_OTHER && f->now_ns - r->first_ns < IMPORT_NS;
}

static bool is_worker(const family *f, const stk__process_record *r, const stk__process_record *owner)
{
    if (r->hooked || r->start == STK_START_TRACKER || is_server(f, r)) return false;
    if (is_named_worker(r)) return !owner || !is_named_worker(owner); /* else a child of a worker */
    if (!owner || owner->kind == STK_PROCESS_WORKER || !has_torch(owner) || !is_copy(r, owner)) return false;
    if (r->backward_thread || has_copies(f, r) || r->looks < 2) return false; /* 1: it may call exec yet */
    return !f->named || may_be_importing(f, r);
}

/* Copies that load nothing are pools and such, unless something says that they train. */
static bool is_trainer(const family *f, const stk__process_record *r, const stk__process_record *owner)
{
    if (r->hooked || r->backward_thread || r->has_named_workers) return true;
    if (!has_torch(r) || is_named_worker(r) || r->start == STK_START_TRACKER || is_server(f, r)) return false;
    if (!owner || !has_torch(owner) || !is_copy(r, owner)) return true;
    return r->start == STK_START_SPAWN && !owner->has_named_workers && !owner->backward_thread;
}

static void judge(const family *f, stk__process_record *r)
{
    const stk__process_record *owner = owner_of(f, r);
    r->kind = STK_PROCESS_HELPER;
    r->trainer = 0;
    if (is_worker(f, r, owner)) {
        const bool lost = !owner || !owner->alive;
        if (!lost) r->lost_ns = 0;
        if (lost && !r->lost_ns) r->lost_ns = f->now_ns;
        if (owner) r->trainer = owner->pid;
        if (lost && f->now_ns - r->lost_ns >= ORPHAN_NS)
            r->kind = STK_PROCESS_ORPHAN;
        else if (owner)
            r->kind = STK_PROCESS_WORKER;
    } else if (is_trainer(f, r, owner)) {
        r->kind = STK_PROCESS_TRAINER;
    }
}

static bool has_workers(const family *f, const stk__process_record *r)
{
    for (int i = 0; i < f->count; i++)
        if (f->records[i].kind == STK_PROCESS_WORKER && f->records[i].trainer == r->pid) return true;
    return false;
}

/* torchrun has loaded PyTorch, as those that it starts have. */
static bool only_launches(const family *f, const stk__process_record *r)
{
    const bool trains = r->hooked || r->backward_thread || has_workers(f, r);
    return r->kind == STK_PROCESS_HELPER ||
           (r->kind == STK_PROCESS_TRAINER && !trains &&
            !(stk__counter_per_s(&r->counters[STK_COUNT_CPU]) >= IDLE_SHARE));
}

static void judge_ancestors(const family *f, const stk__process_record *trainer)
{
    stk__process_record *up = owner_of(f, trainer);
    for (int depth = 0; up && up != trainer && depth < f->count; depth++, up = owner_of(f, up))
        if (only_launches(f, up)) up->kind = STK_PROCESS_LAUNCHER;
}

void stk__process_kinds(stk__process_record *records, int count, uint64_t now_ns)
{
    family f = {.records = records, .count = count, .now_ns = now_ns};
    find_owners(&f);
    for (int i = 0; i < count; i++) {
        if (!is_named_worker(&records[i])) continue;
        stk__process_record *owner = owner_of(&f, &records[i]);
        if (!owner) continue;
        f.named = true;
        if (!is_named_worker(owner)) owner->has_named_workers = true;
    }
    for (int i = 0; i < count; i++)
        if (records[i].alive) judge(&f, &records[i]);
    for (int i = 0; i < count; i++)
        if (records[i].kind == STK_PROCESS_TRAINER) judge_ancestors(&f, &records[i]);
}
