/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures and masks as they are stored in a shard. */
#ifndef STK_PACK_PACKER_PICTURE_H
#define STK_PACK_PACKER_PICTURE_H

#include "pack/packer.h"

/* What to store for a field of a sample. */
typedef struct stk__pack_picture {
    stk__encoded bytes;    /* in packer->bytes or packer->file */
    const char *extension; /* "jpg", "png", "npy" */
    stk__picture header;   /* of what the source has */
    bool kept;
} stk__pack_picture;

/* From the bytes in packer->bytes; promised is the extension that the source gives. Statuses as
 * stk__packer_pack, without place. */
stk_status stk__packer_image(stk__packer *packer, const char *promised, stk__pack_picture *picture,
                             stk_error *error);
stk_status stk__packer_mask(stk__packer *packer, const char *promised, stk__pack_picture *picture,
                            stk_error *error);

#endif
