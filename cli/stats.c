/* SPDX-License-Identifier: Apache-2.0 */
/* stoker stats: a look at a data set. */
#include "cli.h"

#include "session/data_json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { MOST_SIZES = 8, MOST_CLASSES = 65536, IGNORED_ID = 255 }; /* IGNORED_ID: of a mask's pixels */

typedef struct size_count {
    int32_t w, h;
    uint64_t count;
} size_count;

typedef struct stats_job {
    stk__arguments arguments;
    stk__session_loading loading;
    stk_loader *loader;
    uint64_t samples, pixels[3], sum[3], squares[3]; /* per channel */
    uint64_t mask_ids[IGNORED_ID + 1];
    uint64_t *labels; /* [class_count] */
    double value_sum, value_squares;
    uint64_t value_count;
    size_count sizes[MOST_SIZES];
    uint64_t other_sizes;
    stk__progress progress;
    stk_loader_stats loaded;
} stats_job;

static void add_size(stats_job *job, const stk_view *view)
{
    for (int i = 0; i < MOST_SIZES; i++) {
        size_count *size = &job->sizes[i];
        if (size->count && (size->w != view->w || size->h != view->h)) continue;
        *size = (size_count){view->w, view->h, size->count + 1};
        return;
    }
    job->other_sizes++;
}

static void add_image(stats_job *job, const stk_batch *batch, const stk_view *view)
{
    const uint8_t *data = batch->arena + view->offset_bytes;
    for (int32_t y = 0; y < view->h; y++) {
        const uint8_t *row = data + (size_t)y * view->pitch_bytes;
        uint64_t sum[3] = {0}, squares[3] = {0};
        for (int32_t x = 0; x < view->w; x++)
            for (int32_t c = 0; c < view->channels; c++) {
                const uint32_t v = row[x * view->channels + c];
                sum[c] += v;
                squares[c] += v * v;
            }
        for (int32_t c = 0; c < view->channels; c++) {
            job->sum[c] += sum[c];
            job->squares[c] += squares[c];
            job->pixels[c] += (uint64_t)view->w;
        }
    }
}

static void add_mask(stats_job *job, const stk_batch *batch, const stk_view *view)
{
    uint32_t counts[4][256] = {{0}}; /* four tables: equal neighbours do not wait for each other */
    const uint8_t *data = batch->arena + view->offset_bytes;
    for (int32_t y = 0; y < view->h; y++) {
        const uint8_t *row = data + (size_t)y * view->pitch_bytes;
        for (int32_t x = 0; x < view->w; x++)
            counts[x & 3][row[x]]++;
    }
    for (int id = 0; id < 256; id++)
        job->mask_ids[id] += (uint64_t)counts[0][id] + counts[1][id] + counts[2][id] + counts[3][id];
}

static void add_label(stats_job *job, const stk_batch *batch, int64_t i)
{
    if (batch->labels.dtype == STK_DTYPE_I64) {
        const int64_t label = ((const int64_t *)batch->labels.data)[i];
        if (job->labels && label >= 0 && label < stk_loader_describe(job->loader)->class_count)
            job->labels[label]++;
    } else if (batch->labels.dtype == STK_DTYPE_F32) {
        const double value = (double)((const float *)batch->labels.data)[i];
        job->value_sum += value;
        job->value_squares += value * value;
        job->value_count++;
    }
}

static void add_batch(stats_job *job, const stk_batch *batch)
{
    const float *weights = batch->weights.data;
    for (int64_t i = 0; i < batch->count; i++) {
        job->samples++;
        if (weights[i] == 0) continue; /* a bad one: in the ledger, not in the numbers */
        if (batch->image_views) {
            add_size(job, &batch->image_views[i]);
            add_image(job, batch, &batch->image_views[i]);
        }
        if (batch->mask_views) add_mask(job, batch, &batch->mask_views[i]);
        add_label(job, batch, i);
    }
}

static stk_status run_job(stats_job *job, stk_error *error)
{
    const stk_loader_info *info = stk_loader_describe(job->loader);
    stk_status status;
    stk_batch *batch;
    stk__progress_start(&job->progress);
    while ((status = stk_loader_next(job->loader, &batch, error)) == STK_OK) {
        add_batch(job, batch);
        stk_batch_release(batch);
        stk__progress_show(&job->progress, "reading", job->samples, info->sample_count);
    }
    stk__progress_end(&job->progress);
    stk_loader_get_stats(job->loader, &job->loaded);
    return status;
}

static double mean_of(const stats_job *job, int c)
{
    return (double)job->sum[c] / (double)job->pixels[c] / 255;
}

