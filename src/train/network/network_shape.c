/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of all layers, and whether the prediction is what the task wants. */
#include "train/network/network.h"

#include <stdio.h>
#include <string.h>

/* Larger tensors are a mistake, and their sizes in bytes would not fit where sizes are counted. A plan may
 * have larger activations than any machine: it says which batch size fits. */
#define PARAMS_MOST   (INT64_C(1) << 38)
#define ELEMENTS_MOST (INT64_C(1) << 41)

/* The layer in front of the message that is there, its place behind. */
static stk_status add_layer(const stk__network *network, const stk__layer *layer, stk_status status,
                            stk_error *error)
{
    if (!error) return status;
    char message[sizeof error->message], hint[sizeof error->hint];
    memcpy(message, error->message, sizeof message);
    memcpy(hint, error->hint, sizeof hint);
    stk__fail(error, status, "layer '%s' (%s): %s", layer->name, stk__op_word(layer->spec.kind), message);
    if (hint[0]) stk__error_hint(error, "%s", hint);
    stk__error_place(error, "%s:%d", network->place, layer->line);
    return status;
}

static stk_status check_size(const stk__shape *shape, int64_t most, const char *what, stk_error *error)
{
    if (stk__shape_count(shape) <= most) return STK_OK;
    char text[96];
    stk__shape_print(shape, text, sizeof text);
    return stk__fail(error, STK_ERROR_CONFIG, "%s [%s] is too large for memory", what, text);
}

static stk_status shape_layer(const stk__network *network, stk__layer *layer, const stk__shape *input,
                              stk__op_form *forms, stk_error *error)
{
    stk__op_form *form = &forms[layer - network->layers];
    stk__op_spec *spec = &layer->spec;
    for (int k = 0; k < spec->inputs; k++)
        spec->input[k] = layer->input[k] < 0 ? *input : forms[layer->input[k]].output;
    for (int a = 0; a < 2; a++)
        if (spec->scale[a]) spec->size[a] = 0; /* that of the pass before */
    STK__TRY(stk__op_describe(spec, form, error));
    STK__TRY(check_size(&form->output, ELEMENTS_MOST, "its output", error));
    for (int p = 0; p < form->param_count; p++)
        STK__TRY(check_size(&form->param[p].shape, PARAMS_MOST, form->param[p].name, error));
    return STK_OK;
}

static bool fits_task(stk__task task, const stk__shape *output, const char **wants)
{
    switch (task) {
    case STK_TASK_SEGMENTATION:
        *wants = "segmentation needs an output of shape [n h w classes]";
        return output->ndim == 4;
    case STK_TASK_POINTS:
        *wants = "points need an output of shape [n h w 3k], k heat maps and then k offsets";
        return output->ndim == 4 && output->dim[3] % 3 == 0;
    case STK_TASK_CLASSIFICATION:
        *wants = "classification needs an output of shape [n classes]";
        return output->ndim == 2;
    case STK_TASK_MULTILABEL:
        *wants = "multilabel needs an output of shape [n classes]";
        return output->ndim == 2;
    default:
        *wants = "regression needs an output of shape [n 1]";
        return output->ndim == 2 && output->dim[1] == 1;
    }
}

static stk_status check_output(const stk__network *network, const stk__op_form *forms, stk_error *error)
{
    const stk__layer *layer = &network->layers[network->output];
    const stk__shape *output = &forms[network->output].output;
    const char *wants;
    char text[96];
    if (fits_task(network->task, output, &wants)) return STK_OK;
    stk__shape_print(output, text, sizeof text);
    return add_layer(network, layer, stk__fail(error, STK_ERROR_CONFIG, "%s, not [%s]", wants, text), error);
}

static stk_status check_input(const stk__network *network, const stk__shape *input, stk_error *error)
{
    const int64_t multiple = network->multiple;
    stk_status status = check_size(input, ELEMENTS_MOST, "the input", error);
    if (status == STK_OK && input->ndim == 4 && (input->dim[1] % multiple || input->dim[2] % multiple)) {
        status = stk__fail(
            error, STK_ERROR_CONFIG,
            "the network '%s' needs images whose height and width are multiples of %lld, not %lld x %lld",
            network->name, (long long)multiple, (long long)input->dim[1], (long long)input->dim[2]);
        stk__error_hint(error, "data.image_size=[%lld, %lld] is the next larger one",
                        (long long)((input->dim[1] + multiple - 1) / multiple * multiple),
                        (long long)((input->dim[2] + multiple - 1) / multiple * multiple));
    }
    if (status != STK_OK) stk__error_place(error, "%s", network->place);
    return status;
}

stk_status stk__network_shape(stk__network *network, const stk__shape *input, stk__op_form *forms,
                              stk_error *error)
{
    STK__TRY(check_input(network, input, error));
    for (int i = 0; i < network->layer_count; i++) {
        const stk_status status = shape_layer(network, &network->layers[i], input, forms, error);
        if (status != STK_OK) return add_layer(network, &network->layers[i], status, error);
    }
    return check_output(network, forms, error);
}
