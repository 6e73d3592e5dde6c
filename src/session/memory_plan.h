/* SPDX-License-Identifier: Apache-2.0 */
/* What memory a session takes, before any of it is allocated, and whether that is there. Passes, model, slots
 * and caches are planned by the code that makes them, with an engine that is dry (engine.h) and loaders that
 * are held (loader_open.h), so that plan and run cannot differ; the rest comes from tables (engine_program.c,
 * onednn_cost.c, loader_memory.c). */
#ifndef STK_SESSION_MEMORY_PLAN_H
#define STK_SESSION_MEMORY_PLAN_H

#include "core/error.h"
#include "core/memory.h"

#include <jansson.h>

struct stk__session;
struct stk__trainer;

typedef struct stk__memory_plan {
    /* On the host. */
    uint64_t program_bytes;   /* code, libraries, operations, workers, the data set's index */
    uint64_t batch_bytes;     /* of all slots of both loaders */
    uint64_t cache_bytes;     /* of both loaders' caches, when they are full */
    uint64_t temporary_bytes; /* tensors of the engine's library while it computes; 0: none that is known */
    uint64_t model_bytes, pass_bytes; /* on the GPU, if there is one */
    uint64_t planned_bytes;           /* all of it that is on the host */
    const char *estimate_why;         /* why a run may take more than that; NULL: it will not */
    /* On a GPU, estimates; 0: none. */
    uint64_t device_batch_bytes; /* the second half of the training part's slots */
    uint64_t device_bytes;       /* model, activations, batches, and … */
    uint64_t cuda_bytes; /* … what CUDA takes for itself: context, code and workspaces of cuDNN and cuBLAS */
} stk__memory_plan;

typedef struct stk__memory_verdict {
    bool known; /* how much memory is free */
    bool fits;
    bool on_device;                   /* what is too small is the GPU's */
    bool estimate;                    /* needed_bytes is one */
    uint64_t needed_bytes;            /* there */
    uint64_t available_bytes;         /* to this process, with what it has already */
    const char *whose;                /* "the machine", "the cgroup", "cuda:0" */
    int64_t batch_size;               /* that fits; 0: none does */
    int64_t checkpointing_batch_size; /* the same with gradient_checkpointing; 0: none, or no larger one */
} stk__memory_verdict;

/* What is planned instead of what was asked for. */
typedef struct stk__memory_question {
    int64_t batch_size;
    bool checkpointing; /* also where it was not asked for */
    bool rough;         /* up to 1 % too much, in a tenth of the time */
} stk__memory_question;

/* The session's loaders are open, or held. */
stk_status stk__memory_plan_make(const struct stk__session *session, const stk__memory_question *question,
                                 stk__memory_plan *plan, stk_error *error);

/* The two parts of it: a trainer with a dry engine, and the plan from one. */
stk_status stk__session_open_dry(const struct stk__session *session, const stk__memory_question *question,
                                 struct stk__trainer **trainer, stk_error *error);
void stk__memory_plan_fill(const struct stk__session *session, int64_t batch_size,
                           const struct stk__trainer *trainer, stk__memory_plan *plan);

/* Batches and caches take less than an eighth of what is available: the loaders may begin before the plan is
 * made. */
bool stk__memory_loaders_are_small(const struct stk__session *session);

/* Holds session->plan against what is free; where it does not fit, finds batch sizes that do. root: where
 * /proc and the cgroup file system are looked for, NULL: the real ones. device_free_bytes: of the GPU; -1:
 * unknown, or none. */
stk_status stk__memory_judge(const struct stk__session *session, const char *root, int64_t device_free_bytes,
                             stk__memory_verdict *verdict, stk_error *error);
/* STK_ERROR_MEMORY with the verdict in words, if it does not fit; STK_OK if it does, or if nothing is known.
 */
stk_status stk__memory_refuse(const stk__memory_verdict *verdict, stk_error *error);

/* "fits: …", "does not fit: …": a line for `--plan`; and the same for its JSON. */
void stk__memory_verdict_text(const stk__memory_verdict *verdict, char *text, size_t size);
json_t *stk__memory_verdict_json(const stk__memory_verdict *verdict);

#endif
