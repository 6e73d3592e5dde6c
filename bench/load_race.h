/* The race of `stoker bench load`: everybody loads the same files, in turns, case after case. */
#ifndef STK_BENCH_RACE_H
#define STK_BENCH_RACE_H

#include "bench_data.h"
#include "bench_reference.h"
#include "contestant.h"

#include "source/source.h"

enum { STK_RACE_RIVALS = 24 };

typedef struct stk__race {
    const char *python;        /* of the peers; NULL: we run alone */
    const char *data;          /* a folder of images/ and masks/ … */
    const stk__source *source; /* … of it */
    bool quick;
    int64_t rounds;
    uint64_t until_ns; /* a quick race ends about then; 0: takes its time */
    int cpus;
    stk__bench *bench;

    stk__bench_data scratch; /* scripts, the reference, and what peers convert */
    stk__reference reference;
    stk__rival rivals[STK_RACE_RIVALS]; /* of the case that runs: what one has left in memory must not count
                                           in the next */
    int count;
    stk__progress progress;
    uint64_t turns_done, turns; /* of everybody in this case */
} stk__race;

/* bench_entries.c: starts everybody who takes part in a case. */
stk_status stk__race_enter(stk__race *race, stk__race_case which, stk_error *error);
uint64_t stk__race_progressive_count(const stk__race *race); /* bench_entries.c: samples of that case */
stk_status stk__race_run(stk__race *race, stk_error *error); /* rows and ratios go to race->bench */
void stk__race_abandon(const stk__race *race);               /* for Ctrl-C: ends processes, removes files */
void stk__race_close(stk__race *race);

#endif
