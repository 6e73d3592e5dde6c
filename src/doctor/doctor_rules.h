/* SPDX-License-Identifier: Apache-2.0 */
/* What is wrong with a training command: rules over its evidence, one table. A rule whose evidence is missing
 * says so; it never fires on a guess. */
#ifndef STK_DOCTOR_DOCTOR_RULES_H
#define STK_DOCTOR_DOCTOR_RULES_H

#include "doctor/stall_split.h"

typedef enum stk__doctor_severity {
    STK_DOCTOR_OK,
    STK_DOCTOR_INFO,
    STK_DOCTOR_WARN,
    STK_DOCTOR_CRIT
} stk__doctor_severity;

/* What people notice first: the words of --symptom, as bits of a rule. `identifier, bit, word, what to
 * measure next` */
#define STK_SYMPTOM_LIST(X)                                                                                  \
    X(LOW_UTIL, 1, "low-utilization",                                                                        \
      "read the stall table: the largest row that is not forward, backward or optimizer is where the GPU "   \
      "waits")                                                                                               \
    X(MORE_WORKERS, 2, "slower-with-more-workers",                                                           \
      "compare the CPUs in use and the run delay of workers with half of the workers: "                      \
      "`stoker doctor -- CMD` twice")                                                                        \
    X(MEMORY, 4, "out-of-memory",                                                                            \
      "look at peak memory of the GPU by batch size: halve the batch, double the accumulation, run again")   \
    X(CPU_FULL, 8, "cpu-100",                                                                                \
      "look at which work fills the CPUs: decode, transforms, or threads that compete for them")             \
    X(COMPILE, 16, "compile-fails",                                                                          \
      "run 20 steps with TORCH_LOGS=recompiles,graph_breaks to see the lines that break the graph")          \
    X(NO_SPEEDUP, 32, "no-speedup",                                                                          \
      "check that the setting is in effect (findings below), then whether the step is bound by data")
enum {
#define STK_SYMPTOM_ENUM(id, bit, word, next) STK_SYMPTOM_##id = bit,
    STK_SYMPTOM_LIST(STK_SYMPTOM_ENUM)
#undef STK_SYMPTOM_ENUM
};
typedef struct stk__symptom {
    unsigned bit;
    const char *word, *next; /* "low-utilization"; what to measure next */
} stk__symptom;
extern const stk__symptom stk__symptoms[]; /* ends with one without a word */

typedef struct stk__doctor_number {
    const char *key; /* with its unit: "wait_share"; NULL: the end */
    double value;    /* NAN: unknown */
} stk__doctor_number;

enum { STK_DOCTOR_NUMBERS = 7, STK_DOCTOR_SAY = 448, STK_DOCTOR_RULES_MOST = 80 };

typedef struct stk__doctor_finding {
    const struct stk__doctor_rule *rule;
    stk__doctor_severity severity;
    char evidence[STK_DOCTOR_SAY]; /* with the numbers */
    char advice[STK_DOCTOR_SAY];
    stk__doctor_number numbers[STK_DOCTOR_NUMBERS + 1];
    double gain;                   /* throughput after / before - 1; NAN: unknown */
    char formula[STK_DOCTOR_TEXT]; /* of the gain, or why it is unknown */
} stk__doctor_finding;

/* What rules look at. */
typedef struct stk__doctor_facts {
    const stk__evidence *e;
    stk__stall_split split;
    bool judged;                        /* enough steps for shares of time */
    const stk__loader_evidence *loader; /* of the training; NULL: unknown */
    const stk_gpu_summary *gpu;         /* that it trains on; NULL: none, or unknown */
    stk__tristate cuda;                 /* the command trains on a GPU */
    double steps;                       /* all; NAN */
    const void *other; /* of rules that are not about a command: run_rules.h, settings_rules.h */
} stk__doctor_facts;

typedef struct stk__doctor_rule {
    const char *id, *title;
    bool cuda; /* never for those who train on a CPU */
    unsigned symptoms;
    const char *measured; /* what it rests on */
    /* STK_UNSURE: not measured; STK_YES: *finding is filled in. */
    stk__tristate (*check)(const stk__doctor_facts *facts, stk__doctor_finding *finding);
} stk__doctor_rule;

void stk__doctor_facts_of(const stk__evidence *evidence, stk__doctor_facts *facts);

int stk__doctor_rule_count(void);
const stk__doctor_rule *stk__doctor_rule_at(int number);
/* One rule, with the limit of those for GPUs. */
stk__tristate stk__doctor_ask(const stk__doctor_rule *rule, const stk__doctor_facts *facts,
                              stk__doctor_finding *finding);

typedef struct stk__diagnosis {
    stk__doctor_facts facts;
    stk__doctor_finding findings[STK_DOCTOR_RULES_MOST]; /* what helps most first */
    int count;
    const stk__doctor_rule *unmeasured[STK_DOCTOR_RULES_MOST];
    int unmeasured_count;
    stk__doctor_severity worst; /* OK: no findings */
} stk__diagnosis;

/* Large: not for a stack of a thread. */
void stk__diagnose(const stk__evidence *evidence, stk__diagnosis *diagnosis);
/* The same of facts that others made, by the rules of a table that ends with one without an id. */
void stk__diagnose_facts(const stk__doctor_facts *facts, const stk__doctor_rule *rules,
                         stk__diagnosis *diagnosis);

const char *stk__doctor_severity_name(stk__doctor_severity severity); /* "warn" */

#endif
