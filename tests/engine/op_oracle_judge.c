/* SPDX-License-Identifier: Apache-2.0 */
/* Losses and metrics of the oracle. Logits of the trials are small: nothing is done against overflow here. */
#include "op_oracle.h"

#include <math.h>

static double listed(const sheet *s, int64_t i)
{
    return s->value ? s->value[i] : 1;
}

/* Rows of a prediction that belong to one sample. */
static int64_t rows_a_sample(const op_trial *t)
{
    return t->x[0].count / t->spec.classes / t->spec.input[0].dim[0];
}

/* Counts this id at all? */
static bool is_class(const op_trial *t, double id)
{
    const bool ignored = t->spec.ignores && id == (double)t->spec.ignore_index;
    return id >= 0 && id < (double)t->spec.classes && !ignored;
}

/* Cross-entropy between the smoothed target and the softmax, each class with its weight. */
static double entropy(const op_trial *t, const double *logits, double id)
{
    const double classes = (double)t->spec.classes;
    double total = 0, loss = 0;
    for (int64_t c = 0; c < t->spec.classes; c++)
        total += exp(logits[c]);
    for (int64_t c = 0; c < t->spec.classes; c++) {
        const double wanted =
            t->spec.label_smoothing / classes + ((double)c == id ? 1 - t->spec.label_smoothing : 0);
        loss -= wanted * listed(&t->x[STK_LOSS_CLASS_WEIGHTS], c) * log(exp(logits[c]) / total);
    }
    return loss;
}

static void cross_entropy(const op_trial *t, double *y)
{
    for (int64_t row = 0; row < t->x[0].count / t->spec.classes; row++) {
        const int64_t n = row / rows_a_sample(t);
        for (int a = 0; a < 2; a++) {
            const sheet *target = &t->x[a ? STK_LOSS_TARGET2 : STK_LOSS_TARGET];
            if (!target->value || !is_class(t, target->value[row])) continue;
            const double lambda = t->x[STK_LOSS_LAMBDA].value ? t->x[STK_LOSS_LAMBDA].value[n] : 1;
            const double share = (a ? 1 - lambda : lambda) * listed(&t->x[STK_LOSS_WEIGHTS], n);
            const double *logits = t->x[0].value + row * t->spec.classes;
            y[0] += share * entropy(t, logits, target->value[row]);
            y[1] += share * listed(&t->x[STK_LOSS_CLASS_WEIGHTS], (int64_t)target->value[row]);
        }
    }
}

static double smooth(double error)
{
    return fabs(error) > 1 ? fabs(error) - 0.5 : error * error / 2;
}

static void values(const op_trial *t, double *y)
{
    for (int64_t i = 0; i < t->x[0].count; i++) {
        const double weight = listed(&t->x[STK_LOSS_WEIGHTS], i);
        const double error = t->x[0].value[i] - t->x[STK_LOSS_TARGET].value[i];
        const double loss = t->spec.kind == STK_OP_L1    ? fabs(error)
                            : t->spec.kind == STK_OP_MSE ? error * error
                                                         : smooth(error);
        y[0] += weight * loss;
        y[1] += weight;
    }
}

typedef struct spot {
    const double *cells; /* of the sample: [h w 3k] */
    const double *point;
    double cell_w, cell_h; /* px */
    int64_t column, row;
} spot;

static bool find_spot(const op_trial *t, int64_t n, int64_t j, spot *s)
{
    const int64_t *dim = t->spec.input[0].dim, k = dim[3] / 3;
    s->cells = t->x[0].value + n * dim[1] * dim[2] * dim[3];
    s->point = t->x[STK_LOSS_TARGET].value + (n * k + j) * 3;
    s->cell_w = (double)t->spec.image_size[1] / (double)dim[2];
    s->cell_h = (double)t->spec.image_size[0] / (double)dim[1];
    const bool inside = s->point[0] >= 0 && s->point[0] < t->spec.image_size[1] && s->point[1] >= 0 &&
                        s->point[1] < t->spec.image_size[0];
    if (!inside || s->point[2] == 0) return false;
    s->column = (int64_t)(s->point[0] / s->cell_w);
    s->row = (int64_t)(s->point[1] / s->cell_h);
    return true;
}

static void points(const op_trial *t, double *y)
{
    const int64_t *dim = t->spec.input[0].dim, c = dim[3], k = c / 3;
    spot s;
    for (int64_t i = 0; i < dim[0] * k; i++) {
        const int64_t j = i % k;
        if (!find_spot(t, i / k, j, &s)) continue;
        const double *here = s.cells + (s.row * dim[2] + s.column) * c;
        double total = 0;
        for (int64_t cell = 0; cell < dim[1] * dim[2]; cell++)
            total += exp(s.cells[cell * c + j]);
        const double off_x = s.point[0] / s.cell_w - ((double)s.column + 0.5);
        const double off_y = s.point[1] / s.cell_h - ((double)s.row + 0.5);
        const double weight = listed(&t->x[STK_LOSS_WEIGHTS], i / k);
        y[0] += weight * (log(total) - here[j] + smooth(here[k + 2 * j] - off_x) +
                          smooth(here[k + 2 * j + 1] - off_y));
        y[1] += weight;
    }
}

