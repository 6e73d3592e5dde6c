#include "loader/guard.h"

#include "core/clock.h"
#include "core/logger.h"

static void watch(void *argument)
{
    stk__guard *guard = argument;
    const uint64_t start = stk__clock_ns(), patience_ns = stk__seconds_ns(guard->patience_s);
    pthread_mutex_lock(&guard->lock);
    for (uint64_t deadline = start + patience_ns; !guard->done; deadline += patience_ns) {
        while (!guard->done && stk__cond_wait(&guard->end, &guard->lock, deadline))
            continue;
        if (!guard->done)
            stk__log(STK_LOG_WARNING, "%s takes %.1f s so far: very many files, or storage that hangs",
                     guard->what, (double)(stk__clock_ns() - start) * 1e-9);
    }
    pthread_mutex_unlock(&guard->lock);
}

stk_status stk__guard_start(stk__guard *guard, const char *what, double patience_s, stk_error *error)
{
    *guard = (stk__guard){.what = what, .patience_s = patience_s};
    STK__TRY(stk__cond_init(&guard->end, error));
    pthread_mutex_init(&guard->lock, NULL);
    const stk__thread_options options = {.name = "stk-guard", .run = watch, .context = guard};
    const stk_status status = stk__thread_start(&guard->thread, &options, error);
    if (status != STK_OK) stk__guard_stop(guard);
    return status;
}

void stk__guard_stop(stk__guard *guard)
{
    pthread_mutex_lock(&guard->lock);
    guard->done = true;
    pthread_cond_signal(&guard->end);
    pthread_mutex_unlock(&guard->lock);
    while (!stk__thread_join(&guard->thread, stk__clock_ns() + STK_SECOND_NS))
        continue; /* it only wakes up and ends */
    pthread_mutex_destroy(&guard->lock);
    pthread_cond_destroy(&guard->end);
}
