#include "decode/jpeg_tables.h"

#include <string.h>
#include <jerror.h>

void stk__jpeg_tables_create(j_decompress_ptr codec)
{
    for (int i = 0; i < NUM_QUANT_TBLS; i++)
        codec->quant_tbl_ptrs[i] = jpeg_alloc_quant_table((j_common_ptr)codec);
    for (int i = 0; i < NUM_HUFF_TBLS; i++) {
        codec->dc_huff_tbl_ptrs[i] = jpeg_alloc_huff_table((j_common_ptr)codec);
        codec->ac_huff_tbl_ptrs[i] = jpeg_alloc_huff_table((j_common_ptr)codec);
    }
}

/* A Huffman table without codes fits no data, quantisation by 0 is illegal. */
void stk__jpeg_tables_forget(j_decompress_ptr codec)
{
    for (int i = 0; i < NUM_QUANT_TBLS; i++)
        memset(codec->quant_tbl_ptrs[i]->quantval, 0, sizeof codec->quant_tbl_ptrs[i]->quantval);
    for (int i = 0; i < NUM_HUFF_TBLS; i++) {
        memset(codec->dc_huff_tbl_ptrs[i]->bits, 0, sizeof codec->dc_huff_tbl_ptrs[i]->bits);
        memset(codec->ac_huff_tbl_ptrs[i]->bits, 0, sizeof codec->ac_huff_tbl_ptrs[i]->bits);
    }
}

/* libjpeg copies a component's divisors when its first scan begins. */
void stk__jpeg_tables_require(j_decompress_ptr codec)
{
    for (int i = 0; i < codec->num_components; i++) {
        const jpeg_component_info *component = &codec->comp_info[i];
        if (!component->quant_table || component->quant_table->quantval[0] == 0)
            ERREXIT1(codec, JERR_NO_QUANT_TABLE, component->quant_tbl_no);
    }
}
