/* SPDX-License-Identifier: Apache-2.0 */
/* Batch norm and recurrent layers of cuDNN: counted, not computed. Where weights lie is told as cuDNN does:
 * all matrices, layer by layer, those of the input before those of the state; then the biases. */
#include "cudnn.h"

#include <string.h>

typedef struct recurrent {
    int cell, biases, dtype; /* biases: kinds of them, 0 to 2 */
    int64_t input, hidden, layers;
} recurrent;

enum { CELL_LSTM = 2, CELL_GRU = 3, BIAS_DOUBLE = 2 };

static int note(const cudnn_handle *handle, dry_word word, const char *name)
{
    return dry_submit(handle->stream, &(dry_task){.word = word, .part = word, .name = name, .fill = -1});
}

/* Only the handle is looked at, whatever else a call is given. */
#define CUDNN_LAYER_CALLS(X)                                                                                 \
    X(cudnnBatchNormalizationForwardTrainingEx, DRY_norms)                                                   \
    X(cudnnBatchNormalizationForwardInference, DRY_norms)                                                    \
    X(cudnnBatchNormalizationBackwardEx, DRY_norms)                                                          \
    X(cudnnRNNForward, DRY_recurrents)                                                                       \
    X(cudnnRNNBackwardData_v8, DRY_recurrents)                                                               \
    X(cudnnRNNBackwardWeights_v8, DRY_recurrents)

