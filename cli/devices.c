/* stoker devices: what could augment here, and why something could not. */
#include "cli.h"

#include "core/cpu.h"
#include "device/device.h"
#include "device/trial.h"

#include <string.h>

enum { TRIALS = 48, TRIAL_SIDE_PX = 90 };

typedef struct selftest {
    bool ran, failed;
    int batches;
    stk__trial_result sum;
    stk_error error; /* of a device that could not do its work */
} selftest;

typedef struct device_row {
    stk__device_info info;
    selftest test;
} device_row;

static stk_status try_batches(stk__device *device, stk__trial *trial, selftest *test)
{
    for (int i = 0; i < TRIALS; i++) {
        STK__TRY(stk__trial_make(trial, (uint64_t)i, TRIAL_SIDE_PX, &test->error));
        STK__TRY(stk__device_augment(device, &trial->batch, &test->error));
        const stk__trial_result result = stk__trial_compare(trial);
        test->batches++;
        test->sum.values += result.values;
        test->sum.differing += result.differing;
        test->sum.overrun |= result.overrun;
    }
    return STK_OK;
}

/* null makes nothing, so there is nothing to compare. */
static void run_selftest(device_row *row)
{
    stk__device *device = NULL;
    stk__trial trial = {0};
    selftest *test = &row->test;
    if (!row->info.available || row->info.kind == STK_DEVICE_NULL) return;
    test->ran = true;
    const bool worked = stk__device_open(&device, row->info.name, &test->error) == STK_OK &&
                        try_batches(device, &trial, test) == STK_OK;
    test->failed = !worked || test->sum.differing || test->sum.overrun;
    stk__trial_fini(&trial);
    stk__device_close(&device);
}

static void print_selftest(const selftest *test)
{
    if (!test->ran) return;
    printf("%-10s selftest: ", "");
    if (test->error.code != STK_OK)
        printf("failed: %s\n", test->error.message);
    else if (test->sum.overrun)
        printf("FAILED: it wrote outside its output\n");
    else if (test->failed)
        printf("FAILED: %s of %s values differ from the reference\n", stk__cli_grouped(test->sum.differing),
               stk__cli_grouped(test->sum.values));
    else
        printf("same bits as the reference: %s values of %d random batches\n",
               stk__cli_grouped(test->sum.values), test->batches);
}

static void print_levels(void)
{
    const stk__cpu_budget budget = stk__cpu_budget_read(NULL);
    printf("%-10s kernels:", "");
    for (int level = 0; level < STK_CPU_LEVELS; level++)
        if (stk__augment_at((stk__cpu_level)level)) printf(" %s", stk__cpu_level_name((stk__cpu_level)level));
    printf("; in use: %s; CPU budget: %s\n", stk__cpu_level_name(stk__device_cpu_level()), budget.why);
}

static void print_row(const device_row *row)
{
    const stk__device_info *info = &row->info;
    if (!info->available && !info->model[0]) {
        printf("%-10s not available: %s\n", info->name, info->why);
        return;
    }
    printf("%-10s %s", info->name, info->model[0] ? info->model : info->note);
    if (info->compute_units >= 0)
        printf(", %d %s%s", info->compute_units, info->kind == STK_DEVICE_CPU ? "CPU" : "compute unit",
               info->compute_units == 1 ? "" : "s");
    if (info->memory_bytes >= 0) printf(", %s", stk__cli_bytes((double)info->memory_bytes));
    printf("\n");
    if (info->platform[0]) printf("%-10s %s; driver %s\n", "", info->platform, info->driver);
    if (!info->available) printf("%-10s not available: %s\n", "", info->why);
    if (info->kind == STK_DEVICE_CPU) print_levels();
    if (info->model[0] && info->note[0]) printf("%-10s %s\n", "", info->note);
    print_selftest(&row->test);
}

static json_t *json_known(int64_t number)
{
    return number < 0 ? json_null() : json_integer(number);
}

static json_t *json_selftest(const selftest *test)
{
    if (!test->ran) return json_null();
    return json_pack("{s:b, s:i, s:I, s:I, s:o}", "same_bits", !test->failed, "batches", test->batches,
                     "values", (json_int_t)test->sum.values, "differing", (json_int_t)test->sum.differing,
                     "error",
                     test->error.code == STK_OK ? json_null() : stk__cli_json_text(test->error.message));
}

