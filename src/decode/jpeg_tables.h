/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of a decompressor of libjpeg, which stay in it from image to image. */
#ifndef STK_DECODE_JPEG_TABLES_H
#define STK_DECODE_JPEG_TABLES_H

#include <stdio.h> /* jpeglib.h needs FILE */
#include <jpeglib.h>

/* Makes all tables. As libjpeg's own functions it calls error_exit when there is no memory. */
void stk__jpeg_tables_create(j_decompress_ptr codec);

/* Before a header is read: an image that lacks a table must not be decoded with its predecessor's. A scan
 * that needs one which is not defined afterwards ends in error_exit. */
void stk__jpeg_tables_forget(j_decompress_ptr codec);

/* Behind the header: Huffman tables that are not defined become the usual ones of a sequential image, because
 * frames of Motion JPEG come without. libjpeg-turbo does that itself only where no table was ever made. */
void stk__jpeg_tables_complete(j_decompress_ptr codec);

/* Behind the last scan that is read: calls error_exit unless every component had one, and divisors. */
void stk__jpeg_tables_require(j_decompress_ptr codec);

#endif
