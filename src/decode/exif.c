/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the orientation tag: walks over the markers of a JPEG to APP1/Exif and reads one TIFF directory.
 * Whatever is malformed means orientation 1: metadata never makes an image bad. Input is untrusted
 * (fuzzed); pure functions. */
#include "decode/exif.h"

#include <string.h>

enum {
    MARKER_TEM = 0x01,
    MARKER_RST0 = 0xD0,
    MARKER_RST7 = 0xD7,
    MARKER_EOI = 0xD9,
    MARKER_SOS = 0xDA,
    MARKER_APP1 = 0xE1,
    TAG_ORIENTATION = 0x0112,
    TYPE_SHORT = 3,
    TYPE_LONG = 4 /* against the standard, but written */
};

/* A TIFF block: byte order as it says itself. */
typedef struct tiff {
    const uint8_t *data;
    size_t size_bytes;
    bool big;
} tiff;

static uint32_t read_number(const tiff *block, size_t at, int bytes)
{
    uint32_t number = 0;
    for (int i = 0; i < bytes; i++)
        number = number << 8 | block->data[at + (size_t)(block->big ? i : bytes - 1 - i)];
    return number;
}

static stk__orientation read_entry(const tiff *block, size_t at)
{
    const uint32_t type = read_number(block, at + 2, 2);
    if (read_number(block, at, 2) != TAG_ORIENTATION || (type != TYPE_SHORT && type != TYPE_LONG)) return 0;
    const uint32_t value = read_number(block, at + 8, type == TYPE_SHORT ? 2 : 4);
    return value >= 1 && value <= 8 ? (stk__orientation)value : 1;
}

static stk__orientation read_tiff(tiff block)
{
    if (block.size_bytes < 8) return 1;
    if (memcmp(block.data, "MM\0*", 4) == 0)
        block.big = true;
    else if (memcmp(block.data, "II*\0", 4) != 0)
        return 1;
    const size_t folder = read_number(&block, 4, 4);
    if (folder > block.size_bytes - 2) return 1;
    const size_t count = read_number(&block, folder, 2);
    for (size_t i = 0, at = folder + 2; i < count && at + 12 <= block.size_bytes; i++, at += 12) {
        const stk__orientation found = read_entry(&block, at);
        if (found) return found;
    }
    return 1;
}

stk__orientation stk__exif_block_orientation(stk__encoded block)
{
    const size_t prefix = block.size_bytes >= 6 && memcmp(block.data, "Exif\0", 6) == 0 ? 6 : 0;
    return read_tiff((tiff){block.data + prefix, block.size_bytes - prefix, false});
}

static bool has_length(uint8_t marker)
{
    return marker != MARKER_TEM && (marker < MARKER_RST0 || marker > MARKER_RST7);
}

stk__orientation stk__exif_orientation(stk__encoded bytes)
{
    const uint8_t *data = bytes.data;
    size_t at = 2;
    while (at + 4 <= bytes.size_bytes && data[at] == 0xFF) {
        if (data[at + 1] == 0xFF) { /* fill byte */
            at++;
            continue;
        }
        if (!has_length(data[at + 1])) {
            at += 2;
            continue;
        }
        const size_t length = (size_t)data[at + 2] << 8 | data[at + 3];
        if (data[at + 1] == MARKER_SOS || data[at + 1] == MARKER_EOI) return 1;
        if (length < 2 || length > bytes.size_bytes - at - 2) return 1;
        if (data[at + 1] == MARKER_APP1 && length >= 8 && memcmp(data + at + 4, "Exif\0", 6) == 0)
            return read_tiff((tiff){data + at + 10, length - 8, false});
        at += 2 + length;
    }
    return 1;
}
