/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel source: the kernels. stk_grey runs first where some sample has contrast, stk_augment always. */

#if defined(__OPENCL_VERSION__)
#define STK_KERNEL(name)                                                                                     \
    __kernel __attribute__((reqd_work_group_size(STK_KERNEL_GROUP, 1, 1))) void name(                        \
        const stk__kernel_launch launch, __global const uchar *arena, __global stk__kernel_sample *samples,  \
        __global uchar *image, __global uchar *mask)
#define STK_BEGIN(memory_type)                                                                               \
    stk__kernel_work work;                                                                                   \
    work.launch = launch;                                                                                    \
    work.arena = arena;                                                                                      \
    work.samples = samples;                                                                                  \
    work.image = image;                                                                                      \
    work.mask = mask;                                                                                        \
    const uint32_t column = get_group_id(0), row = get_group_id(1), number = get_group_id(2);                \
    __local memory_type memory
#define STK_OPEN_SAMPLE(t)                                                                                   \
    (t).sample = work.samples + number;                                                                      \
    (t).of_sample = derive(&work, number)
#elif defined(__CUDACC_RTC__)
/* Six groups of a multiprocessor: so the compiler takes 40 registers at most, where it has the choice. From
 * sm_100 on NVRTC 13.4 would spill with so few. */
#if __CUDA_ARCH__ >= 1000
#define STK_GROUPS 5
#else
#define STK_GROUPS 6
#endif
#define STK_KERNEL(name)                                                                                     \
    extern "C" __global__ void __launch_bounds__(STK_KERNEL_GROUP, STK_GROUPS)                               \
        name(const stk__kernel_work work)
#define STK_BEGIN(memory_type)                                                                               \
    const uint32_t column = blockIdx.x, row = blockIdx.y, number = blockIdx.z;                               \
    __shared__ memory_type memory
/* Once into shared memory: the first items copy, the last one computes. */
#define STK_OPEN_SAMPLE(t)                                                                                   \
    __shared__ __align__(16) stk__kernel_sample sample;                                                      \
    __shared__ __align__(16) derived of_sample;                                                              \
    if (threadIdx.x < sizeof sample / 4)                                                                     \
        ((uint32_t *)&sample)[threadIdx.x] = ((const uint32_t *)(work.samples + number))[threadIdx.x];       \
    if (threadIdx.x == STK_KERNEL_GROUP - 1) of_sample = derive(&work, number);                              \
    STK_BARRIER;                                                                                             \
    (t).sample = &sample;                                                                                    \
    (t).of_sample = of_sample
#else
#define STK_KERNEL(name)                                                                                     \
    static void name(const stk__kernel_work work, uint32_t column, uint32_t row, uint32_t number)
#define STK_BEGIN(memory_type) memory_type memory
#define STK_OPEN_SAMPLE(t)                                                                                   \
    (t).sample = work.samples + number;                                                                      \
    (t).of_sample = derive(&work, number)
#endif

#define STK_OPEN_TILE(t)                                                                                     \
    tile t;                                                                                                  \
    STK_OPEN_SAMPLE(t);                                                                                      \
    t.x = (int32_t)column * STK_KERNEL_TILE_W;                                                               \
    t.y = (int32_t)row * STK_KERNEL_TILE_H

STK_KERNEL(stk_grey)
{
    STK_BEGIN(grey_memory);
    if (work.samples[number].contrast_step < 0) return;
    STK_OPEN_TILE(t);
    STK_PHASE(find_greys(&work, &t, &memory, item))
    STK_BARRIER;
    STK_PHASE(sum_columns(&memory, item))
    STK_BARRIER;
    STK_PHASE(add_greys(work.samples + number, &memory, item))
}

STK_KERNEL(stk_augment)
{
    STK_BEGIN(tile_memory);
    STK_OPEN_TILE(t);
    if (work.samples[number].block.blur_radius == 0) {
        STK_PHASE(make_pixel(&work, &t, item))
        return;
    }
    STK_PHASE(fill_tile(&work, &t, &memory, item))
    STK_BARRIER;
    STK_PHASE(blur_rows(&work, &t, &memory, item))
    STK_BARRIER;
    STK_PHASE(blur_columns(&work, &t, &memory, item))
}
