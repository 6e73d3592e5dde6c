/* SPDX-License-Identifier: Apache-2.0 */
/* Steps by oneDNN 2.x: operation descriptors are structs that its *_desc_init calls fill. */
#include "engine/onednn/onednn_api.h"
#include "engine/onednn/onednn_cost.h"

#include <stdio.h>
#include <string.h>

typedef union operation {
    dnnl_convolution_desc_t conv; /* and deconv */
    dnnl_inner_product_desc_t linear;
    dnnl_batch_normalization_desc_t norm;
    dnnl_eltwise_desc_t eltwise;
    dnnl_pooling_desc_t pool;
} operation;

typedef struct layouts {
    dnnl_memory_desc_t src, weights, bias, dst;
    const dnnl_memory_desc_t *bias_or_null;
} layouts;

static const int arguments[STK_DNN_PLACES] = {
    [STK_DNN_SRC] = DNNL_ARG_SRC,
    [STK_DNN_WEIGHTS] = DNNL_ARG_WEIGHTS,
    [STK_DNN_BIAS] = DNNL_ARG_BIAS,
    [STK_DNN_DST] = DNNL_ARG_DST,
    [STK_DNN_MEAN] = DNNL_ARG_MEAN,
    [STK_DNN_VARIANCE] = DNNL_ARG_VARIANCE,
    [STK_DNN_SCALE] = DNNL_ARG_SCALE,
    [STK_DNN_SHIFT] = DNNL_ARG_SHIFT,
    [STK_DNN_WORKSPACE] = DNNL_ARG_WORKSPACE,
    [STK_DNN_SCRATCHPAD] = DNNL_ARG_SCRATCHPAD,
    [STK_DNN_DIFF_SRC] = DNNL_ARG_DIFF_SRC,
    [STK_DNN_DIFF_WEIGHTS] = DNNL_ARG_DIFF_WEIGHTS,
    [STK_DNN_DIFF_BIAS] = DNNL_ARG_DIFF_BIAS,
    [STK_DNN_DIFF_DST] = DNNL_ARG_DIFF_DST,
    [STK_DNN_DIFF_SCALE] = DNNL_ARG_DIFF_SCALE,
    [STK_DNN_DIFF_SHIFT] = DNNL_ARG_DIFF_SHIFT,
};

static stk_status judge(dnnl_status_t status, const char *what, stk_error *error)
{
    if (status == dnnl_success) return STK_OK;
    if (status == dnnl_out_of_memory)
        return stk__fail(error, STK_ERROR_MEMORY, "oneDNN is out of memory: %s", what);
    return stk__fail(error, STK_ERROR_UNSUPPORTED, "oneDNN failed to create %s: status %d", what,
                     (int)status);
}

#define TRY(call, what) STK__TRY(judge(call, what, error))

stk_status stk__dnn_init(stk__dnn *dnn, const stk__onednn_api *api, int threads, stk_error *error)
{
    *dnn = (stk__dnn){.api = api, .threads = threads, .dry = dnn->dry, .cost = dnn->cost};
    stk__dnn_threads(dnn, threads);
    TRY(api->dnnl_engine_create(&dnn->engine, dnnl_cpu, 0), "an engine");
    return judge(api->dnnl_stream_create(&dnn->stream, dnn->engine, dnnl_stream_default_flags), "a stream",
                 error);
}

void stk__dnn_fini(stk__dnn *dnn)
{
    if (dnn->stream) dnn->api->dnnl_stream_destroy(dnn->stream);
    if (dnn->engine) dnn->api->dnnl_engine_destroy(dnn->engine);
    *dnn = (stk__dnn){0};
}

void stk__dnn_threads(const stk__dnn *dnn, int threads)
{
    if (dnn->api->omp_set_num_threads) dnn->api->omp_set_num_threads(threads);
}

void stk__dnn_describe(const stk__dnn *dnn, char *text, size_t size)
{
    static const struct {
        dnnl_cpu_isa_t isa;
        const char *word;
    } words[] = {{dnnl_cpu_isa_avx512_core_amx, "AMX"},
                 {dnnl_cpu_isa_avx512_core_bf16, "AVX-512 BF16"},
                 {dnnl_cpu_isa_avx512_core_vnni, "AVX-512 VNNI"},
                 {dnnl_cpu_isa_avx512_core, "AVX-512"},
                 {dnnl_cpu_isa_avx2_vnni, "AVX2 VNNI"},
                 {dnnl_cpu_isa_avx2, "AVX2"},
                 {dnnl_cpu_isa_avx, "AVX"},
                 {dnnl_cpu_isa_sse41, "SSE4.1"}};
    const dnnl_version_t *version = &dnn->api->version;
    const dnnl_cpu_isa_t isa = dnn->api->dnnl_get_effective_cpu_isa();
    const char *word = "plain code";
    for (size_t i = sizeof words / sizeof words[0]; i-- > 0;)
        if ((isa & words[i].isa) == words[i].isa) word = words[i].word;
    snprintf(text, size, "oneDNN %d.%d.%d, %s", version->major, version->minor, version->patch, word);
}

