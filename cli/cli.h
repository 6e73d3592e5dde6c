/* SPDX-License-Identifier: Apache-2.0 */
/* What the verbs of the program share: arguments, messages, Ctrl-C. Only here does anything print or exit. */
#ifndef STK_CLI_CLI_H
#define STK_CLI_CLI_H

#include "core/config.h"
#include "core/json_text.h"
#include "core/memory.h"
#include "core/process.h"
#include "session/file_notes_json.h"
#include "session/ledger_file.h"
#include "session/loader_settings.h"
#include "session/session.h"

#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

enum {
    STK_EXIT_GOOD = 0,
    STK_EXIT_FAILED = 1,
    STK_EXIT_USAGE = 2,
    STK_EXIT_FINDING = 3,
    STK_EXIT_INTERRUPTED = 130
};

/* A command that works as it stands, shown at the end of a verb's help. */
typedef struct stk__example {
    const char *command; /* "stoker load make:faces --epochs 2" */
    const char *about;   /* what it does, a few words */
} stk__example;
enum { STK_VERB_EXAMPLES = 3 };

/* A verb, described once: the list of verbs, its help, its man page and what shells complete are all printed
 * from this, and from the flags that `run` hands to stk__arguments_read. */
typedef struct stk__verb {
    const char *name;                                  /* "load"; of a part: "bench load" */
    const char *usage;                                 /* "load CONFIG|DIR [key=value …]" */
    const char *about;                                 /* one line */
    const stk__option_table *const *(*settings)(void); /* tables of the settings it takes; NULL: none */
    size_t settings_count;                             /* tables */
    const char *common;                                /* settings that matter most: "data.root run.device" */
    stk__example examples[STK_VERB_EXAMPLES];          /* two at least */
    const struct stk__verb *const *parts; /* bench load, bench train, …: ended by NULL; or NULL */
    int (*run)(const struct stk__verb *verb, int argc, char **argv); /* argv[0] is the verb; exit status */
} stk__verb;

extern const stk__verb stk__verb_augment, stk__verb_bench, stk__verb_devices, stk__verb_doctor,
    stk__verb_eval, stk__verb_load, stk__verb_make, stk__verb_monitor, stk__verb_pack, stk__verb_predict,
    stk__verb_report, stk__verb_stats, stk__verb_train;

/* --- main.c ------------------------------------------------------------------------------------------------
 */

extern const stk__verb *const stk__verbs[]; /* all of them in the order of the overview, ended by NULL */

/* By the words that follow the program's name: {"bench", "load"}. *used: how many words name it; NULL: no
 * verb. */
const stk__verb *stk__verb_find(int count, char **words, int *used);
/* Runs it with one argument, such as --help. */
int stk__verb_ask(const stk__verb *verb, const char *argument);

/* --- arguments.c -------------------------------------------------------------------------------------------
 */

/* An option of a verb, as opposed to a setting: `--hash`, `--state FILE`. */
typedef struct stk__flag {
    const char *name;   /* "stop-after" */
    const char *letter; /* "q": -q means the same; or NULL */
    const char *value;  /* what follows it, for help: "N"; NULL: nothing */
    const char *help;
    bool *given;       /* set to true; with text or number as well: the value may be left out */
    int *count;        /* how often it was given */
    const char **text; /* with a value, as text or … */
    int64_t *number;   /* … as a number >= 0 */
    /* May be given often, with one or several key=value behind it: called with the first, and with those
     * that follow it and that it `takes` (the others are settings); -1, or the status to leave with. */
    int (*each)(const char *value);
    bool (*takes)(const char *value);
} stk__flag;

typedef struct stk__arguments {
    const stk__verb *verb;
    const stk__flag *flags;
    size_t flag_count;
    size_t most_words;                                            /* positional arguments allowed */
    void (*more_help)(FILE *file);                                /* printed after the options; may be NULL */
    stk_status (*prepare)(stk__config *config, stk_error *error); /* before anything is read; may be NULL */

    bool own_words; /* the first word is neither a CONFIG nor data.root: a folder of a run, … */

    const char *words[4];
    const char **all_words; /* set by a verb that takes more: room for most_words, used instead of words */
    size_t word_count;
    stk__config *config; /* owned; NULL if the verb takes no settings */
} stk__arguments;

/* -q, -v, -h of every verb, --config of those that take a CONFIG; ended by a row without a name. arguments
 * NULL: of the program. */
const stk__flag *stk__common_flags(const stk__arguments *arguments);

