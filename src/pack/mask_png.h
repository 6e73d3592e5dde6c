/* Masks as PNGs that are quick to decode: one byte a pixel, rows without filters. One writer per thread. */
#ifndef STK_PACK_MASK_PNG_H
#define STK_PACK_MASK_PNG_H

#include "core/memory.h"
#include "image/pixels.h"

typedef struct stk__mask_writer stk__mask_writer;

stk_status stk__mask_writer_create(stk__mask_writer **writer, stk_error *error);
void stk__mask_writer_destroy(stk__mask_writer **writer);

/* Colours that show ids to people. */
typedef struct stk__mask_palette {
    const uint8_t *colours; /* [count][3] */
    int count;              /* 0: grey */
} stk__mask_palette;

/* ids has one channel. The bytes, followed by 64 readable ones, replace what file holds. Ids beyond the
 * palette get black. */
stk_status stk__mask_write(stk__mask_writer *writer, stk__pixels ids, stk__mask_palette palette,
                           stk__buffer *file, stk_error *error);

#endif
