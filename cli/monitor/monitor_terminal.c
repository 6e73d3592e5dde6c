/* SPDX-License-Identifier: Apache-2.0 */
/* The terminal under ncurses: Ctrl-Z, resizing, and restoring it on every exit path. */
#include "monitor_screen.h"

#include <errno.h>
#include <locale.h>
#include <ncurses.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>

enum { ESCAPES = 128, ESCAPE_DELAY_MS = 25 };

/* Signals have no context, so this is the one terminal of the process. */
static struct {
    SCREEN *screen;
    int wake;
    struct termios found; /* as it was before */
    char leave[ESCAPES];  /* escapes that restore the normal screen and the cursor */
    size_t leave_bytes;
} terminal;
static volatile sig_atomic_t taken; /* ncurses has it */
static atomic_int heard;            /* written by handlers in the main thread, taken by the screen's thread */

static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGQUIT};

void stk__terminal_let_go(void)
{
    tcflow(STDOUT_FILENO, TCOOFF); /* only this pair undoes a Ctrl-S */
    tcflow(STDOUT_FILENO, TCOON);
}

void stk__terminal_rescue(void)
{
    if (!taken) return;
    const int kept = errno;
    stk__terminal_let_go(); /* or we would be kept here */
    if (write(STDOUT_FILENO, terminal.leave, terminal.leave_bytes) < 0) errno = kept; /* nothing helps then */
    tcsetattr(STDOUT_FILENO, TCSANOW, &terminal.found);
    taken = 0; /* from now on the process may exit */
    errno = kept;
}

static void note_signal(int number)
{
    const uint64_t one = 1;
    const int kept = errno;
    atomic_fetch_or(&heard, number == SIGTSTP   ? STK_HEARD_STOP
                            : number == SIGCONT ? STK_HEARD_CONTINUE
                                                : STK_HEARD_RESIZE);
    if (write(terminal.wake, &one, sizeof one) < 0) errno = kept; /* it is full: awake already */
    errno = kept;
}

static void die_clean(int number)
{
    stk__terminal_rescue();
    raise(number); /* default action: SA_RESETHAND has removed the handler */
}

static void listen_to(bool on)
{
    static const int noted[] = {SIGTSTP, SIGCONT, SIGWINCH};
    struct sigaction note = {.sa_handler = on ? note_signal : SIG_DFL, .sa_flags = SA_RESTART};
    struct sigaction die = {.sa_handler = on ? die_clean : SIG_DFL, .sa_flags = (int)SA_RESETHAND}, now;
    for (size_t i = 0; i < sizeof noted / sizeof noted[0]; i++)
        sigaction(noted[i], &note, NULL);
    for (size_t i = 0; i < sizeof fatal / sizeof fatal[0]; i++)
        if (sigaction(fatal[i], NULL, &now) == 0 && now.sa_handler == (on ? SIG_DFL : die_clean))
            sigaction(fatal[i], &die, NULL); /* a sanitizer's handlers stay */
}

/* Without the padding delays of terminfo: no current terminal needs them. */
static void add_escape(const char *name)
{
    char buffer[8], *found = tigetstr(memcpy(buffer, name, strlen(name) + 1));
    if (!found || found == (char *)-1) return;
    const size_t length = strcspn(found, "$");
    if (terminal.leave_bytes + length > ESCAPES) return;
    memcpy(terminal.leave + terminal.leave_bytes, found, length);
    terminal.leave_bytes += length;
}

static void set_modes(void)
{
    cbreak();
    noecho();
    nonl();
    curs_set(0);
    set_escdelay(ESCAPE_DELAY_MS);
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    leaveok(stdscr, TRUE);
}

const char *stk__screen_absent(void)
{
    int cause;
    const char *type = getenv("TERM");
    if (!isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO)) return "not a terminal";
    if (!stk__terminal_is_ours()) return "running in the background";
    if (!type || !*type || strcmp(type, "dumb") == 0) return "TERM is not set or is 'dumb'";
    if (setupterm(NULL, STDOUT_FILENO, &cause) != OK) return "no terminfo entry for TERM";
    const bool has_cursor = cursor_address;
    del_curterm(cur_term);
    return has_cursor ? NULL : "the terminal cannot position its cursor";
}

stk_status stk__terminal_start(int wake, stk_error *error)
{
    setlocale(LC_CTYPE, ""); /* numbers stay as they are */
    terminal.wake = wake;
    heard = 0;
    if (tcgetattr(STDOUT_FILENO, &terminal.found) != 0) return stk__fail_errno(error, errno, "no terminal");
    terminal.screen = newterm(NULL, stdout, stdin);
    if (!terminal.screen) return stk__fail(error, STK_ERROR_IO, "ncurses cannot use this terminal");
    terminal.leave_bytes = 0;
    add_escape("sgr0");
    add_escape("cnorm");
    add_escape("rmkx");
    add_escape("rmcup");
    taken = 1;
    listen_to(true);
    stk__interrupt_last(stk__terminal_rescue);
    set_modes();
    return STK_OK;
}

void stk__terminal_end(void)
{
    if (!terminal.screen) return;
    if (taken && stk__terminal_is_ours()) endwin();
    taken = 0;
    stk__interrupt_last(NULL); /* not before: a second signal may end the process in the middle of it */
    listen_to(false);
    delscreen(terminal.screen);
    terminal.screen = NULL;
}

int stk__terminal_heard(void)
{
    return atomic_exchange(&heard, 0);
}

bool stk__terminal_is_ours(void)
{
    return tcgetpgrp(STDOUT_FILENO) == getpgrp();
}

void stk__terminal_suspend(void)
{
    struct sigaction stop = {.sa_handler = SIG_DFL}, note;
    sigset_t open, before;
    sigemptyset(&open);
    sigaddset(&open, SIGTSTP);
    endwin();
    taken = 0;
    sigaction(SIGTSTP, &stop, &note);
    pthread_sigmask(SIG_UNBLOCK, &open, &before); /* our threads start with these signals blocked */
    raise(SIGTSTP);                               /* returns when the process is continued */
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    sigaction(SIGTSTP, &note, NULL);
}

void stk__terminal_resume(void)
{
    taken = 1;
    reset_prog_mode();
    clearok(curscr, TRUE);
    refresh();
    curs_set(0);
}

void stk__terminal_resize(void)
{
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || !size.ws_row || !size.ws_col) return;
    resizeterm(size.ws_row, size.ws_col);
    clearok(curscr, TRUE);
}
