/* SPDX-License-Identifier: Apache-2.0 */
/* Which warnings of libjpeg are damage, and which leave every pixel as the file says. For all who decompress
 * JPEGs here: decoding and packing come to the same verdict. */
#ifndef STK_DECODE_JPEG_WARNING_H
#define STK_DECODE_JPEG_WARNING_H

#include "stoker/status.h"

#include <stdbool.h>
#include <stdio.h> /* jpeglib.h needs FILE */
#include <jpeglib.h>

/* The warning that codec->err holds, if no pixel depends on it: in words, a constant. NULL: it is damage. */
const char *stk__jpeg_warning_harmless(j_common_ptr codec);

/* What the warning means that is not harmless. */
stk_damage stk__jpeg_warning_damage(int code);

/* A progressive JPEG whose scans have all been read: bits of coefficients never came, because the file was
 * cut between two scans. libjpeg does not warn of that; it guesses smooth pixels. */
bool stk__jpeg_lacks_scans(const struct jpeg_decompress_struct *codec);

#endif
