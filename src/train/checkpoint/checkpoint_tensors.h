/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a checkpoint and which tensors of a model lie in which of them: the writer and the reader
 * share it. */
#ifndef STK_TRAIN_CHECKPOINT_TENSORS_H
#define STK_TRAIN_CHECKPOINT_TENSORS_H

#include "train/checkpoint/checkpoint.h"
#include "train/checkpoint/safetensors.h"

#define STK_CHECKPOINT_STATE "state.json"

typedef enum stk__checkpoint_part {
    STK_CHECKPOINT_MODEL,
    STK_CHECKPOINT_OPTIMIZER,
    STK_CHECKPOINT_AVERAGE,
    STK_CHECKPOINT_PARTS
} stk__checkpoint_part;

extern const char *const stk__checkpoint_files[STK_CHECKPOINT_PARTS]; /* "model.safetensors" … */

/* The tensors of one file, those with large elements first. */
typedef struct stk__checkpoint_tensors { /* init/fini */
    stk__safetensor *facts;              /* [count]: name, dtype and shape */
    stk__tensor **tensors;               /* [count]: the model's */
    int count;                           /* 0: the model has nothing for this part */
    char *names;                         /* those of moments, one behind the other */
} stk__checkpoint_tensors;

/* Fini is due also after a failure. */
stk_status stk__checkpoint_tensors_init(stk__checkpoint_tensors *tensors, const stk__model *model,
                                        stk__checkpoint_part part, stk_error *error);
void stk__checkpoint_tensors_fini(stk__checkpoint_tensors *tensors);

#endif
