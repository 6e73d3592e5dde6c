/* SPDX-License-Identifier: Apache-2.0 */
/* hook_probe write FOLDER   writes the doctor's hook there and prints the variables of the environment,
 * NAME=VALUE hook_probe read FOLDER    prints what the records there say, as JSON: for tests of the hook,
 * which are Python */
#include "core/json_text.h"
#include "doctor/hook_file.h"
#include "doctor/hook_launch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json_t *real(double value)
{
    return stk__json_number(value);
}

static json_t *state(stk__tristate value)
{
    return value == STK_UNSURE ? json_null() : json_boolean(value == STK_YES);
}

static json_t *list_steps(const stk__evidence *evidence)
{
    json_t *list = json_array();
    for (int64_t i = 0; i < evidence->step_count; i++) {
        const stk__step_record *step = &evidence->steps[i];
        json_t *row = json_pack("{s:f, s:i, s:i, s:f}", "wall", (double)(step->end_ns - step->begin_ns) / 1e9,
                                "batches", (int)step->batches, "samples", (int)step->samples, "gpu",
                                (double)step->gpu_ns / 1e9);
        for (int cause = 0; cause < STK_CAUSE_OTHER; cause++)
            json_object_set_new(row, stk__step_cause_key((stk__step_cause)cause),
                                real((double)step->cause_ns[cause] / 1e9));
        json_array_append_new(list, row);
    }
    return list;
}

static json_t *list_loaders(const stk__evidence *evidence)
{
    json_t *list = json_array();
    for (int64_t i = 0; i < evidence->loader_count; i++) {
        const stk__loader_evidence *one = &evidence->loaders[i];
        json_array_append_new(
            list,
            json_pack("{s:s, s:s, s:s, s:s, s:o, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:f, s:f, s:o}", "site",
                      one->site, "dataset", one->dataset, "sampler", one->sampler, "start_method",
                      one->start_method, "training", state(one->training), "num_workers",
                      (json_int_t)one->num_workers, "batch_size", (json_int_t)one->batch_size, "length",
                      (json_int_t)one->length, "epochs", (json_int_t)one->epochs, "batches",
                      (json_int_t)one->batches, "shuffle", state(one->shuffle), "custom_collate",
                      state(one->custom_collate), "wait", one->wait_s, "first_wait", one->first_wait_s,
                      "worker_max_share", real(one->worker_max_share)));
    }
    return list;
}

static json_t *list_work(const stk__evidence *evidence)
{
    json_t *list = json_array();
    for (int64_t i = 0; i < evidence->work_count; i++) {
        const stk__work_evidence *one = &evidence->work[i];
        json_array_append_new(list, json_pack("{s:s, s:i, s:I, s:f, s:f, s:f}", "name", one->name, "kind",
                                              (int)one->kind, "count", (json_int_t)one->count, "total",
                                              one->total_s, "max", one->max_s, "cpu", one->cpu_s));
    }
    return list;
}

static json_t *list_sites(const stk__evidence *evidence)
{
    json_t *list = json_array();
    for (int64_t i = 0; i < evidence->site_count; i++) {
        const stk__site_evidence *one = &evidence->sites[i];
        json_array_append_new(list, json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:f}", "call", one->call,
                                              "site", one->site, "count", (json_int_t)one->count, "steps",
                                              (json_int_t)one->steps, "on_device", (json_int_t)one->on_device,
                                              "bytes", (json_int_t)one->bytes, "total", one->total_s));
    }
    return list;
}

static json_t *list_optimizers(const stk__evidence *evidence)
{
    json_t *list = json_array();
    for (int64_t i = 0; i < evidence->optimizer_count; i++) {
        const stk__optimizer_evidence *one = &evidence->optimizers[i];
        json_array_append_new(list, json_pack("{s:s, s:s, s:I, s:I, s:I, s:o, s:o, s:I, s:o}", "name",
                                              one->name, "site", one->site, "steps", (json_int_t)one->steps,
                                              "zero_grads", (json_int_t)one->zero_grads, "zero_grads_kept",
                                              (json_int_t)one->zero_grads_kept, "fused", state(one->fused),
                                              "foreach", state(one->foreach), "parameters",
                                              (json_int_t)one->parameters, "lr", real(one->lr)));
    }
    return list;
}

