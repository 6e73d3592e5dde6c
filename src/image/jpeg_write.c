/* SPDX-License-Identifier: Apache-2.0 */
/* JPEG encoding by libjpeg into a growing buffer. libjpeg reports failures through callbacks that must not
 * return: they jump back to the one entry, which destroys the codec. A codec is made for each picture: no
 * state. */
#include "image/jpeg_write.h"

#include "image/jpeg_target.h"

#include <setjmp.h>

enum { FIRST_BYTES = 128 * 1024 };

typedef struct writer {
    struct jpeg_compress_struct codec;
    struct jpeg_error_mgr failures;
    stk__jpeg_target target;
    stk_error *error;
    stk_status status;
    jmp_buf escape;
} writer;

_Noreturn static void give_up(j_common_ptr codec)
{
    writer *self = (writer *)codec->client_data;
    self->status = self->target.status;
    if (self->status == STK_OK) {
        char text[JMSG_LENGTH_MAX];
        codec->err->format_message(codec, text);
        self->status = stk__fail(self->error, STK_ERROR_DATA, "cannot encode a jpeg: %s", text);
    }
    longjmp(self->escape, 1);
}

static void say_nothing(j_common_ptr codec)
{
    (void)codec;
}

static void compress(writer *self, stk__pixels pixels, int quality)
{
    struct jpeg_compress_struct *codec = &self->codec;
    jpeg_create_compress(codec);
    codec->client_data = self;
    codec->dest = &self->target.manager;
    codec->image_width = (JDIMENSION)pixels.w;
    codec->image_height = (JDIMENSION)pixels.h;
    codec->input_components = 3;
    codec->in_color_space = JCS_RGB;
    jpeg_set_defaults(codec); /* 4:2:0 */
    jpeg_set_quality(codec, quality, TRUE);
    jpeg_start_compress(codec, TRUE);
    while (codec->next_scanline < codec->image_height) {
        JSAMPROW row = stk__pixels_row(pixels, (int32_t)codec->next_scanline);
        jpeg_write_scanlines(codec, &row, 1);
    }
    jpeg_finish_compress(codec);
}

stk_status stk__jpeg_write(stk__pixels pixels, int quality, stk__buffer *file, stk_error *error)
{
    writer self = {.error = error};
    stk__jpeg_target_init(&self.target, FIRST_BYTES);
    self.target.file = file;
    self.target.error = error;
    self.codec.err = jpeg_std_error(&self.failures);
    self.codec.client_data = &self;
    self.failures.error_exit = give_up;
    self.failures.output_message = say_nothing;
    if (setjmp(self.escape) == 0) compress(&self, pixels, quality);
    jpeg_destroy_compress(&self.codec);
    return self.status;
}
