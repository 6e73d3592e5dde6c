/* SPDX-License-Identifier: Apache-2.0 */
/* Measures copies between host and GPU: one direction, pinned or pageable, the best of several rounds by
 * the driver's own events. Clock and bus figures are asked from the driver. Runs in the caller's thread.
 * */
#include "device/cuda/cuda_bandwidth.h"

#include "device/cuda/cuda_device.h"
#include "device/host.h"

#include <math.h>
#include <string.h>

static double ask(const stk__cuda *cuda, int attribute)
{
    int value;
    return cuda->api->cuDeviceGetAttribute(&value, attribute, cuda->ordinal) == CUDA_SUCCESS ? value
                                                                                             : (double)NAN;
}

stk__gpu_speed stk__cuda_speed(const stk__device *device)
{
    const stk__cuda *cuda = (const stk__cuda *)device;
    const double clock_khz = ask(cuda, CU_DEVICE_ATTRIBUTE_CLOCK_RATE),
                 units = ask(cuda, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    return (stk__gpu_speed){
        .units = units > 0 ? units : (double)NAN,
        .clock_mhz = clock_khz > 0 ? clock_khz * 1e-3 : (double)NAN,
        .memory_gb_per_s = stk__gpu_memory_gb_per_s(ask(cuda, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE),
                                                    ask(cuda, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH))};
}

static stk_status enqueue(stk__cuda *cuda, const stk__cuda_copies *copies, uint8_t *host, stk_error *error)
{
    const stk__cu_pointer there = cuda->arena.at;
    STK__TRY(stk__cuda_mark(cuda, cuda->marks[STK_CUDA_BEGUN], error));
    if (copies->to_host)
        STK__TRY(stk__cuda_check(cuda,
                                 cuda->api->cuMemcpyDtoHAsync_v2(host, there, copies->bytes, cuda->stream),
                                 "cuMemcpyDtoHAsync", error));
    else
        STK__TRY(stk__cuda_copy_in(cuda, there, host, copies->bytes, error));
    return stk__cuda_mark(cuda, cuda->marks[STK_CUDA_DONE], error);
}

/* One copy; *rate grows to its GB/s if it was faster than those before. */
static stk_status copy_once(stk__cuda *cuda, const stk__cuda_copies *copies, uint8_t *host, double *rate,
                            stk_error *error)
{
    const stk_status status = enqueue(cuda, copies, host, error);
    if (status != STK_OK) {
        stk__cuda_drain(cuda, cuda->marks[STK_CUDA_DONE]);
        return status;
    }
    STK__TRY(stk__cuda_wait(cuda, STK_CUDA_WAIT_FETCH, cuda->marks[STK_CUDA_DONE], error));
    const uint64_t ns = stk__cuda_time_ns(cuda, cuda->marks[STK_CUDA_BEGUN], cuda->marks[STK_CUDA_DONE]);
    if (!ns) return stk__fail(error, STK_ERROR_UNSUPPORTED, "the driver reports no duration of a copy");
    *rate = fmax(*rate, (double)copies->bytes / (double)ns);
    return STK_OK;
}

static stk_status run_rounds(stk__cuda *cuda, const stk__cuda_copies *copies, stk__host_memory *pages,
                             double *rate, stk_error *error)
{
    STK__TRY(stk__cuda_grow(cuda, &cuda->arena, copies->bytes, error));
    if (copies->pinned)
        STK__TRY(stk__cuda_grow_pinned(cuda, &cuda->arena_stage, copies->bytes, error));
    else
        STK__TRY(stk__host_reserve(pages, copies->bytes, copies->bytes, error));
    uint8_t *host = copies->pinned ? cuda->arena_stage.data : pages->data;
    memset(host, 1, copies->bytes); /* pages that were never written are all one page */
    for (int i = 0; i < copies->rounds; i++)
        STK__TRY(copy_once(cuda, copies, host, rate, error));
    return STK_OK;
}

stk_status stk__cuda_copies_measure(stk__device *device, const stk__cuda_copies *copies, double *gb_per_s,
                                    stk_error *error)
{
    stk__cuda *cuda = (stk__cuda *)device;
    stk__host_memory pages = {0};
    *gb_per_s = 0;
    STK__TRY(stk__cuda_enter(cuda, error));
    const stk_status status = run_rounds(cuda, copies, &pages, gb_per_s, error);
    stk__cuda_leave(cuda);
    if (!stk__cuda_has_lost(cuda)) stk__host_release(&pages); /* else it may still be written to */
    return status;
}
