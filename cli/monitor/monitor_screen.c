/* SPDX-License-Identifier: Apache-2.0 */
/* Full-screen view of stoker monitor. The caller's thread stores frames; a separate thread draws and reads
 * keys, so that neither a slow terminal nor Ctrl-S delays sampling. */
#include "monitor_screen.h"

#include "core/clock.h"
#include "core/thread.h"

#include <errno.h>
#include <ncurses.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define JUDGE_EVERY_NS STK_SECOND_NS
#define SLICE_NS       (STK_SECOND_NS / 10) /* latency of an interrupt while waiting */
#define FROZEN_NS      (STK_SECOND_NS) /* a terminal that accepts no output for this long gets Ctrl-S undone */
#define PATIENCE_NS    (STK_SECOND_NS * 10) /* then the terminal may be slow; a second Ctrl-C does not wait */

typedef struct screen {
    int wake; /* eventfd: a frame, a signal, the end */
    stk__thread *thread;
    stk_monitor *monitor;
    uint64_t judged_ns;

    pthread_mutex_t lock; /* guards the three below */
    stk__view latest;
    bool fast; /* of a recording: to its end without waiting */
    bool leave;

    /* Of the thread that draws. */
    stk__view shown;
    stk__pen pen;
    stk__screen_looks looks;
    int visible;
    bool away; /* another process has the terminal */

    atomic_bool quit; /* asked for by a key */
} screen;

static void wake_up(screen *s)
{
    const uint64_t one = 1;
    while (write(s->wake, &one, sizeof one) < 0 && errno == EINTR)
        continue;
}

/* --- the thread that draws -------------------------------------------------------------------------------
 */

static void show(screen *s)
{
    getmaxyx(stdscr, s->pen.rows, s->pen.columns);
    s->visible = stk__draw_all(&s->pen, &s->shown, &s->looks);
    refresh();
}

/* True: quit. */
static bool take_latest(screen *s)
{
    pthread_mutex_lock(&s->lock);
    if (!s->looks.paused) stk__view_copy(&s->shown, &s->latest);
    const bool leave = s->leave;
    pthread_mutex_unlock(&s->lock);
    return leave;
}

static void go_fast(screen *s)
{
    pthread_mutex_lock(&s->lock);
    s->fast = true;
    pthread_mutex_unlock(&s->lock);
}

static void press(screen *s, int key)
{
    switch (key) {
    case 'q':
    case 'Q':
        atomic_store(&s->quit, true);
        stk_monitor_interrupt(s->monitor);
        break;
    case 'p':
    case 'P':
        s->looks.paused = !s->looks.paused;
        break;
    case 'f':
        go_fast(s);
        break;
    case 'h':
    case '?':
        s->looks.help = !s->looks.help;
        break;
    case KEY_DOWN:
    case 'j':
        s->looks.first += s->looks.step;
        break;
    case KEY_UP:
    case 'k':
        s->looks.first -= s->looks.step;
        break;
    case KEY_NPAGE:
        s->looks.first += s->visible;
        break;
    case KEY_PPAGE:
        s->looks.first -= s->visible;
        break;
    case KEY_HOME:
        s->looks.first = 0;
        break;
    case KEY_END:
        s->looks.first = STK_GPUS;
        break;
    default:
        break;
    }
}

/* In the background neither keys nor the screen are ours; sampling continues. */
static void mind_terminal(screen *s)
{
    const int heard = stk__terminal_heard();
    if (heard & STK_HEARD_STOP) {
        stk__terminal_suspend();
        s->away = true;
    }
    if (heard & STK_HEARD_CONTINUE) s->away = true;
    if (s->away && stk__terminal_is_ours()) {
        s->away = false;
        stk__terminal_resume();
        stk__terminal_resize(); /* it may have changed meanwhile */
    }
    if (heard & STK_HEARD_RESIZE && !s->away) stk__terminal_resize();
}

static void hear_keys(screen *s)
{
    stk__screen_looks *looks = &s->looks;
    for (int key; (key = getch()) != ERR;) {
        press(s, key);
        if (looks->first > looks->last)
            looks->first = looks->last; /* before the next key scrolls from there */
        if (looks->first < 0) looks->first = 0;
    }
}

static void run_screen(void *context)
{
    screen *s = context;
    struct pollfd waited[] = {{.fd = s->wake, .events = POLLIN}, {.fd = STDIN_FILENO, .events = POLLIN}};
    for (;;) {
        uint64_t count;
        mind_terminal(s);
        if (!s->away) hear_keys(s);
        if (take_latest(s)) break;
        if (!s->away) show(s);
        if (poll(waited, s->away ? 1 : 2, -1) > 0 && waited[0].revents &&
            read(s->wake, &count, sizeof count) < 0)
            continue; /* another signal was faster */
        if (waited[1].revents & (POLLHUP | POLLERR))
            waited[1].fd = -1; /* the terminal was closed: SIGHUP follows */
    }
    stk__terminal_end();
}

/* --- the thread that samples -----------------------------------------------------------------------------
 */

