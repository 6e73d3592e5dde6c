/* SPDX-License-Identifier: Apache-2.0 */
/* stoker doctor: why a training does not keep its GPU busy. Options, where the evidence comes from (a
 * command, a process, a folder of a run, a settings file), output and exit status. Main thread. */
#include "doctor/doctor_print.h"
#include "doctor/doctor_watch.h"

#include "core/cpu.h"
#include "core/number.h"
#include "doctor/doctor_json.h"
#include "doctor/run_rules.h"
#include "doctor/settings_rules.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

/* Attached without --duration: long enough for shares, short enough to wait for. */
#define ATTACHED_S 4.0

typedef struct doctor_job {
    stk__arguments arguments;
    const char *duration, *fail_on, *wanted, *output_path; /* wanted: a symptom */
    int64_t pid;
    stk__doctor_severity fail_at; /* OK: never */
    const stk__symptom *symptom;  /* NULL: none */
    stk__doctor_watch watch;
    stk__evidence evidence;
    stk__run_facts run;
    stk__settings_file files[2]; /* now, before */
    stk__settings_facts settings;
    stk__diagnosis diagnosis;
    const char *what; /* was examined: "Command" */
    FILE *file;       /* that the report goes to */
} doctor_job;

/* --- the command line ------------------------------------------------------------------------------------
 */

static int read_duration(doctor_job *job)
{
    double *seconds = &job->watch.duration_s;
    *seconds = job->watch.command ? 0 : ATTACHED_S;
    if (!job->duration || (stk__number_real(job->duration, strlen(job->duration), seconds) && *seconds > 0 &&
                           isfinite(*seconds)))
        return -1;
    return stk__cli_usage("doctor", "--duration must be a number of seconds above 0, not '%s'",
                          job->duration);
}

static int read_fail_on(doctor_job *job)
{
    if (!job->fail_on) return -1;
    for (stk__doctor_severity s = STK_DOCTOR_INFO; s <= STK_DOCTOR_CRIT; s++)
        if (strcmp(job->fail_on, stk__doctor_severity_name(s)) == 0) job->fail_at = s;
    return job->fail_at
               ? -1
               : stk__cli_usage("doctor", "--fail-on must be info, warn or crit, not '%s'", job->fail_on);
}

static int read_symptom(doctor_job *job)
{
    char words[256] = "";
    if (!job->wanted) return -1;
    for (const stk__symptom *symptom = stk__symptoms; symptom->word; symptom++) {
        const size_t length = strlen(words);
        snprintf(words + length, sizeof words - length, "%s%s", length ? ", " : "", symptom->word);
        if (strcmp(job->wanted, symptom->word) == 0) job->symptom = symptom;
    }
    return job->symptom ? -1 : stk__cli_usage("doctor", "no symptom '%s'; there are: %s", job->wanted, words);
}

static int check_options(doctor_job *job)
{
    const bool named = job->arguments.word_count > 0;
    if ((job->watch.command != NULL) + (job->pid > 0) + named > 1)
        return stk__cli_usage("doctor", "a command, --pid and a folder or file are mutually exclusive");
    if (job->watch.command && !job->watch.command[0])
        return stk__cli_usage("doctor", "no command after '--'");
    if (!job->watch.command && !job->pid && !named && !job->wanted)
        return stk__cli_usage("doctor", "name what to examine: -- COMMAND, --pid N, a folder of a run, or a "
                                        "settings file");
    if (job->pid > INT32_MAX) return stk__cli_usage("doctor", "no process with id %lld", (long long)job->pid);
    job->watch.pid = (int32_t)job->pid;
    int code = read_duration(job);
    if (code < 0) code = read_fail_on(job);
    if (code < 0) code = read_symptom(job);
    return code;
}

/* Arguments after "--" belong to the command. */
static int cut_command(doctor_job *job, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--") == 0) {
            job->watch.command = argv + i + 1;
            argv[i] = NULL;
            return i;
        }
    return argc;
}

