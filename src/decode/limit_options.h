/* SPDX-License-Identifier: Apache-2.0 */
/* The option rows `limits.*` of every section that decodes files (data, pack): names, defaults and help once.
 * The defaults are those of stk__limits_default. FIELD(name) is the offset of limit_bytes, limit_pixels,
 * limit_scans, limit_warnings and limit_time_s in the section's struct. */
#ifndef STK_DECODE_LIMIT_OPTIONS_H
#define STK_DECODE_LIMIT_OPTIONS_H

#include "core/option.h"

/* clang-format off */
#define STK_LIMIT_OPTIONS(FIELD, MOST_BYTES, MOST_PIXELS) \
    {.name = "limits.bytes", .type = STK_OPTION_BYTES, .offset = FIELD(limit_bytes), .least = 1, .most = (MOST_BYTES), .fallback = "256M", .unit = "bytes", .help = "maximum file size"}, \
    {.name = "limits.pixels", .type = STK_OPTION_BYTES, .offset = FIELD(limit_pixels), .least = 1, .most = (MOST_PIXELS), .fallback = "100e6", .unit = "pixels", .help = "maximum image size, height x width"}, \
    {.name = "limits.scans", .type = STK_OPTION_INT, .offset = FIELD(limit_scans), .least = 1, .most = 1e6, .fallback = "200", .help = "maximum number of scans of a progressive JPEG"}, \
    {.name = "limits.warnings", .type = STK_OPTION_INT, .offset = FIELD(limit_warnings), .least = 0, .most = 1e6, .help = "maximum number of decoder warnings per image; more = corrupt; harmless ones do not count"}, \
    {.name = "limits.time", .type = STK_OPTION_SECONDS, .offset = FIELD(limit_time_s), .least = 0.001, .most = 3600, .fallback = "10", .unit = "s", .help = "maximum time to decode one image: CPU time of its thread"}
/* clang-format on */

#endif
