/* SPDX-License-Identifier: Apache-2.0 */
/* data.json is written once, when a run begins, and read by whoever uses its network later. It comes from a
 * file that may have been changed, so every size in it is checked. One thread. */
#include "session/trained_run.h"

#include "core/json_text.h"
#include "report/run_keys.h"
#include "session/data_json.h"
#include "session/loader_feed.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static stk_status refuse_run(const char *run, stk_error *error)
{
    if (access(run, F_OK) != 0)
        stk__fail_errno(error, errno, "cannot open the run '%s'", run);
    else
        stk__fail(error, STK_ERROR_IO, "'%s' is not a run folder: it has no config.yaml", run);
    stk__error_place(error, "%s", run);
    stk__error_hint(error,
                    "name the folder of a run: stoker train prints it at its end; by default runs are in "
                    "runs/");
    return STK_ERROR_IO;
}

stk_status stk__run_settings_read(stk__config *config, const char *run, stk_error *error)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/config.yaml", run);
    const bool missing = access(path, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR);
    return missing ? refuse_run(run, error) : stk__config_read_file(config, path, error);
}

bool stk__run_has_checkpoint(const char *run)
{
    char folder[512];
    snprintf(folder, sizeof folder, "%s/checkpoints", run);
    return stk__checkpoint_is_there(folder);
}

static stk_status refuse_checkpoint(const stk__run_choice *choice, stk_error *error)
{
    const stk_status status =
        stk__fail_errno(error, errno, "cannot open the checkpoint '%s'", choice->checkpoint);
    stk__error_place(error, "%s", choice->checkpoint);
    stk__error_hint(error, "the checkpoints of the run are the folders in %s/checkpoints", choice->run);
    return status;
}

static stk_status find_checkpoint(const stk__run_choice *choice, const stk__trainer *trainer,
                                  stk__checkpoint_found *found, stk_error *error)
{
    const stk__trainer_info *info = stk__trainer_describe(trainer);
    char folder[512];
    if (choice->checkpoint) {
        snprintf(found->path, sizeof found->path, "%s", choice->checkpoint);
        if (access(choice->checkpoint, F_OK) != 0) return refuse_checkpoint(choice, error);
        return stk__checkpoint_verify(choice->checkpoint, error);
    }
    snprintf(folder, sizeof folder, "%s/checkpoints", choice->run);
    const bool low = stk__task_describe(info->network->task)->low[info->value];
    stk_status status = choice->newest ? STK_END : stk__checkpoint_best(folder, low, found, error);
    if (status == STK_END) status = stk__checkpoint_newest(folder, found, error);
    if (status == STK_END) {
        stk__fail(error, STK_ERROR_DATA, "the run has no checkpoint yet");
        stk__error_place(error, "%s", folder);
        stk__error_hint(error, "stoker train --run %s --resume continues it and saves one", choice->run);
        status = STK_ERROR_DATA;
    }
    return status;
}

stk_status stk__run_checkpoint_load(const stk__run_choice *choice, const stk__trainer *trainer,
                                    stk__checkpoint_found *found, stk_error *error)
{
    const stk_status status = find_checkpoint(choice, trainer, found, error);
    if (status != STK_OK) {
        found->skipped = 0; /* the failure says it all */
        return status;
    }
    return stk__checkpoint_read_model(found->path, stk__trainer_describe(trainer)->model, false, error);
}

/* --- the weights of another run --------------------------------------------------------------------------
 */

/* Whether lower values of its metric are better; false: nothing says what it was evaluated by. */
static bool read_direction(const char *run, bool *low)
{
    char path[1024];
    bool known = false;
    snprintf(path, sizeof path, "%s/" STK_RUN_FILE, run);
    json_t *report = json_load_file(path, 0, NULL);
    const char *metric = json_string_value(json_object_get(report, STK_RUN_KEY_METRIC));
    for (stk__task task = 0; metric && !known && task < STK_TASK_COUNT; task++) {
        const int value = stk__task_value(task, metric);
        known = value >= 0;
        if (known) *low = stk__task_describe(task)->low[value];
    }
    json_decref(report);
    return known;
}

stk_status stk__run_weights_find(const char **weights, stk__checkpoint_found *found, stk_error *error)
{
    char folder[512];
    bool low = false;
    if (!*weights || !stk__run_has_checkpoint(*weights)) return STK_OK;
    snprintf(folder, sizeof folder, "%s/checkpoints", *weights);
    const stk_status status = read_direction(*weights, &low) ? stk__checkpoint_best(folder, low, found, error)
                                                             : stk__checkpoint_newest(folder, found, error);
    if (status == STK_OK) *weights = found->path;
    return status == STK_END ? STK_OK : status;
}

