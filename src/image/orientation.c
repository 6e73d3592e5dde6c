/* SPDX-License-Identifier: Apache-2.0 */
/* The eight EXIF orientations as one copy: where target pixel (0, 0) lies in the source and the byte steps
 * to its right and lower neighbour. Targets are written in narrow stripes so that transposed reads stay in
 * the cache. */
#include "image/orientation.h"

#include <assert.h>
#include <string.h>

/* Where target pixel (0, 0) comes from, and how far its neighbours to the right and below are away. */
typedef struct route {
    const uint8_t *start;
    ptrdiff_t right, down;
} route;

static route find_route(stk__pixels source, stk__orientation orientation)
{
    const ptrdiff_t x = source.channels, y = (ptrdiff_t)source.pitch_bytes;
    const ptrdiff_t last_x = x * (source.w - 1), last_y = y * (source.h - 1);
    const bool from_right = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
    const bool from_bottom = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
    const ptrdiff_t step_x = from_right ? -x : x, step_y = from_bottom ? -y : y;
    const uint8_t *start = source.data + (from_right ? last_x : 0) + (from_bottom ? last_y : 0);
    if (stk__orientation_swaps(orientation)) return (route){start, step_y, step_x};
    return (route){start, step_x, step_y};
}

static void copy_run(const uint8_t *from, ptrdiff_t step, uint8_t *to, int32_t count, int32_t channels)
{
    if (channels == 1) {
        for (int32_t x = 0; x < count; x++, from += step)
            to[x] = *from;
        return;
    }
    for (int32_t x = 0; x < count; x++, from += step, to += 3) {
        to[0] = from[0];
        to[1] = from[1];
        to[2] = from[2];
    }
}

void stk__orientation_apply(stk__pixels source, stk__pixels target, stk__orientation orientation)
{
    assert(source.channels == target.channels && (source.channels == 1 || source.channels == 3));
    assert(target.w == (stk__orientation_swaps(orientation) ? source.h : source.w));
    assert(target.h == (stk__orientation_swaps(orientation) ? source.w : source.h));
    /* Narrow stripes: when rows become columns, the source lines of a stripe stay in the cache. */
    enum { STRIPE_PX = 64 };
    const route way = find_route(source, orientation);
    for (int32_t x = 0; x < target.w; x += STRIPE_PX) {
        const int32_t count = target.w - x < STRIPE_PX ? target.w - x : STRIPE_PX;
        for (int32_t y = 0; y < target.h; y++)
            copy_run(way.start + x * way.right + y * way.down, way.right,
                     stk__pixels_row(target, y) + (size_t)x * (size_t)target.channels, count,
                     target.channels);
    }
}
