/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for a CUDA device: with a deadline, through one function, and what follows when it is lost. */
#include "core/clock.h"
#include "device/cuda/cuda_device.h"

#include <time.h>

enum { SPIN_NS = 50 * 1000 };

int stk__cuda_wait_skip;

bool stk__cuda_has_lost(const stk__cuda *cuda)
{
    return atomic_load_explicit(&cuda->lost, memory_order_acquire) == 2;
}

void stk__cuda_lose(stk__cuda *cuda, const stk_error *reason)
{
    int not_yet = 0;
    if (!atomic_compare_exchange_strong(&cuda->lost, &not_yet, 1)) return;
    cuda->reason = *reason;
    atomic_store_explicit(&cuda->lost, 2, memory_order_release);
}

stk_status stk__cuda_check(stk__cuda *cuda, int code, const char *call, stk_error *error)
{
    if (code == CUDA_SUCCESS) return STK_OK;
    stk_error own;
    const stk_status status = stk__cuda_judge(cuda->api, code, call, &own);
    if (stk__cuda_is_lost(code)) stk__cuda_lose(cuda, &own);
    if (error) *error = own;
    return status;
}

stk_status stk__cuda_ask(stk__cuda *cuda, stk__cuda_site site, stk__cu_handle event, bool *over,
                         stk_error *error)
{
    *over = (int)site == stk__cuda_wait_skip;
    if (*over) return STK_OK;
    const int code = cuda->api->cuEventQuery(event);
    *over = code == CUDA_SUCCESS;
    if (*over || code == CUDA_ERROR_NOT_READY) return STK_OK;
    stk_error own;
    const stk_status status = stk__cuda_check(cuda, code, "cuEventQuery", &own);
    stk__cuda_lose(cuda, &own); /* the state of queued work is unknown from now on */
    if (error) *error = own;
    return status;
}

static stk_status give_up(stk__cuda *cuda, stk__cuda_site site, stk_error *error)
{
    static const char *const works[STK_CUDA_WAIT_SITES] = {"",
                                                           "a batch",
                                                           "what was left of a batch",
                                                           "earlier batches",
                                                           "a batch",
                                                           "a batch",
                                                           "a batch",
                                                           "the network's work",
                                                           "a copy to the host",
                                                           "a batch",
                                                           "its work before it was closed",
                                                           "an earlier copy",
                                                           "a copy to the host",
                                                           "a copy to the host",
                                                           "the network's work",
                                                           "its copies before it was closed"};
    stk_error own;
    stk__fail(&own, STK_ERROR_TIMEOUT, "timeout: '%s' did not finish %s within %.1f s",
              cuda->device.info.name, works[site], (double)cuda->device.timeout_ns * 1e-9);
    stk__error_hint(&own,
                    "the GPU hangs or is busy with other work; check nvidia-smi and dmesg (Xid errors)");
    stk__cuda_lose(cuda, &own);
    if (error) *error = own;
    return STK_ERROR_TIMEOUT;
}

/* Polls the event, because the driver's own waits have no deadline: first without sleeping, since the kernel
 * rounds the shortest sleep up to about 60 us, then with pauses that grow from 5 to 500 us. */
stk_status stk__cuda_wait(stk__cuda *cuda, stk__cuda_site site, stk__cu_handle event, stk_error *error)
{
    const uint64_t start_ns = stk__clock_ns();
    struct timespec pause = {0, 5000};
    for (;;) {
        bool over;
        STK__TRY(stk__cuda_ask(cuda, site, event, &over, error));
        if (over) return STK_OK;
        const uint64_t waited_ns = stk__clock_ns() - start_ns;
        if (waited_ns >= cuda->device.timeout_ns) return give_up(cuda, site, error);
        if (waited_ns < SPIN_NS) continue;
        nanosleep(&pause, NULL);
        if (pause.tv_nsec < 500000) pause.tv_nsec += pause.tv_nsec / 4;
    }
}

uint64_t stk__cuda_time_ns(const stk__cuda *cuda, stk__cu_handle from, stk__cu_handle to)
{
    float ms = 0;
    if (cuda->api->cuEventElapsedTime(&ms, from, to) != CUDA_SUCCESS || !(ms > 0)) return 0;
    return (uint64_t)((double)ms * 1e6);
}
