/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels: their names, whether a GPU could launch them, and which class they are of. None is run. */
#include "cudart_device.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 1 << 18 };

typedef struct kernel {
    const void *function;
    const char *name;    /* mangled */
    size_t shared_bytes; /* the most that it may be given */
    struct kernel *next;
} kernel;

static kernel *kernels[SLOTS]; /* written while libraries are opened, which one thread does at a time */

static unsigned slot_of(const void *function)
{
    return (unsigned)(((uintptr_t)function >> 4) * 2654435761u) % SLOTS;
}

/* One that was never registered has no name. */
static kernel *kernel_of(const void *function)
{
    static kernel unknown = {.name = "?", .shared_bytes = DRY_SHARED_PLAIN};
    for (kernel *k = kernels[slot_of(function)]; k; k = k->next)
        if (k->function == function) return k;
    return &unknown;
}

/* More shared memory than usual must be asked for before. */
int cudaFuncSetAttribute(const void *function, int attribute, int value)
{
    enum { MAX_DYNAMIC_SHARED = 8 };
    if (attribute != MAX_DYNAMIC_SHARED) return 0;
    if (value < 0 || value > DRY_SHARED_MOST) return CUDART_INVALID_VALUE;
    kernel_of(function)->shared_bytes = (size_t)value;
    return 0;
}

/* The first that is part of the name decides. */
static const struct {
    const char *part;
    dry_word word;
} classes[] = {
    {"direct_copy", DRY_kernels_copy},
    {"copy_device_to_device", DRY_kernels_copy},
    {"converting_copy", DRY_kernels_copy},
    {"16_copy", DRY_kernels_copy},
    {"nchwToNhwc", DRY_kernels_copy},
    {"FillFunctor", DRY_kernels_fill},
    {"batch_norm", DRY_kernels_norm},
    {"lstm_cell", DRY_kernels_recurrent},
    {"multi_tensor", DRY_kernels_optimizer},
    {"SoftMax", DRY_kernels_softmax},
    {"softmax", DRY_kernels_softmax},
    {"reduce", DRY_kernels_reduce},
    {"pool", DRY_kernels_pool},
    {"upsample", DRY_kernels_resize},
    {"CatArray", DRY_kernels_join},
    {"radixSort", DRY_kernels_sort},
    {"DeviceRadix", DRY_kernels_sort},
    {"bitonicSort", DRY_kernels_sort},
    {"gatherTopK", DRY_kernels_sort},
    {"index", DRY_kernels_index},
    {"scatter", DRY_kernels_index},
    {"gather", DRY_kernels_index},
    {"conv_depthwise", DRY_kernels_conv},
    {"im2col", DRY_kernels_conv},
    {"col2im", DRY_kernels_conv},
    {"elementwise", DRY_kernels_elementwise},
};

static dry_word class_of(const char *name)
{
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++)
        if (strstr(name, classes[i].part)) return classes[i].word;
    return DRY_kernels_other;
}

static bool fits(dry_dim3 grid, dry_dim3 block)
{
    const bool grid_fits =
        grid.x && grid.y && grid.z && grid.x <= DRY_GRID_X && grid.y <= DRY_GRID_YZ && grid.z <= DRY_GRID_YZ;
    const bool block_fits = block.x && block.y && block.z && block.x <= DRY_BLOCK_X &&
                            block.y <= DRY_BLOCK_Y && block.z <= DRY_BLOCK_Z &&
                            (uint64_t)block.x * block.y * block.z <= DRY_BLOCK_THREADS;
    return grid_fits && block_fits;
}

static int launch(const void *function, dry_dim3 grid, dry_dim3 block, size_t shared_bytes, void *stream)
{
    const kernel *k = kernel_of(function);
    const char *name = k->name;
    const size_t most = k->shared_bytes > DRY_SHARED_PLAIN ? k->shared_bytes : DRY_SHARED_PLAIN;
    if (!fits(grid, block) || shared_bytes > most) {
        dry_count(DRY_out_of_limits);
        dry_trace("out of limits %u,%u,%u %u,%u,%u %zu %.240s", grid.x, grid.y, grid.z, block.x, block.y,
                  block.z, shared_bytes, name);
        return CUDART_INVALID_CONFIGURATION;
    }
    return dry_submit(stream, &(dry_task){.word = DRY_launches,
                                          .part = class_of(name),
                                          .name = name,
                                          .grid = {grid.x, grid.y, grid.z},
                                          .block = {block.x, block.y, block.z},
                                          .bytes = shared_bytes,
                                          .fill = -1});
}

