/* SPDX-License-Identifier: Apache-2.0 */
/* Single operations, their gradients, losses and metrics against PyTorch (write_ops.py):
 *
 *     test_golden_ops FOLDER ENGINE
 *
 * Bound: 1e-5 relative L2 of each tensor; float32 sums in another order differ by some 1e-6. */
#include "golden_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static const char *folder, *engine_name;
static stk__engine *engine;
static golden_file golden;
static golden_shelf shelf;
static golden_tally outputs = {.kind = "y", .bound = 1e-5}, inputs = {.kind = "dx", .bound = 1e-5},
                    params = {.kind = "dparam", .bound = 1e-5}, buffers = {.kind = "buffer", .bound = 1e-5};

static int open_engine(void **state)
{
    (void)state;
    engine = golden_engine_open(engine_name);
    golden_open(&golden, folder, "ops");
    golden_shelf_init(&shelf, engine);
    return 0;
}

static int close_engine(void **state)
{
    (void)state;
    golden_shelf_fini(&shelf);
    golden_close(&golden);
    stk__engine_close(&engine);
    return 0;
}

static void read_pair(const json_t *json, const char *key, int32_t pair[2])
{
    const json_t *array = json_object_get(json, key);
    for (size_t i = 0; i < 2 && array; i++)
        pair[i] = (int32_t)json_integer_value(json_array_get(array, i));
}

static stk__op_spec read_spec(const json_t *json, const char *name)
{
    stk__op_spec spec = {.kind = stk__op_find(json_string_value(json_object_get(json, "kind"))),
                         .inputs = (int)golden_number(json, "inputs", 1),
                         .channels = (int64_t)golden_number(json, "channels", 0),
                         .groups = (int32_t)golden_number(json, "groups", 0),
                         .no_bias = golden_number(json, "no_bias", 0) != 0,
                         .eps = golden_number(json, "eps", 0),
                         .momentum = golden_number(json, "momentum", 0),
                         .drop = golden_number(json, "drop", 0),
                         .hidden = (int64_t)golden_number(json, "hidden", 0),
                         .layers = (int32_t)golden_number(json, "layers", 0),
                         .last = golden_number(json, "last", 0) != 0,
                         .resize = json_object_get(json, "resize") ? STK_RESIZE_NEAREST : STK_RESIZE_BILINEAR,
                         .ignore_index = (int64_t)golden_number(json, "ignore_index", 0),
                         .ignores = json_object_get(json, "ignore_index") != NULL,
                         .label_smoothing = golden_number(json, "label_smoothing", 0)};
    assert_true(spec.kind != STK_OP_COUNT);
    read_pair(json, "kernel", spec.kernel);
    read_pair(json, "stride", spec.stride);
    read_pair(json, "pad", spec.pad);
    read_pair(json, "dilation", spec.dilation);
    read_pair(json, "size", spec.size);
    read_pair(json, "scale", spec.scale);
    read_pair(json, "image_size", spec.image_size);
    for (int i = 0; i < spec.inputs; i++) {
        const stk__safetensor *x = golden_find(&golden, "%s.x%d", name, i);
        if (x) spec.input[i] = x->shape;
    }
    return spec;
}

/* The tensors of one case; io points into it. */
typedef struct bench {
    const char *name;
    const json_t *json;
    stk__op *op;
    stk__tensor *x[STK_OP_INPUTS], *dx[STK_OP_INPUTS];
    stk__tensor *param[STK_OP_PARAMS], *dparam[STK_OP_PARAMS], *buffer[STK_OP_BUFFERS];
    stk__op_io io;
} bench;

static void lay_out_layer(bench *b)
{
    const stk__op_form *form = &b->op->form;
    for (int i = 0; i < form->param_count; i++) {
        b->param[i] =
            golden_read(&shelf, &golden, golden_find(&golden, "%s.param.%s", b->name, form->param[i].name));
        if (!b->param[i]) fail_msg("%s: PyTorch has no parameter '%s'", b->name, form->param[i].name);
        assert_true(stk__shape_equal(&form->param[i].shape, &stk__tensor_describe(b->param[i])->shape));
        if (golden_find(&golden, "%s.dparam.%s", b->name, form->param[i].name))
            b->dparam[i] = golden_make(&shelf, &form->param[i].shape, STK_DTYPE_F32);
    }
    for (int i = 0; i < form->buffer_count; i++) {
        b->buffer[i] =
            golden_read(&shelf, &golden, golden_find(&golden, "%s.buffer.%s", b->name, form->buffer[i].name));
        if (!b->buffer[i]) fail_msg("%s: PyTorch has no buffer '%s'", b->name, form->buffer[i].name);
    }
}

