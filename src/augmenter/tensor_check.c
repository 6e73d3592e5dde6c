/* SPDX-License-Identifier: Apache-2.0 */
/* Is a caller's tensor what it must be? Place, type, shape, strides, alignment, in this order; sizes are
 * multiplied with care, because strides may be anything. Pure functions: any thread. */
#include "augmenter/tensor_check.h"

#include <stdio.h>
#include <string.h>

#define MOST_BYTES (INT64_C(1) << 46) /* of a tensor: addresses have as many bits */

static const char *const dtype_names[] = {"none", "u8", "i64", "f16", "bf16", "f32", "f64"};
enum { DTYPES = sizeof dtype_names / sizeof dtype_names[0], TEXT_BYTES = 96 };

static const char *name_dtype(stk_dtype dtype)
{
    return (unsigned)dtype < DTYPES ? dtype_names[dtype] : "unknown";
}

/* "io.image_list[3]" */
static void print_name(const stk__tensor_rule *rule, char *text)
{
    if (rule->item < 0)
        snprintf(text, TEXT_BYTES, "%s", rule->name);
    else
        snprintf(text, TEXT_BYTES, "%s[%lld]", rule->name, (long long)rule->item);
}

/* "u8 or f32" */
static void print_dtypes(unsigned dtypes, char *text)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 1; i < DTYPES; i++)
        if (dtypes >> i & 1)
            used +=
                (size_t)snprintf(text + used, TEXT_BYTES - used, "%s%s", used ? " or " : "", dtype_names[i]);
}

/* "[8 32 32 3]"; or what a rule wants, where 0 is any length: "[8 ? 32 32]". */
static void print_shape(const int64_t *shape, int ndim, bool wanted, char *text)
{
    size_t used = (size_t)snprintf(text, TEXT_BYTES, "[");
    for (int i = 0; i < ndim && used < TEXT_BYTES; i++) {
        const char *gap = i ? " " : "";
        const int more = wanted && !shape[i]
                             ? snprintf(text + used, TEXT_BYTES - used, "%s?", gap)
                             : snprintf(text + used, TEXT_BYTES - used, "%s%lld", gap, (long long)shape[i]);
        used += (size_t)more;
    }
    if (used < TEXT_BYTES) snprintf(text + used, TEXT_BYTES - used, "]");
}

static stk_status check_device(const stk_tensor *tensor, const stk__tensor_rule *rule, const char *name,
                               stk_error *error)
{
    if (tensor->device == STK_DEVICE_CPU) return STK_OK;
    if (tensor->device == STK_DEVICE_CUDA && rule->cuda_index >= 0) {
        if (tensor->device_index == rule->cuda_index) return STK_OK;
        return stk__fail(error, STK_ERROR_ARGUMENT,
                         "%s is in the memory of cuda:%d, but options.device is cuda:%d", name,
                         tensor->device_index, rule->cuda_index);
    }
    stk__fail(error, STK_ERROR_UNSUPPORTED, "%s is in the memory of a device; it must be in host memory",
              name);
    stk__error_hint(error, "only images and masks, given and as results, may be in a GPU's memory, that of "
                           "options.device");
    return STK_ERROR_UNSUPPORTED;
}

static stk_status check_shape(const stk_tensor *tensor, const stk__tensor_rule *rule, const char *name,
                              stk_error *error)
{
    char wanted[TEXT_BYTES], found[TEXT_BYTES];
    bool good = tensor->ndim == rule->ndim;
    for (int i = 0; good && i < rule->ndim; i++)
        good = tensor->shape[i] >= 1 && (!rule->shape[i] || tensor->shape[i] == rule->shape[i]);
    if (good) return STK_OK;
    print_shape(rule->shape, rule->ndim, true, wanted);
    const int ndim = tensor->ndim < 0 ? 0 : tensor->ndim > STK_TENSOR_DIMS ? STK_TENSOR_DIMS : tensor->ndim;
    print_shape(tensor->shape, ndim, false, found);
    return stk__fail(error, STK_ERROR_ARGUMENT, "%s has the shape %s, not %s%s%s", name, found, wanted,
                     rule->like ? ", by " : "", rule->like ? rule->like : "");
}

