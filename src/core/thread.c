/* SPDX-License-Identifier: Apache-2.0 */
/* Threads on pthreads with a name, all signals blocked, and joins with a deadline. A thread that does not
 * end in time is abandoned: it frees its own handle when it returns after all. Condition variables use the
 * monotonic clock. */
#include "core/thread.h"

#include "core/clock.h"
#include "core/memory.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

struct stk__thread {
    pthread_t handle;
    pthread_mutex_t lock; /* guards done */
    pthread_cond_t ended;
    bool done;
    bool abandoned; /* (lock) it destroys itself when it ends */
    stk__thread_options options;
};

static bool (*start_fault)(void);

void stk__thread_fault_set(bool (*fault)(void))
{
    start_fault = fault;
}

stk_status stk__cond_init(pthread_cond_t *cond, stk_error *error)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    const int failed = pthread_cond_init(cond, &attributes);
    pthread_condattr_destroy(&attributes);
    return failed ? stk__fail_errno(error, failed, "cannot create a condition variable") : STK_OK;
}

bool stk__cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, uint64_t deadline_ns)
{
    const struct timespec until = {.tv_sec = (time_t)(deadline_ns / STK_SECOND_NS),
                                   .tv_nsec = (long)(deadline_ns % STK_SECOND_NS)};
    return pthread_cond_timedwait(cond, mutex, &until) != ETIMEDOUT;
}

static void destroy(stk__thread *thread)
{
    pthread_mutex_destroy(&thread->lock);
    pthread_cond_destroy(&thread->ended);
    stk__free(thread);
}

static void *thread_main(void *argument)
{
    stk__thread *thread = argument;
    pthread_setname_np(pthread_self(), thread->options.name);
    /* On Linux a thread has a priority of its own; refused, it stays as it was. */
    if (thread->options.nice) setpriority(PRIO_PROCESS, (id_t)gettid(), thread->options.nice);
    thread->options.run(thread->options.context);
    pthread_mutex_lock(&thread->lock);
    thread->done = true;
    const bool abandoned = thread->abandoned;
    pthread_cond_signal(&thread->ended);
    pthread_mutex_unlock(&thread->lock);
    if (abandoned) destroy(thread); /* the last reference */
    return NULL;
}

/* Signals are the program's business: our threads block them all, so that they reach the caller's threads. */
static int create_without_signals(stk__thread *thread)
{
    if (start_fault && start_fault()) return EAGAIN;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int failed = pthread_create(&thread->handle, NULL, thread_main, thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

stk_status stk__thread_start(stk__thread **out, const stk__thread_options *options, stk_error *error)
{
    *out = NULL;
    stk__thread *thread = stk__alloc(sizeof *thread);
    if (!thread) return stk__fail_memory(error, sizeof *thread, "a thread");
    thread->options = *options;
    const stk_status status = stk__cond_init(&thread->ended, error);
    if (status != STK_OK) {
        stk__free(thread);
        return status;
    }
    pthread_mutex_init(&thread->lock, NULL);
    const int failed = create_without_signals(thread);
    if (failed) {
        pthread_mutex_destroy(&thread->lock);
        pthread_cond_destroy(&thread->ended);
        stk__free(thread);
        stk__fail_errno(error, failed, "cannot start thread '%s'", options->name);
        stk__error_hint(error,
                        "lower data.num_workers, or raise the limit on threads (ulimit -u, cgroup pids.max)");
        if (error) error->code = STK_ERROR_THREAD;
        return STK_ERROR_THREAD;
    }
    *out = thread;
    return STK_OK;
}

bool stk__thread_join(stk__thread **pointer, uint64_t deadline_ns)
{
    stk__thread *thread = *pointer;
    if (!thread) return true;
    pthread_mutex_lock(&thread->lock);
    while (!thread->done && stk__cond_wait(&thread->ended, &thread->lock, deadline_ns))
        continue;
    const bool done = thread->done;
    pthread_mutex_unlock(&thread->lock);
    if (!done) return false;
    pthread_join(thread->handle, NULL); /* a moment: run has returned */
    destroy(thread);
    *pointer = NULL;
    return true;
}

void stk__thread_abandon(stk__thread **pointer)
{
    stk__thread *thread = *pointer;
    if (!thread) return;
    *pointer = NULL;
    pthread_mutex_lock(&thread->lock);
    const bool done = thread->done;
    thread->abandoned = !done;
    if (!done) pthread_detach(thread->handle);
    pthread_mutex_unlock(&thread->lock);
    if (!done) return;
    pthread_join(thread->handle, NULL); /* it came back after all */
    destroy(thread);
}
