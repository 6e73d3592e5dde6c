/* SPDX-License-Identifier: Apache-2.0 */
/* Loads a checkpoint: state.json, then the safetensors files of weights, optimizer and average. All files
 * are opened and compared with the model's names, types and shapes before the first tensor changes, so
 * that a refused checkpoint leaves the model as it was. */
#include "train/checkpoint/checkpoint_tensors.h"

#include "core/durable.h"
#include "core/file.h"

#include <limits.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

enum { STATE_LIMIT_BYTES = 1 << 26 };

/* --- state.json ---------------------------------------------------------------------------------------- */

static bool take_count(const json_t *object, const char *key, uint64_t *value)
{
    const json_t *number = json_object_get(object, key);
    *value = (uint64_t)json_integer_value(number);
    return json_is_integer(number) && json_integer_value(number) >= 0;
}

static bool take_state(const json_t *json, stk__checkpoint_state *state)
{
    const json_t *metric = json_object_get(json, "metric");
    uint64_t schema;
    state->metric = json_is_number(metric) ? json_number_value(metric) : NAN;
    if (!take_count(json, "schema", &schema) || schema != 1) return false;
    if (!take_count(json, "epoch", &state->epoch) || !take_count(json, "step", &state->step)) return false;
    if (!json_is_number(metric) && !json_is_null(metric)) return false;
    state->json = json_incref(json_object_get(json, "state"));
    return state->json != NULL;
}

stk_status stk__checkpoint_read_state(const char *path, stk__checkpoint_state *state, stk_error *error)
{
    char name[PATH_MAX];
    stk__buffer text = {0};
    json_error_t where;
    stk_error why = {0};
    *state = (stk__checkpoint_state){.metric = NAN};
    STK__TRY(stk__durable_join(name, sizeof name, path, STK_CHECKPOINT_STATE, error));
    stk_status status = stk__file_read(name, STATE_LIMIT_BYTES, &text, &why);
    if (status == STK_OK) {
        json_t *json = json_loadb((const char *)text.data, text.size_bytes, JSON_REJECT_DUPLICATES, &where);
        if (!take_state(json, state))
            status = stk__fail(error, STK_ERROR_DATA, "'%s' is not the state of a checkpoint", name);
        json_decref(json);
    } else {
        status = status == STK_ERROR_MEMORY ? status : STK_ERROR_DATA;
        stk__fail(error, status, "'%s': %s", name, why.message);
    }
    stk__buffer_fini(&text);
    return status;
}

/* --- tensors ------------------------------------------------------------------------------------------- */

static const char changed[] = "the network, the optimizer, train.ema or model.freeze have changed since; to "
                              "load its weights alone use model.weights";

static stk_status refuse_part(stk_error *error, const char *path, const char *name, bool missing)
{
    if (missing)
        stk__fail(error, STK_ERROR_STATE, "the checkpoint has no %s", name);
    else
        stk__fail(error, STK_ERROR_STATE, "the checkpoint has %s, which this run does not use", name);
    stk__error_place(error, "%s", path);
    stk__error_hint(error, changed);
    return STK_ERROR_STATE;
}

static stk_status refuse_model(stk_error *error, const char *path, const char *what, const char *name)
{
    stk__fail(error, STK_ERROR_STATE, "tensor '%.80s' %s", name, what);
    stk__error_place(error, "%s", path);
    stk__error_hint(error, changed);
    return STK_ERROR_STATE;
}

static stk_status check_fit(const stk__safetensors *file, const stk__checkpoint_tensors *list,
                            const char *path, stk_error *error)
{
    for (int i = 0; i < list->count; i++) {
        const stk__safetensor *wanted = &list->facts[i];
        const stk__safetensor *there = stk__safetensors_find(file, wanted->name);
        if (!there) return refuse_model(error, path, "is not in the checkpoint", wanted->name);
        if (there->dtype != wanted->dtype || !stk__shape_equal(&there->shape, &wanted->shape))
            return refuse_model(error, path, "has another shape in the checkpoint", wanted->name);
    }
    if (stk__safetensors_count(file) == list->count) return STK_OK;
    for (int i = 0; i < stk__safetensors_count(file); i++) {
        const char *name = stk__safetensors_at(file, i)->name;
        int k = 0;
        while (k < list->count && strcmp(list->facts[k].name, name) != 0)
            k++;
        if (k == list->count)
            return refuse_model(error, path, "of the checkpoint is not used by this run", name);
    }
    return STK_OK;
}

static stk_status read_tensor(const stk__safetensors *file, const char *name, stk__tensor *tensor,
                              stk_error *error)
{
    stk_tensor view;
    STK__TRY(stk__tensor_map(tensor, &view, error));
    const stk_status status =
        stk__safetensors_read(file, stk__safetensors_find(file, name), view.data, error);
    const stk_status unmapped = stk__tensor_unmap(tensor, &view, true, status == STK_OK ? error : NULL);
    return status != STK_OK ? status : unmapped;
}

typedef struct loading {
    stk__checkpoint_tensors list;
    stk__safetensors *file;
} loading;

/* Opens the file of one part and checks it against the model. */
static stk_status prepare(loading *l, const char *folder, const char *name, stk_error *error)
{
    char path[PATH_MAX];
    if (l->list.count == 0) return STK_OK;
    STK__TRY(stk__durable_join(path, sizeof path, folder, name, error));
    STK__TRY(stk__safetensors_open(&l->file, path, error));
    return check_fit(l->file, &l->list, path, error);
}

static stk_status load(const loading *l, stk_error *error)
{
    for (int i = 0; i < l->list.count; i++)
        STK__TRY(read_tensor(l->file, l->list.facts[i].name, l->list.tensors[i], error));
    return STK_OK;
}

static bool has_file(const char *folder, const char *name)
{
    char path[PATH_MAX];
    struct stat facts;
    return stk__durable_join(path, sizeof path, folder, name, NULL) == STK_OK && stat(path, &facts) == 0;
}

static stk_status prepare_all(loading *all, const char *path, const stk__model *model, bool to_go_on,
                              stk_error *error)
{
    for (int part = 0; part < (to_go_on ? STK_CHECKPOINT_PARTS : 1); part++) {
        const char *name = stk__checkpoint_files[part];
        if (!to_go_on && has_file(path, stk__checkpoint_files[STK_CHECKPOINT_AVERAGE]))
            name = stk__checkpoint_files[STK_CHECKPOINT_AVERAGE];
        STK__TRY(stk__checkpoint_tensors_init(&all[part].list, model, part, error));
        if ((all[part].list.count > 0) != has_file(path, name))
            return refuse_part(error, path, name, all[part].list.count > 0);
        STK__TRY(prepare(&all[part], path, name, error));
    }
    return STK_OK;
}

stk_status stk__checkpoint_read_model(const char *path, stk__model *model, bool to_go_on, stk_error *error)
{
    loading all[STK_CHECKPOINT_PARTS] = {0};
    stk_status status = prepare_all(all, path, model, to_go_on, error);
    for (int part = 0; part < STK_CHECKPOINT_PARTS; part++) {
        if (status == STK_OK) status = load(&all[part], error);
        stk__safetensors_close(&all[part].file);
        stk__checkpoint_tensors_fini(&all[part].list);
    }
    return status;
}