static void point_error(const op_trial *t, double *y)
{
    const int64_t *dim = t->spec.input[0].dim, c = dim[3], k = c / 3, cells = dim[1] * dim[2];
    spot s;
    for (int64_t i = 0; i < dim[0] * k; i++) {
        const int64_t j = i % k;
        if (!find_spot(t, i / k, j, &s) || listed(&t->x[STK_LOSS_WEIGHTS], i / k) == 0) continue;
        int64_t best = cells - 1;
        for (int64_t cell = cells - 1; cell >= 0; cell--)
            if (s.cells[cell * c + j] >= s.cells[best * c + j]) best = cell;
        const double *there = s.cells + best * c + k + 2 * j;
        const double x = ((double)(best % dim[2]) + 0.5 + there[0]) * s.cell_w - s.point[0];
        const double far =
            sqrt(x * x + pow(((double)(best / dim[2]) + 0.5 + there[1]) * s.cell_h - s.point[1], 2));
        y[0]++;
        y[1] += far;
        y[2] += far <= 5 ? 1 : 0;
    }
}

/* The id that counts for a row, or -1. */
static int64_t truth_of(const op_trial *t, int64_t row)
{
    const int64_t n = row / rows_a_sample(t);
    const bool second = t->x[STK_LOSS_TARGET2].value && t->x[STK_LOSS_LAMBDA].value[n] < 0.5;
    const double id = t->x[second ? STK_LOSS_TARGET2 : STK_LOSS_TARGET].value[row];
    return is_class(t, id) && listed(&t->x[STK_LOSS_WEIGHTS], n) != 0 ? (int64_t)id : -1;
}

static void class_metric(const op_trial *t, double *y)
{
    const int64_t classes = t->spec.classes;
    for (int64_t row = 0; row < t->x[0].count / classes; row++) {
        const double *logits = t->x[0].value + row * classes;
        const int64_t truth = truth_of(t, row);
        if (truth < 0) continue;
        int64_t best = classes - 1, before = 0; /* before: classes placed in front of the truth */
        for (int64_t c = classes - 1; c >= 0; c--) {
            if (logits[c] >= logits[best]) best = c;
            before += logits[c] > logits[truth] || (logits[c] == logits[truth] && c < truth);
        }
        if (t->spec.kind == STK_OP_CONFUSION) {
            y[truth * classes + best]++;
            continue;
        }
        y[0]++;
        y[1] += best == truth;
        y[2] += before <= 4;
    }
}

static void value_error(const op_trial *t, double *y)
{
    for (int64_t i = 0; i < t->x[0].count; i++) {
        const double truth = t->x[STK_LOSS_TARGET].value[i], error = t->x[0].value[i] - truth;
        const double counts = listed(&t->x[STK_LOSS_WEIGHTS], i) != 0;
        const double sums[] = {1, fabs(error), error * error, truth, truth * truth};
        for (int k = 0; k < 5; k++)
            y[k] += counts * sums[k];
    }
}

/* Not by the formula of the engines: -t log p - (1 - t) log(1 - p), p = 1 / (1 + exp(-x)). */
static void labels(const op_trial *t, double *y)
{
    const bool metric = t->spec.kind == STK_OP_LABEL_HITS;
    for (int64_t i = 0; i < t->x[0].count; i++) {
        const double weight = listed(&t->x[STK_LOSS_WEIGHTS], i / t->spec.input[0].dim[1]);
        const double x = t->x[0].value[i], truth = t->x[STK_LOSS_TARGET].value[i];
        if (metric) {
            y[0] += weight != 0 && x > 0 && truth > 0.5;
            y[1] += weight != 0 && x > 0;
            y[2] += weight != 0 && truth > 0.5;
        } else {
            y[0] += weight * (truth * log1p(exp(-x)) + (1 - truth) * log1p(exp(x)));
            y[1] += weight;
        }
    }
}

void op_oracle_judge(const op_trial *t, double *y)
{
    switch (t->spec.kind) {
    case STK_OP_CROSS_ENTROPY:
        cross_entropy(t, y);
        break;
    case STK_OP_POINTS:
        points(t, y);
        break;
    case STK_OP_POINT_ERROR:
        point_error(t, y);
        break;
    case STK_OP_VALUE_ERROR:
        value_error(t, y);
        break;
    case STK_OP_BCE:
    case STK_OP_LABEL_HITS:
        labels(t, y);
        break;
    case STK_OP_CONFUSION:
    case STK_OP_TOP_K:
        class_metric(t, y);
        break;
    default:
        values(t, y);
    }
}