static void lay_out(bench *b)
{
    stk_error error = {0};
    const stk__op_form *form = &b->op->form;
    const bool sums = stk__op_is_loss(b->op->spec.kind) || stk__op_is_metric(b->op->spec.kind);
    for (int i = 0; i < b->op->spec.inputs; i++) {
        b->x[i] = golden_read(&shelf, &golden, golden_find(&golden, "%s.x%d", b->name, i));
        if (golden_find(&golden, "%s.dx%d", b->name, i))
            b->dx[i] = golden_make(&shelf, &b->op->spec.input[i], STK_DTYPE_F32);
    }
    lay_out_layer(b);
    const stk__op_needs needs = stk__op_memory(b->op);
    b->io = (stk__op_io){.x = b->x,
                         .y = golden_make(&shelf, &form->output, form->output_dtype),
                         .param = form->param_count ? b->param : NULL,
                         .buffer = form->buffer_count ? b->buffer : NULL,
                         .saved = golden_make_bytes(&shelf, needs.saved_bytes),
                         .scratch = golden_make_bytes(&shelf, needs.scratch_bytes),
                         .dx = b->dx,
                         .dy = golden_read(&shelf, &golden, golden_find(&golden, "%s.dy", b->name)),
                         .dparam = form->param_count ? b->dparam : NULL,
                         .training = golden_number(b->json, "training", 1) != 0,
                         .grad_scale = golden_number(b->json, "grad_scale", 1)};
    if (sums) GOLDEN_TRY(stk__tensor_zero(b->io.y, &error));
}

static void compare_layer(bench *b)
{
    const stk__op_form *form = &b->op->form;
    for (int i = 0; i < form->buffer_count; i++)
        golden_compare(&buffers, b->buffer[i], &golden,
                       golden_find(&golden, "%s.after.%s", b->name, form->buffer[i].name));
    for (int i = 0; i < form->param_count; i++)
        if (b->dparam[i])
            golden_compare(&params, b->dparam[i], &golden,
                           golden_find(&golden, "%s.dparam.%s", b->name, form->param[i].name));
}

static void run_case(const json_t *json)
{
    stk_error error = {0};
    bench b = {.name = json_string_value(json_object_get(json, "name")), .json = json};
    const stk__op_spec spec = read_spec(json, b.name);
    golden_must(stk__op_create(engine, &spec, &b.op, &error), &error, b.name);
    lay_out(&b);
    golden_must(stk__op_forward(b.op, &b.io, &error), &error, b.name);
    golden_compare(&outputs, b.io.y, &golden, golden_find(&golden, "%s.y", b.name));
    if (b.io.dy) golden_must(stk__op_backward(b.op, &b.io, &error), &error, b.name);
    for (int i = 0; i < spec.inputs; i++)
        if (b.dx[i]) golden_compare(&inputs, b.dx[i], &golden, golden_find(&golden, "%s.dx%d", b.name, i));
    compare_layer(&b);
    stk__op_destroy(&b.op);
    golden_shelf_clear(&shelf);
}

static void operations_agree_with_torch(void **state)
{
    (void)state;
    const json_t *cases = json_object_get(golden.about, "cases");
    assert_true(json_array_size(cases) > 80);
    for (size_t i = 0; i < json_array_size(cases); i++)
        run_case(json_array_get(cases, i));
    print_message("%s beside %s\n", engine_name, json_string_value(json_object_get(golden.about, "made_by")));
    golden_print(&outputs);
    golden_print(&inputs);
    golden_print(&params);
    golden_print(&buffers);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(operations_agree_with_torch)};
    if (argc != 3) return fputs("usage: test_golden_ops FOLDER ENGINE\n", stderr), 2;
    folder = argv[1];
    engine_name = argv[2];
    if (!golden_engine_is_here(engine_name)) return GOLDEN_SKIPPED;
    return cmocka_run_group_tests(tests, open_engine, close_engine);
}
