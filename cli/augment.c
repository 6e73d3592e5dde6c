/* SPDX-License-Identifier: Apache-2.0 */
/* stoker augment: what augmentation does to a data set, as a picture or in numbers. */
#include "cli.h"

#include "loader/explain.h"
#include "session/sheet/augment_sheet.h"

#include <string.h>

typedef struct augment_job {
    stk__arguments arguments;
    const char *explain;
    stk__augment_sheet sheet;     /* its path: what was asked for; its epoch: also of the explanation */
    stk__session_loading loading; /* of the explanation */
    stk_loader *loader;
    bool shown; /* the data set of the sheet */
} augment_job;

/* --- the explanation ---------------------------------------------------------------------------------------
 */

static json_t *matrix_json(const float matrix[6])
{
    json_t *numbers = json_array();
    for (int i = 0; i < 6; i++)
        json_array_append_new(numbers, json_real((double)matrix[i]));
    return numbers;
}

static json_t *explanation_json(const stk__explanation *e)
{
    json_t *facts = json_array();
    for (int i = 0; i < e->trace.count; i++) {
        const stk__plan_fact *fact = &e->trace.facts[i];
        json_array_append_new(facts, json_pack("{s:s, s:s, s:f}", "operation", fact->operation, "what",
                                               fact->what, "value", fact->value));
    }
    return json_pack("{s:i, s:I, s:I, s:o, s:[ii], s:[ii], s:[ii], s:o, s:o, s:b}", "schema", 1, "sample_id",
                     (json_int_t)e->at.sample, "epoch", (json_int_t)e->at.epoch, "path",
                     stk__json_string(e->path), "stored_px", e->stored_w, e->stored_h, "decoded_px",
                     e->at.source_w, e->at.source_h, "target_px", e->at.target_w, e->at.target_h, "drawn",
                     facts, "inverse_matrix", matrix_json(e->resolved.block.matrix), "sides_swapped",
                     e->swaps);
}

static void print_facts(const stk__plan_trace *trace)
{
    const char *last = "";
    for (int i = 0; i < trace->count; i++) {
        const stk__plan_fact *fact = &trace->facts[i];
        const char *name = strcmp(last, fact->operation) == 0 ? "" : fact->operation;
        if (strcmp(fact->what, "applied") == 0)
            printf("  %-16s %s\n", name, fact->value > 0 ? "yes" : "no");
        else
            printf("  %-16s %-10s %.6g\n", name, fact->what, fact->value);
        last = fact->operation;
    }
    if (!trace->count) printf("  nothing was drawn: the image is only resized\n");
}

static void print_explanation(const stk__explanation *e)
{
    const float *m = e->resolved.block.matrix;
    printf("sample %u in epoch %u: %s\n", e->at.sample, e->at.epoch + 1, stk__cli_text(e->path));
    printf("  %dx%d as stored, decoded to %dx%d, augmented to %dx%d\n\n", e->stored_w, e->stored_h,
           e->at.source_w, e->at.source_h, e->at.target_w, e->at.target_h);
    print_facts(&e->trace);
    if (e->swaps) printf("  %-16s left and right of classes and points change places\n", "mirrored");
    printf("\n  from a pixel's center (x, y) to the source:\n");
    printf("    u = %.6g x %+.6g y %+.6g\n", (double)m[0], (double)m[1], (double)m[2]);
    printf("    v = %.6g x %+.6g y %+.6g\n", (double)m[3], (double)m[4], (double)m[5]);
}

static stk_status explain(augment_job *job, stk_error *error)
{
    char *end;
    stk__explanation e;
    const unsigned long long id = strtoull(job->explain, &end, 10);
    if (*end || end == job->explain)
        return stk__fail(error, STK_ERROR_ARGUMENT, "--explain takes the id of a sample, not '%s'",
                         job->explain);
    STK__TRY(stk__loader_explain(job->loader, (uint64_t)job->sheet.epoch, id, &e, error));
    if (stk__cli_json)
        stk__cli_print_json(explanation_json(&e));
    else
        print_explanation(&e);
    return STK_OK;
}

/* --- the verb ----------------------------------------------------------------------------------------------
 */

static stk_status open_and_explain(augment_job *job, stk_error *error)
{
    job->loading.options.num_workers = STK_WORKERS_NONE;
    STK__TRY(stk__cli_loader_open(&job->arguments, &job->loading, &job->loader, error));
    if (!stk__cli_quiet && !stk__cli_json)
        stk__cli_print_dataset(stk_loader_describe(job->loader), &job->loading.options);
    return explain(job, error);
}

