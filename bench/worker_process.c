#include "worker_process.h"

#include "core/clock.h"
#include "core/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_BEFORE = 8 };
enum { ANSWER_S = 120 }; /* without another limit; loading all libraries of a cold disk takes a while */

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

static void STK__PRINTF(2, 3) lose_peer(stk__peer *peer, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(peer->words, sizeof peer->words, format, arguments);
    va_end(arguments);
    peer->present = false;
}

static int spawn_program(stk__peer *peer, char *const argv[], int its_end)
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
    const int failed = posix_spawnp(&peer->pid, argv[0], &actions, &attributes, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return failed;
}

void stk__peer_spawn(stk__peer *peer, char *const argv[])
{
    *peer = (stk__peer){0};
    int ends[2] = {-1, -1};
    int failed = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0 ? 0 : errno;
    if (!failed) failed = spawn_program(peer, argv, ends[1]);
    if (ends[1] >= 0) close(ends[1]);
    peer->link = ends[0];
    if (!failed) return;
    peer->pid = 0;
    lose_peer(peer, "cannot start '%.100s': %s", argv[0], strerror(failed));
}

void stk__peer_start(stk__peer *peer, const stk__peer_options *o)
{
    char script[PATH_MAX], cpus[16], count[24], h[16], w[16];
    snprintf(script, sizeof script, "%s/serve.py", o->folder);
    snprintf(cpus, sizeof cpus, "%d", o->cpus);
    snprintf(count, sizeof count, "%llu", (unsigned long long)o->count);
    snprintf(h, sizeof h, "%d", (int)o->h);
    snprintf(w, sizeof w, "%d", (int)o->w);
    const char *const words[] = {o->python, script, o->module, o->how, cpus, o->data, count, h, w, NULL};
    char *argv[MOST_BEFORE + sizeof words / sizeof words[0]];
    int length = 0;
    for (; o->before && length < MOST_BEFORE && o->before[length]; length++)
        argv[length] = (char *)o->before[length];
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        argv[length++] = (char *)words[i];
    stk__peer_spawn(peer, argv);
}

typedef enum line_state { LINE_CAME, LINE_LATE, LINE_ENDED } line_state;

static int answer_limit_s(const stk__peer *peer)
{
    return peer->answer_s > 0 ? peer->answer_s : ANSWER_S;
}

/* One line, a byte at a time: they are short and rare. */
static line_state read_line(stk__peer *peer, char *line, size_t size)
{
    const uint64_t deadline = stk__clock_ns() + (uint64_t)answer_limit_s(peer) * STK_SECOND_NS;
    for (size_t length = 0; length + 1 < size;) {
        struct pollfd ready = {.fd = peer->link, .events = POLLIN};
        const int polled = poll(&ready, 1, 100);
        if (atomic_load(stk__interrupt_flag()) || stk__clock_ns() > deadline) return LINE_LATE;
        if (polled <= 0) continue;
        if (read(peer->link, line + length, 1) != 1) return LINE_ENDED;
        const bool last = line[length] == '\n';
        line[last ? length : ++length] = '\0';
        if (last) return LINE_CAME;
    }
    return LINE_CAME; /* too long: the rest is of no use */
}

/* With all that it started: the group outlives its leader. */
static void end_processes(stk__peer *peer)
{
    if (peer->pid == 0) return;
    kill(-peer->pid, SIGKILL);
    waitpid(peer->pid, NULL, 0);
    peer->pid = 0;
}

/* It has closed its end; a moment later there is a status to tell. */
static void explain_end(stk__peer *peer)
{
    siginfo_t end = {0}; /* it is not reaped here: its number stays that of the group */
    for (int i = 0; i < 100 && end.si_pid == 0; i++) {
        waitid(P_PID, (id_t)peer->pid, &end, WEXITED | WNOHANG | WNOWAIT);
        if (end.si_pid == 0) usleep(10000);
    }
    if (end.si_pid == 0)
        lose_peer(peer, "its process closed its output");
    else if (end.si_code == CLD_EXITED)
        lose_peer(peer, "its process ended (status %d)", end.si_status);
    else
        lose_peer(peer, "its process was ended by signal %d", end.si_status);
    end_processes(peer);
}

static bool read_answer(stk__peer *peer, const char *word, char *rest, size_t size)
{
    char line[256];
    const size_t length = strlen(word);
    const line_state state = read_line(peer, line, sizeof line);
    if (state == LINE_LATE) {
        lose_peer(peer, "no answer in %d s", answer_limit_s(peer));
        end_processes(peer); /* it would disturb the others */
    }
    if (state == LINE_ENDED) explain_end(peer);
    if (state != LINE_CAME) return false;
    if (strncmp(line, word, length) != 0 || line[length] != ' ') {
        lose_peer(peer, "%.180s", strncmp(line, "absent ", 7) == 0 ? line + 7 : line);
        return false;
    }
    snprintf(rest, size, "%s", line + length + 1);
    return true;
}

void stk__peer_await(stk__peer *peer)
{
    if (peer->pid) peer->present = read_answer(peer, "ready", peer->words, sizeof peer->words);
}

bool stk__peer_send(stk__peer *peer, const char *request)
{
    char line[64];
    if (!peer->present) return false;
    const int length = snprintf(line, sizeof line, "%s\n", request);
    if (send(peer->link, line, (size_t)length, MSG_NOSIGNAL) == length) return true;
    explain_end(peer);
    return false;
}

bool stk__peer_answers(const stk__peer *peer, int wait_ms)
{
    struct pollfd ready = {.fd = peer->link, .events = POLLIN};
    return poll(&ready, 1, wait_ms) != 0 || atomic_load(stk__interrupt_flag());
}

bool stk__peer_receive(stk__peer *peer, const char *word, char answer[STK_PEER_ANSWER])
{
    return peer->present && read_answer(peer, word, answer, STK_PEER_ANSWER);
}

bool stk__peer_round(stk__peer *peer, const char *chain, double *ms)
{
    char request[48], answer[STK_PEER_ANSWER];
    snprintf(request, sizeof request, "round %s", chain);
    if (!stk__peer_send(peer, request) || !stk__peer_receive(peer, "ms", answer)) return false;
    *ms = strtod(answer, NULL);
    return true;
}

void stk__peer_stop(stk__peer *peer)
{
    end_processes(peer);
    if (peer->link > 0) close(peer->link);
    peer->link = 0;
    peer->present = false;
}