bool stk__dnn_has_bf16(const stk__dnn *dnn)
{
    const dnnl_cpu_isa_t isa = dnn->api->dnnl_get_effective_cpu_isa();
    return (isa & dnnl_cpu_isa_avx512_core_bf16) == dnnl_cpu_isa_avx512_core_bf16;
}

bool stk__dnn_has_avx512(const stk__dnn *dnn)
{
    const dnnl_cpu_isa_t isa = dnn->api->dnnl_get_effective_cpu_isa();
    return (isa & dnnl_cpu_isa_avx512_core) == dnnl_cpu_isa_avx512_core;
}

/* oneDNN reads all entries of a dnnl_dims_t, so each is a full one. */
static stk_status describe_layout(const stk__dnn *dnn, const stk__dnn_layout *layout,
                                  dnnl_memory_desc_t *desc, stk_error *error)
{
    dnnl_dims_t dims = {0}, strides = {0};
    memset(desc, 0, sizeof *desc);
    if (layout->ndim == 0) return STK_OK;
    memcpy(dims, layout->dim, sizeof layout->dim);
    memcpy(strides, layout->stride, sizeof layout->stride);
    const dnnl_status_t status =
        layout->any
            ? dnn->api->dnnl_memory_desc_init_by_tag(desc, layout->ndim, dims, dnnl_f32, dnnl_format_tag_any)
            : dnn->api->dnnl_memory_desc_init_by_strides(desc, layout->ndim, dims, dnnl_f32, strides);
    return judge(status, "a tensor's layout", error);
}

static stk_status describe_layouts(const stk__dnn *dnn, const stk__dnn_layer *layer, layouts *l,
                                   stk_error *error)
{
    STK__TRY(describe_layout(dnn, &layer->src, &l->src, error));
    STK__TRY(describe_layout(dnn, &layer->weights, &l->weights, error));
    STK__TRY(describe_layout(dnn, &layer->bias, &l->bias, error));
    l->bias_or_null = layer->bias.ndim ? &l->bias : NULL;
    return describe_layout(dnn, &layer->dst, &l->dst, error);
}

static dnnl_status_t describe_conv(const stk__onednn_api *api, const stk__dnn_layer *layer,
                                   stk__dnn_pass pass, const layouts *l, operation *op)
{
    const bool up = layer->kind == STK_DNN_DECONV;
    const dnnl_alg_kind_t direct = up ? dnnl_deconvolution_direct : dnnl_convolution_direct;
    const dnnl_dims_t stride = {layer->stride[0], layer->stride[1]};
    const dnnl_dims_t gap = {layer->dilation[0] - 1, layer->dilation[1] - 1};
    const dnnl_dims_t pad = {layer->pad[0], layer->pad[1]};
    if (pass == STK_DNN_FORWARD)
        return (up ? api->dnnl_dilated_deconvolution_forward_desc_init
                   : api->dnnl_dilated_convolution_forward_desc_init)(
            &op->conv, dnnl_forward_training, direct, &l->src, &l->weights, l->bias_or_null, &l->dst, stride,
            gap, pad, pad);
    if (pass == STK_DNN_BACKWARD)
        return (up ? api->dnnl_dilated_deconvolution_backward_data_desc_init
                   : api->dnnl_dilated_convolution_backward_data_desc_init)(
            &op->conv, direct, &l->src, &l->weights, &l->dst, stride, gap, pad, pad);
    return (up ? api->dnnl_dilated_deconvolution_backward_weights_desc_init
               : api->dnnl_dilated_convolution_backward_weights_desc_init)(
        &op->conv, direct, &l->src, &l->weights, l->bias_or_null, &l->dst, stride, gap, pad, pad);
}

static dnnl_status_t describe_linear(const stk__onednn_api *api, stk__dnn_pass pass, const layouts *l,
                                     operation *op)
{
    if (pass == STK_DNN_FORWARD)
        return api->dnnl_inner_product_forward_desc_init(&op->linear, dnnl_forward_training, &l->src,
                                                         &l->weights, l->bias_or_null, &l->dst);
    if (pass == STK_DNN_BACKWARD)
        return api->dnnl_inner_product_backward_data_desc_init(&op->linear, &l->src, &l->weights, &l->dst);
    return api->dnnl_inner_product_backward_weights_desc_init(&op->linear, &l->src, &l->weights,
                                                              l->bias_or_null, &l->dst);
}

