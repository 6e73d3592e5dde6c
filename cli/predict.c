/* SPDX-License-Identifier: Apache-2.0 */
/* stoker predict RUN FILES…: what the network of a run says of images or series. src/session computes the
 * answers and writes the pictures; here each becomes a line on standard output, in the main thread. */
#include "cli.h"

#include "session/predict/predict_answer.h"
#include "session/predict/predict_session.h"

#include <math.h>
#include <string.h>

typedef struct predict_job {
    stk__arguments arguments;
    stk__predict_session predict;
    stk__answers answers;
    stk__progress progress;
    int width; /* of the column of file names */
    const char *output;
    bool overlay, all;
    bool began; /* there may be answers */
} predict_job;

static bool writes_pictures(const predict_job *job)
{
    return job->answers.task == STK_TASK_SEGMENTATION || job->overlay;
}

/* --- lines -----------------------------------------------------------------------------------------------
 */

/* The column is as wide as the longest name of the first thousand, without very long ones. */
static void measure_names(predict_job *job)
{
    enum { LOOKED_AT = 1000, MOST = 60 };
    const stk__source *source = job->predict.source;
    char where[PATH_MAX];
    for (uint64_t id = 0; id < source->info.count && id < LOOKED_AT; id++) {
        source->ops->where(source, id, STK_FIELD_IMAGE, where, sizeof where);
        const int width = (int)strlen(where);
        if (width > job->width && width <= MOST) job->width = width;
    }
}

enum { SHOWN = 3 }; /* classes of an image or mask */

/* null stands for a number that is not finite. */
static double number_of(const json_t *row, const char *key)
{
    const json_t *number = json_object_get(row, key);
    return json_is_null(number) ? NAN : json_number_value(number);
}

static void print_classes(const json_t *classes, const char *share, size_t most)
{
    for (size_t i = 0; i < json_array_size(classes) && i < most; i++) {
        const json_t *each = json_array_get(classes, i);
        const char *name = json_string_value(json_object_get(each, "name"));
        const double percent = 100 * number_of(each, share);
        if (name)
            printf("  %s %.1f %%", stk__cli_text(name), percent);
        else
            printf("  class %lld %.1f %%", (long long)json_integer_value(json_object_get(each, "class")),
                   percent);
    }
}

/* Names are those of the file system: the row has them as UTF-8. */
static void print_answer(const predict_job *job, uint64_t id, const json_t *row)
{
    const stk__source *source = job->predict.source;
    const json_t *points = json_object_get(row, "points"), *mask = json_object_get(row, "mask");
    char path[PATH_MAX];
    source->ops->where(source, id, STK_FIELD_IMAGE, path, sizeof path);
    printf("%-*s", job->width, stk__cli_text(path));
    stk__answers_path(&job->answers, id, ".png", path);
    if (mask) printf("  %s", stk__cli_text(path));
    const json_t *labels = json_object_get(row, "labels");
    print_classes(json_object_get(row, "classes"), mask ? "share" : "probability", SHOWN);
    print_classes(labels, "probability", json_array_size(labels));
    if (labels && !json_array_size(labels)) printf("  none");
    for (size_t k = 0; k < json_array_size(points); k++) {
        const json_t *point = json_array_get(points, k);
        const char *name = json_string_value(json_object_get(point, "name"));
        if (name)
            printf("  %s (%.1f, %.1f)", stk__cli_text(name), number_of(point, "x"), number_of(point, "y"));
        else
            printf("  point %zu (%.1f, %.1f)", k, number_of(point, "x"), number_of(point, "y"));
    }
    if (json_object_get(row, "row"))
        printf("  row %lld", (long long)json_integer_value(json_object_get(row, "row")));
    if (json_object_get(row, "value")) printf("  %.6g", number_of(row, "value"));
    printf("\n");
}

static void show_progress(predict_job *job)
{
    stk__progress_show(&job->progress, "predict", job->answers.done, job->predict.source->info.count);
}

static void print_row(void *context, uint64_t id, const json_t *row)
{
    predict_job *job = context;
    stk__progress_end(&job->progress);
    if (!stk__cli_json) print_answer(job, id, row);
    show_progress(job);
}

