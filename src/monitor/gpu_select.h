/* Which of the GPUs are meant: by --gpu, or by what CUDA_VISIBLE_DEVICES leaves. */
#ifndef STK_MONITOR_GPU_SELECT_H
#define STK_MONITOR_GPU_SELECT_H

#include "core/error.h"
#include "stoker/monitor.h"

/* "0,2", parts ("0.1") or beginnings of ids ("GPU-8932f937"). STK_ERROR_ARGUMENT names what is not there. */
stk_status stk__gpu_select(const char *list, const stk_gpu *gpus, bool *chosen, int count, stk_error *error);

/* As CUDA reads it: numbers, beginnings of ids (GPU-…, MIG-…); what stands behind the first that is not there
 * does not count; empty is none; NULL is all. Other vendors' GPUs stay. Numbers are the driver's, as with
 * CUDA_DEVICE_ORDER=PCI_BUS_ID; CUDA's own order can differ where GPUs differ. */
void stk__gpu_select_cuda(const char *list, const stk_gpu *gpus, bool *chosen, int count);

#endif
