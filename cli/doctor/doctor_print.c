/* SPDX-License-Identifier: Apache-2.0 */
/* What stoker doctor prints: what helps most as Verdict, Why, Next; where a step goes; the other findings;
 * what could not be measured. Main thread only. */
#include "doctor/doctor_print.h"

#include <math.h>
#include <string.h>

enum { BAR = 24, LABEL = 9, LINE = 320 };
/* Rows below a thousandth of a step are left out. */
#define LEAST_SHARE 0.001

typedef struct page {
    const stk__doctor_view *view;
    const stk__diagnosis *d;
    const stk__doctor_finding *list[STK_DOCTOR_RULES_MOST]; /* of the symptom */
    int count;
} page;

static const char *paint(const page *p, const char *escape)
{
    return stk__cli_colors(p->view->file) ? escape : "";
}

static const char *paint_severity(const page *p, stk__doctor_severity severity)
{
    return paint(p, severity == STK_DOCTOR_CRIT   ? STK_PAINT_BAD
                    : severity == STK_DOCTOR_WARN ? STK_PAINT_NOTE
                                                  : STK_PAINT_FAINT);
}

/* "Why      num_workers=0 …", wrapped under itself. */
static void print_labelled(FILE *file, int indent, const char *label, const char *text)
{
    stk__table table;
    stk__table_init(&table, file, 2, indent);
    table.widths[0] = LABEL;
    stk__table_fit(&table, 1, text);
    stk__table_row(&table, (const char *const[]){label, stk__cli_text(text)});
}

/* A file promises nothing. */
static void print_gain(const page *p, int indent, const char *label, const stk__doctor_finding *f)
{
    char text[LINE];
    if (!p->view->times) return;
    if (!isfinite(f->gain))
        snprintf(text, sizeof text, "%s%s", isnan(f->gain) ? "unknown: " : "", f->formula);
    else if (f->gain >= 1)
        snprintf(text, sizeof text, "%.1f x the throughput (gain %.2f = %s)", 1 + f->gain, f->gain,
                 f->formula);
    else
        snprintf(text, sizeof text, "+%.0f %% throughput (gain %.2f = %s)", 100 * f->gain, f->gain,
                 f->formula);
    print_labelled(p->view->file, indent, label, text);
}

/* --- head ------------------------------------------------------------------------------------------------
 */

static void print_command(const page *p)
{
    const stk__evidence *e = p->d->facts.e;
    const stk__stall_split *split = &p->d->facts.split;
    char text[LINE * 2];
    int length = 0;
    const int room = (int)sizeof text;
    print_labelled(p->view->file, 0, p->view->what, e->command[0] ? e->command : "unknown");
    if (isnan(e->watched_s)) return; /* a file */
    length += snprintf(text, sizeof text, "%.1f s", e->watched_s);
    if (split->steps)
        length += snprintf(text + length, (size_t)(room - length), ", %.0f steps of %.3g ms",
                           isnan(p->d->facts.steps) ? (double)split->steps : p->d->facts.steps,
                           1e3 * split->step_s);
    if (e->torch.torch[0])
        length += snprintf(text + length, (size_t)(room - length), "; PyTorch %s, %s", e->torch.torch,
                           e->torch.device[0] ? e->torch.device : "device unknown");
    if (e->trainers > 1)
        length += snprintf(text + length, (size_t)(room - length),
                           "; %lld training processes, steps are of one", (long long)e->trainers);
    if (e->exit_status >= 0)
        length += snprintf(text + length, (size_t)(room - length), "; %s status %d",
                           e->stopped ? "stopped, with" : "the command ended with", e->exit_status);
    print_labelled(p->view->file, 0, "Watched", text);
    if (e->hook_started == STK_UNSURE || (e->hook_started == STK_YES && !e->hook_note[0])) return;
    snprintf(text, sizeof text, "%s%s%s", e->hook_started == STK_YES ? "on" : "not started",
             e->hook_note[0] ? ": " : "", e->hook_note);
    print_labelled(p->view->file, 0, "Hook", text);
}

static void print_gpu(const page *p)
{
    const stk_gpu_summary *gpu = p->d->facts.gpu;
    char text[LINE];
    if (!gpu || gpu->util_mean_percent.known != STK_KNOWN || p->d->facts.cuda == STK_NO) return;
    snprintf(text, sizeof text, "%s: %.0f %% used", gpu->gpu && gpu->gpu->name[0] ? gpu->gpu->name : "GPU",
             gpu->util_mean_percent.value);
    print_labelled(p->view->file, 0, "GPU", text);
}

