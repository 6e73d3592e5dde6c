#include "bench_torch_share.h"

#include "engine/torch/torch_api.h"

#include <string.h>
#include <time.h>

/* Of the thread that makes the steps; other threads work inside of operators only. */
static stk__torch_api *table;
static int32_t (*dispatch)(const char *name, const char *overload, uint64_t *stack, uint64_t version);
static double inside_s;

static double cpu_seconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int32_t time_call(const char *name, const char *overload, uint64_t *stack, uint64_t version)
{
    const double before_s = cpu_seconds(CLOCK_THREAD_CPUTIME_ID);
    const int32_t result = dispatch(name, overload, stack, version);
    if (strcmp(name, "aten::copy_") != 0) inside_s += cpu_seconds(CLOCK_THREAD_CPUTIME_ID) - before_s;
    return result;
}

stk_status stk__torch_share_begin(stk__torch_share *share, stk_error *error)
{
    const stk__torch_api *api;
    STK__TRY(stk__torch_api_open(&api, error));
    table = (stk__torch_api *)api; /* every engine of this process looks there */
    dispatch = table->torch_call_dispatcher;
    table->torch_call_dispatcher = time_call;
    inside_s = 0;
    *share = (stk__torch_share){.thread_s = cpu_seconds(CLOCK_THREAD_CPUTIME_ID),
                                .process_s = cpu_seconds(CLOCK_PROCESS_CPUTIME_ID)};
    return STK_OK;
}

double stk__torch_share_end(const stk__torch_share *share)
{
    const double thread_s = cpu_seconds(CLOCK_THREAD_CPUTIME_ID) - share->thread_s;
    const double process_s = cpu_seconds(CLOCK_PROCESS_CPUTIME_ID) - share->process_s;
    table->torch_call_dispatcher = dispatch;
    return (thread_s - inside_s) / process_s;
}
