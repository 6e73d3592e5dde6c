/* SPDX-License-Identifier: Apache-2.0 */
/* stoker monitor: GPU utilization, memory, power and temperature, with a verdict. */
#include "child.h"
#include "monitor_output.h"
#include "monitor_prometheus.h"

#include "core/number.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef struct watch {
    stk__arguments arguments;
    const char *interval, *duration, *output_path;
    int64_t count, pid;
    bool line, csv, dmon, serve, dcgm;
    const char *address; /* of --prometheus; NULL: the default */
    stk_monitor_options options;
    char **command; /* behind "--"; NULL: none */
    int job;        /* descriptor of the process --pid names; -1: none */

    const stk__monitor_output_ops *ops;
    stk__monitor_output output;
    stk__child child;
    stk_monitor *monitor;
    stk__prometheus *prometheus;
} watch;

/* --- the command line ------------------------------------------------------------------------------------
 */

static int read_seconds(const char *name, const char *text, double *seconds)
{
    if (!text) return -1;
    if (stk__number_real(text, strlen(text), seconds) && *seconds > 0 && isfinite(*seconds)) return -1;
    return stk__cli_usage("monitor", "--%s must be a number of seconds above 0, not '%s'", name, text);
}

/* A recording defines its own GPUs and interval. */
static int refuse_with_replay(const watch *w)
{
    const struct {
        const char *what;
        bool given;
    } others[] = {{"--interval", w->interval}, {"--duration", w->duration}, {"--count", w->count},
                  {"--gpu", w->options.gpus},  {"--pid", w->pid},           {"--demo", w->options.demo},
                  {"a command", w->command}};
    for (size_t i = 0; w->options.replay && i < sizeof others / sizeof others[0]; i++)
        if (others[i].given)
            return stk__cli_usage("monitor", "--replay cannot be combined with %s", others[i].what);
    return -1;
}

/* It would be emptied before it is read. */
static int refuse_same_file(const watch *w)
{
    struct stat from, to;
    const bool same = w->options.replay && w->options.record && stat(w->options.replay, &from) == 0 &&
                      stat(w->options.record, &to) == 0 && from.st_dev == to.st_dev &&
                      from.st_ino == to.st_ino;
    return same ? stk__cli_usage("monitor", "--record and --replay are the same file '%s'", w->options.record)
                : -1;
}

/* The full-screen view where possible; with --prometheus alone no lines are printed. */
static const stk__monitor_output_ops *choose_default(const watch *w)
{
    const char *absent = w->output_path ? "--output is given" : stk__screen_absent();
    if (stk__cli_quiet) return &stk__monitor_output_end; /* the result alone */
    if (!absent) return &stk__monitor_output_screen;
    if (stk__cli_verbose) fprintf(stderr, "stoker: no full-screen view: %s\n", absent);
    return w->serve ? &stk__monitor_output_end : &stk__monitor_output_line;
}

static int choose_output(watch *w)
{
    if (w->line + stk__cli_json + w->csv + w->dmon > 1)
        return stk__cli_usage("monitor", "--line, --json, --csv and --dmon are mutually exclusive");
    w->ops = stk__cli_json ? &stk__monitor_output_json
             : w->csv      ? &stk__monitor_output_csv
             : w->dmon     ? &stk__monitor_output_dmon
             : w->line     ? &stk__monitor_output_line
             : w->command  ? &stk__monitor_output_end /* the screen is the command's */
                           : choose_default(w);
    return -1;
}

static int check_options(watch *w)
{
    int code = read_seconds("interval", w->interval, &w->options.interval_s);
    if (code < 0) code = read_seconds("duration", w->duration, &w->options.duration_s);
    if (code < 0) code = refuse_with_replay(w);
    if (code < 0) code = refuse_same_file(w);
    if (code < 0) code = choose_output(w);
    if (code < 0 && w->dcgm && !w->serve)
        code = stk__cli_usage("monitor", "--prometheus-dcgm needs --prometheus");
    if (code < 0 && w->command && w->pid)
        code = stk__cli_usage("monitor", "--pid and a command are mutually exclusive");
    if (code < 0 && w->command && !w->command[0]) code = stk__cli_usage("monitor", "no command after '--'");
    if (code < 0 && w->pid > INT32_MAX)
        code = stk__cli_usage("monitor", "no process with id %lld", (long long)w->pid);
    w->options.count = (uint64_t)w->count;
    w->options.pid = (int32_t)w->pid;
    return code;
}

/* Arguments after "--" belong to the command. */
static int cut_command(watch *w, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--") == 0) {
            w->command = argv + i + 1;
            argv[i] = NULL;
            return i;
        }
    return argc;
}

/* --- watching --------------------------------------------------------------------------------------------
 */

static void interrupt_monitor(void *monitor)
{
    stk_monitor_interrupt(monitor);
}

static bool is_there(int32_t pid)
{
    return kill(pid, 0) == 0 || errno != ESRCH;
}