static void free_screen(screen *s)
{
    stk__view_fini(&s->latest);
    stk__view_fini(&s->shown);
    if (s->wake >= 0) close(s->wake);
    pthread_mutex_destroy(&s->lock);
    stk__free(s);
}

static stk_status start_parts(screen *s, const stk__monitor_output *output, int gpu_count, stk_error *error)
{
    const stk__thread_options options = {.name = "stk-screen", .run = run_screen, .context = s};
    s->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (s->wake < 0) return stk__fail_errno(error, errno, "cannot create an eventfd");
    STK__TRY(stk__view_init(&s->latest, gpu_count, error));
    STK__TRY(stk__view_init(&s->shown, gpu_count, error));
    STK__TRY(stk__terminal_start(s->wake, error));
    stk__pen_start(&s->pen, output->colors);
    const stk_status status = stk__thread_start(&s->thread, &options, error);
    if (status != STK_OK) stk__terminal_end();
    return status;
}

static stk_status start_screen(stk__monitor_output *output, int gpu_count, stk_error *error)
{
    screen *s = stk__alloc(sizeof *s);
    if (!s) return stk__fail_memory(error, sizeof *s, "the screen");
    pthread_mutex_init(&s->lock, NULL);
    s->wake = -1;
    s->monitor = output->monitor;
    s->looks.replay = output->replay;
    const stk_status status = start_parts(s, output, gpu_count, error);
    if (status == STK_OK)
        output->screen = s;
    else
        free_screen(s);
    return status;
}

static bool is_over(screen *s)
{
    return atomic_load(&s->quit) || atomic_load(stk__interrupt_flag());
}

static bool is_fast(screen *s)
{
    pthread_mutex_lock(&s->lock);
    const bool fast = s->fast;
    pthread_mutex_unlock(&s->lock);
    return fast;
}

/* A recording is played at the speed it was recorded. */
static void keep_pace(screen *s, uint64_t length_ns)
{
    const uint64_t until_ns = stk__clock_ns() + length_ns;
    for (uint64_t now_ns; (now_ns = stk__clock_ns()) < until_ns && !is_over(s) && !is_fast(s);) {
        const uint64_t rest_ns = until_ns - now_ns, nap_ns = rest_ns < SLICE_NS ? rest_ns : SLICE_NS;
        nanosleep(&(struct timespec){.tv_nsec = (long)nap_ns}, NULL);
    }
}

static void note_frame(screen *s, const stk__monitor_output *output, const stk_monitor_frame *frame)
{
    stk_monitor_summary summary;
    const uint64_t now_ns = stk__clock_ns();
    const bool judge = now_ns - s->judged_ns >= JUDGE_EVERY_NS;
    if (judge) {
        s->judged_ns = now_ns;
        stk_monitor_summarize(s->monitor, &summary);
    }
    pthread_mutex_lock(&s->lock);
    stk__view_take(&s->latest, frame, output->start_ns);
    if (judge) memcpy(s->latest.verdict, summary.verdict, sizeof s->latest.verdict);
    pthread_mutex_unlock(&s->lock);
    wake_up(s);
}

static void show_frame(stk__monitor_output *output, const stk_monitor_frame *frame)
{
    stk_error error;
    if (!output->frames && start_screen(output, frame->gpu_count, &error) != STK_OK && !stk__cli_quiet)
        fprintf(stderr, "stoker: no full-screen view, printing lines: %s\n", error.message);
    screen *s = output->screen;
    if (!s) {
        stk__monitor_output_line.frame(output, frame);
        return;
    }
    if (output->replay) keep_pace(s, frame->to_ns - frame->from_ns);
    note_frame(s, output, frame);
}

/* The end of a recording stays on the screen until a key is pressed. */
static void hold_end(screen *s, const stk_monitor_summary *summary)
{
    pthread_mutex_lock(&s->lock);
    s->latest.ended = true;
    memcpy(s->latest.verdict, summary->verdict, sizeof s->latest.verdict);
    pthread_mutex_unlock(&s->lock);
    wake_up(s);
    while (!is_over(s))
        nanosleep(&(struct timespec){.tv_nsec = (long)SLICE_NS}, NULL);
}

static void stop_screen(screen *s)
{
    pthread_mutex_lock(&s->lock);
    s->leave = true;
    pthread_mutex_unlock(&s->lock);
    wake_up(s);
    bool left = stk__thread_join(&s->thread, stk__clock_ns() + FROZEN_NS);
    if (!left) { /* it hangs in a write to the terminal: Ctrl-S, most often */
        stk__terminal_let_go();
        left = stk__thread_join(&s->thread, stk__clock_ns() + PATIENCE_NS);
    }
    if (left) {
        free_screen(s);
        return;
    }
    stk__terminal_rescue();
    stk__thread_abandon(&s->thread);
}

static void show_end(stk__monitor_output *output, const stk_monitor_summary *summary)
{
    screen *s = output->screen;
    if (s) {
        if (output->replay) hold_end(s, summary);
        stop_screen(s);
        output->screen = NULL;
    }
    stk__monitor_output_print_end(output->file, output->colors, summary);
}

const stk__monitor_output_ops stk__monitor_output_screen = {
    .name = "screen", .frame = show_frame, .end = show_end};