/* --- verdict ---------------------------------------------------------------------------------------------
 */

static void say_healthy(const page *p, char text[LINE])
{
    const double *share = p->d->facts.split.share;
    const double compute = share[STK_SPLIT_FORWARD] + share[STK_SPLIT_BACKWARD] + share[STK_SPLIT_OPTIMIZER];
    if (p->d->count)
        snprintf(text, LINE, "none of the %d findings belongs to this symptom", p->d->count);
    else if (!p->view->times)
        snprintf(text, LINE, "no findings");
    else if (!p->d->facts.split.steps && p->d->facts.e->hook_started == STK_NO)
        snprintf(text, LINE,
                 "no findings from outside; steps are seen by the hook only (stoker doctor -- CMD)");
    else if (!p->d->facts.split.steps)
        snprintf(text, LINE, "no findings, but no training step was seen either");
    else if (!p->d->facts.judged)
        snprintf(text, LINE, "no findings, but %llu steps in %.1f s are too few to judge",
                 (unsigned long long)p->d->facts.split.steps, p->d->facts.split.wall_s);
    else
        snprintf(text, LINE, "healthy: no findings; %.0f %% of a step is forward, backward and optimizer",
                 100 * compute);
}

static void print_verdict(const page *p)
{
    char text[LINE];
    FILE *file = p->view->file;
    if (!p->count) {
        say_healthy(p, text);
        print_labelled(p->view->file, 0, "Verdict", text);
        return;
    }
    const stk__doctor_finding *first = p->list[0];
    snprintf(text, sizeof text, "%s (%s, %s)", first->rule->title, stk__doctor_severity_name(first->severity),
             first->rule->id);
    fputs(paint_severity(p, first->severity), file);
    print_labelled(p->view->file, 0, "Verdict", text);
    fputs(paint(p, STK_PAINT_OFF), file);
    print_labelled(p->view->file, 0, "Why", first->evidence);
    print_labelled(p->view->file, 0, "Next", first->advice);
    print_gain(p, 0, "Gain", first);
}

/* --- the stall table -------------------------------------------------------------------------------------
 */

static void print_stall(const page *p)
{
    const stk__stall_split *split = &p->d->facts.split;
    stk__table table;
    if (!split->steps) return;
    fprintf(p->view->file, "\nWhere a step goes (%.3g ms, mean of %llu)\n", 1e3 * split->step_s,
            (unsigned long long)split->steps);
    stk__table_init(&table, p->view->file, 3, 2);
    table.right[1] = true;
    table.widths[1] = 7;
    for (int part = 0; part < STK_SPLIT_PARTS; part++)
        if (split->share[part] >= LEAST_SHARE)
            stk__table_fit(&table, 0, stk__split_part_name((stk__split_part)part));
    for (int part = 0; part < STK_SPLIT_PARTS; part++) {
        char percent[16], time[32 + 3 * BAR];
        const double share = split->share[part];
        if (share < LEAST_SHARE) continue;
        snprintf(percent, sizeof percent, "%.1f %%", 100 * share);
        snprintf(time, sizeof time, "%7.*f ms", split->step_s < 0.01 ? 3 : 1, 1e3 * share * split->step_s);
        for (int i = 0; i < (int)lrint(share * BAR); i++)
            strcat(time, i ? "█" : "  █");
        stk__table_row(&table,
                       (const char *const[]){stk__split_part_name((stk__split_part)part), percent, time});
    }
}

/* --- processes -------------------------------------------------------------------------------------------
 */

static void percent_text(char text[16], double share)
{
    snprintf(text, 16, isnan(share) ? "-" : "%.0f %%", 100 * share);
}

