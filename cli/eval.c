/* SPDX-License-Identifier: Apache-2.0 */
/* stoker eval RUN: how good is the network of a run, on its validation part? */
#include "cli.h"

#include "session/confusion.h"
#include "session/data_json.h"
#include "session/eval_part.h"
#include "session/sheet/eval_sheet.h"
#include "session/session_check.h"
#include "session/trained_run.h"

#include "core/json_text.h"

#include <math.h>
#include <string.h>

typedef struct eval_job {
    stk__arguments arguments;
    stk__session session;
    const char *checkpoint;
    bool newest;
    const char *sheet_path;
    int64_t count; /* rows of the sheet */
    stk__eval_sheet sheet;
    stk__confusion confusion;
    stk__run_data learnt;
    stk__checkpoint_found found;
    stk__score score;
} eval_job;

static void look(void *context, const stk_batch *batch, const stk_tensor *prediction)
{
    eval_job *job = context;
    stk__confusion_add(&job->confusion, batch, prediction);
    if (job->sheet_path) stk__eval_sheet_look(&job->sheet, batch, prediction);
}

static stk_status run_job(eval_job *job, stk_error *error)
{
    stk__session *s = &job->session;
    s->config = job->arguments.config;
    s->evaluates_only = true;
    STK__TRY(stk__run_settings_read(s->config, job->arguments.words[0], error));
    STK__TRY(stk__session_apply_preset(s->config, error));
    const char *run = job->arguments.words[0];
    job->learnt.name = run;
    if (stk__run_has_data(run)) { /* old ones do not: then nobody knows what their classes were called */
        STK__TRY(stk__run_data_read(&job->learnt, run, error));
        s->trained = &job->learnt.facts;
    }
    STK__TRY(stk__session_open(s, error));
    STK__TRY(stk__session_check_run(s, &job->learnt, error));
    stk_loader_set_ledger(s->val_loader, stk__cli_tell_sample, NULL);
    FILE *to = stk__cli_wrap_begin(stderr);
    stk__cli_print_found(to, stk_loader_describe(s->val_loader), NULL);
    stk__cli_wrap_end(to, stderr, 11);
    const stk__run_choice choice = {
        .run = job->arguments.words[0], .checkpoint = job->checkpoint, .newest = job->newest};
    const stk_status loaded = stk__run_checkpoint_load(&choice, s->trainer, &job->found, error);
    stk__cli_print_skipped(job->found.skipped, job->found.first_reason);
    STK__TRY(loaded);
    STK__TRY(stk__confusion_init(&job->confusion, s, error));
    if (job->sheet_path) STK__TRY(stk__eval_sheet_init(&job->sheet, s, (int32_t)job->count, error));
    if (job->sheet_path || job->confusion.counts.data) stk__trainer_watch(s->trainer, look, job);
    STK__TRY(stk__trainer_evaluate(s->trainer, &job->score, error));
    STK__TRY(stk__trainer_check_score(s->trainer, &job->score, error));
    return job->sheet_path ? stk__eval_sheet_write(&job->sheet, job->sheet_path, error) : STK_OK;
}

typedef struct class_score {
    const char *key, *words;
} class_score;

/* What is known of every class; NULL: nothing. */
static const class_score *per_class(const stk__trainer_info *info)
{
    static const class_score f_score = {"f_score_per_class", "F-score"}, precision = {"ap_per_class", "AP"};
    if (info->network->task == STK_TASK_MULTILABEL) return &precision;
    return info->network->task == STK_TASK_SEGMENTATION ? &f_score : NULL;
}

static int print_json(const eval_job *job)
{
    static const char *const parts[] = {
        [STK_PART_TRAIN] = "train", [STK_PART_VAL] = "val", [STK_PART_ALL] = "all", [STK_PART_TEST] = "test"};
    char root[512];
    const stk__trainer_info *info = stk__trainer_describe(job->session.trainer);
    const stk__task_info *task = stk__task_describe(info->network->task);
    json_t *report =
        json_pack("{s:i, s:o, s:I, s:I, s:o}", "schema", 1, "checkpoint", stk__json_string(job->found.path),
                  "samples", (json_int_t)job->score.samples, "bad_samples",
                  (json_int_t)job->score.bad_samples, "loss", stk__json_number(job->score.loss));
    stk__session_print_root(&job->session.val_data, root, sizeof root);
    json_object_set_new(report, "root", stk__json_string(root));
    json_object_set_new(report, "part", json_string(parts[job->session.val_data.part]));
    for (int i = 0; i < task->value_count; i++)
        json_object_set_new(report, task->values[i], stk__json_number(job->score.values[i]));
    if (per_class(info)) {
        json_t *list = json_array();
        const stk__shape *output = &stk__pass_forms(info->pass)[info->network->output].output;
        for (int64_t c = 0; c < output->dim[output->ndim - 1]; c++)
            json_array_append_new(list, stk__json_number(job->score.per_class[c]));
        json_object_set_new(report, per_class(info)->key, list);
    }
    json_object_set_new(report, "data", stk__data_json(stk_loader_describe(job->session.val_loader)));
    json_object_set_new(report, "evaluation", stk__confusion_json(&job->confusion));
    return stk__cli_print_json(report);
}

