/* SPDX-License-Identifier: Apache-2.0 */
/* One operation of the augmentation: one file, one stk__augment_operation that says what it is called, what
 * it takes and what it does. operations.list has a line for each. */
#ifndef STK_AUGMENT_OPERATION_H
#define STK_AUGMENT_OPERATION_H

#include "augment/plan.h"
#include "core/random.h"

typedef struct stk__augment_operation stk__augment_operation;

/* What becomes of a sample, while the operations have their turns. */
typedef struct stk__transform_builder {
    const stk__plan_at *at;
    stk__resolved *out;                      /* steps, blur, noise, erase: written by their operations */
    double forward[6];                       /* source to target, so far */
    int order[STK_COLOUR_COUNT];             /* place of each colour step among the others */
    bool open;                               /* what the last gate decided */
    const stk__augment_operation *operation; /* whose turn it is, for the trace */
    stk__plan_trace *trace;                  /* NULL: no trace */
} stk__transform_builder;

struct stk__augment_operation {
    const char *name; /* for people: "rotation" */
    /* Rows of the section `augment`. Offsets are those of the operation's own settings. The first row is the
     * main value: the operation is on when it is set. */
    const stk__option *options;
    size_t option_count, settings_bytes;
    /* Once for each plan, on its own copy, fallbacks filled in: refuses what single ranges cannot, brings the
     * settings into the form that resolve reads. *on: is there anything to do? Messages name the whole key.
     */
    stk_status (*prepare)(void *settings, bool *on, stk_error *error);
    /* Once for each sample. at has everything but the number of the draw, which starts at 0. Any thread. */
    void (*resolve)(const void *settings, stk__random_at at, stk__transform_builder *builder);
    /* Instead of resolve, for those that mix two samples of w x h; settings start with stk__mix_settings. */
    void (*mix)(const void *settings, stk__random_at at, stk__mix *mix, int32_t w, int32_t h);
    /* The operation that decides whether this one has its turn at all, and stands before it; or NULL. It is
     * on when one of those behind it is. */
    const stk__augment_operation *gate;
};

#define OPERATION(name, number) extern const stk__augment_operation stk__operation_##name;
#include "augment/operations.list"
#undef OPERATION

/* ---- draws ---- */

static inline double stk__draw_unit(uint32_t word) /* [0, 1) */
{
    return word * 0x1p-32;
}

static inline double stk__draw_between(uint32_t word, const double range[2])
{
    return range[0] + (range[1] - range[0]) * stk__draw_unit(word);
}

/* An integer below bound. */
static inline int32_t stk__draw_below(uint32_t word, int32_t bound)
{
    return (int32_t)(((uint64_t)word * (uint32_t)bound) >> 32);
}

/* A prob of 1 always, one of 0 or less never. */
static inline bool stk__draw_chance(uint32_t word, double prob)
{
    return stk__draw_unit(word) < prob;
}

/* Beta(alpha, alpha), alpha > 0, from draw number at.draw on. */
double stk__draw_beta(stk__random_at at, double alpha);

/* ---- a value from a range, and a probability: what most operations take (amount.c) ---- */

typedef struct stk__amount {
    double range[2]; /* a RANGE until it is prepared */
    double prob;     /* a SHARE */
} stk__amount;

typedef struct stk__amount_rule {
    const char *name; /* of the option, for messages */
    double neutral;   /* the value that changes nothing */
    bool fixed;       /* one number is the value itself; else the distance from neutral to both sides */
    bool positive;    /* all values must be above 0 */
    bool clamped;     /* a distance that reaches below 0 stops there */
} stk__amount_rule;

stk_status stk__amount_prepare(stk__amount *amount, const stk__amount_rule *rule, bool *on, stk_error *error);

/* False, and noted, when it is not this sample's turn. One draw. what: for the trace. */
bool stk__amount_draw(const stk__amount *amount, stk__random_at at, stk__transform_builder *builder,
                      const char *what, double *value);

/* A range of positive numbers drawn evenly in their logarithm; for proportions. One number is the ratio. */
void stk__ratio_prepare(double range[2]);
double stk__ratio_draw(uint32_t word, const double range[2]);

/* Of operations that have nothing but a prob. One draw of its own. */
bool stk__chance_draw(double prob, stk__random_at at, stk__transform_builder *builder);

/* ---- what operations do to the builder (transform_builder.c) ---- */

void stk__transform_builder_start(stk__transform_builder *builder);

/* After what there is so far: x' = m[0] x + m[1] y + m[2], y' = m[3] x + m[4] y + m[5]. */
void stk__transform_builder_map(stk__transform_builder *builder, const double m[6]);
/* The same about the centre of the target: x' - cx = m[0] (x - cx) + m[1] (y - cy), and so on. */
void stk__transform_builder_map_centred(stk__transform_builder *builder, const double m[4]);
/* Only this region of the source, in its pixels, becomes the target. The first of the geometry. */
void stk__transform_builder_take_region(stk__transform_builder *builder, double x, double y, double w,
                                        double h);

/* A colour step, at its place in the order; those that mean nothing for grey images are left out there. */
void stk__transform_builder_step(stk__transform_builder *builder, stk__colour_step kind, double value);

void stk__transform_builder_note(stk__transform_builder *builder, const char *what, double value);

/* Matrices into the resolved sample. */
void stk__transform_builder_finish(stk__transform_builder *builder);

/* ---- mixing ---- */

typedef struct stk__mix_settings {
    double alpha; /* of Beta(alpha, alpha); 0: off */
    double prob;  /* a SHARE; 0: not given */
} stk__mix_settings;

stk_status stk__mix_prepare(void *settings, bool *on, stk_error *error);

/* ---- the list, in order (operations.c) ---- */

int stk__operations_count(void);
const stk__augment_operation *stk__operation_at(int index);
/* The number of its draws. */
uint32_t stk__operation_number(int index);
/* Its part of the section's settings. */
void *stk__operation_settings(int index, stk__augment_settings *settings);
/* The row of the section's table that is the operation's row number row. */
const stk__option *stk__operation_option(int index, size_t row);

/* What belongs to no operation. */
typedef struct stk__augment_general {
    const char *device, *schedule;
    double fill[3];
    int64_t mask_fill; /* a COUNT: -1 is 0 */
    int preset;
} stk__augment_general;

stk__augment_general *stk__augment_general_of(stk__augment_settings *settings);

/* ---- presets and schedule (presets.c) ---- */

/* Every field that is zero and that the preset has gets the preset's value. */
stk_status stk__preset_apply(int preset, stk__augment_settings *settings, stk_error *error);

typedef struct stk__schedule {
    int count;
    struct {
        uint32_t epoch; /* from here on */
        int preset;
    } entries[64];
} stk__schedule;

/* "0:minimal,50:strong", blanks allowed; epochs rise. */
stk_status stk__schedule_read(stk__schedule *schedule, const char *text, stk_error *error);

#endif
