/* SPDX-License-Identifier: Apache-2.0 */
/* Compute engines for the operations of op.h. One table each (reference, onednn, torch), and this
 * front, which checks what it is given.
 *
 *     stk__engine *engine;
 *     if (stk__engine_open(&engine, &(stk__engine_options){.name = "onednn"}, &error) != STK_OK) …
 *     stk__arena_create(engine, bytes, &arena, &error);                 // once
 *     stk__tensor_create(engine, &(stk__tensor_desc){…}, arena, offset, &x, &error);
 *     stk__op_create(engine, &spec, &conv, &error);                     // once per shape
 *     stk__op_forward(conv, &io, &error);                               // allocates nothing
 *
 * All calls of one engine come from one thread. Work may be queued: it is done after stk__tensor_map or
 * stk__engine_sync. Only engines know how a tensor lies in memory; others see it through map.
 *
 * Mixed precision (stk__op_spec.half = H, bf16 or f16). What an operation is given:
 *   x[i], dx[i]   H; f32 where f32_inputs says so
 *   y, dy         H; f32 with f32_output
 *   param, dparam, buffer, and the statistics, masks or states in saved: as without; dparam is f32
 * What it must compute, whoever computes it: as if every x and dy were widened to f32, the f32 operation
 * done, and y and dx rounded to H (nearest even; too large: infinite). Products (stk__op_is_product) round
 * their parameters, and an x that is f32, to H first, as the hardware for it takes them so; they may round
 * what they keep inside (states of an LSTM), too, but add in f32. Others (batch norm, affine) use their
 * parameters and an f32 x as they are. Losses and metrics have no H: the prediction is f32. tensor_add and
 * tensor_copy take any two of f32 and H. An engine is native (it is given these tensors), or widened: the
 * front (half_op.h) makes f32 of them in scratch around the engine's own f32 operation, which never sees H;
 * that wants host memory and engines that queue nothing, or an engine that rounds for it (tensor_round). */
#ifndef STK_ENGINE_ENGINE_H
#define STK_ENGINE_ENGINE_H

#include "core/cpu_level.h"
#include "engine/op.h"

#include <stddef.h>

typedef struct stk__engine stk__engine; /* open/close */
typedef struct stk__arena stk__arena;   /* create/destroy; memory for tensors */
typedef struct stk__tensor stk__tensor; /* create/destroy; a handle */
typedef struct stk__op stk__op;         /* create/destroy; an operation ready to run at one shape */
typedef struct stk__half_op stk__half_op;
typedef struct stk__graph stk__graph; /* begin/end, destroy; work that is launched as a whole */

/* Algorithm of 3x3 convolutions with stride 1 (others are always direct); in the order of train.conv. */
typedef enum stk__conv {
    STK_CONV_AUTO, /* what is faster, pass by pass: by measured rules */
    STK_CONV_DIRECT,
    STK_CONV_WINOGRAD /* wherever it can be used; rounds differently */
} stk__conv;

typedef struct stk__engine_options {
    const char *name;   /* "reference", "onednn", "torch"; NULL or "auto": the best that is here */
    int threads;        /* 0: the CPU budget */
    stk__conv conv;     /* engines with one algorithm do not ask */
    bool no_tf32;       /* CUDA: f32 as it is; else products may be TF32 */
    bool deterministic; /* CUDA: no algorithm whose sums depend on who comes first */
    bool tune; /* STK_CONV_AUTO: measure both when an operation is made, and remember it on disk; CUDA: cuDNN
                  measures at the first run of each shape */
    bool graphs; /* CUDA: work on a stream that can be captured, see stk__graph_begin */
    bool dry;    /* for plans: sizes only. Arenas and tensors have no memory, nothing can be run, read or
                    written;    nothing is measured, no threads start, PyTorch is not opened */
    const char
        *device; /* torch: "cpu", "cuda:0"; NULL or "auto": the best that it can use. Others are the CPU's */
} stk__engine_options;

/* What an engine does with activations of 16 bits. */
typedef enum stk__half_support {
    STK_HALF_NONE,    /* refused */
    STK_HALF_WIDENED, /* stored so, computed in f32 by the front's help: saves memory, costs time */
    STK_HALF_NATIVE,  /* takes them itself, but is not faster than in f32 here */
    STK_HALF_FAST     /* takes them itself, and the hardware gains by it */
} stk__half_support;

enum { STK_ENGINE_WHY = 160 };

