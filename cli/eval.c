/* stoker eval RUN: how good is the network of a run, on its validation part? */
#include "train_print.h"

#include "train/checkpoint.h"

#include <math.h>
#include <string.h>

typedef struct eval_job {
    stk__arguments arguments;
    stk__cli_session session;
    const char *checkpoint;
    bool newest;
    stk__checkpoint_found found;
    stk__score score;
} eval_job;

static stk_status find_checkpoint(eval_job *job, stk_error *error)
{
    const stk__trainer_info *info = stk__trainer_describe(job->session.trainer);
    char folder[512];
    if (job->checkpoint) {
        snprintf(job->found.path, sizeof job->found.path, "%s", job->checkpoint);
        return stk__checkpoint_verify(job->checkpoint, error);
    }
    snprintf(folder, sizeof folder, "%s/checkpoints", job->arguments.words[0]);
    const bool low = stk__task_describe(info->network->task)->low[info->value];
    stk_status status = job->newest ? STK_END : stk__checkpoint_best(folder, low, &job->found, error);
    if (status == STK_END) status = stk__checkpoint_newest(folder, &job->found, error);
    if (status == STK_END) {
        stk__fail(error, STK_ERROR_DATA, "the run has no checkpoint yet");
        stk__error_place(error, "%s", folder);
        status = STK_ERROR_DATA;
    }
    return status;
}

static stk_status run_job(eval_job *job, stk_error *error)
{
    char path[1024];
    stk__cli_session *s = &job->session;
    s->config = job->arguments.config;
    s->evaluates_only = true;
    snprintf(path, sizeof path, "%s/config.yaml", job->arguments.words[0]);
    STK__TRY(stk__config_read_file(s->config, path, error));
    STK__TRY(stk__cli_apply_preset(s->config, error));
    STK__TRY(stk__cli_session_open(s, error));
    STK__TRY(find_checkpoint(job, error));
    STK__TRY(
        stk__checkpoint_read_model(job->found.path, stk__trainer_describe(s->trainer)->model, false, error));
    return stk__trainer_evaluate(s->trainer, &job->score, error);
}

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static int print_json(const eval_job *job)
{
    const stk__trainer_info *info = stk__trainer_describe(job->session.trainer);
    const stk__task_info *task = stk__task_describe(info->network->task);
    json_t *report =
        json_pack("{s:i, s:o, s:I, s:o}", "schema", 1, "checkpoint", stk__cli_json_text(job->found.path),
                  "samples", (json_int_t)job->score.samples, "loss", number(job->score.loss));
    for (int i = 0; i < task->value_count; i++)
        json_object_set_new(report, task->values[i], number(job->score.values[i]));
    if (info->network->task == STK_TASK_SEGMENTATION) {
        json_t *list = json_array();
        const stk__op_form *forms = stk__pass_forms(info->pass);
        for (int64_t c = 0; c < forms[info->network->output].output.dim[3]; c++)
            json_array_append_new(list, number(job->score.per_class[c]));
        json_object_set_new(report, "f_score_per_class", list);
    }
    return stk__cli_print_json(report);
}

static void print_text(const eval_job *job)
{
    const stk__trainer_info *info = stk__trainer_describe(job->session.trainer);
    const stk_loader_info *data = stk_loader_describe(job->session.val_loader);
    printf("%s: %s samples, loss %.5g", job->found.path, stk__cli_grouped(job->score.samples),
           job->score.loss);
    stk__train_print_score(stdout, info->network->task, &job->score);
    printf("\n");
    for (int c = 0; info->network->task == STK_TASK_SEGMENTATION && c < data->class_count; c++) {
        if (isnan(job->score.per_class[c]))
            printf("  %-20s F-score -\n", data->class_names ? data->class_names[c] : "");
        else
            printf("  %-20s F-score %.4f\n", data->class_names ? data->class_names[c] : "",
                   job->score.per_class[c]);
    }
}

int stk__cli_eval(int argc, char **argv)
{
    static const stk__verb verb = {.name = "eval",
                                   .usage = "eval RUN [key=value …]",
                                   .about = "Evaluates the best checkpoint of a run on its validation part."};
    static eval_job job;
    const stk__flag flags[] = {
        {.name = "checkpoint",
         .value = "DIR",
         .help = "this one instead of the best",
         .text = &job.checkpoint},
        {.name = "newest", .help = "the newest instead of the best", .given = &job.newest},
        {.name = "json", .help = "report as JSON on standard output", .given = &stk__cli_json},
    };
    job.arguments = (stk__arguments){.verb = &verb,
                                     .flags = flags,
                                     .flag_count = sizeof flags / sizeof flags[0],
                                     .tables = stk__cli_train_tables(),
                                     .table_count = STK_CLI_TRAIN_TABLES,
                                     .most_words = 1,
                                     .words_are_runs = true};
    stk_error error;
    int code = stk__arguments_read(&job.arguments, argc, argv);
    if (code < 0 && !job.arguments.word_count) code = stk__cli_usage("eval", "which run? name its folder");
    if (code < 0) {
        code = STK_EXIT_GOOD;
        if (run_job(&job, &error) != STK_OK)
            code = stk__cli_fail(&error);
        else if (stk__cli_json)
            code = print_json(&job);
        else
            print_text(&job);
        stk__cli_session_close(&job.session, code);
    }
    stk__arguments_fini(&job.arguments);
    return code;
}
