/* SPDX-License-Identifier: Apache-2.0 */
/* Draws one generated sample and writes its files: a JPEG or PNG, and a mask as PNG. One set of buffers
 * per worker, reused for every sample. */
#include "make/make_write.h"

#include "core/file.h"
#include "image/jpeg_write.h"

#include <limits.h>
#include <stdio.h>

enum { QUALITY = 90 };

static stk_status write_file(const stk__make_sample *sample, const char *folder, const char *extension,
                             stk__buffer data, stk_error *error)
{
    char key[64], path[PATH_MAX];
    stk__make_key(sample->kind, sample->index, sample->count, key, sizeof key);
    const int length = snprintf(path, sizeof path, "%s/%s%s.%s", sample->folder, folder, key, extension);
    if (length >= (int)sizeof path)
        return stk__fail(error, STK_ERROR_ARGUMENT, "the path '%.80s…' is too long", sample->folder);
    return stk__file_write(path, data, STK_FILE_QUICK, error);
}

static stk_status write_picture(stk__make_bench *bench, const stk__make_sample *sample, stk__pixels image,
                                stk_error *error)
{
    if (image.channels == 3) {
        STK__TRY(stk__jpeg_write(image, QUALITY, &bench->file, error));
        return write_file(sample, "images/", "jpg", bench->file, error);
    }
    STK__TRY(
        stk__png_write(bench->png, image, &(stk__png_options){.filter = STK_PNG_BEST}, &bench->file, error));
    return write_file(sample, "", "png", bench->file, error);
}

/* Scratch, image and mask lie behind each other in one buffer. */
stk_status stk__make_sample_write(stk__make_bench *bench, const stk__make_sample *sample, uint64_t *bytes,
                                  stk_error *error)
{
    const stk__make_info *info = stk__make_describe(sample->kind);
    const size_t mask_bytes = (size_t)info->w * (size_t)info->h,
                 image_bytes = mask_bytes * (size_t)info->channels;
    STK__TRY(stk__buffer_reserve(&bench->pixels, info->scratch_bytes + image_bytes + mask_bytes, error));
    if (!bench->png) STK__TRY(stk__png_writer_create(&bench->png, STK_PNG_LEVEL_QUICK, error));
    uint8_t *data = bench->pixels.data + info->scratch_bytes;
    const stk__pixels image = stk__pixels_dense(data, info->w, info->h, info->channels);
    const stk__pixels mask = stk__pixels_dense(info->masks ? data + image_bytes : NULL, info->w, info->h, 1);
    stk__make_draw(sample->kind, sample->seed, sample->index, image, mask, bench->pixels.data);
    STK__TRY(write_picture(bench, sample, image, error));
    *bytes += bench->file.size_bytes;
    if (!mask.data) return STK_OK;
    STK__TRY(
        stk__png_write(bench->png, mask, &(stk__png_options){.filter = STK_PNG_LEFT}, &bench->file, error));
    STK__TRY(write_file(sample, "masks/", "png", bench->file, error));
    *bytes += bench->file.size_bytes;
    return STK_OK;
}

void stk__make_bench_fini(stk__make_bench *bench)
{
    stk__png_writer_destroy(&bench->png);
    stk__buffer_fini(&bench->pixels);
    stk__buffer_fini(&bench->file);
}
