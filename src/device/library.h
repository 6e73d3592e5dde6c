/* Vendors' libraries, opened at run time and never closed: their threads and exit handlers live on. Looked
 * for where the variable says; else: already in the process, the loader's path, CUDA_HOME and CUDA_PATH, and
 * NVIDIA's wheels in the active Python environment (VIRTUAL_ENV, CONDA_PREFIX). */
#ifndef STK_DEVICE_LIBRARY_H
#define STK_DEVICE_LIBRARY_H

#include "core/error.h"

/* NULL and a message that says where it was looked for. file "libOpenCL.so.1", variable
 * "STOKER_OPENCL_LIBRARY". */
void *stk__library_open(const char *file, const char *variable, stk_error *error);

/* The same for a library of several versions: files ends with NULL, the one that is wanted most is first. One
 * that is in the process already comes before all others, whatever its version. */
void *stk__library_open_any(const char *const *files, const char *variable, stk_error *error);

#endif