static json_t *json_levels(void)
{
    json_t *levels = json_array();
    for (int level = 0; level < STK_CPU_LEVELS; level++)
        if (stk__augment_at((stk__cpu_level)level))
            json_array_append_new(levels, json_string(stk__cpu_level_name((stk__cpu_level)level)));
    return levels;
}

static json_t *json_words(const char *text)
{
    return text[0] ? stk__cli_json_text(text) : json_null();
}

static json_t *json_row(const device_row *row, bool tested)
{
    static const char *const kinds[] = {"cpu", "opencl", "cuda", "null"};
    const stk__device_info *info = &row->info;
    json_t *object = json_pack("{s:s, s:s, s:b, s:o, s:o, s:o, s:o, s:o}", "name", info->name, "kind",
                               kinds[info->kind], "available", info->available, "why", json_words(info->why),
                               "note", json_words(info->note), "model", json_words(info->model), "driver",
                               json_words(info->driver), "platform", json_words(info->platform));
    json_object_set_new(object, "memory_bytes", json_known(info->memory_bytes));
    json_object_set_new(object, "largest_buffer_bytes", json_known(info->largest_buffer_bytes));
    json_object_set_new(object, "compute_units", json_known(info->compute_units));
    if (tested) json_object_set_new(object, "selftest", json_selftest(&row->test));
    if (info->kind != STK_DEVICE_CPU) return object;
    json_object_set_new(object, "levels", json_levels());
    json_object_set_new(object, "level", json_string(stk__cpu_level_name(stk__device_cpu_level())));
    json_object_set_new(object, "budget_why", json_string(stk__cpu_budget_read(NULL).why));
    return object;
}

static int print_json(const device_row *rows, int count, bool tested)
{
    json_t *devices = json_array();
    for (int i = 0; i < count; i++)
        json_array_append_new(devices, json_row(&rows[i], tested));
    return stk__cli_print_json(json_pack("{s:i, s:o}", "schema", 1, "devices", devices));
}

static int report(bool tested)
{
    static stk__device_info infos[STK_DEVICE_MOST];
    static device_row rows[STK_DEVICE_MOST];
    int code = STK_EXIT_GOOD;
    const int count = stk__device_list(infos, STK_DEVICE_MOST);
    for (int i = 0; i < count; i++) {
        rows[i].info = infos[i];
        if (tested) run_selftest(&rows[i]);
        if (rows[i].test.failed) code = STK_EXIT_FAILED;
        if (!stk__cli_json) print_row(&rows[i]);
    }
    if (!stk__cli_json) return code;
    const int written = print_json(rows, count, tested);
    return written != STK_EXIT_GOOD ? written : code;
}

static void print_more_help(void)
{
    printf("\nNames in the first column are what augment.device takes. Variables of the environment:\n"
           "  STOKER_CPU             c, avx2 or avx512: no kernels above this level\n"
           "  STOKER_OPENCL_LIBRARY  another libOpenCL.so.1\n"
           "  STOKER_CUDA_LIBRARY    another libcuda.so.1\n"
           "  STOKER_NVRTC_LIBRARY   another libnvrtc, which builds kernels for CUDA\n"
           "  STOKER_CACHE_DIR       where built kernels are kept (~/.cache/stoker)\n");
}

int stk__cli_devices(int argc, char **argv)
{
    static const stk__verb verb = {.name = "devices",
                                   .usage = "devices [--selftest]",
                                   .about =
                                       "Lists what could augment batches here, and why something could not."};
    bool tested = false;
    const stk__flag flags[] = {
        {.name = "selftest",
         .help = "run random batches on each device; they must have the reference's bits",
         .given = &tested},
        {.name = "json", .help = "report as JSON on standard output", .given = &stk__cli_json},
    };
    stk__arguments arguments = {.verb = &verb,
                                .flags = flags,
                                .flag_count = sizeof flags / sizeof flags[0],
                                .more_help = print_more_help};
    const int code = stk__arguments_read(&arguments, argc, argv);
    return code >= 0 ? code : report(tested);
}
