/* SPDX-License-Identifier: Apache-2.0 */
/* The summary at the end of stoker monitor, for people: metrics against their targets, and the verdict. */
#include "monitor_output.h"

#include <math.h>
#include <string.h>

enum { BAR = 25, MOST_BLOCKS = 2, CELL = 40, LINE = 78 };

typedef struct page {
    FILE *file;
    bool colors;
} page;

static const char *paint(const page *p, const char *escape)
{
    return p->colors ? escape : "";
}

/* Red: a limit is exceeded or a range is missed by far. */
static const char *paint_grade(const page *p, const stk_judged *row)
{
    const bool far = isnan(row->least) || row->value.value < 0.75 * row->least;
    if (row->grade == STK_GRADE_NONE) return "";
    if (row->grade == STK_GRADE_GOOD && !row->note[0]) return paint(p, STK_PAINT_GOOD);
    return paint(p, row->grade != STK_GRADE_GOOD && far ? STK_PAINT_BAD : STK_PAINT_NOTE);
}

/* --- a GPU in full ---------------------------------------------------------------------------------------
 */

/* The value as a bar of 0 to 100, with the target range marked behind it. */
static void print_bar(const page *p, const stk_judged *row)
{
    const double cell = 100.0 / BAR, value = fmin(fmax(row->value.value, 0), 100);
    const int full = (int)lrint(value / cell);
    fputs(paint_grade(p, row), p->file);
    for (int i = 0; i < BAR; i++) {
        const double middle = (i + 0.5) * cell;
        const bool aim =
            !isnan(row->most) && middle < row->most && (isnan(row->least) || middle > row->least);
        if (i == full) fputs(paint(p, STK_PAINT_OFF), p->file);
        fputs(i < full ? "█" : aim ? "░" : "·", p->file);
    }
    fputs(paint(p, STK_PAINT_OFF), p->file);
}

static void target_text(const stk_judged *row, char text[CELL])
{
    if (isnan(row->most))
        text[0] = '\0';
    else if (isnan(row->least))
        snprintf(text, CELL, "below %.0f", row->most);
    else
        snprintf(text, CELL, "%.0f to %.0f", row->least, row->most);
}

static void print_row(const page *p, const stk_judged *row)
{
    static const char *const words[] = {"", "good", "low", "high"};
    char value[CELL] = "unknown", target[CELL];
    const bool known = stk__monitor_output_knows(row->value);
    if (known) snprintf(value, sizeof value, "%.1f", row->value.value);
    target_text(row, target);
    fprintf(p->file, "  %-13s %8s", row->name, value);
    if (known) {
        fprintf(p->file, strcmp(row->unit, "°C") == 0 ? " %s " : " %-2s ", row->unit); /* ° has two bytes */
        print_bar(p, row);
    } else if (target[0])
        fprintf(p->file, "%*s", BAR + 4, "");
    if (target[0]) fprintf(p->file, words[row->grade][0] ? "  %-9s " : "  %s", target);
    fprintf(p->file, "%s%s%s%s%s\n", paint_grade(p, row), words[row->grade], row->note[0] ? ", " : "",
            stk__cli_text(row->note), paint(p, STK_PAINT_OFF));
}

/* "%", "°C", "s" and "W" stay with their number. */
static bool is_unit(const char *word)
{
    const char *letters = "abcdefghijklmnopqrstuvwxyz";
    return *word == '%' || strncmp(word, "°", 2) == 0 ||
           (strchr("sW", *word) && *word && !strchr(letters, word[1]));
}

static int word_length(const char *text)
{
    size_t length = strcspn(text, " ");
    while (text[length] == ' ' && is_unit(text + length + 1))
        length += 1 + strcspn(text + length + 1, " ");
    return (int)length;
}

/* Word wrap; continuation lines start at `indent`. */
static void print_wrapped(const page *p, const char *text, int indent)
{
    text = stk__cli_text(text);
    for (int column = indent; *text;) {
        const int length = word_length(text);
        if (column > indent && column + 1 + length > LINE) {
            fprintf(p->file, "\n%*s", indent, "");
            column = indent;
        }
        fprintf(p->file, "%s%.*s", column > indent ? " " : "", length, text);
        column += length + (column > indent);
        text += length;
        text += strspn(text, " ");
    }
    fputc('\n', p->file);
}

