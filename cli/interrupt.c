/* SPDX-License-Identifier: Apache-2.0 */
/* Ctrl-C and SIGTERM: one thread receives all signals (sigwaitinfo; there are no handlers). The first one
 * asks the work to stop; a second one, or 0.8 s without an end unless the work asked for patience, ends
 * the program. A signal meant for a watched command is passed on to it. SIGXFSZ is ignored. */
#include "cli.h"

#include "core/clock.h"
#include "core/thread.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

static atomic_bool interrupted, patient, told;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the four below */
static void (*stop_target)(void *);
static void *stop_context;
static void (*relay_target)(void *, int, bool);
static void *relay_context;
static sigset_t watched;
static void (*_Atomic last_call)(void);
static void (*size_signal)(int); /* what SIGXFSZ did before */

const atomic_bool *stk__interrupt_flag(void)
{
    return &interrupted;
}

void stk__interrupt_wait(bool wait)
{
    atomic_store(&patient, wait);
}

void stk__interrupt_last(void (*call)(void))
{
    atomic_store(&last_call, call);
}

void stk__interrupt_told(void)
{
    atomic_store(&told, true);
}

void stk__interrupt_target(void (*stop)(void *), void *context)
{
    pthread_mutex_lock(&lock);
    stop_target = stop;
    stop_context = context;
    if (stop && atomic_load(&interrupted)) stop(context);
    pthread_mutex_unlock(&lock);
}

void stk__interrupt_relay(void (*relay)(void *, int, bool), void *context)
{
    pthread_mutex_lock(&lock);
    relay_target = relay;
    relay_context = context;
    pthread_mutex_unlock(&lock);
}

/* True: it was somebody else's. */
static bool relay_signal(const siginfo_t *info)
{
    pthread_mutex_lock(&lock);
    const bool relayed = relay_target;
    if (relayed) relay_target(relay_context, info->si_signo, info->si_code == SI_KERNEL);
    pthread_mutex_unlock(&lock);
    return relayed;
}

/* Not by stdio: whoever hangs may hold its lock. Nobody is left to hear that it cannot be written. */
static void tell(void)
{
    static const char line[] = "stoker: interrupted\n";
    if (!atomic_exchange(&told, true) && write(STDERR_FILENO, line, sizeof line - 1) < 0) return;
}

/* The thread all signals go to. It never ends: the process does. */
static void watch_signals(void *unused)
{
    (void)unused;
    const struct timespec grace = {.tv_nsec = 800000000};
    siginfo_t info;
    while (sigwaitinfo(&watched, &info) < 0 || relay_signal(&info))
        continue;
    atomic_store(&interrupted, true);
    pthread_mutex_lock(&lock);
    if (stop_target) stop_target(stop_context);
    pthread_mutex_unlock(&lock);
    if (atomic_load(&patient))
        while (sigwaitinfo(&watched, &info) < 0)
            continue;
    else
        sigtimedwait(&watched, &info, &grace);
    void (*call)(void) = atomic_load(&last_call);
    if (call) call();
    tell();
    _exit(STK_EXIT_INTERRUPTED);
}

void stk__interrupt_child(void)
{
    if (size_signal != SIG_ERR) signal(SIGXFSZ, size_signal);
    sigprocmask(SIG_UNBLOCK, &watched, NULL);
}

stk_status stk__interrupt_start(stk_error *error)
{
    size_signal = signal(SIGXFSZ, SIG_IGN); /* a limit on file sizes fails the write, as a full disk does */
    sigemptyset(&watched);
    sigaddset(&watched, SIGINT);
    sigaddset(&watched, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &watched, NULL);
    static stk__thread *thread;
    const stk__thread_options options = {.name = "stk-signals", .run = watch_signals};
    return stk__thread_start(&thread, &options, error);
}

/* --- loaders and sessions ----------------------------------------------------------------------------------
 */

static void interrupt_loader(void *loader)
{
    stk_loader_interrupt(loader);
}

void stk__cli_loader_target(stk_loader *loader)
{
    stk__interrupt_target(interrupt_loader, loader);
}

stk_status stk__cli_loader_open(stk__arguments *arguments, stk__session_loading *loading, stk_loader **loader,
                                stk_error *error)
{
    const stk_status status = stk__session_loader_open(arguments->config, loading, loader, error);
    if (*loader) stk__cli_loader_target(*loader);
    return status;
}

void stk__cli_loader_close(stk_loader **loader, int status)
{
    stk__interrupt_target(NULL, NULL);
    if (stk_loader_close(loader) != 0) stk__cli_leave(status);
}

void stk__cli_session_close(stk__session *session, int status)
{
    stk__interrupt_target(NULL, NULL);
    if (stk__session_close(session) != 0) stk__cli_leave(status);
}
