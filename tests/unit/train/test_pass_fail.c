/* SPDX-License-Identifier: Apache-2.0 */
/* Passes and models that cannot be: impossible requests, engines that fail, memory that is not there. */
#include "pass_helpers.h"

#include "support/fail_alloc.h"

/* --- impossible requests -----------------------------------------------------------------------------------
 */

static void refuse(net *n, stk__pass_request request, const char *says, const char *hint)
{
    rig r;
    stk_error error = {0};
    const stk__op_spec loss = request.loss;
    rig_open(&r, &n->network, &request);
    if (loss.kind) request.loss = loss;
    assert_int_equal(rig_make(&r, &request, false, &error), STK_ERROR_CONFIG);
    assert_null(r.pass);
    if (!strstr(error.message, says)) fail_msg("%s", error.message);
    if (!strstr(error.hint, hint)) fail_msg("%s", error.hint);
    assert_int_equal(rig_make(&r, &request, false, NULL), STK_ERROR_CONFIG);
    rig_close(&r);
}

static void a_prediction_must_be_as_large_as_the_mask(void **state)
{
    (void)state;
    net n;
    net_branches(&n);
    net_op(&n, "small", STK_OP_AVG_POOL, n.network.output);
    refuse(&n, (stk__pass_request){.training = true},
           "layer 'small' predicts 4 x 4 pixels, but masks have 8 x 8", "end with a resize");
    refuse(&n, (stk__pass_request){0}, "layer 'small'", "size: [8, 8]");
    net_op(&n, "resize", STK_OP_RESIZE, n.network.output);
    stk__pass_request request = {.training = true};
    rig r;
    rig_start(&r, &n.network, &request);
    rig_step(&r);
    rig_close(&r);
}

static void something_must_be_left_to_train(void **state)
{
    (void)state;
    net n;
    net_branches(&n);
    refuse(&n, (stk__pass_request){.training = true, .freeze = "*"}, "nothing is left to train", "fewer");
    refuse(&n, (stk__pass_request){.training = true, .freeze = "stam"}, "'stam'", "'stem'");
    stk__pass_request request = {.freeze = "*"}; /* evaluation trains nothing anyway */
    rig r;
    rig_start(&r, &n.network, &request);
    rig_loss(&r);
    rig_close(&r);
}

static void a_loss_must_fit(void **state)
{
    (void)state;
    net n;
    net_branches(&n);
    refuse(&n, (stk__pass_request){.training = true, .loss = {.kind = STK_OP_MSE}},
           "mse of the prediction 'head': needs one value per sample", "");
    n.layers[0].spec.groups = 2;
    refuse(&n, (stk__pass_request){.training = true}, "layer 'stem.conv'", "");
}

/* --- an engine that fails ----------------------------------------------------------------------------------
 */

static struct {
    stk__engine_ops ops;
    int left; /* calls that still succeed */
} weak;

static stk_status weaken(stk_error *error)
{
    if (weak.left-- > 0) return STK_OK;
    stk__fail(error, STK_ERROR_UNSUPPORTED, "the engine is tired");
    stk__error_hint(error, "let it rest");
    return STK_ERROR_UNSUPPORTED;
}

static stk_status weak_op_create(stk__op *op, stk_error *error)
{
    STK__TRY(weaken(error));
    return stk__engine_reference.op_create(op, error);
}

static stk_status weak_forward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    STK__TRY(weaken(error));
    return stk__engine_reference.forward(op, io, error);
}

static stk_status weak_backward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    STK__TRY(weaken(error));
    return stk__engine_reference.backward(op, io, error);
}

static stk_status weak_add(stk__tensor *target, const stk__tensor *source, stk_error *error)
{
    STK__TRY(weaken(error));
    return stk__engine_reference.tensor_add(target, source, error);
}

static stk_status weak_copy(stk__tensor *target, const stk__tensor *source, stk_error *error)
{
    STK__TRY(weaken(error));
    return stk__engine_reference.tensor_copy(target, source, error);
}

static stk_status weak_sync(stk__engine *engine, stk_error *error) /* comes with every map */
{
    (void)engine;
    return weaken(error);
}

static stk_status weak_unmap(stk__tensor *tensor, const stk_tensor *view, bool changed, stk_error *error)
{
    (void)tensor, (void)view, (void)changed;
    return weaken(error);
}

static stk_status weak_tensor_create(stk__tensor *tensor, stk_error *error)
{
    (void)tensor;
    return weaken(error);
}

static stk_status run_once(rig *r, const stk__pass_request *request, stk_error *error)
{
    STK__TRY(rig_make(r, request, true, error));
    STK__TRY(stk__pass_forward(r->pass, &r->feed, error));
    return stk__pass_backward(r->pass, &r->feed, error);
}

/* Lets the engine's n-th call fail, for every n; returns how many there are. */
static int fail_each_call(void (*make)(net *n), bool poison)
{
    stk_status status = STK_ERROR_UNSUPPORTED;
    int n = -1;
    while (status != STK_OK) {
        net own;
        make(&own);
        stk__pass_request request = {.training = true, .poison = poison, .recompute = poison};
        rig r;
        stk_error error = {0};
        rig_open(&r, &own.network, &request);
        weak.left = ++n;
        r.engine->ops = &weak.ops;
        status = run_once(&r, &request, n % 2 ? NULL : &error);
        if (status != STK_OK) {
            assert_int_equal(status, STK_ERROR_UNSUPPORTED);
            if (n % 2 == 0) assert_non_null(strstr(error.message, "tired"));
            if (n % 2 == 0) assert_string_equal(error.hint, "let it rest");
        }
        weak.left = 0;
        rig_close(&r);
    }
    return n;
}

