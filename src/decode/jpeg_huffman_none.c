/* SPDX-License-Identifier: Apache-2.0 */
/* Where libjpeg does not show its inside (jpegint.h), it decodes alone. */
#include "decode/jpeg_huffman.h"

bool stk__jpeg_huffman_take(struct stk__jpeg_state *state)
{
    (void)state;
    return false;
}
