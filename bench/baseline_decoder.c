/* SPDX-License-Identifier: Apache-2.0 */
/* The baseline of `stoker bench load`: as many threads as CPUs take the next sample from a common counter,
 * read its file and decode it into a buffer of their own, image by libjpeg-turbo and mask by libspng. There
 * is no order, no batch and no queue: what it reaches is what those decoders allow on this machine. */
#include "baseline_decoder.h"

#include "core/clock.h"
#include "core/file.h"
#include "core/thread.h"

#include <setjmp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <jpeglib.h>
#include <spng.h>
#include <limits.h>

typedef struct baseline_thread {
    const stk__baseline *baseline;
    atomic_uint_fast64_t *next;
    stk__thread *thread;
    stk__buffer file, pixels;
    stk_status status;
    stk_error error;
    struct jpeg_error_mgr jpeg_errors;
    jmp_buf jpeg_failed;
} baseline_thread;

static void leave(j_common_ptr jpeg) /* libjpeg's own would end the process */
{
    baseline_thread *t = jpeg->client_data;
    longjmp(t->jpeg_failed, 1);
}

static stk_status decode_jpeg(baseline_thread *t, struct jpeg_decompress_struct *jpeg)
{
    if (setjmp(t->jpeg_failed)) {
        jpeg_abort_decompress(jpeg);
        return stk__fail(
            &t->error, STK_ERROR_DATA,
            "the baseline decodes intact JPEG images only; look at the data with 'stoker stats'");
    }
    jpeg_mem_src(jpeg, t->file.data, t->file.size_bytes);
    jpeg_read_header(jpeg, TRUE);
    jpeg->out_color_space = JCS_RGB;
    jpeg_start_decompress(jpeg);
    const size_t pitch = (size_t)jpeg->output_width * 3;
    STK__TRY(stk__buffer_reserve(&t->pixels, pitch * jpeg->output_height, &t->error));
    while (jpeg->output_scanline < jpeg->output_height) {
        JSAMPROW rows[8];
        for (unsigned i = 0; i < 8; i++)
            rows[i] = t->pixels.data + pitch * (jpeg->output_scanline + i);
        const unsigned left = jpeg->output_height - jpeg->output_scanline;
        jpeg_read_scanlines(jpeg, rows, left < 8 ? left : 8);
    }
    jpeg_finish_decompress(jpeg);
    return STK_OK;
}

static stk_status decode_png(baseline_thread *t)
{
    size_t bytes = 0;
    spng_ctx *png = spng_ctx_new(0);
    int failed = png ? spng_set_png_buffer(png, t->file.data, t->file.size_bytes) : 1;
    if (!failed) failed = spng_decoded_image_size(png, SPNG_FMT_PNG, &bytes);
    stk_status status = failed ? STK_ERROR_DATA : stk__buffer_reserve(&t->pixels, bytes, &t->error);
    if (status == STK_OK && spng_decode_image(png, t->pixels.data, bytes, SPNG_FMT_PNG, 0) != 0)
        status = STK_ERROR_DATA;
    spng_ctx_free(png);
    return status == STK_ERROR_DATA ? stk__fail(&t->error, status, "the baseline cannot decode a mask")
                                    : status;
}

static stk_status read_field(baseline_thread *t, uint64_t id, stk__field field)
{
    char path[PATH_MAX];
    t->baseline->source->ops->where(t->baseline->source, id, field, path, sizeof path);
    return stk__file_read(path, 0, &t->file, &t->error);
}

static stk_status decode_samples(baseline_thread *t, struct jpeg_decompress_struct *jpeg)
{
    for (uint64_t id; (id = atomic_fetch_add(t->next, 1)) < t->baseline->count;) {
        STK__TRY(read_field(t, id, STK_FIELD_IMAGE));
        STK__TRY(decode_jpeg(t, jpeg));
        if (!t->baseline->masks) continue;
        STK__TRY(read_field(t, id, STK_FIELD_MASK));
        STK__TRY(decode_png(t));
    }
    return STK_OK;
}

static void run_thread(void *argument)
{
    baseline_thread *t = argument;
    struct jpeg_decompress_struct jpeg = {.err = jpeg_std_error(&t->jpeg_errors), .client_data = t};
    t->jpeg_errors.error_exit = leave;
    jpeg_create_decompress(&jpeg);
    t->status = decode_samples(t, &jpeg);
    jpeg_destroy_decompress(&jpeg);
    stk__buffer_fini(&t->file);
    stk__buffer_fini(&t->pixels);
}

stk_status stk__baseline_run(const stk__baseline *baseline, stk_error *error)
{
    atomic_uint_fast64_t next = 0;
    const size_t bytes = (size_t)baseline->threads * sizeof(baseline_thread);
    baseline_thread *threads = stk__alloc(bytes);
    if (!threads) return stk__fail_memory(error, bytes, "the baseline");
    const stk__thread_options options = {.name = "baseline", .run = run_thread};
    stk_status status = STK_OK;
    for (int i = 0; i < baseline->threads && status == STK_OK; i++) {
        threads[i].baseline = baseline;
        threads[i].next = &next;
        stk__thread_options own = options;
        own.context = &threads[i];
        status = stk__thread_start(&threads[i].thread, &own, error);
    }
    for (int i = 0; i < baseline->threads; i++) {
        while (!stk__thread_join(&threads[i].thread, stk__clock_ns() + STK_SECOND_NS))
            continue;
        if (status != STK_OK || threads[i].status == STK_OK) continue;
        status = threads[i].status;
        *error = threads[i].error;
    }
    stk__free(threads);
    return status;
}
