/* SPDX-License-Identifier: Apache-2.0 */
/* The dry CUDA itself (tests/fake/cudart), by PyTorch's own library: graphs, and what cuDNN has beside the
 * convolutions of its graph interface. */
#include "dry_engine.h"
#include "engine/torch/torch_call.h"

/* --- graphs -------------------------------------------------------------------------------------------- */

/* Calls of the dry runtime and of PyTorch. */
typedef struct graph_calls {
    int (*create)(void **stream, unsigned flags), (*destroy)(void *stream);
    int (*begin)(void *stream, int mode), (*end)(void *stream, void **graph);
    int (*instantiate)(void **exec, void *graph, unsigned long long flags),
        (*launch)(void *exec, void *stream);
    int (*wait)(void *stream), (*last_error)(void);
    int32_t (*guard)(void *stream, int32_t device, void **guard), (*unguard)(void *guard);
} graph_calls;

enum { STREAM_NON_BLOCKING = 1, CAPTURE_THREAD = 1, CAPTURE_UNSUPPORTED = 900, CAPTURE_INVALIDATED = 901 };

static void find_calls(graph_calls *calls)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/libtorch_cuda.so", getenv("STOKER_TORCH"));
    void *runtime = dlopen(getenv("STOKER_DRY_LIBRARY"), RTLD_NOW | RTLD_LOCAL);
    void *torch = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const struct {
        void *library;
        const char *name;
        void *member;
    } all[] = {{runtime, "cudaStreamCreateWithFlags", &calls->create},
               {runtime, "cudaStreamDestroy", &calls->destroy},
               {runtime, "cudaStreamBeginCapture", &calls->begin},
               {runtime, "cudaStreamEndCapture", &calls->end},
               {runtime, "cudaGraphInstantiate", &calls->instantiate},
               {runtime, "cudaGraphLaunch", &calls->launch},
               {runtime, "cudaStreamSynchronize", &calls->wait},
               {runtime, "cudaGetLastError", &calls->last_error},
               {torch, "aoti_torch_create_cuda_stream_guard", &calls->guard},
               {torch, "aoti_torch_delete_cuda_stream_guard", &calls->unguard}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        void *symbol = dlsym(all[i].library, all[i].name);
        assert_non_null(symbol);
        memcpy(all[i].member, &symbol, sizeof symbol);
    }
}

static void run_passes(const op_rig *rig)
{
    stk_error error = {0};
    const stk__op_io io = op_rig_io(rig);
    if (stk__op_forward(rig->op, &io, &error) != STK_OK) fail_msg("%s", error.message);
    if (stk__op_is_loss(rig->trial->spec.kind)) return;
    if (stk__op_backward(rig->op, &io, &error) != STK_OK) fail_msg("%s", error.message);
}

/* What is the same in an eager step and in a graph of it. */
typedef struct graph_content {
    int64_t launches, products, convolutions, copies, memsets;
} graph_content;

static graph_content content_since(const dry_counts *before)
{
    dry_counts now;
    dry_engine_counts(&now);
    return (graph_content){now.launches - before->launches, now.products - before->products,
                           now.conv_forward + now.conv_backward_data + now.conv_backward_filter -
                               before->conv_forward - before->conv_backward_data -
                               before->conv_backward_filter,
                           now.copies_within - before->copies_within, now.memsets - before->memsets};
}

static void compare_graph(const graph_calls *calls, const op_rig *rig, void *stream)
{
    dry_counts before;
    void *graph, *exec;
    run_passes(rig); /* PyTorch gets the memory that it needs */
    dry_engine_counts(&before);
    run_passes(rig);
    const graph_content eager = content_since(&before);
    assert_true(eager.launches + eager.products + eager.convolutions > 0);
    dry_engine_counts(&before);
    assert_int_equal(calls->begin(stream, CAPTURE_THREAD), 0);
    run_passes(rig);
    assert_int_equal(calls->end(stream, &graph), 0);
    const graph_content captured = content_since(&before), nothing = {0};
    assert_memory_equal(&captured, &nothing, sizeof nothing);
    assert_int_equal(calls->instantiate(&exec, graph, 0), 0);
    for (int i = 0; i < 2; i++) {
        dry_engine_counts(&before);
        assert_int_equal(calls->launch(exec, stream), 0);
        const graph_content launched = content_since(&before);
        assert_memory_equal(&launched, &eager, sizeof eager);
    }
}

/* An engine on a stream of its own, which PyTorch is told to use. */
static void graphs_launch_what_steps_launch(void **state)
{
    static const stk__op_kind kinds[] = {STK_OP_CONV, STK_OP_BATCH_NORM, STK_OP_LINEAR, STK_OP_MAX_POOL,
                                         STK_OP_CROSS_ENTROPY};
    static op_trial trial;
    graph_calls calls;
    void *stream, *guard;
    stk__engine *engine;
    (void)state;
    find_calls(&calls);
    assert_int_equal(calls.create(&stream, STREAM_NON_BLOCKING), 0);
    assert_int_equal(calls.guard(stream, 0, &guard), 0);
    assert_int_equal(
        stk__engine_open(&engine, &(stk__engine_options){.name = "torch", .device = "cuda:0"}, NULL), STK_OK);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        op_rig rig;
        op_trial_random(&trial, kinds[i], 1, false);
        op_rig_open(&rig, engine, &trial);
        op_rig_load(&rig);
        compare_graph(&calls, &rig, stream);
        op_rig_close(&rig);
    }
    stk__engine_close(&engine);
    calls.unguard(guard);
    assert_int_equal(calls.destroy(stream), 0);
}

