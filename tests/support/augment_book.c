/* SPDX-License-Identifier: Apache-2.0 */
/* The stages of an augmentation by their textbook definitions, in double precision, one pixel at a time:
 * what the fused pass is compared with. */
#include "support/augment_book.h"

#include <math.h>
#include <stdlib.h>

static double level(stk__pixels photo, const int32_t fill[3], int x, int y, int c)
{
    const int inside = x >= 0 && y >= 0 && x < photo.w && y < photo.h;
    return inside ? stk__pixels_row(photo, y)[3 * x + c] : fill[c] / (double)STK_AUGMENT_LEVEL;
}

void book_sample(stk__pixels photo, const int32_t fill[3], double u, double v, double out[3])
{
    const int x = (int)floor(u), y = (int)floor(v);
    for (int c = 0; c < 3; c++) {
        const double upper =
            level(photo, fill, x, y, c) * (x + 1 - u) + level(photo, fill, x + 1, y, c) * (u - x);
        const double lower =
            level(photo, fill, x, y + 1, c) * (x + 1 - u) + level(photo, fill, x + 1, y + 1, c) * (u - x);
        out[c] = upper * (y + 1 - v) + lower * (v - y);
    }
}

static double grey(const double *p)
{
    return 0.299 * p[0] + 0.587 * p[1] + 0.114 * p[2];
}

static double clamp(double v)
{
    return v < 0 ? 0 : v > 255 ? 255 : v;
}

/* Hue by sixths of the circle, as the textbooks have it. */
static void turn(double by, double *p)
{
    const double most = fmax(p[0], fmax(p[1], p[2])), least = fmin(p[0], fmin(p[1], p[2])),
                 chroma = most - least;
    if (chroma == 0) return;
    double hue = most == p[0]   ? (p[1] - p[2]) / chroma
                 : most == p[1] ? 2 + (p[2] - p[0]) / chroma
                                : 4 + (p[0] - p[1]) / chroma;
    hue = fmod(hue + 6 * by + 12, 6);
    const double between = chroma * (1 - fabs(fmod(hue, 2) - 1));
    const double by_sixth[6][3] = {{chroma, between, 0}, {between, chroma, 0}, {0, chroma, between},
                                   {0, between, chroma}, {between, 0, chroma}, {chroma, 0, between}};
    for (int c = 0; c < 3; c++)
        p[c] = least + by_sixth[(int)hue][c];
}

void book_step(int kind, double a, double *image, int count)
{
    double mean = 0;
    for (int i = 0; i < count; i++)
        mean += grey(image + 3 * i) / count;
    for (int i = 0; i < count; i++) {
        double *p = image + 3 * i;
        const double own = grey(p);
        if (kind == STK_COLOUR_HUE) turn(a, p);
        for (int c = 0; c < 3; c++) {
            if (kind == STK_COLOUR_BRIGHTNESS) p[c] *= a;
            if (kind == STK_COLOUR_CONTRAST) p[c] = a * p[c] + (1 - a) * mean;
            if (kind == STK_COLOUR_SATURATION) p[c] = a * p[c] + (1 - a) * own;
            if (kind == STK_COLOUR_GRAY) p[c] = own;
            if (kind == STK_COLOUR_GAMMA) p[c] = 255 * pow(p[c] / 255, a);
            p[c] = clamp(p[c]);
        }
    }
}

static int reflect(int i, int size)
{
    const int period = size > 1 ? 2 * size - 2 : 1, at = (i % period + period) % period;
    return at < size ? at : period - at;
}

void book_blur(const stk__augment_block *block, const double *image, int w, int h, double *out)
{
    const int radius = block->blur_radius;
    for (int i = 0; i < w * h * 3; i++) {
        const int x = i / 3 % w, y = i / 3 / w, c = i % 3;
        out[i] = 0;
        for (int dy = -radius; dy <= radius; dy++)
            for (int dx = -radius; dx <= radius; dx++)
                out[i] += (double)block->blur_weight[abs(dx)] * (double)block->blur_weight[abs(dy)] *
                          image[3 * (reflect(y + dy, h) * w + reflect(x + dx, w)) + c];
    }
}
