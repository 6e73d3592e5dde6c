/* SPDX-License-Identifier: Apache-2.0 */
/* Drivers of OpenCL may abort, crash or hang as soon as they are asked what is there: PoCL aborts where /sys
 * is not mounted. So the first one to ask is a process of its own: this program again, with one hidden
 * argument. It lists all devices and leaves with a status that no driver uses by chance. What else happens to
 * it is the reason why OpenCL is not available here, with the last line that it wrote to standard error.
 *
 * Any thread may be the first to open OpenCL; the library asks once (opencl_api.h). */
#include "device/opencl/opencl_probe.h"

#include "core/clock.h"
#include "device/device.h"
#include "device/opencl/opencl_api.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARGUMENT "--opencl-probe"
enum { PASSED = 86, DEADLINE_S = 20, KILL_S = 1, LOOK_AGAIN_MS = 10, MOST_READS = 32 };

extern char **environ;

/* What the process wrote last. */
typedef struct tail {
    char text[512];
    size_t length;
} tail;

static void add_to_tail(tail *t, const char *bytes, size_t count)
{
    const size_t most = sizeof t->text - 1;
    if (count > most) bytes += count - most, count = most;
    const size_t kept = t->length + count > most ? most - count : t->length;
    memmove(t->text, t->text + t->length - kept, kept);
    memcpy(t->text + kept, bytes, count);
    t->length = kept + count;
    t->text[t->length] = '\0';
}

/* The last line that is not empty; "" if there is none. */
static const char *last_line(tail *t)
{
    while (t->length && strchr(" \r\n", t->text[t->length - 1]))
        t->text[--t->length] = '\0';
    const char *start = strrchr(t->text, '\n');
    return start ? start + 1 : t->text;
}

/* Reads what is there, waiting a moment for it: as much as a pipe holds, however fast more comes. */
static void hear(int from, tail *t)
{
    char bytes[4096];
    struct pollfd ready = {.fd = from, .events = POLLIN};
    poll(&ready, 1, LOOK_AGAIN_MS);
    for (int i = 0; i < MOST_READS; i++) {
        const ssize_t count = read(from, bytes, sizeof bytes);
        if (count <= 0) break;
        add_to_tail(t, bytes, (size_t)count);
    }
    if (ready.revents & POLLHUP) poll(NULL, 0, 1); /* it is about to end */
}

static stk_status start(pid_t *pid, int *from, stk_error *error)
{
    static char *const words[] = {"stoker", ARGUMENT, NULL};
    int ends[2], cause;
    posix_spawn_file_actions_t actions;
    if (pipe2(ends, O_CLOEXEC) != 0) return stk__fail_errno(error, errno, "cannot create a pipe");
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    cause = posix_spawn_file_actions_init(&actions);
    if (!cause) {
        /* standard error first: the pipe may lie at 0 and 1 itself */
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDWR, 0);
        posix_spawn_file_actions_adddup2(&actions, STDIN_FILENO, STDOUT_FILENO);
        cause = posix_spawn(pid, "/proc/self/exe", &actions, NULL, words, environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    close(ends[1]);
    *from = ends[0];
    if (!cause) return STK_OK;
    close(ends[0]);
    return stk__fail_errno(error, cause, "cannot start a process that tries the OpenCL driver");
}

static stk_status judge(int status, tail *t, stk_error *error)
{
    char how[64];
    const char *said = last_line(t);
    if (WIFEXITED(status) && WEXITSTATUS(status) == PASSED) return STK_OK;
    if (WIFSIGNALED(status))
        snprintf(how, sizeof how, "by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        snprintf(how, sizeof how, "with status %d", WEXITSTATUS(status));
    stk__fail(error, STK_ERROR_UNSUPPORTED, "the OpenCL driver ended its trial process %s%s%.200s", how,
              *said ? ": " : "", said);
    stk__error_hint(error, "fix or remove the OpenCL driver, or use augment.device=cpu");
    return STK_ERROR_UNSUPPORTED;
}

/* A driver that hangs in the kernel cannot be killed: then the process is left behind. */
static stk_status give_up(pid_t pid, stk_error *error)
{
    const uint64_t deadline_ns = stk__clock_ns() + KILL_S * STK_SECOND_NS;
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, WNOHANG) == 0 && stk__clock_ns() < deadline_ns)
        poll(NULL, 0, LOOK_AGAIN_MS);
    stk__fail(error, STK_ERROR_UNSUPPORTED, "the OpenCL driver did not answer within %d s", DEADLINE_S);
    stk__error_hint(error, "fix or remove the OpenCL driver, or use augment.device=cpu");
    return STK_ERROR_UNSUPPORTED;
}

static stk_status probe(stk_error *error)
{
    const uint64_t deadline_ns = stk__clock_ns() + DEADLINE_S * STK_SECOND_NS;
    tail said = {.length = 0};
    pid_t pid = -1, ended = 0;
    int from = -1, status = 0;
    STK__TRY(start(&pid, &from, error));
    while (ended == 0 && stk__clock_ns() < deadline_ns) {
        hear(from, &said);
        ended = waitpid(pid, &status, WNOHANG);
    }
    const int cause = errno;
    hear(from, &said); /* what it wrote before it ended */
    close(from);
    if (ended == pid) return judge(status, &said, error);
    if (ended == 0) return give_up(pid, error);
    return stk__fail_errno(error, cause, "cannot wait for the process that tries the OpenCL driver");
}

/* In the new process. It dies with its parent, and leaves no core file. */
static _Noreturn void try_driver(void)
{
    static stk__device_info infos[STK_DEVICE_MOST];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    stk__device_opencl.list(infos, STK_DEVICE_MOST);
    _exit(PASSED);
}

void stk__opencl_probe_start(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], ARGUMENT) == 0) try_driver();
    stk__opencl_probe_set(probe);
}
