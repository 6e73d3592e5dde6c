/* Metrics: the reference's loops on host memory. They run once a batch of validation and count small things;
 * aten has no operator with these rules for ties, weights and ignored classes. */
#include "engine/torch_parts.h"

#include "engine/reference.h"

static const stk__reference_kernel *const kernels[STK_OP_COUNT] = {
    [STK_OP_CONFUSION] = &stk__reference_confusion,
    [STK_OP_TOP_K] = &stk__reference_top_k,
    [STK_OP_POINT_ERROR] = &stk__reference_point_error,
    [STK_OP_VALUE_ERROR] = &stk__reference_value_error,
};

/* The tensors of one run as the host sees them: inputs, then y. */
typedef struct host_io {
    stk__tensor *source[STK_LOSS_INPUTS + 1], copy[STK_LOSS_INPUTS + 1], *given[STK_LOSS_INPUTS];
    stk_tensor view[STK_LOSS_INPUTS + 1];
    int mapped;
} host_io;

static stk_status map_all(host_io *host, stk_error *error)
{
    for (int i = 0; i <= STK_LOSS_INPUTS; i++) {
        if (host->source[i]) {
            STK__TRY(stk__tensor_map(host->source[i], &host->view[i], error));
            host->copy[i] = *host->source[i];
            host->copy[i].memory = host->view[i].data;
            if (i < STK_LOSS_INPUTS) host->given[i] = &host->copy[i];
        }
        host->mapped = i + 1;
    }
    return STK_OK;
}

static stk_status unmap_all(host_io *host, stk_error *error)
{
    stk_status first = STK_OK;
    for (int i = 0; i < host->mapped; i++) {
        if (!host->source[i]) continue;
        const bool changed = i == STK_LOSS_INPUTS;
        const stk_status status =
            stk__tensor_unmap(host->source[i], &host->view[i], changed, first == STK_OK ? error : NULL);
        if (first == STK_OK) first = status;
    }
    return first;
}

static stk_status forward(stk__op *op, const stk__op_io *io, stk_error *error)
{
    host_io host = {0};
    for (int i = 0; i < STK_LOSS_INPUTS; i++)
        host.source[i] = io->x[i];
    host.source[STK_LOSS_INPUTS] = io->y;
    const stk_status status = map_all(&host, error);
    if (status == STK_OK) {
        stk__op_io there = *io;
        there.x = host.given;
        there.y = &host.copy[STK_LOSS_INPUTS];
        kernels[op->spec.kind]->forward(op, &there);
    }
    const stk_status back = unmap_all(&host, status == STK_OK ? error : NULL);
    return status == STK_OK ? back : status;
}

const stk__torch_op_kind stk__torch_metric = {forward, NULL, NULL};
