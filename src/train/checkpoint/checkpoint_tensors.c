/* SPDX-License-Identifier: Apache-2.0 */
/* The tensors of a model as a checkpoint names them: weights under their own names, optimizer moments with
 * PyTorch's suffixes (.exp_avg, .exp_avg_sq, .momentum_buffer), the average in a file of its own. Writer
 * and reader share this list. */
#include "train/checkpoint/checkpoint_tensors.h"

#include <stdio.h>
#include <string.h>

enum { SUFFIX_BYTES = 20 }; /* the longest is ".momentum_buffer" */

const char *const stk__checkpoint_files[STK_CHECKPOINT_PARTS] = {
    [STK_CHECKPOINT_MODEL] = "model.safetensors",
    [STK_CHECKPOINT_OPTIMIZER] = "optimizer.safetensors",
    [STK_CHECKPOINT_AVERAGE] = "average.safetensors"};

static stk_status reserve(stk__checkpoint_tensors *t, const stk__model *model, stk_error *error)
{
    const size_t most = 2 * (size_t)model->count; /* two moments */
    size_t names_bytes = 0;
    for (int i = 0; i < model->count; i++)
        names_bytes += 2 * (strlen(model->tensors[i].name) + SUFFIX_BYTES);
    if (most == 0) return STK_OK;
    t->facts = stk__alloc(most * sizeof t->facts[0]);
    t->tensors = stk__alloc(most * sizeof t->tensors[0]);
    t->names = stk__alloc(names_bytes);
    if (t->facts && t->tensors && t->names) return STK_OK;
    return stk__fail_memory(error, most * (sizeof t->facts[0] + sizeof t->tensors[0]) + names_bytes,
                            "a list of tensors");
}

static void add(stk__checkpoint_tensors *t, const stk__model_tensor *of, const char *name,
                stk__tensor *tensor)
{
    t->facts[t->count] = (stk__safetensor){.name = name, .dtype = of->desc.dtype, .shape = of->desc.shape};
    t->tensors[t->count++] = tensor;
}

static char *add_moment(stk__checkpoint_tensors *t, const stk__model_tensor *of, const char *suffix, char *at)
{
    stk__tensor *tensor = strcmp(suffix, "exp_avg_sq") == 0 ? of->second : of->first;
    const int length = sprintf(at, "%s.%s", of->name, suffix);
    add(t, of, at, tensor);
    return at + length + 1;
}

static char *add_part(stk__checkpoint_tensors *t, const stk__model_tensor *of, stk__checkpoint_part part,
                      char *at)
{
    if (part == STK_CHECKPOINT_MODEL)
        add(t, of, of->name, of->value);
    else if (part == STK_CHECKPOINT_AVERAGE)
        add(t, of, of->name, of->average ? of->average : of->value);
    else if (of->second) {
        at = add_moment(t, of, "exp_avg", at);
        at = add_moment(t, of, "exp_avg_sq", at);
    } else if (of->first)
        at = add_moment(t, of, "momentum_buffer", at);
    return at;
}

stk_status stk__checkpoint_tensors_init(stk__checkpoint_tensors *tensors, const stk__model *model,
                                        stk__checkpoint_part part, stk_error *error)
{
    bool averaged = false;
    *tensors = (stk__checkpoint_tensors){0};
    for (int i = 0; i < model->count; i++)
        averaged |= model->tensors[i].average != NULL;
    if (part == STK_CHECKPOINT_AVERAGE && !averaged) return STK_OK;
    STK__TRY(reserve(tensors, model, error));
    char *at = tensors->names;
    for (int64_t element_bytes = 8; element_bytes; element_bytes /= 2)
        for (int i = 0; i < model->count; i++)
            if (stk_dtype_bytes(model->tensors[i].desc.dtype) == element_bytes)
                at = add_part(tensors, &model->tensors[i], part, at);
    return STK_OK;
}

void stk__checkpoint_tensors_fini(stk__checkpoint_tensors *tensors)
{
    stk__free(tensors->facts);
    stk__free(tensors->tensors);
    stk__free(tensors->names);
    *tensors = (stk__checkpoint_tensors){0};
}
