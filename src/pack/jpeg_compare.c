/* Are two JPEGs the same picture? Compares their frames, quantisation tables and every DCT coefficient, so
 * no rounding of an inverse DCT is involved. Padding blocks at the edges do not count. */
#include "pack/jpeg_rewriter.h"

#include <assert.h>
#include <string.h>

static bool is_same_component(const jpeg_component_info *a, const jpeg_component_info *b)
{
    assert(a->quant_table && b->quant_table);
    return a->h_samp_factor == b->h_samp_factor && a->v_samp_factor == b->v_samp_factor &&
           a->width_in_blocks == b->width_in_blocks && a->height_in_blocks == b->height_in_blocks &&
           memcmp(a->quant_table->quantval, b->quant_table->quantval, sizeof a->quant_table->quantval) == 0;
}

static bool is_same_frame(const struct jpeg_decompress_struct *a, const struct jpeg_decompress_struct *b)
{
    bool same = a->image_width == b->image_width && a->image_height == b->image_height &&
                a->num_components == b->num_components && a->jpeg_color_space == b->jpeg_color_space &&
                (a->num_components != 4 || a->saw_Adobe_marker == b->saw_Adobe_marker);
    for (int i = 0; same && i < a->num_components; i++)
        same = is_same_component(&a->comp_info[i], &b->comp_info[i]);
    return same;
}

/* Blocks that only fill up the last row or column are no part of the picture. */
static bool is_same_plane(stk__jpeg_rewriter *rewriter, int plane, jvirt_barray_ptr a, jvirt_barray_ptr b)
{
    j_common_ptr first = (j_common_ptr)&rewriter->from, second = (j_common_ptr)&rewriter->other;
    const jpeg_component_info *info = &rewriter->from.comp_info[plane];
    for (JDIMENSION y = 0; y < info->height_in_blocks; y++) {
        JBLOCKARRAY one = first->mem->access_virt_barray(first, a, y, 1, FALSE);
        JBLOCKARRAY two = second->mem->access_virt_barray(second, b, y, 1, FALSE);
        if (memcmp(one[0], two[0], info->width_in_blocks * sizeof(JBLOCK)) != 0) return false;
    }
    return true;
}

static bool compare(stk__jpeg_rewriter *rewriter, stk__encoded a, stk__encoded b)
{
    jvirt_barray_ptr *first = stk__jpeg_rewriter_read(rewriter, &rewriter->from, a);
    jvirt_barray_ptr *second = stk__jpeg_rewriter_read(rewriter, &rewriter->other, b);
    bool same = is_same_frame(&rewriter->from, &rewriter->other);
    for (int i = 0; same && i < rewriter->from.num_components; i++)
        same = is_same_plane(rewriter, i, first[i], second[i]);
    jpeg_abort_decompress(&rewriter->other);
    jpeg_abort_decompress(&rewriter->from);
    return same;
}

stk_status stk__jpeg_compare(stk__jpeg_rewriter *rewriter, stk__encoded a, stk__encoded b, bool *same,
                             stk_error *error)
{
    *same = false;
    if (setjmp(rewriter->jump)) {
        const stk_status status = stk__jpeg_rewriter_report(rewriter, error);
        return status == STK_ERROR_UNSUPPORTED ? STK_OK : status;
    }
    *same = compare(rewriter, a, b);
    return STK_OK;
}