static dnnl_status_t describe_norm(const stk__onednn_api *api, const stk__dnn_layer *layer,
                                   stk__dnn_pass pass, const layouts *l, operation *op)
{
    const unsigned given = layer->kind == STK_DNN_NORM_GIVEN ? dnnl_use_global_stats : 0;
    const unsigned flags = given | dnnl_use_scale | dnnl_use_shift;
    const float eps = (float)layer->eps;
    if (pass == STK_DNN_FORWARD)
        return api->dnnl_batch_normalization_forward_desc_init(&op->norm, dnnl_forward_training, &l->src, eps,
                                                               flags);
    return api->dnnl_batch_normalization_backward_desc_init(&op->norm, dnnl_backward, &l->src, &l->src, eps,
                                                            flags);
}

static dnnl_status_t describe_eltwise(const stk__onednn_api *api, const stk__dnn_layer *layer,
                                      stk__dnn_pass pass, const layouts *l, operation *op)
{
    static const dnnl_alg_kind_t ways[] = {
        [STK_DNN_SIGMOID] = dnnl_eltwise_logistic_use_dst_for_bwd,
        [STK_DNN_TANH] = dnnl_eltwise_tanh_use_dst_for_bwd,
        [STK_DNN_SILU] = dnnl_eltwise_swish,
        [STK_DNN_GELU] = dnnl_eltwise_gelu_erf,
    };
    const float alpha = layer->kind == STK_DNN_SILU ? 1 : 0;
    if (pass == STK_DNN_FORWARD)
        return api->dnnl_eltwise_forward_desc_init(&op->eltwise, dnnl_forward_training, ways[layer->kind],
                                                   &l->src, alpha, 0);
    return api->dnnl_eltwise_backward_desc_init(&op->eltwise, ways[layer->kind], &l->src, &l->src, alpha, 0);
}

static dnnl_status_t describe_pool(const stk__onednn_api *api, const stk__dnn_layer *layer,
                                   stk__dnn_pass pass, const layouts *l, operation *op)
{
    const dnnl_alg_kind_t way =
        layer->kind == STK_DNN_MAX_POOL ? dnnl_pooling_max : dnnl_pooling_avg_include_padding;
    const dnnl_dims_t stride = {layer->stride[0], layer->stride[1]};
    const dnnl_dims_t kernel = {layer->kernel[0], layer->kernel[1]};
    const dnnl_dims_t pad = {layer->pad[0], layer->pad[1]};
    if (pass == STK_DNN_FORWARD)
        return api->dnnl_pooling_forward_desc_init(&op->pool, dnnl_forward_training, way, &l->src, &l->dst,
                                                   stride, kernel, pad, pad);
    return api->dnnl_pooling_backward_desc_init(&op->pool, way, &l->src, &l->dst, stride, kernel, pad, pad);
}

static dnnl_status_t describe(const stk__onednn_api *api, const stk__dnn_layer *layer, stk__dnn_pass pass,
                              const layouts *l, operation *op)
{
    switch (layer->kind) {
    case STK_DNN_CONV:
    case STK_DNN_DECONV:
        return describe_conv(api, layer, pass, l, op);
    case STK_DNN_LINEAR:
        return describe_linear(api, pass, l, op);
    case STK_DNN_NORM:
    case STK_DNN_NORM_GIVEN:
        return describe_norm(api, layer, pass, l, op);
    case STK_DNN_MAX_POOL:
    case STK_DNN_AVG_POOL:
        return describe_pool(api, layer, pass, l, op);
    default:
        return describe_eltwise(api, layer, pass, l, op);
    }
}

/* Scratch memory comes from the caller. */
static stk_status make_attributes(const stk__dnn *dnn, dnnl_primitive_attr_t *attributes, stk_error *error)
{
    TRY(dnn->api->dnnl_primitive_attr_create(attributes), "attributes");
    return judge(dnn->api->dnnl_primitive_attr_set_scratchpad_mode(*attributes, dnnl_scratchpad_mode_user),
                 "a user-managed scratchpad", error);
}

static stk_status finish_step(const stk__dnn *dnn, stk__dnn_step *step, stk_error *error)
{
    if (!dnn->dry) TRY(dnn->api->dnnl_primitive_create(&step->primitive, step->desc), "a primitive");
    for (int place = 0; place < STK_DNN_PLACES; place++) {
        const dnnl_memory_desc_t *desc =
            dnn->api->dnnl_primitive_desc_query_md(step->desc, dnnl_query_exec_arg_md, arguments[place]);
        if (!desc || desc->ndims == 0) continue;
        step->size_bytes[place] = dnn->api->dnnl_memory_desc_get_size(desc);
        if (dnn->dry) continue;
        TRY(dnn->api->dnnl_memory_create(&step->memory[place], desc, dnn->engine, DNNL_MEMORY_NONE),
            "a memory object");
    }
    return STK_OK;
}

