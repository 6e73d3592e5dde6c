/* SPDX-License-Identifier: Apache-2.0 */
/* Settings that say how a folder is read, described once for the sections `data` and `pack`, whose structs
 * have fields of these names. */
#ifndef STK_SOURCE_LAYOUT_OPTIONS_H
#define STK_SOURCE_LAYOUT_OPTIONS_H

#include "core/option.h"

/* clang-format off */
#define STK_LAYOUT_OPTIONS(field) \
    {.name = "columns", .type = STK_OPTION_TEXT, .offset = field(columns), .map = true, .help = "columns of a list by role: file, label (a class), labels (several: multi-label), value (regression), mask, split, points (key points), such as file=Image Name,label=species,split=none; unset = by their names, and what is not used is listed"}, \
    {.name = "layout", .type = STK_OPTION_WORD, .offset = field(layout), .choices = "auto|classes|pairs|images|list|parts", .help = "how to read a folder; auto = by the names of its folders (images + masks, train/val/test, else a folder per class), and an error where two readings are possible"}, \
    {.name = "images", .type = STK_OPTION_TEXT, .offset = field(images), .help = "folder of the images, below data.root; unset = found by its name"}, \
    {.name = "masks", .type = STK_OPTION_TEXT, .offset = field(masks), .help = "folder of the segmentation masks, below data.root; unset = found by its name"}, \
    {.name = "mask_suffix", .type = STK_OPTION_TEXT, .offset = field(mask_suffix), .help = "suffix of mask names: _mask pairs x.jpg with x_mask.png; none = no suffix; unset = found"}, \
    {.name = "mask_prefix", .type = STK_OPTION_TEXT, .offset = field(mask_prefix), .help = "prefix of mask names: mask_ pairs x.jpg with mask_x.png; none = no prefix; unset = found"}, \
    {.name = "train_list", .type = STK_OPTION_TEXT, .offset = field(train_list), .help = "text file with the training samples, one path or key per line; others are left out"}, \
    {.name = "val_list", .type = STK_OPTION_TEXT, .offset = field(val_list), .help = "text file with the samples held out for validation, one path or key per line"}, \
    {.name = "test_list", .type = STK_OPTION_TEXT, .offset = field(test_list), .help = "text file with the samples held out for testing, one path or key per line"}
/* clang-format on */

/* Those of a struct with such fields, as designated initializers of stk__source_options. */
#define STK_LAYOUT_FIELDS(o)                                                                                 \
    .columns = (o)->columns, .layout = (o)->layout, .images = (o)->images, .masks = (o)->masks,              \
    .mask_suffix = (o)->mask_suffix, .mask_prefix = (o)->mask_prefix, .train_list = (o)->train_list,         \
    .val_list = (o)->val_list, .test_list = (o)->test_list

#endif
