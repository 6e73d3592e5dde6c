/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STK_TRAIN_MODEL_START_H
#define STK_TRAIN_MODEL_START_H

#include "train/model.h"

/* Fills a new model (all zeros) with its values at the start; averages begin as copies. */
stk_status stk__model_start(stk__model *model, uint64_t seed, stk_error *error);

#endif
