/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict on libjpeg's warnings. Bytes too many between two segments, or behind the last block of a scan,
 * are skipped after everything was decoded; they are common in photos from the web (ImageNet, COCO). Where
 * libjpeg invents data, or has lost its place, pixels are wrong: that is damage. Pure functions. */
#include "decode/jpeg_warning.h"

#include <jerror.h>

/* Before a restart marker the blocks of an interval did not use up its bytes: then libjpeg had lost its place
 * in them, because no encoder writes bytes there. With arithmetic coding there is no last byte: zeros may be
 * left out, so bytes that follow change pixels. */
static bool are_data(j_common_ptr codec)
{
    const int marker = codec->err->msg_parm.i[1];
    const struct jpeg_decompress_struct *from = (const struct jpeg_decompress_struct *)(const void *)codec;
    return (marker >= JPEG_RST0 && marker <= JPEG_RST0 + 7) || from->arith_code;
}

const char *stk__jpeg_warning_harmless(j_common_ptr codec)
{
    switch (codec->err->msg_code) {
    case JWRN_EXTRANEOUS_DATA:
        return are_data(codec) ? NULL : "extraneous bytes before a marker";
    case JWRN_JFIF_MAJOR: /* only the number of a version */
        return "unknown JFIF version";
    case JWRN_NOT_SEQUENTIAL: /* libjpeg does not use them: some cameras write zeros */
        return "scan parameters that do not fit a sequential JPEG";
    default:
        return NULL;
    }
}

stk_damage stk__jpeg_warning_damage(int code)
{
    switch (code) {
    case JWRN_JPEG_EOF:
        return STK_DAMAGE_TRUNCATED;
    case JWRN_ADOBE_XFORM: /* which colours these are is a guess */
        return STK_DAMAGE_BAD_HEADER;
    default:
        return STK_DAMAGE_CORRUPT;
    }
}

/* coef_bits: how many lower bits of a coefficient have not come; -1: it has not come at all. */
bool stk__jpeg_lacks_scans(const struct jpeg_decompress_struct *codec)
{
    if (!codec->progressive_mode || !codec->coef_bits) return false;
    int missing = 0;
    for (int i = 0; i < codec->num_components; i++)
        for (int k = 0; k < DCTSIZE2; k++)
            missing |= codec->coef_bits[i][k];
    return missing != 0;
}
