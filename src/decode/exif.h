/* SPDX-License-Identifier: Apache-2.0 */
/* The orientation tag in the bytes of a JPEG file, or in a block of EXIF. */
#ifndef STK_DECODE_EXIF_H
#define STK_DECODE_EXIF_H

#include "decode/decode.h"

/* 1 when there is no EXIF, no such tag, or nonsense in it. Reads nothing outside of bytes. */
stk__orientation stk__exif_orientation(stk__encoded bytes);

/* The same of the TIFF block itself, as PNG's eXIf has it; a leading "Exif\0\0" is skipped. */
stk__orientation stk__exif_block_orientation(stk__encoded block);

#endif