int cudaLaunchKernel(const void *function, dry_dim3 grid, dry_dim3 block, void **arguments,
                     size_t shared_bytes, void *stream)
{
    (void)arguments;
    return launch(function, grid, block, shared_bytes, stream);
}

int cudaLaunchCooperativeKernel(const void *function, dry_dim3 grid, dry_dim3 block, void **arguments,
                                size_t shared_bytes, void *stream)
{
    (void)arguments;
    return launch(function, grid, block, shared_bytes, stream);
}

int cudaLaunchKernelExC(const cudart_config *config, const void *function, void **arguments)
{
    (void)arguments;
    return launch(function, config->grid, config->block, config->shared_bytes, config->stream);
}

/* --- what the compiler puts into a program for <<<>>> -------------------------------------------------- */

typedef struct configuration {
    dry_dim3 grid, block;
    size_t shared_bytes;
    void *stream;
} configuration;
static _Thread_local configuration pushed;

DRY_EXPORT void **__cudaRegisterFatBinary(void *binary);
DRY_EXPORT void __cudaRegisterFatBinaryEnd(void **handle);
DRY_EXPORT void __cudaUnregisterFatBinary(void **handle);
DRY_EXPORT void __cudaRegisterFunction(void **handle, const char *function, char *device, const char *name);
DRY_EXPORT void __cudaRegisterVar(void **handle);
DRY_EXPORT unsigned __cudaPushCallConfiguration(dry_dim3 grid, dry_dim3 block, size_t shared_bytes,
                                                void *stream);
DRY_EXPORT int __cudaPopCallConfiguration(dry_dim3 *grid, dry_dim3 *block, size_t *shared_bytes,
                                          void **stream);
DRY_EXPORT int __cudaGetKernel(void **handle, const void *function);
DRY_EXPORT int __cudaLaunchKernel(void *handle, dry_dim3 grid, dry_dim3 block, void **arguments,
                                  size_t shared_bytes, void *stream);

void **__cudaRegisterFatBinary(void *binary)
{
    static void *handle[4];
    (void)binary;
    return handle;
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
    (void)handle;
}

void __cudaUnregisterFatBinary(void **handle)
{
    (void)handle;
}

/* Six more parameters follow, for what is not used here. */
void __cudaRegisterFunction(void **handle, const char *function, char *device, const char *name)
{
    kernel *made = malloc(sizeof *made);
    (void)handle, (void)device;
    if (!made) abort();
    *made = (kernel){function, name, DRY_SHARED_PLAIN, kernels[slot_of(function)]};
    kernels[slot_of(function)] = made;
}

void __cudaRegisterVar(void **handle)
{
    (void)handle;
}

unsigned __cudaPushCallConfiguration(dry_dim3 grid, dry_dim3 block, size_t shared_bytes, void *stream)
{
    pushed = (configuration){grid, block, shared_bytes, stream};
    return 0;
}

int __cudaPopCallConfiguration(dry_dim3 *grid, dry_dim3 *block, size_t *shared_bytes, void **stream)
{
    *grid = pushed.grid;
    *block = pushed.block;
    *shared_bytes = pushed.shared_bytes;
    *stream = pushed.stream;
    return 0;
}

int __cudaGetKernel(void **handle, const void *function)
{
    *handle = (void *)(uintptr_t)function;
    return 0;
}

int __cudaLaunchKernel(void *handle, dry_dim3 grid, dry_dim3 block, void **arguments, size_t shared_bytes,
                       void *stream)
{
    (void)arguments;
    return launch(handle, grid, block, shared_bytes, stream);
}