typedef struct stk__engine_info {
    const char *name; /* "onednn" */
    char version[64]; /* "oneDNN 2.6.3, AVX2"; empty: nothing to say */
    int threads;
    stk__half_support bf16, f16; /* an engine with f16 knows stk__update.skipped */
    const char *half_why;        /* where one of them is not fast: why; NULL: nothing to say */
    bool fuses;                  /* has operations with a relu in them (stk__op_spec.relu) */
    stk_device_kind device;      /* whose memory its tensors are in: STK_DEVICE_CPU or STK_DEVICE_CUDA */
    int32_t device_index;
    uint32_t kernel_layout; /* how it likes weights of convolutions to lie (stk__tensor_desc); 0: densely */
    bool tf32;              /* products of f32 are computed in TF32, which has 10 bits behind the point */
    bool dry;               /* as the option says */
    uint64_t program_bytes; /* host memory of a process that trains with it, beside tensors, batches and what
                               grows with the network: code, libraries, stacks (engine_program.c) */
    const char *memory_why; /* why plans of its host memory are estimates; NULL: they are not */
    bool graphs;            /* it was asked for graphs and has them */
    char graphs_why[96];    /* asked for, but it has none: why; else empty */
    bool draws; /* since the first dropout was created: it draws on its device, wants sample_ids there, and
                   graphs may have it */
    bool measures, deterministic; /* CUDA: as the options of these names say */
    char note[160]; /* something its user should know (an instruction set that was capped, why "auto" is not
                       a better one), or empty */
    char gpu_why[STK_ENGINE_WHY]; /* it was to find the best device, and a GPU that is here is not used: why;
                                   * else empty
                                   */
} stk__engine_info;

/* --- the front -------------------------------------------------------------------------------------------
 */

/* STK_ERROR_UNSUPPORTED: not available here, and why; STK_ERROR_CONFIG: no such engine. */
stk_status stk__engine_open(stk__engine **engine, const stk__engine_options *options, stk_error *error);
void stk__engine_close(stk__engine **engine); /* after everything made with it; accepts NULL inside */
const stk__engine_info *stk__engine_describe(const stk__engine *engine);
const char *stk__engine_names(int index); /* 0, 1, …; NULL at the end */

/* Waits for everything queued. */
stk_status stk__engine_sync(stk__engine *engine, stk_error *error);

/* For who wants to know whether the engine is behind without waiting for it: mark is the end of what is
 * queued now, and busy says that the last one has not been reached. A failure is reported by the next call.
 */
void stk__engine_mark(stk__engine *engine);
bool stk__engine_is_busy(const stk__engine *engine);

/* The stream (a CUstream; NULL is the default one) on which an engine queues its work, for batches in that
 * GPU's memory. false: it works in host memory. */
bool stk__engine_stream(const stk__engine *engine, void **stream);

/* Graphs: what is queued between begin and end is not done, but kept; launch queues all of it at once, on the
 * same tensors with what they hold then. Numbers that the host hands to operations stay as they were, but for
 * dropout's seed and epoch, which are those of its last pass outside of a graph (info.draws). Nothing
 * may be mapped, copied from or to the host, or waited for in between: that fails. After a failure in between
 * end must be called all the same; it gives no graph then. Wait (sync) before one is destroyed that may run.
 * Only where the engine's info says that it has graphs. */
stk_status stk__graph_begin(stk__engine *engine, stk_error *error);
stk_status stk__graph_end(stk__engine *engine, stk__graph **graph, stk_error *error); /* NULL if it fails */
stk_status stk__graph_launch(stk__graph *graph, stk_error *error);
void stk__graph_destroy(stk__graph **graph);

/* Memory of the engine's device. -1: unknown, or the host's. */
typedef struct stk__engine_memory {
    int64_t total_bytes, free_bytes; /* all programs together */
    int64_t peak_bytes;              /* maximum seen in use since the engine was opened */
} stk__engine_memory;
stk__engine_memory stk__engine_measure(stk__engine *engine);

typedef struct stk__tensor_desc {
    stk__shape shape;
    stk_dtype dtype;
    uint32_t layout; /* 0: dense in the order of shape; else the engine's own number */
} stk__tensor_desc;

/* Of a parameter, its gradient and whatever else goes with it. */
stk__tensor_desc stk__param_desc(const stk__engine *engine, const stk__op_param *param);

/* Bytes a tensor takes in an arena, rounded up to the alignment of 64. */
size_t stk__tensor_size(const stk__engine *engine, const stk__tensor_desc *desc);

/* Zeroed. On CPUs pages cost nothing until they are written. Of an engine that is dry: a size, no memory. */
stk_status stk__arena_create(stk__engine *engine, size_t size_bytes, stk__arena **arena, stk_error *error);
void stk__arena_destroy(stk__arena **arena);

