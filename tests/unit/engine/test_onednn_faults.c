/* SPDX-License-Identifier: Apache-2.0 */
/* The engine onednn when memory is missing or oneDNN refuses: a clean status, nothing lost, nothing allocated
 * while it runs. The real library stands behind: calls of the table go through wrappers that count. */
#include "onednn_rig.h"

#include "core/memory.h"
#include "engine/onednn/onednn_api.h"

#include <dlfcn.h>

static stk__onednn_api real, *api;
static int calls_left; /* until one is refused; 0: none is */
static int live;       /* objects of oneDNN that are not destroyed */
static dnnl_status_t refusal = dnnl_out_of_memory;

static bool is_refused(void)
{
    return calls_left > 0 && --calls_left == 0;
}

static dnnl_status_t made(dnnl_status_t status)
{
    live += status == dnnl_success;
    return status;
}

static dnnl_status_t engine_create(dnnl_engine_t *engine, dnnl_engine_kind_t kind, size_t index)
{
    return is_refused() ? refusal : made(real.dnnl_engine_create(engine, kind, index));
}

static dnnl_status_t engine_destroy(dnnl_engine_t engine)
{
    live--;
    return real.dnnl_engine_destroy(engine);
}

static dnnl_status_t stream_create(dnnl_stream_t *stream, dnnl_engine_t engine, unsigned flags)
{
    return is_refused() ? refusal : made(real.dnnl_stream_create(stream, engine, flags));
}

static dnnl_status_t stream_destroy(dnnl_stream_t stream)
{
    live--;
    return real.dnnl_stream_destroy(stream);
}

static dnnl_status_t memory_create(dnnl_memory_t *memory, const dnnl_memory_desc_t *desc,
                                   dnnl_engine_t engine, void *handle)
{
    return is_refused() ? refusal : made(real.dnnl_memory_create(memory, desc, engine, handle));
}

static dnnl_status_t memory_destroy(dnnl_memory_t memory)
{
    live--;
    return real.dnnl_memory_destroy(memory);
}

static dnnl_status_t describe_strides(dnnl_memory_desc_t *desc, int ndims, const dnnl_dims_t dims,
                                      dnnl_data_type_t type, const dnnl_dims_t strides)
{
    return is_refused() ? refusal : real.dnnl_memory_desc_init_by_strides(desc, ndims, dims, type, strides);
}

static dnnl_status_t describe_tag(dnnl_memory_desc_t *desc, int ndims, const dnnl_dims_t dims,
                                  dnnl_data_type_t type, dnnl_format_tag_t tag)
{
    return is_refused() ? refusal : real.dnnl_memory_desc_init_by_tag(desc, ndims, dims, type, tag);
}

static dnnl_status_t attr_create(dnnl_primitive_attr_t *attr)
{
    return is_refused() ? refusal : made(real.dnnl_primitive_attr_create(attr));
}

static dnnl_status_t attr_destroy(dnnl_primitive_attr_t attr)
{
    live--;
    return real.dnnl_primitive_attr_destroy(attr);
}

static dnnl_status_t attr_scratchpad(dnnl_primitive_attr_t attr, dnnl_scratchpad_mode_t mode)
{
    return is_refused() ? refusal : real.dnnl_primitive_attr_set_scratchpad_mode(attr, mode);
}

static dnnl_status_t desc_create(dnnl_primitive_desc_t *desc, const_dnnl_op_desc_t op,
                                 const_dnnl_primitive_attr_t attr, dnnl_engine_t engine,
                                 const_dnnl_primitive_desc_t hint)
{
    return is_refused() ? refusal : made(real.dnnl_primitive_desc_create(desc, op, attr, engine, hint));
}

static dnnl_status_t reorder_create(dnnl_primitive_desc_t *desc, const dnnl_memory_desc_t *from,
                                    dnnl_engine_t from_engine, const dnnl_memory_desc_t *to,
                                    dnnl_engine_t to_engine, const_dnnl_primitive_attr_t attr)
{
    if (is_refused()) return refusal;
    return made(real.dnnl_reorder_primitive_desc_create(desc, from, from_engine, to, to_engine, attr));
}

static dnnl_status_t desc_destroy(dnnl_primitive_desc_t desc)
{
    live--;
    return real.dnnl_primitive_desc_destroy(desc);
}

