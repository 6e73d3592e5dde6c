/* SPDX-License-Identifier: Apache-2.0 */
/* The process of a contestant: it gets ready and then answers one request at a time, a line each way, so that
 * turns of all contestants interleave. Other libraries run in Python (bench/peers/serve.py), ourselves as
 * `stoker bench load-worker` and `train-worker`. It dies with us. */
#ifndef STK_BENCH_WORKER_PROCESS_H
#define STK_BENCH_WORKER_PROCESS_H

#include "core/error.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* --- command line ------------------------------------------------------------------------------------------
 */

enum { STK_COMMAND_WORDS = 24, STK_COMMAND_BYTES = 20 << 10 };

/* Words, one after the other, each with its zero: all zero is an empty one, a copy is another one. */
typedef struct stk__command {
    int count; /* -1: they do not fit */
    size_t used;
    char words[STK_COMMAND_BYTES];
} stk__command;

void stk__command_add(stk__command *command, const char *format, ...) STK__PRINTF(2, 3); /* one word */

/* A module of bench/peers. */
typedef struct stk__peer {
    const char *python; /* the interpreter */
    const char *folder; /* where the scripts were written */
    const char *module; /* "peer_kornia" */
    const char *how;    /* as in serve.py */
    const char *data;   /* a file of pixels, or a folder */
    uint64_t count;
    int32_t h, w;
    int cpus;
} stk__peer;

void stk__command_add_peer(stk__command *command, const stk__peer *peer);

/* The scripts of bench/peers, embedded. */
typedef struct stk__peer_text {
    const char *name, *text;
} stk__peer_text;

extern const stk__peer_text stk__peer_texts[]; /* ends with a name NULL */

stk_status stk__peer_write_texts(const char *folder, stk_error *error);

/* --- process -----------------------------------------------------------------------------------------------
 */

enum { STK_WORKER_ANSWER = 64 };

typedef struct stk__worker_process {
    stk__command command;    /* how it is started */
    const atomic_bool *stop; /* Ctrl-C: nobody waits for it any more */
    int answer_s;            /* how long an answer may take; 0: two minutes */

    bool present;    /* it said that it is ready and has not failed since */
    char words[200]; /* its versions; or why it is absent, one line */
    pid_t pid;       /* leads a process group, to which all belong that it starts; 0: not running */
    int link;        /* a socket: its standard input and output */
} stk__worker_process;

/* Starts it; several can load their libraries at once. What goes wrong makes it absent. */
void stk__worker_process_start(stk__worker_process *process);
void stk__worker_process_await(stk__worker_process *process); /* until it is ready or absent */
/* false: it is absent (from now on). An answer is `word` and what follows it. */
bool stk__worker_process_send(stk__worker_process *process, const char *request);
bool stk__worker_process_receive(stk__worker_process *process, const char *word,
                                 char answer[STK_WORKER_ANSWER]);
bool stk__worker_process_answers(const stk__worker_process *process, int wait_ms); /* or ended, or Ctrl-C */
void stk__worker_process_stop(stk__worker_process *process);                       /* words stay */
void stk__worker_process_kill(const stk__worker_process *process); /* from another thread, after Ctrl-C */

/* Of it and all that it started. CPU time since they started, ended children included. */
double stk__worker_process_cpu_seconds(const stk__worker_process *process);
/* Memory that is theirs alone: anonymous and shared memory, each page once however many of them have it. Code
 * and files they have mapped are not in it: these belong to the page cache. 0: the kernel does not tell. */
uint64_t stk__worker_process_memory_bytes(const stk__worker_process *process);

#endif