/* A tensor at offset (a multiple of 64) of an arena, which must outlive it. Tensors may overlap. */
stk_status stk__tensor_create(stk__engine *engine, const stk__tensor_desc *desc, stk__arena *arena,
                              size_t offset_bytes, stk__tensor **tensor, stk_error *error);
/* A tensor around foreign memory (a batch's slot), without a copy; dense only. Memory of the host can only be
 * mapped by an engine whose own is elsewhere: operations take it only where they say so (sample_ids). */
stk_status stk__tensor_wrap(stk__engine *engine, const stk_tensor *memory, stk__tensor **tensor,
                            stk_error *error);
void stk__tensor_destroy(stk__tensor **tensor);
/* What it holds is not needed any more: until it is written again it may be anything. */
void stk__tensor_drop(stk__tensor *tensor);
const stk__tensor_desc *stk__tensor_describe(const stk__tensor *tensor);

/* The tensor's content as a dense host view, after waiting for it. Unmap with changed = true puts it back. */
stk_status stk__tensor_map(stk__tensor *tensor, stk_tensor *view, stk_error *error);
stk_status stk__tensor_unmap(stk__tensor *tensor, const stk_tensor *view, bool changed, stk_error *error);
/* As map for who writes all of it: the old values are not fetched, without any wait. */
stk_status stk__tensor_map_new(stk__tensor *tensor, stk_tensor *view, stk_error *error);
/* Dense bytes in and out, for code that has them elsewhere anyway. size must fit. */
stk_status stk__tensor_write(stk__tensor *tensor, const void *data, size_t size_bytes, stk_error *error);
stk_status stk__tensor_read(stk__tensor *tensor, void *data, size_t size_bytes, stk_error *error);

/* Bytes of a tensor on their way to the host: those that it has when the copy is begun, whatever is queued
 * after it. Engines in host memory copy at once. Dense tensors only. */
typedef struct stk__fetch { /* the caller's memory, zeroed */
    stk__tensor *tensor;    /* NULL: nothing is on its way */
    void *data;             /* where they will be; the caller's until it is finished */
    size_t size_bytes;
    stk_tensor view; /* the engine's */
} stk__fetch;
stk_status stk__fetch_begin(stk__fetch *fetch, stk__tensor *tensor, void *data, size_t size_bytes,
                            stk_error *error);
stk_status stk__fetch_ask(const stk__fetch *fetch, bool *there, stk_error *error); /* never waits */
/* Waits if it must; then data is filled. */
stk_status stk__fetch_finish(stk__fetch *fetch, stk_error *error);

stk_status stk__tensor_zero(stk__tensor *tensor, stk_error *error);
/* target += source; these two take f32 and 16-bit types, source of another than target, too */
stk_status stk__tensor_add(stk__tensor *target, const stk__tensor *source, stk_error *error);
stk_status stk__tensor_copy(stk__tensor *target, const stk__tensor *source, stk_error *error);

/* spec is described (op.h) first; its defaults are filled in. */
stk_status stk__op_create(stk__engine *engine, const stk__op_spec *spec, stk__op **op, stk_error *error);
void stk__op_destroy(stk__op **op);

/* Memory that the caller provides with every run: saved lives from forward to backward, scratch only during a
 * call. Both are u8 tensors of that many bytes; 0: not needed. */
typedef struct stk__op_needs {
    size_t saved_bytes, scratch_bytes;
    size_t library_bytes; /* not the caller's: what the engine's library keeps on the host for the operation,
                             descriptors and generated code; an estimate */
    bool dx_apart;        /* its dx may not lie in dy's memory, though the form allows it */
    size_t inside_bytes;  /* not the caller's either: what the library allocates while it runs; 0: none */
    size_t adding_bytes;  /* the same where gradients are added up (stk__op_io.add_dparam) */
    bool generates;       /* the library generates code for it that library_bytes does not count */
} stk__op_needs;
stk__op_needs stk__op_memory(const stk__op *op);
/* "winograd", "direct", "winograd forward, direct backward" …: where an engine has the choice; else "". */
const char *stk__op_method(const stk__op *op);
/* Another of these words, for a resumed run: where it was left to measuring (stk__engine_options.tune).
 * False: it was not, or no such word; nothing changes then. */
bool stk__op_choose(stk__op *op, const char *method);

