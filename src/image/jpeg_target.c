/* SPDX-License-Identifier: Apache-2.0 */
/* A destination manager of libjpeg over stk__buffer: it offers the buffer's room, lets it grow when that is
 * full, and sets its size at the end. Out of memory goes the way of libjpeg's own failures, through
 * error_exit. */
#include "image/jpeg_target.h"

static stk__jpeg_target *target_of(j_compress_ptr codec)
{
    return (stk__jpeg_target *)(void *)codec->dest;
}

static void offer_room(j_compress_ptr codec, size_t capacity_bytes)
{
    stk__jpeg_target *target = target_of(codec);
    target->status = stk__buffer_reserve(target->file, capacity_bytes, target->error);
    if (target->status != STK_OK) codec->err->error_exit((j_common_ptr)codec); /* does not return */
    target->manager.next_output_byte = target->file->data + target->file->size_bytes;
    target->manager.free_in_buffer = target->file->capacity_bytes - target->file->size_bytes;
}

static void start(j_compress_ptr codec)
{
    target_of(codec)->file->size_bytes = 0;
    offer_room(codec, target_of(codec)->first_bytes);
}

/* libjpeg has filled all of it. */
static boolean grow(j_compress_ptr codec)
{
    stk__buffer *file = target_of(codec)->file;
    file->size_bytes = file->capacity_bytes;
    offer_room(codec, file->capacity_bytes + 1);
    return TRUE;
}

static void end(j_compress_ptr codec)
{
    stk__jpeg_target *target = target_of(codec);
    target->file->size_bytes = target->file->capacity_bytes - target->manager.free_in_buffer;
}

void stk__jpeg_target_init(stk__jpeg_target *target, size_t first_bytes)
{
    *target = (stk__jpeg_target){
        .manager = {.init_destination = start, .empty_output_buffer = grow, .term_destination = end},
        .first_bytes = first_bytes};
}
