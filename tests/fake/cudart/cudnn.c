/* SPDX-License-Identifier: Apache-2.0 */
/* cuDNN as it was before graphs: convolutions, batch norm. Nothing is computed; layouts are counted. */
#include "cudnn.h"

#include <stdlib.h>
#include <string.h>

cudnn_layout cudnn_layout_of(const cudnn_tensor *t)
{
    int64_t pixels = 1;
    for (int i = 2; i < t->ndim; i++)
        pixels *= t->dim[i];
    if (t->ndim < 4 || t->dim[1] == 1 || pixels == 1) return CUDNN_EITHER;
    return t->stride[1] == 1 ? CUDNN_NHWC : CUDNN_NCHW;
}

void cudnn_work_add(cudnn_work *work, const cudnn_tensor *tensor)
{
    const cudnn_layout layout = cudnn_layout_of(tensor);
    work->nhwc += layout == CUDNN_NHWC;
    work->nchw += layout == CUDNN_NCHW;
    work->dtype = tensor->dtype;
}

static int note(void *stream, dry_word word, const char *name)
{
    return dry_submit(stream, &(dry_task){.word = word, .part = word, .name = name, .fill = -1});
}

int cudnn_work_submit(const cudnn_work *work, void *stream)
{
    static const char *const names[] = {"convolution forward", "convolution backward data",
                                        "convolution backward filter"};
    int code = 0;
    if (work->word != DRY_WORDS) code |= note(stream, work->word, names[work->word - DRY_conv_forward]);
    code |= note(stream,
                 work->dtype == CUDNN_HALF       ? DRY_conv_f16
                 : work->dtype == CUDNN_BFLOAT16 ? DRY_conv_bf16
                                                 : DRY_conv_f32,
                 NULL);
    if (work->fused) code |= note(stream, DRY_conv_fused, NULL);
    if (work->legacy) code |= note(stream, DRY_conv_legacy, NULL);
    for (int i = 0; i < work->nhwc; i++)
        code |= note(stream, DRY_nhwc, NULL);
    for (int i = 0; i < work->nchw; i++)
        code |= note(stream, DRY_nchw, "a picture as NCHW");
    return code;
}

/* --- handles and descriptors --------------------------------------------------------------------------- */

DRY_EXPORT size_t cudnnGetVersion(void);
DRY_EXPORT size_t cudnnGetCudartVersion(void);
DRY_EXPORT const char *cudnnGetErrorString(int code);
DRY_EXPORT void cudnnGetLastErrorString(char *text, size_t size);
DRY_EXPORT int cudnnSetStream(cudnn_handle *handle, void *stream);
DRY_EXPORT int cudnnGetStream(const cudnn_handle *handle, void **stream);
DRY_EXPORT int cudnnSetTensorNdDescriptor(cudnn_tensor *t, int dtype, int n, const int *dim,
                                          const int *stride);
DRY_EXPORT int cudnnGetTensorNdDescriptor(const cudnn_tensor *t, int wanted, int *dtype, int *n, int *dim,
                                          int *stride);
DRY_EXPORT int cudnnSetFilterNdDescriptor(cudnn_tensor *t, int dtype, int format, int n, const int *dim);

enum { DESCRIPTOR_BYTES = 512 };

#define CUDNN_CREATES(X)                                                                                     \
    X(cudnnCreate)                                                                                           \
    X(cudnnCreateTensorDescriptor)                                                                           \
    X(cudnnCreateFilterDescriptor)                                                                           \
    X(cudnnCreateConvolutionDescriptor)                                                                      \
    X(cudnnCreateActivationDescriptor)                                                                       \
    X(cudnnCreatePoolingDescriptor)                                                                          \
    X(cudnnCreateDropoutDescriptor)                                                                          \
    X(cudnnCreateRNNDescriptor)                                                                              \
    X(cudnnCreateRNNDataDescriptor)

