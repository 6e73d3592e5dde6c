/* SPDX-License-Identifier: Apache-2.0 */
/* Values and exact integrals of one time curve, so that a mean over any interval and a counter at any
 * moment are computed directly. Noise comes in pairs of opposite sign, so it cancels over whole periods.
 * Pure functions. */
#include "monitor/curve_shape.h"

#include "core/random.h"

#include <math.h>

/* Noise is constant for this long; the next interval has its opposite, so that each pair adds 0 to an
 * integral and a mean over hours is as cheap as one over a moment. */
#define NOISE_S 0.05

static const double turn = 6.283185307179586;

/* Second inside the period; *rounds full periods lie before it. */
static double wrap(double second, double period, double *rounds)
{
    *rounds = floor(second / period);
    return second - *rounds * period;
}

static double noise_level(const stk__curve_shape *shape, double cell)
{
    const double pair = floor(cell / 2);
    const int64_t number = (int64_t)pair;
    const stk__random random = stk__random_draw((stk__random_at){
        .seed = shape->noise_key, .epoch = (uint32_t)number, .sample = (uint32_t)(number >> 32)});
    const double level = shape->noise * (2 * (double)stk__random_unit(random.word[0]) - 1);
    return cell - 2 * pair < 1 ? level : -level;
}

static double noise_at(const stk__curve_shape *shape, double second)
{
    return shape->noise > 0 ? noise_level(shape, floor(second / NOISE_S)) : 0;
}

static double noise_integral(const stk__curve_shape *shape, double second)
{
    if (shape->noise <= 0) return 0;
    const double cell = floor(second / NOISE_S), inside = second - cell * NOISE_S;
    const double level = noise_level(shape, cell);
    const int first = fmod(cell, 2) == 0;
    return first ? level * inside : -level * (NOISE_S - inside);
}

static double steps_period(const stk__curve_shape *shape)
{
    return shape->steps[shape->step_count - 1].second;
}

static double steps_at(const stk__curve_shape *shape, double second)
{
    double rounds;
    const double inside = wrap(second, steps_period(shape), &rounds);
    int i = 0;
    while (i + 2 < shape->step_count && shape->steps[i + 1].second <= inside)
        i++;
    return shape->steps[i].value;
}

/* From the beginning of a period to `inside` of it. */
static double steps_part(const stk__curve_shape *shape, double inside)
{
    double sum = 0;
    for (int i = 0; i + 1 < shape->step_count && shape->steps[i].second < inside; i++) {
        const double end = fmin(inside, shape->steps[i + 1].second);
        sum += shape->steps[i].value * (end - shape->steps[i].second);
    }
    return sum;
}

static double steps_integral(const stk__curve_shape *shape, double second)
{
    const double period = steps_period(shape);
    double rounds;
    const double inside = wrap(second, period, &rounds);
    return rounds * steps_part(shape, period) + steps_part(shape, inside);
}

static double square_integral(const double n[4], double second)
{
    double rounds;
    const double inside = wrap(second, n[0], &rounds), high_s = n[0] * n[1];
    const double whole = high_s * n[2] + (n[0] - high_s) * n[3];
    return rounds * whole + fmin(inside, high_s) * n[2] + fmax(inside - high_s, 0) * n[3];
}

static double ramp_integral(const double n[4], double second)
{
    const double slope = (n[3] - n[2]) / (n[1] - n[0]);
    const double rising = fmin(fmax(second - n[0], 0), n[1] - n[0]), after = fmax(second - n[1], 0);
    return n[2] * (second - after) + slope * rising * rising / 2 + n[3] * after;
}

double stk__curve_shape_at(const stk__curve_shape *shape, double second)
{
    const double *n = shape->numbers, noise = noise_at(shape, second);
    double rounds;
    switch (shape->kind) {
    case STK_CURVE_SHAPE_CONST:
        return n[0] + noise;
    case STK_CURVE_SHAPE_SQUARE:
        return (wrap(second, n[0], &rounds) < n[0] * n[1] ? n[2] : n[3]) + noise;
    case STK_CURVE_SHAPE_SINE:
        return (n[1] + n[2]) / 2 - (n[2] - n[1]) / 2 * cos(turn * second / n[0]) + noise;
    case STK_CURVE_SHAPE_RAMP:
        return n[2] + (n[3] - n[2]) * fmin(fmax((second - n[0]) / (n[1] - n[0]), 0), 1) + noise;
    case STK_CURVE_SHAPE_STEPS:
        break;
    }
    return steps_at(shape, second) + noise;
}

double stk__curve_shape_integral(const stk__curve_shape *shape, double second)
{
    const double *n = shape->numbers, noise = noise_integral(shape, second);
    switch (shape->kind) {
    case STK_CURVE_SHAPE_CONST:
        return n[0] * second + noise;
    case STK_CURVE_SHAPE_SQUARE:
        return square_integral(n, second) + noise;
    case STK_CURVE_SHAPE_SINE:
        return (n[1] + n[2]) / 2 * second - (n[2] - n[1]) / 2 * sin(turn * second / n[0]) * n[0] / turn +
               noise;
    case STK_CURVE_SHAPE_RAMP:
        return ramp_integral(n, second) + noise;
    case STK_CURVE_SHAPE_STEPS:
        break;
    }
    return steps_integral(shape, second) + noise;
}

void stk__curve_shape_range(const stk__curve_shape *shape, double *least, double *most)
{
    const int first[] = {0, 2, 1, 2}; /* index of the two levels; a constant has one */
    if (shape->kind == STK_CURVE_SHAPE_STEPS) {
        *least = *most = shape->steps[0].value;
        for (int i = 1; i < shape->step_count; i++) {
            *least = fmin(*least, shape->steps[i].value);
            *most = fmax(*most, shape->steps[i].value);
        }
    } else {
        const double a = shape->numbers[first[shape->kind]];
        const double b = shape->kind == STK_CURVE_SHAPE_CONST ? a : shape->numbers[first[shape->kind] + 1];
        *least = fmin(a, b);
        *most = fmax(a, b);
    }
    *least -= shape->noise;
    *most += shape->noise;
}
