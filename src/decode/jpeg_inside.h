/* SPDX-License-Identifier: Apache-2.0 */
/* Is the libjpeg of this process the one whose private structures the Huffman decoder was built for? Programs
 * load the library that the system has, which may be newer than its headers were. */
#ifndef STK_DECODE_JPEG_INSIDE_H
#define STK_DECODE_JPEG_INSIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h> /* jpeglib.h needs FILE */
#include <jpeglib.h>

/* What is known of a libjpeg: each of them has changed whenever its inside did. */
typedef struct stk__jpeg_inside {
    int api;             /* JPEG_LIB_VERSION: 62, 80 */
    int codec_bytes;     /* of struct jpeg_decompress_struct */
    int message_count;   /* of jerror.h, which grows with the features of libjpeg-turbo */
    bool entropy_is_its; /* its entropy decoder's functions are where we look for them, and in libjpeg */
} stk__jpeg_inside;

/* Asked with the entropy decoder of each image; looked at once for a process. False: libjpeg has to decode by
 * itself; a warning was logged the first time. Any thread. */
bool stk__jpeg_inside_fits(const struct jpeg_entropy_decoder *entropy);

/* For tests: as if Stoker had been built for that one; NULL: for the real one. Before threads start. */
void stk__jpeg_inside_fake(const stk__jpeg_inside *built);

#endif
