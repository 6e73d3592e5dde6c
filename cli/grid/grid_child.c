/* SPDX-License-Identifier: Apache-2.0 */
/* A run of a grid is a process: this program again, with the run's settings. It dies with its parent, and
 * hears Ctrl-C only through it. */
#include "grid.h"

#include "core/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_WORDS = 400, NOT_STARTED = 125 };

/* The command line of a child; texts lie in one buffer. */
typedef struct command {
    stk__buffer texts;
    size_t offsets[MOST_WORDS];
    int count;
    char *words[MOST_WORDS + 1];
} command;

static stk_status add_word(command *c, const char *word, stk_error *error)
{
    if (c->count == MOST_WORDS) return stk__fail(error, STK_ERROR_CONFIG, "too many settings for a grid");
    return stk__buffer_text(&c->texts, word, strlen(word), &c->offsets[c->count++], error);
}

static stk_status add_setting(command *c, const char *name, const char *value, stk_error *error)
{
    char text[4096];
    if ((size_t)snprintf(text, sizeof text, "--%s=%s", name, value) >= sizeof text)
        return stk__fail(error, STK_ERROR_CONFIG, "'%s' is too long for a grid", name);
    return add_word(c, text, error);
}

static stk_status add_number(command *c, const stk__grid *grid, const char *name, int value, stk_error *error)
{
    char text[16];
    if (value <= 0 || json_object_get(grid->settings, name)) return STK_OK;
    for (int a = 0; a < grid->axis_count; a++)
        if (strcmp(grid->axes[a].name, name) == 0) return STK_OK;
    snprintf(text, sizeof text, "%d", value);
    return add_setting(c, name, text, error);
}

static stk_status add_combination(command *c, const stk__grid *grid, int run, stk_error *error)
{
    for (int a = 0; a < grid->axis_count; a++)
        STK__TRY(add_setting(c, grid->axes[a].name, stk__grid_value(grid, run, a), error));
    return STK_OK;
}

/* All that was asked for, whatever layer it came from. */
static stk_status add_settings(command *c, const stk__grid *grid, stk_error *error)
{
    const char *name;
    json_t *value;
    json_object_foreach(grid->settings, name, value)
        STK__TRY(add_setting(c, name, json_string_value(value), error));
    STK__TRY(add_number(c, grid, "run.threads", grid->threads, error));
    return add_number(c, grid, "data.num_workers", grid->workers, error);
}

static stk_status make_command(command *c, const stk__grid *grid, int run, bool plan, stk_error *error)
{
    char path[512];
    const stk__grid_run *r = &grid->runs[run];
    STK__TRY(add_word(c, "stoker", error));
    STK__TRY(add_word(c, "train", error));
    if (plan || !r->goes_on) {
        STK__TRY(add_settings(c, grid, error));
        STK__TRY(add_setting(c, "run.resume", "false", error)); /* whatever the environment says */
    }
    STK__TRY(add_combination(c, grid, run, error)); /* of a run that goes on, too: the environment counts more
                                                       than its folder */
    if (plan) {
        STK__TRY(add_word(c, "--plan", error));
        STK__TRY(add_word(c, "--json", error));
        STK__TRY(add_word(c, "-q", error));
    } else {
        stk__grid_path(grid, r, "", path, sizeof path);
        STK__TRY(add_word(c, "--run", error));
        STK__TRY(add_word(c, path, error));
        if (r->goes_on) STK__TRY(add_word(c, "--resume", error));
    }
    for (int i = 0; i < c->count; i++)
        c->words[i] = (char *)c->texts.data + c->offsets[i];
    return STK_OK;
}

/* In the new process, where only the simplest calls are allowed. */
static _Noreturn void run_child(char *const *words, int output, pid_t parent)
{
    sigset_t ours;
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    sigemptyset(&ours);
    sigaddset(&ours, SIGINT);
    sigaddset(&ours, SIGTERM);
    sigprocmask(SIG_UNBLOCK, &ours, NULL);
    setpgid(0, 0); /* the terminal's Ctrl-C is for the parent, which passes it on once */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(NOT_STARTED);
    if (dup2(nothing, STDIN_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0 || dup2(output, STDERR_FILENO) < 0)
        _exit(NOT_STARTED);
    execv("/proc/self/exe", words);
    _exit(NOT_STARTED);
}

static stk_status open_output(const stk__grid *grid, stk__grid_run *r, bool plan, int *output,
                              stk_error *error)
{
    char path[512] = "its plan";
    stk__grid_path(grid, r, ".log", path, sizeof path);
    *output = plan ? memfd_create("plan", MFD_CLOEXEC)
                   : open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (*output < 0) return stk__fail_errno(error, errno, "cannot write '%s'", plan ? "a plan" : path);
    r->log_start = plan ? 0 : lseek(*output, 0, SEEK_END);
    return STK_OK;
}

static stk_status start(stk__grid *grid, stk__grid_run *r, char *const *words, bool plan, stk_error *error)
{
    int output;
    const pid_t parent = getpid();
    STK__TRY(open_output(grid, r, plan, &output, error));
    r->start_ns = stk__clock_ns();
    r->pid = fork();
    if (r->pid == 0) run_child(words, output, parent);
    const int cause = errno;
    if (plan && r->pid > 0)
        r->told = output;
    else
        close(output);
    return r->pid > 0 ? STK_OK : stk__fail_errno(error, cause, "cannot start a process for '%s'", r->name);
}

stk_status stk__grid_start(stk__grid *grid, int run, bool plan, stk_error *error)
{
    static command c; /* too large for a stack */
    c = (command){.count = 0};
    stk_status status = make_command(&c, grid, run, plan, error);
    if (status == STK_OK) status = start(grid, &grid->runs[run], c.words, plan, error);
    if (status == STK_OK) grid->runs[run].state = STK_GRID_RUNNING;
    stk__buffer_fini(&c.texts);
    return status;
}

bool stk__grid_ended(stk__grid_run *r, int *status)
{
    int code = 0;
    if (r->pid <= 0 || waitpid(r->pid, &code, WNOHANG) != r->pid) return false;
    r->pid = 0;
    *status = WIFSIGNALED(code) ? 128 + WTERMSIG(code) : WEXITSTATUS(code);
    return true;
}

void stk__grid_stop(const stk__grid *grid, int signal_number)
{
    for (int i = 0; i < grid->run_count; i++)
        if (grid->runs[i].pid > 0) kill(grid->runs[i].pid, signal_number);
}

/* The rest of the last line that begins so; false: there is none. */
static bool find_line(const char *text, const char *begin, char *line, size_t size)
{
    const char *found = NULL;
    for (const char *at = text; (at = strstr(at, begin)) != NULL; at++)
        if (at == text || at[-1] == '\n') found = at + strlen(begin);
    if (found) snprintf(line, size, "%.*s", (int)strcspn(found, "\n"), found);
    return found;
}

void stk__grid_hear(stk__grid_run *r, int status, const char *text)
{
    char place[160];
    r->hint[0] = '\0';
    if (status > 128)
        snprintf(r->error, sizeof r->error, "ended by signal %d (%s)", status - 128, strsignal(status - 128));
    else if (!find_line(text, "stoker: ", r->error, sizeof r->error) &&
             !find_line(text, "stoker train: ", r->error, sizeof r->error))
        snprintf(r->error, sizeof r->error, "ended with status %d", status);
    else if (find_line(text, "  where: ", place, sizeof place))
        snprintf(r->error + strlen(r->error), sizeof r->error - strlen(r->error), " (%s)", place);
    find_line(text, "  hint:  ", r->hint, sizeof r->hint);
}