static stk_status seal_step(const stk__dnn *dnn, stk_status status, stk__dnn_step *step, stk_error *error)
{
    if (status == STK_OK) status = finish_step(dnn, step, error);
    if (status != STK_OK) stk__dnn_step_fini(dnn, step);
    return status;
}

stk_status stk__dnn_step_create(const stk__dnn *dnn, const stk__dnn_layer *layer, stk__dnn_pass pass,
                                const stk__dnn_step *forward, stk__dnn_step *step, stk_error *error)
{
    operation op;
    layouts l;
    *step = (stk__dnn_step){0};
    STK__TRY(describe_layouts(dnn, layer, &l, error));
    TRY(describe(dnn->api, layer, pass, &l, &op), "an operation");
    dnnl_primitive_attr_t attributes = NULL;
    stk_status status = make_attributes(dnn, &attributes, error);
    if (status == STK_OK)
        status = judge(dnn->api->dnnl_primitive_desc_create(&step->desc, &op, attributes, dnn->engine,
                                                            forward ? forward->desc : NULL),
                       "a layer of these shapes", error);
    if (attributes) dnn->api->dnnl_primitive_attr_destroy(attributes);
    stk__dnn_cost_step(dnn->cost, layer, pass);
    return seal_step(dnn, status, step, error);
}

stk_status stk__dnn_reorder_create(const stk__dnn *dnn, const stk__dnn_reorder *reorder, stk__dnn_step *step,
                                   stk_error *error)
{
    dnnl_memory_desc_t plain;
    *step = (stk__dnn_step){0};
    STK__TRY(describe_layout(dnn, reorder->plain, &plain, error));
    const dnnl_memory_desc_t *chosen = dnn->api->dnnl_primitive_desc_query_md(
        reorder->user->desc, dnnl_query_exec_arg_md, arguments[reorder->place]);
    if (dnn->api->dnnl_memory_desc_equal(&plain, chosen)) return STK_OK;
    const bool into = reorder->way == STK_DNN_INTO;
    dnnl_primitive_attr_t attributes = NULL;
    stk_status status = make_attributes(dnn, &attributes, error);
    if (status == STK_OK)
        status = judge(dnn->api->dnnl_reorder_primitive_desc_create(&step->desc, into ? &plain : chosen,
                                                                    dnn->engine, into ? chosen : &plain,
                                                                    dnn->engine, attributes),
                       "a reorder", error);
    if (attributes) dnn->api->dnnl_primitive_attr_destroy(attributes);
    stk__dnn_cost_reorder(dnn->cost);
    return seal_step(dnn, status, step, error);
}

void stk__dnn_step_fini(const stk__dnn *dnn, stk__dnn_step *step)
{
    for (int place = 0; place < STK_DNN_PLACES; place++)
        if (step->memory[place]) dnn->api->dnnl_memory_destroy(step->memory[place]);
    if (step->primitive) dnn->api->dnnl_primitive_destroy(step->primitive);
    if (step->desc) dnn->api->dnnl_primitive_desc_destroy(step->desc);
    *step = (stk__dnn_step){0};
}

void stk__dnn_step_set(const stk__dnn *dnn, stk__dnn_step *step, stk__dnn_place place, const void *data)
{
    if (step->memory[place]) dnn->api->dnnl_memory_set_data_handle(step->memory[place], (void *)data);
}

stk_status stk__dnn_step_run(const stk__dnn *dnn, const stk__dnn_step *step, stk_error *error)
{
    dnnl_exec_arg_t given[STK_DNN_PLACES];
    int count = 0;
    if (!step->primitive) return STK_OK;
    for (int place = 0; place < STK_DNN_PLACES; place++)
        if (step->memory[place]) given[count++] = (dnnl_exec_arg_t){arguments[place], step->memory[place]};
    return judge(dnn->api->dnnl_primitive_execute(step->primitive, dnn->stream, count, given), "a run",
                 error);
}

stk_status stk__dnn_multiply(const stk__dnn *dnn, const stk__dnn_product *p, stk_error *error)
{
    return judge(dnn->api->dnnl_sgemm(p->transpose_a ? 'T' : 'N', p->transpose_b ? 'T' : 'N', p->m, p->n,
                                      p->k, 1, p->a, p->lda, p->b, p->ldb, p->beta, p->c, p->ldc),
                 "a matrix product", error);
}
