/* SPDX-License-Identifier: Apache-2.0 */
/* One curve, as curve.c reads it and curve_shape.c computes it. */
#ifndef STK_MONITOR_CURVE_SHAPE_H
#define STK_MONITOR_CURVE_SHAPE_H

#include <stdint.h>

typedef enum stk__curve_shape_kind {
    STK_CURVE_SHAPE_CONST,  /* value */
    STK_CURVE_SHAPE_SQUARE, /* period s, duty, high, low: high comes first */
    STK_CURVE_SHAPE_SINE,   /* period s, low, high: low comes first */
    STK_CURVE_SHAPE_RAMP,   /* from s, to s, low, high: level before and after */
    STK_CURVE_SHAPE_STEPS   /* from second: value, …; repeats from the last, whose value equals the first */
} stk__curve_shape_kind;

typedef struct stk__curve_shape_step {
    double second, value;
} stk__curve_shape_step;

typedef struct stk__curve_shape {
    stk__curve_shape_kind kind;
    double numbers[4];
    double noise;
    uint32_t noise_key; /* another one for each GPU and metric */
    int step_count;
    const stk__curve_shape_step *steps;
    int line; /* of the text, from 1 */
} stk__curve_shape;

double stk__curve_shape_at(const stk__curve_shape *shape, double second);
double stk__curve_shape_integral(const stk__curve_shape *shape, double second); /* from 0 to second */
/* Least and most it can be, noise included. */
void stk__curve_shape_range(const stk__curve_shape *shape, double *least, double *most);

#endif
