/* SPDX-License-Identifier: Apache-2.0 */
/* PyTorch's own CUDA library without a GPU ("dry"): all of its host code runs, on a CUDA runtime that has
 * memory (the fake driver's, ../cuda) and launches nothing, beside a cuBLAS and a cuDNN that compute nothing.
 * What it asks of them is counted. assemble.py puts the libraries together; values that come out mean
 * nothing.
 *
 * Variables: STOKER_CUDA_LIBRARY is the fake driver; STOKER_DRY_REPORT names a file to which each process
 * adds a line of JSON at its end, the counts below; STOKER_DRY_TRACE one for a line per launch, product,
 * convolution, copy and wait. */
#ifndef DRY_H
#define DRY_H

#include <stddef.h>
#include <stdint.h>

#define DRY_EXPORT __attribute__((visibility("default")))

/* What is counted since the process began. A graph that is launched counts all that is in it again. */
#define DRY_COUNTS(X)                                                                                        \
    X(launches)      /* kernels of PyTorch's own; the classes below are parts of it */                       \
    X(out_of_limits) /* refused: grid, block or shared memory that no GPU of this kind has */                \
    X(products)      /* calls of cuBLAS and cuBLASLt that compute */                                         \
    X(waits)         /* of the host: for a stream, an event, the device */                                   \
    X(copy_waits)    /* of the host: cudaMemcpy, and asynchronous copies of pageable memory */               \
    X(copies_in)     /* host to device */                                                                    \
    X(copies_out)    /* device to host */                                                                    \
    X(copies_within) /* device to device */                                                                  \
    X(memsets)                                                                                               \
    X(allocations) /* of device memory; PyTorch keeps what it has */                                         \
    X(pinnings)    /* of host memory */                                                                      \
    X(questions)   /* whose a pointer is */                                                                  \
    /* cuDNN. Layouts are counted of tensors with several channels and several pixels. */                    \
    X(conv_forward)                                                                                          \
    X(conv_backward_data)                                                                                    \
    X(conv_backward_filter)                                                                                  \
    X(conv_fused)  /* with bias or activation */                                                             \
    X(conv_legacy) /* of all these: not by the graph interface */                                            \
    X(conv_f32)                                                                                              \
    X(conv_f16)                                                                                              \
    X(conv_bf16)                                                                                             \
    X(conv_searches) /* benchmarks of algorithms */                                                          \
    X(nhwc)                                                                                                  \
    X(nchw)                                                                                                  \
    X(norms)      /* batch norms of cuDNN */                                                                 \
    X(recurrents) /* of cuDNN */                                                                             \
    /* CUDA graphs */                                                                                        \
    X(captures)                                                                                              \
    X(capture_errors) /* what must not be done while a stream is captured */                                 \
    X(captured)       /* launches, products, copies and convolutions that went into graphs */                \
    X(replays)        /* launches of graphs */                                                               \
    /* classes of kernels, by their names; every launch is in one */                                         \
    X(kernels_copy) /* that only move or convert values */                                                   \
    X(kernels_fill)                                                                                          \
    X(kernels_norm)                                                                                          \
    X(kernels_recurrent)                                                                                     \
    X(kernels_optimizer) /* lists of tensors at once */                                                      \
    X(kernels_reduce)                                                                                        \
    X(kernels_softmax)                                                                                       \
    X(kernels_pool)                                                                                          \
    X(kernels_resize)                                                                                        \
    X(kernels_join) /* concatenation */                                                                      \
    X(kernels_index)                                                                                         \
    X(kernels_sort)                                                                                          \
    X(kernels_conv)                                                                                          \
    X(kernels_elementwise)                                                                                   \
    X(kernels_other)                                                                                         \
    X(missing) /* calls that nobody has written yet: refused */

typedef struct dry_counts {
#define DRY_MEMBER(name) int64_t name;
    DRY_COUNTS(DRY_MEMBER)
#undef DRY_MEMBER
} dry_counts;

typedef enum dry_word {
#define DRY_ENUM(name) DRY_##name,
    DRY_COUNTS(DRY_ENUM)
#undef DRY_ENUM
        DRY_WORDS
} dry_word;

/* For tests, found by dlsym in the library that STOKER_DRY_LIBRARY names. Any thread. */
typedef void dry_read_function(dry_counts *counts);
DRY_EXPORT void dry_read(dry_counts *counts);

/* For the libraries. */
DRY_EXPORT void dry_count(dry_word word);
DRY_EXPORT void dry_trace(const char *format, ...) __attribute__((format(printf, 1, 2)));
DRY_EXPORT int dry_refuse(const char *name, int code); /* a call that is not there; prints it, gives code */

/* Something that a GPU would do on a stream: it is counted now, or, where the stream is captured, each time
 * the graph is launched. stream: a handle; NULL: the default one. */
typedef struct dry_task {
    dry_word word, part;        /* part: counted, too; the same as word: nothing else is */
    const char *name;           /* in the trace; NULL: not there. Lives for ever */
    unsigned grid[3], block[3]; /* of kernels */
    void *to;
    const void *from; /* NULL: nothing is copied */
    size_t bytes;     /* of kernels: shared memory */
    int fill;         /* -1: nothing is filled */
} dry_task;
DRY_EXPORT int dry_submit(void *stream, const dry_task *task); /* a code of the runtime */

#endif