/* --- evidence and report ---------------------------------------------------------------------------------
 */

static stk_status examine_run(doctor_job *job, const char *folder, stk_error *error)
{
    stk__doctor_facts facts;
    STK__TRY(stk__run_facts_read(&job->run, folder, error));
    stk__run_doctor_facts(&job->run, &job->evidence, &facts);
    stk__diagnose_facts(&facts, stk__rules_run, &job->diagnosis);
    return STK_OK;
}

static stk_status examine_settings(doctor_job *job, stk_error *error)
{
    const char *const *paths = job->arguments.words;
    job->settings.now = &job->files[0];
    job->settings.cpus = stk__cpu_budget_read(NULL).cpus;
    STK__TRY(stk__settings_file_read(paths[0], &job->files[0], error));
    if (job->arguments.word_count > 1) {
        STK__TRY(stk__settings_file_read(paths[1], &job->files[1], error));
        job->settings.before = &job->files[1];
    }
    STK__TRY(stk__settings_facts_look_up(&job->settings, error));
    snprintf(job->evidence.command, sizeof job->evidence.command, "%.*s",
             (int)sizeof job->evidence.command - 1, paths[0]);
    const stk__doctor_facts facts = {.e = &job->evidence, .other = &job->settings, .steps = NAN};
    stk__diagnose_facts(&facts, stk__rules_settings, &job->diagnosis);
    return STK_OK;
}

static stk_status diagnose(doctor_job *job, stk_error *error)
{
    struct stat facts;
    const char *path = job->arguments.words[0];
    job->what = job->watch.command ? "Command" : "Process";
    if (job->watch.command || job->pid) {
        STK__TRY(stk__doctor_watch_run(&job->watch, &job->evidence, error));
        stk__diagnose(&job->evidence, &job->diagnosis);
        return STK_OK;
    }
    if (stat(path, &facts) != 0) {
        stk__fail_errno(error, errno, "cannot read it");
        stk__error_place(error, "%s", path);
        return STK_ERROR_IO;
    }
    job->what = S_ISDIR(facts.st_mode) ? "Run" : "Settings";
    if (S_ISDIR(facts.st_mode)) return examine_run(job, path, error);
    return examine_settings(job, error);
}

/* Standard output belongs to the command. */
static stk_status open_output(doctor_job *job, stk_error *error)
{
    job->file = job->watch.command ? stderr : stdout;
    if (!job->output_path || (job->file = fopen(job->output_path, "we"))) return STK_OK;
    stk__fail_errno(error, errno, "cannot create the output");
    stk__error_place(error, "%s", job->output_path);
    return STK_ERROR_IO;
}

static stk_status write_json(doctor_job *job, stk_error *error)
{
    stk__buffer text = {0};
    const stk_status status =
        stk__json_text(&text, stk__diagnosis_json(&job->diagnosis), JSON_INDENT(2), error);
    if (status == STK_OK) fwrite(text.data, 1, text.size_bytes, job->file);
    stk__buffer_fini(&text);
    return status;
}

static int report(doctor_job *job)
{
    stk_error error;
    if (stk__cli_json) {
        if (write_json(job, &error) != STK_OK) return stk__cli_fail(&error);
    } else {
        stk__doctor_print(&(stk__doctor_view){.file = job->file,
                                              .what = job->what,
                                              .symptom = job->symptom,
                                              .times = strcmp(job->what, "Settings") != 0},
                          &job->diagnosis);
    }
    return job->fail_at && job->diagnosis.worst >= job->fail_at ? STK_EXIT_FINDING : STK_EXIT_GOOD;
}

static int close_output(const doctor_job *job, int code)
{
    const bool written = fflush(job->file) == 0 && !ferror(job->file);
    if (job->file != stdout && job->file != stderr) fclose(job->file);
    if (written) return code;
    fprintf(stderr, "stoker: cannot write to %s\n", job->output_path ? job->output_path : "standard output");
    return STK_EXIT_FAILED;
}

