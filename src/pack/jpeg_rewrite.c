/* SPDX-License-Identifier: Apache-2.0 */
/* Lossless JPEG transcoding by libjpeg: DCT coefficients are read and written again as one baseline scan with
 * optimal Huffman tables, without metadata but the orientation. Warnings of libjpeg refuse the file, but for
 * harmless ones (jpeg_warning.h). One rewriter per thread. */
#include "decode/format.h"
#include "decode/jpeg_tables.h"
#include "decode/jpeg_warning.h"
#include "image/jpeg_target.h"
#include "pack/jpeg_rewrite.h"

#include <assert.h>
#include <setjmp.h>
#include <string.h>
#include <jerror.h>

enum { FIRST_BYTES = 64 * 1024, LOOKAHEAD_BYTES = 64, MARKER_EXIF = JPEG_APP0 + 1 };

struct stk__jpeg_rewriter {
    struct jpeg_decompress_struct from;
    struct jpeg_compress_struct to;
    struct jpeg_error_mgr errors; /* of both */
    struct jpeg_progress_mgr progress;
    stk__jpeg_target target;
    jmp_buf jump; /* set by each function that calls libjpeg */
    const stk__limits *limits;
    stk__deadline deadline;
};

/* --- callbacks ----------------------------------------------------------------------------------------- */

static stk__jpeg_rewriter *rewriter_of(j_common_ptr codec)
{
    return codec->client_data;
}

_Noreturn static void jump_back(j_common_ptr codec)
{
    longjmp(rewriter_of(codec)->jump, 1);
}

/* A warning that is not harmless means that libjpeg guesses: what it would write is not what the file says.
 */
static void take_message(j_common_ptr codec, int level)
{
    if (level < 0 && !stk__jpeg_warning_harmless(codec)) jump_back(codec);
}

static void keep_silent(j_common_ptr codec)
{
    (void)codec;
}

/* Only decompressors are watched. */
static void watch_progress(j_common_ptr codec)
{
    stk__jpeg_rewriter *rewriter = rewriter_of(codec);
    const struct jpeg_decompress_struct *from = (const struct jpeg_decompress_struct *)(const void *)codec;
    if (from->input_scan_number > rewriter->limits->scans || stk__deadline_passed(&rewriter->deadline))
        ERREXIT(codec, JERR_CANT_SUSPEND);
}

/* --- life ---------------------------------------------------------------------------------------------- */

static void listen(stk__jpeg_rewriter *rewriter)
{
    jpeg_std_error(&rewriter->errors);
    rewriter->errors.error_exit = jump_back;
    rewriter->errors.emit_message = take_message;
    rewriter->errors.output_message = keep_silent;
    rewriter->progress.progress_monitor = watch_progress;
    rewriter->from.err = rewriter->to.err = &rewriter->errors;
    rewriter->from.client_data = rewriter->to.client_data = rewriter;
    stk__jpeg_target_init(&rewriter->target, FIRST_BYTES);
}

stk_status stk__jpeg_rewriter_create(stk__jpeg_rewriter **out, const stk__limits *limits, stk_error *error)
{
    stk__jpeg_rewriter *rewriter = *out = stk__alloc(sizeof *rewriter);
    if (!rewriter) return stk__fail_memory(error, sizeof *rewriter, "a JPEG rewriter");
    rewriter->limits = limits;
    listen(rewriter);
    if (setjmp(rewriter->jump)) {
        stk__jpeg_rewriter_destroy(out);
        return stk__fail(error, STK_ERROR_MEMORY, "out of memory in the JPEG rewriter");
    }
    jpeg_create_decompress(&rewriter->from); /* clears the struct but for err and client_data */
    stk__jpeg_tables_create(&rewriter->from);
    jpeg_create_compress(&rewriter->to);
    rewriter->from.progress = &rewriter->progress;
    rewriter->to.dest = &rewriter->target.manager;
    return STK_OK;
}

/* libjpeg takes codecs that were never created, as long as they are zeroed. */
void stk__jpeg_rewriter_destroy(stk__jpeg_rewriter **rewriter)
{
    if (!*rewriter) return;
    jpeg_destroy_compress(&(*rewriter)->to);
    jpeg_destroy_decompress(&(*rewriter)->from);
    stk__free(*rewriter);
    *rewriter = NULL;
}

/* --- reading ------------------------------------------------------------------------------------------- */

