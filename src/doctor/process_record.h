/* SPDX-License-Identifier: Apache-2.0 */
/* What one process has done while it was watched from outside. */
#ifndef STK_DOCTOR_PROCESS_RECORD_H
#define STK_DOCTOR_PROCESS_RECORD_H

#include "doctor/counter.h"
#include "doctor/evidence.h"
#include "monitor/host/process_tree.h"

typedef enum stk__process_counter {
    STK_COUNT_CPU,       /* seconds of all threads */
    STK_COUNT_MAIN_CPU,  /* seconds of the main thread */
    STK_COUNT_RUN_DELAY, /* seconds in which the main thread was runnable without a CPU */
    STK_COUNT_DISK,      /* bytes read from storage */
    STK_COUNT_READ,      /* bytes of all reads, also from the page cache */
    STK_COUNT_FAULTS,    /* page faults that read from a disk */
    STK_PROCESS_COUNTERS
} stk__process_counter;

/* How Python's multiprocessing started it, by its command line. */
typedef enum stk__python_start {
    STK_START_OTHER, /* fork, or no Python */
    STK_START_SPAWN,
    STK_START_FORKSERVER, /* the server and what it has forked */
    STK_START_TRACKER     /* of resources: computes nothing */
} stk__python_start;

typedef struct stk__process_record {
    int32_t pid, parent, first_parent;
    uint64_t start_ticks;
    uint64_t first_ns, last_ns; /* looks in which it lived; the start, if it began meanwhile */
    uint64_t lost_ns;           /* since when its trainer is gone; 0: it is not */
    bool alive, began;          /* began: while it was watched */
    char name[16], command[STK_DOCTOR_TEXT];
    uint64_t looks, disk_looks; /* disk_looks: in state D */
    stk__counter counters[STK_PROCESS_COUNTERS];
    int64_t threads;
    double rss_bytes, swap_bytes; /* the latest */

    uint64_t facts_ns; /* when what follows was read (process_facts.h); 0: not yet */
    uint64_t command_hash;
    stk__python_start start;
    stk__tristate torch, pin_thread;
    bool backward_thread; /* PyTorch's, of a device: it trains */

    bool hooked;            /* the hook said that it trains */
    stk__process_kind kind; /* process_kind.h */
    bool has_named_workers; /* of its children one is named as PyTorch names loader workers */
    int32_t trainer;        /* of a worker; 0 */
} stk__process_record;

enum { STK_PROCESS_RECORDS = STK_TREE_PROCESSES };

/* The name that PyTorch gives to a loader worker; releases before the middle of 2024 give none. */
#define STK_WORKER_NAME "pt_data_worker"

/* begin_ns: when it was started, if that was while it was watched; 0: it was there before. */
void stk__process_record_begin(stk__process_record *record, int32_t pid, const stk__process_stat *stat,
                               uint64_t begin_ns, uint64_t now_ns);

/* Reads its counters. text: STK_HOST_TEXT_BYTES of room. */
void stk__process_record_look(stk__process_record *record, const char *root, const stk__process_stat *stat,
                              char *text, uint64_t now_ns);

stk__process_evidence stk__process_record_evidence(const stk__process_record *record);

#endif
