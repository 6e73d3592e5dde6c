/* SPDX-License-Identifier: Apache-2.0 */
/* Time curves described by text lines (constant, ramp, square, sine, steps, with noise), one per GPU and
 * metric: what the demonstration and the tests' fake driver play. Parsed once, then pure functions of
 * time. */
#include "monitor/curve.h"

#include "core/number.h"
#include "core/text.h"
#include "monitor/curve_shape.h"
#include "monitor/metric.h"

#include <math.h>
#include <string.h>

/* Finite numbers of a safe range. */
#define MOST    1e18
#define LEAST_S 1e-3

enum {
    ANY_GPU = STK_GPUS,       /* the row of '*' */
    STATE = STK_METRIC_COUNT, /* the column of `state` */
    WORDS = 64                /* on a line */
};

struct stk__curves {
    int gpu_count;
    int shape_count, step_count;
    stk__curve_shape *shapes;
    stk__curve_shape_step *steps;
    int16_t places[STK_GPUS + 1][STK_METRIC_COUNT + 1]; /* number of the shape + 1; 0: none */
};

typedef struct word {
    const char *text;
    size_t length;
} word;

/* A line taken apart. */
typedef struct line {
    int number;
    int count;
    word words[WORDS + 1];
} line;

static const struct {
    const char *name;
    int numbers;
    const char *expects;
} kinds[] = {
    [STK_CURVE_SHAPE_CONST] = {"const", 1, "a value"},
    [STK_CURVE_SHAPE_SQUARE] = {"square", 4, "period in s (0.001 or more), duty (0 to 1), high, low"},
    [STK_CURVE_SHAPE_SINE] = {"sine", 3, "period in s (0.001 or more), low, high"},
    [STK_CURVE_SHAPE_RAMP] = {"ramp", 4, "from second, to second, value before, value after"},
    [STK_CURVE_SHAPE_STEPS] = {"steps", 0, "SECOND:VALUE from 0 on, the last value as the first"},
};
enum { KIND_COUNT = sizeof kinds / sizeof kinds[0] };

static bool is_word(word w, const char *text)
{
    return strlen(text) == w.length && memcmp(w.text, text, w.length) == 0;
}

/* Returns where the next line begins. */
static const char *split_line(const char *text, line *out)
{
    out->count = 0;
    while (*text && *text != '\n' && *text != '#') {
        const char *start = text;
        while (*text && !stk__is_space(*text) && *text != '#')
            text++;
        if (text > start && out->count <= WORDS)
            out->words[out->count++] = (word){start, (size_t)(text - start)};
        while (*text != '\n' && stk__is_space(*text))
            text++;
    }
    text += strcspn(text, "\n");
    return *text ? text + 1 : text;
}

static stk_status refuse(const line *l, stk_error *error, const char *why, word what)
{
    return stk__fail(error, STK_ERROR_CONFIG, "line %d: %s: '%.*s'", l->number, why, (int)what.length,
                     what.text);
}

static stk_status read_gpu(const line *l, int *gpu, stk_error *error)
{
    int64_t number;
    if (is_word(l->words[0], "*"))
        *gpu = ANY_GPU;
    else if (stk__number_whole(l->words[0].text, l->words[0].length, &number) && number >= 0 &&
             number < STK_GPUS)
        *gpu = (int)number;
    else
        return refuse(l, error, "not a GPU index (0 to 63) or '*'", l->words[0]);
    return STK_OK;
}

static stk_status read_metric(const line *l, int *metric, stk_error *error)
{
    *metric =
        is_word(l->words[1], "state") ? STATE : (int)stk__metric_find(l->words[1].text, l->words[1].length);
    if (*metric == STATE && !is_word(l->words[1], "state"))
        return refuse(l, error, "unknown metric", l->words[1]);
    return STK_OK;
}

static bool read_number(word w, double *value)
{
    return stk__number_real(w.text, w.length, value) && fabs(*value) <= MOST;
}

/* Takes `noise N` off the end of the line. */
static stk_status read_noise(line *l, stk__curve_shape *shape, stk_error *error)
{
    if (l->count < 5 || !is_word(l->words[l->count - 2], "noise")) return STK_OK;
    if (!read_number(l->words[l->count - 1], &shape->noise) || shape->noise < 0)
        return refuse(l, error, "invalid noise amplitude", l->words[l->count - 1]);
    l->count -= 2;
    return STK_OK;
}