static double std_of(const stats_job *job, int c)
{
    const double mean = (double)job->sum[c] / (double)job->pixels[c];
    const double variance = (double)job->squares[c] / (double)job->pixels[c] - mean * mean;
    return sqrt(variance > 0 ? variance : 0) / 255;
}

/* Shares of classes, from masks (ignored pixels left out) or labels. */
typedef struct class_table {
    int count;
    uint64_t total;
    const uint64_t *counts;
} class_table;

static class_table classes_of(const stats_job *job)
{
    const stk_loader_info *info = stk_loader_describe(job->loader);
    class_table table = {.count = info->class_count, .counts = job->labels};
    if (info->masks) {
        table.counts = job->mask_ids;
        for (int id = 0; id < IGNORED_ID && !info->class_count; id++)
            if (job->mask_ids[id]) table.count = id + 1;
        if (table.count > IGNORED_ID) table.count = IGNORED_ID; /* a mask has no others */
    }
    if (!table.counts) table.count = 0;
    for (int i = 0; i < table.count; i++)
        table.total += table.counts[i];
    return table;
}

/* Weight that balances the classes; 0 when the class never appears. */
static double weight_of(const class_table *table, int i)
{
    return table->counts[i] ? (double)table->total / ((double)table->count * (double)table->counts[i]) : 0;
}

static json_t *floats_json(const stats_job *job, double (*value)(const stats_job *, int))
{
    json_t *array = json_array();
    for (int c = 0; c < 3 && job->pixels[c]; c++)
        json_array_append_new(array, json_real(value(job, c)));
    return array;
}

static json_t *classes_json(const stats_job *job)
{
    const stk_loader_info *info = stk_loader_describe(job->loader);
    const class_table table = classes_of(job);
    json_t *array = json_array();
    for (int i = 0; i < table.count; i++)
        json_array_append_new(
            array,
            json_pack("{s:i, s:o, s:I, s:o, s:o}", "id", i, "name",
                      info->class_names ? stk__json_string(info->class_names[i]) : json_null(), "count",
                      (json_int_t)table.counts[i], "share",
                      table.total ? json_real((double)table.counts[i] / (double)table.total) : json_null(),
                      "weight", table.counts[i] ? json_real(weight_of(&table, i)) : json_null()));
    return array;
}

static json_t *sizes_json(const stats_job *job)
{
    json_t *array = json_array();
    for (int i = 0; i < MOST_SIZES && job->sizes[i].count; i++)
        json_array_append_new(array, json_pack("{s:i, s:i, s:I}", "w", job->sizes[i].w, "h", job->sizes[i].h,
                                               "count", (json_int_t)job->sizes[i].count));
    return array;
}

static json_t *report_json(const stats_job *job)
{
    const stk_loader_info *info = stk_loader_describe(job->loader);
    return json_pack("{s:i, s:s, s:I, s:o, s:o, s:o, s:o, s:I, s:I, s:o, s:s, s:o}", "schema", 1, "layout",
                     info->layout, "samples", (json_int_t)job->samples, "mean", floats_json(job, mean_of),
                     "std", floats_json(job, std_of), "classes", classes_json(job), "sizes", sizes_json(job),
                     "other_sizes", (json_int_t)job->other_sizes, "bad_samples",
                     (json_int_t)job->loaded.bad_samples, "damages", stk__cli_damages_json(&job->loaded),
                     "fingerprint", info->fingerprint, "data", stk__data_json(info));
}

static void print_pixels(const stats_job *job)
{
    static const char *const colours[] = {"red", "green", "blue"};
    if (!job->pixels[0]) return;
    printf("\n  %-8s %8s %8s   (of 0 to 1)\n", "channel", "mean", "std");
    for (int c = 0; c < 3 && job->pixels[c]; c++)
        printf("  %-8s %8.4f %8.4f\n", job->pixels[1] ? colours[c] : "gray", mean_of(job, c), std_of(job, c));
    printf("\n  size\n");
    for (int i = 0; i < MOST_SIZES && job->sizes[i].count; i++)
        printf("  %5dx%-5d %12s\n", job->sizes[i].w, job->sizes[i].h, stk__cli_grouped(job->sizes[i].count));
    if (job->other_sizes) printf("  %-11s %12s\n", "others", stk__cli_grouped(job->other_sizes));
}