#define CUDNN_CREATE(name)                                                                                   \
    DRY_EXPORT int name(void **made);                                                                        \
    int name(void **made)                                                                                    \
    {                                                                                                        \
        *made = calloc(1, DESCRIPTOR_BYTES);                                                                 \
        return *made ? 0 : CUDNN_NO_MEMORY;                                                                  \
    }
CUDNN_CREATES(CUDNN_CREATE)

#define CUDNN_DESTROYS(X)                                                                                    \
    X(cudnnDestroy)                                                                                          \
    X(cudnnDestroyTensorDescriptor)                                                                          \
    X(cudnnDestroyFilterDescriptor)                                                                          \
    X(cudnnDestroyConvolutionDescriptor)                                                                     \
    X(cudnnDestroyActivationDescriptor)                                                                      \
    X(cudnnDestroyPoolingDescriptor)                                                                         \
    X(cudnnDestroyDropoutDescriptor)                                                                         \
    X(cudnnDestroyRNNDescriptor)                                                                             \
    X(cudnnDestroyRNNDataDescriptor)

#define CUDNN_DESTROY(name)                                                                                  \
    DRY_EXPORT int name(void *made);                                                                         \
    int name(void *made)                                                                                     \
    {                                                                                                        \
        free(made);                                                                                          \
        return 0;                                                                                            \
    }
CUDNN_DESTROYS(CUDNN_DESTROY)

#define CUDNN_SETTINGS(X)                                                                                    \
    X(cudnnSetConvolutionNdDescriptor)                                                                       \
    X(cudnnSetConvolutionGroupCount) X(cudnnSetConvolutionMathType) X(cudnnSetActivationDescriptor)

#define CUDNN_SETTING(name)                                                                                  \
    DRY_EXPORT int name(void *made);                                                                         \
    int name(void *made)                                                                                     \
    {                                                                                                        \
        (void)made;                                                                                          \
        return 0;                                                                                            \
    }
CUDNN_SETTINGS(CUDNN_SETTING)

size_t cudnnGetVersion(void)
{
    return 92600;
}

size_t cudnnGetCudartVersion(void)
{
    return 13000;
}

const char *cudnnGetErrorString(int code)
{
    return code ? "a code of the dry cuDNN" : "no error";
}

void cudnnGetLastErrorString(char *text, size_t size)
{
    if (size) *text = 0;
}

int cudnnSetStream(cudnn_handle *handle, void *stream)
{
    handle->stream = stream;
    return 0;
}

int cudnnGetStream(const cudnn_handle *handle, void **stream)
{
    *stream = handle->stream;
    return 0;
}

int cudnnSetTensorNdDescriptor(cudnn_tensor *t, int dtype, int n, const int *dim, const int *stride)
{
    if (n > CUDNN_DIMS) return CUDNN_NOT_SUPPORTED;
    *t = (cudnn_tensor){.dtype = dtype, .ndim = n};
    for (int i = 0; i < n; i++) {
        t->dim[i] = dim[i];
        t->stride[i] = stride[i];
    }
    return 0;
}

int cudnnGetTensorNdDescriptor(const cudnn_tensor *t, int wanted, int *dtype, int *n, int *dim, int *stride)
{
    *dtype = t->dtype;
    *n = t->ndim;
    for (int i = 0; i < t->ndim && i < wanted; i++) {
        dim[i] = (int)t->dim[i];
        stride[i] = (int)t->stride[i];
    }
    return 0;
}

/* format 1: NHWC */
int cudnnSetFilterNdDescriptor(cudnn_tensor *t, int dtype, int format, int n, const int *dim)
{
    if (n > CUDNN_DIMS) return CUDNN_NOT_SUPPORTED;
    *t = (cudnn_tensor){.dtype = dtype, .ndim = n};
    for (int i = 0; i < n; i++)
        t->dim[i] = dim[i];
    t->stride[1] = format == 1 ? 1 : 2;
    return 0;
}

/* --- convolutions -------------------------------------------------------------------------------------- */

/* An algorithm and what it costs. */
typedef struct answer {
    int algorithm, status;
    float ms;
    size_t workspace_bytes;
    int determinism, math, reserved[3];
} answer;

