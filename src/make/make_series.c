/* SPDX-License-Identifier: Apache-2.0 */
/* A series of 16 features and a target. The target looks back 30 rows and needs memory:
 *   - how long two features agreed in sign lately (decaying sum of their products),
 *   - whether a third one rises (its last 8 rows against rows 15 to 29 back),
 *   - the value a fourth one had when a fifth one last peaked.
 * None of them shows in the mean of a window; noise takes about 5 % of the variance. */
#include "make/dice.h"
#include "make/make.h"

enum { FEATURES = STK_MAKE_FEATURES, COLUMNS = FEATURES + 1, BACK = 30, RECENT = 8, OLD_FROM = 15 };

/* Share of the last value that each feature keeps: from white noise to slow waves. */
static const float keeps[FEATURES] = {0.6f, 0.6f, 0.92f, 0,    0,    0.9f, 0.5f, 0.97f,
                                      0.8f, 0,    0.95f, 0.3f, 0.7f, 0.9f, 0.2f, 0.85f};
static const float peak = 0.9f;

/* Four decimals: exactly what the CSV file says. */
static float rounded(float value)
{
    const float scaled = value * 10000;
    return (float)(int32_t)(scaled < 0 ? scaled - 0.5f : scaled + 0.5f) / 10000;
}

static void make_features(stk__dice *dice, uint64_t row, float *now)
{
    const float *before = row ? now - COLUMNS : NULL;
    for (int f = 0; f < FEATURES; f++) {
        const float keep = keeps[f], last = before ? before[f] : 0;
        const float fresh = stk__dice_bell(dice) * (1 - keep * keep * 0.5f - keep * 0.3f);
        now[f] = rounded(keep * last + fresh);
    }
    /* Two that only look useful: a season, and a shadow of the first. */
    now[13] = rounded(stk__turn_sin((float)(row % 48) / 48) + 0.1f * now[13]);
    now[14] = rounded(0.5f * now[0] + now[14]);
}

static float agreement(const float *now, uint64_t back)
{
    float sum = 0, weight = 1;
    for (uint64_t k = 0; k < back; k++) {
        sum += weight * now[0] * now[1];
        weight *= 0.85f;
        now -= COLUMNS;
    }
    return sum;
}

static float rise(const float *now, uint64_t back)
{
    float recent = 0, old = 0;
    for (uint64_t k = 0; k < back; k++) {
        if (k < RECENT) recent += now[2];
        if (k >= OLD_FROM) old += now[2];
        now -= COLUMNS;
    }
    return recent / RECENT - old / (BACK - OLD_FROM);
}

static float remembered(const float *now, uint64_t back)
{
    for (uint64_t k = 0; k < back; k++) {
        if (now[4] > peak) return now[3];
        now -= COLUMNS;
    }
    return 0;
}

void stk__make_series(uint64_t seed, uint64_t first, uint64_t end, float *values)
{
    for (uint64_t row = first; row < end; row++) {
        stk__dice dice = stk__dice_make(seed, row, STK_OPERATION_MAKE_SERIES);
        float *now = values + row * COLUMNS;
        make_features(&dice, row, now);
        const uint64_t back = row + 1 < BACK ? row + 1 : BACK;
        const float clean =
            0.3f * agreement(now, back) + 0.7f * rise(now, back) + 0.6f * remembered(now, back);
        now[FEATURES] = rounded(clean + 0.2f * stk__dice_bell(&dice));
    }
}

const stk__make_info stk__make_series_info = {
    .name = "series",
    .about = "a table of 16 features and a target that remembers 30 rows (CSV)",
    .feature_count = FEATURES,
    .default_count = 20000,
    .file_bytes = 140,
};