/* How far the last value of an axis lies from its first, in bytes; negative: before it. False: too far. */
static bool measure_axis(const stk_tensor *tensor, int axis, int64_t *bytes)
{
    return !__builtin_mul_overflow(tensor->shape[axis] - 1, tensor->strides[axis], bytes) &&
           !__builtin_mul_overflow(*bytes, stk_dtype_bytes(tensor->dtype), bytes) && *bytes > -MOST_BYTES &&
           *bytes < MOST_BYTES;
}

static bool is_measurable(const stk_tensor *tensor)
{
    int64_t bytes = stk_dtype_bytes(tensor->dtype), reach;
    for (int i = 0; i < tensor->ndim; i++) {
        if (!measure_axis(tensor, i, &reach)) return false;
        if (__builtin_mul_overflow(bytes, tensor->shape[i], &bytes) || bytes > MOST_BYTES) return false;
    }
    return true;
}

static bool is_dense(const stk_tensor *tensor)
{
    int64_t stride = 1;
    for (int i = tensor->ndim - 1; i >= 0; i--) {
        if (tensor->shape[i] > 1 && tensor->strides[i] != stride) return false;
        stride *= tensor->shape[i];
    }
    return true;
}

stk_status stk__tensor_check(const stk_tensor *tensor, const stk__tensor_rule *rule, stk_error *error)
{
    char name[TEXT_BYTES], types[TEXT_BYTES];
    print_name(rule, name);
    STK__TRY(check_device(tensor, rule, name, error));
    if ((unsigned)tensor->dtype >= DTYPES || !(rule->dtypes >> tensor->dtype & 1)) {
        print_dtypes(rule->dtypes, types);
        return stk__fail(error, STK_ERROR_ARGUMENT, "%s has the dtype %s, not %s", name,
                         name_dtype(tensor->dtype), types);
    }
    STK__TRY(check_shape(tensor, rule, name, error));
    if (!tensor->data)
        return stk__fail(error, STK_ERROR_ARGUMENT, "%s has no memory: its data is NULL", name);
    if (!is_measurable(tensor))
        return stk__fail(error, STK_ERROR_ARGUMENT, "%s has a shape or strides beyond any memory", name);
    if (rule->dense && !is_dense(tensor)) {
        stk__fail(error, STK_ERROR_ARGUMENT, "%s is not dense: its strides leave gaps or another order",
                  name);
        stk__error_hint(error,
                        "give it memory of its own; only images, masks and their lists may have strides");
        return STK_ERROR_ARGUMENT;
    }
    if ((uintptr_t)tensor->data % (uintptr_t)stk_dtype_bytes(tensor->dtype))
        return stk__fail(error, STK_ERROR_ARGUMENT,
                         "%s is not aligned: its address is no multiple of %d bytes", name,
                         (int)stk_dtype_bytes(tensor->dtype));
    return STK_OK;
}

stk__tensor_range stk__tensor_range_of(const stk_tensor *tensor, const char *name)
{
    const uintptr_t at = (uintptr_t)tensor->data;
    stk__tensor_range range = {.name = name,
                               .device = tensor->device,
                               .device_index = tensor->device_index,
                               .first = at,
                               .end = at + (uintptr_t)stk_dtype_bytes(tensor->dtype)};
    for (int i = 0; i < tensor->ndim; i++) {
        int64_t reach = 0;
        measure_axis(tensor, i, &reach);
        if (reach < 0)
            range.first += (uintptr_t)reach;
        else
            range.end += (uintptr_t)reach;
    }
    return range;
}

bool stk__tensor_ranges_meet(const stk__tensor_range *a, const stk__tensor_range *b)
{
    return a->device == b->device && a->device_index == b->device_index && a->first < b->end &&
           b->first < a->end;
}
