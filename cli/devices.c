/* SPDX-License-Identifier: Apache-2.0 */
/* stoker devices: lists the devices that can augment and whether a GPU can train, with the reason if not.
 * One thread. */
#include "selftest/selftest.h"

#include "core/cpu.h"
#include "core/number.h"
#include "device/cuda/cuda_device.h"
#include "engine/torch/torch_cuda.h"

#include <string.h>

enum { BATCHES = 48 };

typedef struct bit_check {
    bool ran, failed;
    stk__device_check sum;
    stk_error error; /* of a device that failed */
} bit_check;

typedef struct device_row {
    stk__device_info info;
    bit_check check;
} device_row;

/* null computes nothing, so there is nothing to compare. */
static void check_bits(device_row *row)
{
    stk__device *device = NULL;
    bit_check *check = &row->check;
    if (!row->info.available || row->info.kind == STK_DEVICE_NULL) return;
    check->ran = true;
    const bool worked = stk__device_open(&device, row->info.name, &check->error) == STK_OK &&
                        stk__device_check_run(device, BATCHES, NULL, &check->sum, &check->error) == STK_OK;
    if (device && row->info.kind == STK_DEVICE_CUDA) /* who built its kernels */
        memcpy(row->info.note, device->info.note, sizeof row->info.note);
    check->failed = !worked || check->sum.differing || check->sum.overrun;
    stk__device_close(&device);
}

static void print_check(const bit_check *check)
{
    if (!check->ran) return;
    printf("%-10s check: ", "");
    if (check->error.code != STK_OK)
        printf("failed: %s\n", check->error.message);
    else if (check->sum.overrun)
        printf("FAILED: it wrote outside its output buffer\n");
    else if (check->failed)
        printf("FAILED: %s of %s values differ from the reference\n", stk__cli_grouped(check->sum.differing),
               stk__cli_grouped(check->sum.values));
    else
        printf("bit-identical to the reference: %s values of %d random batches\n",
               stk__cli_grouped(check->sum.values), check->sum.batches);
}

static void print_levels(void)
{
    const stk__cpu_budget budget = stk__cpu_budget_read(NULL);
    printf("%-10s kernels:", "");
    for (int level = 0; level < STK_CPU_LEVELS; level++)
        if (stk__augment_at((stk__cpu_level)level)) printf(" %s", stk__cpu_level_name((stk__cpu_level)level));
    printf("; in use: %s; CPU budget: %s\n", stk__cpu_level_name(stk__device_cpu_level()), budget.why);
}

/* Training on a GPU needs a PyTorch with CUDA. Found once: it is the same for all GPUs. */
static void print_training(void)
{
    static char text[640];
    const stk__torch_api *api;
    stk_error error = {0};
    if (!text[0] && stk__torch_api_open(&api, &error) != STK_OK)
        snprintf(text, sizeof text, "%-10s training: not available: %.280s\n%-10s hint: %.280s\n", "",
                 stk__cli_text(error.message), "", error.hint);
    else if (!text[0] && !stk__torch_cuda_is_built(api))
        snprintf(text, sizeof text,
                 "%-10s training: not available: PyTorch %d.%d.%d was built without CUDA\n"
                 "%-10s hint: install a PyTorch build with CUDA\n",
                 "", api->major, api->minor, api->patch, "");
    else if (!text[0])
        snprintf(
            text, sizeof text,
            "%-10s training: engine torch, PyTorch %d.%d.%d with CUDA; `stoker devices --selftest` tests "
            "it\n",
            "", api->major, api->minor, api->patch);
    fputs(text, stdout);
}

static void print_row(const device_row *row)
{
    const stk__device_info *info = &row->info;
    if (!info->available && !info->model[0]) {
        printf("%-10s not available: %s\n", info->name, stk__cli_text(info->why)); /* may quote a driver */
        if (info->note[0]) printf("%-10s hint: %s\n", "", info->note);
        return;
    }
    printf("%-10s %s", info->name, info->model[0] ? info->model : info->note);
    if (info->compute_units >= 0)
        printf(", %d %s%s", info->compute_units, info->kind == STK_DEVICE_CPU ? "CPU" : "compute unit",
               info->compute_units == 1 ? "" : "s");
    if (info->memory_bytes >= 0) printf(", %s", stk__cli_bytes((double)info->memory_bytes));
    printf("\n");
    if (info->platform[0]) printf("%-10s %s; driver %s\n", "", info->platform, info->driver);
    if (!info->available) printf("%-10s not available: %s\n", "", stk__cli_text(info->why));
    if (info->kind == STK_DEVICE_CPU) print_levels();
    if (info->model[0] && info->note[0]) printf("%-10s %s\n", "", info->note);
    print_check(&row->check);
    if (info->kind == STK_DEVICE_CUDA && info->available) print_training();
}

static json_t *json_known(int64_t number)
{
    return number < 0 ? json_null() : json_integer(number);
}

static json_t *json_check(const bit_check *check)
{
    if (!check->ran) return json_null();
    return json_pack("{s:b, s:i, s:I, s:I, s:o}", "same_bits", !check->failed, "batches", check->sum.batches,
                     "values", (json_int_t)check->sum.values, "differing", (json_int_t)check->sum.differing,
                     "error",
                     check->error.code == STK_OK ? json_null() : stk__json_string(check->error.message));
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
    return text[0] ? stk__json_string(text) : json_null();
}