/* A zombie still answers kill(pid, 0); its pidfd reports the end. */
static bool has_ended(const watch *w)
{
    struct pollfd asked = {.fd = w->job, .events = POLLIN};
    return w->job >= 0 ? poll(&asked, 1, 0) > 0 : !is_there(w->options.pid);
}

static void print_absent(const char *absent)
{
    char line[1024];
    while (*absent) {
        const int length = (int)strcspn(absent, "\n");
        snprintf(line, sizeof line, "%.*s", length, absent);
        fprintf(stderr, "stoker: %s\n", stk__cli_text(line));
        absent += length + (absent[length] == '\n');
    }
}

/* Without a GPU there is something to monitor only if there is a job. -1: continue. */
static int check_gpus(const watch *w)
{
    stk_monitor_summary nothing_yet;
    stk_monitor_summarize(w->monitor, &nothing_yet);
    if (nothing_yet.gpu_count) return -1;
    const bool job = w->options.pid || w->options.replay;
    if (!job || !stk__cli_quiet) print_absent(stk_monitor_missing_reason(w->monitor));
    if (job) return -1;
    fprintf(stderr, "  hint:  `stoker monitor --demo` shows simulated GPUs; with a job (--pid N, -- CMD) the "
                    "host is monitored\n");
    return STK_EXIT_FAILED;
}

static stk_status open_output(watch *w, stk_error *error)
{
    w->output.file = w->command ? stderr : stdout; /* standard output belongs to the command */
    if (w->output_path && !(w->output.file = fopen(w->output_path, "we"))) {
        stk__fail_errno(error, errno, "cannot create the output");
        stk__error_place(error, "%s", w->output_path);
        w->output.file = NULL;
        return STK_ERROR_IO;
    }
    w->output.colors = stk__cli_colors(w->output.file);
    w->output.line.digits = 9;
    return STK_OK;
}

static stk_status open_watch(watch *w, stk_error *error)
{
    if (w->pid && !is_there(w->options.pid))
        return stk__fail(error, STK_ERROR_IO, "no process with id %d", w->options.pid);
    if (w->pid) w->job = (int)syscall(SYS_pidfd_open, w->options.pid, 0); /* Linux 5.3 */
    STK__TRY(open_output(w, error));
    if (w->command) {
        STK__TRY(stk__child_start(&w->child, w->command, error));
        w->options.pid = w->child.pid;
    }
    if (w->serve) STK__TRY(stk__prometheus_open(&w->prometheus, w->address, w->dcgm, error));
    STK__TRY(stk_monitor_open(&w->monitor, &w->options, error));
    w->output.monitor = w->monitor;
    w->output.replay = w->options.replay;
    return STK_OK;
}

static void show_frame(watch *w, const stk_monitor_frame *frame)
{
    if (!w->output.frames) w->output.start_ns = frame->from_ns;
    if (w->prometheus) stk__prometheus_publish(w->prometheus, frame);
    if (!w->ops->frame) return;
    w->ops->frame(&w->output, frame);
    w->output.frames++;
    fflush(w->output.file);
}

/* To the end of the interval in which the job ended, or for as long as asked for. */
static stk_status watch_all(watch *w, stk_error *error)
{
    stk_monitor_frame *frame;
    stk_status status;
    while ((status = stk_monitor_next(w->monitor, &frame, error)) == STK_OK) {
        show_frame(w, frame);
        if (w->pid && has_ended(w)) stk_monitor_interrupt(w->monitor);
    }
    return status;
}

static void show_end(watch *w)
{
    stk_monitor_summary summary;
    stk_monitor_summarize(w->monitor, &summary);
    if (w->ops->end)
        w->ops->end(&w->output, &summary);
    else if (!stk__cli_quiet)
        stk__monitor_output_print_end(stderr, stk__cli_colors(stderr), &summary);
}

/* Frames before a failure are summarized as well: a truncated recording still has its frames. */
static int watch_job(watch *w)
{
    stk_error error;
    const stk_status status = watch_all(w, &error);
    const int own = status == STK_END ? STK_EXIT_GOOD : STK_EXIT_FAILED;
    const int childs = w->command ? stk__child_finish(&w->child) : STK_EXIT_GOOD;
    show_end(w);
    if (status != STK_END) stk__cli_fail(&error);
    return childs != STK_EXIT_GOOD ? childs : own;
}

static int run_watch(watch *w)
{
    stk_error error;
    stk_status status = open_watch(w, &error);
    if (status == STK_OK) {
        const int code = check_gpus(w);
        if (code >= 0) return code;
        stk__interrupt_wait(true);
        stk__interrupt_target(interrupt_monitor, w->monitor);
        if (!w->command) return watch_job(w);
        status = stk__child_release(&w->child, interrupt_monitor, w->monitor, &error);
        if (status == STK_OK) return watch_job(w);
    }
    const int code = stk__cli_fail(&error);
    const int childs = w->command && w->child.pid > 0 ? stk__child_finish(&w->child) : 0;
    return w->monitor && childs ? childs : code;
}

