/* SPDX-License-Identifier: Apache-2.0 */
/* What the folder of a run says. Every part may be missing. */
#ifndef STK_REPORT_RUN_FACTS_H
#define STK_REPORT_RUN_FACTS_H

#include "core/memory.h"
#include "report/run_keys.h"

#include <jansson.h>

enum { STK_FACTS_GPUS = 8 };

/* A moment of a GPU; NAN: unknown. */
typedef struct stk__gpu_moment {
    double minute; /* since the first */
    double util_percent, power_w, memory_percent, temperature_c;
} stk__gpu_moment;

typedef struct stk__run_facts { /* read/fini */
    const char *folder;
    json_t *run;         /* run.json; NULL: none */
    json_t *lines;       /* of metrics.jsonl: objects with a step; never NULL */
    stk__buffer config;  /* text of config.yaml */
    json_t *answers;     /* predictions.json; NULL: none */
    stk__buffer picture; /* predictions.png */
    int64_t changed_s;   /* when metrics.jsonl or config.yaml last changed, since 1970; 0: unknown */
    int watched_count;   /* of GPUs in the recordings, */
    int gpu_count;       /* and of those that are kept: the first ones */
    char gpu_names[STK_FACTS_GPUS][80];
    stk__buffer gpus[STK_FACTS_GPUS]; /* stk__gpu_moment */
    char
        recording_fault[sizeof((stk_error *)0)->message]; /* what is wrong with a recording; empty: nothing */
} stk__run_facts;

/* STK_ERROR_DATA if it is not a run folder. */
stk_status stk__run_facts_read(stk__run_facts *facts, const char *folder, stk_error *error);
void stk__run_facts_fini(stk__run_facts *facts);

/* A number of run.json; NAN: none. */
double stk__run_facts_number(const stk__run_facts *facts, const char *key);
const char *stk__run_facts_text(const json_t *object, const char *key); /* NULL: none */
bool stk__run_facts_is(const stk__run_facts *facts, const char *key);   /* true, and not only there */
/* The value of a setting in effect; NULL: unknown. */
const json_t *stk__run_facts_setting(const stk__run_facts *facts, const char *name);

#endif
