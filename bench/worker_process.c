/* SPDX-License-Identifier: Apache-2.0 */
/* Processes of contestants: a socket is standard input and output of each, a request is one line, its answer
 * another one. Each leads a process group, so that whatever it starts is measured (from /proc) and ended with
 * it. Called by one thread, but for stk__worker_process_kill. */
#include "worker_process.h"

#include "core/clock.h"
#include "core/file.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ANSWER_S = 120 }; /* without another limit; loading all libraries of a cold disk takes a while */

/* --- command line ------------------------------------------------------------------------------------------
 */

void stk__command_add(stk__command *command, const char *format, ...)
{
    const size_t room = sizeof command->words - command->used;
    if (command->count < 0) return;
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(command->words + command->used, room, format, arguments);
    va_end(arguments);
    const bool fits = length >= 0 && (size_t)length < room && command->count < STK_COMMAND_WORDS;
    command->count = fits ? command->count + 1 : -1;
    command->used += fits ? (size_t)length + 1 : 0;
}

void stk__command_add_peer(stk__command *command, const stk__peer *peer)
{
    stk__command_add(command, "%s", peer->python);
    stk__command_add(command, "%s/serve.py", peer->folder);
    stk__command_add(command, "%s", peer->module);
    stk__command_add(command, "%s", peer->how);
    stk__command_add(command, "%d", peer->cpus);
    stk__command_add(command, "%s", peer->data);
    stk__command_add(command, "%llu", (unsigned long long)peer->count);
    stk__command_add(command, "%d", (int)peer->h);
    stk__command_add(command, "%d", (int)peer->w);
}

stk_status stk__peer_write_texts(const char *folder, stk_error *error)
{
    for (const stk__peer_text *t = stk__peer_texts; t->name; t++) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s/%s", folder, t->name);
        const stk__buffer text = {.data = (uint8_t *)t->text, .size_bytes = strlen(t->text)};
        STK__TRY(stk__file_write(path, text, STK_FILE_QUICK, error));
    }
    return STK_OK;
}

/* --- process -----------------------------------------------------------------------------------------------
 */

static void STK__PRINTF(2, 3) lose_process(stk__worker_process *process, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(process->words, sizeof process->words, format, arguments);
    va_end(arguments);
    process->present = false;
}

