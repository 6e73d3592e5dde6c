/* From settings to loaders and a trainer: what train and eval share. */
#ifndef STK_CLI_TRAIN_SESSION_H
#define STK_CLI_TRAIN_SESSION_H

#include "open_loader.h"
#include "run_open.h"

enum { STK_CLI_TRAIN_TABLES = 8 };
const stk__option_table *const *stk__cli_train_tables(void);

typedef struct stk__cli_session {
    stk__config *config;
    bool evaluates_only;
    bool has_checkpoint; /* whose weights are read afterwards */

    /* Filled in by open; all defaults are in. */
    stk__model_settings model;
    stk__loss_settings loss;
    stk__train_settings train;
    stk__optimizer_settings optimizer;
    stk__run_settings run;
    stk_loader_options data, val_data;
    stk_loader *loader, *val_loader; /* NULL: there is no such part */
    stk__engine *engine;             /* until it is the trainer's */
    char device[16]; /* where batches of the training part end: "cuda:0"; empty: the host's memory */
    stk__trainer *trainer;
    uint64_t batch_bytes;   /* of all slots of both loaders */
    uint64_t cache_bytes;   /* of both loaders' caches, when they are full */
    uint64_t program_bytes; /* what the process had before anything was computed; 0: unknown */
    uint64_t device_bytes; /* planned in the memory of a GPU: model, activations, batches, and …; 0: none */
    uint64_t cuda_bytes; /* … what CUDA takes for itself: its context, and code and workspaces of cuDNN and
                            cuBLAS, which come with the first steps */
    uint64_t planned_bytes; /* all of it together, at most */
} stk__cli_session;

/* Puts the values of run.preset below everything that was asked for. Before anything is applied. */
stk_status stk__cli_apply_preset(stk__config *config, stk_error *error);

/* Reads the settings of all sections but data; open does it too. */
stk_status stk__cli_session_read(stk__cli_session *session, stk_error *error);
/* Reads the settings and opens loaders and trainer; the effects are told to the config. */
stk_status stk__cli_session_open(stk__cli_session *session, stk_error *error);
/* Leaves the program at once if threads had to be given up. */
void stk__cli_session_close(stk__cli_session *session, int status);

#endif
