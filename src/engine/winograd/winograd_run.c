/* SPDX-License-Identifier: Apache-2.0 */
/* Whole convolutions by Winograd on the pool's threads: tiles are cut into blocks that fit the L2 cache;
 * each block is transformed, multiplied with the transformed weights spot by spot, and transformed back
 * (winograd.h explains the steps). The order of sums depends on sizes only, never on threads. */
#include "engine/winograd/winograd_run.h"

#include "core/pool.h"

#include <string.h>

/* Measured on an EPYC with 512 kB of L2; a few per cent are all that other numbers change. */
enum {
    BLOCK_FLOATS = 48 << 10,  /* of the input and output spots of a block of tiles: half of L2 */
    BLOCK_LEAST = 24,         /* tiles: each block reads all weights, … */
    BLOCK_MOST = 48,          /* … which are many where channels are */
    BLOCK_FOUR = 4,           /* numbers of blocks are multiples of this, so that threads end together */
    BATCH_FLOATS = 512 << 10, /* of the spots of the weights' gradient that are there at a time */
    BATCH_LEAST = 64,         /* tiles: each batch reads and writes all sums */
    BATCH_MOST = 1024,        /* tiles */
    CHUNK = 12                /* tiles that one thread transforms at a time for the weights' gradient */
};

/* --- sizes -----------------------------------------------------------------------------------------------
 */

static int64_t at_most(int64_t value, int64_t most)
{
    return value < most ? value : most;
}

static int64_t within(int64_t value, int64_t least, int64_t most)
{
    return value < least ? least : at_most(value, most);
}

/* Everything that follows from a layer and a pass. */
typedef struct sizes {
    stk__winograd_grid grid;
    int64_t tiles;
    int64_t input, output;   /* channels as this pass sees them */
    int64_t padded[2];       /* the same, whole panels */
    int64_t spread, spot[2]; /* of the spots of a block or batch: tiles; floats from one to the next */
    int64_t weights_spot;
    int workers; /* threads with spots of their own: no more than there are blocks */
    size_t weights_bytes, spots_bytes[2], patch_bytes, bias_bytes;
} sizes;

/* Tiles of a block; blocks are as even as possible. */
static int64_t even_out(int64_t tiles, int64_t most, int64_t multiple)
{
    const int64_t blocks = (tiles + most * multiple - 1) / (most * multiple) * multiple;
    return (tiles + blocks - 1) / blocks;
}

/* Few channels: what fits into L2. Many: weights do not fit anyway and shall be read less often. */
static int64_t block_of(int64_t channels)
{
    const int64_t fits = BLOCK_FLOATS / (STK_WINOGRAD_SPOTS * channels), wanted = channels / 8;
    return within(fits > wanted ? fits : wanted, BLOCK_LEAST, BLOCK_MOST);
}

static int64_t batch_of(int64_t channels)
{
    return within(BATCH_FLOATS / (STK_WINOGRAD_SPOTS * channels), BATCH_LEAST, BATCH_MOST);
}

static sizes measure(const stk__winograd_layer *l, stk__winograd_pass pass)
{
    const bool turned = pass == STK_WINOGRAD_DATA, sums = pass == STK_WINOGRAD_WEIGHTS;
    const int64_t side = STK_WINOGRAD_SIDE, panel = l->kernel->panel;
    sizes s = {.grid = {l->h, l->w, (l->h + side - 1) / side, (l->w + side - 1) / side},
               .input = turned ? l->k : l->c,
               .output = turned ? l->c : l->k};
    s.tiles = l->n * s.grid.rows * s.grid.columns;
    s.padded[0] = stk__winograd_panels(l->kernel, s.input) * panel;
    s.padded[1] = stk__winograd_panels(l->kernel, s.output) * panel;
    const int64_t channels = s.padded[0] + s.padded[1];
    s.spread =
        sums ? even_out(s.tiles, batch_of(channels), 1) : even_out(s.tiles, block_of(channels), BLOCK_FOUR);
    const int64_t blocks = (s.tiles + s.spread - 1) / s.spread;
    s.workers = sums ? l->threads : (int)at_most(l->threads, blocks);
    for (int i = 0; i < 2; i++) {
        s.spot[i] = stk__winograd_spot(s.padded[i] * s.spread);
        s.spots_bytes[i] = (size_t)((STK_WINOGRAD_SPOTS + sums) * s.spot[i]) * sizeof(float);
    }
    s.weights_spot = stk__winograd_spot(s.padded[1] * s.input);
    s.weights_bytes = (size_t)(STK_WINOGRAD_SPOTS * s.weights_spot) * sizeof(float);
    s.bias_bytes = (size_t)s.padded[1] * sizeof(float);
    s.patch_bytes = (size_t)(STK_WINOGRAD_SPOTS * (s.padded[0] > s.padded[1] ? s.padded[0] : s.padded[1])) *
                    sizeof(float);
    return s;
}

