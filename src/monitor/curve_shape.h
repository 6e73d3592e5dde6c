/* One curve, as curve.c reads it and curve_shape.c computes it. */
#ifndef STK_MONITOR_CURVE_SHAPE_H
#define STK_MONITOR_CURVE_SHAPE_H

#include <stdint.h>

typedef enum stk__shape_kind {
    STK_SHAPE_CONST,  /* value */
    STK_SHAPE_SQUARE, /* period s, duty, high, low: high comes first */
    STK_SHAPE_SINE,   /* period s, low, high: low comes first */
    STK_SHAPE_RAMP,   /* from s, to s, low, high: level before and after */
    STK_SHAPE_STEPS   /* from second: value, …; begins again at the last, whose value is the first */
} stk__shape_kind;

typedef struct stk__shape_step {
    double second, value;
} stk__shape_step;

typedef struct stk__shape {
    stk__shape_kind kind;
    double numbers[4];
    double noise;
    uint32_t noise_key; /* another one for each GPU and metric */
    int step_count;
    const stk__shape_step *steps;
    int line; /* of the text, from 1 */
} stk__shape;

double stk__shape_at(const stk__shape *shape, double second);
double stk__shape_integral(const stk__shape *shape, double second); /* from 0 to second */
/* Least and most it can be, noise included. */
void stk__shape_range(const stk__shape *shape, double *least, double *most);

#endif
