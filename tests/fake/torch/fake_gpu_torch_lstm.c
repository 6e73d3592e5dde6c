/* SPDX-License-Identifier: Apache-2.0 */
/* PyTorch's fused LSTM cells, which its CPU backend does not have: plain loops over f32, as the CUDA kernels
 * are documented by the modules that call them (torch.nn.LSTMCell). Gates in the order input, forget, cell,
 * output; the workspace is the gates behind their curves. What CUDA's checks refuse is refused. */
#include "fake_gpu_torch.h"

#include <math.h>
#include <string.h>

enum { ARGUMENTS = 6, RESULTS = 3 };

/* A tensor of rows [n width] in host memory. NULL data: it was not given. */
typedef struct sheet {
    stk__torch_handle handle;
    float *data;
    int64_t n, width, row, column;
} sheet;

static bool look_at(const fake_real *real, uint64_t value, sheet *s)
{
    int64_t *size = NULL, *stride = NULL, ndim = 0;
    int32_t dtype = -1;
    void *data = NULL;
    *s = (sheet){.handle = (stk__torch_handle)(uintptr_t)value}; /* NOLINT: as PyTorch has it */
    if (!value) return true;
    const bool known = real->api->aoti_torch_get_data_ptr(s->handle, &data) == 0 &&
                       real->get_dim(s->handle, &ndim) == 0 && real->get_sizes(s->handle, &size) == 0 &&
                       real->api->aoti_torch_get_strides(s->handle, &stride) == 0 &&
                       real->api->aoti_torch_get_dtype(s->handle, &dtype) == 0;
    if (!known || dtype != real->api->aoti_torch_dtype_float32() || ndim < 1 || ndim > 2) return false;
    s->data = data;
    s->n = ndim == 2 ? size[0] : 1;
    s->width = size[ndim - 1];
    s->row = ndim == 2 ? stride[0] : 0;
    s->column = stride[ndim - 1];
    return true;
}

static float at(const sheet *s, int64_t n, int64_t i)
{
    return s->data ? s->data[n * s->row + i * s->column] : 0;
}

static bool make(const fake_real *real, int64_t n, int64_t width, sheet *s)
{
    const int64_t size[] = {n, width}, stride[] = {width, 1};
    stk__torch_handle made = NULL;
    return real->api->aoti_torch_empty_strided(2, size, stride, real->api->aoti_torch_dtype_float32(),
                                               real->api->aoti_torch_device_type_cpu(), 0, &made) == 0 &&
           look_at(real, (uint64_t)(uintptr_t)made, s);
}

static bool is(const sheet *s, int64_t n, int64_t width)
{
    return s->data && s->n == n && s->width == width;
}

static float sigmoid(float x)
{
    return 1 / (1 + expf(-x));
}

/* arg: input_gates, hidden_gates, cx, input_bias, hidden_bias; made: hy, cy, workspace */
static const char *run_forward(const fake_real *real, const sheet *arg, sheet *made)
{
    const int64_t n = arg[2].n, h = arg[2].width;
    if (!is(&arg[0], n, 4 * h) || !is(&arg[1], n, 4 * h)) return "gates must be four times the hidden size";
    if (!arg[3].data != !arg[4].data || (arg[3].data && (arg[3].width != 4 * h || arg[4].width != 4 * h)))
        return "Both or none of the biases must be given, of the gates' size";
    if (!make(real, n, h, &made[0]) || !make(real, n, h, &made[1]) || !make(real, n, 4 * h, &made[2]))
        return "no memory";
    for (int64_t i = 0; i < n * h; i++) {
        const int64_t row = i / h, column = i % h;
        float gate[4];
        for (int64_t k = 0; k < 4; k++) {
            const int64_t c = k * h + column;
            const float sum =
                at(&arg[0], row, c) + at(&arg[1], row, c) + at(&arg[3], 0, c) + at(&arg[4], 0, c);
            gate[k] = k == 2 ? tanhf(sum) : sigmoid(sum);
            made[2].data[row * 4 * h + c] = gate[k];
        }
        made[1].data[i] = gate[1] * at(&arg[2], row, column) + gate[0] * gate[2];
        made[0].data[i] = gate[3] * tanhf(made[1].data[i]);
    }
    return NULL;
}