/* Scratch: weights (or their sums), bias; then of each thread its spots and a patch. The spots of the
 * weights' gradient belong to all. Panels are whole lines, so everything stays aligned. */
size_t stk__winograd_scratch_bytes(const stk__winograd_layer *layer, stk__winograd_pass pass)
{
    const sizes s = measure(layer, pass);
    const size_t spots = s.spots_bytes[0] + s.spots_bytes[1], workers = (size_t)s.workers;
    const bool shared = pass == STK_WINOGRAD_WEIGHTS;
    return s.weights_bytes + s.bias_bytes + (shared ? 1 : workers) * spots + workers * s.patch_bytes;
}

/* One call on its way. */
typedef struct run {
    const stk__winograd_layer *layer;
    const stk__winograd_io *io;
    sizes s;
    stk__winograd_weights weights;
    float *bias;         /* padded, or NULL */
    char *spots;         /* of thread 0, or of all */
    const float *from;   /* pictures that are transformed */
    float *to;           /* pictures that are made */
    int64_t first, last; /* tiles of the batch */
} run;

static float *own_spots(const run *r, int worker, int which)
{
    const size_t own = r->s.spots_bytes[0] + r->s.spots_bytes[1] + r->s.patch_bytes;
    return (float *)(void *)(r->spots + (size_t)worker * own + (which ? r->s.spots_bytes[0] : 0) +
                             (which > 1 ? r->s.spots_bytes[1] : 0));
}

static void on_pool(const run *r, void (*work)(void *, size_t, int), int64_t count)
{
    stk__pool_run(
        &(stk__pool_job){.run = work, .context = (void *)r, .count = (size_t)count, .workers = r->s.workers});
}

static void bring_weights(void *context, size_t item, int worker)
{
    (void)worker;
    const run *r = context;
    r->layer->kernel->weights_in(&r->weights, (int64_t)item);
}

/* --- forward, and the data gradient ----------------------------------------------------------------------
 */

static void multiply_all(const run *r, const float *v, float *m, int64_t tiles)
{
    const int64_t panels = r->s.padded[1] / r->layer->kernel->panel;
    for (int64_t spot = 0; spot < STK_WINOGRAD_SPOTS; spot++) {
        const stk__winograd_product product = {.v = v + spot * r->s.spot[0],
                                               .u = r->weights.u + spot * r->s.weights_spot,
                                               .m = m + spot * r->s.spot[1],
                                               .tiles = tiles,
                                               .spread = r->s.spread,
                                               .c = r->s.input,
                                               .panels = panels};
        r->layer->kernel->multiply(&product);
    }
}

static void run_block(void *context, size_t item, int worker)
{
    const run *r = context;
    const int64_t first = (int64_t)item * r->s.spread;
    stk__winograd_span span = {.grid = &r->s.grid,
                               .c = r->s.input,
                               .first = first,
                               .last = at_most(first + r->s.spread, r->s.tiles),
                               .spots = own_spots(r, worker, 0),
                               .spread = r->s.spread,
                               .spot = r->s.spot[0],
                               .patch = own_spots(r, worker, 2)};
    r->layer->kernel->input(&span, r->from);
    multiply_all(r, span.spots, own_spots(r, worker, 1), span.last - span.first);
    span.c = r->s.output;
    span.spots = own_spots(r, worker, 1);
    span.spot = r->s.spot[1];
    r->layer->kernel->output(&span, r->bias, r->to);
}

static void place_bias(run *r, const float *bias)
{
    if (!bias) {
        r->bias = NULL;
        return;
    }
    memset(r->bias, 0, r->s.bias_bytes);
    memcpy(r->bias, bias, (size_t)r->s.output * sizeof *bias);
}