/* Fills words, flags and config from the command line, the environment and CONFIG (a first word that ends as
 * files of settings do, or --config FILE). Returns -1 to go on, else the exit status (help was printed, or
 * the use was wrong and has been explained). */
int stk__arguments_read(stk__arguments *arguments, int argc, char **argv);
void stk__arguments_fini(stk__arguments *arguments);
const char *stk__arguments_config(const stk__arguments *arguments); /* CONFIG; NULL: none */

/* --- completion.c ------------------------------------------------------------------------------------------
 */

/* `stoker --complete WORD…`: what may follow these words, one word a line, for the shell; with help a tab and
 * what it means behind each. Exit status. */
int stk__completion_run(int count, char **words, bool help);
void stk__completion_print(const stk__arguments *arguments, bool help); /* what may follow a verb */

/* --- help.c ------------------------------------------------------------------------------------------------
 */

void stk__help_overview(FILE *file);
/* `stoker help [VERB] [SECTION|SETTING]`; argv[0] is help. Exit status. */
int stk__help_run(int argc, char **argv);
/* brief: the common settings only. */
void stk__help_print(const stk__arguments *arguments, bool brief);

/* --- man.c -------------------------------------------------------------------------------------------------
 */

/* `stoker man [VERB]`: roff of stoker.1, stoker-VERB.1. Exit status. */
int stk__man_run(int count, char **words);
void stk__man_print(const stk__arguments *arguments);

/* --- output/output.c, progress.c, table.c
 * --------------------------------------------------------------------
 */

extern bool stk__cli_quiet, stk__cli_json;
extern int stk__cli_verbose;

/* For people to read: control bytes, which could steer a terminal, and what is not UTF-8 as \xNN. The text
 * itself if there is nothing like that, else in one of a few rotating buffers of this thread. Names of files,
 * samples and classes go through it, and every message. */
const char *stk__cli_text(const char *text);
int stk__cli_fail(const stk_error *error); /* prints it; the exit status that fits */
int stk__cli_usage(const char *verb, const char *format, ...) STK__PRINTF(2, 3); /* explains; status 2 */
/* The same for a word that is none: "there is no option '--hahs'; did you mean '--hash'?" meant may be NULL.
 */
int stk__cli_no_such(const char *verb, const char *kind, const char *word, const char *meant);
/* At once, with everything that was printed: threads that were given up would keep us here. */
_Noreturn void stk__cli_leave(int status);
void stk__cli_open_log(void);            /* warnings of the library to stderr */
int stk__cli_print_json(json_t *object); /* takes the reference; status */
bool stk__cli_colors(FILE *file);        /* a terminal that shows them, and no NO_COLOR */
#define STK_PAINT_GOOD  "\033[32m"
#define STK_PAINT_NOTE  "\033[33m"
#define STK_PAINT_BAD   "\033[31m"
#define STK_PAINT_ERROR "\033[1;31m"
#define STK_PAINT_BOLD  "\033[1m"
#define STK_PAINT_FAINT "\033[2m"
#define STK_PAINT_OFF   "\033[0m"

/* 1234567 -> "1,234,567" in one of a few rotating buffers. */
const char *stk__cli_grouped(uint64_t value);
const char *stk__cli_bytes(double bytes);  /* "178 MB" */
const char *stk__cli_scaled(double value); /* "1.23 M", "45 k", "678" */
/* "1 sample", "1,234 samples", "2 classes": every number of things that people read. */
const char *stk__cli_count(uint64_t value, const char *noun);
const char *stk__cli_rate(double per_s); /* "10,350", "512", "3.42"; the unit follows */

/* The values of a score in one line: "mIoU 0.812  F-score 0.887". */
void stk__cli_print_score(FILE *file, stk__task task, const stk__score *score);
/* Checkpoints that are not valid were passed over, unless there were none; reason: of the first. */
void stk__cli_print_skipped(int count, const char *reason);
void stk__cli_print_dataset(const stk_loader_info *info, const stk_loader_options *options);
/* Files by extension, how pairs and parts were found, and what was left out; nothing with -q or --json. head:
 * what stands before the files of a second data set; NULL: it is the first. */
void stk__cli_print_found(FILE *to, const stk_loader_info *info, const char *head);
/* The rows of the effects that people should know: those that differ from what was asked for, or were left
 * open. */
void stk__cli_print_effects(const stk__config *config);
/* Of a run that is resumed: only what was asked for now, not what the run's own file (its path) has. */
void stk__cli_print_effects_now(const stk__config *config, const char *file);
void stk__cli_print_all_effects(const stk__config *config); /* with -vv only: every row, and its origin */