static void every_call_of_the_engine_may_fail(void **state)
{
    (void)state;
    weak.ops = stk__engine_reference;
    weak.ops.op_create = weak_op_create;
    weak.ops.forward = weak_forward;
    weak.ops.backward = weak_backward;
    weak.ops.tensor_add = weak_add;
    weak.ops.tensor_copy = weak_copy;
    weak.ops.tensor_create = weak_tensor_create;
    assert_true(fail_each_call(net_branches, false) > 100);
    assert_true(fail_each_call(net_odd, false) > 30);
    weak.ops.sync = weak_sync;
    weak.ops.tensor_unmap = weak_unmap;
    assert_true(fail_each_call(net_odd, true) > 100);
}

static void a_layer_that_fails_is_named(void **state)
{
    (void)state;
    net n;
    net_odd(&n);
    stk__pass_request request = {.training = true};
    rig r;
    stk_error error = {0};
    weak.ops = stk__engine_reference;
    weak.ops.op_create = weak_op_create;
    rig_open(&r, &n.network, &request);
    r.engine->ops = &weak.ops;
    weak.left = 2;
    assert_int_equal(stk__pass_create(&r.pass, &request, &error), STK_ERROR_UNSUPPORTED);
    assert_string_equal(error.message, "layer 'conv': the engine is tired");
    assert_string_equal(error.place, "hand.yaml:3");
    weak.left = 9; /* all that are used; the loss comes next */
    assert_int_equal(stk__pass_create(&r.pass, &request, &error), STK_ERROR_UNSUPPORTED);
    assert_string_equal(error.message, "cross_entropy of the prediction 'head': the engine is tired");
    rig_close(&r);
}

/* --- memory ------------------------------------------------------------------------------------------------
 */

typedef struct attempt {
    rig *r;
    stk__pass_request request;
} attempt;

static stk_status try_once(void *context, stk_error *error)
{
    const attempt *a = context;
    stk__buffer text = {0};
    stk_status status = run_once(a->r, &a->request, error);
    if (status == STK_OK) status = stk__pass_print(a->r->pass, a->request.network, 0, &text, error);
    stk__buffer_fini(&text);
    rig_unmake(a->r);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    net n;
    rig r;
    net_odd(&n);
    attempt a = {&r, {.training = true, .recompute = true}};
    rig_open(&r, &n.network, &a.request);
    assert_true(fail_alloc_each(try_once, &a) > 100);
    rig_close(&r);
}

/* Nothing small, and so many large pieces. */
typedef struct pages {
    int left, calls;
} pages;

static void *give_none(void *context, size_t size_bytes)
{
    (void)size_bytes;
    ((pages *)context)->calls++;
    return NULL;
}

static void *give_pages(void *context, size_t size_bytes)
{
    pages *p = context;
    p->calls++;
    return p->left-- > 0 ? calloc(1, size_bytes) : NULL;
}

static void *give_any(void *context, size_t size_bytes)
{
    (void)context;
    return aligned_alloc(64, (size_bytes + 63) / 64 * 64);
}

static void take(void *context, void *memory, size_t size_bytes)
{
    (void)context, (void)size_bytes;
    free(memory);
}

static void pages_may_be_refused(void **state)
{
    (void)state;
    net n;
    rig r;
    net_odd(&n);
    attempt a = {&r, {.training = true}};
    rig_open(&r, &n.network, &a.request);
    for (int given = 0; given <= 2; given++) { /* the model's and the pass's */
        pages p = {.left = given};
        const stk_allocator hook = {give_any, take, give_pages, take, &p};
        stk_error error = {0};
        stk_allocator_set(&hook);
        const stk_status status = try_once(&a, &error);
        stk_allocator_set(NULL);
        assert_int_equal(status, given < 2 ? STK_ERROR_MEMORY : STK_OK);
        assert_int_equal(error.code, status);
    }
    rig_close(&r);
}

static void a_step_allocates_nothing(void **state)
{
    (void)state;
    net n;
    net_branches(&n);
    stk__pass_request request = {.training = true, .recompute = true};
    rig r;
    pages p = {0};
    const stk_allocator hook = {give_none, take, give_none, take, &p};
    rig_start(&r, &n.network, &request);
    stk_allocator_set(&hook);
    const stk_status forward = stk__pass_forward(r.pass, &r.feed, NULL);
    const stk_status backward = stk__pass_backward(r.pass, &r.feed, NULL);
    stk_allocator_set(NULL);
    assert_int_equal(forward, STK_OK);
    assert_int_equal(backward, STK_OK);
    assert_int_equal(p.calls, 0);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_prediction_must_be_as_large_as_the_mask),
        cmocka_unit_test(something_must_be_left_to_train),
        cmocka_unit_test(a_loss_must_fit),
        cmocka_unit_test(every_call_of_the_engine_may_fail),
        cmocka_unit_test(a_layer_that_fails_is_named),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(pages_may_be_refused),
        cmocka_unit_test(a_step_allocates_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
