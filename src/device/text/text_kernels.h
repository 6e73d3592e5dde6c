/* Device text: the kernels. stk_grey runs first where some sample has contrast, stk_augment always. */

#if defined(__OPENCL_VERSION__)
#define STK_KERNEL(name)                                                                                     \
    __kernel __attribute__((reqd_work_group_size(STK_TEXT_GROUP, 1, 1))) void name(                          \
        const stk__text_launch launch, __global const uchar *arena, __global stk__text_sample *samples,      \
        __global uchar *image, __global uchar *mask)
#define STK_BEGIN(memory_type)                                                                               \
    stk__text_work work;                                                                                     \
    work.launch = launch;                                                                                    \
    work.arena = arena;                                                                                      \
    work.samples = samples;                                                                                  \
    work.image = image;                                                                                      \
    work.mask = mask;                                                                                        \
    const tile t = find_tile(&work, get_group_id(0), get_group_id(1), get_group_id(2));                      \
    __local memory_type memory
#elif defined(__CUDACC_RTC__)
#define STK_KERNEL(name)                                                                                     \
    extern "C" __global__ void __launch_bounds__(STK_TEXT_GROUP) name(const stk__text_work work)
#define STK_BEGIN(memory_type)                                                                               \
    const tile t = find_tile(&work, blockIdx.x, blockIdx.y, blockIdx.z);                                     \
    __shared__ memory_type memory
#else
#define STK_KERNEL(name)                                                                                     \
    static void name(const stk__text_work work, uint32_t column, uint32_t row, uint32_t number)
#define STK_BEGIN(memory_type)                                                                               \
    const tile t = find_tile(&work, column, row, number);                                                    \
    memory_type memory
#endif

STK_KERNEL(stk_grey)
{
    STK_BEGIN(grey_memory);
    if (t.sample->contrast_step < 0) return;
    STK_PHASE(find_greys(&work, &t, &memory, item))
    STK_BARRIER;
    STK_PHASE(sum_columns(&memory, item))
    STK_BARRIER;
    STK_PHASE(add_greys(&t, &memory, item))
}

STK_KERNEL(stk_augment)
{
    STK_BEGIN(tile_memory);
    if (t.sample->block.blur_radius == 0) {
        STK_PHASE(make_pixel(&work, &t, item))
        return;
    }
    STK_PHASE(fill_tile(&work, &t, &memory, item))
    STK_BARRIER;
    STK_PHASE(blur_rows(&work, &t, &memory, item))
    STK_BARRIER;
    STK_PHASE(blur_columns(&work, &t, &memory, item))
}