static void print_classes(const stats_job *job)
{
    const stk_loader_info *info = stk_loader_describe(job->loader);
    const class_table table = classes_of(job);
    if (!table.count) return;
    printf("\n  %3s %-18s %9s %9s   (weight: balances the classes)\n", "id", "class", "share", "weight");
    for (int i = 0; i < table.count; i++) {
        printf("  %3d %-18s ", i, info->class_names ? stk__cli_text(info->class_names[i]) : "");
        if (table.counts[i])
            printf("%7.2f %% %9.3f\n", 100 * (double)table.counts[i] / (double)table.total,
                   weight_of(&table, i));
        else
            printf("%9s %9s\n", "never", "-");
    }
    if (info->masks && job->mask_ids[IGNORED_ID])
        printf("  %d %-18s %s\n", IGNORED_ID, "(ignored)",
               stk__cli_count(job->mask_ids[IGNORED_ID], "pixel"));
}

static void print_values(const stats_job *job)
{
    if (!job->value_count) return;
    const double n = (double)job->value_count, mean = job->value_sum / n,
                 variance = job->value_squares / n - mean * mean;
    printf("\n  target: mean %.5g, std %.5g\n", mean, sqrt(variance > 0 ? variance : 0));
}

static void print_damage(void *context, const stk_ledger_entry *entry)
{
    stats_job *job = context;
    stk__progress_end(&job->progress);
    if (!stk__cli_json)
        printf("  %-16s %s (%s)\n", stk_damage_name(entry->damage), stk__cli_text(entry->path),
               stk__cli_text(entry->detail));
}

static int finish_job(stats_job *job, stk_status status, const stk_error *error)
{
    int code = status == STK_END ? STK_EXIT_GOOD : stk__cli_fail(error);
    if (code == STK_EXIT_GOOD && stk__cli_json) {
        code = stk__cli_print_json(report_json(job));
    } else if (code == STK_EXIT_GOOD) {
        stk__cli_print_all_effects(job->arguments.config);
        print_pixels(job);
        print_classes(job);
        print_values(job);
        printf("\n  bad samples: %s\n",
               job->loaded.bad_samples ? stk__cli_grouped(job->loaded.bad_samples) : "none");
    }
    stk__cli_loader_close(&job->loader, code);
    stk__free(job->labels);
    return code;
}

static stk_status open_job(stats_job *job, stk_error *error)
{
    job->loading.images = STK_SESSION_AS_DECODED;
    job->loading.options.dedicated_cpus = true;
    job->loading.options.epochs = 1;
    job->loading.options.order = "sequential";
    job->loading.options.on_bad_sample = STK_BAD_SKIP;
    STK__TRY(stk__cli_loader_open(&job->arguments, &job->loading, &job->loader, error));
    const stk_loader_info *info = stk_loader_describe(job->loader);
    stk_loader_set_ledger(job->loader, print_damage, job);
    if (!stk__cli_json && !stk__cli_quiet) stk__cli_print_dataset(info, &job->loading.options);
    stk__cli_print_found(info, NULL);
    if (info->class_count <= 0 || info->class_count > MOST_CLASSES) return STK_OK;
    const size_t bytes = (size_t)info->class_count * sizeof *job->labels;
    job->labels = stk__alloc(bytes);
    return job->labels ? STK_OK : stk__fail_memory(error, bytes, "the classes");
}

static int run_verb(const stk__verb *verb, int argc, char **argv)
{
    const stk__flag flags[] = {
        {.name = "json", .help = "print the report as JSON on standard output", .given = &stk__cli_json}};
    stats_job job = {.arguments = {.verb = verb,
                                   .flags = flags,
                                   .flag_count = 1,
                                   .prepare = stk__session_loader_foreign,
                                   .most_words = 1}};
    stk_error error;
    int code = stk__arguments_read(&job.arguments, argc, argv);
    if (code < 0) {
        stk_status status = open_job(&job, &error);
        if (status == STK_OK) status = run_job(&job, &error);
        code = finish_job(&job, status, &error);
    }
    stk__arguments_fini(&job.arguments);
    return code;
}

const stk__verb stk__verb_stats = {
    .name = "stats",
    .usage = "stats CONFIG|DIR [key=value …]",
    .about = "Print mean, std, class weights, image sizes, corrupt files.",
    .settings = stk__session_loader_tables,
    .settings_count = STK_SESSION_LOADER_TABLES,
    .common = "data.root data.part data.val_split data.limit data.num_classes data.mask_map "
              "data.num_workers",
    .examples = {{"stoker stats faces",
                  "mean and std for data.mean and data.std, weights for loss.class_weights"},
                 {"stoker stats faces --json data.limit=32", "of the first 32 samples, as JSON"}},
    .run = run_verb};