static void read_header(stk__jpeg_rewriter *rewriter, stk__encoded bytes)
{
    struct jpeg_decompress_struct *codec = &rewriter->from;
    jpeg_abort_decompress(codec);
    stk__jpeg_tables_forget(codec);
    jpeg_mem_src(codec, bytes.data, bytes.size_bytes);
    jpeg_read_header(codec, TRUE);
    stk__jpeg_tables_complete(codec);
    if ((uint64_t)codec->image_width * codec->image_height > rewriter->limits->pixels)
        ERREXIT1(codec, JERR_IMAGE_TOO_BIG, (int)JPEG_MAX_DIMENSION);
}

/* Reads a header and, if it is within the limits, all coefficients; every component has its divisors then.
 * Jumps when it cannot. */
static jvirt_barray_ptr *read_coefficients(stk__jpeg_rewriter *rewriter, stk__encoded bytes)
{
    rewriter->deadline = stk__deadline_start(rewriter->limits);
    read_header(rewriter, bytes);
    jvirt_barray_ptr *coefficients = jpeg_read_coefficients(&rewriter->from);
    stk__jpeg_tables_require(&rewriter->from);
    return coefficients;
}

/* After a jump: all codecs are put back to their beginnings, the reason becomes a status. */
static stk_status report(stk__jpeg_rewriter *rewriter, stk_error *error)
{
    char text[JMSG_LENGTH_MAX];
    const stk_status status = rewriter->target.status;
    const int code = rewriter->errors.msg_code;
    rewriter->errors.format_message((j_common_ptr)&rewriter->from, text);
    rewriter->target.status = STK_OK;
    jpeg_abort_compress(&rewriter->to);
    jpeg_abort_decompress(&rewriter->from);
    if (status != STK_OK) return status; /* error is filled */
    if (code == JERR_OUT_OF_MEMORY)
        return stk__fail(error, STK_ERROR_MEMORY, "out of memory in the JPEG rewriter");
    return stk__fail(error, STK_ERROR_UNSUPPORTED, "the JPEG cannot be rewritten: %s", text);
}

/* --- writing ------------------------------------------------------------------------------------------- */

/* Inks without Adobe's marker are not upside down; with it they are. Everything else needs what libjpeg chose
 * for the colour space: JFIF for grey and YCbCr, Adobe for RGB. */
static void configure(stk__jpeg_rewriter *rewriter)
{
    struct jpeg_compress_struct *to = &rewriter->to;
    jpeg_copy_critical_parameters(&rewriter->from, to);
    to->optimize_coding = TRUE;
    to->arith_code = FALSE;
    to->restart_interval = 0;
    to->restart_in_rows = 0;
    to->density_unit = 0;
    to->X_density = to->Y_density = 1;
    to->JFIF_major_version = to->JFIF_minor_version = 1;
    if (to->num_components == 4) to->write_Adobe_marker = rewriter->from.saw_Adobe_marker;
}

/* TIFF, big endian, one entry. */
static void write_orientation(struct jpeg_compress_struct *to, stk__orientation orientation)
{
    const uint8_t block[] = {'E', 'x', 'i', 'f', 0,    0, 'M', 'M', 0, 42, 0, 0, 0,
                             8,   0,   1,   1,   0x12, 0, 3,   0,   0, 0,  1, 0, (uint8_t)orientation,
                             0,   0,   0,   0,   0,    0};
    if (orientation > 1) jpeg_write_marker(to, MARKER_EXIF, block, sizeof block);
}

static void transcode(stk__jpeg_rewriter *rewriter, stk__encoded bytes, stk__orientation orientation)
{
    jvirt_barray_ptr *coefficients = read_coefficients(rewriter, bytes);
    configure(rewriter);
    jpeg_write_coefficients(&rewriter->to, coefficients);
    write_orientation(&rewriter->to, orientation);
    jpeg_finish_compress(&rewriter->to);
    jpeg_finish_decompress(&rewriter->from);
}

stk_status stk__jpeg_rewrite(stk__jpeg_rewriter *rewriter, stk__encoded bytes, stk__orientation orientation,
                             stk__buffer *file, stk_error *error)
{
    rewriter->target.file = file;
    rewriter->target.error = error;
    if (setjmp(rewriter->jump)) return report(rewriter, error);
    transcode(rewriter, bytes, orientation);
    STK__TRY(stk__buffer_reserve(file, file->size_bytes + LOOKAHEAD_BYTES, error));
    memset(file->data + file->size_bytes, 0, LOOKAHEAD_BYTES);
    return STK_OK;
}