static json_t *json_row(const device_row *row, bool checked)
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
    if (checked) json_object_set_new(object, "check", json_check(&row->check));
    if (info->kind != STK_DEVICE_CPU) return object;
    json_object_set_new(object, "levels", json_levels());
    json_object_set_new(object, "level", json_string(stk__cpu_level_name(stk__device_cpu_level())));
    json_object_set_new(object, "budget_why", json_string(stk__cpu_budget_read(NULL).why));
    return object;
}

static int print_json(const device_row *rows, int count, bool checked)
{
    json_t *devices = json_array();
    for (int i = 0; i < count; i++)
        json_array_append_new(devices, json_row(&rows[i], checked));
    return stk__cli_print_json(json_pack("{s:i, s:o}", "schema", 1, "devices", devices));
}

static int report(bool checked)
{
    static stk__device_info infos[STK_DEVICE_MOST];
    static device_row rows[STK_DEVICE_MOST];
    int code = STK_EXIT_GOOD;
    const int count = stk__device_list(infos, STK_DEVICE_MOST);
    for (int i = 0; i < count; i++) {
        rows[i].info = infos[i];
        if (rows[i].info.kind == STK_DEVICE_CUDA && rows[i].info.available)
            stk__cuda_foretell_note(&rows[i].info);
        if (checked) check_bits(&rows[i]);
        if (rows[i].check.failed) code = STK_EXIT_FAILED;
        if (!stk__cli_json) print_row(&rows[i]);
    }
    if (stk__selftest_stopped()) code = STK_EXIT_INTERRUPTED;
    if (!stk__cli_json) return code;
    const int written = print_json(rows, count, checked);
    return written != STK_EXIT_GOOD ? written : code;
}

static void print_more_help(FILE *file)
{
    fprintf(file,
            "\nThe names in the first column are values of augment.device; run.device takes cpu and cuda:N.\n"
            "\nEnvironment variables:\n"
            "  STOKER_CPU             highest SIMD level of the CPU kernels: c, avx2 or avx512\n"
            "  STOKER_OPENCL_LIBRARY  path of libOpenCL.so.1\n"
            "  STOKER_CUDA_LIBRARY    path of libcuda.so.1\n"
            "  STOKER_NVRTC_LIBRARY   path of libnvrtc, which compiles the CUDA kernels; none: shipped PTX\n"
            "  STOKER_TORCH           torch/lib folder of the PyTorch to use (with libtorch_cpu.so)\n"
            "  STOKER_NVML            path of libnvidia-ml.so.1\n"
            "  STOKER_CACHE_DIR       cache of compiled kernels (~/.cache/stoker)\n");
}

/* -1: no objection. */
static int refuse_mixture(bool checked, bool tested, const stk__selftest_options *options)
{
    if (checked && tested) return stk__cli_usage("devices", "--check and --selftest are mutually exclusive");
    if (!tested && options->quick) return stk__cli_usage("devices", "--quick needs --selftest");
    if (!tested && options->gpu >= 0) return stk__cli_usage("devices", "--gpu needs --selftest");
    if (!options->part) return -1;
    if (!tested) return stk__cli_usage("devices", "--part needs --selftest");
    const char *name;
    for (int i = 0; (name = stk__selftest_part_name(i)); i++)
        if (strcmp(name, options->part) == 0) return -1;
    return stk__cli_usage("devices", "--part must be device, batches, engine, train or load");
}

/* "0" or, as the list prints it, "cuda:0". -1: read. */
static int read_gpu(const char *text, int64_t *gpu)
{
    if (!text) return -1;
    const char *digits = strncmp(text, "cuda:", 5) == 0 ? text + 5 : text;
    if (stk__number_whole(digits, strlen(digits), gpu) && *gpu >= 0) return -1;
    return stk__cli_usage("devices", "--gpu takes N or cuda:N, not '%s'", text);
}

static int run_verb(const stk__verb *verb, int argc, char **argv)
{
    bool checked = false, tested = false;
    const char *gpu = NULL;
    stk__selftest_options options = {.gpu = -1};
    const stk__flag flags[] = {
        {.name = "check",
         .help = "augment random batches on each device: results must be bit-identical to the reference",
         .given = &checked},
        {.name = "selftest",
         .help = "test NVIDIA GPUs: kernels, copies, engine torch, training (3 minutes each); prints a "
                 "report to paste into an issue",
         .given = &tested},
        {.name = "gpu",
         .value = "N",
         .help = "with --selftest: test only cuda:N (0 or cuda:0)",
         .text = &gpu},
        {.name = "part",
         .value = "NAME",
         .help = "with --selftest: run only this part: device, batches, engine, train or load",
         .text = &options.part},
        {.name = "quick",
         .help = "with --selftest: fewer batches and short trainings; training speed is not judged",
         .given = &options.quick},
        {.name = "json", .help = "print the report as JSON on standard output", .given = &stk__cli_json},
    };
    stk__arguments arguments = {.verb = verb,
                                .flags = flags,
                                .flag_count = sizeof flags / sizeof flags[0],
                                .more_help = print_more_help};
    int code = stk__arguments_read(&arguments, argc, argv);
    if (code < 0) code = read_gpu(gpu, &options.gpu);
    if (code < 0) code = refuse_mixture(checked, tested, &options);
    if (code >= 0) return code;
    return tested ? stk__cli_selftest(&options) : report(checked);
}

const stk__verb stk__verb_devices = {
    .name = "devices",
    .usage = "devices [--check | --selftest]",
    .about = "List devices for augmentation and training; check and test them.",
    .examples = {{"stoker devices", "CPU kernels, OpenCL and CUDA devices, and why one is not available"},
                 {"stoker devices --check", "random batches on each device, compared bit by bit"},
                 {"stoker devices --selftest --gpu cuda:0", "test one GPU, training included"}},
    .run = run_verb};