/* arg: grad_hy, grad_cy, cx, cy, workspace; made: grad_gates, grad_cx, and nothing for the bias */
static const char *run_backward(const fake_real *real, const sheet *arg, sheet *made)
{
    const int64_t n = arg[2].n, h = arg[2].width;
    if (!arg[0].data && !arg[1].data) return "no gradient is given";
    if ((arg[0].data && !is(&arg[0], n, h)) || (arg[1].data && !is(&arg[1], n, h)) || !is(&arg[3], n, h) ||
        !is(&arg[4], n, 4 * h))
        return "gradients, cells and workspace must fit each other";
    if (!make(real, n, 4 * h, &made[0]) || !make(real, n, h, &made[1]) || !make(real, 1, 1, &made[2]))
        return "no memory";
    for (int64_t i = 0; i < n * h; i++) {
        const int64_t row = i / h, column = i % h;
        float *to = made[0].data + row * 4 * h + column;
        const float in = at(&arg[4], row, column), forget = at(&arg[4], row, h + column);
        const float fresh = at(&arg[4], row, 2 * h + column), out = at(&arg[4], row, 3 * h + column);
        const float bent = tanhf(at(&arg[3], row, column)), dhy = at(&arg[0], row, column);
        const float dcy = dhy * out * (1 - bent * bent) + at(&arg[1], row, column);
        to[0] = dcy * fresh * in * (1 - in);
        to[h] = dcy * at(&arg[2], row, column) * forget * (1 - forget);
        to[2 * h] = dcy * in * (1 - fresh * fresh);
        to[3 * h] = dhy * bent * out * (1 - out);
        made[1].data[i] = dcy * forget;
    }
    return NULL;
}

/* How the two are called: which arguments are optional, and come in cells. */
static const struct call {
    const char *name;
    int count;         /* tensors; what follows is no tensor */
    uint32_t optional; /* bits */
    const char *(*run)(const fake_real *real, const sheet *arg, sheet *made);
} calls[] = {{"aten::_thnn_fused_lstm_cell", 5, 1U << 3 | 1U << 4, run_forward},
             {"aten::_thnn_fused_lstm_cell_backward_impl", 5, 1U << 0 | 1U << 1, run_backward}};

static const struct call *find(const char *name)
{
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        if (strcmp(name, calls[i].name) == 0) return &calls[i];
    return NULL;
}

bool fake_has_cell(const char *name)
{
    return find(name) != NULL;
}

const char *fake_run_cell(const fake_real *real, const char *name, uint64_t *stack)
{
    const struct call *call = find(name);
    sheet arg[ARGUMENTS] = {0}, made[RESULTS] = {0};
    const char *why = NULL;
    for (int i = 0; i < call->count; i++) {
        uint64_t value = stack[i];
        if (call->optional >> i & 1 && value) {
            uint64_t *cell = (uint64_t *)(uintptr_t)value; /* NOLINT: as PyTorch has it */
            value = *cell;
            real->api->operator_delete(cell);
        }
        if (!look_at(real, value, &arg[i])) why = "expected tensors of float32 with one or two dimensions";
    }
    if (!why) why = call->run(real, arg, made);
    for (int i = 0; i < call->count; i++)
        if (arg[i].handle) real->api->aoti_torch_delete_tensor_object(arg[i].handle);
    for (int i = 0; i < RESULTS; i++) {
        if (why && made[i].handle) real->api->aoti_torch_delete_tensor_object(made[i].handle);
        stack[i] = (uint64_t)(uintptr_t)made[i].handle;
    }
    return why;
}
