/* A contestant of `stoker bench load`: files to uint8 batches of 32, in a process of its own. What it is
 * asked for is in bench/peers/load_turns.py; our own processes (bench_turns.c) answer alike. */
#ifndef STK_BENCH_RIVAL_H
#define STK_BENCH_RIVAL_H

#include "measurements.h"
#include "worker_process.h"

/* Which ratios it counts for. */
typedef enum stk__rival_kind {
    STK_RIVAL_OURS,
    STK_RIVAL_COARSE, /* ours, JPEGs decoded as coarsely as FFCV and TurboLoader do (data.jpeg=fast) */
    STK_RIVAL_PACKED, /* ours, on shards that `stoker pack` made; the last of ours */
    STK_RIVAL_DATALOADER,
    STK_RIVAL_OTHER,
    STK_RIVAL_CONVERTED /* reads a file of its own, masks raw */
} stk__rival_kind;

/* Rows of a contestant in a case, side by side in the table. */
typedef enum stk__rival_metric {
    STK_METRIC_RATE,
    STK_METRIC_CPU,
    STK_METRIC_MEMORY,
    STK_METRIC_FIRST,
    STK_METRICS
} stk__rival_metric;

typedef struct stk__rival {
    const char *contestant;
    char setting[40];
    stk__rival_kind kind;
    stk__peer peer;
    stk__bench_row *rows; /* [STK_METRICS] */
} stk__rival;

typedef enum stk__race_case { STK_RACE_JPEG, STK_RACE_PAIRS, STK_RACE_PROGRESSIVE } stk__race_case;

/* A case as processes know it. */
typedef struct stk__rival_case {
    stk__race_case which;
    const char *word;  /* "jpeg", "pairs" */
    const char *title; /* "JPEG to uint8 batches" */
    uint64_t samples;
    int64_t rounds, firsts;
} stk__rival_case;

void stk__rival_enter(stk__rival *rival, stk__bench *bench, const stk__rival_case *race);

/* Each asks for one thing. A rival that fails has no numbers, and its rows say why. */
void stk__rival_check(stk__rival *rival, const stk__rival_case *race); /* every sample once, right pixels */
void stk__rival_weigh(stk__rival *rival, const stk__rival_case *race); /* memory, during an epoch */
void stk__rival_run(stk__rival *rival, const stk__rival_case *race);   /* rate and CPU time of an epoch */
void stk__rival_first(stk__rival *rival, const stk__rival_case *race); /* time to first batch */
void stk__rival_end(stk__rival *rival, const stk__rival_case *race);
/* Without further turns in this case: what it has counts, if that is a rate; else it is absent for this
 * reason. */
void stk__rival_dismiss(stk__rival *rival, const char *why);

#endif
