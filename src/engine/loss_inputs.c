/* SPDX-License-Identifier: Apache-2.0 */
/* Validates what a loss or metric is given (shapes, class counts, types) once in the engine's front, so
 * that engines can trust it. */
#include "engine/loss_inputs.h"

static bool judges_classes(stk__op_kind kind)
{
    return kind == STK_OP_CROSS_ENTROPY || kind == STK_OP_CONFUSION || kind == STK_OP_TOP_K;
}

static bool judges_points(stk__op_kind kind)
{
    return kind == STK_OP_POINTS || kind == STK_OP_POINT_ERROR;
}

static stk_status check_count(const stk__tensor *tensor, const char *what, int64_t count, stk_error *error)
{
    if (stk__shape_count(&tensor->desc.shape) == count) return STK_OK;
    char text[96];
    stk__shape_print(&tensor->desc.shape, text, sizeof text);
    return stk__fail(error, STK_ERROR_ARGUMENT, "shape mismatch: %s [%s], expected %lld values", what, text,
                     (long long)count);
}

static stk_status check_numbers(const stk__tensor *tensor, const char *what, int64_t count, stk_error *error)
{
    if (!tensor) return STK_OK;
    if (tensor->desc.dtype != STK_DTYPE_F32)
        return stk__fail(error, STK_ERROR_ARGUMENT, "the %s must be f32", what);
    return check_count(tensor, what, count, error);
}

static stk_status check_classes(const stk__op_spec *spec, const stk__tensor *target, stk_error *error)
{
    if (!target) return STK_OK;
    const bool mask = spec->input[0].ndim > 2;
    if (target->desc.dtype != STK_DTYPE_I64 && !(mask && target->desc.dtype == STK_DTYPE_U8))
        return stk__fail(error, STK_ERROR_ARGUMENT, mask ? "masks must be u8 or i64" : "labels must be i64");
    return check_count(target, "target", stk__shape_count(&spec->input[0]) / spec->classes, error);
}

stk_status stk__loss_check(const stk__op_spec *spec, stk__tensor *const *x, stk_error *error)
{
    const int64_t n = spec->input[0].dim[0];
    if (!x[STK_LOSS_TARGET])
        return stk__fail(error, STK_ERROR_ARGUMENT, "%s needs a target", stk__op_word(spec->kind));
    STK__TRY(check_numbers(x[STK_LOSS_LAMBDA], "mixing weight (lambda)", n, error));
    STK__TRY(check_numbers(x[STK_LOSS_WEIGHTS], "sample weights", n, error));
    if (judges_classes(spec->kind)) {
        STK__TRY(check_numbers(x[STK_LOSS_CLASS_WEIGHTS], "class weights", spec->classes, error));
        STK__TRY(check_classes(spec, x[STK_LOSS_TARGET], error));
        return check_classes(spec, x[STK_LOSS_TARGET2], error);
    }
    if (x[STK_LOSS_TARGET2])
        return stk__fail(error, STK_ERROR_ARGUMENT, "%s does not support a second target",
                         stk__op_word(spec->kind));
    const bool labels = spec->kind == STK_OP_BCE || spec->kind == STK_OP_LABEL_HITS;
    const int64_t per_sample = judges_points(spec->kind) ? spec->input[0].dim[3] : labels ? spec->classes : 1;
    return check_numbers(x[STK_LOSS_TARGET], "target", n * per_sample, error);
}