/* Without steps this is what there is to see. */
static void print_processes(const page *p)
{
    static const char *const kinds[] = {"trainer", "worker", "launcher", "orphan", "helper"};
    static const char *const heads[] = {"process", "pid", "CPU", "no CPU", "disk", "memory", "command"};
    const stk__evidence *e = p->d->facts.e;
    stk__table table;
    if (!e->process_count || p->d->facts.split.steps) return;
    fprintf(p->view->file, "\nProcesses (shares of the time; no CPU: ready to run without one)\n");
    stk__table_init(&table, p->view->file, 7, 2);
    for (int i = 1; i < 6; i++) {
        table.right[i] = true;
        table.widths[i] = 7;
    }
    table.widths[0] = 8;
    stk__table_fit(&table, 6, heads[6]);
    stk__table_row(&table, heads);
    for (int64_t i = 0; i < e->process_count; i++) {
        const stk__process_evidence *process = &e->processes[i];
        char pid[16], cpu[16], delay[16], disk[16];
        snprintf(pid, sizeof pid, "%d", process->pid);
        percent_text(cpu, process->cpu_share);
        percent_text(delay, process->run_delay_share);
        percent_text(disk, process->disk_wait_share);
        stk__table_row(&table, (const char *const[]){
                                   kinds[process->kind], pid, cpu, delay, disk,
                                   isnan(process->rss_bytes) ? "-" : stk__cli_bytes(process->rss_bytes),
                                   stk__cli_text(process->name)});
    }
}

/* --- findings --------------------------------------------------------------------------------------------
 */

static void print_others(const page *p)
{
    char text[LINE];
    if (p->count > 1) fprintf(p->view->file, "\nOther findings\n");
    for (int i = 1; i < p->count; i++) {
        const stk__doctor_finding *f = p->list[i];
        if (i > 1) fputc('\n', p->view->file);
        snprintf(text, sizeof text, "%s (%s)", f->rule->title, f->rule->id);
        fputs(paint_severity(p, f->severity), p->view->file);
        print_labelled(p->view->file, 2, stk__doctor_severity_name(f->severity), text);
        fputs(paint(p, STK_PAINT_OFF), p->view->file);
        print_labelled(p->view->file, 2, "  why", f->evidence);
        print_labelled(p->view->file, 2, "  next", f->advice);
        print_gain(p, 2, "  gain", f);
    }
}

/* Rules that need the same measurement share a line. */
static void print_unmeasured(const page *p)
{
    bool any = false;
    for (int i = 0; i < p->d->unmeasured_count; i++) {
        char ids[LINE] = "";
        size_t length = 0;
        const char *needs = p->d->unmeasured[i]->measured;
        bool first = true;
        for (int k = 0; k < p->d->unmeasured_count; k++) {
            if (strcmp(p->d->unmeasured[k]->measured, needs) != 0) continue;
            first = first && k >= i;
            if (length < sizeof ids)
                length += (size_t)snprintf(ids + length, sizeof ids - length, "%s%s", length ? ", " : "",
                                           p->d->unmeasured[k]->id);
        }
        if (!first) continue;
        if (!any) fprintf(p->view->file, "\nNot measured\n");
        any = true;
        char text[2 * LINE];
        snprintf(text, sizeof text, "%s: %s", needs, ids);
        stk__table table;
        stk__table_init(&table, p->view->file, 2, 0);
        stk__table_fit(&table, 1, text);
        stk__table_row(&table, (const char *const[]){"", text});
    }
}

static void print_unmeasured_briefly(const page *p)
{
    if (p->d->unmeasured_count && stk__cli_verbose) {
        print_unmeasured(p);
    } else if (p->d->unmeasured_count) {
        fprintf(p->view->file, "\nNot measured: what %d of %d rules need (-v lists them)\n",
                p->d->unmeasured_count, stk__doctor_rule_count());
    }
}

void stk__doctor_print_symptom(FILE *file, const stk__symptom *symptom)
{
    char rules[1024] = "";
    for (int i = 0; i < stk__doctor_rule_count(); i++) {
        const size_t length = strlen(rules);
        const stk__doctor_rule *rule = stk__doctor_rule_at(i);
        if (rule->symptoms & symptom->bit)
            snprintf(rules + length, sizeof rules - length, "%s%s", length ? ", " : "", rule->id);
    }
    print_labelled(file, 0, "Symptom", symptom->word);
    print_labelled(file, 0, "Measure", symptom->next);
    print_labelled(file, 0, "Rules", rules);
}

void stk__doctor_print(const stk__doctor_view *view, const stk__diagnosis *diagnosis)
{
    page p = {.view = view, .d = diagnosis};
    for (int i = 0; i < diagnosis->count; i++)
        if (!view->symptom || (diagnosis->findings[i].rule->symptoms & view->symptom->bit))
            p.list[p.count++] = &diagnosis->findings[i];
    if (view->symptom) stk__doctor_print_symptom(view->file, view->symptom);
    print_command(&p);
    print_gpu(&p);
    print_verdict(&p);
    if (view->times) print_stall(&p);
    print_processes(&p);
    print_others(&p);
    if (view->times && !stk__cli_quiet) print_unmeasured_briefly(&p);
}
