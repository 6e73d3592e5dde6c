/* Another library, in a Python process of its own (bench/peers): it gets ready and then runs a round whenever
 * it is asked, so that rounds of all contestants interleave. It dies with us. */
#ifndef STK_BENCH_PEER_H
#define STK_BENCH_PEER_H

#include "cli.h"

#include <sys/types.h>

/* The scripts of bench/peers, embedded. */
typedef struct stk__peer_text {
    const char *name, *text;
} stk__peer_text;

extern const stk__peer_text stk__peer_texts[]; /* ends with a name NULL */

stk_status stk__peer_write_texts(const char *folder, stk_error *error);

typedef struct stk__peer_options {
    const char *const *before; /* words before the interpreter, such as env and variables; NULL: none */
    const char *python;        /* the interpreter */
    const char *folder;        /* where the scripts were written */
    const char *module;        /* "peer_kornia" */
    const char *how;           /* as in serve.py */
    const char *data;          /* a file of pixels, or a folder */
    uint64_t count;
    int32_t h, w;
    int cpus;
} stk__peer_options;

/* All zero: not there. */
typedef struct stk__peer {
    bool present;    /* it said that it is ready and has not failed since */
    char words[200]; /* its versions; or why it is absent, one line */
    pid_t pid;       /* leads a process group, to which all belong that it starts */
    int link;        /* a socket: its standard input and output */
    int answer_s;    /* how long an answer may take; 0: two minutes */
} stk__peer;

enum { STK_PEER_ANSWER = 64 };

/* Starts it; several can load their libraries at once. What goes wrong makes it absent. */
void stk__peer_start(stk__peer *peer, const stk__peer_options *options);
void stk__peer_spawn(stk__peer *peer, char *const argv[]); /* any program that answers as serve.py does */
void stk__peer_await(stk__peer *peer);                     /* until it is ready or absent */
/* false: it is absent (from now on). An answer is `word` and what follows it. */
bool stk__peer_send(stk__peer *peer, const char *request);
bool stk__peer_answers(const stk__peer *peer, int wait_ms); /* or has ended, or Ctrl-C came */
bool stk__peer_receive(stk__peer *peer, const char *word, char answer[STK_PEER_ANSWER]);
/* Milliseconds of a round; false: it is absent (from now on). */
bool stk__peer_round(stk__peer *peer, const char *chain, double *ms);
void stk__peer_stop(stk__peer *peer); /* words stay */

#endif