static void print_refusal(void *context, const char *file, const char *damage, const char *detail)
{
    predict_job *job = context;
    stk__progress_end(&job->progress);
    fprintf(stderr, "stoker: %s: %s%s%s\n", stk__cli_text(file), damage ? damage : "", damage ? ": " : "",
            stk__cli_text(detail));
}

/* A stk__trainer_look. */
static void look(void *context, const stk_batch *batch, const stk_tensor *prediction)
{
    predict_job *job = context;
    stk__answers_look(&job->answers, batch, prediction);
    show_progress(job); /* samples without an answer count, too */
    fflush(stdout);
}

/* --- opening ---------------------------------------------------------------------------------------------
 */

static void refuse_input(void *context, const char *name, const stk_error *error)
{
    predict_job *job = context;
    stk__answers_refuse(&job->answers, name, NULL, error->message);
    if (error->hint[0]) fprintf(stderr, "  hint:  %s\n", stk__cli_text(error->hint));
}

static void note_damage(void *context, const stk_ledger_entry *entry)
{
    predict_job *job = context;
    stk__answers_refuse(&job->answers, entry->path, stk_damage_name(entry->damage), entry->detail);
}

static stk_status check_flags(const predict_job *job, stk_error *error)
{
    const stk__task task = job->answers.task;
    if (job->overlay && task != STK_TASK_SEGMENTATION && task != STK_TASK_POINTS)
        return stk__fail(error, STK_ERROR_CONFIG, "--overlay shows masks and points; this run is %s",
                         stk__task_word(task));
    if (job->all && !stk__task_reads_windows(task))
        return stk__fail(error, STK_ERROR_CONFIG, "--all is for windows of series; this run is %s",
                         stk__task_word(task));
    return STK_OK;
}

static stk_status open_inputs(predict_job *job, stk_error *error)
{
    stk__predict_session *p = &job->predict;
    stk__predict_inputs inputs = {.names = job->arguments.all_words + 1,
                                  .count = job->arguments.word_count - 1,
                                  .all = job->all,
                                  .refuse = refuse_input,
                                  .context = job};
    stk__answers *a = &job->answers;
    a->on_row = print_row;
    a->on_refusal = print_refusal;
    a->context = job;
    STK__TRY(stk__predict_session_open_inputs(p, &inputs, error));
    stk__cli_loader_target(p->session.val_loader);
    stk_loader_set_ledger(p->session.val_loader, note_damage, job);
    const stk__limits limits = stk__predict_session_limits(p);
    a->source = p->source;
    a->data = &p->data;
    a->folder = job->output ? job->output : "predictions";
    a->overlay = job->overlay;
    a->upright = p->filled.exif == STK_SWITCH_ON;
    measure_names(job);
    return stk__answers_init(a, &limits, error);
}

static stk_status open_network(predict_job *job, stk_error *error)
{
    stk__predict_session *p = &job->predict;
    STK__TRY(stk__predict_session_open_network(p, error));
    job->answers.task = p->task;
    STK__TRY(check_flags(job, error));
    const stk_status status = stk__run_checkpoint_load(&p->choice, p->session.trainer, &p->found, error);
    stk__cli_print_skipped(p->found.skipped, p->found.first_reason);
    return status;
}

static stk_status run_job(predict_job *job, stk_error *error)
{
    stk__score score;
    stk__predict_session *p = &job->predict;
    p->session.config = job->arguments.config;
    STK__TRY(stk__predict_session_read(p, error));
    job->answers.task = p->task;
    STK__TRY(open_inputs(job, error));
    STK__TRY(open_network(job, error));
    stk__trainer *trainer = p->session.trainer;
    if (writes_pictures(job)) STK__TRY(stk__answers_check_names(&job->answers, error));
    if (!stk__cli_quiet)
        fprintf(stderr, "%s: %s (%s)\n", p->found.path, stk__trainer_describe(trainer)->network->name,
                stk__task_word(job->answers.task));
    job->began = true;
    stk__progress_start(&job->progress);
    stk__trainer_watch(trainer, look, job);
    const stk_status status = stk__trainer_evaluate(trainer, &score, error);
    stk__progress_end(&job->progress);
    if (job->answers.status == STK_OK) return status;
    *error = job->answers.error;
    return job->answers.status;
}

