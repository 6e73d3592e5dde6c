/* SPDX-License-Identifier: Apache-2.0 */
/* The tensors of a model: values, gradients, optimizer moments and moving averages, each kind side by side
 * in one arena of the engine, so that an optimizer step walks through memory in order. Owned by the
 * trainer's thread. */
#include "train/model.h"

#include "train/freeze.h"
#include "train/model_start.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static int count_tensors(const stk__network *network, const stk__op_form *forms)
{
    int count = 0;
    for (int i = 0; i < network->layer_count; i++)
        count += forms[i].param_count + forms[i].buffer_count;
    return count;
}

static size_t measure_names(const stk__network *network, const stk__op_form *forms)
{
    size_t size = 1;
    for (int i = 0; i < network->layer_count; i++) {
        const size_t prefix = strlen(network->layers[i].name) + 2; /* dot and end */
        for (int k = 0; k < forms[i].param_count; k++)
            size += prefix + strlen(forms[i].param[k].name);
        for (int k = 0; k < forms[i].buffer_count; k++)
            size += prefix + strlen(forms[i].buffer[k].name);
    }
    return size;
}

static stk_status reserve(stk__model *model, const stk__network *network, const stk__op_form *forms,
                          stk_error *error)
{
    const size_t count = (size_t)count_tensors(network, forms), names = measure_names(network, forms);
    const size_t layers = (size_t)network->layer_count + 1;
    enum { LISTS = 6 };
    model->tensors = stk__alloc((count + 1) * sizeof *model->tensors);
    model->layer_first = stk__alloc(layers * sizeof *model->layer_first);
    model->list_memory = stk__alloc((LISTS * count + 1) * sizeof(stk__tensor *));
    model->names = stk__alloc(names);
    if (model->tensors && model->layer_first && model->list_memory && model->names) return STK_OK;
    return stk__fail_memory(error, count * sizeof *model->tensors, "the model's list of tensors");
}

/* Adds one tensor, whose name goes to *names. */
static void add_tensor(stk__model *model, const stk__layer *layer, const stk__op_param *origin, char **names)
{
    stk__model_tensor *tensor = &model->tensors[model->count++];
    tensor->name = *names;
    tensor->desc = stk__param_desc(model->engine, origin);
    tensor->origin = *origin;
    *names += sprintf(*names, "%s.%s", layer->name, origin->name) + 1;
}

static void list_tensors(stk__model *model, const stk__network *network, const stk__op_form *forms,
                         const char *freeze)
{
    char *names = model->names;
    for (int i = 0; i < network->layer_count; i++) {
        const stk__layer *layer = &network->layers[i];
        const bool frozen = stk__freeze_matches(freeze, layer->name);
        model->layer_first[i] = model->count;
        for (int k = 0; k < forms[i].param_count; k++) {
            add_tensor(model, layer, &forms[i].param[k], &names);
            const int64_t count = stk__shape_count(&forms[i].param[k].shape);
            model->tensors[model->count - 1].trainable = !frozen;
            model->param_count += count;
            if (!frozen) model->trainable_count += count;
        }
        for (int k = 0; k < forms[i].buffer_count; k++) {
            add_tensor(model, layer, &forms[i].buffer[k], &names);
            model->tensors[model->count - 1].buffer = true;
        }
        for (int k = model->layer_first[i]; k < model->count; k++)
            model->tensors[k].layer = i;
    }
    model->layer_first[network->layer_count] = model->count;
}

/* What a tensor has beside its value, in the order in which it lies in the arena. */
typedef enum part {
    PART_VALUE,
    PART_GRAD,
    PART_FIRST,
    PART_SECOND,
    PART_AVERAGE,
    PART_BUFFER, /* the value of one */
    PART_COUNT
} part;

static stk__tensor **part_of(stk__model_tensor *tensor, part which)
{
    stk__tensor **const parts[PART_COUNT] = {&tensor->value,  &tensor->grad,    &tensor->first,
                                             &tensor->second, &tensor->average, &tensor->value};
    return parts[which];
}

static bool has_part(const stk__model_tensor *tensor, part which, const stk__model_options *options)
{
    const bool trained = tensor->trainable && options->training;
    switch (which) {
    case PART_VALUE:
        return !tensor->buffer;
    case PART_GRAD:
        return trained;
    case PART_FIRST:
        return trained && options->first;
    case PART_SECOND:
        return trained && options->second;
    case PART_BUFFER:
        return tensor->buffer;
    default:
        return options->average && tensor->desc.dtype == STK_DTYPE_F32;
    }
}

static size_t measure_part(const stk__model *model, part which, const stk__model_options *options)
{
    size_t size = 0;
    for (int i = 0; i < model->count; i++)
        if (has_part(&model->tensors[i], which, options))
            size += stk__tensor_size(model->engine, &model->tensors[i].desc);
    return size;
}

static stk_status place_part(stk__model *model, part which, const stk__model_options *options, size_t *offset,
                             stk_error *error)
{
    for (int i = 0; i < model->count; i++) {
        stk__model_tensor *tensor = &model->tensors[i];
        if (!has_part(tensor, which, options)) continue;
        STK__TRY(stk__tensor_create(model->engine, &tensor->desc, model->arena, *offset,
                                    part_of(tensor, which), error));
        *offset += stk__tensor_size(model->engine, &tensor->desc);
    }
    return STK_OK;
}

/* At the end of the arena: the buffers end at `end`, as many bytes for the spares follow. Words of any
 * content: they are not computed with. */
