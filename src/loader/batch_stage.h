/* SPDX-License-Identifier: Apache-2.0 */
/* What is done to a whole batch after its last sample: a device augments it, pairs are mixed. */
#ifndef STK_LOADER_BATCH_STAGE_H
#define STK_LOADER_BATCH_STAGE_H

#include "device/device.h"
#include "loader/worker.h"

/* device NULL: the workers have augmented the samples. All places of the slot are filled. */
stk_status stk__batch_stage_run(stk__slot *slot, const stk__recipe *recipe, const stk__stream *stream,
                                stk__device *device, stk_error *error);

#endif
