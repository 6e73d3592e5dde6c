/* SPDX-License-Identifier: Apache-2.0 */
/* Selects GPUs by --gpu or CUDA_VISIBLE_DEVICES. */
#ifndef STK_MONITOR_GPU_SELECT_H
#define STK_MONITOR_GPU_SELECT_H

#include "core/error.h"
#include "stoker/monitor.h"

/* "0,2", MIG instances ("0.1") or UUID prefixes ("GPU-8932f937"). STK_ERROR_ARGUMENT names the entry that
 * does not exist. */
stk_status stk__gpu_select(const char *list, const stk_gpu *gpus, bool *chosen, int count, stk_error *error);

/* With the rules of CUDA: indices, UUID prefixes (GPU-…, MIG-…); entries after the first invalid one are
 * ignored; empty is none; NULL is all. GPUs of other vendors stay. Indices are the driver's, as with
 * CUDA_DEVICE_ORDER=PCI_BUS_ID; CUDA's own order can differ where GPUs differ. */
void stk__gpu_select_cuda(const char *list, const stk_gpu *gpus, bool *chosen, int count);

#endif