/* A bad sample as a line on the screen, for stk__ledger_file.tell; progress: moved out of the way, or NULL.
 */
void stk__cli_tell_sample(void *progress, const stk_ledger_entry *entry);
/* False: not everything could be written, and that has been printed. */
bool stk__cli_ledger_close(stk__ledger_file *ledger);
/* Notes about odd files, each a line: "  note: 12 files misnamed: …". part: "validation: ", or "". loader
 * NULL: none. */
void stk__cli_print_file_notes(const char *indent, const char *part, stk_loader *loader);
/* The same as the list "notes" of a report. */
void stk__cli_add_file_notes(json_t *report, stk_loader *loader);
/* {"truncated": 3, …}: the classes of damage that came up. */
json_t *stk__cli_damages_json(const stk_loader_stats *stats);

/* A line on a terminal's standard error that shows how far work is, at most ten times a second; elsewhere
 * nothing. It never wraps: what does not fit is left out, least important first. */
enum { STK_PROGRESS_MARKS = 12 };
typedef struct stk__progress {
    bool on;
    uint64_t last_ns, start_ns; /* last: 0: the line is empty */
    uint64_t done, seen_ns;     /* when it was shown last */
    struct {
        uint64_t ns, done;
    } marks[STK_PROGRESS_MARKS]; /* of the last seconds, oldest first: the rate is taken over them */
    int mark_count;
    double rate;                            /* units a second; 0: not known yet */
    uint64_t run_from, run_done, run_total; /* of several epochs together; total 0: there is one only */
    char note[96];                          /* behind the rate */
} stk__progress;

void stk__progress_start(stk__progress *progress);
void stk__progress_show(stk__progress *progress, const char *what, uint64_t done, uint64_t total);
void stk__progress_end(stk__progress *progress);

int stk__cli_width(FILE *file); /* columns of the terminal; 0: not a terminal */

/* What is printed to the file that begin returns becomes lines of `file` at end, as wide as its terminal at
 * most; the rest of a longer line is indented by so many columns. Not a terminal: it is `file` itself. */
FILE *stk__cli_wrap_begin(FILE *file);
void stk__cli_wrap_end(FILE *collected, FILE *file, int indent);

enum { STK_TABLE_COLUMNS = 16 };

/* Columns are fitted to all their cells first, then rows are printed; the last column is free text. */
typedef struct stk__table {
    FILE *file;
    int count, indent;             /* columns; blanks before the first */
    int width;                     /* of the terminal; 0: rows are not broken */
    int widths[STK_TABLE_COLUMNS]; /* in characters */
    bool right[STK_TABLE_COLUMNS]; /* aligned to the right; set by the caller */
} stk__table;

void stk__table_init(stk__table *table, FILE *file, int count, int indent);
void stk__table_fit(stk__table *table, int column, const char *text); /* at least as wide as this */
void stk__table_row(const stk__table *table, const char *const *cells);

/* --- interrupt.c -------------------------------------------------------------------------------------------
 */

/* Ctrl-C and SIGTERM once: the flag is set and `stop` is called from a thread of its own; if the program has
 * not ended 0.8 s later, or at the second signal, it leaves at once, and says so. */
stk_status stk__interrupt_start(stk_error *error);
/* In a child after fork: signals as this program was started with. Async-signal-safe. */
void stk__interrupt_child(void);
/* For verbs that have something to finish first: only a second signal ends the program at once. */
void stk__interrupt_wait(bool wait);
const atomic_bool *stk__interrupt_flag(void);
void stk__interrupt_target(void (*stop)(void *),
                           void *context); /* NULL: none; waits while stop is being called */
/* Why the program ends has been printed: it is not said again. */
void stk__interrupt_told(void);
/* Called before a second signal ends the program; NULL: nothing. */
void stk__interrupt_last(void (*call)(void));
/* Signals are for somebody else, until it is called with NULL. from_terminal: Ctrl-C, which a child in our
 * group has heard too. */
void stk__interrupt_relay(void (*relay)(void *context, int signal_number, bool from_terminal), void *context);

/* Ctrl-C interrupts this loader from now on, until it is closed here. */
void stk__cli_loader_target(stk_loader *loader);
/* stk__session_loader_open, and Ctrl-C interrupts the loader. */
stk_status stk__cli_loader_open(stk__arguments *arguments, stk__session_loading *loading, stk_loader **loader,
                                stk_error *error);
/* Both leave the program at once if threads had to be given up. */
void stk__cli_loader_close(stk_loader **loader, int status);
void stk__cli_session_close(stk__session *session, int status);

#endif