static int spawn_program(stk__worker_process *process, char *const argv[], int its_end)
{
    extern char **environ;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setsigmask(&attributes, &none); /* ours are for the watching thread */
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, its_end, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, its_end, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    const int failed = posix_spawnp(&process->pid, argv[0], &actions, &attributes, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return failed;
}

static void start_words(stk__worker_process *process, char *const argv[])
{
    int ends[2] = {-1, -1};
    int failed = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0 ? 0 : errno;
    if (!failed) failed = spawn_program(process, argv, ends[1]);
    if (ends[1] >= 0) close(ends[1]);
    process->link = ends[0];
    if (!failed) return;
    process->pid = 0;
    lose_process(process, "cannot start '%.100s': %s", argv[0], strerror(failed));
}

void stk__worker_process_start(stk__worker_process *process)
{
    char *argv[STK_COMMAND_WORDS + 1] = {0}, *word = process->command.words;
    for (int i = 0; i < process->command.count; i++, word += strlen(word) + 1)
        argv[i] = word;
    process->present = false;
    process->words[0] = '\0';
    process->pid = process->link = 0;
    if (process->command.count > 0)
        start_words(process, argv);
    else
        lose_process(process, "its command line is too long");
}

typedef enum line_state { LINE_CAME, LINE_LATE, LINE_ENDED } line_state;

static int answer_limit_s(const stk__worker_process *process)
{
    return process->answer_s > 0 ? process->answer_s : ANSWER_S;
}

/* One line, a byte at a time: they are short and rare. */
static line_state read_line(stk__worker_process *process, char *line, size_t size)
{
    const uint64_t deadline = stk__clock_ns() + (uint64_t)answer_limit_s(process) * STK_SECOND_NS;
    for (size_t length = 0; length + 1 < size;) {
        struct pollfd ready = {.fd = process->link, .events = POLLIN};
        const int polled = poll(&ready, 1, 100);
        if (atomic_load(process->stop) || stk__clock_ns() > deadline) return LINE_LATE;
        if (polled <= 0) continue;
        if (read(process->link, line + length, 1) != 1) return LINE_ENDED;
        const bool last = line[length] == '\n';
        line[last ? length : ++length] = '\0';
        if (last) return LINE_CAME;
    }
    return LINE_CAME; /* too long: the rest is of no use */
}

/* With all that it started: the group outlives its leader. */
static void end_group(stk__worker_process *process)
{
    if (process->pid == 0) return;
    kill(-process->pid, SIGKILL);
    waitpid(process->pid, NULL, 0);
    process->pid = 0;
}

/* It has closed its end; a moment later there is a status to tell. */
static void explain_end(stk__worker_process *process)
{
    siginfo_t end = {0}; /* it is not reaped here: its number stays that of the group */
    for (int i = 0; i < 100 && end.si_pid == 0; i++) {
        waitid(P_PID, (id_t)process->pid, &end, WEXITED | WNOHANG | WNOWAIT);
        if (end.si_pid == 0) usleep(10000);
    }
    if (end.si_pid == 0)
        lose_process(process, "its process closed its output");
    else if (end.si_code == CLD_EXITED)
        lose_process(process, "its process ended (status %d)", end.si_status);
    else
        lose_process(process, "its process was ended by signal %d", end.si_status);
    end_group(process);
}

static bool read_answer(stk__worker_process *process, const char *word, char *rest, size_t size)
{
    char line[256];
    const size_t length = strlen(word);
    const line_state state = read_line(process, line, sizeof line);
    if (state == LINE_LATE) {
        lose_process(process, "no answer in %d s", answer_limit_s(process));
        end_group(process); /* it would disturb the others */
    }
    if (state == LINE_ENDED) explain_end(process);
    if (state != LINE_CAME) return false;
    if (strncmp(line, word, length) != 0 || line[length] != ' ') {
        lose_process(process, "%.180s", strncmp(line, "absent ", 7) == 0 ? line + 7 : line);
        return false;
    }
    snprintf(rest, size, "%s", line + length + 1);
    return true;
}

void stk__worker_process_await(stk__worker_process *process)
{
    if (process->pid) process->present = read_answer(process, "ready", process->words, sizeof process->words);
}

bool stk__worker_process_send(stk__worker_process *process, const char *request)
{
    char line[64];
    if (!process->present) return false;
    const int length = snprintf(line, sizeof line, "%s\n", request);
    if (send(process->link, line, (size_t)length, MSG_NOSIGNAL) == length) return true;
    explain_end(process);
    return false;
}

bool stk__worker_process_answers(const stk__worker_process *process, int wait_ms)
{
    struct pollfd ready = {.fd = process->link, .events = POLLIN};
    return poll(&ready, 1, wait_ms) != 0 || atomic_load(process->stop);
}

bool stk__worker_process_receive(stk__worker_process *process, const char *word,
                                 char answer[STK_WORKER_ANSWER])
{
    return process->present && read_answer(process, word, answer, STK_WORKER_ANSWER);
}

void stk__worker_process_stop(stk__worker_process *process)
{
    end_group(process);
    if (process->link > 0) close(process->link);
    process->link = 0;
    process->present = false;
}

void stk__worker_process_kill(const stk__worker_process *process)
{
    if (process->pid) kill(-process->pid, SIGKILL);
}

/* --- what it uses ------------------------------------------------------------------------------------------
 */

typedef void (*visit_process)(const char *pid, double cpu_s, void *context);

/* The line of /proc/PID/stat: the name in brackets may hold anything, so what counts begins behind the last
 * one. */
static void visit_member(const char *pid, pid_t group, visit_process visit, void *context)
{
    char path[64], line[1024];
    snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
    FILE *file = fopen(path, "re");
    if (!file) return; /* it has just ended */
    const size_t length = fread(line, 1, sizeof line - 1, file);
    fclose(file);
    line[length] = '\0';
    const char *rest = strrchr(line, ')');
    int its_group = 0;
    unsigned long long user, system;
    long long children_user, children_system;
    if (!rest || sscanf(rest, ") %*c %*d %d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %lld %lld", &its_group,
                        &user, &system, &children_user, &children_system) != 5)
        return;
    if (its_group != group) return;
    const double ticks = (double)user + (double)system + (double)children_user + (double)children_system;
    visit(pid, ticks / (double)sysconf(_SC_CLK_TCK), context);
}

static void visit_group(pid_t group, visit_process visit, void *context)
{
    DIR *folder = group > 0 ? opendir("/proc") : NULL;
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (isdigit((unsigned char)entry->d_name[0])) visit_member(entry->d_name, group, visit, context);
    if (folder) closedir(folder);
}

static void add_cpu(const char *pid, double cpu_s, void *context)
{
    (void)pid;
    *(double *)context += cpu_s;
}

double stk__worker_process_cpu_seconds(const stk__worker_process *process)
{
    double sum = 0;
    visit_group(process->pid, add_cpu, &sum);
    return sum;
}

static void add_memory(const char *pid, double cpu_s, void *context)
{
    (void)cpu_s;
    char path[64], line[128];
    unsigned long long kib;
    snprintf(path, sizeof path, "/proc/%.20s/smaps_rollup", pid);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "Pss_Anon: %llu", &kib) == 1 || sscanf(line, "Pss_Shmem: %llu", &kib) == 1)
            *(uint64_t *)context += kib * 1024;
    if (file) fclose(file);
}

uint64_t stk__worker_process_memory_bytes(const stk__worker_process *process)
{
    uint64_t sum = 0;
    visit_group(process->pid, add_memory, &sum);
    return sum;
}
