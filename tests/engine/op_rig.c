/* SPDX-License-Identifier: Apache-2.0 */
/* One operation of one engine with all its tensors for one trial: guards around each tensor, NaN in
 * everything that must not be read, and a count of allocations (there must be none while it runs). */
#include "op_rig.h"

#include "core/half.h"
#include "stoker/runtime.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>

enum { ALIGN = 64, GUARD_BYTES = 64, RUBBISH = 0xff }; /* four of them are not a number */

static long allocations;
static bool refuses;

static void *count_alloc(void *context, size_t size_bytes)
{
    (void)context;
    allocations++;
    return refuses ? NULL : aligned_alloc(ALIGN, (size_bytes + ALIGN - 1) / ALIGN * ALIGN);
}

static void count_release(void *context, void *memory, size_t size_bytes)
{
    (void)context, (void)size_bytes;
    free(memory);
}

static void *count_map(void *context, size_t size_bytes)
{
    (void)context;
    allocations++;
    void *memory = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static void count_unmap(void *context, void *memory, size_t size_bytes)
{
    (void)context;
    munmap(memory, size_bytes);
}

long rig_allocations(void)
{
    return allocations;
}

void rig_refuse_allocations(bool refuse)
{
    refuses = refuse;
}

void rig_count_allocations(void)
{
    static const stk_allocator hook = {count_alloc, count_release, count_map, count_unmap, NULL};
    stk_allocator_set(&hook);
}

static void expect_ok(stk_status status, const stk_error *error)
{
    if (status != STK_OK) fail_msg("%s: %s", stk_status_name(status), error->message);
}

void rig_write(stk__tensor *tensor, const sheet *from)
{
    stk_error error = {0};
    stk_tensor view;
    expect_ok(stk__tensor_map(tensor, &view, &error), &error);
    for (int64_t i = 0; i < from->count; i++) {
        const double value = from->value[i];
        if (from->dtype == STK_DTYPE_F32) ((float *)view.data)[i] = (float)value;
        if (from->dtype == STK_DTYPE_F64) ((double *)view.data)[i] = value;
        if (from->dtype == STK_DTYPE_I64) ((int64_t *)view.data)[i] = (int64_t)value;
        if (from->dtype == STK_DTYPE_U8) ((uint8_t *)view.data)[i] = (uint8_t)value;
        if (from->dtype == STK_DTYPE_F16) ((uint16_t *)view.data)[i] = stk__half_from_float((float)value);
        if (from->dtype == STK_DTYPE_BF16) ((uint16_t *)view.data)[i] = stk__bfloat_from_float((float)value);
    }
    expect_ok(stk__tensor_unmap(tensor, &view, true, &error), &error);
}

void rig_read(stk__tensor *tensor, sheet *to)
{
    stk_error error = {0};
    stk_tensor view;
    expect_ok(stk__tensor_map(tensor, &view, &error), &error);
    for (int64_t i = 0; i < to->count; i++) {
        if (to->dtype == STK_DTYPE_F32) to->value[i] = ((const float *)view.data)[i];
        if (to->dtype == STK_DTYPE_F64) to->value[i] = ((const double *)view.data)[i];
        if (to->dtype == STK_DTYPE_I64) to->value[i] = (double)((const int64_t *)view.data)[i];
        if (to->dtype == STK_DTYPE_F16) to->value[i] = stk__half_to_float(((const uint16_t *)view.data)[i]);
        if (to->dtype == STK_DTYPE_BF16)
            to->value[i] = stk__bfloat_to_float(((const uint16_t *)view.data)[i]);
    }
    expect_ok(stk__tensor_unmap(tensor, &view, false, &error), &error);
}

static void fill_bytes(stk__tensor *tensor, int byte)
{
    stk_error error = {0};
    stk_tensor view;
    if (!tensor) return;
    expect_ok(stk__tensor_map(tensor, &view, &error), &error);
    memset(view.data, byte, (size_t)stk_tensor_bytes(&view));
    expect_ok(stk__tensor_unmap(tensor, &view, true, &error), &error);
}

static stk__tensor *place(op_rig *rig, const stk__tensor_desc *desc)
{
    stk_error error = {0};
    stk__tensor *tensor;
    expect_ok(stk__tensor_create(rig->engine, desc, rig->arena, rig->used_bytes, &tensor, &error), &error);
    assert_true(rig->made_count < RIG_TENSORS);
    rig->used_bytes += stk__tensor_size(rig->engine, desc);
    return rig->made[rig->made_count++] = tensor;
}

/* A tensor and a guard behind it. */
static stk__tensor *make_guarded(op_rig *rig, const stk__tensor_desc *desc)
{
    stk__tensor *tensor = place(rig, desc);
    rig->guard[rig->guard_count++] =
        place(rig, &(stk__tensor_desc){.shape = {1, {GUARD_BYTES}}, .dtype = STK_DTYPE_U8});
    return tensor;
}

/* Absent for an absent sheet. */
static stk__tensor *make(op_rig *rig, const sheet *like)
{
    if (!like->value) return NULL;
    return make_guarded(rig, &(stk__tensor_desc){.shape = like->shape, .dtype = like->dtype});
}

/* As a model has it: in the layout that the engine likes. */
static stk__tensor *make_param(op_rig *rig, int param, const sheet *like)
{
    const stk__tensor_desc desc = stk__param_desc(rig->engine, &rig->trial->form.param[param]);
    return like->value ? make_guarded(rig, &desc) : NULL;
}

static stk__tensor *make_bytes(op_rig *rig, size_t size_bytes)
{
    const sheet like = {{1, {(int64_t)size_bytes}}, STK_DTYPE_U8, 0, &(double){0}};
    return size_bytes ? make(rig, &like) : NULL;
}

/* Every sheet at most twice (value and gradient), rounded up, with its guard. */
static size_t room_for(const op_trial *t, const stk__op_needs *needs)
{
    int64_t values = t->y.count + t->dy.count + t->sample_ids.count;
    for (int i = 0; i < STK_OP_INPUTS; i++)
        values += 2 * t->x[i].count;
    for (int i = 0; i < STK_OP_PARAMS; i++)
        values += 2 * t->param[i].count;
    for (int i = 0; i < STK_OP_BUFFERS; i++)
        values += t->buffer[i].count;
    return (size_t)values * 8 + needs->saved_bytes + needs->scratch_bytes +
           (size_t)RIG_TENSORS * (ALIGN + GUARD_BYTES);
}

static void make_tensors(op_rig *rig)
{
    const op_trial *t = rig->trial;
    const stk__op_needs needs = stk__op_memory(rig->op);
    op_result wanted; /* says which gradients there are */
    op_result_make(&wanted, t);
    for (int i = 0; i < STK_OP_INPUTS; i++)
        rig->x[i] = make(rig, &t->x[i]);
    rig->y = t->flags.in_place ? rig->x[0] : make(rig, &t->y);
    rig->dy = make(rig, &t->dy);
    for (int i = 0; i < STK_OP_INPUTS; i++)
        rig->dx[i] = i == 0 && t->flags.gradient_in_place ? rig->dy : make(rig, &wanted.dx[i]);
    for (int i = 0; i < t->form.param_count; i++) {
        rig->param[i] = make_param(rig, i, &t->param[i]);
        rig->dparam[i] = make_param(rig, i, &wanted.dparam[i]);
    }
    for (int i = 0; i < t->form.buffer_count; i++)
        rig->buffer[i] = make(rig, &t->buffer[i]);
    rig->saved = make_bytes(rig, needs.saved_bytes);
    rig->scratch = make_bytes(rig, needs.scratch_bytes);
    rig->sample_ids = make(rig, &t->sample_ids);
}

void op_rig_open(op_rig *rig, stk__engine *engine, const op_trial *trial)
{
    stk_error error = {0};
    *rig = (op_rig){.trial = trial, .engine = engine};
    expect_ok(stk__op_create(engine, &trial->spec, &rig->op, &error), &error);
    const stk__op_needs needs = stk__op_memory(rig->op);
    expect_ok(stk__arena_create(engine, room_for(trial, &needs), &rig->arena, &error), &error);
    make_tensors(rig);
}

void op_rig_close(op_rig *rig)
{
    for (int i = 0; i < rig->made_count; i++)
        stk__tensor_destroy(&rig->made[i]);
    stk__op_destroy(&rig->op);
    stk__arena_destroy(&rig->arena);
}

void op_rig_load(op_rig *rig)
{
    const op_trial *t = rig->trial;
    fill_bytes(rig->saved, RUBBISH);
    fill_bytes(rig->scratch, RUBBISH);
    fill_bytes(rig->y, RUBBISH);
    for (int i = 0; i < rig->guard_count; i++)
        fill_bytes(rig->guard[i], i);
    for (int i = 0; i < STK_OP_INPUTS; i++) {
        fill_bytes(rig->dx[i], RUBBISH);
        if (rig->x[i]) rig_write(rig->x[i], &t->x[i]);
    }
    if (rig->dy) rig_write(rig->dy, &t->dy);
    for (int i = 0; i < t->form.param_count; i++) {
        rig_write(rig->param[i], &t->param[i]);
        fill_bytes(rig->dparam[i], RUBBISH);
        if (rig->dparam[i] && t->flags.add_dparam) rig_write(rig->dparam[i], &t->dparam[i]);
    }
    for (int i = 0; i < t->form.buffer_count; i++)
        rig_write(rig->buffer[i], &t->buffer[i]);
    rig_write(rig->sample_ids, &t->sample_ids);
    if (stk__op_is_loss(t->spec.kind) || stk__op_is_metric(t->spec.kind)) rig_write(rig->y, &t->y);
}

stk__op_io op_rig_io(const op_rig *rig)
{
    const op_trial *t = rig->trial;
    return (stk__op_io){.x = rig->x,
                        .y = rig->y,
                        .param = rig->param,
                        .buffer = rig->buffer,
                        .saved = rig->saved,
                        .scratch = rig->scratch,
                        .dx = rig->dx,
                        .dy = rig->dy,
                        .dparam = rig->dparam,
                        .add_dparam = t->flags.add_dparam,
                        .training = t->flags.training,
                        .again = t->flags.again,
                        .grad_scale = t->grad_scale,
                        .seed = t->seed,
                        .epoch = t->epoch,
                        .sample_ids = rig->sample_ids};
}

void op_rig_forward(op_rig *rig)
{
    stk_error error = {0};
    const stk__op_io io = op_rig_io(rig);
    const long before = allocations;
    expect_ok(stk__op_forward(rig->op, &io, &error), &error);
    assert_int_equal(allocations, before);
}

void op_rig_backward(op_rig *rig)
{
    stk_error error = {0};
    const op_trial *t = rig->trial;
    const stk__op_io io = op_rig_io(rig);
    if (stk__op_is_loss(t->spec.kind) || !t->form.has_gradient) return;
    fill_bytes(rig->scratch, RUBBISH);
    for (int i = 0; i < t->spec.inputs && !t->form.needs_x && !t->flags.in_place; i++)
        fill_bytes(rig->x[i], RUBBISH);
    if (!t->form.needs_y && !(t->flags.in_place && t->form.needs_x)) fill_bytes(rig->y, RUBBISH);
    const long before = allocations;
    expect_ok(stk__op_backward(rig->op, &io, &error), &error);
    assert_int_equal(allocations, before);
}

static void expect_guards(op_rig *rig)
{
    uint8_t bytes[GUARD_BYTES];
    for (int i = 0; i < rig->guard_count; i++) {
        stk_error error = {0};
        expect_ok(stk__tensor_read(rig->guard[i], bytes, sizeof bytes, &error), &error);
        for (int k = 0; k < GUARD_BYTES; k++)
            if (bytes[k] != i) fail_msg("something was written behind tensor %d", i);
    }
}

void op_rig_fetch(op_rig *rig, op_result *result)
{
    expect_guards(rig);
    for (int i = 0; i < STK_OP_INPUTS; i++)
        if (result->dx[i].value) rig_read(rig->dx[i], &result->dx[i]);
    for (int i = 0; i < rig->trial->form.param_count; i++)
        if (result->dparam[i].value) rig_read(rig->dparam[i], &result->dparam[i]);
    for (int i = 0; i < rig->trial->form.buffer_count; i++)
        rig_read(rig->buffer[i], &result->buffer[i]);
}

void op_rig_run(stk__engine *engine, const op_trial *trial, op_result *result)
{
    op_rig rig;
    op_rig_open(&rig, engine, trial);
    op_rig_load(&rig);
    op_rig_forward(&rig);
    rig_read(rig.y, &result->y);
    op_rig_backward(&rig);
    op_rig_fetch(&rig, result);
    op_rig_close(&rig);
}
