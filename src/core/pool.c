/* SPDX-License-Identifier: Apache-2.0 */
/* The thread pool for loops over whole batches. A caller posts a job on its stack and works on it itself;
 * idle threads join, take items by an atomic counter and leave. Threads spin for some microseconds before
 * they sleep, because the jobs of a training step follow closely. One lock guards list and membership. */
#include "core/pool.h"

#include "core/clock.h"
#include "core/cpu.h"
#include "core/thread.h"

#include <stdatomic.h>
#include <stdio.h>

/* How long a thread looks for the next job, or for the end of one, before it sleeps. Jobs of a training step
 * follow each other within microseconds; to be woken takes about as long as this. */
enum { LOOK_NS = 50000 };

/* A job while it runs; lives on its caller's stack. */
typedef struct running_job {
    const stk__pool_job *job;
    atomic_size_t next;       /* first item that is not taken */
    int limit;                /* threads, the caller included */
    int joined;               /* threads of the pool that came; under lock */
    atomic_int active;        /* … and are still at it; changed under lock */
    struct running_job *prev; /* in the list of jobs, under lock */
    struct running_job *following;
} running_job;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t work, left; /* a job came; a thread left its job */
    running_job *jobs;
    atomic_uint job_count; /* that ever came; changed under lock */
    stk__thread *threads[STK_POOL_WORKERS - 1];
    int count; /* of threads */
    bool ready, stopping;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local bool inside; /* this thread is at work on an item */

static uint64_t soon(void)
{
    return stk__clock_ns() + STK_SECOND_NS;
}

static void run_items(running_job *running, int worker)
{
    const stk__pool_job *job = running->job;
    inside = true;
    for (size_t item; (item = atomic_fetch_add(&running->next, 1)) < job->count;)
        job->run(job->context, item, worker);
    inside = false;
}

/* The oldest job that has items left and room for one more; under lock. */
static running_job *find_job(void)
{
    running_job *oldest = NULL;
    for (running_job *r = pool.jobs; r; r = r->following)
        if (r->joined + 1 < r->limit && atomic_load(&r->next) < r->job->count) oldest = r;
    return oldest;
}

static void pause_cpu(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/* For a while without the lock, then asleep; under lock. */
static void await_job(void)
{
    const unsigned seen = atomic_load(&pool.job_count);
    pthread_mutex_unlock(&pool.lock);
    const uint64_t end_ns = stk__clock_ns() + LOOK_NS;
    while (atomic_load(&pool.job_count) == seen && stk__clock_ns() < end_ns)
        pause_cpu();
    pthread_mutex_lock(&pool.lock);
    if (atomic_load(&pool.job_count) == seen && !pool.stopping)
        stk__cond_wait(&pool.work, &pool.lock, soon());
}

static void work_for_jobs(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&pool.lock);
    while (!pool.stopping) {
        running_job *running = find_job();
        if (!running) {
            await_job();
            continue;
        }
        const int worker = ++running->joined;
        running->active++;
        pthread_mutex_unlock(&pool.lock);
        run_items(running, worker);
        pthread_mutex_lock(&pool.lock);
        running->active--;
        pthread_cond_broadcast(&pool.left);
    }
    pthread_mutex_unlock(&pool.lock);
}

/* Both or none; under lock. */
static bool make_conditions(void)
{
    if (pool.ready) return true;
    if (stk__cond_init(&pool.work, NULL) != STK_OK) return false;
    if (stk__cond_init(&pool.left, NULL) != STK_OK) {
        pthread_cond_destroy(&pool.work);
        return false;
    }
    return pool.ready = true;
}

/* As many threads as there can be, up to count; under lock. */
static void start_threads(int count)
{
    if (!make_conditions()) return;
    while (pool.count < count) {
        stk__thread_options options = {.run = work_for_jobs};
        snprintf(options.name, sizeof options.name, "stk-pool-%u", (unsigned)(pool.count + 1) % 100u);
        if (stk__thread_start(&pool.threads[pool.count], &options, NULL) != STK_OK) return;
        pool.count++;
    }
}

static void enter_job(running_job *running)
{
    running->following = pool.jobs;
    if (pool.jobs) pool.jobs->prev = running;
    pool.jobs = running;
    atomic_fetch_add(&pool.job_count, 1);
}

static void remove_job(running_job *running)
{
    if (running->following) running->following->prev = running->prev;
    *(running->prev ? &running->prev->following : &pool.jobs) = running->following;
}

int stk__pool_default_workers(void)
{
    static atomic_int workers;
    int known = atomic_load(&workers);
    if (known == 0) {
        known = stk__cpu_budget_read(NULL).cpus;
        atomic_store(&workers, known);
    }
    return known < STK_POOL_WORKERS ? known : STK_POOL_WORKERS;
}

static int limit_of(const stk__pool_job *job)
{
    int limit = job->workers ? job->workers : stk__pool_default_workers();
    if (limit > STK_POOL_WORKERS) limit = STK_POOL_WORKERS;
    return (size_t)limit > job->count ? (int)job->count : limit;
}

static int run_alone(const stk__pool_job *job)
{
    for (size_t item = 0; item < job->count; item++)
        job->run(job->context, item, 0);
    return 1;
}

/* No thread can join any more. */
static void await_end(running_job *running)
{
    const uint64_t end_ns = stk__clock_ns() + LOOK_NS;
    while (atomic_load(&running->active) > 0 && stk__clock_ns() < end_ns)
        pause_cpu();
    if (atomic_load(&running->active) == 0) return;
    pthread_mutex_lock(&pool.lock);
    while (atomic_load(&running->active) > 0)
        stk__cond_wait(&pool.left, &pool.lock, soon());
    pthread_mutex_unlock(&pool.lock);
}

int stk__pool_run(const stk__pool_job *job)
{
    running_job running = {.job = job, .limit = limit_of(job)};
    if (running.limit <= 1 || inside) return run_alone(job);
    pthread_mutex_lock(&pool.lock);
    start_threads(running.limit - 1);
    if (pool.count + 1 < running.limit) running.limit = pool.count + 1;
    if (running.limit > 1) {
        enter_job(&running);
        for (int i = 1; i < running.limit; i++) /* no more than can help */
            pthread_cond_signal(&pool.work);
    }
    pthread_mutex_unlock(&pool.lock);
    run_items(&running, 0);
    if (running.limit == 1) return 1;
    pthread_mutex_lock(&pool.lock);
    remove_job(&running);
    pthread_mutex_unlock(&pool.lock);
    await_end(&running);
    return running.limit;
}

void stk__pool_stop(void)
{
    pthread_mutex_lock(&pool.lock);
    pool.stopping = true;
    if (pool.ready) pthread_cond_broadcast(&pool.work);
    pthread_mutex_unlock(&pool.lock);
    for (int i = 0; i < pool.count; i++)
        while (!stk__thread_join(&pool.threads[i], soon()))
            continue;
    if (pool.ready) {
        pthread_cond_destroy(&pool.work);
        pthread_cond_destroy(&pool.left);
    }
    pool.count = 0;
    pool.ready = pool.stopping = false;
}
