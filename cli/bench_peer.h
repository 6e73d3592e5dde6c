/* Another library's augmentation, in a Python process of its own (tools/peers): it reads the batch once and
 * then runs a round whenever it is asked, so that rounds of all contestants interleave. It dies with us. */
#ifndef STK_CLI_BENCH_PEER_H
#define STK_CLI_BENCH_PEER_H

#include "cli.h"

#include <sys/types.h>

/* The scripts of tools/peers, embedded. */
typedef struct stk__peer_text {
    const char *name, *text;
} stk__peer_text;

extern const stk__peer_text stk__peer_texts[]; /* ends with a name NULL */

stk_status stk__peer_write_texts(const char *folder, stk_error *error);

typedef struct stk__peer_options {
    const char *python; /* the interpreter */
    const char *folder; /* where the scripts were written */
    const char *module; /* "peer_kornia" */
    const char *how;    /* as in serve.py */
    const char *data;   /* a file of pixels, or a folder */
    uint64_t count;
    int32_t h, w;
    int cpus;
} stk__peer_options;

/* All zero: not there. */
typedef struct stk__peer {
    bool present;    /* it said that it is ready and has not failed since */
    char words[200]; /* its versions; or why it is absent, one line */
    pid_t pid;
    int link; /* a socket: its standard input and output */
} stk__peer;

/* Starts it; several can load their libraries at once. What goes wrong makes it absent. */
void stk__peer_start(stk__peer *peer, const stk__peer_options *options);
void stk__peer_await(stk__peer *peer); /* until it is ready or absent */
/* Milliseconds of a round; false: it is absent (from now on). */
bool stk__peer_round(stk__peer *peer, const char *chain, double *ms);
void stk__peer_stop(stk__peer *peer); /* words stay */

#endif
