/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the header of a sample again, and decodes it where its pixels are wanted; buffers are kept. One
 * thread. */
#include "session/predict/predict_original.h"

stk_status stk__original_init(stk__original *o, const stk__source *source, const stk__limits *limits,
                              stk_error *error)
{
    o->source = source;
    return stk__decoder_create(&o->decoder, limits, error);
}

void stk__original_fini(stk__original *o)
{
    stk__decoder_destroy(&o->decoder);
    stk__buffer_fini(&o->bytes);
    stk__buffer_fini(&o->picture);
}

stk_status stk__original_open(stk__original *o, uint64_t id, bool pixels, stk__pixels *view, stk_error *error)
{
    const char *extension = NULL;
    stk__picture picture;
    STK__TRY(o->source->ops->read(o->source, id, STK_FIELD_IMAGE, &o->bytes, &extension, error));
    const stk__encoded encoded = {o->bytes.data, o->bytes.size_bytes};
    STK__TRY(stk__decode_header(o->decoder, encoded, extension, &picture, error));
    if (!o->upright) picture.orientation = 1;
    const bool swaps = stk__orientation_swaps(picture.orientation);
    *view = stk__pixels_dense(NULL, swaps ? picture.h : picture.w, swaps ? picture.w : picture.h, 3);
    if (!pixels) return STK_OK;
    STK__TRY(stk__buffer_reserve(&o->picture, (size_t)view->w * (size_t)view->h * 3, error));
    view->data = o->picture.data;
    return stk__decode_image(o->decoder, encoded, &picture, *view, error);
}