static void print_text(const eval_job *job)
{
    const stk__trainer_info *info = stk__trainer_describe(job->session.trainer);
    const stk_loader_info *data = stk_loader_describe(job->session.val_loader);
    char part[640];
    stk__cli_print_all_effects(job->arguments.config);
    stk__session_print_part(&job->session, job->score.bad_samples, part, sizeof part);
    FILE *to = stk__cli_wrap_begin(stdout);
    fprintf(to, "%s: %s, loss %.5g", job->found.path, stk__cli_text(part), job->score.loss);
    stk__cli_print_score(to, info->network->task, &job->score);
    fprintf(to, "\n");
    stk__cli_wrap_end(to, stdout, 2);
    if (job->score.bad_samples)
        printf("  %s %s\n", stk__cli_count(job->score.bad_samples, "corrupt sample"),
               job->session.val_data.on_bad_sample == STK_BAD_REPLACE ? "replaced by others" : "skipped");
    for (int c = 0; per_class(info) && c < data->class_count; c++) {
        char number[24];
        snprintf(number, sizeof number, "class %d", c);
        const char *name = data->class_names ? stk__cli_text(data->class_names[c]) : number;
        if (isnan(job->score.per_class[c]))
            printf("  %-20s %s -\n", name, per_class(info)->words);
        else
            printf("  %-20s %s %.4f\n", name, per_class(info)->words, job->score.per_class[c]);
    }
}

static int run_verb(const stk__verb *verb, int argc, char **argv)
{
    static eval_job job;
    const stk__flag flags[] = {
        {.name = "checkpoint",
         .value = "DIR",
         .help = "evaluate this checkpoint instead of the best",
         .text = &job.checkpoint},
        {.name = "newest",
         .help = "evaluate the newest checkpoint instead of the best",
         .given = &job.newest},
        {.name = "sheet",
         .value = "FILE.png",
         .help = "draw samples with truth and prediction side by side",
         .text = &job.sheet_path},
        {.name = "count", .value = "N", .help = "samples on the sheet (6)", .number = &job.count},
        {.name = "json", .help = "print the report as JSON on standard output", .given = &stk__cli_json},
    };
    job.arguments = (stk__arguments){.verb = verb,
                                     .flags = flags,
                                     .flag_count = sizeof flags / sizeof flags[0],
                                     .most_words = 1,
                                     .own_words = true};
    stk_error error;
    job.count = 6;
    int code = stk__arguments_read(&job.arguments, argc, argv);
    if (code < 0 && (job.count < 1 || job.count > STK_EVAL_SHEET_MOST))
        code = stk__cli_usage("eval", "--count must be 1 to 100");
    if (code < 0 && !job.arguments.word_count) code = stk__cli_usage("eval", "name the folder of a run");
    if (code < 0) {
        code = STK_EXIT_GOOD;
        if (run_job(&job, &error) != STK_OK)
            code = stk__cli_fail(&error);
        else if (stk__cli_json)
            code = print_json(&job);
        else
            print_text(&job);
        if (job.sheet_path && code == STK_EXIT_GOOD && !stk__cli_quiet)
            fprintf(stderr, "%s: %d sample%s with truth and prediction\n", job.sheet_path,
                    (int)job.sheet.drawn, job.sheet.drawn == 1 ? "" : "s");
        stk__eval_sheet_fini(&job.sheet);
        stk__confusion_fini(&job.confusion);
        stk__run_data_fini(&job.learnt);
        stk__cli_session_close(&job.session, code);
    }
    stk__arguments_fini(&job.arguments);
    return code;
}

const stk__verb stk__verb_eval = {
    .name = "eval",
    .usage = "eval RUN [key=value …]",
    .about = "Evaluate the best checkpoint of a run on validation or other data.",
    .settings = stk__session_tables,
    .settings_count = STK_SESSION_TABLES,
    .common = "data.root data.part data.val_root data.batch_size data.num_workers run.device run.engine",
    .examples = {{"stoker eval runs/faces", "loss and metrics of the best checkpoint"},
                 {"stoker eval runs/faces data.root=faces", "on all samples of a data set"},
                 {"stoker eval runs/faces --newest --sheet predictions.png --count 8",
                  "images, labels and predictions side by side"}},
    .run = run_verb};
