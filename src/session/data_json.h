/* SPDX-License-Identifier: Apache-2.0 */
/* What was understood of a data set, as JSON: in `load`, `stats`, `eval --json`, run.json and data.json. */
#ifndef STK_SESSION_DATA_JSON_H
#define STK_SESSION_DATA_JSON_H

#include "stoker/loader.h"

#include <jansson.h>

/* {"layout", "count", "dataset_count", "found", "parts": [], "formats": [{"extension", "images", "masks"}],
 * "left_out": [{"what", "count", "example"}], "images_without_mask", "masks", "points", "class_count",
 * "class_names"}; the caller's to release. */
json_t *stk__data_json(const stk_loader_info *info);

#endif