static int examine(doctor_job *job)
{
    stk_error error;
    stk__evidence_init(&job->evidence);
    if (open_output(job, &error) != STK_OK) return stk__cli_fail(&error);
    int code;
    if (job->symptom && !job->watch.command && !job->pid && !job->arguments.word_count) {
        stk__doctor_print_symptom(job->file, job->symptom);
        code = STK_EXIT_GOOD;
    } else {
        code = diagnose(job, &error) == STK_OK ? report(job) : stk__cli_fail(&error);
    }
    code = close_output(job, code);
    const int left = stk__doctor_watch_close(&job->watch);
    stk__evidence_fini(&job->evidence);
    stk__run_facts_fini(&job->run);
    stk__settings_file_fini(&job->files[0]);
    stk__settings_file_fini(&job->files[1]);
    fflush(stdout);
    if (left) stk__cli_leave(code);
    return code;
}

static void print_more_help(FILE *file)
{
    fprintf(file, "\nA PyTorch script needs no change: a hook comes in through PYTHONPATH and\n"
                  "measures steps, waits, workers and the settings in effect. --pid N looks from\n"
                  "outside (/proc, the GPU's driver) for 4 s and leaves no trace in the process.\n"
                  "With a command the report goes to standard error: standard output is the\n"
                  "command's. Ctrl-C ends the command; what was seen is reported.\n"
                  "Exit status: 0; with --fail-on 3 if there is such a finding; 1 if there was\n"
                  "nothing to examine. The command's own status is in the report. All rules:\n"
                  "docs/doctor.md.\n"
                  "\nSymptoms:\n");
    for (const stk__symptom *symptom = stk__symptoms; symptom->word; symptom++)
        fprintf(file, "  %s\n", symptom->word);
}

static int run_verb(const stk__verb *verb, int argc, char **argv)
{
    static doctor_job job; /* too large for a stack */
    const stk__flag flags[] = {
        {.name = "pid",
         .value = "N",
         .help = "examine a running process, from outside only",
         .number = &job.pid},
        {.name = "duration",
         .value = "S",
         .help = "stop after S seconds (default of --pid: 4), and end the command",
         .text = &job.duration},
        {.name = "json", .help = "print the diagnosis as one JSON object", .given = &stk__cli_json},
        {.name = "output", .value = "FILE", .help = "write the report to FILE", .text = &job.output_path},
        {.name = "fail-on",
         .value = "SEVERITY",
         .help = "exit status 3 if there is a finding of info, warn or crit, or above",
         .text = &job.fail_on},
        {.name = "symptom",
         .value = "NAME",
         .help = "what to measure next, and only the findings that belong to this symptom",
         .text = &job.wanted},
    };
    job.arguments = (stk__arguments){.verb = verb,
                                     .flags = flags,
                                     .flag_count = sizeof flags / sizeof flags[0],
                                     .most_words = 2,
                                     .own_words = true,
                                     .more_help = print_more_help};
    int code = stk__arguments_read(&job.arguments, cut_command(&job, argc, argv), argv);
    if (code < 0) code = check_options(&job);
    if (code < 0) code = examine(&job);
    stk__arguments_fini(&job.arguments);
    return code;
}

const stk__verb stk__verb_doctor = {
    .name = "doctor",
    .usage = "doctor [options] -- CMD … | --pid N | RUN | CONFIG [BEFORE]",
    .about = "Find out why the GPU is idle: causes, evidence, what to change.",
    .examples = {{"stoker doctor -- python3 train.py", "a PyTorch script as it is"},
                 {"stoker doctor --pid 4711", "a training that runs, from outside"},
                 {"stoker doctor runs/faces", "a run of stoker train, from its folder"}},
    .run = run_verb};
