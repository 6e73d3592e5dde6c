/* SPDX-License-Identifier: Apache-2.0 */
/* The part of PyTorch's C interface that Stoker calls, in declarations of our own. The user's library is
 * opened at run time, never linked and never closed: its threads live on.
 *
 * Looked for: the folder that STOKER_TORCH names (then nowhere else), the active Python environment, the
 * torch of the python3 on the path, the loader's path. */
#ifndef STK_ENGINE_TORCH_API_H
#define STK_ENGINE_TORCH_API_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void *stk__torch_handle; /* a tensor of PyTorch's; counted by whoever holds it */

enum { STK_TORCH_MAJOR = 2, STK_TORCH_MINOR = 10 }; /* the oldest that has all of these */

/* Result, name, parameters. A result of int32_t is 0 when all went well. */
#define STK_TORCH_CALLS(X)                                                                                   \
    X(uint64_t, aoti_torch_abi_version, (void))                                                              \
    X(int32_t, torch_call_dispatcher,                                                                        \
      (const char *name, const char *overload, uint64_t *stack, uint64_t version))                           \
    X(int32_t, torch_new_list_reserve_size, (size_t size, void **list))                                      \
    X(int32_t, torch_list_push_back, (void *list, uint64_t value))                                           \
    X(int32_t, torch_list_size, (void *list, size_t *size))                                                  \
    X(int32_t, torch_list_get_item, (void *list, size_t index, uint64_t *value))                             \
    X(int32_t, torch_delete_list, (void *list))                                                              \
    X(int32_t, torch_new_string_handle, (const char *text, size_t length, void **string))                    \
    X(int32_t, torch_delete_string, (void *string))                                                          \
    X(int32_t, aoti_torch_create_tensor_from_blob,                                                           \
      (void *data, int64_t ndim, const int64_t *size, const int64_t *stride, int64_t offset, int32_t dtype,  \
       int32_t device_type, int32_t device_index, stk__torch_handle *tensor))                                \
    X(int32_t, aoti_torch_empty_strided,                                                                     \
      (int64_t ndim, const int64_t *size, const int64_t *stride, int32_t dtype, int32_t device_type,         \
       int32_t device_index, stk__torch_handle *tensor))                                                     \
    X(int32_t, aoti_torch_new_tensor_handle, (stk__torch_handle tensor, stk__torch_handle * another))        \
    X(int32_t, aoti_torch_delete_tensor_object, (stk__torch_handle tensor))                                  \
    X(int32_t, aoti_torch_get_data_ptr, (stk__torch_handle tensor, void **data))                             \
    X(int32_t, aoti_torch_get_dtype, (stk__torch_handle tensor, int32_t * dtype))                            \
    X(int32_t, aoti_torch_get_strides, (stk__torch_handle tensor, int64_t * *strides))                       \
    X(int32_t, aoti_torch_aten_fill__Scalar, (stk__torch_handle tensor, double value))                       \
    X(int32_t, aoti_torch_scalar_to_tensor_float64, (double value, stk__torch_handle *tensor))               \
    X(void, aoti_torch_grad_mode_set_enabled, (bool enabled))                                                \
    X(int32_t, aoti_torch_device_type_cpu, (void))                                                           \
    X(int32_t, aoti_torch_dtype_float32, (void))                                                             \
    X(int32_t, aoti_torch_dtype_float64, (void))                                                             \
    X(int32_t, aoti_torch_dtype_float16, (void))                                                             \
    X(int32_t, aoti_torch_dtype_bfloat16, (void))                                                            \
    X(int32_t, aoti_torch_dtype_int64, (void))                                                               \
    X(int32_t, aoti_torch_dtype_uint8, (void))                                                               \
    X(int32_t, aoti_torch_dtype_bool, (void))

typedef struct stk__torch_api {
#define STK_TORCH_MEMBER(result, name, parameters) result(*name) parameters;
    STK_TORCH_CALLS(STK_TORCH_MEMBER)
#undef STK_TORCH_MEMBER
    const char *(*last_error)(void);      /* NULL before 2.13 */
    void *(*operator_new)(size_t);        /* of the C++ library that PyTorch frees with */
    void (*operator_delete)(void *);      /* and that one's counterpart */
    void (*set_num_threads)(int threads); /* NULL: it keeps its own number */
    void *library;                        /* what dlopen returned */
    int major, minor, patch;
} stk__torch_api;

/* Opened once per process, by whoever comes first; a failed attempt may be repeated. STK_ERROR_UNSUPPORTED:
 * not there, or too old, and what to do. */
stk_status stk__torch_api_open(const stk__torch_api **api, stk_error *error);
/* Is there one, and which? It is opened only where no file can be looked at: on the path of shared libraries;
 * otherwise its version is read from the file beside the library. */
typedef struct stk__torch_version {
    int major, minor; /* 0: unknown */
} stk__torch_version;
stk_status stk__torch_api_find(stk__torch_version *version, stk_error *error);

#endif