/* --- data.json -------------------------------------------------------------------------------------------
 */

/* [count]; null: they have none. */
static json_t *names_json(const char *const *list, int32_t count)
{
    if (!list) return json_null();
    json_t *names = json_array();
    for (int32_t i = 0; i < count; i++)
        json_array_append_new(names, stk__json_string(list[i]));
    return names;
}

stk_status stk__run_data_init(stk__run_data *data, const char *name, const stk_loader_info *info,
                              stk_error *error)
{
    *data = (stk__run_data){.name = name, .facts = stk__feed_facts_of(info)};
    data->json = json_pack("{s:i, s:s, s:i, s:i, s:i, s:i, s:i, s:b, s:b, s:b, s:i, s:i, s:o, s:o}", "schema",
                           1, "layout", info->layout, "image_h", info->h, "image_w", info->w, "image_c",
                           info->channels, "window", info->window_rows, "features", info->feature_count,
                           "masks", info->masks, "classes", info->classes, "values", info->values,
                           "num_classes", info->class_count, "points", info->point_count, "class_names",
                           names_json(info->class_names, info->class_count), "point_names",
                           names_json(info->point_names, info->point_count));
    if (data->json) json_object_set_new(data->json, "data", stk__data_json(info));
    if (data->json && info->label_sets) json_object_set_new(data->json, "label_sets", json_true());
    return data->json ? STK_OK : stk__fail_memory(error, 4096, "data.json");
}

stk_status stk__run_data_write(stk__run_folder *folder, const stk_loader_info *info, stk_error *error)
{
    stk__run_data data;
    if (stk__run_has_data(stk__run_folder_path(folder))) return STK_OK;
    STK__TRY(stk__run_data_init(&data, NULL, info, error));
    return stk__run_folder_write_json(folder, "data.json", data.json, error);
}

static bool unpack(stk__run_data *data)
{
    stk__feed_facts *f = &data->facts;
    int masks, classes, values;
    const bool whole =
        json_unpack(data->json, "{s:i, s:i, s:i, s:i, s:i, s:b, s:b, s:b, s:i, s:i}", "image_h", &f->image_h,
                    "image_w", &f->image_w, "image_c", &f->image_c, "window", &f->window, "features",
                    &f->features, "masks", &masks, "classes", &classes, "values", &values, "num_classes",
                    &f->num_classes, "points", &f->points) == 0;
    const int32_t sizes[] = {f->image_h, f->image_w, f->window, f->features, f->num_classes, f->points};
    bool fits = whole && f->image_c >= 0 && f->image_c <= 3;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        fits = fits && sizes[i] >= 0 && sizes[i] <= 1 << 20;
    f->masks = whole && masks;
    f->classes = whole && classes;
    f->values = whole && values;
    f->label_sets = json_is_true(json_object_get(data->json, "label_sets")); /* older runs have none */
    return fits;
}

bool stk__run_has_data(const char *run)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/data.json", run);
    return access(path, F_OK) == 0;
}

stk_status stk__run_data_read(stk__run_data *data, const char *run, stk_error *error)
{
    char path[1024];
    json_error_t wrong;
    snprintf(path, sizeof path, "%s/data.json", run);
    *data = (stk__run_data){.name = run, .json = json_load_file(path, 0, &wrong)};
    if (data->json && unpack(data)) return STK_OK;
    const bool there = stk__run_has_data(run);
    if (!there)
        stk__fail(error, STK_ERROR_DATA,
                  "cannot read the shapes and classes of the run's data: data.json is missing");
    else
        stk__fail(error, STK_ERROR_DATA, "data.json is corrupt: %s",
                  data->json ? "a key is missing or out of range" : wrong.text);
    stk__error_place(error, "%s", path);
    stk__error_hint(error, "%sresume the run: stoker train --run %s --resume writes it",
                    there ? "remove it and " : "", run);
    return STK_ERROR_DATA;
}

void stk__run_data_fini(stk__run_data *data)
{
    json_decref(data->json);
    data->json = NULL;
}

const char *stk__run_point_name(const stk__run_data *data, int64_t point)
{
    return json_string_value(json_array_get(json_object_get(data->json, "point_names"), (size_t)point));
}

const char *stk__run_class_name(const stk__run_data *data, int64_t class_number)
{
    return json_string_value(
        json_array_get(json_object_get(data->json, "class_names"), (size_t)class_number));
}
