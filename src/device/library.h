/* SPDX-License-Identifier: Apache-2.0 */
/* Vendors' libraries, opened at run time and never closed: their threads and exit handlers live on. Looked
 * for where the variable says, and then nowhere else; or, in this order: already in the process, the loader's
 * path, CUDA_HOME and CUDA_PATH, beside PyTorch (STOKER_TORCH, or the one in the process), NVIDIA's wheels in
 * the active Python environment (VIRTUAL_ENV, CONDA_PREFIX), the usual folders of toolkits and of WSL2. */
#ifndef STK_DEVICE_LIBRARY_H
#define STK_DEVICE_LIBRARY_H

#include "core/error.h"

/* Any of these file names ("libnvrtc.so.12"; ends with NULL), unless variable ("STOKER_NVRTC_LIBRARY") names
 * a file. */
typedef struct stk__library_search {
    const char *const *files, *variable;
    bool (*take)(void *context, void *library); /* true: enough. The same library may come twice */
    void *context;
} stk__library_search;

/* Hands out every library that can be opened. Fails where the one that the variable names cannot be. */
stk_status stk__library_visit(const stk__library_search *search, stk_error *error);

/* The same in the packages of the python3 of PATH, whose environment need not be active: asks that program
 * for its folders, which takes some time. */
void stk__library_visit_python(const stk__library_search *search);

stk_status stk__library_refuse(const stk__library_search *search, stk_error *error); /* it was not found */

/* The first one; NULL and a message that says where it was looked for. file "libOpenCL.so.1", variable
 * "STOKER_OPENCL_LIBRARY". */
void *stk__library_open(const char *file, const char *variable, stk_error *error);

extern const char *stk__library_root; /* before the folders that no variable names; "". For tests alone */

#endif
