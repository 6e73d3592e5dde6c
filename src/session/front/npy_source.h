/* SPDX-License-Identifier: Apache-2.0 */
/* Images in the caller's memory as a source: each is read as the .npy file that holds these pixels, so that
 * sizes, channels and values are treated exactly as those of files. */
#ifndef STK_SESSION_NPY_SOURCE_H
#define STK_SESSION_NPY_SOURCE_H

#include "source/source.h"

/* images: u8 [n h w c], in host memory; it is the caller's and outlives the source. STK_ERROR_ARGUMENT: it is
 * something else. */
stk_status stk__npy_source_open(stk__source **source, const stk_tensor *images, stk_error *error);

#endif
