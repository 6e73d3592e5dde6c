/* SPDX-License-Identifier: Apache-2.0 */
/* stoker augment: what augmentation does to a data set, as a picture or in numbers. */
#include "cli.h"

#include "loader/explain.h"
#include "session/sheet.h"

#include <math.h>
#include <string.h>

enum { DRAWS = 3 }; /* epochs shown beside the original */

typedef struct augment_job {
    stk__arguments arguments;
    const char *sheet_path, *explain;
    int64_t count, epoch;
    stk__session_loading loading;
    stk_loader *loader;
    stk__sheet sheet;
    stk__buffer levels; /* one picture as u8 */
    bool masks;
} augment_job;

/* --- the sheet ---------------------------------------------------------------------------------------------
 */

static stk__pixels place_of(const stk_tensor *tensor, int64_t i)
{
    const int32_t channels = tensor->ndim == 4 ? (int32_t)tensor->shape[3] : 1;
    uint8_t *data = (uint8_t *)tensor->data + i * tensor->strides[0] * stk_dtype_bytes(tensor->dtype);
    return stk__pixels_dense(data, (int32_t)tensor->shape[2], (int32_t)tensor->shape[1], channels);
}

/* Shares of f32 to levels. */
static stk_status picture_of(augment_job *job, const stk_batch *batch, int64_t i, stk__pixels *picture,
                             stk_error *error)
{
    *picture = place_of(&batch->images, i);
    if (batch->images.dtype == STK_DTYPE_U8) return STK_OK;
    const float *shares = (const float *)(const void *)picture->data;
    const size_t values = (size_t)batch->images.strides[0];
    STK__TRY(stk__buffer_reserve(&job->levels, values, error));
    for (size_t v = 0; v < values; v++)
        job->levels.data[v] = (uint8_t)lrintf(shares[v] * 255);
    picture->data = job->levels.data;
    return STK_OK;
}

/* One row of the sheet per sample, from column on: the picture, and with its mask. */
static stk_status draw_batch(augment_job *job, const stk_batch *batch, int64_t first_row, int32_t column,
                             stk_error *error)
{
    for (int64_t i = 0; i < batch->count && first_row + i < job->sheet.rows; i++) {
        stk__pixels picture;
        stk__sheet_place place = {column, (int32_t)(first_row + i)};
        STK__TRY(picture_of(job, batch, i, &picture, error));
        STK__TRY(stk__sheet_draw(&job->sheet, place, picture, (stk__pixels){0}, error));
        place.column++;
        if (job->masks)
            STK__TRY(stk__sheet_draw(&job->sheet, place, picture, place_of(&batch->masks, i), error));
    }
    return STK_OK;
}

/* Draws one epoch of the open loader. */
static stk_status draw_epoch(augment_job *job, uint64_t epoch, int32_t column, stk_error *error)
{
    stk_loader_state at;
    stk_batch *batch;
    stk_loader_tell(job->loader, &at);
    at.epoch = epoch;
    at.position = 0;
    STK__TRY(stk_loader_seek(job->loader, &at, error));
    stk_status status;
    while ((status = stk_loader_next(job->loader, &batch, error)) == STK_OK) {
        status = draw_batch(job, batch, (int64_t)batch->position, column, error);
        stk_batch_release(batch);
        if (status != STK_OK) return status;
    }
    return status == STK_END ? STK_OK : status;
}

/* The same few samples in the same order, each time in another way. */
static stk_status reopen(augment_job *job, stk__session_images images, const stk_loader_info *shape,
                         stk_error *error)
{
    stk__cli_loader_close(&job->loader, STK_EXIT_FAILED);
    job->loading = (stk__session_loading){.images = images};
    job->loading.options.order = "sequential";
    job->loading.options.limit = job->count;
    job->loading.options.dedicated_cpus = true;
    job->loading.options.on_bad_sample = STK_BAD_REPLACE;
    if (shape) {
        job->loading.options.image_size[0] = shape->h;
        job->loading.options.image_size[1] = shape->w;
    }
    return stk__cli_loader_open(&job->arguments, &job->loading, &job->loader, error);
}

static stk_status start_sheet(augment_job *job, stk_error *error)
{
    const stk_loader_info info = *stk_loader_describe(job->loader);
    if (!info.w) {
        stk__fail(error, STK_ERROR_DATA, "there are no images to show: %s", info.layout);
        return STK_ERROR_DATA;
    }
    job->masks = info.masks;
    const int32_t rows = (int32_t)info.sample_count, wide = job->masks ? 2 : 1;
    const stk__pixels shape = stk__pixels_dense(NULL, info.w, info.h, info.channels);
    return stk__sheet_init(&job->sheet, wide * (1 + DRAWS), rows, shape, error);
}

