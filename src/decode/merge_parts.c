/* SPDX-License-Identifier: Apache-2.0 */
/* A mask of several files, one for each part of what is shown (image/part_bundle.h): each is decoded as a
 * mask of its own and painted over those before it,
 *
 *     ids[y][x] = id of the last part whose mask is not 0 at (x, y), else 0
 *
 * so that everything above sees one mask of class ids. A damage names the file of its part. One state per
 * decoder, used by its thread. */
#include "decode/format.h"
#include "image/part_bundle.h"

#include <string.h>

typedef struct parts_state {
    stk__decoder *decoder; /* that this state belongs to */
    stk__buffer pixels;    /* of one part */
} parts_state;

static stk_status create_state(void **state, const stk__limits *limits, stk_error *error)
{
    (void)limits;
    *state = stk__alloc(sizeof(parts_state));
    return *state ? STK_OK : stk__fail_memory(error, sizeof(parts_state), "a decoder");
}

static void destroy_state(void *state)
{
    stk__buffer_fini(&((parts_state *)state)->pixels);
    stk__free(state);
}

void stk__parts_set_decoder(void *state, stk__decoder *decoder)
{
    ((parts_state *)state)->decoder = decoder;
}

static stk__encoded part_bytes(stk__encoded bytes, uint32_t index)
{
    const stk__part_bundle *bundle = stk__part_bundle_at(bytes.data);
    return (stk__encoded){bytes.data + bundle->part[index].data, bundle->part[index].size_bytes};
}

static const char *part_path(stk__encoded bytes, uint32_t index)
{
    return (const char *)bytes.data + stk__part_bundle_at(bytes.data)->part[index].path;
}

static stk_status part_header(parts_state *s, stk__encoded bytes, uint32_t index, stk__picture *picture,
                              stk_error *error)
{
    const stk_status status = stk__decode_header(s->decoder, part_bytes(bytes, index), NULL, picture, error);
    if (status != STK_OK) stk__error_place(error, "%s", part_path(bytes, index));
    return status;
}

/* The size is the first part's; that the others have it is found when they are decoded. */
static stk_status read_header(void *state, stk__encoded bytes, stk__picture *picture, stk_error *error)
{
    stk__picture first;
    STK__TRY(part_header(state, bytes, 0, &first, error));
    picture->w = first.w;
    picture->h = first.h;
    picture->channels = 1;
    picture->depth_bits = 8;
    return STK_OK;
}

static stk_status refuse_image(void *state, stk__encoded bytes, const stk__picture *picture,
                               stk__pixels target, stk_error *error)
{
    (void)state;
    (void)bytes;
    (void)picture;
    (void)target;
    return stk__fail(error, STK_ERROR_ARGUMENT, "parts of a mask are not an image");
}

static stk_status check_part(stk__encoded bytes, const stk__picture *part, stk__pixels target,
                             stk_error *error)
{
    if (!part->format->mask) {
        stk__damaged(error, STK_DAMAGE_MASK_FORMAT, "a %s file blurs the mask of a part", part->format->name);
        stk__error_hint(error, "store the masks of parts as PNG");
        return STK_ERROR_SAMPLE;
    }
    if (part->w == target.w && part->h == target.h) return STK_OK;
    const char *first = part_path(bytes, 0), *slash = strrchr(first, '/');
    stk__damaged(error, STK_DAMAGE_MASK_SIZE, "the mask of a part is %dx%d, '%.80s' of the same image %dx%d",
                 part->w, part->h, slash ? slash + 1 : first, target.w, target.h);
    stk__error_hint(error, "all parts of an image have one size");
    return STK_ERROR_SAMPLE;
}

/* 0 is outside of the part; 255, or 1, is inside. *level is another value that was met, or 0. */
static void paint(stk__pixels part, uint8_t id, stk__pixels target, uint8_t *level)
{
    for (int32_t y = 0; y < target.h; y++) {
        const uint8_t *from = stk__pixels_row(part, y);
        uint8_t *to = stk__pixels_row(target, y), strange = 0;
        for (int32_t x = 0; x < target.w; x++) {
            to[x] = from[x] ? id : to[x];
            strange |= (uint8_t)((uint8_t)(from[x] + 1) > 2);
        }
        for (int32_t x = 0; strange && !*level && x < target.w; x++)
            if ((uint8_t)(from[x] + 1) > 2) *level = from[x];
    }
}

static stk_status paint_part(parts_state *s, stk__encoded bytes, uint32_t index, stk__pixels target,
                             stk_error *error)
{
    stk__picture picture;
    STK__TRY(part_header(s, bytes, index, &picture, error));
    stk_status status = check_part(bytes, &picture, target, error);
    const stk__mask_options options = {.orientation = 1};
    const stk__pixels part = stk__pixels_dense(s->pixels.data, target.w, target.h, 1);
    uint8_t level = 0;
    if (status == STK_OK)
        status = stk__decode_mask(s->decoder, part_bytes(bytes, index), &picture, &options, part, error);
    if (status == STK_OK) paint(part, stk__part_bundle_at(bytes.data)->part[index].id, target, &level);
    if (level) {
        status = stk__damaged(error, STK_DAMAGE_MASK_IDS, "the mask of a part has the value %d", level);
        stk__error_hint(error, "it has 0 outside of the part and 255 inside: was it resized or blurred?");
    }
    if (status != STK_OK) stk__error_place(error, "%s", part_path(bytes, index));
    return status;
}

static stk_status decode_mask(void *state, stk__encoded bytes, const stk__picture *picture,
                              stk__pixels target, stk_error *error)
{
    parts_state *s = state;
    (void)picture;
    STK__TRY(stk__buffer_reserve(&s->pixels, (size_t)target.w * (size_t)target.h, error));
    for (int32_t y = 0; y < target.h; y++)
        memset(stk__pixels_row(target, y), 0, (size_t)target.w);
    for (uint32_t i = 0; i < stk__part_bundle_at(bytes.data)->count; i++)
        STK__TRY(paint_part(s, bytes, i, target, error));
    return STK_OK;
}

static const char *const extensions[] = {NULL};

const stk__format_ops stk__format_parts = {
    .number = STK_FORMAT_PARTS,
    .name = "merged parts",
    .extensions = extensions,
    .create = create_state,
    .destroy = destroy_state,
    .header = read_header,
    .image = refuse_image,
    .mask = decode_mask,
};
