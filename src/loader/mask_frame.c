/* SPDX-License-Identifier: Apache-2.0 */
/* Which pixels a mask or a point was drawn on, by sizes alone; what they do not prove is refused with the
 * setting that says it. Pure functions: any thread. */
#include "loader/mask_frame.h"

/* A mask over the stored pixels has the stored size, one over the upright image the upright size. */
static stk__mask_fit fit_stored(const stk__picture *image, const stk__picture *mask)
{
    return stk__mask_fit_of(mask, image->w, image->h);
}

static stk__mask_fit fit_upright(const stk__picture *image, const stk__picture *mask)
{
    const bool swaps = stk__orientation_swaps(image->orientation);
    return stk__mask_fit_of(mask, swaps ? image->h : image->w, swaps ? image->w : image->h);
}

stk__frame_proof stk__mask_frame_prove(const stk__picture *image, const stk__picture *mask)
{
    if (image->orientation == 1) return STK_FRAME_SAME;
    const stk__mask_fit stored = fit_stored(image, mask), upright = fit_upright(image, mask);
    if (stored == upright) return STK_FRAME_OPEN;
    return stored < upright ? STK_FRAME_STORED : STK_FRAME_UPRIGHT;
}

static stk_status refuse_size(const stk__picture *image, const stk__picture *mask, stk_error *error)
{
    const bool swaps = stk__orientation_swaps(image->orientation);
    stk__damaged(error, STK_DAMAGE_MASK_SIZE, "the mask is %dx%d, its image %dx%d", mask->w, mask->h,
                 swaps ? image->h : image->w, swaps ? image->w : image->h);
    stk__error_hint(error, "data.image_size=WxH resizes both to one size");
    return STK_ERROR_SAMPLE;
}

static stk_status refuse_open(const stk__picture *image, const char *what, stk_error *error)
{
    stk__fail(
        error, STK_ERROR_CONFIG,
        "the image has EXIF orientation %d: its %s may be drawn on the upright image or on the pixels as "
        "stored, and sizes do not tell",
        image->orientation, what);
    stk__error_hint(error,
                    "data.mask_frame=upright (as viewers show the image) or data.mask_frame=stored (as "
                    "Pillow opens it); data.exif=false leaves all images as stored");
    return STK_ERROR_CONFIG;
}

static stk_status refuse_other(const stk__picture *image, const stk__picture *mask, bool stored,
                               stk_error *error)
{
    stk__fail(error, STK_ERROR_CONFIG,
              "the mask is %dx%d, drawn on the %s of an image of EXIF orientation %d (stored as %dx%d), but "
              "data.mask_frame is '%s'",
              mask->w, mask->h, stored ? "stored pixels" : "upright image", image->orientation, image->w,
              image->h, stored ? "upright" : "stored");
    stk__error_hint(error, "data.mask_frame=%s; if masks of both kinds are mixed, turn those of one kind",
                    stored ? "stored" : "upright");
    return STK_ERROR_CONFIG;
}

stk_status stk__mask_frame_choose(const stk__mask_frame_rule *rule, const stk__picture *image,
                                  const stk__picture *mask, stk__orientation *orientation, stk_error *error)
{
    *orientation = 1;
    if (mask->w == image->w && mask->h == image->h && image->orientation == 1) return STK_OK;
    if (!rule->any_aspect && fit_stored(image, mask) == STK_MASK_OTHER &&
        fit_upright(image, mask) == STK_MASK_OTHER)
        return refuse_size(image, mask, error);
    const stk__frame_proof proof = stk__mask_frame_prove(image, mask);
    if (proof == STK_FRAME_SAME) return STK_OK;
    if (proof == STK_FRAME_OPEN && rule->frame == STK_MASK_FRAME_AUTO)
        return refuse_open(image, "mask", error);
    const bool stored =
        proof == STK_FRAME_OPEN ? rule->frame == STK_MASK_FRAME_STORED : proof == STK_FRAME_STORED;
    if (rule->frame != STK_MASK_FRAME_AUTO && stored != (rule->frame == STK_MASK_FRAME_STORED))
        return refuse_other(image, mask, stored, error);
    if (stored) *orientation = image->orientation;
    return STK_OK;
}

bool stk__mask_frame_resizes(const stk__picture *image, const stk__picture *mask, stk__orientation turn)
{
    return (turn == 1 ? fit_upright(image, mask) : fit_stored(image, mask)) != STK_MASK_FITS;
}

stk_status stk__points_frame_choose(const stk__mask_frame_rule *rule, const stk__picture *image,
                                    stk__orientation *orientation, stk_error *error)
{
    *orientation = 1;
    if (image->orientation == 1) return STK_OK;
    if (rule->frame == STK_MASK_FRAME_AUTO) return refuse_open(image, "points", error);
    if (rule->frame == STK_MASK_FRAME_STORED) *orientation = image->orientation;
    return STK_OK;
}

void stk__points_turn(float *point, int32_t count, stk__orientation o, int32_t w, int32_t h)
{
    if (o == 1) return;
    const bool from_right = o == 2 || o == 3 || o == 6 || o == 7, /* as seen upright */
        from_bottom = o == 3 || o == 4 || o == 7 || o == 8;
    for (int32_t i = 0; i < count; i++, point += 3) {
        const float x = stk__orientation_swaps(o) ? point[1] : point[0],
                    y = stk__orientation_swaps(o) ? point[0] : point[1];
        point[0] = from_right ? (float)w - x : x;
        point[1] = from_bottom ? (float)h - y : y;
    }
}