#define CUDNN_DIRECTIONS(X)                                                                                  \
    X(Forward, forward) X(BackwardData, backward_data) X(BackwardFilter, backward_filter)

static int give(int *count, answer *answers)
{
    *answers = (answer){.algorithm = 1, .determinism = 1, .math = 3};
    *count = 1;
    return 0;
}

#define CUDNN_QUESTIONS(direction, word)                                                                     \
    DRY_EXPORT int cudnnGetConvolution##direction##Algorithm_v7(                                             \
        void *h, void *a, void *b, void *conv, void *c, int wanted, int *count, answer *answers);            \
    int cudnnGetConvolution##direction##Algorithm_v7(void *h, void *a, void *b, void *conv, void *c,         \
                                                     int wanted, int *count, answer *answers)                \
    {                                                                                                        \
        (void)h, (void)a, (void)b, (void)conv, (void)c, (void)wanted;                                        \
        return give(count, answers);                                                                         \
    }                                                                                                        \
    DRY_EXPORT int cudnnGetConvolution##direction##WorkspaceSize(void *h, void *a, void *b, void *conv,      \
                                                                 void *c, int algorithm, size_t *bytes);     \
    int cudnnGetConvolution##direction##WorkspaceSize(void *h, void *a, void *b, void *conv, void *c,        \
                                                      int algorithm, size_t *bytes)                          \
    {                                                                                                        \
        (void)h, (void)a, (void)b, (void)conv, (void)c, (void)algorithm;                                     \
        *bytes = 0;                                                                                          \
        return 0;                                                                                            \
    }                                                                                                        \
    DRY_EXPORT int cudnnFindConvolution##direction##AlgorithmEx(                                             \
        void *h, void *a, const void *pa, void *b, const void *pb, void *conv, void *c, void *pc,            \
        int wanted, int *count, answer *answers, void *workspace, size_t bytes);                             \
    int cudnnFindConvolution##direction##AlgorithmEx(                                                        \
        void *h, void *a, const void *pa, void *b, const void *pb, void *conv, void *c, void *pc,            \
        int wanted, int *count, answer *answers, void *workspace, size_t bytes)                              \
    {                                                                                                        \
        (void)h, (void)a, (void)pa, (void)b, (void)pb, (void)conv, (void)c, (void)pc, (void)wanted;          \
        (void)workspace, (void)bytes;                                                                        \
        dry_count(DRY_conv_searches);                                                                        \
        return give(count, answers);                                                                         \
    }                                                                                                        \
    /* of the first and last tensor and the one between, by direction: x w y, w dy dx, x dy dw */            \
    DRY_EXPORT int cudnnConvolution##direction(                                                              \
        const cudnn_handle *h, const void *alpha, const cudnn_tensor *a, const void *pa,                     \
        const cudnn_tensor *b, const void *pb, void *conv, int algorithm, void *workspace, size_t bytes,     \
        const void *beta, const cudnn_tensor *c, void *pc);                                                  \
    int cudnnConvolution##direction(const cudnn_handle *h, const void *alpha, const cudnn_tensor *a,         \
                                    const void *pa, const cudnn_tensor *b, const void *pb, void *conv,       \
                                    int algorithm, void *workspace, size_t bytes, const void *beta,          \
                                    const cudnn_tensor *c, void *pc)                                         \
    {                                                                                                        \
        (void)alpha, (void)pa, (void)pb, (void)conv, (void)algorithm, (void)workspace, (void)bytes;          \
        (void)beta, (void)pc;                                                                                \
        return convolve(h, DRY_conv_##word, (const cudnn_tensor *[3]){a, b, c});                             \
    }

static int convolve(const cudnn_handle *handle, dry_word word, const cudnn_tensor *const tensors[3])
{
    cudnn_work work = {.word = word, .legacy = true};
    for (int i = 0; i < 3; i++)
        cudnn_work_add(&work, tensors[i]);
    return cudnn_work_submit(&work, handle->stream);
}

CUDNN_DIRECTIONS(CUDNN_QUESTIONS)
