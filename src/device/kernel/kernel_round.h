/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel source: finished samples of levels, 0 to 255 as float, as bytes. The bits of augmenter_pixels.c. Not
 * in OpenCL, which makes no bytes. */
#if !defined(__OPENCL_VERSION__)

/* Four values of a sample; neighbors read neighbors. */
STK_FUNCTION void round_values(const stk__kernel_round_work *work, uint32_t column, uint32_t number,
                               uint32_t item)
{
    const uint64_t sample = (uint64_t)number * work->length;
    const uint32_t first = column * STK_KERNEL_ROUND_VALUES + item;
    STK_UNROLL
    for (uint32_t k = 0; k < 4; k++) {
        const uint32_t at = first + k * STK_KERNEL_GROUP;
        if (at < work->length) work->to[sample + at] = (uint8_t)(int32_t)(work->from[sample + at] + 0.5f);
    }
}

#if defined(__CUDACC_RTC__)
extern "C" __global__ void __launch_bounds__(STK_KERNEL_GROUP) stk_round(const stk__kernel_round_work work)
{
    round_values(&work, blockIdx.x, blockIdx.z, threadIdx.x);
}
#else
static void stk_round(const stk__kernel_round_work *work, uint32_t column, uint32_t number)
{
    for (uint32_t item = 0; item < STK_KERNEL_GROUP; item++)
        round_values(work, column, number, item);
}
#endif

#endif
