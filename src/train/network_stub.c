/* Until the branch `network` is merged. */
#include "train/network.h"

stk_status stk__network_shape(stk__network *network, const stk__shape *input, stk__op_form *forms,
                              stk_error *error)
{
    for (int i = 0; i < network->layer_count; i++) {
        stk__layer *layer = &network->layers[i];
        if (!layer->spec.inputs) layer->spec.inputs = 1;
        for (int k = 0; k < layer->spec.inputs; k++)
            layer->spec.input[k] =
                layer->input[k] == STK_LAYER_INPUT ? *input : forms[layer->input[k]].output;
        STK__TRY(stk__op_describe(&layer->spec, &forms[i], error));
    }
    return STK_OK;
}

const char *stk__task_word(stk__task task)
{
    static const char *const words[] = {"segmentation", "points", "classification", "regression"};
    return words[task];
}