static stk_status read_steps(stk__curves *curves, const line *l, stk__curve_shape *shape, stk_error *error)
{
    stk__curve_shape_step *steps = curves->steps + curves->step_count;
    const int count = l->count - 3;
    for (int i = 0; i < count; i++) {
        const word w = l->words[3 + i];
        const char *colon = memchr(w.text, ':', w.length);
        const size_t head = colon ? (size_t)(colon - w.text) : 0;
        if (!colon || !read_number((word){w.text, head}, &steps[i].second) ||
            !read_number((word){colon + 1, w.length - head - 1}, &steps[i].value))
            return refuse(l, error, "not SECOND:VALUE", w);
        if (i ? steps[i].second < steps[i - 1].second + LEAST_S : steps[i].second != 0)
            return refuse(l, error, "steps start at second 0 and increase by at least 0.001", w);
    }
    if (count < 2) return refuse(l, error, "steps need at least two SECOND:VALUE", l->words[2]);
    if (steps[count - 1].value != steps[0].value)
        return refuse(l, error, "the last value must equal the first (the curve repeats)",
                      l->words[2 + count]);
    shape->steps = steps;
    shape->step_count = count;
    curves->step_count += count;
    return STK_OK;
}

static bool are_sound(const stk__curve_shape *shape)
{
    const double *n = shape->numbers;
    if (shape->kind == STK_CURVE_SHAPE_SQUARE) return n[0] >= LEAST_S && n[1] >= 0 && n[1] <= 1;
    if (shape->kind == STK_CURVE_SHAPE_SINE) return n[0] >= LEAST_S;
    return shape->kind != STK_CURVE_SHAPE_RAMP || n[1] - n[0] >= LEAST_S;
}

static stk_status read_shape(stk__curves *curves, line *l, stk__curve_shape *shape, stk_error *error)
{
    int kind = 0;
    while (kind < KIND_COUNT && !is_word(l->words[2], kinds[kind].name))
        kind++;
    if (kind == KIND_COUNT)
        return refuse(l, error, "unknown shape (const, square, sine, ramp, steps)", l->words[2]);
    shape->kind = (stk__curve_shape_kind)kind;
    STK__TRY(read_noise(l, shape, error));
    if (kind == STK_CURVE_SHAPE_STEPS) return read_steps(curves, l, shape, error);
    bool good = l->count - 3 == kinds[kind].numbers;
    for (int i = 0; good && i < kinds[kind].numbers; i++)
        good = read_number(l->words[3 + i], &shape->numbers[i]);
    if (good && are_sound(shape)) return STK_OK;
    return stk__fail(error, STK_ERROR_CONFIG, "line %d: '%s' takes %s", l->number, kinds[kind].name,
                     kinds[kind].expects);
}

/* Values are never clamped: a clamped curve would have another mean. */
static stk_status check_range(const line *l, int metric, const stk__curve_shape *shape, stk_error *error)
{
    double least, most;
    stk__curve_shape_range(shape, &least, &most);
    const double limit = metric == STATE                              ? STK_GPU_BARRED
                         : stk__metric_is_percent((stk_metric)metric) ? 100
                                                                      : INFINITY;
    if (least >= 0 && most <= limit) return STK_OK;
    return stk__fail(error, STK_ERROR_CONFIG,
                     "line %d: range %g to %g (with noise) exceeds the range of '%s', 0 to %g", l->number,
                     least, most, metric == STATE ? "state" : stk_metric_key((stk_metric)metric), limit);
}

static stk_status read_line(stk__curves *curves, line *l, stk_error *error)
{
    if (l->count == 0) return STK_OK;
    if (l->count < 4 || l->count > WORDS)
        return refuse(l, error, "expected GPU METRIC SHAPE NUMBERS, up to 61 of them", l->words[0]);
    int gpu = 0, metric = 0;
    STK__TRY(read_gpu(l, &gpu, error));
    STK__TRY(read_metric(l, &metric, error));
    int16_t *place = &curves->places[gpu][metric];
    if (*place)
        return stk__fail(error, STK_ERROR_CONFIG, "line %d: duplicate of line %d", l->number,
                         curves->shapes[*place - 1].line);
    stk__curve_shape *shape = &curves->shapes[curves->shape_count];
    *shape = (stk__curve_shape){.line = l->number};
    STK__TRY(read_shape(curves, l, shape, error));
    STK__TRY(check_range(l, metric, shape, error));
    *place = (int16_t)++curves->shape_count;
    if (gpu != ANY_GPU && gpu >= curves->gpu_count) curves->gpu_count = gpu + 1;
    return STK_OK;
}

