/* SPDX-License-Identifier: Apache-2.0 */
/* cuBLAS: handles with a stream and a mode, and products that are counted. Scalars stay on the host. */
#include "dry.h"

#include <stdlib.h>

typedef struct handle {
    void *stream;
    int math;
} handle;

/* Only the handle is looked at, whatever else a call is given. */
#define CUBLAS_PRODUCTS(X)                                                                                   \
    X(cublasSgemm_v2)                                                                                        \
    X(cublasDgemm_v2)                                                                                        \
    X(cublasSgemmEx)                                                                                         \
    X(cublasGemmEx)                                                                                          \
    X(cublasGemmStridedBatchedEx)                                                                            \
    X(cublasGemmBatchedEx)                                                                                   \
    X(cublasSgemmStridedBatched)                                                                             \
    X(cublasDgemmStridedBatched)                                                                             \
    X(cublasSgemmBatched)                                                                                    \
    X(cublasSgemv_v2)                                                                                        \
    X(cublasDgemv_v2)

#define CUBLAS_PRODUCT(call)                                                                                 \
    DRY_EXPORT int call(const handle *h);                                                                    \
    int call(const handle *h)                                                                                \
    {                                                                                                        \
        return dry_submit(                                                                                   \
            h->stream,                                                                                       \
            &(dry_task){.word = DRY_products, .part = DRY_products, .name = "product " #call, .fill = -1});  \
    }
CUBLAS_PRODUCTS(CUBLAS_PRODUCT)

/* Settings that change nothing here. */
#define CUBLAS_SETTINGS(X)                                                                                   \
    X(cublasSetWorkspace_v2) X(cublasSetPointerMode_v2) X(cublasSetSmCountTarget) X(cublasSetAtomicsMode)

#define CUBLAS_SETTING(name)                                                                                 \
    DRY_EXPORT int name(const handle *h);                                                                    \
    int name(const handle *h)                                                                                \
    {                                                                                                        \
        (void)h;                                                                                             \
        return 0;                                                                                            \
    }
CUBLAS_SETTINGS(CUBLAS_SETTING)

DRY_EXPORT int cublasCreate_v2(handle **h);
DRY_EXPORT int cublasDestroy_v2(handle *h);
DRY_EXPORT int cublasSetStream_v2(handle *h, void *stream);
DRY_EXPORT int cublasSetMathMode(handle *h, int mode);
DRY_EXPORT int cublasGetMathMode(const handle *h, int *mode);
DRY_EXPORT int cublasGetPointerMode_v2(const handle *h, int *mode);

enum { NO_MEMORY = 3 };

int cublasCreate_v2(handle **h)
{
    *h = calloc(1, sizeof **h);
    return *h ? 0 : NO_MEMORY;
}

int cublasDestroy_v2(handle *h)
{
    free(h);
    return 0;
}

int cublasSetStream_v2(handle *h, void *stream)
{
    h->stream = stream;
    return 0;
}

int cublasSetMathMode(handle *h, int mode)
{
    h->math = mode;
    return 0;
}

int cublasGetMathMode(const handle *h, int *mode)
{
    *mode = h->math;
    return 0;
}

int cublasGetPointerMode_v2(const handle *h, int *mode)
{
    (void)h;
    *mode = 0;
    return 0;
}