static dnnl_status_t primitive_create(dnnl_primitive_t *primitive, const_dnnl_primitive_desc_t desc)
{
    return is_refused() ? refusal : made(real.dnnl_primitive_create(primitive, desc));
}

static dnnl_status_t primitive_destroy(dnnl_primitive_t primitive)
{
    live--;
    return real.dnnl_primitive_destroy(primitive);
}

static dnnl_status_t execute(const_dnnl_primitive_t primitive, dnnl_stream_t stream, int count,
                             const dnnl_exec_arg_t *args)
{
    return is_refused() ? refusal : real.dnnl_primitive_execute(primitive, stream, count, args);
}

/* Called from several threads: refuses all or nothing. */
static bool refuses_products;
static dnnl_status_t multiply(char ta, char tb, dnnl_dim_t m, dnnl_dim_t n, dnnl_dim_t k, float alpha,
                              const float *a, dnnl_dim_t lda, const float *b, dnnl_dim_t ldb, float beta,
                              float *c, dnnl_dim_t ldc)
{
    if (refuses_products && m < 6) return refusal; /* those of single steps */
    return real.dnnl_sgemm(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

/* An OpenMP that is there before has read its environment before. */
static void an_openmp_that_came_first_is_noted(void **state)
{
    (void)state;
    stk_error error = {0};
    stk__engine *engine;
    assert_int_equal(stk__engine_open(&engine, &(stk__engine_options){.name = "onednn"}, &error), STK_OK);
    assert_non_null(strstr(stk__engine_describe(engine)->note, "start with OMP_WAIT_POLICY=passive"));
    stk__engine_close(&engine);
}

static int wrap_calls(void **state)
{
    (void)state;
    const stk__onednn_api *found;
    stk_error error = {0};
    unsetenv("OMP_WAIT_POLICY");
    if (!dlopen("libgomp.so.1", RTLD_NOW | RTLD_LOCAL)) return 1;
    if (stk__onednn_api_open(&found, &error) != STK_OK) return 1;
    api = (stk__onednn_api *)found; /* the table itself is writable */
    real = *api;
    api->dnnl_engine_create = engine_create;
    api->dnnl_engine_destroy = engine_destroy;
    api->dnnl_stream_create = stream_create;
    api->dnnl_stream_destroy = stream_destroy;
    api->dnnl_memory_create = memory_create;
    api->dnnl_memory_destroy = memory_destroy;
    api->dnnl_memory_desc_init_by_strides = describe_strides;
    api->dnnl_memory_desc_init_by_tag = describe_tag;
    api->dnnl_primitive_attr_create = attr_create;
    api->dnnl_primitive_attr_destroy = attr_destroy;
    api->dnnl_primitive_attr_set_scratchpad_mode = attr_scratchpad;
    api->dnnl_primitive_desc_create = desc_create;
    api->dnnl_reorder_primitive_desc_create = reorder_create;
    api->dnnl_primitive_desc_destroy = desc_destroy;
    api->dnnl_primitive_create = primitive_create;
    api->dnnl_primitive_destroy = primitive_destroy;
    api->dnnl_primitive_execute = execute;
    api->dnnl_sgemm = multiply;
    return 0;
}

/* Opens an engine, makes one operation, runs it both ways and closes all. */
static stk_status try_kind(stk__op_kind kind, stk_error *error)
{
    const stk__op_spec spec = rig_spec(kind);
    stk__engine *engine;
    rig r;
    STK__TRY(stk__engine_open(&engine, &(stk__engine_options){.name = "onednn", .threads = 2}, error));
    stk_status status = rig_open(&r, engine, &spec, error);
    if (status == STK_OK) {
        rig_fill_all(&r);
        status = rig_run(&r, error);
        rig_close(&r);
    }
    stk__engine_close(&engine);
    return status;
}

static void every_refusal_of_onednn_is_clean(void **state)
{
    (void)state;
    int refused = 0;
    for (int kind = 0; kind < STK_OP_COUNT; kind++)
        for (int n = 1; n < 200; n++) {
            stk_error error = {0};
            calls_left = n;
            refusal = n % 2 ? dnnl_out_of_memory : dnnl_unimplemented;
            const stk_status status = try_kind((stk__op_kind)kind, &error);
            const bool over = calls_left > 0;
            calls_left = 0;
            assert_int_equal(live, 0);
            if (over && status != STK_OK) fail_msg("%s: %s", stk__op_word((stk__op_kind)kind), error.message);
            if (over) break;
            assert_int_equal(status, n % 2 ? STK_ERROR_MEMORY : STK_ERROR_UNSUPPORTED);
            assert_memory_equal(error.message, "oneDNN ", strlen("oneDNN "));
            refused++;
        }
    assert_true(refused > 200);
}

static void a_failed_product_of_a_thread_is_told(void **state)
{
    (void)state;
    stk_error error = {0};
    refusal = dnnl_out_of_memory;
    refuses_products = true;
    const stk_status status = try_kind(STK_OP_LSTM, &error);
    refuses_products = false;
    assert_int_equal(status, STK_ERROR_MEMORY);
    assert_string_equal(error.message, "a matrix product of an lstm failed");
    assert_int_equal(live, 0);
}

typedef struct counter {
    long left; /* allocations that still succeed */
    long made, alive;
} counter;

static void *count_alloc(void *context, size_t size_bytes)
{
    counter *c = context;
    if (c->left == 0) return NULL;
    c->left--;
    c->made++;
    c->alive++;
    return aligned_alloc(64, (size_bytes + 63) / 64 * 64);
}

static void count_release(void *context, void *memory, size_t size_bytes)
{
    (void)size_bytes;
    ((counter *)context)->alive--;
    free(memory);
}

static void *count_map(void *context, size_t size_bytes)
{
    void *memory = count_alloc(context, size_bytes);
    if (memory) memset(memory, 0, size_bytes);
    return memory;
}

static counter counts;
static const stk_allocator hook = {count_alloc, count_release, count_map, count_release, &counts};

static void every_allocation_may_fail(void **state)
{
    (void)state;
    for (int kind = 0; kind < STK_OP_COUNT; kind++) {
        stk_status status = STK_ERROR_MEMORY;
        for (long n = 0; status != STK_OK && n < 100; n++) {
            stk_error error = {0};
            counts.left = n;
            status = try_kind((stk__op_kind)kind, &error);
            assert_int_equal(counts.alive, 0);
            assert_int_equal(live, 0);
            if (status != STK_OK) assert_int_equal(status, STK_ERROR_MEMORY);
        }
        assert_int_equal(status, STK_OK);
    }
}

/* Both must be the same bits, and neither may allocate. Scratch is left out: which thread writes where in it
 * is a matter of luck. */
static void runs_are_repeated_bit_by_bit(void **state)
{
    (void)state;
    stk_error error = {0};
    stk__engine *engine;
    counts.left = 100000;
    stk__engine_open(&engine, &(stk__engine_options){.name = "onednn", .threads = 2}, &error);
    for (int kind = 0; kind < STK_OP_COUNT; kind++) {
        const stk__op_spec spec = rig_spec((stk__op_kind)kind);
        static char first[1 << 20];
        rig r;
        assert_int_equal(rig_open(&r, engine, &spec, &error), STK_OK);
        const long before = counts.made;
        for (int turn = 0; turn < 2; turn++) {
            memset(r.arena->memory, 0, r.arena->size_bytes);
            rig_fill_all(&r);
            assert_int_equal(rig_run(&r, &error), STK_OK);
            if (r.scratch) memset(r.scratch->memory, 0, r.scratch->size_bytes);
            if (turn == 0) memcpy(first, r.arena->memory, sizeof first);
        }
        assert_int_equal(counts.made, before);
        assert_memory_equal(first, r.arena->memory, sizeof first);
        rig_close(&r);
    }
    stk__engine_close(&engine);
}

/* An engine's threads of the pool are there for good; they are not counted. */
static int count_allocations(void **state)
{
    (void)state;
    stk_error error = {0};
    const stk_status status = try_kind(STK_OP_RELU, &error);
    stk_allocator_set(&hook);
    return status == STK_OK ? 0 : 1;
}

static int stop_counting(void **state)
{
    (void)state;
    stk_allocator_set(NULL);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_openmp_that_came_first_is_noted),
        cmocka_unit_test(every_refusal_of_onednn_is_clean),
        cmocka_unit_test(a_failed_product_of_a_thread_is_told),
        cmocka_unit_test_setup_teardown(every_allocation_may_fail, count_allocations, stop_counting),
        cmocka_unit_test_setup_teardown(runs_are_repeated_bit_by_bit, count_allocations, stop_counting),
    };
    return cmocka_run_group_tests(tests, wrap_calls, NULL);
}
