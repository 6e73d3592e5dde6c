/* SPDX-License-Identifier: Apache-2.0 */
/* What PyTorch's CUDA operators do and its CPU ones do not: the calls that they refuse, and where they
 * compute differently. Read from aten/src/ATen/native/cuda of the versions that are supported, and seen there
 * with the real libtorch_cuda on a runtime that launches nothing. */
#include "fake_gpu_torch.h"

#include <stdlib.h>
#include <string.h>

static stk__torch_handle handle_at(uint64_t value)
{
    return (stk__torch_handle)(uintptr_t)value; /* NOLINT: as PyTorch has it */
}

/* native_batch_norm.out: in evaluation, too, the statistics that were used are saved, one for each channel.
 * Memory that is not PyTorch's own is not resized for them. */
static const char *judge_norm(const fake_rules *rules, const uint64_t *stack)
{
    enum { INPUT, SAVED_MEAN = 9, SAVED_INVSTD };
    int64_t *sizes = NULL;
    rules->get_sizes(handle_at(stack[INPUT]), &sizes);
    for (int i = SAVED_MEAN; i <= SAVED_INVSTD; i++) {
        int64_t values = 0;
        rules->get_numel(handle_at(stack[i]), &values);
        if (values != sizes[1]) return "Trying to resize storage that is not resizable";
    }
    return NULL;
}

/* native_batch_norm_backward: they are wanted of frozen layers, too. */
static const char *judge_norm_backward(const fake_rules *rules, const uint64_t *stack)
{
    enum { SAVED_MEAN = 5, SAVED_INVSTD };
    (void)rules;
    return stack[SAVED_MEAN] && stack[SAVED_INVSTD] ? NULL : "save_mean should always be defined";
}

const char *fake_refuses(const fake_rules *rules, const fake_call *call, const uint64_t *stack)
{
    if (!call->gpus) return NULL;
    if (strcmp(call->name, "aten::native_batch_norm") == 0) return judge_norm(rules, stack);
    if (strcmp(call->name, "aten::native_batch_norm_backward") == 0) return judge_norm_backward(rules, stack);
    return NULL;
}

/* A divisor on the host: CUDA multiplies by its reciprocal, in the larger type of float and that of the
 * values. */
bool fake_multiplies(const fake_rules *rules, const fake_call *call, uint64_t *stack)
{
    enum { VALUES, DIVISOR };
    int32_t dtype = -1;
    void *data = NULL;
    stk__torch_handle reciprocal = NULL;
    if (strcmp(call->name, "aten::div") != 0 || !call->gpus || call->host_argument != DIVISOR) return false;
    rules->real->aoti_torch_get_dtype(handle_at(stack[VALUES]), &dtype);
    rules->real->aoti_torch_get_data_ptr(handle_at(stack[DIVISOR]), &data);
    const double divisor = *(const double *)data; /* numbers of the engine's are f64 */
    rules->real->aoti_torch_scalar_to_tensor_float64(
        dtype == rules->real->aoti_torch_dtype_float64() ? 1 / divisor : (double)(1 / (float)divisor),
        &reciprocal);
    rules->real->aoti_torch_delete_tensor_object(handle_at(stack[DIVISOR]));
    stack[DIVISOR] = (uint64_t)(uintptr_t)reciprocal;
    return true;
}

int32_t fake_convolve(const fake_rules *rules, uint64_t *stack, uint64_t version)
{
    enum { X, WEIGHT, PAD, STRIDE, DILATION, GROUPS, Y = 9 };
    const stk__torch_api *real = rules->real;
    void *none = NULL;
    real->torch_new_list_reserve_size(2, &none);
    for (int i = 0; i < 2; i++)
        real->torch_list_push_back(none, 0);
    uint64_t plain[] = {stack[X],     stack[WEIGHT],   0, stack[STRIDE],
                        stack[PAD],   stack[DILATION], 0, (uint64_t)(uintptr_t)none,
                        stack[GROUPS]};
    if (real->torch_call_dispatcher("aten::convolution", "", plain, version)) return 1;
    uint64_t copy[] = {stack[Y], plain[0], 0};
    if (real->torch_call_dispatcher("aten::copy_", "", copy, version)) return 1;
    stack[0] = copy[0];
    return 0;
}

bool fake_has_wrong(const char *part)
{
    const char *wrong = getenv("STOKER_FAKE_TORCH_WRONG");
    return wrong && strcmp(wrong, part) == 0;
}

/* Batch norm with another eps, where it goes by running statistics. Places are those of PyTorch's signatures.
 */
void fake_spoil_norm(const char *name, uint64_t *stack)
{
    const bool forward = strcmp(name, "aten::native_batch_norm") == 0 && fake_has_wrong("evaluation"),
               backward = strcmp(name, "aten::native_batch_norm_backward") == 0 && fake_has_wrong("frozen");
    const double eps = 100;
    if (forward && !stack[5]) memcpy(&stack[7], &eps, sizeof eps);
    if (backward && !stack[7]) memcpy(&stack[8], &eps, sizeof eps);
}