/* The first loader's data set is printed, and Ctrl-C interrupts each. */
static void watch_loader(void *context, stk_loader *loader)
{
    augment_job *job = context;
    if (loader)
        stk__cli_loader_target(loader);
    else
        stk__interrupt_target(NULL, NULL);
    if (loader && !job->shown && !stk__cli_quiet)
        stk__cli_print_dataset(stk_loader_describe(loader), &job->sheet.loading.options);
    job->shown |= loader != NULL;
}

static stk_status make_sheet(augment_job *job, stk_error *error)
{
    stk__augment_sheet *s = &job->sheet;
    s->config = job->arguments.config;
    s->opened = watch_loader;
    s->context = job;
    STK__TRY(stk__augment_sheet_make(s, error));
    if (stk__cli_quiet) return STK_OK;
    printf("%s: %lld sample%s (", s->path, (long long)s->count, s->count == 1 ? "" : "s");
    for (int64_t i = 0; i < s->count; i++)
        printf("%s%lld", i ? ", " : s->count == 1 ? "id " : "ids ", (long long)s->ids[i]);
    printf("; chosen at random by data.seed=%lld), each %s, then as it is in epochs %lld to %lld\n",
           (long long)s->loading.options.seed, s->masks ? "as stored and with its mask" : "as stored",
           (long long)s->epoch + 1, (long long)s->epoch + STK_AUGMENT_DRAWS);
    return STK_OK;
}

static int run(augment_job *job)
{
    stk_error error;
    const stk_status status = job->sheet.path ? make_sheet(job, &error) : open_and_explain(job, &error);
    const int code = status == STK_OK ? STK_EXIT_GOOD : stk__cli_fail(&error);
    if (status == STK_OK) stk__cli_print_all_effects(job->arguments.config);
    stk__cli_loader_close(&job->loader, code);
    if (stk__augment_sheet_fini(&job->sheet) != 0) stk__cli_leave(code);
    return code;
}

static int run_verb(const stk__verb *verb, int argc, char **argv)
{
    augment_job job = {.sheet = {.count = 6}};
    const stk__flag flags[] = {
        {.name = "sheet",
         .value = "FILE.png",
         .help = "draw samples, chosen by data.seed, as stored and as augmented in three epochs, with masks "
                 "and points",
         .text = &job.sheet.path},
        {.name = "explain",
         .value = "ID",
         .help = "print the random draws for the sample with this id",
         .text = &job.explain},
        {.name = "count", .value = "N", .help = "samples on the sheet (6)", .number = &job.sheet.count},
        {.name = "epoch",
         .value = "N",
         .help =
             "first epoch to show, counted from 0: --epoch 0 is epoch 1 in what train and augment print (0)",
         .number = &job.sheet.epoch},
        {.name = "json", .help = "print the explanation as JSON on standard output", .given = &stk__cli_json},
    };
    job.arguments = (stk__arguments){.verb = verb,
                                     .flags = flags,
                                     .flag_count = sizeof flags / sizeof flags[0],
                                     .prepare = stk__session_loader_foreign,
                                     .most_words = 1};
    int code = stk__arguments_read(&job.arguments, argc, argv);
    if (code < 0 && !job.sheet.path == !job.explain)
        code = stk__cli_usage("augment", "give either --sheet FILE.png or --explain ID");
    if (code < 0 && (job.sheet.count < 1 || job.sheet.count > STK_AUGMENT_MOST))
        code = stk__cli_usage("augment", "--count must be 1 to 64");
    if (code < 0) code = run(&job);
    stk__arguments_fini(&job.arguments);
    return code;
}

const stk__verb stk__verb_augment = {
    .name = "augment",
    .usage = "augment CONFIG|DIR --sheet FILE.png | --explain ID",
    .about = "Show augmented samples as an image, or the draws of one sample.",
    .settings = stk__session_loader_tables,
    .settings_count = STK_SESSION_LOADER_TABLES,
    .common = "data.root data.image_size data.seed augment.preset augment.schedule augment.crop "
              "augment.horizontal_flip_prob augment.rotation_degrees augment.brightness "
              "augment.mixup_alpha",
    .examples = {{"stoker augment faces --sheet sheet.png augment.preset=strong",
                  "a contact sheet of six random samples in three epochs"},
                 {"stoker augment faces --explain 7 --epoch 2 augment.rotation_degrees=30",
                  "angle, matrix and source pixels of sample 7 in the third epoch"}},
    .run = run_verb};
