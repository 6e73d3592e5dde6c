/* SPDX-License-Identifier: Apache-2.0 */
/* Where numbers are not finite first. Looks at what every instruction has written, on the host: slow, and
 * only done when something is known to be wrong. */
#include "train/pass/pass_internal.h"

#include <math.h>

static bool is_finite(const stk_tensor *view, int64_t i)
{
    switch (view->dtype) {
    case STK_DTYPE_F32:
        return isfinite(((const float *)view->data)[i]);
    case STK_DTYPE_F16:
        return (((const uint16_t *)view->data)[i] & 0x7c00) != 0x7c00;
    case STK_DTYPE_BF16:
        return (((const uint16_t *)view->data)[i] & 0x7f80) != 0x7f80;
    default:
        return true;
    }
}

/* Notes it if the tensor (NULL: none) is the first bad one. */
static stk_status look(stk__tensor *tensor, const char *layer, const char *what, stk__pass_fault *fault,
                       stk_error *error)
{
    stk_tensor view;
    if (!tensor || fault->layer) return STK_OK;
    STK__TRY(stk__tensor_map(tensor, &view, error));
    bool fine = true;
    for (int64_t i = 0, count = stk__shape_count(&tensor->desc.shape); i < count && fine; i++)
        fine = is_finite(&view, i);
    if (!fine) *fault = (stk__pass_fault){.layer = layer, .what = what};
    return stk__tensor_unmap(tensor, &view, false, error);
}

static stk__tensor *tensor_of(const stk__pass *pass, int value)
{
    return value >= 0 ? pass->tensors[value] : NULL;
}

static stk_status look_backward(const stk__pass *pass, const stk__pass_step *step, stk__pass_fault *fault,
                                stk_error *error)
{
    const char *name = pass->network->layers[step->layer].name;
    const stk__op_form *form = &pass->forms[step->layer];
    const stk__model_tensor *tensors = &pass->model->tensors[pass->model->layer_first[step->layer]];
    for (int i = 0; i < form->param_count; i++)
        STK__TRY(look(tensors[i].grad, name, "gradient of its weights", fault, error));
    for (int i = 0; i < STK_OP_INPUTS; i++)
        STK__TRY(look(tensor_of(pass, step->dx[i]), name, "gradient", fault, error));
    return STK_OK;
}

stk_status stk__pass_check(const stk__pass *pass, const stk__pass_step *step, const stk__pass_feed *feed,
                           stk_error *error)
{
    stk__pass_fault *fault = feed->fault;
    const char *output = pass->network->layers[pass->network->output].name;
    if (step == pass->plan.steps) STK__TRY(look(feed->input, "", "the input", fault, error));
    switch (step->action) {
    case STK_STEP_FORWARD:
    case STK_STEP_AGAIN:
        return look(tensor_of(pass, step->y), pass->network->layers[step->layer].name, "output", fault,
                    error);
    case STK_STEP_LOSS:
        return look(tensor_of(pass, step->dx[0]), output, "gradient of the loss", fault, error);
    case STK_STEP_BACKWARD:
        return look_backward(pass, step, fault, error);
    case STK_STEP_ADD:
        return look(tensor_of(pass, step->y), pass->network->layers[step->layer].name, "gradient", fault,
                    error);
    default:
        return STK_OK;
    }
}