static stk_status place_spares(stk__model *model, size_t end, size_t size, stk_error *error)
{
    const stk__tensor_desc all = {.shape = {1, {(int64_t)(size / sizeof(int64_t))}}, .dtype = STK_DTYPE_I64};
    if (!size) return STK_OK;
    STK__TRY(stk__tensor_create(model->engine, &all, model->arena, end - size, &model->buffers, error));
    return stk__tensor_create(model->engine, &all, model->arena, end, &model->spares, error);
}

/* Parts of one kind lie side by side, so that the optimizer walks through memory in order. */
static stk_status place(stk__model *model, const stk__model_options *options, stk_error *error)
{
    const size_t spare = options->spare ? measure_part(model, PART_BUFFER, options) : 0;
    model->size_bytes = spare;
    for (int which = 0; which < PART_COUNT; which++)
        model->size_bytes += measure_part(model, (part)which, options);
    STK__TRY(stk__arena_create(model->engine, model->size_bytes, &model->arena, error));
    size_t offset = 0;
    for (int which = 0; which < PART_COUNT; which++)
        STK__TRY(place_part(model, (part)which, options, &offset, error));
    assert(offset + spare == model->size_bytes);
    return place_spares(model, offset, spare, error);
}

/* A list of one part of all tensors that have it; those without a gradient count as not trained. */
static stk__tensor **fill_list(stk__model *model, part which, stk__tensor_list *list, stk__tensor **memory)
{
    list->tensor = memory;
    list->count = 0;
    for (int i = 0; i < model->count; i++) {
        stk__tensor *tensor = *part_of(&model->tensors[i], which);
        if (tensor) memory[list->count++] = tensor;
    }
    return memory + list->count;
}

static void fill_lists(stk__model *model)
{
    stk__tensor **memory = model->list_memory;
    memory = fill_list(model, PART_GRAD, &model->grads, memory);
    memory = fill_list(model, PART_FIRST, &model->firsts, memory);
    memory = fill_list(model, PART_SECOND, &model->seconds, memory);
    memory = fill_list(model, PART_AVERAGE, &model->averages, memory);
    model->params = (stk__tensor_list){.tensor = memory};
    for (int i = 0; i < model->count; i++)
        if (model->tensors[i].grad) memory[model->params.count++] = model->tensors[i].value;
    memory += model->params.count;
    model->values = (stk__tensor_list){.tensor = memory};
    for (int i = 0; i < model->count; i++)
        if (model->tensors[i].desc.dtype == STK_DTYPE_F32)
            memory[model->values.count++] = model->tensors[i].value;
}

static stk_status build(stk__model *model, const stk__network *network, const stk__op_form *forms,
                        const stk__model_options *options, stk_error *error)
{
    STK__TRY(stk__freeze_check(options->freeze, network, forms, error));
    STK__TRY(reserve(model, network, forms, error));
    list_tensors(model, network, forms, options->freeze);
    STK__TRY(place(model, options, error));
    fill_lists(model);
    return stk__engine_describe(model->engine)->dry ? STK_OK : stk__model_start(model, options->seed, error);
}

stk_status stk__model_create(stk__model **model, stk__engine *engine, const stk__network *network,
                             const stk__op_form *forms, const stk__model_options *options, stk_error *error)
{
    *model = NULL;
    stk__model *made = stk__alloc(sizeof *made);
    if (!made) return stk__fail_memory(error, sizeof *made, "a model");
    made->engine = engine;
    const stk_status status = build(made, network, forms, options, error);
    *model = made;
    if (status != STK_OK) stk__model_destroy(model);
    return status;
}

void stk__model_destroy(stk__model **model)
{
    stk__model *old = *model;
    *model = NULL;
    if (!old) return;
    for (int i = 0; i < old->count; i++)
        for (int which = 0; which < PART_COUNT; which++)
            stk__tensor_destroy(part_of(&old->tensors[i], (part)which));
    stk__tensor_destroy(&old->buffers);
    stk__tensor_destroy(&old->spares);
    stk__arena_destroy(&old->arena);
    stk__free(old->names);
    stk__free(old->list_memory);
    stk__free(old->layer_first);
    stk__free(old->tensors);
    stk__free(old);
}

stk__model_tensor *stk__model_find(const stk__model *model, const char *name)
{
    for (int i = 0; i < model->count; i++)
        if (strcmp(model->tensors[i].name, name) == 0) return &model->tensors[i];
    return NULL;
}

void stk__model_swap_average(stk__model *model)
{
    for (int i = 0; i < model->count; i++) {
        stk__model_tensor *tensor = &model->tensors[i];
        if (!tensor->average) continue;
        stk__tensor *value = tensor->value;
        tensor->value = tensor->average;
        tensor->average = value;
    }
    fill_lists(model);
}

stk_status stk__model_keep_buffers(stk__model *model, stk_error *error)
{
    return model->spares ? stk__tensor_copy(model->spares, model->buffers, error) : STK_OK;
}

stk_status stk__model_restore_buffers(stk__model *model, stk_error *error)
{
    return model->spares ? stk__tensor_copy(model->buffers, model->spares, error) : STK_OK;
}

stk__model_bytes stk__model_measure(const stk__model *model)
{
    stk__model_bytes bytes = {.buffers = model->spares ? model->spares->size_bytes : 0};
    for (int i = 0; i < model->count; i++) {
        const stk__model_tensor *tensor = &model->tensors[i];
        const size_t size = stk__tensor_size(model->engine, &tensor->desc);
        *(tensor->buffer ? &bytes.buffers : &bytes.params) += size;
        if (tensor->grad) bytes.grads += size;
        if (tensor->first) bytes.optimizer += size;
        if (tensor->second) bytes.optimizer += size;
        if (tensor->average) bytes.averages += size;
    }
    return bytes;
}