static int close_watch(watch *w, int code)
{
    stk__interrupt_target(NULL, NULL);
    const bool written = !w->output.file || (fflush(w->output.file) == 0 && !ferror(w->output.file));
    if (!written && code == STK_EXIT_GOOD) {
        fprintf(stderr, "stoker: cannot write to %s\n", w->output_path ? w->output_path : "standard output");
        code = STK_EXIT_FAILED;
    }
    if (w->output_path && w->output.file) fclose(w->output.file);
    if (w->job >= 0) close(w->job);
    stk__prometheus_close(&w->prometheus);
    stk__buffer_fini(&w->output.line.text);
    const int left = stk_monitor_close(&w->monitor);
    fflush(stdout);
    if (left) stk__cli_leave(code);
    return code;
}

static void print_more_help(FILE *file)
{
    fprintf(file,
            "\nOutput: a full-screen view on a terminal (q quits, h shows the keys)%s, else one line per\n"
            "GPU and interval; at the end a summary (GPU utilization, memory, power, temperature against\n"
            "their targets) and a verdict: data starved, compute bound, thermal throttling, idle, …\n"
            "Ctrl-C stops it. With a command only the summary is printed, on standard error (everything\n"
            "with --line, --json, --csv or --dmon).\n"
            "Exit status: that of the command (128 + N if signal N killed it, 127 if it was not found);\n"
            "1 if there is no GPU, unless there is a job (--pid or a command): then the host is\n"
            "monitored alone. docs/monitor.md explains the metrics and verdicts.\n"
            "\nEnvironment variables:\n"
            "  CUDA_VISIBLE_DEVICES   GPUs hidden by it are not monitored\n"
            "  NO_COLOR               no colors on a terminal\n",
            stk__monitor_output_screen.frame ? "" : " - not in this build: ncurses was missing");
}

static int run_verb(const stk__verb *verb, int argc, char **argv)
{
    watch w = {.job = -1, .child = {.pid = -1, .gate = -1, .told = -1}};
    const stk__flag flags[] = {
        {.name = "interval",
         .value = "S",
         .help = "sampling interval in seconds (default: 1)",
         .text = &w.interval},
        {.name = "duration", .value = "S", .help = "stop after S seconds", .text = &w.duration},
        {.name = "count", .value = "N", .help = "stop after N intervals", .number = &w.count},
        {.name = "gpu",
         .value = "N,N",
         .help = "monitor these GPUs only: indices as in nvidia-smi, or UUID prefixes",
         .text = &w.options.gpus},
        {.name = "pid",
         .value = "N",
         .help = "process id of the job: its CPU and memory are monitored, too, until it ends",
         .number = &w.pid},
        {.name = "line",
         .help = "one line per GPU and interval; default without a terminal",
         .given = &w.line},
        {.name = "json",
         .help = "JSON Lines: one object per interval; the last is the summary",
         .given = &stk__cli_json},
        {.name = "csv", .help = "CSV: one row per GPU and interval", .given = &w.csv},
        {.name = "dmon", .help = "columns of nvidia-smi dmon", .given = &w.dmon},
        {.name = "prometheus",
         .value = "[ADDR]",
         .help = "serve /metrics for Prometheus (default: 127.0.0.1:9400)",
         .given = &w.serve,
         .text = &w.address},
        {.name = "prometheus-dcgm", .help = "serve the metric names of dcgm-exporter, too", .given = &w.dcgm},
        {.name = "output",
         .value = "FILE",
         .help = "write the output to FILE instead of standard output",
         .text = &w.output_path},
        {.name = "record",
         .value = "FILE",
         .help = "record all samples to FILE (JSON Lines)",
         .text = &w.options.record},
        {.name = "replay",
         .value = "FILE",
         .help = "play back a recording instead of monitoring GPUs",
         .text = &w.options.replay},
        {.name = "demo",
         .help = "simulated GPUs and, without a job, CPUs instead of real ones",
         .given = &w.options.demo},
    };
    w.arguments = (stk__arguments){.verb = verb,
                                   .flags = flags,
                                   .flag_count = sizeof flags / sizeof flags[0],
                                   .more_help = print_more_help};
    int code = stk__arguments_read(&w.arguments, cut_command(&w, argc, argv), argv);
    if (code < 0) code = check_options(&w);
    if (code < 0) code = close_watch(&w, run_watch(&w));
    stk__arguments_fini(&w.arguments);
    return code;
}

const stk__verb stk__verb_monitor = {
    .name = "monitor",
    .usage = "monitor [options] [-- CMD …]",
    .about = "Monitor GPU utilization, memory and power; name the bottleneck.",
    .examples = {{"stoker monitor --demo --line --interval 0.2 --count 3",
                  "three lines per simulated GPU, and the verdict"},
                 {"stoker monitor --csv --output gpu.csv --duration 60", "a minute of all GPUs as CSV"},
                 {"stoker monitor -- python3 train.py", "monitor a training to its end"}},
    .run = run_verb};