static void add(char *text, size_t room, const char *format, double a, double b)
{
    const size_t used = strlen(text);
    snprintf(text + used, room - used, format, a, b);
}

static void print_load_facts(const page *p, const stk_gpu_summary *gpu)
{
    char text[256] = "";
    if (!stk__monitor_output_knows(gpu->util_mean_percent)) return;
    if (stk__monitor_output_knows(gpu->util_p5_percent) && stk__monitor_output_knows(gpu->util_p95_percent))
        add(text, sizeof text, "utilization samples: p5 %.0f %%, p95 %.0f %%; ", gpu->util_p5_percent.value,
            gpu->util_p95_percent.value);
    add(text, sizeof text, "below 50 %% for %.0f %% of the time", 100 * gpu->below_half.value, 0);
    if (stk__monitor_output_knows(gpu->dip_period_s))
        add(text, sizeof text, "; dips every %.1f s", gpu->dip_period_s.value, 0);
    fputs("  ", p->file);
    print_wrapped(p, text, 2);
}

static void print_other_facts(const page *p, const stk_gpu_summary *gpu)
{
    char text[320] = "";
    if (stk__monitor_output_knows(gpu->power_mean_w))
        add(text, sizeof text, "; mean power %.0f W", gpu->power_mean_w.value, 0);
    if (stk__monitor_output_knows(gpu->energy_j))
        add(text, sizeof text, ", energy %.1f kJ", gpu->energy_j.value / 1e3, 0);
    if (stk__monitor_output_knows(gpu->throttled_power_s))
        add(text, sizeof text, "; power throttling %.1f s", gpu->throttled_power_s.value, 0);
    if (stk__monitor_output_knows(gpu->throttled_heat_s))
        add(text, sizeof text, "; thermal throttling %.1f s", gpu->throttled_heat_s.value, 0);
    if (stk__monitor_output_knows(gpu->pcie_received_bytes_per_s) &&
        stk__monitor_output_knows(gpu->pcie_sent_bytes_per_s))
        add(text, sizeof text, "; PCIe RX %.2f GB/s, TX %.2f GB/s",
            gpu->pcie_received_bytes_per_s.value * 1e-9, gpu->pcie_sent_bytes_per_s.value * 1e-9);
    if (!text[0]) return;
    fputs("  ", p->file);
    print_wrapped(p, text + 2, 2);
}

static void print_name(const page *p, const stk_gpu *gpu)
{
    fprintf(p->file, "%sGPU %s  %s%s%s%s\n", paint(p, STK_PAINT_BOLD), stk__gpu_label_of(gpu).text,
            stk__cli_text(gpu->name), gpu->part[0] ? ", " : "", stk__cli_text(gpu->part),
            paint(p, STK_PAINT_OFF));
}

static void print_block(const page *p, const stk_gpu_summary *gpu)
{
    fputc('\n', p->file);
    print_name(p, gpu->gpu);
    for (int i = 0; i < gpu->row_count; i++)
        print_row(p, &gpu->rows[i]);
    print_load_facts(p, gpu);
    print_other_facts(p, gpu);
}

/* --- many GPUs -------------------------------------------------------------------------------------------
 */

/* Rows that are the same for all GPUs are printed below the table. */
static bool is_common(const stk_judged *row)
{
    return strcmp(row->name, "CPUs") == 0;
}

typedef void print_cell(const page *p, const stk_judged *row, int width);

static void print_name_cell(const page *p, const stk_judged *row, int width)
{
    fprintf(p->file, "  %*s", width, row->name);
}

static void print_unit_cell(const page *p, const stk_judged *row, int width)
{
    fprintf(p->file, "  %*s", strcmp(row->unit, "°C") == 0 ? width + 1 : width,
            row->unit); /* ° has two bytes */
}

