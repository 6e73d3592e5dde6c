/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON header of a safetensors file, read strictly: no tree is built, strings are decoded in place. */
#ifndef STK_TRAIN_SAFETENSORS_PARSE_H
#define STK_TRAIN_SAFETENSORS_PARSE_H

#include "train/checkpoint/safetensors.h"

typedef struct stk__safetensors_pair {
    const char *key, *value;
} stk__safetensors_pair;

/* Lists in the order of the text; names, keys and values lie in it. Owner: whoever embeds it. */
typedef struct stk__safetensors_list {
    stk__buffer tensors; /* stk__safetensor[] */
    stk__buffer pairs;   /* stk__safetensors_pair[]: metadata */
} stk__safetensors_list;

/* Every tensor's size fits its shape and dtype; names may come twice and places may overlap: that is for the
 * caller to see. text is changed and must outlive the list, which is the caller's also after an error. */
stk_status stk__safetensors_parse(char *text, size_t size_bytes, stk__safetensors_list *list,
                                  stk_error *error);

#endif
