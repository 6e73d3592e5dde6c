/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel source: what dropout multiplies the values of a batch by. The bits of engine/dropout.h. Not in
 * OpenCL, where nobody trains. */
#if !defined(__OPENCL_VERSION__)

/* Four values of every rows-th sample. */
STK_FUNCTION void make_factors(const stk__kernel_dropout_work *work, uint32_t column, uint32_t row,
                               uint32_t item)
{
    const uint64_t first = (uint64_t)column * STK_KERNEL_DROPOUT_VALUES + item * 4;
    const uint64_t seed = (uint64_t)work->numbers[0];
    words at;
    at.word[0] = (uint32_t)work->numbers[1];
    at.word[2] = work->operation;
    at.word[3] = (uint32_t)(first / 4);
    for (uint32_t n = row; n < work->samples && first < work->length; n += work->rows) {
        STK_GLOBAL float *factors = work->factors + (uint64_t)n * work->length + first;
        at.word[1] = (uint32_t)work->ids[n];
        const words drawn = draw_words(at, (uint32_t)seed, (uint32_t)(seed >> 32));
        STK_UNROLL
        for (uint32_t k = 0; k < 4; k++)
            if (first + k < work->length)
                factors[k] = (drawn.word[k] >> 8) >= work->threshold ? work->scale : 0.0f;
    }
}

#if defined(__CUDACC_RTC__)
extern "C" __global__ void __launch_bounds__(STK_KERNEL_GROUP)
    stk_dropout(const stk__kernel_dropout_work work)
{
    make_factors(&work, blockIdx.x, blockIdx.y, threadIdx.x);
}
#else
static void stk_dropout(const stk__kernel_dropout_work *work, uint32_t column, uint32_t row)
{
    for (uint32_t item = 0; item < STK_KERNEL_GROUP; item++)
        make_factors(work, column, row, item);
}
#endif

#endif
