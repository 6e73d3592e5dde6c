/* SPDX-License-Identifier: Apache-2.0 */
/* One generated face: everything that was drawn by lot, in numbers. Lengths are pixels of a frontal face in
 * the middle of the picture: x to the right, y down, (0, 0) between nose and eyes. "left" is the left of the
 * picture. */
#ifndef STK_MAKE_FACE_H
#define STK_MAKE_FACE_H

#include "make/canvas.h"
#include "make/dice.h"

typedef enum stk__face_class {
    FACE_BACKGROUND,
    FACE_SKIN,
    FACE_LEFT_BROW,
    FACE_RIGHT_BROW,
    FACE_LEFT_EYE,
    FACE_RIGHT_EYE,
    FACE_GLASSES,
    FACE_LEFT_EAR,
    FACE_RIGHT_EAR,
    FACE_EARRING,
    FACE_NOSE,
    FACE_MOUTH,
    FACE_UPPER_LIP,
    FACE_LOWER_LIP,
    FACE_NECK,
    FACE_NECKLACE,
    FACE_CLOTH,
    FACE_HAIR,
    FACE_HAT,
    FACE_CLASSES
} stk__face_class;

#define FACE_BIT(id) (UINT32_C(1) << (id)) /* for stk__paint.only */

enum { FACE_SIDE = 512 };

typedef enum stk__face_glasses { GLASSES_NONE, GLASSES_CLEAR, GLASSES_DARK } stk__face_glasses;
typedef enum stk__face_hat { HAT_NONE, HAT_WOOL, HAT_BRIM } stk__face_hat;

typedef struct stk__colour {
    float rgb[3];
} stk__colour;

typedef struct stk__face {
    /* pose */
    float centre_x, centre_y, zoom, cosine, sine;
    float yaw, pitch; /* -1 … 1: how far what stands out of the face moves */
    float light_x, light_y;
    /* shape */
    float half_w, half_h, jaw, cheek;
    float eye_x, eye_y, eye_w, eye_h, gaze_x, gaze_y;
    float brow_y, brow_tilt, brow_thick;
    float nose_y, nose_w;
    float mouth_y, mouth_w, mouth_open, smile, lip;
    float hair_up, hair_side, hairline, parting;
    /* what is there */
    bool hair_long, fringe, bald, beard, earrings, necklace, hoops;
    stk__face_glasses glasses;
    stk__face_hat hat;
    int32_t iris, cloth_style;
    stk__colour skin, hair, brow, lips, eye, cloth, trim, wear, back, back_other;
    stk__dice dice; /* continues with the draws that only the painter needs */
} stk__face;

void stk__face_plan(stk__face *face, uint64_t seed, uint64_t index);

/* Where a spot of the face is in the picture; depth: how far it stands out (nose 30, ears -20). */
stk__coord stk__face_place(const stk__face *face, float x, float y, float depth);

typedef struct stk__face_at {
    float x, y, depth;
} stk__face_at;

/* A shape in face coordinates: smooth outline through the controls. */
typedef struct stk__face_shape {
    const stk__coord *controls;
    int32_t count;
    float depth;
    float ragged; /* random offsets of the outline, in pixels */
} stk__face_shape;

void stk__face_outline(stk__canvas *canvas, stk__face *face, stk__face_shape shape);
void stk__face_ellipse(stk__canvas *canvas, const stk__face *face, stk__coord centre, stk__coord radius,
                       float depth);
void stk__face_glow(stk__canvas *canvas, const stk__face *face, stk__face_at centre, stk__coord radius,
                    const float delta[3], uint32_t only);

/* Light over something as large as `radius` (face coordinates) around centre. */
stk__light stk__face_light(const stk__face *face, stk__coord centre, stk__coord radius, float strength);

void stk__face_paint_behind(stk__canvas *canvas,
                            stk__face *face);                    /* background, hair behind, neck, clothes */
void stk__face_paint_head(stk__canvas *canvas, stk__face *face); /* ears, skin, nose, mouth */
void stk__face_paint_eyes(stk__canvas *canvas, stk__face *face); /* eyes, brows, glasses */
void stk__face_paint_top(stk__canvas *canvas, stk__face *face);  /* hair in front, hat */

static inline stk__paint stk__face_flat(stk__colour colour, uint8_t id)
{
    return (stk__paint){.rgb = {colour.rgb[0], colour.rgb[1], colour.rgb[2]}, .id = id};
}

static inline stk__colour stk__colour_mix(stk__colour a, stk__colour b, float share)
{
    for (int c = 0; c < 3; c++)
        a.rgb[c] += (b.rgb[c] - a.rgb[c]) * share;
    return a;
}

static inline stk__colour stk__colour_scale(stk__colour a, float factor)
{
    for (int c = 0; c < 3; c++)
        a.rgb[c] *= factor;
    return a;
}

#endif
