/* SPDX-License-Identifier: Apache-2.0 */
/* cuBLASLt: descriptors without content, one algorithm for everything, products that are counted. */
#include "dry.h"

#include <stdlib.h>
#include <string.h>

enum { RESULT_BYTES = 96, NO_MEMORY = 3 }; /* of an answer of the heuristic: algorithm, workspace, state … */

#define CUBLASLT_CREATES(X)                                                                                  \
    X(cublasLtCreate)                                                                                        \
    X(cublasLtMatmulDescCreate) X(cublasLtMatmulPreferenceCreate) X(cublasLtMatrixLayoutCreate)

#define CUBLASLT_CREATE(name)                                                                                \
    DRY_EXPORT int name(void **made);                                                                        \
    int name(void **made)                                                                                    \
    {                                                                                                        \
        *made = calloc(1, 8);                                                                                \
        return *made ? 0 : NO_MEMORY;                                                                        \
    }
CUBLASLT_CREATES(CUBLASLT_CREATE)

#define CUBLASLT_DESTROYS(X)                                                                                 \
    X(cublasLtDestroy)                                                                                       \
    X(cublasLtMatmulDescDestroy) X(cublasLtMatmulPreferenceDestroy) X(cublasLtMatrixLayoutDestroy)

#define CUBLASLT_DESTROY(name)                                                                               \
    DRY_EXPORT int name(void *made);                                                                         \
    int name(void *made)                                                                                     \
    {                                                                                                        \
        free(made);                                                                                          \
        return 0;                                                                                            \
    }
CUBLASLT_DESTROYS(CUBLASLT_DESTROY)

#define CUBLASLT_SETTINGS(X)                                                                                 \
    X(cublasLtMatmulDescSetAttribute)                                                                        \
    X(cublasLtMatmulPreferenceSetAttribute) X(cublasLtMatrixLayoutSetAttribute)

#define CUBLASLT_SETTING(name)                                                                               \
    DRY_EXPORT int name(void *made);                                                                         \
    int name(void *made)                                                                                     \
    {                                                                                                        \
        (void)made;                                                                                          \
        return 0;                                                                                            \
    }
CUBLASLT_SETTINGS(CUBLASLT_SETTING)

DRY_EXPORT size_t cublasLtGetVersion(void);
DRY_EXPORT int cublasLtMatmulAlgoGetHeuristic(void *handle, void *product, void *a, void *b, void *c, void *d,
                                              void *preference, int wanted, void *results, int *count);
DRY_EXPORT int cublasLtMatmul(void *handle, void *product, const void *alpha, const void *a, void *a_layout,
                              const void *b, void *b_layout, const void *beta, const void *c, void *c_layout,
                              void *d, void *d_layout, const void *algorithm, void *workspace,
                              size_t workspace_bytes, void *stream);

size_t cublasLtGetVersion(void)
{
    return 130000;
}

int cublasLtMatmulAlgoGetHeuristic(void *handle, void *product, void *a, void *b, void *c, void *d,
                                   void *preference, int wanted, void *results, int *count)
{
    (void)handle, (void)product, (void)a, (void)b, (void)c, (void)d, (void)preference;
    *count = wanted > 0;
    if (wanted > 0) memset(results, 0, RESULT_BYTES);
    return 0;
}

int cublasLtMatmul(void *handle, void *product, const void *alpha, const void *a, void *a_layout,
                   const void *b, void *b_layout, const void *beta, const void *c, void *c_layout, void *d,
                   void *d_layout, const void *algorithm, void *workspace, size_t workspace_bytes,
                   void *stream)
{
    (void)handle, (void)product, (void)alpha, (void)a, (void)a_layout, (void)b, (void)b_layout, (void)beta;
    (void)c, (void)c_layout, (void)d, (void)d_layout, (void)algorithm, (void)workspace, (void)workspace_bytes;
    return dry_submit(stream, &(dry_task){.word = DRY_products,
                                          .part = DRY_products,
                                          .name = "product cublasLtMatmul",
                                          .fill = -1});
}