#define CUDNN_LAYER_CALL(call, counted)                                                                      \
    DRY_EXPORT int call(const cudnn_handle *handle);                                                         \
    int call(const cudnn_handle *handle)                                                                     \
    {                                                                                                        \
        return note(handle, counted, #call);                                                                 \
    }
CUDNN_LAYER_CALLS(CUDNN_LAYER_CALL)

DRY_EXPORT int cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(const cudnn_handle *handle, int mode,
                                                                        int operations, void *x, void *z,
                                                                        void *y, void *scale,
                                                                        void *activation, size_t *bytes);
DRY_EXPORT int cudnnGetBatchNormalizationBackwardExWorkspaceSize(const cudnn_handle *handle, int mode,
                                                                 int operations, void *x, void *y, void *dy,
                                                                 void *dz, void *dx, void *scale,
                                                                 void *activation, size_t *bytes);
DRY_EXPORT int cudnnGetBatchNormalizationTrainingExReserveSpaceSize(const cudnn_handle *handle, int mode,
                                                                    int operations, void *activation, void *x,
                                                                    size_t *bytes);
DRY_EXPORT int cudnnSetRNNDescriptor_v8(recurrent *made, int algorithm, int cell, int biases, int direction,
                                        int mode, int dtype, int precision, int math, int32_t input,
                                        int32_t hidden, int32_t projection, int32_t layers, void *dropout,
                                        uint32_t flags);
DRY_EXPORT int cudnnSetRNNDataDescriptor(void *made);
DRY_EXPORT int cudnnSetDropoutDescriptor(void *made);
DRY_EXPORT int cudnnRestoreDropoutDescriptor(void *made);
DRY_EXPORT int cudnnDropoutGetStatesSize(const cudnn_handle *handle, size_t *bytes);
DRY_EXPORT int cudnnGetRNNTempSpaceSizes(const cudnn_handle *handle, const recurrent *r, int mode, void *x,
                                         size_t *work_bytes, size_t *reserve_bytes);
DRY_EXPORT int cudnnGetRNNWeightSpaceSize(const cudnn_handle *handle, const recurrent *r, size_t *bytes);
DRY_EXPORT int cudnnGetRNNWeightParams(const cudnn_handle *handle, const recurrent *r, int32_t layer,
                                       size_t bytes, const void *space, int32_t part, cudnn_tensor *matrix,
                                       void **matrix_at, cudnn_tensor *bias, void **bias_at);

int cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(const cudnn_handle *handle, int mode,
                                                             int operations, void *x, void *z, void *y,
                                                             void *scale, void *activation, size_t *bytes)
{
    (void)handle, (void)mode, (void)operations, (void)x, (void)z, (void)y, (void)scale, (void)activation;
    *bytes = 0;
    return 0;
}

int cudnnGetBatchNormalizationBackwardExWorkspaceSize(const cudnn_handle *handle, int mode, int operations,
                                                      void *x, void *y, void *dy, void *dz, void *dx,
                                                      void *scale, void *activation, size_t *bytes)
{
    (void)handle, (void)mode, (void)operations, (void)x, (void)y, (void)dy, (void)dz, (void)dx, (void)scale;
    (void)activation;
    *bytes = 0;
    return 0;
}

int cudnnGetBatchNormalizationTrainingExReserveSpaceSize(const cudnn_handle *handle, int mode, int operations,
                                                         void *activation, void *x, size_t *bytes)
{
    (void)handle, (void)mode, (void)operations, (void)activation, (void)x;
    *bytes = 0;
    return 0;
}

int cudnnSetRNNDescriptor_v8(recurrent *made, int algorithm, int cell, int biases, int direction, int mode,
                             int dtype, int precision, int math, int32_t input, int32_t hidden,
                             int32_t projection, int32_t layers, void *dropout, uint32_t flags)
{
    (void)algorithm, (void)mode, (void)precision, (void)math, (void)dropout, (void)flags;
    if (direction || projection != hidden) return CUDNN_NOT_SUPPORTED; /* one way, no projection */
    *made = (recurrent){cell, biases == BIAS_DOUBLE ? 2 : biases != 0, dtype, input, hidden, layers};
    return 0;
}

int cudnnSetRNNDataDescriptor(void *made)
{
    (void)made;
    return 0;
}

int cudnnSetDropoutDescriptor(void *made)
{
    (void)made;
    return 0;
}

int cudnnRestoreDropoutDescriptor(void *made)
{
    (void)made;
    return 0;
}

int cudnnDropoutGetStatesSize(const cudnn_handle *handle, size_t *bytes)
{
    (void)handle;
    *bytes = 4096;
    return 0;
}

int cudnnGetRNNTempSpaceSizes(const cudnn_handle *handle, const recurrent *r, int mode, void *x,
                              size_t *work_bytes, size_t *reserve_bytes)
{
    (void)handle, (void)r, (void)mode, (void)x;
    *work_bytes = 4096;
    if (reserve_bytes) *reserve_bytes = 4096;
    return 0;
}

static int64_t gates_of(const recurrent *r)
{
    return r->cell == CELL_LSTM ? 4 : r->cell == CELL_GRU ? 3 : 1;
}

static int64_t width_of(const recurrent *r, int64_t layer)
{
    return layer ? r->hidden : r->input;
}

/* Values of the matrices before this layer. */
static int64_t matrices_before(const recurrent *r, int64_t layer)
{
    int64_t count = 0;
    for (int64_t i = 0; i < layer; i++)
        count += gates_of(r) * r->hidden * (width_of(r, i) + r->hidden);
    return count;
}

static size_t value_bytes(const recurrent *r)
{
    return r->dtype == CUDNN_FLOAT ? 4 : 2;
}

int cudnnGetRNNWeightSpaceSize(const cudnn_handle *handle, const recurrent *r, size_t *bytes)
{
    (void)handle;
    const int64_t biases = r->layers * r->biases * gates_of(r) * r->hidden;
    *bytes = (size_t)(matrices_before(r, r->layers) + biases) * value_bytes(r);
    return 0;
}

static cudnn_tensor weights_of(const recurrent *r, int64_t rows, int64_t columns)
{
    return (cudnn_tensor){
        .dtype = r->dtype, .ndim = 3, .dim = {1, rows, columns}, .stride = {rows * columns, columns, 1}};
}

/* part: a gate of the input, then of the state. What is not asked for is NULL. */
int cudnnGetRNNWeightParams(const cudnn_handle *handle, const recurrent *r, int32_t layer, size_t bytes,
                            const void *space, int32_t part, cudnn_tensor *matrix, void **matrix_at,
                            cudnn_tensor *bias, void **bias_at)
{
    (void)handle, (void)bytes;
    const int64_t gates = gates_of(r), gate = part % gates, of_state = part / gates;
    const int64_t columns = of_state ? r->hidden : width_of(r, layer);
    const int64_t at = matrices_before(r, layer) + of_state * gates * r->hidden * width_of(r, layer) +
                       gate * r->hidden * columns;
    const int64_t bias_part =
        matrices_before(r, r->layers) + ((layer * r->biases + of_state) * gates + gate) * r->hidden;
    const char *bytes_at = space;
    if (part < 0 || of_state > 1 || layer >= r->layers) return CUDNN_BAD_PARAM;
    if (matrix) *matrix = weights_of(r, r->hidden, columns);
    if (matrix_at) *matrix_at = (void *)(uintptr_t)(bytes_at + (size_t)at * value_bytes(r));
    if (bias) *bias = weights_of(r, r->hidden, 1);
    if (bias_at)
        *bias_at =
            r->biases > of_state ? (void *)(uintptr_t)(bytes_at + (size_t)bias_part * value_bytes(r)) : NULL;
    return 0;
}
