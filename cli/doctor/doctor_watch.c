/* SPDX-License-Identifier: Apache-2.0 */
/* `stoker doctor -- COMMAND` and `--pid N`: the monitor's interval is the clock of the looks at processes;
 * the hook writes into a private folder by itself and is read at the end. The main thread watches; the
 * command is waited for by a thread of child.c, signals come from another. */
#include "doctor/doctor_watch.h"

#include "doctor/gpu_watch.h"

#include "core/clock.h"
#include "core/durable.h"
#include "doctor/hook_file.h"
#include "doctor/hook_launch.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOOK_S 0.25
/* A command that is asked to end may write a checkpoint first. */
#define PATIENCE_NS (5 * STK_SECOND_NS)

/* --- the hook --------------------------------------------------------------------------------------------
 */

static stk_status prepare_hook(stk__doctor_watch *w, stk_error *error)
{
    const char *temporary = getenv("TMPDIR");
    stk__hook_variable variables[STK_HOOK_VARIABLES] = {{0}};
    snprintf(w->folder, sizeof w->folder, "%s/stoker-doctor-XXXXXX",
             temporary && *temporary == '/' ? temporary : "/tmp");
    if (!mkdtemp(w->folder)) {
        stk__fail_errno(error, errno, "cannot create a folder for the hook");
        stk__error_place(error, "%s", w->folder);
        w->folder[0] = 0;
        return STK_ERROR_IO;
    }
    STK__TRY(stk__hook_write(w->folder, error));
    STK__TRY(stk__hook_environment(w->folder, getenv("PYTHONPATH"), variables, error));
    for (int i = 0; i < STK_HOOK_VARIABLES; i++) {
        if (variables[i].value) setenv(variables[i].name, variables[i].value, 1);
        stk__free(variables[i].value);
    }
    return STK_OK;
}

/* Without it there is still the evidence from outside. */
static void note_no_hook(stk__evidence *e, const char *why)
{
    e->hook_started = STK_NO;
    snprintf(e->hook_note, sizeof e->hook_note, "%.*s", (int)sizeof e->hook_note - 1, why);
}

static void start_hook(stk__doctor_watch *w, stk__evidence *e)
{
    stk_error error;
    if (prepare_hook(w, &error) != STK_OK) note_no_hook(e, error.message);
}

static void read_hook(const stk__doctor_watch *w, stk__evidence *e)
{
    stk_error error;
    if (!w->folder[0] || e->hook_started == STK_NO) return;
    if (stk__hook_file_read(w->folder, e, &error) != STK_OK) note_no_hook(e, error.message);
}

/* --- watching --------------------------------------------------------------------------------------------
 */

static void interrupt_monitor(void *monitor)
{
    stk_monitor_interrupt(monitor);
}

static void command_ended(void *context)
{
    stk__doctor_watch *w = context;
    atomic_store(&w->ended, true);
    stk_monitor_interrupt(w->monitor);
}

/* A zombie still answers kill(pid, 0); its pidfd reports the end. */
static bool has_ended(const stk__doctor_watch *w)
{
    struct pollfd asked = {.fd = w->job, .events = POLLIN};
    if (w->command) return atomic_load(&w->ended);
    return w->job >= 0 ? poll(&asked, 1, 0) > 0 : kill(w->pid, 0) != 0 && errno == ESRCH;
}

static stk_status open_all(stk__doctor_watch *w, stk__evidence *e, stk_error *error)
{
    if (w->command) {
        start_hook(w, e);
        STK__TRY(stk__child_start(&w->child, w->command, error));
        w->pid = w->child.pid;
    } else {
        w->job = (int)syscall(SYS_pidfd_open, w->pid, 0); /* Linux 5.3 */
        note_no_hook(e, "attached to a running process");
    }
    STK__TRY(stk__process_watch_open(&w->processes, NULL, w->pid, error));
    return stk_monitor_open(
        &w->monitor, &(stk_monitor_options){.interval_s = LOOK_S, .duration_s = w->duration_s, .pid = w->pid},
        error);
}

