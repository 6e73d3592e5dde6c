/* SPDX-License-Identifier: Apache-2.0 */
/* The data set `faces`: an RGB picture and a mask of 19 classes, painted back to front. */
#include "make/face.h"
#include "make/make.h"

#include <string.h>

static const char *const class_names[FACE_CLASSES] = {
    "background", "skin",      "left_brow", "right_brow", "left_eye", "right_eye", "glasses",
    "left_ear",   "right_ear", "earring",   "nose",       "mouth",    "upper_lip", "lower_lip",
    "neck",       "necklace",  "cloth",     "hair",       "hat",
};

static void copy_ids(const stk__canvas *canvas, stk__pixels mask)
{
    for (int32_t y = 0; y < canvas->h; y++)
        memcpy(stk__pixels_row(mask, y), canvas->ids + (size_t)y * (size_t)canvas->w, (size_t)canvas->w);
}

static void draw_face(uint64_t seed, uint64_t index, stk__pixels image, stk__pixels mask, uint8_t *scratch)
{
    stk__face face;
    stk__face_plan(&face, seed, index);
    stk__canvas canvas;
    stk__canvas_init(&canvas, FACE_SIDE, FACE_SIDE, image.data ? 3 : 0, scratch);
    stk__face_paint_behind(&canvas, &face);
    stk__face_paint_head(&canvas, &face);
    stk__face_paint_eyes(&canvas, &face);
    stk__face_paint_top(&canvas, &face);
    const float grain = stk__dice_range(&face.dice, 9, 13);
    const int32_t u = stk__dice_below(&face.dice, STK_NOISE_SIDE),
                  v = stk__dice_below(&face.dice, STK_NOISE_SIDE);
    if (image.data) stk__canvas_finish(&canvas, grain, u, v, image);
    if (mask.data) copy_ids(&canvas, mask);
}

const stk__make_info stk__make_faces = {
    .name = "faces",
    .about = "512x512 photo-like faces (JPEG) with masks of 19 classes (PNG)",
    .w = FACE_SIDE,
    .h = FACE_SIDE,
    .channels = 3,
    .masks = true,
    .class_count = FACE_CLASSES,
    .class_names = class_names,
    .default_count = 1500,
    .file_bytes = 90000,
    .scratch_bytes = 1600 * 1024,
    .draw = draw_face,
};
