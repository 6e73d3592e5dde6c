/* SPDX-License-Identifier: Apache-2.0 */
/* Where numbers are not finite first. Looks at what every instruction has written, on the host: slow, and
 * only done when something is known to be wrong. */
#include "train/pass/pass_internal.h"

/* A number is infinite or NaN when all bits of its exponent are set. */
static bool is_finite_32(const uint32_t *bits, int64_t count)
{
    uint32_t bad = 0;
    for (int64_t i = 0; i < count; i++)
        bad |= (bits[i] & 0x7f800000U) == 0x7f800000U;
    return !bad;
}

static bool is_finite_16(const uint16_t *bits, int64_t count, uint16_t exponent)
{
    uint32_t bad = 0;
    for (int64_t i = 0; i < count; i++)
        bad |= (bits[i] & exponent) == exponent;
    return !bad;
}

static bool is_finite(const stk_tensor *view, int64_t count)
{
    switch (view->dtype) {
    case STK_DTYPE_F32:
        return is_finite_32(view->data, count);
    case STK_DTYPE_F16:
        return is_finite_16(view->data, count, 0x7c00);
    case STK_DTYPE_BF16:
        return is_finite_16(view->data, count, 0x7f80);
    default:
        return true;
    }
}

/* Of numbers that are not all finite. */
static int64_t first_bad(const stk_tensor *view)
{
    int64_t i = 0;
    stk_tensor one = *view;
    for (; is_finite(&one, 1); i++)
        one.data = (uint8_t *)view->data + (i + 1) * stk_dtype_bytes(view->dtype);
    return i;
}

stk_status stk__tensor_find_bad(stk__tensor *tensor, int64_t *at, stk_error *error)
{
    stk_tensor view;
    STK__TRY(stk__tensor_map(tensor, &view, error));
    *at = is_finite(&view, stk__shape_count(&tensor->desc.shape)) ? -1 : first_bad(&view);
    return stk__tensor_unmap(tensor, &view, false, error);
}

/* Notes it if the tensor (NULL: none) is the first bad one. */
static stk_status look(stk__tensor *tensor, const char *layer, const char *what, stk__pass_fault *fault,
                       stk_error *error)
{
    int64_t at;
    if (!tensor || fault->layer) return STK_OK;
    STK__TRY(stk__tensor_find_bad(tensor, &at, error));
    if (at >= 0) *fault = (stk__pass_fault){.layer = layer, .what = what};
    return STK_OK;
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
    if (step == pass->plan.steps) {
        STK__TRY(look(feed->input, "", "the input", fault, error));
        STK__TRY(look(feed->target[STK_LOSS_TARGET], "", "the target", fault, error));
    }
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
