/* SPDX-License-Identifier: Apache-2.0 */
/* `stoker monitor -- COMMAND` and `stoker doctor -- COMMAND`: a child process that waits behind a pipe until
 * the monitor is ready, gets the signals of the terminal passed on, and is waited for by a thread of its own.
 */
#include "child.h"

#include "core/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOT_STARTED = 125, NOT_RUNNABLE = 126, NOT_FOUND = 127 }; /* as shells and env report it */

static void close_end(int *end)
{
    if (*end >= 0) close(*end);
    *end = -1;
}

/* In the child after fork: async-signal-safe calls only. Signal dispositions are those this program was
 * started with. */
static void run_command(char *const *command, int gate, int told)
{
    char go;
    stk__interrupt_child();
    if (read(gate, &go, 1) != 1) _exit(NOT_STARTED);
    execvp(command[0], command);
    const int cause = errno;
    if (write(told, &cause, sizeof cause) < 0) _exit(NOT_STARTED);
    _exit(cause == ENOENT ? NOT_FOUND : NOT_RUNNABLE);
}

stk_status stk__child_start(stk__child *child, char *const *command, stk_error *error)
{
    int gate[2], told[2];
    *child = (stk__child){.pid = -1, .command = command, .gate = -1, .told = -1};
    if (pipe2(gate, O_CLOEXEC) != 0) return stk__fail_errno(error, errno, "cannot create a pipe");
    if (pipe2(told, O_CLOEXEC) != 0) {
        stk__fail_errno(error, errno, "cannot create a pipe");
        close(gate[0]);
        close(gate[1]);
        return STK_ERROR_IO;
    }
    child->pid = fork();
    if (child->pid == 0) {
        close(gate[1]);
        run_command(command, gate[0], told[1]);
    }
    if (child->pid < 0) stk__fail_errno(error, errno, "cannot start '%s'", command[0]);
    close(gate[0]);
    close(told[1]);
    child->gate = gate[1];
    child->told = told[0];
    if (child->pid > 0) return STK_OK;
    close_end(&child->gate);
    close_end(&child->told);
    return STK_ERROR_IO;
}

static void wait_for_end(void *context)
{
    stk__child *child = context;
    siginfo_t seen;
    while (waitid(P_PID, (id_t)child->pid, &seen, WEXITED | WNOWAIT) < 0 && errno == EINTR)
        continue;
    stk__interrupt_relay(NULL, NULL); /* before its pid can be reused */
    while (waitpid(child->pid, &child->status, 0) < 0 && errno == EINTR)
        continue;
    if (child->when_ended) child->when_ended(child->context);
}

static void pass_on(void *context, int signal_number, bool from_terminal)
{
    stk__child *child = context;
    atomic_store(&child->signaled, true);
    if (!from_terminal) kill(child->pid, signal_number);
}

static stk_status hear_of_start(stk__child *child, stk_error *error)
{
    int cause = 0;
    ssize_t count;
    while ((count = read(child->told, &cause, sizeof cause)) < 0 && errno == EINTR)
        continue;
    close_end(&child->told);
    if (count != sizeof cause) return STK_OK; /* closed by its exec */
    return stk__fail_errno(error, cause, "cannot run '%s'", child->command[0]);
}

stk_status stk__child_release(stk__child *child, void (*when_ended)(void *), void *context, stk_error *error)
{
    child->when_ended = when_ended;
    child->context = context;
    const stk__thread_options options = {.name = "stk-child", .run = wait_for_end, .context = child};
    stk__interrupt_relay(pass_on, child); /* before the waiter may take it back */
    STK__TRY(stk__thread_start(&child->waiter, &options, error));
    const bool gone = write(child->gate, "", 1) != 1; /* it was killed while it waited */
    close_end(&child->gate);
    return gone ? stk__fail(error, STK_ERROR_IO, "'%s' was killed before it could start", child->command[0])
                : hear_of_start(child, error);
}

int stk__child_finish(stk__child *child)
{
    if (child->pid < 0) return NOT_STARTED;
    close_end(&child->gate); /* a child that still waits exits by itself */
    if (!child->waiter) wait_for_end(child);
    while (child->waiter && !stk__thread_join(&child->waiter, stk__clock_ns() + STK_SECOND_NS))
        continue;
    close_end(&child->told);
    return WIFSIGNALED(child->status) ? 128 + WTERMSIG(child->status) : WEXITSTATUS(child->status);
}