static void run_blocks(run *r)
{
    on_pool(r, bring_weights, r->s.padded[1] / r->layer->kernel->panel);
    on_pool(r, run_block, (r->s.tiles + r->s.spread - 1) / r->s.spread);
}

/* --- the weights' gradient -------------------------------------------------------------------------------
 */

static void transform_chunk(void *context, size_t item, int worker)
{
    const run *r = context;
    const int64_t begin = (int64_t)item * CHUNK, panel = r->layer->kernel->panel;
    float *patch = own_spots(r, 0, 2) + (size_t)worker * r->s.patch_bytes / sizeof(float);
    for (int i = 0; i < 2; i++) {
        const stk__winograd_span span = {.grid = &r->s.grid,
                                         .c = i ? r->s.output : r->s.input,
                                         .first = r->first + begin,
                                         .last = at_most(r->first + begin + CHUNK, r->last),
                                         .spots = own_spots(r, 0, i) + begin * panel,
                                         .spread = r->s.spread,
                                         .spot = r->s.spot[i],
                                         .patch = patch};
        if (i)
            r->layer->kernel->gradient(&span, r->io->dy);
        else
            r->layer->kernel->input(&span, r->io->x);
    }
}

/* Spot by spot and panel by panel: sums of products, and the tiles' sums behind them. */
static void add_up_item(void *context, size_t item, int worker)
{
    (void)worker;
    const run *r = context;
    const int64_t panel = r->layer->kernel->panel, panels = r->s.padded[1] / panel;
    const int64_t spot = (int64_t)item / panels, at = (int64_t)item % panels, tiles = r->last - r->first;
    float *m = own_spots(r, 0, 1) + spot * r->s.spot[1] + at * r->s.spread * panel;
    if (spot == STK_WINOGRAD_SPOTS) {
        float *sums = r->bias + at * panel;
        for (int64_t i = 0; i < tiles * panel; i++)
            sums[i % panel] += m[i];
        return;
    }
    const stk__winograd_product product = {.v = own_spots(r, 0, 0) + spot * r->s.spot[0],
                                           .m = m,
                                           .s = r->weights.u + spot * r->s.weights_spot +
                                                at * r->s.input * panel,
                                           .tiles = tiles,
                                           .spread = r->s.spread,
                                           .c = r->s.input,
                                           .panels = 1,
                                           .first = r->first == 0};
    r->layer->kernel->add_up(&product);
}

static void return_weights(void *context, size_t item, int worker)
{
    (void)worker;
    const run *r = context;
    r->layer->kernel->weights_out(&r->weights, (int64_t)item);
}

static void run_batches(run *r)
{
    const int64_t panels = r->s.padded[1] / r->layer->kernel->panel;
    memset(r->bias, 0, r->s.bias_bytes);
    for (; r->first < r->s.tiles; r->first += r->s.spread) {
        r->last = at_most(r->first + r->s.spread, r->s.tiles);
        on_pool(r, transform_chunk, (r->last - r->first + CHUNK - 1) / CHUNK);
        on_pool(r, add_up_item, (STK_WINOGRAD_SPOTS + 1) * panels);
    }
    if (r->io->dweights) on_pool(r, return_weights, panels);
    for (int64_t k = 0; r->io->dbias && k < r->s.output; k++)
        r->io->dbias[k] = r->bias[k] + (r->io->add ? r->io->dbias[k] : 0);
}

void stk__winograd_run(const stk__winograd_layer *layer, stk__winograd_pass pass, const stk__winograd_io *io)
{
    run r = {.layer = layer, .io = io, .s = measure(layer, pass)};
    const bool turned = pass == STK_WINOGRAD_DATA;
    char *scratch = io->scratch;
    r.weights = (stk__winograd_weights){.plain = io->weights,
                                        .plain_out = io->dweights,
                                        .u = (float *)(void *)scratch,
                                        .spot = r.s.weights_spot,
                                        .input = r.s.input,
                                        .output = r.s.output,
                                        .turned = turned,
                                        .add = io->add};
    r.bias = (float *)(void *)(scratch + r.s.weights_bytes);
    r.spots = scratch + r.s.weights_bytes + r.s.bias_bytes;
    r.from = turned ? io->dy : io->x;
    r.to = turned ? io->dx : io->y;
    if (pass == STK_WINOGRAD_WEIGHTS) {
        run_batches(&r);
        return;
    }
    place_bias(&r, turned ? NULL : io->bias);
    run_blocks(&r);
}