static json_t *describe_torch(const stk__torch_evidence *torch)
{
    json_t *all = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "python", torch->python, "torch", torch->torch,
                            "device", torch->device, "gpu_name", torch->gpu_name, "autocast_dtype",
                            torch->autocast_dtype, "autocast_value", torch->autocast_value);
    const struct {
        const char *key;
        uint64_t value;
    } counts[] = {{"autocasts", torch->autocasts},        {"autocasts_off", torch->autocasts_off},
                  {"scaler_skips", torch->scaler_skips},  {"compiles", torch->compiles},
                  {"graphs", torch->compiled_calls},      {"graph_breaks", torch->graph_breaks},
                  {"recompiles", torch->recompiles},      {"saves", torch->saves},
                  {"evaluations", torch->evaluations},    {"prints", torch->prints},
                  {"out_of_memory", torch->out_of_memory}};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        json_object_set_new(all, counts[i].key, json_integer((json_int_t)counts[i].value));
    json_object_set_new(all, "autocast_share", real(torch->autocast_share));
    json_object_set_new(all, "scale_first", real(torch->scale_first));
    json_object_set_new(all, "scale_last", real(torch->scale_last));
    const struct {
        const char *key;
        stk__tristate value;
    } states[] = {{"tf32_matmul", torch->tf32_matmul},
                  {"cudnn_benchmark", torch->cudnn_benchmark},
                  {"deterministic", torch->deterministic},
                  {"anomaly_detection", torch->anomaly_detection},
                  {"convolutions", torch->convolutions},
                  {"channels_last_model", torch->channels_last_model},
                  {"channels_last_input", torch->channels_last_input},
                  {"fixed_shapes", torch->fixed_shapes}};
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++)
        json_object_set_new(all, states[i].key, state(states[i].value));
    json_object_set_new(all, "parallel", json_string(torch->parallel));
    json_object_set_new(all, "world_size", json_integer((json_int_t)torch->world_size));
    return all;
}

static int fail(const stk_error *error)
{
    fprintf(stderr, "hook_probe: %s\n", error->message);
    return 1;
}

static int read_records(const char *folder)
{
    stk_error error = {0};
    stk__evidence evidence;
    stk__evidence_init(&evidence);
    if (stk__hook_file_read(folder, &evidence, &error) != STK_OK) return fail(&error);
    json_t *all = json_pack("{s:o, s:s, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "hook_started",
                            state(evidence.hook_started), "hook_note", evidence.hook_note, "trainers",
                            (json_int_t)evidence.trainers, "steps_total", (json_int_t)evidence.steps_total,
                            "steps", list_steps(&evidence), "loaders", list_loaders(&evidence), "work",
                            list_work(&evidence), "sites", list_sites(&evidence), "optimizers",
                            list_optimizers(&evidence), "torch", describe_torch(&evidence.torch));
    const bool printed = all && json_dumpf(all, stdout, 0) == 0;
    json_decref(all);
    stk__evidence_fini(&evidence);
    return printed ? 0 : 1;
}

static int write_hook(const char *folder)
{
    stk_error error = {0};
    stk__hook_variable variables[STK_HOOK_VARIABLES] = {0};
    if (stk__hook_write(folder, &error) != STK_OK ||
        stk__hook_environment(folder, getenv("PYTHONPATH"), variables, &error) != STK_OK)
        return fail(&error);
    for (int i = 0; i < STK_HOOK_VARIABLES; i++) {
        printf("%s=%s\n", variables[i].name, variables[i].value);
        stk__free(variables[i].value);
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "write") == 0) return write_hook(argv[2]);
    if (argc == 3 && strcmp(argv[1], "read") == 0) return read_records(argv[2]);
    fprintf(stderr, "usage: hook_probe write|read FOLDER\n");
    return 2;
}