/* Everything one run reads and writes. Arrays have the lengths of the spec and its form. */
typedef struct stk__op_io {
    stk__tensor *const
        *x;         /* inputs; backward of conv, conv_transpose and linear reads them for dparam alone */
    stk__tensor *y; /* output */
    stk__tensor *const *param;  /* parameters; NULL without */
    stk__tensor *const *buffer; /* buffers; NULL without */
    stk__tensor *saved, *scratch;
    stk__tensor *plus; /* forward of an operation that joins: NULL, or what is added to its output */
    bool plus_relu;    /* … and a relu behind that */

    stk__tensor *const
        *dx; /* gradients to write, NULL entries: not wanted. Losses: dx[0], written by forward */
    stk__tensor *dy;
    stk__tensor *dy2;           /* NULL, or a second part, which is added first; dy may change then */
    stk__tensor *const *dparam; /* NULL, or NULL entries: not wanted (frozen) */
    bool add_dparam;            /* dparam += instead of = */

    bool training;     /* batch_norm, dropout */
    bool again;        /* recomputed: running statistics were updated already */
    double grad_scale; /* losses: factor of the gradient */
    uint64_t seed;     /* dropout draws by (seed, epoch, sample id, STK_OPERATION_DROPOUT + random_layer) */
    uint32_t epoch;
    const stk__tensor *sample_ids; /* [n] i64; NULL without dropout */
} stk__op_io;

stk_status stk__op_forward(stk__op *op, const stk__op_io *io, stk_error *error);
stk_status stk__op_backward(stk__op *op, const stk__op_io *io, stk_error *error);

/* --- all parameters at once ------------------------------------------------------------------------------
 */

typedef enum stk__optimizer { STK_OPTIMIZER_ADAMW, STK_OPTIMIZER_SGD } stk__optimizer;

typedef struct stk__tensor_list {
    stk__tensor *const *tensor;
    size_t count;
} stk__tensor_list;

/* One step of PyTorch's AdamW or SGD over all parameters; gradients are scaled by grad_scale and by clipping,
 * and zeroed behind. All lists have one length; no first list: SGD without momentum. */
typedef struct stk__update {
    stk__optimizer kind;
    stk__tensor_list param, grad;
    stk__tensor_list first;  /* AdamW: exp_avg; SGD: momentum_buffer (absent without momentum) */
    stk__tensor_list second; /* AdamW: exp_avg_sq */
    int64_t step;            /* 1, 2, … */
    double lr, weight_decay, beta1, beta2, eps, momentum;
    bool leave_grad;      /* it need not be zeroed: whoever writes it next does not add */
    double grad_scale;    /* 0: 1 */
    double max_grad_norm; /* 0: no clipping; as clip_grad_norm_: factor min(1, max / (norm + 1e-6)) */
    stk__tensor *norm;    /* f64 [2]: the norm before clipping is added to [0], 1 to [1]; NULL: not wanted */
    /* f64 [1], for f16: becomes 1 when the norm of the gradients is not finite. Then the update is left out
     * as a whole: the gradients are zeroed and nothing else is touched, norm neither. Otherwise it becomes 0.
     * An engine that queues decides on its device; who asks for it waits when it is read. NULL: every update
     * is made. */
    stk__tensor *skipped;
} stk__update;

stk_status stk__engine_update(stk__engine *engine, const stk__update *update, stk_error *error);

/* average = average * decay + value * (1 - decay), for each pair */
stk_status stk__engine_average(stk__engine *engine, const stk__tensor_list *average,
                               const stk__tensor_list *value, double decay, stk_error *error);

/* --- what an engine provides -------------------------------------------------------------------------------
 */

