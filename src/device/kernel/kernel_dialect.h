/* SPDX-License-Identifier: Apache-2.0 */
/* The three languages of the kernel source: OpenCL C, CUDA (NVRTC) and plain C (host build). Everything after
 * this file is written once, in what they have in common plus these words.
 *
 * A kernel is a row of phases with a barrier between them. A phase is a function of the item's number in its
 * group, `item`: on a device every item calls it once, the host build calls it for one item after the other.
 */
#if defined(__OPENCL_VERSION__)

#pragma OPENCL FP_CONTRACT OFF
typedef char int8_t;
typedef uchar uint8_t;
typedef ushort uint16_t;
typedef int int32_t;
typedef uint uint32_t;
typedef long int64_t;
typedef ulong uint64_t;
#define STK_UNROLL              _Pragma("unroll")
#define STK_FUNCTION            static inline
#define STK_GLOBAL              __global
#define STK_LOCAL               __local
#define STK_SAMPLE              __global /* where the numbers of a sample are read */
#define STK_FMA(a, b, c)        fma(a, b, c)
#define STK_FLOOR(v)            floor(v)
#define STK_BITS(v)             as_uint(v)
#define STK_FLOAT(bits)         as_float(bits)
#define STK_SMALLER(a, b)       ((a) < (b) ? (a) : (b))
#define STK_LARGER(a, b)        ((a) > (b) ? (a) : (b))
#define STK_PRODUCT_HIGH(a, b)  mul_hi((uint32_t)(a), (uint32_t)(b))
#define STK_ADD_SHARED(sum, by) atomic_add(sum, by)
#define STK_LOWER_SHARED(v, to) atomic_min(v, to)
#define STK_PHASE(call)                                                                                      \
    {                                                                                                        \
        const uint32_t item = (uint32_t)get_local_id(0);                                                     \
        call;                                                                                                \
    }
#define STK_BARRIER barrier(CLK_LOCAL_MEM_FENCE)

#elif defined(__CUDACC_RTC__)

typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
#define STK_FUNCTION static __device__ __forceinline__
#define STK_GLOBAL
#define STK_LOCAL
#define STK_SAMPLE
#define STK_UNROLL              _Pragma("unroll")
#define STK_FMA(a, b, c)        __fmaf_rn(a, b, c)
#define STK_FLOOR(v)            floorf(v)
#define STK_BITS(v)             __float_as_uint(v)
#define STK_FLOAT(bits)         __uint_as_float(bits)
#define STK_SMALLER(a, b)       fminf(a, b)
#define STK_LARGER(a, b)        fmaxf(a, b)
#define STK_PRODUCT_HIGH(a, b)  __umulhi(a, b)
#define STK_ADD_SHARED(sum, by) atomicAdd(sum, by)
#define STK_LOWER_SHARED(v, to) atomicMin(v, to)
#define STK_PHASE(call)                                                                                      \
    {                                                                                                        \
        const uint32_t item = threadIdx.x;                                                                   \
        call;                                                                                                \
    }
#define STK_BARRIER __syncthreads()

#else

#define STK_FUNCTION static inline
#define STK_GLOBAL
#define STK_LOCAL
#define STK_SAMPLE
#define STK_UNROLL
#define STK_FMA(a, b, c)        fmaf(a, b, c)
#define STK_FLOOR(v)            floorf(v)
#define STK_BITS(v)             stk__bits_of(v)
#define STK_FLOAT(bits)         stk__float_of(bits)
#define STK_SMALLER(a, b)       ((a) < (b) ? (a) : (b))
#define STK_LARGER(a, b)        ((a) > (b) ? (a) : (b))
#define STK_PRODUCT_HIGH(a, b)  ((uint32_t)((uint64_t)(a) * (b) >> 32))
#define STK_ADD_SHARED(sum, by) (*(sum) += (by))
#define STK_LOWER_SHARED(v, to) (*(v) = *(v) < (to) ? *(v) : (to))
#define STK_PHASE(call)                                                                                      \
    for (uint32_t item = 0; item < STK_KERNEL_GROUP; item++) {                                               \
        call;                                                                                                \
    }
#define STK_BARRIER (void)0

#endif
