/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes of a mask and of its image, compared in whole numbers: a mask that was made smaller has sides that
 * were rounded. Pure: any thread. */
#include "decode/mask_fit.h"

#include <stdlib.h>

/* Small over large: |h - w * large_h / large_w| < 1, and the same across. */
static bool has_aspect(int64_t w, int64_t h, int64_t large_w, int64_t large_h)
{
    const int64_t apart = llabs(h * large_w - w * large_h);
    return apart < large_w && apart < large_h;
}

stk__mask_fit stk__mask_fit_of(const stk__picture *mask, int32_t w, int32_t h)
{
    if (mask->w == w && mask->h == h) return STK_MASK_FITS;
    const bool larger = mask->w > w || mask->h > h;
    const bool same = larger ? has_aspect(w, h, mask->w, mask->h) : has_aspect(mask->w, mask->h, w, h);
    return same ? STK_MASK_SCALED : STK_MASK_OTHER;
}
