/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of PyTorch's operators by name.
 *
 *     stk__torch_scope s = stk__torch_begin(engine, error);
 *     const stk__torch_handle x = stk__torch_dense(&s, io->x[0]), y = stk__torch_dense(&s, io->y);
 *     STK_TORCH_RUN(&s, "aten::relu", "out", STK_TORCH_T(x), STK_TORCH_T(y));
 *     return stk__torch_end(&s);
 *
 * A scope holds every handle that is made in it and releases them all at its end. After a failure nothing
 * more is done: the rest of a function runs through, and the end says what went wrong. Operators that take a
 * Scalar cannot be called this way (PyTorch's interface has no conversion for them); tensors of one value
 * stand in for it. */
#ifndef STK_ENGINE_TORCH_CALL_H
#define STK_ENGINE_TORCH_CALL_H

#include "engine/torch/torch_engine.h"

#include "core/align.h"

enum { STK_TORCH_HELD = 128, STK_TORCH_ARGS = 16, STK_TORCH_RESULTS = 3 };

typedef struct stk__torch_scope {
    stk__torch *engine;
    stk_error *error;
    stk_status status; /* of the first failure */
    stk__torch_handle held[STK_TORCH_HELD];
    int count;
} stk__torch_scope;

stk__torch_scope stk__torch_begin(const stk__engine *engine, stk_error *error);
stk_status stk__torch_end(stk__torch_scope *scope);
/* Releases what has come behind the first `count` handles: for loops. */
void stk__torch_release(stk__torch_scope *scope, int count);

/* --- arguments
 * -------------------------------------------------------------------------------------------- */

typedef enum stk__torch_kind {
    STK_TORCH_NONE,        /* an optional that is not given */
    STK_TORCH_TENSOR,      /* NULL: the call is not made, something has failed before */
    STK_TORCH_SOME_TENSOR, /* optional; NULL: not given */
    STK_TORCH_INT,         /* or bool, or a type that is not optional */
    STK_TORCH_SOME_INT,    /* optional int, or type */
    STK_TORCH_REAL,
    STK_TORCH_SOME_REAL,
    STK_TORCH_INTS,
    STK_TORCH_SOME_INTS,
    STK_TORCH_BOOLS,    /* count bits of integer, the lowest first */
    STK_TORCH_TENSORS,  /* list of handles */
    STK_TORCH_VIEWS,    /* list of our tensors, each as one row */
    STK_TORCH_REPEATED, /* list of one handle, count times */
    STK_TORCH_TEXT,
    STK_TORCH_KINDS
} stk__torch_kind;

typedef struct stk__torch_arg {
    stk__torch_kind kind;
    size_t count; /* of lists */
    union {
        stk__torch_handle tensor;
        int64_t integer;
        double real;
        const int64_t *ints;
        const stk__torch_handle *tensors;
        stk__tensor *const *views;
        const char *text;
    };
} stk__torch_arg;

#define STK_TORCH_T(handle)         ((stk__torch_arg){.kind = STK_TORCH_TENSOR, .tensor = (handle)})
#define STK_TORCH_T_OR_NONE(handle) ((stk__torch_arg){.kind = STK_TORCH_SOME_TENSOR, .tensor = (handle)})
#define STK_TORCH_I(value)          ((stk__torch_arg){.kind = STK_TORCH_INT, .integer = (value)})
#define STK_TORCH_SOME_I(value)     ((stk__torch_arg){.kind = STK_TORCH_SOME_INT, .integer = (value)})
#define STK_TORCH_F(value)          ((stk__torch_arg){.kind = STK_TORCH_REAL, .real = (value)})
#define STK_TORCH_SOME_F(value)     ((stk__torch_arg){.kind = STK_TORCH_SOME_REAL, .real = (value)})
#define STK_TORCH_INT_LIST(values, n)                                                                        \
    ((stk__torch_arg){.kind = STK_TORCH_INTS, .count = (n), .ints = (values)})
#define STK_TORCH_SOME_INT_LIST(values, n)                                                                   \
    ((stk__torch_arg){.kind = STK_TORCH_SOME_INTS, .count = (n), .ints = (values)})
#define STK_TORCH_BITS(bits, n) ((stk__torch_arg){.kind = STK_TORCH_BOOLS, .count = (n), .integer = (bits)})
#define STK_TORCH_LIST(handles, n)                                                                           \
    ((stk__torch_arg){.kind = STK_TORCH_TENSORS, .count = (n), .tensors = (handles)})
#define STK_TORCH_ALL(list)                                                                                  \
    ((stk__torch_arg){.kind = STK_TORCH_VIEWS, .count = (list).count, .views = (list).tensor})
#define STK_TORCH_SAME(handle, n)                                                                            \
    ((stk__torch_arg){.kind = STK_TORCH_REPEATED, .count = (n), .tensor = (handle)})
#define STK_TORCH_WORD(word) ((stk__torch_arg){.kind = STK_TORCH_TEXT, .text = (word)})
#define STK_TORCH_NOTHING    ((stk__torch_arg){.kind = STK_TORCH_NONE})

/* --- calls
 * ------------------------------------------------------------------------------------------------ */

typedef struct stk__torch_request {
    const char *name, *overload;
    const stk__torch_arg *args;
    int arg_count;
    int result_count;                            /* tensors that come back */
    stk__torch_handle result[STK_TORCH_RESULTS]; /* filled, held by the scope; NULL: failed or not made */
} stk__torch_request;

/* Returns the first result. */
stk__torch_handle stk__torch_call(stk__torch_scope *scope, stk__torch_request *request);

#define STK_TORCH_REQUEST(operator_name, overload_name, results, ...)                                        \
    (&(stk__torch_request){.name = (operator_name),                                                          \
                           .overload = (overload_name),                                                      \
                           .args = (const stk__torch_arg[]){__VA_ARGS__},                                    \
                           .arg_count =                                                                      \
                               sizeof((const stk__torch_arg[]){__VA_ARGS__}) / sizeof(stk__torch_arg),       \
                           .result_count = (results)})
#define STK_TORCH_RUN(scope, name, overload, ...)                                                            \
    stk__torch_call((scope), STK_TORCH_REQUEST((name), (overload), 1, __VA_ARGS__))
#define STK_TORCH_RUN_VOID(scope, name, overload, ...)                                                       \
    stk__torch_call((scope), STK_TORCH_REQUEST((name), (overload), 0, __VA_ARGS__))

/* Records failures of other calls of the interface; returns success. */
bool stk__torch_went_well(stk__torch_scope *scope, int32_t result, const char *what);
stk__torch_handle stk__torch_hold(stk__torch_scope *scope, stk__torch_handle handle);

/* --- tensors over memory of ours -----------------------------------------------------------------------
 */

/* How a tensor is to be seen. offset counts elements. */
typedef struct stk__torch_form {
    int ndim;
    int64_t size[STK_OP_DIMS + 1], stride[STK_OP_DIMS + 1];
    int64_t offset;
    int32_t dtype; /* PyTorch's number */
} stk__torch_form;

/* NULL for an absent tensor. */
stk__torch_handle stk__torch_view(stk__torch_scope *scope, const stk__tensor *tensor,
                                  const stk__torch_form *form);
/* As its shape says, in its layout. */
stk__torch_handle stk__torch_dense(stk__torch_scope *scope, const stk__tensor *tensor);
/* In another shape of as many values, densely. */
stk__torch_handle stk__torch_shaped(stk__torch_scope *scope, const stk__tensor *tensor,
                                    const stk__shape *shape);
/* All values but those of the last dimension are rows: [rows c]. */
stk__torch_handle stk__torch_rows(stk__torch_scope *scope, const stk__tensor *tensor, int64_t c);
/* Pictures [n h w c] as PyTorch counts them, [n c h w] in channels_last order; others [.. c] are [rows c]. */
stk__torch_handle stk__torch_picture(stk__torch_scope *scope, const stk__tensor *tensor,
                                     const stk__shape *shape);
/* A part of saved or scratch memory. */
stk__torch_handle stk__torch_part(stk__torch_scope *scope, const stk__tensor *memory, size_t offset_bytes,
                                  const stk__torch_form *form);
stk__torch_form stk__torch_dense_form(const stk__torch *engine, stk_dtype dtype, const stk__shape *shape);

/* A tensor of one value on the host, which goes with tensors of any device. f64. */
stk__torch_handle stk__torch_number(stk__torch_scope *scope, double value);
/* One where the engine's tensors are. By a number on the host CUDA does not divide: it multiplies by the
 * reciprocal, and 49 / 49 is less than 1. */
stk__torch_handle stk__torch_divisor(stk__torch_scope *scope, double value);

/* --- what many operations do -----------------------------------------------------------------------------
 */

/* target = source, of any layouts and types */
void stk__torch_copy(stk__torch_scope *scope, stk__torch_handle target, stk__torch_handle source);
/* Before an operator without an output argument: its result belongs into this tensor, whose memory the
 * operator does not read (torch_place.h). NULL: nothing is expected. */
void stk__torch_expect(const stk__tensor *tensor);
/* The tensor becomes that result: nothing is left to do where it lies there; else it takes over the memory,
 * which must have no other owner, if the layout is the same; else they are copied. */
void stk__torch_take(stk__torch_scope *scope, stk__tensor *tensor, stk__torch_handle result);
/* The same of a picture, as stk__torch_picture sees it. */
void stk__torch_take_picture(stk__torch_scope *scope, stk__tensor *tensor, const stk__shape *shape,
                             stk__torch_handle result);
/* target += factor x source, which may be broadcast */
void stk__torch_add(stk__torch_scope *scope, stk__torch_handle target, stk__torch_handle source,
                    double factor);
/* target += factor x a x b */
void stk__torch_add_product(stk__torch_scope *scope, stk__torch_handle target, stk__torch_handle a,
                            stk__torch_handle b, double factor);
/* The gradient of a parameter is written, or added. */
void stk__torch_learn(stk__torch_scope *scope, const stk__op_io *io, int param, stk__torch_handle gradient);
/* The same for a result without another owner: where it is written it is taken. */
void stk__torch_learn_own(stk__torch_scope *scope, const stk__op_io *io, int param,
                          stk__torch_handle gradient);
/* Before it: bits 2 and 4 of wanted are parameters 0 and 1. Added gradients are expected nowhere. */
void stk__torch_expect_learned(const stk__op_io *io, int64_t wanted);
/* An i64 of one value becomes one more. */
void stk__torch_count_up(stk__torch_scope *scope, const stk__tensor *tensor);
/* All values of target = value */
void stk__torch_fill(stk__torch_scope *scope, stk__torch_handle target, double value);
int32_t stk__torch_dtype(const stk__torch_scope *scope, stk_dtype dtype); /* PyTorch's number */
/* What a product multiplies: source, which has this type, in the operation's 16 bits if it has them. */
stk__torch_handle stk__torch_factor(stk__torch_scope *scope, const stk__op *op, stk__torch_handle source,
                                    stk_dtype dtype);
/* A new tensor of another type. */
stk__torch_handle stk__torch_convert(stk__torch_scope *scope, stk__torch_handle source, int32_t dtype);
stk__torch_handle stk__torch_multiply(stk__torch_scope *scope, stk__torch_handle a, stk__torch_handle b);
/* The sum of everything as f64 of no dimension. */
stk__torch_handle stk__torch_sum(stk__torch_scope *scope, stk__torch_handle values);

static inline stk__tensor *stk__torch_at(stk__tensor *const *tensors, int i)
{
    return tensors ? tensors[i] : NULL;
}

/* A place of size_bytes in memory of *total_bytes so far; returns its offset. */
static inline size_t stk__torch_reserve(size_t *total_bytes, size_t size_bytes)
{
    const size_t offset = *total_bytes;
    *total_bytes += stk__align_up(size_bytes, STK_LINE_BYTES);
    return offset;
}

#endif