static size_t count_letters(const char *text, char letter)
{
    size_t count = 0;
    for (; *text; text++)
        count += *text == letter;
    return count;
}

static stk_status read_lines(stk__curves *curves, const char *text, stk_error *error)
{
    line l = {0};
    while (*text) {
        l.number++;
        while (*text != '\n' && stk__is_space(*text))
            text++;
        text = split_line(text, &l);
        STK__TRY(read_line(curves, &l, error));
    }
    return STK_OK;
}

stk_status stk__curves_read(stk__curves **out, const char *text, stk_error *error)
{
    *out = NULL;
    const size_t lines = count_letters(text, '\n') + 1, steps = count_letters(text, ':') + 1;
    stk__curves *curves = stk__alloc(sizeof *curves);
    if (!curves) return stk__fail_memory(error, sizeof *curves, "curves");
    curves->gpu_count = 1;
    curves->shapes = stk__alloc(lines * sizeof *curves->shapes);
    curves->steps = stk__alloc(steps * sizeof *curves->steps);
    stk_status status = STK_OK;
    if (lines > INT16_MAX)
        status = stk__fail(error, STK_ERROR_CONFIG, "more than %d lines of curves", INT16_MAX);
    else if (!curves->shapes || !curves->steps)
        status = stk__fail_memory(error, lines * sizeof *curves->shapes, "curves");
    else
        status = read_lines(curves, text, error);
    if (status == STK_OK)
        *out = curves;
    else
        stk__curves_destroy(&curves);
    return status;
}

void stk__curves_destroy(stk__curves **curves)
{
    if (!*curves) return;
    stk__free((*curves)->steps);
    stk__free((*curves)->shapes);
    stk__free(*curves);
    *curves = NULL;
}

int stk__curves_gpus(const stk__curves *curves)
{
    return curves->gpu_count;
}

/* A copy, because GPUs that share a curve do not share its noise. */
static bool take_shape(const stk__curves *curves, int gpu, int metric, stk__curve_shape *shape)
{
    if (gpu < 0 || gpu >= STK_GPUS) return false;
    int place = curves->places[gpu][metric];
    if (!place) place = curves->places[ANY_GPU][metric];
    if (!place) return false;
    *shape = curves->shapes[place - 1];
    shape->noise_key = (uint32_t)(gpu * 256 + metric + 1);
    return true;
}

bool stk__curves_at(const stk__curves *curves, int gpu, stk_metric metric, double second, double *value)
{
    stk__curve_shape shape;
    if (!take_shape(curves, gpu, (int)metric, &shape)) return false;
    *value = stk__curve_shape_at(&shape, second);
    return true;
}

bool stk__curves_mean(const stk__curves *curves, int gpu, stk_metric metric, double from_s, double to_s,
                      double *value)
{
    stk__curve_shape shape;
    if (!take_shape(curves, gpu, (int)metric, &shape)) return false;
    if (to_s <= from_s)
        *value = stk__curve_shape_at(&shape, to_s);
    else
        *value = (stk__curve_shape_integral(&shape, to_s) - stk__curve_shape_integral(&shape, from_s)) /
                 (to_s - from_s);
    return true;
}

bool stk__curves_total(const stk__curves *curves, int gpu, stk_metric metric, double second, double *value)
{
    stk__curve_shape shape;
    if (!take_shape(curves, gpu, (int)metric, &shape) &&
        !(metric == STK_METRIC_ENERGY && take_shape(curves, gpu, STK_METRIC_POWER, &shape)))
        return false;
    *value = stk__curve_shape_integral(&shape, second);
    return true;
}

stk_gpu_state stk__curves_state(const stk__curves *curves, int gpu, double second)
{
    stk__curve_shape shape;
    return take_shape(curves, gpu, STATE, &shape) ? (stk_gpu_state)lround(stk__curve_shape_at(&shape, second))
                                                  : STK_GPU_GOOD;
}