/* The time at which patience with a command that was asked to end is over; 0: it was not asked. */
static void watch_until_end(stk__doctor_watch *w, stk__gpu_watch *gpus)
{
    stk_monitor_frame *frame;
    stk_error error;
    uint64_t patience_ns = 0;
    while (stk_monitor_next(w->monitor, &frame, &error) == STK_OK) {
        stk__process_watch_look(w->processes, stk__clock_ns());
        stk__gpu_watch_add(gpus, frame);
        if (atomic_load(&w->child.signaled) && !patience_ns) patience_ns = stk__clock_ns() + PATIENCE_NS;
        if (has_ended(w) || (patience_ns && stk__clock_ns() > patience_ns)) break;
    }
}

/* Ends a command that still runs: its time is over, or it ignores Ctrl-C. */
static void end_command(stk__doctor_watch *w, stk__evidence *e)
{
    static const int signals[] = {SIGTERM, SIGKILL};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0] && !atomic_load(&w->ended); i++) {
        const uint64_t deadline_ns = stk__clock_ns() + PATIENCE_NS;
        e->stopped = true;
        kill(w->child.pid, signals[i]);
        while (!atomic_load(&w->ended) && stk__clock_ns() < deadline_ns)
            poll(NULL, 0, 20);
    }
}

static void finish_command(stk__doctor_watch *w, stk__evidence *e)
{
    end_command(w, e);
    e->exit_status = stk__child_finish(&w->child);
    e->stopped = e->stopped || atomic_load(&w->child.signaled);
    e->died = e->exit_status != 0 && !e->stopped;
}

/* Where the command is unknown but for its id. */
static void name_process(int32_t pid, char *text, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/cmdline", pid);
    FILE *file = fopen(path, "re");
    const size_t length = file ? fread(text, 1, size - 1, file) : 0;
    if (file) fclose(file);
    for (size_t i = 0; i + 1 < length; i++)
        if (!text[i]) text[i] = ' ';
    text[length] = 0;
}

static void name_command(const stk__doctor_watch *w, stk__evidence *e)
{
    size_t length = 0;
    if (!w->command) name_process(w->pid, e->command, sizeof e->command);
    for (int i = 0; w->command && w->command[i] && length < sizeof e->command; i++)
        length += (size_t)snprintf(e->command + length, sizeof e->command - length, "%s%s", i ? " " : "",
                                   w->command[i]);
}

static stk_status gather(stk__doctor_watch *w, const stk__gpu_watch *gpus, stk__evidence *e, stk_error *error)
{
    read_hook(w, e);
    STK__TRY(stk__process_watch_report(w->processes, e, error));
    stk_monitor_summarize(w->monitor, &e->gpus);
    e->gpus_known = true;
    e->watched_s = e->gpus.seconds;
    stk__gpu_watch_report(gpus, e);
    return STK_OK;
}

stk_status stk__doctor_watch_run(stk__doctor_watch *w, stk__evidence *evidence, stk_error *error)
{
    static stk__gpu_watch gpus; /* too large for a stack */
    w->job = -1;
    w->child = (stk__child){.pid = -1, .gate = -1, .told = -1};
    name_command(w, evidence);
    stk_status status = open_all(w, evidence, error);
    if (status == STK_OK) {
        stk__interrupt_wait(true);
        stk__interrupt_target(interrupt_monitor, w->monitor);
        if (w->command) status = stk__child_release(&w->child, command_ended, w, error);
    }
    if (status == STK_OK) watch_until_end(w, &gpus);
    if (w->child.pid > 0 && status == STK_OK)
        finish_command(w, evidence);
    else if (w->child.pid > 0)
        stk__child_finish(&w->child);
    stk__interrupt_target(NULL, NULL);
    return status == STK_OK ? gather(w, &gpus, evidence, error) : status;
}

int stk__doctor_watch_close(stk__doctor_watch *w)
{
    if (w->job >= 0) close(w->job);
    stk__process_watch_close(&w->processes);
    if (w->folder[0]) stk__durable_remove(w->folder);
    return stk_monitor_close(&w->monitor);
}
