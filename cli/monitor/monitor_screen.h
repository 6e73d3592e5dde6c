/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the full-screen view: data (view), layout (draw), ncurses output (pen), and the terminal. */
#ifndef STK_CLI_MONITOR_SCREEN_H
#define STK_CLI_MONITOR_SCREEN_H

#include "monitor_output.h"

/* --- monitor_screen_view.c: what is known, as far as it is shown -------------------------------------------
 */

enum { STK_VIEW_POINTS = 512 };

/* Ring of the last points, in shares of 1; NAN: unknown. */
typedef struct stk__trail {
    float points[STK_VIEW_POINTS];
    uint64_t count; /* ever added */
} stk__trail;

typedef struct stk__view_gpu {
    stk_gpu gpu;
    stk_gpu_state state;
    char note[96];
    stk_reading readings[STK_METRIC_COUNT];
    double received_per_s, sent_per_s; /* bytes over PCIe; NAN: unknown */
    bool processes_known;
    int32_t process_count;
    stk_gpu_process processes[STK_GPU_PROCESSES];
    stk__trail util, power; /* power: of its limit */
} stk__view_gpu;

typedef struct stk__view {
    double clock_s, seconds, interval_s; /* time of day; since the start; of this frame */
    bool ended;                          /* end of the recording */
    stk_host_frame host;                 /* without its cores */
    char verdict[320];
    int32_t gpu_count, room; /* room: of gpus */
    stk__view_gpu *gpus;     /* owned */
} stk__view;

stk_status stk__view_init(stk__view *view, int32_t gpu_count, stk_error *error);
void stk__view_fini(stk__view *view);
void stk__view_take(stk__view *view, const stk_monitor_frame *frame, uint64_t start_ns);
void stk__view_copy(stk__view *to, const stk__view *from); /* both initialized for the same number of GPUs */

void stk__trail_add(stk__trail *trail, double share);
float stk__trail_back(const stk__trail *trail,
                      int back); /* 0: the newest; NAN: unknown, or before the first */
/* a / b; NAN when either is unknown. */
double stk__view_share(stk_reading a, stk_reading b);

/* --- monitor_screen_pen.c: text, bars and curves on ncurses ------------------------------------------------
 */

typedef enum stk__ink {
    STK_INK_PLAIN,
    STK_INK_GOOD,
    STK_INK_NOTE,
    STK_INK_BAD,
    STK_INK_FAINT,
    STK_INK_BOLD,
    STK_INK_BAR
} stk__ink;

typedef struct stk__pen {
    bool utf8, colors;
    int rows, columns; /* of the terminal */
} stk__pen;

typedef struct stk__place {
    int y, x, width;
} stk__place;

void stk__pen_start(stk__pen *pen, bool colors); /* after ncurses was started */
/* Truncated at the place's width; control characters become '?'. Returns columns used. */
int stk__pen_text(const stk__pen *pen, stk__place place, stk__ink ink, const char *text);
int stk__pen_print(const stk__pen *pen, stk__place place, stk__ink ink, const char *format, ...)
    STK__PRINTF(4, 5);
void stk__pen_bar(const stk__pen *pen, stk__place place, stk__ink ink, double share); /* NAN: empty */
/* The newest point is at the right; `height` rows from place.y on. */
void stk__pen_trail(const stk__pen *pen, stk__place place, int height, const stk__trail *trail);
/* Word wrap; returns rows used, at most `rows`. Text that does not fit ends in dots. */
int stk__pen_wrapped(const stk__pen *pen, stk__place place, int rows, const char *text);
const char *stk__pen_celsius(const stk__pen *pen); /* "°C" or "C" */

/* --- monitor_screen_gpu.c and monitor_screen_foot.c: where it stands ---------------------------------------
 */

typedef enum stk__screen_size { STK_SIZE_ROW, STK_SIZE_MIDDLE, STK_SIZE_FULL } stk__screen_size;

enum { STK_ROW_HEIGHT = 1, STK_MIDDLE_HEIGHT = 3, STK_FULL_HEIGHT = 5 };

typedef struct stk__gpu_box {
    stk__place place;
    int height;
    stk__screen_size size;
} stk__gpu_box;

void stk__draw_gpu(const stk__pen *pen, const stk__gpu_box *box, const stk__view_gpu *gpu);
void stk__draw_row_heading(const stk__pen *pen, stk__place place);
int stk__foot_processes(const stk__pen *pen, stk__place place, int rows,
                        const stk__view *view);    /* rows used */
int stk__foot_process_rows(const stk__view *view); /* as many as it would take */
/* Returns rows used, 2 at most. Below the screen nothing is drawn: used to count rows. */
int stk__foot_host(const stk__pen *pen, stk__place place, int rows, const stk__view *view);

/* --- monitor_screen_draw.c: all of it ----------------------------------------------------------------------
 */

typedef struct stk__screen_looks {
    int first; /* GPU that is at the top */
    int last;  /* the most that can be; … */
    int step;  /* … GPUs side by side: set by drawing */
    bool paused, help, replay;
} stk__screen_looks;

/* Draws on ncurses' screen, without refreshing. looks->first is clamped to its range; returns the number of
 * GPUs shown.
 */
int stk__draw_all(const stk__pen *pen, const stk__view *view, stk__screen_looks *looks);

/* --- monitor_terminal.c: the terminal, and giving it back --------------------------------------------------
 */

enum { STK_HEARD_STOP = 1, STK_HEARD_CONTINUE = 2, STK_HEARD_RESIZE = 4 };

/* wake: an eventfd that is written when a signal arrived. */
stk_status stk__terminal_start(int wake, stk_error *error);
void stk__terminal_end(void);
int stk__terminal_heard(void);    /* bits since the last call */
void stk__terminal_suspend(void); /* as Ctrl-Z does; returns when it is continued */
void stk__terminal_resize(void);
bool stk__terminal_is_ours(void); /* this process is in the foreground */
void stk__terminal_resume(void);  /* another process may have used it */
void stk__terminal_let_go(void);  /* undoes Ctrl-S, so that a thread that hangs in a write returns */
void stk__terminal_rescue(void);  /* restores it without ncurses: for signal handlers and threads that hang */

#endif
