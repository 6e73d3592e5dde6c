/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of the dry cuDNN. Enumerators from the public documentation. */
#ifndef DRY_CUDNN_H
#define DRY_CUDNN_H

#include "dry.h"

#include <stdbool.h>

enum { CUDNN_BAD_PARAM = 2000, CUDNN_NOT_SUPPORTED = 3000, CUDNN_NO_MEMORY = 4001 };
enum { CUDNN_FLOAT = 0, CUDNN_HALF = 2, CUDNN_BFLOAT16 = 9 };
enum { CUDNN_DIMS = 8 };

typedef struct cudnn_handle {
    void *stream;
} cudnn_handle;

/* dtype CUDNN_…; strides 0: not told */
typedef struct cudnn_tensor {
    int dtype, ndim;
    int64_t dim[CUDNN_DIMS], stride[CUDNN_DIMS];
} cudnn_tensor;

typedef enum cudnn_layout { CUDNN_EITHER, CUDNN_NHWC, CUDNN_NCHW } cudnn_layout;
cudnn_layout cudnn_layout_of(const cudnn_tensor *tensor);

/* What a convolution is, as far as it is counted. */
typedef struct cudnn_work {
    dry_word word; /* DRY_WORDS: none of those that are counted */
    int dtype;
    bool fused, legacy;
    int nhwc, nchw; /* tensors */
} cudnn_work;
void cudnn_work_add(cudnn_work *work, const cudnn_tensor *tensor);
int cudnn_work_submit(const cudnn_work *work, void *stream);

#endif