static void print_value_cell(const page *p, const stk_judged *row, int width)
{
    char value[CELL] = "-";
    if (stk__monitor_output_knows(row->value)) snprintf(value, sizeof value, "%.1f", row->value.value);
    fprintf(p->file, "  %s%*s%s", paint_grade(p, row), width, value, paint(p, STK_PAINT_OFF));
}

static void print_target_cell(const page *p, const stk_judged *row, int width)
{
    char target[CELL];
    target_text(row, target);
    fprintf(p->file, "  %*s", width, target);
}

static void print_cells(const page *p, const stk_gpu_summary *gpu, print_cell *print)
{
    for (int i = 0; i < gpu->row_count; i++) {
        const int width = (int)strlen(gpu->rows[i].name);
        if (!is_common(&gpu->rows[i])) print(p, &gpu->rows[i], width < 8 ? 8 : width);
    }
    fputc('\n', p->file);
}

static void print_table(const page *p, const stk_monitor_summary *summary)
{
    const stk_gpu_summary *first = &summary->gpus[0];
    fputs("\n   GPU", p->file);
    print_cells(p, first, print_name_cell);
    fputs("      ", p->file);
    print_cells(p, first, print_unit_cell);
    for (int i = 0; i < summary->gpu_count; i++) {
        fprintf(p->file, "%6s", stk__gpu_label_of(summary->gpus[i].gpu).text);
        print_cells(p, &summary->gpus[i], print_value_cell);
    }
    fputs("target", p->file);
    print_cells(p, first, print_target_cell);
    fputc('\n', p->file);
    for (int i = 0; i < first->row_count; i++)
        if (is_common(&first->rows[i])) print_row(p, &first->rows[i]);
}

/* --- all -------------------------------------------------------------------------------------------------
 */

static void print_watched(const page *p, const stk_monitor_summary *summary)
{
    const double cut_s = summary->seconds - (summary->steady_to_s - summary->steady_from_s);
    fprintf(p->file, "monitored for %.1f s", summary->seconds);
    if (cut_s > 0.5)
        fprintf(p->file, ", evaluated from %.0f s to %.0f s (without warm-up and cool-down)",
                summary->steady_from_s, summary->steady_to_s);
    fputc('\n', p->file);
}

static void print_job(const page *p, const stk_monitor_summary *summary)
{
    if (!stk__monitor_output_knows(summary->job_cpu_mean_percent)) return;
    fprintf(p->file, "\njob: %.1f of %d CPUs", summary->job_cpu_mean_percent.value / 100, summary->cpu_count);
    if (stk__monitor_output_knows(summary->job_memory_peak_bytes))
        fprintf(p->file, ", peak memory %s", stk__cli_bytes(summary->job_memory_peak_bytes.value));
    fputc('\n', p->file);
}

static void print_verdict(const page *p, const char *before, const char *verdict)
{
    fprintf(p->file, "%s%s%s", paint(p, STK_PAINT_BOLD), before, paint(p, STK_PAINT_OFF));
    print_wrapped(p, verdict, (int)strlen(before));
}

void stk__monitor_output_print_end(FILE *file, bool colors, const stk_monitor_summary *summary)
{
    const page p = {.file = file, .colors = colors};
    print_watched(&p, summary);
    if (summary->gpu_count > MOST_BLOCKS)
        print_table(&p, summary);
    else
        for (int i = 0; i < summary->gpu_count; i++)
            print_block(&p, &summary->gpus[i]);
    print_job(&p, summary);
    fputc('\n', file);
    for (int i = 0; i < summary->gpu_count && summary->gpu_count > 1; i++) {
        char before[CELL];
        snprintf(before, sizeof before, "GPU %s: ", stk__gpu_label_of(summary->gpus[i].gpu).text);
        print_verdict(&p, before, summary->gpus[i].verdict);
    }
    if (summary->gpu_count <= 1) print_verdict(&p, "verdict: ", summary->verdict);
}

static void show_end(stk__monitor_output *output, const stk_monitor_summary *summary)
{
    stk__monitor_output_print_end(output->file, output->colors, summary);
}

const stk__monitor_output_ops stk__monitor_output_end = {.name = "end", .end = show_end};
