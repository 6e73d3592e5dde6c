/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors and batches: how data leaves the loader. A stk_tensor maps one to one to a DLPack tensor. */
#ifndef STOKER_BATCH_H
#define STOKER_BATCH_H

#include "stoker/status.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define STK_TENSOR_DIMS 6

typedef enum stk_dtype {
    STK_DTYPE_NONE, /* an absent tensor */
    STK_DTYPE_U8,
    STK_DTYPE_I64,
    STK_DTYPE_F16,
    STK_DTYPE_BF16,
    STK_DTYPE_F32,
    STK_DTYPE_F64
} stk_dtype;

typedef enum stk_device_kind {
    STK_DEVICE_CPU,
    STK_DEVICE_OPENCL,
    STK_DEVICE_CUDA,
    STK_DEVICE_NULL
} stk_device_kind;

typedef struct stk_tensor {
    void *data; /* not owned */
    stk_device_kind device;
    int device_index;
    stk_dtype dtype; /* STK_DTYPE_NONE: this tensor is absent */
    int ndim;
    int64_t shape[STK_TENSOR_DIMS];
    int64_t strides[STK_TENSOR_DIMS]; /* in elements */
} stk_tensor;

/* Bytes of one element; 0 for STK_DTYPE_NONE. Threads: any. */
STK_API int64_t stk_dtype_bytes(stk_dtype dtype);
/* Bytes of a dense tensor; 0 when absent or NULL. Threads: any. */
STK_API int64_t stk_tensor_bytes(const stk_tensor *tensor);

/* Where one sample's pixels lie in a batch's arena. w is 0 when there are none (skipped or absent). */
typedef struct stk_view {
    uint64_t offset_bytes;
    uint64_t pitch_bytes;
    int32_t w, h, channels;
} stk_view;

typedef struct stk_batch stk_batch;

/* One batch. Everything in it belongs to the loader and stays as it is until stk_batch_release.
 * n = count. Tensors that the data set does not have are absent (dtype NONE). */
struct stk_batch {
    int64_t count;     /* places of this rank; can be 0 in the last step of an epoch with several ranks */
    uint64_t epoch;    /* 0, 1, … */
    uint64_t position; /* number of this batch's first sample in the global order of the epoch */

    /* [n h w c] u8 as decoded, absent when the sizes differ: then arena and image_views tell; or augmented
     * and normalised: f32, f16, bf16, [n h w c] or [n c h w]. */
    stk_tensor images;
    stk_tensor masks;      /* [n h w]   u8 or i64 */
    stk_tensor labels;     /* [n]       i64 class (-1: none) or f32 value; [n k] f32: 1 for each class of k */
    stk_tensor masks2;     /* as masks; with MixUp or CutMix only: the second target, the first if unmixed */
    stk_tensor labels2;    /* as labels; the same for classes */
    stk_tensor lambda;     /* [n]       f32, share of the first target; 1 if unmixed */
    stk_tensor points;     /* [n k 3]   f32: x, y in pixels (centres at +0.5), visible 0/1 */
    stk_tensor windows;    /* [n t f]   f32 */
    stk_tensor sample_ids; /* [n]       i64 */
    stk_tensor weights;    /* [n]       f32: 1, or 0 for a skipped sample */

    /* Images as decoded only (u8): */
    const uint8_t *arena;        /* pixels of this batch */
    const stk_view *image_views; /* [n], NULL without images */
    const stk_view *mask_views;  /* [n], NULL without masks */

    void *ready; /* fence of the GPU that fills the batch, for stk_batch_wait; NULL: the data is there */
    void *owner; /* the loader's own */
};

/* Batches in a GPU's memory (stk_loader_options.device): their tensors' data may be used after one of these.
 * The first waits here, the second makes a stream of the GPU wait (a CUstream; NULL: the default stream) and
 * returns at once. Both do nothing for batches in host memory. Threads: any, while the batch is lent. */
STK_API stk_status stk_batch_wait(const stk_batch *batch, stk_error *error);
STK_API stk_status stk_batch_wait_on(const stk_batch *batch, void *stream, stk_error *error);

/* Copies a tensor of the batch from the GPU to the host, and waits for it; to: stk_tensor_bytes. For looking
 * at a few of them: it is slow. STK_ERROR_ARGUMENT: it lies in host memory already. Threads: one at a time
 * per loader. */
STK_API stk_status stk_batch_fetch(const stk_batch *batch, const stk_tensor *tensor, void *to,
                                   stk_error *error);

/* Hands the batch back to its loader: nobody reads it any more. Does nothing with NULL. Threads: any; once
 * per batch. */
STK_API void stk_batch_release(stk_batch *batch);

/* The same for a batch in a GPU's memory that work on the stream, enqueued before this call, may still read:
 * the loader waits for it before it fills the slot again; this call does not wait. stream NULL: the default
 * stream. Does nothing with a batch that is NULL. Threads: any; once per batch. */
STK_API void stk_batch_release_after(stk_batch *batch, void *stream);

/* Of a stream of batches: equal digests mean the same samples with the same bytes in the same order. */
typedef struct stk_digest {
    uint64_t high, low;
} stk_digest;

enum { STK_DIGEST_TEXT_BYTES = 33 }; /* room for its text */

/* The digest of all that *digest stands for, {0} at first, followed by this batch: what `stoker load --hash`
 * prints. Not for batches in a GPU's memory: STK_ERROR_UNSUPPORTED. Threads: any, while the batch is lent. */
STK_API stk_status stk_digest_add(stk_digest *digest, const stk_batch *batch, stk_error *error);
/* As 32 hexadecimal digits. STK_ERROR_ARGUMENT, and text "", if size is too small. Threads: any. */
STK_API stk_status stk_digest_print(const stk_digest *digest, char *text, size_t size, stk_error *error);

#ifdef __cplusplus
}
#endif

#endif
