/* SPDX-License-Identifier: Apache-2.0 */
/* Capturing of streams and graphs: the fake driver's, where Stoker's own calls meet PyTorch's. */
#include "cudart_api.h"

int cudaThreadExchangeStreamCaptureMode(int *mode)
{
    return dry_driver_open()->capture_mode(mode);
}

int cudaStreamBeginCapture(void *stream, int mode)
{
    return dry_driver_leave(dry_driver_enter()->capture_begin(stream, mode));
}

int cudaStreamEndCapture(void *stream, void **graph)
{
    return dry_driver_leave(dry_driver_enter()->capture_end(stream, graph));
}

int cudaStreamIsCapturing(void *stream, int *status)
{
    return dry_driver_leave(dry_driver_enter()->capture_status(stream, status));
}

/* The number of a capture is the same for all: there is one at a time. */
int cudaStreamGetCaptureInfo_v2(void *stream, int *status, unsigned long long *id, void **graph,
                                void *const **nodes, size_t *count)
{
    const int code = cudaStreamIsCapturing(stream, status);
    if (id) *id = *status ? 1 : 0;
    if (graph) *graph = NULL;
    if (nodes) *nodes = NULL;
    if (count) *count = 0;
    return code;
}

int cudaStreamGetCaptureInfo(void *stream, int *status, unsigned long long *id, void **graph,
                             void *const **nodes, const void **edges, size_t *count)
{
    if (edges) *edges = NULL;
    return cudaStreamGetCaptureInfo_v2(stream, status, id, graph, nodes, count);
}

int cudaGraphGetNodes(void *graph, void **nodes, size_t *count)
{
    return dry_driver_leave(dry_driver_enter()->graph_nodes(graph, nodes, count));
}

int cudaGraphInstantiate(void **exec, void *graph, unsigned long long flags)
{
    return dry_driver_leave(dry_driver_enter()->exec_create(exec, graph, flags));
}

int cudaGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long flags)
{
    return cudaGraphInstantiate(exec, graph, flags);
}

int cudaGraphLaunch(void *exec, void *stream)
{
    return dry_driver_leave(dry_driver_enter()->exec_launch(exec, stream));
}

int cudaGraphExecDestroy(void *exec)
{
    return dry_driver_leave(dry_driver_enter()->exec_destroy(exec));
}

int cudaGraphDestroy(void *graph)
{
    return dry_driver_leave(dry_driver_enter()->graph_destroy(graph));
}