typedef struct stk__engine_ops {
    const char *name;
    /* Whether the driver lists a GPU that it could use; else why (empty: there is none). NULL: it is the
     * CPU's. */
    bool (*lists_gpu)(char why[STK_ENGINE_WHY]);
    stk_status (*open)(stk__engine **engine, const stk__engine_options *options, stk_error *error);
    void (*close)(stk__engine *engine);
    stk_status (*sync)(stk__engine *engine, stk_error *error); /* NULL, these three: nothing is ever queued */
    void (*mark)(stk__engine *engine);
    bool (*is_busy)(const stk__engine *engine);
    bool (*stream)(const stk__engine *engine, void **stream); /* NULL: there is none */
    stk__engine_memory (*measure)(stk__engine *engine);       /* NULL: unknown */

    stk_status (*graph_begin)(stk__engine *engine, stk_error *error); /* all NULL: it has no graphs */
    stk_status (*graph_end)(stk__engine *engine, stk__graph **graph, stk_error *error);
    stk_status (*graph_launch)(stk__graph *graph, stk_error *error);
    void (*graph_destroy)(stk__graph *graph);

    size_t (*tensor_size)(const stk__engine *engine, const stk__tensor_desc *desc); /* NULL: dense */
    stk_status (*arena_create)(stk__engine *engine, size_t size_bytes, stk__arena **arena, stk_error *error);
    void (*arena_destroy)(stk__arena *arena);
    /* Makes the engine's own part (tensor->own) of a tensor whose memory is set; NULL: there is none. */
    stk_status (*tensor_create)(stk__tensor *tensor, stk_error *error);
    void (*tensor_destroy)(stk__tensor *tensor);
    void (*tensor_drop)(stk__tensor *tensor); /* NULL: nothing to give back */
    stk_status (*tensor_map)(stk__tensor *tensor, stk_tensor *view, stk_error *error); /* NULL: host memory */
    stk_status (*tensor_map_new)(stk__tensor *tensor, stk_tensor *view, stk_error *error); /* NULL: map */
    stk_status (*tensor_unmap)(stk__tensor *tensor, const stk_tensor *view, bool changed, stk_error *error);
    /* Of engines that queue: begins to copy into view, which is the engine's until it is unmapped; asks and
     * waits for that. All NULL: map does it. */
    stk_status (*fetch_begin)(stk__tensor *tensor, stk_tensor *view, stk_error *error);
    stk_status (*fetch_ask)(stk__tensor *tensor, const stk_tensor *view, bool *there, stk_error *error);
    stk_status (*fetch_wait)(stk__tensor *tensor, const stk_tensor *view, stk_error *error);
    stk_status (*tensor_zero)(stk__tensor *tensor, stk_error *error);
    /* Native engines: of f32 and 16-bit types, as above; others: f32 += f32, and copies of one type. */
    stk_status (*tensor_add)(stk__tensor *target, const stk__tensor *source, stk_error *error);
    stk_status (*tensor_copy)(stk__tensor *target, const stk__tensor *source, stk_error *error);
    /* target = source, of f32 and 16-bit types, rounded to `through` on the way (STK_DTYPE_NONE: not). NULL:
     * host memory, and the front does it. */
    stk_status (*tensor_round)(stk__tensor *target, const stk__tensor *source, stk_dtype through,
                               stk_error *error);

    /* The front has filled spec, form and engine; the engine sets needs and own. */
    stk_status (*op_create)(stk__op *op, stk_error *error);
    void (*op_destroy)(stk__op *op);
    bool (*op_choose)(stk__op *op, const char *method); /* sets op->method; NULL: there is never a choice */
    stk_status (*forward)(stk__op *op, const stk__op_io *io, stk_error *error);
    stk_status (*backward)(stk__op *op, const stk__op_io *io, stk_error *error);

    stk_status (*update)(stk__engine *engine, const stk__update *update, stk_error *error);
    stk_status (*average)(stk__engine *engine, const stk__tensor_list *average, const stk__tensor_list *value,
                          double decay, stk_error *error);
} stk__engine_ops;

/* The first member of every engine's struct. */
struct stk__engine {
    const stk__engine_ops *ops;
    stk__engine_info info;
    stk__cpu_level level; /* the front's, for its loops */
};

struct stk__graph {
    stk__engine *engine;
};

struct stk__arena {
    stk__engine *engine;
    void *memory; /* host engines: the bytes */
    size_t size_bytes;
    bool backed; /* all of it takes the host's memory already */
};

struct stk__tensor {
    stk__engine *engine;
    stk__tensor_desc desc;
    size_t size_bytes;
    void *memory; /* host engines: where it lies; others: its address there */
    void *place;  /* its own in an arena: memory, unless the engine has it elsewhere for a while; else NULL */
    bool on_host; /* lies in host memory, though the engine's own is elsewhere: it can only be mapped */
    void *own;    /* the engine's */
    void *view;   /* the engine's, too: how it shows all of it, for as long as it lies in place */
    int turn;     /* the engine's: of the allocations of its library, the one that is this tensor's */
    const stk__tensor *self; /* set by engines that keep views: a copy of this struct has none */
};

struct stk__op {
    stk__engine *engine;
    stk__op_spec spec;
    stk__op_form form;
    stk__op_needs needs;
    const char *method; /* NULL: there is no choice */
    bool joins;         /* its forward knows what to do with plus */
    bool adds;          /* its backward adds dy2 itself; else the front does it before */
    void *own;          /* the engine's */
    stk__half_op *half; /* the front's: the engine's operation is in there; NULL: it is this one */
};

#define STK__ENGINE(name) extern const stk__engine_ops stk__engine_##name;
#include "engine/engines.list"
#undef STK__ENGINE

#endif