/* --- report ----------------------------------------------------------------------------------------------
 */

static stk_status write_report(const predict_job *job, stk_error *error)
{
    STK__TRY(stk__answers_write(&job->answers, job->predict.found.path, error));
    if (!stk__cli_quiet)
        fprintf(stderr, "%s in %s\n",
                writes_pictures(job) ? "pictures and predictions.json are" : "predictions.json is",
                job->answers.folder);
    return STK_OK;
}

static int print_report(const predict_job *job)
{
    return stk__cli_print_json(stk__answers_json(&job->answers, job->predict.found.path));
}

/* What was predicted before something went wrong is told, too. */
static int finish(predict_job *job, stk_status status, stk_error *error)
{
    int code = status == STK_OK ? STK_EXIT_GOOD : stk__cli_fail(error);
    if (job->began) stk__cli_print_all_effects(job->arguments.config);
    if (job->began && (job->output || writes_pictures(job)) && write_report(job, error) != STK_OK &&
        code == STK_EXIT_GOOD)
        code = stk__cli_fail(error);
    if (job->began && stk__cli_json && print_report(job) != STK_EXIT_GOOD && code == STK_EXIT_GOOD)
        code = STK_EXIT_FAILED;
    if (code == STK_EXIT_GOOD && job->answers.failures) code = STK_EXIT_FAILED;
    stk__interrupt_target(NULL, NULL);
    if (stk__predict_session_close(&job->predict) != 0) stk__cli_leave(code);
    stk__answers_fini(&job->answers);
    return code;
}

static int run_verb(const stk__verb *verb, int argc, char **argv)
{
    static predict_job job;
    const stk__flag flags[] = {
        {.name = "output",
         .value = "DIR",
         .help = "folder for masks, overlays and predictions.json (predictions)",
         .text = &job.output},
        {.name = "overlay", .help = "also draw masks or points over the images", .given = &job.overlay},
        {.name = "all", .help = "predict every window of a series, not only the last", .given = &job.all},
        {.name = "checkpoint",
         .value = "DIR",
         .help = "use this checkpoint instead of the best",
         .text = &job.predict.choice.checkpoint},
        {.name = "newest",
         .help = "use the newest checkpoint instead of the best",
         .given = &job.predict.choice.newest},
        {.name = "json", .help = "print the report as JSON on standard output", .given = &stk__cli_json},
    };
    stk_error error;
    const char **words = stk__alloc(((size_t)argc + 1) * sizeof *words);
    if (!words) return stk__cli_usage("predict", "there is no memory");
    job.arguments = (stk__arguments){.verb = verb,
                                     .flags = flags,
                                     .flag_count = sizeof flags / sizeof flags[0],
                                     .most_words = (size_t)argc,
                                     .all_words = words,
                                     .own_words = true};
    int code = stk__arguments_read(&job.arguments, argc, argv);
    if (code < 0 && !job.arguments.word_count)
        code = stk__cli_usage("predict", "name the folder of a run, then files");
    if (code < 0 && job.arguments.word_count == 1)
        code = stk__cli_usage("predict", "name files, folders or lists to predict after the run");
    if (code < 0) {
        job.predict.choice.run = words[0];
        code = finish(&job, run_job(&job, &error), &error);
    }
    stk__arguments_fini(&job.arguments);
    stk__free(words);
    return code;
}

const stk__verb stk__verb_predict = {
    .name = "predict",
    .usage = "predict RUN FILES… [key=value …]",
    .about = "Predict images or series with the network of a run.",
    .settings = stk__session_tables,
    .settings_count = STK_SESSION_TABLES,
    .common = "data.batch_size data.num_workers run.device run.engine",
    .examples = {{"stoker predict runs/faces faces/images --output masks", "masks of all images in a folder"},
                 {"stoker predict runs/faces faces/images --overlay --json",
                  "masks drawn over the images, and a report as JSON"}},
    .run = run_verb};
