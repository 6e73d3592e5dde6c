/* SPDX-License-Identifier: Apache-2.0 */
/* The part of oneDNN's C interface that Stoker calls. Its library is opened at run time (STOKER_ONEDNN names
 * the file), never linked and never closed: its threads live on. */
#ifndef STK_ENGINE_ONEDNN_API_H
#define STK_ENGINE_ONEDNN_API_H

#include "core/error.h"

#include <dnnl.h>
#include <stdint.h>

/* Prototypes are the header's. */
#define STK_ONEDNN_CALLS(X)                                                                                  \
    X(dnnl_get_effective_cpu_isa)                                                                            \
    X(dnnl_engine_create)                                                                                    \
    X(dnnl_engine_destroy)                                                                                   \
    X(dnnl_stream_create)                                                                                    \
    X(dnnl_stream_destroy)                                                                                   \
    X(dnnl_memory_create)                                                                                    \
    X(dnnl_memory_destroy)                                                                                   \
    X(dnnl_memory_set_data_handle)                                                                           \
    X(dnnl_memory_desc_init_by_strides)                                                                      \
    X(dnnl_memory_desc_init_by_tag)                                                                          \
    X(dnnl_memory_desc_equal)                                                                                \
    X(dnnl_memory_desc_get_size)                                                                             \
    X(dnnl_primitive_attr_create)                                                                            \
    X(dnnl_primitive_attr_destroy)                                                                           \
    X(dnnl_primitive_attr_set_scratchpad_mode)                                                               \
    X(dnnl_primitive_desc_create)                                                                            \
    X(dnnl_primitive_desc_destroy)                                                                           \
    X(dnnl_primitive_desc_query_md)                                                                          \
    X(dnnl_primitive_create)                                                                                 \
    X(dnnl_primitive_destroy)                                                                                \
    X(dnnl_primitive_execute)                                                                                \
    X(dnnl_reorder_primitive_desc_create)                                                                    \
    X(dnnl_dilated_convolution_forward_desc_init)                                                            \
    X(dnnl_dilated_convolution_backward_data_desc_init)                                                      \
    X(dnnl_dilated_convolution_backward_weights_desc_init)                                                   \
    X(dnnl_dilated_deconvolution_forward_desc_init)                                                          \
    X(dnnl_dilated_deconvolution_backward_data_desc_init)                                                    \
    X(dnnl_dilated_deconvolution_backward_weights_desc_init)                                                 \
    X(dnnl_inner_product_forward_desc_init)                                                                  \
    X(dnnl_inner_product_backward_data_desc_init)                                                            \
    X(dnnl_inner_product_backward_weights_desc_init)                                                         \
    X(dnnl_batch_normalization_forward_desc_init)                                                            \
    X(dnnl_batch_normalization_backward_desc_init)                                                           \
    X(dnnl_eltwise_forward_desc_init)                                                                        \
    X(dnnl_eltwise_backward_desc_init)                                                                       \
    X(dnnl_pooling_forward_desc_init)                                                                        \
    X(dnnl_pooling_backward_desc_init)                                                                       \
    X(dnnl_sgemm)

typedef struct stk__onednn_api {
#define STK_ONEDNN_MEMBER(name) __typeof__(&name) name;
    STK_ONEDNN_CALLS(STK_ONEDNN_MEMBER)
#undef STK_ONEDNN_MEMBER
    void (*omp_set_num_threads)(int); /* of the OpenMP it brings; NULL: it has another kind of threads */
    dnnl_version_t version;
    char note[160]; /* what its user should know, or empty */
} stk__onednn_api;

/* Opened once per process, by whoever comes first; a failed attempt may be repeated. STK_ERROR_UNSUPPORTED:
 * not there, or a version this build cannot use, and which. */
stk_status stk__onednn_api_open(const stk__onednn_api **api, stk_error *error);

/* Virtual machines may announce matrix units (AMX bits of leaf 7, EDX) and hide the leaves that describe
 * them: oneDNN then dies of an illegal instruction, so it must not try. */
bool stk__onednn_hidden_tiles(uint32_t highest_leaf, uint32_t leaf7_edx);

#endif
