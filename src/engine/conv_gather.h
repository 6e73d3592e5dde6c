/* SPDX-License-Identifier: Apache-2.0 */
/* A fault of oneDNN, which PyTorch uses on CPUs as well: 2.6 to 3.14 compute the weights' gradient of a
 * strided 1x1 convolution with fewer input channels than a vector has floats (8 with AVX2, 16 with AVX-512)
 * wrongly, or crash (upstream 6035). The pixels it looks at are gathered first, which leaves a stride of 1.
 */
#ifndef STK_ENGINE_CONV_GATHER_H
#define STK_ENGINE_CONV_GATHER_H

#include "engine/engine.h"

static inline bool stk__conv_must_gather(const stk__op_spec *spec)
{
    return spec->kind == STK_OP_CONV && spec->kernel[0] == 1 && spec->kernel[1] == 1 &&
           (spec->stride[0] > 1 || spec->stride[1] > 1) && spec->input[0].dim[3] / spec->groups < 16;
}

/* What the layer of the gathered pixels takes: an input of the output's size. */
static inline stk__shape stk__conv_gathered(const stk__op *op)
{
    stk__shape shape = op->form.output;
    shape.dim[3] = op->spec.input[0].dim[3];
    return shape;
}

#endif
