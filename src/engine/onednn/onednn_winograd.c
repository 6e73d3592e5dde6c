/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses per convolution and pass between oneDNN's direct algorithm and our Winograd kernels: only 3x3,
 * stride 1, large enough pictures, and where a table of measured thresholds says that it is faster. */
#include "engine/onednn/onednn_winograd.h"

#include <string.h>

/* Pictures of at least a tile: in smaller ones many taps never meet a pixel that counts. Their gradient is
 * exactly 0; Winograd's would be what rounding leaves, and AdamW makes whole steps of that. */
static bool is_possible(const stk__op_spec *s)
{
    const int64_t *in = s->input[0].dim;
    return s->kind == STK_OP_CONV && s->groups == 1 && s->kernel[0] == 3 && s->kernel[1] == 3 &&
           s->stride[0] == 1 && s->stride[1] == 1 && s->pad[0] == 1 && s->pad[1] == 1 &&
           s->dilation[0] == 1 && s->dilation[1] == 1 && in[1] >= STK_WINOGRAD_SIDE &&
           in[2] >= STK_WINOGRAD_SIDE;
}

/* From which size on Winograd was faster in every pass (docs/performance.md, "Convolution"). Narrower layers
 * do not fill a panel; with few tiles the weights' transform is most of the work; tiles that hang over the
 * edge compute pixels outside of the output. */
typedef struct rule {
    int64_t channels; /* of input and of output; 0: never */
    int64_t tiles;
    int share; /* least per cent of the tiles' pixels that there are */
} rule;

static const rule rules[STK_CPU_LEVELS] = {
    [STK_CPU_C] = {0},
    [STK_CPU_AVX2] = {.channels = 16, .tiles = 16, .share = 40},
    [STK_CPU_AVX512] = {.channels = 32, .tiles = 16, .share = 40}, /* not measured: the panel is 32 */
};

bool stk__onednn_winograd_pays(const stk__winograd_layer *l, stk__cpu_level level)
{
    const rule *r = &rules[level];
    const int64_t side = STK_WINOGRAD_SIDE;
    const int64_t tiles = (l->h + side - 1) / side * ((l->w + side - 1) / side);
    return r->channels && l->c >= r->channels && l->k >= r->channels && l->n * tiles >= r->tiles &&
           100 * l->h * l->w >= r->share * side * side * tiles;
}

void stk__onednn_winograd_choose(const stk__op *op, stk__onednn_winograd *w)
{
    const stk__conv conv = stk__onednn_of(op)->conv;
    const int64_t *in = op->spec.input[0].dim;
    *w = (stk__onednn_winograd){.possible = is_possible(&op->spec)};
    if (!w->possible) return;
    w->open = conv == STK_CONV_AUTO && stk__onednn_of(op)->tune;
    const stk__cpu_level level = stk__cpu_level_allowed();
    w->layer = (stk__winograd_layer){.kernel = stk__winograd_at(level),
                                     .n = in[0],
                                     .h = in[1],
                                     .w = in[2],
                                     .c = in[3],
                                     .k = op->spec.channels,
                                     .threads = op->engine->info.threads};
    const bool pays = stk__onednn_winograd_pays(&w->layer, level);
    for (int pass = 0; pass < STK_WINOGRAD_PASSES; pass++)
        w->uses[pass] = conv == STK_CONV_WINOGRAD || (conv == STK_CONV_AUTO && pays);
}

/* By the passes that use it, FORWARD + 2 DATA + 4 WEIGHTS. */
static const char *const words[1 << STK_WINOGRAD_PASSES] = {
    "direct",           "winograd forward",          "winograd data",          "winograd forward, data",
    "winograd weights", "winograd forward, weights", "winograd data, weights", "winograd"};

const char *stk__onednn_winograd_word(const stk__onednn_winograd *w)
{
    int index = 0;
    for (int pass = 0; pass < STK_WINOGRAD_PASSES; pass++)
        index += w->uses[pass] << pass;
    return w->possible ? words[index] : NULL;
}

bool stk__onednn_winograd_read(stk__onednn_winograd *w, const char *word)
{
    for (int index = 0; w->possible && index < 1 << STK_WINOGRAD_PASSES; index++) {
        if (strcmp(word, words[index]) != 0) continue;
        for (int pass = 0; pass < STK_WINOGRAD_PASSES; pass++)
            w->uses[pass] = index >> pass & 1;
        return true;
    }
    return false;
}

size_t stk__onednn_winograd_bytes(const stk__onednn_winograd *w)
{
    size_t most = 0;
    for (int pass = 0; w->possible && pass < STK_WINOGRAD_PASSES; pass++) {
        if (!w->uses[pass]) continue;
        const size_t bytes = stk__winograd_scratch_bytes(&w->layer, (stk__winograd_pass)pass);
        if (bytes > most) most = bytes;
    }
    return most;
}

void stk__onednn_winograd_forward(const stk__op *op, const stk__onednn_winograd *w, const stk__op_io *io)
{
    const stk__winograd_io run = {.x = stk__floats(io->x[0]),
                                  .weights = stk__floats(io->param[0]),
                                  .bias = op->form.param_count > 1 ? stk__floats(io->param[1]) : NULL,
                                  .y = stk__floats(io->y),
                                  .scratch = io->scratch->memory};
    stk__winograd_run(&w->layer, STK_WINOGRAD_FORWARD, &run);
}

void stk__onednn_winograd_data(const stk__op *op, const stk__onednn_winograd *w, const stk__op_io *io)
{
    (void)op;
    const stk__winograd_io run = {.dy = stk__floats(io->dy),
                                  .weights = stk__floats(io->param[0]),
                                  .dx = stk__floats(io->dx[0]),
                                  .scratch = io->scratch->memory};
    stk__winograd_run(&w->layer, STK_WINOGRAD_DATA, &run);
}

void stk__onednn_winograd_weights(const stk__op *op, const stk__onednn_winograd *w, const stk__op_io *io)
{
    const stk__winograd_io run = {.x = stk__floats(io->x[0]),
                                  .dy = stk__floats(io->dy),
                                  .dweights = stk__floats_at(io->dparam, 0),
                                  .dbias = op->form.param_count > 1 ? stk__floats_at(io->dparam, 1) : NULL,
                                  .add = io->add_dparam,
                                  .scratch = io->scratch->memory};
    if (run.dweights || run.dbias) stk__winograd_run(&w->layer, STK_WINOGRAD_WEIGHTS, &run);
}
