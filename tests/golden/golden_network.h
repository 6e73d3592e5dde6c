/* SPDX-License-Identifier: Apache-2.0 */
/* A network of a golden file, ready to run: read by its name and settings, with model, passes and feed. */
#ifndef TESTS_GOLDEN_NETWORK_H
#define TESTS_GOLDEN_NETWORK_H

#include "golden_file.h"
#include "train/pass/pass.h"

typedef struct golden_network { /* init/fini */
    golden_file golden;
    golden_shelf shelf; /* of the feed's tensors */
    stk__network *network;
    stk__op_form *forms;
    stk__model *model;
    stk__pass *training, *evaluation;
    stk__arena *arena; /* of both passes */
    stk__pass_feed feed;
} golden_network;

typedef struct golden_network_options {
    const char *folder, *name;
    stk__engine *engine;
    bool recompute;
} golden_network_options;

void golden_network_init(golden_network *network, const golden_network_options *options);
void golden_network_fini(golden_network *network);

/* The file's tensors PREFIX.name into the model, which must have the same ones. */
void golden_network_load(golden_network *network, const char *prefix);

/* The optimiser of the file over the whole model; without its step. */
stk__update golden_network_update(const golden_network *network);

#endif
