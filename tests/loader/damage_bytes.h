/* SPDX-License-Identifier: Apache-2.0 */
/* Makers of damaged files: each fills bytes with a whole file. amount is what the operator's table says:
 * mostly per cent of the file. */
#ifndef DAMAGE_BYTES_H
#define DAMAGE_BYTES_H

#include "core/memory.h"

/* Of any kind. */
void make_nothing(stk__buffer *bytes, int amount);
void make_text(stk__buffer *bytes, int amount);
void make_zeros(stk__buffer *bytes, int amount);
void make_good_png(stk__buffer *bytes, int amount); /* of colours */
void make_good_jpeg(stk__buffer *bytes, int amount);
void make_npy_u8(stk__buffer *bytes, int amount);
void make_npy_f4(stk__buffer *bytes, int amount);
void make_npy_fortran(stk__buffer *bytes, int amount);
void make_npy_cut(stk__buffer *bytes, int amount);
void make_npy_longer(stk__buffer *bytes, int amount);

/* JPEG */
void make_jpeg_cut(stk__buffer *bytes, int amount);
void make_jpeg_cut_progressive(stk__buffer *bytes, int amount);
void make_jpeg_cut_other_size(stk__buffer *bytes, int amount);
void make_jpeg_first_bytes(stk__buffer *bytes, int amount); /* amount: bytes */
void make_jpeg_until(stk__buffer *bytes, int amount);       /* amount: the marker of the last segment kept */
void make_jpeg_without_end(stk__buffer *bytes, int amount);
void make_jpeg_zero_tail(stk__buffer *bytes, int amount);
void make_jpeg_flipped(stk__buffer *bytes, int amount);
void make_jpeg_wrong_restart(stk__buffer *bytes, int amount);
void make_jpeg_huffman_counts(stk__buffer *bytes, int amount);
void make_jpeg_huffman_codes(stk__buffer *bytes, int amount);
void make_jpeg_without_segments(stk__buffer *bytes, int amount); /* amount: their marker */
void make_jpeg_segment_length(stk__buffer *bytes, int amount);   /* amount: of the first DQT */
void make_jpeg_width(stk__buffer *bytes, int amount);
void make_jpeg_height(stk__buffer *bytes, int amount);
void make_jpeg_square(stk__buffer *bytes, int amount); /* amount: what the header says of both sides */
void make_jpeg_scans(stk__buffer *bytes, int amount);
void make_jpeg_precision(stk__buffer *bytes, int amount);
void make_jpeg_arithmetic_cut(stk__buffer *bytes, int amount);
void make_jpeg_last_scan(stk__buffer *bytes, int amount);
void make_jpeg_bytes_before_restart(stk__buffer *bytes, int amount);
void make_jpeg_frame(stk__buffer *bytes, int amount); /* amount: the marker of the frame */

/* PNG. Those of images have colours, those of masks are grey. */
void make_png_cut(stk__buffer *bytes, int amount);
void make_png_checksum(stk__buffer *bytes, int amount); /* amount: 0 IHDR, 1 IDAT */
void make_png_side(stk__buffer *bytes, int amount);     /* amount: width and height */
void make_png_without_end(stk__buffer *bytes, int amount);
void make_png_bad_adler(stk__buffer *bytes, int amount);
void make_png_bad_deflate(stk__buffer *bytes, int amount);
void make_png_short(stk__buffer *bytes, int amount);
void make_png_colour_type(stk__buffer *bytes, int amount);
void make_png_unknown_chunk(stk__buffer *bytes, int amount);
void make_png_without_palette(stk__buffer *bytes, int amount);
void make_png_beyond_palette(stk__buffer *bytes, int amount);

void make_mask_cut(stk__buffer *bytes, int amount);
void make_mask_checksum(stk__buffer *bytes, int amount);
void make_mask_bad_adler(stk__buffer *bytes, int amount);
void make_mask_bad_deflate(stk__buffer *bytes, int amount);
void make_mask_filter(stk__buffer *bytes, int amount);
void make_mask_other_size(stk__buffer *bytes, int amount);
void make_mask_ids(stk__buffer *bytes, int amount);
void make_mask_wide_ids(stk__buffer *bytes, int amount);

#endif
