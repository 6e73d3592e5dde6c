/* SPDX-License-Identifier: Apache-2.0 */
/* Loaders whose batches end in the fake GPU's memory, and a consumer that reads them on a stream of its
 * own, for digests. */
#include "cuda_resident.h"

#include "core/memory.h"
#include "fake_cuda_driver.h"
#include "loader/digest.h"
#include "loader/host_copy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

stk_loader_options resident_options(const char *root)
{
    return (stk_loader_options){
        .root = root, .batch_size = 5, .num_workers = 2, .seed = 4, .dtype = STK_STORE_F32, .timeout_s = 30};
}

stk_loader *resident_open(const stk_loader_options *options)
{
    stk_loader *loader;
    stk_error error = {0};
    const stk_status status = stk_loader_open(&loader, options, &error);
    if (status != STK_OK) print_error("%s\n", error.message);
    assert_int_equal(status, STK_OK);
    return loader;
}

void resident_digest_add(stk__digest *digest, const stk_batch *batch)
{
    stk__hash *hash;
    stk__buffer memory = {0};
    stk_batch copy;
    stk_error error = {0};
    assert_int_equal(stk__hash_create(&hash, NULL), STK_OK);
    assert_int_equal(stk_batch_wait(batch, &error), STK_OK);
    assert_int_equal(stk__host_copy(batch, &memory, &copy, &error), STK_OK);
    *digest = stk__digest_chain(hash, *digest, &copy);
    stk__hash_destroy(&hash);
    stk__buffer_fini(&memory);
}

/* To the end of an epoch. */
stk__digest resident_epoch(stk_loader *loader)
{
    stk__digest digest = {0};
    stk_batch *batch;
    stk_error error = {0};
    stk_status status;
    while ((status = stk_loader_next(loader, &batch, &error)) == STK_OK) {
        resident_digest_add(&digest, batch);
        stk_batch_release(batch);
    }
    if (status != STK_END) print_error("%s\n", error.message);
    assert_int_equal(status, STK_END);
    return digest;
}

void reader_start(reader *r)
{
    const stk__cuda_api *api = &fake_driver_open()->cuda;
    *r = (reader){.capacity = 4 << 20};
    assert_int_equal(api->cuInit(0), 0);
    assert_int_equal(api->cuDevicePrimaryCtxRetain(&r->context, 0), 0);
    assert_int_equal(api->cuCtxPushCurrent_v2(r->context), 0);
    assert_int_equal(api->cuStreamCreate(&r->stream, CU_STREAM_NON_BLOCKING), 0);
    assert_int_equal(api->cuEventCreate(&r->end, CU_EVENT_DISABLE_TIMING), 0);
    assert_int_equal(api->cuMemHostAlloc((void **)&r->bytes, r->capacity, 0), 0);
}

void reader_take(reader *r, const stk_tensor *tensor)
{
    const size_t bytes = (size_t)stk_tensor_bytes(tensor);
    assert_true(r->used + bytes <= r->capacity);
    if (!bytes) return;
    const stk__cu_pointer from = (stk__cu_pointer)(uintptr_t)tensor->data;
    assert_int_equal(
        fake_driver_open()->cuda.cuMemcpyDtoHAsync_v2(r->bytes + r->used, from, bytes, r->stream), 0);
    r->used += bytes;
}

void reader_end(reader *r)
{
    const stk__cuda_api *api = &fake_driver_open()->cuda;
    stk__cu_handle popped;
    assert_int_equal(api->cuStreamDestroy_v2(r->stream), 0);
    assert_int_equal(api->cuEventDestroy_v2(r->end), 0);
    assert_int_equal(api->cuMemFreeHost(r->bytes), 0);
    assert_int_equal(api->cuCtxPopCurrent_v2(&popped), 0);
    assert_int_equal(api->cuDevicePrimaryCtxRelease_v2(0), 0);
}

void reader_wait(const reader *r)
{
    assert_int_equal(fake_driver_open()->cuda.cuEventRecord(r->end, r->stream), 0);
    while (fake_driver_open()->cuda.cuEventQuery(r->end) == CUDA_ERROR_NOT_READY)
        nanosleep(&(struct timespec){0, 200000}, NULL);
    assert_int_equal(fake_driver_open()->cuda.cuEventQuery(r->end), 0);
}