static stk_status make_sheet(augment_job *job, stk_error *error)
{
    const int32_t wide = job->masks ? 2 : 1;
    for (int32_t draw = 0; draw < DRAWS; draw++)
        STK__TRY(draw_epoch(job, (uint64_t)job->epoch + (uint64_t)draw, wide * (draw + 1), error));
    const stk_loader_info info = *stk_loader_describe(job->loader);
    STK__TRY(reopen(job, STK_SESSION_AS_DECODED, &info, error));
    STK__TRY(draw_epoch(job, 0, 0, error));
    STK__TRY(stk__sheet_write(&job->sheet, job->sheet_path, error));
    if (!stk__cli_quiet)
        printf("%s: %s, each %s, then as it is in epochs %lld to %lld\n", job->sheet_path,
               stk__cli_count((uint64_t)job->sheet.rows, "sample"),
               job->masks ? "as stored and with its mask" : "as stored", (long long)job->epoch + 1,
               (long long)job->epoch + DRAWS);
    return STK_OK;
}

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
    return json_pack("{s:i, s:I, s:I, s:o, s:[ii], s:[ii], s:[ii], s:o, s:o}", "schema", 1, "sample_id",
                     (json_int_t)e->at.sample, "epoch", (json_int_t)e->at.epoch, "path",
                     stk__json_string(e->path), "stored_px", e->stored_w, e->stored_h, "decoded_px",
                     e->at.source_w, e->at.source_h, "target_px", e->at.target_w, e->at.target_h, "drawn",
                     facts, "inverse_matrix", matrix_json(e->resolved.block.matrix));
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
    printf("\n  from a pixel's centre (x, y) to the source:\n");
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
    STK__TRY(stk__loader_explain(job->loader, (uint64_t)job->epoch, id, &e, error));
    if (stk__cli_json)
        stk__cli_print_json(explanation_json(&e));
    else
        print_explanation(&e);
    return STK_OK;
}

/* --- the verb ----------------------------------------------------------------------------------------------
 */

static stk_status open_job(augment_job *job, stk_error *error)
{
    if (job->sheet_path) {
        STK__TRY(reopen(job, STK_SESSION_AS_SHARES, NULL, error));
    } else {
        job->loading.options.num_workers = STK_WORKERS_NONE;
        STK__TRY(stk__cli_loader_open(&job->arguments, &job->loading, &job->loader, error));
    }
    if (!stk__cli_quiet && !stk__cli_json)
        stk__cli_print_dataset(stk_loader_describe(job->loader), &job->loading.options);
    return STK_OK;
}

static int run(augment_job *job)
{
    stk_error error;
    stk_status status = open_job(job, &error);
    if (status == STK_OK && job->sheet_path) status = start_sheet(job, &error);
    if (status == STK_OK) status = job->sheet_path ? make_sheet(job, &error) : explain(job, &error);
    const int code = status == STK_OK ? STK_EXIT_GOOD : stk__cli_fail(&error);
    if (status == STK_OK) stk__cli_print_all_effects(job->arguments.config);
    stk__cli_loader_close(&job->loader, code);
    stk__sheet_fini(&job->sheet);
    stk__buffer_fini(&job->levels);
    return code;
}

static int run_verb(const stk__verb *verb, int argc, char **argv)
{
    augment_job job = {.count = 6};
    const stk__flag flags[] = {
        {.name = "sheet",
         .value = "FILE.png",
         .help = "draw samples as stored and as augmented in three epochs, with their masks",
         .text = &job.sheet_path},
        {.name = "explain",
         .value = "ID",
         .help = "print the random draws for the sample with this id",
         .text = &job.explain},
        {.name = "count", .value = "N", .help = "samples on the sheet (6)", .number = &job.count},
        {.name = "epoch",
         .value = "N",
         .help = "first epoch to show, counted from 0 (0)",
         .number = &job.epoch},
        {.name = "json", .help = "print the explanation as JSON on standard output", .given = &stk__cli_json},
    };
    job.arguments = (stk__arguments){.verb = verb,
                                     .flags = flags,
                                     .flag_count = sizeof flags / sizeof flags[0],
                                     .prepare = stk__session_loader_foreign,
                                     .most_words = 1};
    int code = stk__arguments_read(&job.arguments, argc, argv);
    if (code < 0 && !job.sheet_path == !job.explain)
        code = stk__cli_usage("augment", "give either --sheet FILE.png or --explain ID");
    if (code < 0 && (job.count < 1 || job.count > 64))
        code = stk__cli_usage("augment", "--count must be 1 to 64");
    if (code < 0) code = run(&job);
    stk__arguments_fini(&job.arguments);
    return code;
}

const stk__verb stk__verb_augment = {
    .name = "augment",
    .usage = "augment CONFIG|DIR --sheet FILE.png | --explain ID",
    .about = "Show augmented samples as a picture, or the draws of one sample.",
    .settings = stk__session_loader_tables,
    .settings_count = STK_SESSION_LOADER_TABLES,
    .common = "data.root data.image_size data.seed augment.preset augment.schedule augment.crop "
              "augment.horizontal_flip_prob augment.rotation_degrees augment.brightness "
              "augment.mixup_alpha",
    .examples = {{"stoker augment faces --sheet sheet.png augment.preset=strong",
                  "a contact sheet of six samples in three epochs"},
                 {"stoker augment faces --explain 7 --epoch 2 augment.rotation_degrees=30",
                  "angle, matrix and source pixels of sample 7"}},
    .run = run_verb};