static void nobody_waits_while_captured(void **state)
{
    graph_calls calls;
    void *stream, *graph;
    (void)state;
    find_calls(&calls);
    assert_int_equal(calls.begin(NULL, CAPTURE_THREAD), CAPTURE_UNSUPPORTED); /* the default stream */
    assert_int_equal(calls.create(&stream, STREAM_NON_BLOCKING), 0);
    assert_int_equal(calls.begin(stream, CAPTURE_THREAD), 0);
    assert_int_equal(calls.wait(stream), CAPTURE_UNSUPPORTED);
    assert_int_equal(calls.end(stream, &graph), CAPTURE_INVALIDATED);
    assert_null(graph);
    assert_int_equal(calls.destroy(stream), 0);
    assert_int_equal(calls.last_error(),
                     CAPTURE_INVALIDATED); /* PyTorch would find it after its next kernel */
}

/* --- cuDNN --------------------------------------------------------------------------------------------- */

enum { MADE = 16 };

/* Tensors of f32 in an arena. */
typedef struct shelf {
    stk__arena *arena;
    stk__tensor *made[MADE];
    size_t used_bytes;
    int count;
} shelf;

static void open_shelf(shelf *s)
{
    *s = (shelf){0};
    assert_int_equal(stk__arena_create(dry_engine, 1 << 22, &s->arena, NULL), STK_OK);
}

static void close_shelf(shelf *s)
{
    for (int i = 0; i < s->count; i++)
        stk__tensor_destroy(&s->made[i]);
    stk__arena_destroy(&s->arena);
}

static stk__torch_handle put(shelf *s, stk__torch_scope *scope, stk__shape shape)
{
    const stk__tensor_desc desc = {.shape = shape, .dtype = STK_DTYPE_F32};
    stk__tensor **made = &s->made[s->count++];
    assert_int_equal(stk__tensor_create(dry_engine, &desc, s->arena, s->used_bytes, made, NULL), STK_OK);
    s->used_bytes += stk__tensor_size(dry_engine, &desc);
    return stk__torch_dense(scope, *made);
}

static void finish(stk__torch_scope *scope, const stk_error *error)
{
    if (stk__torch_end(scope) != STK_OK) fail_msg("%s", error->message);
}

/* PyTorch puts the weights where cuDNN says. */
static void recurrent_layers_are_cudnns(void **state)
{
    enum { BATCH = 4, STEPS = 6, FEATURES = 3, HIDDEN = 8, LAYERS = 2, GATES = 4 * HIDDEN };
    dry_counts before, now;
    stk_error error = {0};
    stk__torch_handle params[4 * LAYERS], hx[2];
    shelf s;
    (void)state;
    open_shelf(&s);
    stk__torch_scope scope = stk__torch_begin(dry_engine, &error);
    const stk__torch_handle x = put(&s, &scope, (stk__shape){3, {BATCH, STEPS, FEATURES}});
    for (int i = 0; i < 2; i++)
        hx[i] = put(&s, &scope, (stk__shape){3, {LAYERS, BATCH, HIDDEN}});
    for (int i = 0; i < LAYERS; i++) {
        params[4 * i] = put(&s, &scope, (stk__shape){2, {GATES, i ? HIDDEN : FEATURES}});
        params[4 * i + 1] = put(&s, &scope, (stk__shape){2, {GATES, HIDDEN}});
        params[4 * i + 2] = put(&s, &scope, (stk__shape){1, {GATES}});
        params[4 * i + 3] = put(&s, &scope, (stk__shape){1, {GATES}});
    }
    dry_engine_counts(&before);
    stk__torch_call(&scope,
                    STK_TORCH_REQUEST("aten::lstm", "input", 3, STK_TORCH_T(x), STK_TORCH_LIST(hx, 2),
                                      STK_TORCH_LIST(params, 4 * LAYERS), STK_TORCH_I(1), STK_TORCH_I(LAYERS),
                                      STK_TORCH_F(0), STK_TORCH_I(1), STK_TORCH_I(0), STK_TORCH_I(1)));
    finish(&scope, &error);
    dry_engine_counts(&now);
    assert_int_equal(now.recurrents - before.recurrents, 1);
    assert_int_equal(now.missing - before.missing, 0);
    close_shelf(&s);
}

static void norms_are_cudnns(void **state)
{
    enum { C = 5 };
    dry_counts before, now;
    stk_error error = {0};
    stk__torch_handle row[4];
    shelf s;
    (void)state;
    open_shelf(&s);
    stk__torch_scope scope = stk__torch_begin(dry_engine, &error);
    const stk__torch_handle x = put(&s, &scope, (stk__shape){4, {2, C, 6, 6}});
    for (int i = 0; i < 4; i++)
        row[i] = put(&s, &scope, (stk__shape){1, {C}});
    dry_engine_counts(&before);
    for (int training = 0; training < 2; training++)
        STK_TORCH_RUN(&scope, "aten::batch_norm", "", STK_TORCH_T(x), STK_TORCH_T_OR_NONE(row[0]),
                      STK_TORCH_T_OR_NONE(row[1]), STK_TORCH_T_OR_NONE(row[2]), STK_TORCH_T_OR_NONE(row[3]),
                      STK_TORCH_I(training), STK_TORCH_F(0.1), STK_TORCH_F(1e-5), STK_TORCH_I(1));
    finish(&scope, &error);
    dry_engine_counts(&now);
    assert_int_equal(now.missing - before.missing, 0);
    assert_true(now.norms - before.norms >= 1);
    close_shelf(&s);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(graphs_launch_what_steps_launch),
        cmocka_unit_test(nobody_waits_while_captured),
        cmocka_unit_test(recurrent_layers_are_cudnns),
        cmocka_unit_test(norms_are_cudnns),
    };
    const int status = dry_engine_open("cuda:0");
    if (status) return status;
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    stk__engine_close(&dry_engine);
    return failed;
}
