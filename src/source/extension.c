/* SPDX-License-Identifier: Apache-2.0 */
/* File extensions of samples packed into one byte: which of the known ones, and which letters are upper
 * case, so that a catalog entry can give back the exact file name. */
#include "source/extension.h"

#include "source/shards/shard_name.h"

#include <string.h>
#include <strings.h>

/* A code is the number of the extension, and above it one bit per letter: upper case. */
static const char *const names[] = {"jpg", "jpeg", "png", "npy"};
enum { NAME_COUNT = sizeof names / sizeof names[0], NAME_BITS = 2 };
_Static_assert(NAME_COUNT <= 1 << NAME_BITS, "more bits are needed for the number");
/* Codes are in the indexes of shards, with two bits for the prefix of a mask above them: a fifth extension
 * needs a new layout there and a new magic (shards/shard_index.c). */
_Static_assert(NAME_BITS + STK_EXTENSION_BYTES - 1 <= STK_SHARD_PREFIX_SHIFT, "codes reach into the prefix");

size_t stk__extension_stem(const char *name, size_t length)
{
    for (size_t at = length; at-- > 1 && name[at] != '/';)
        if (name[at] == '.') return name[at - 1] == '/' ? length : at;
    return length;
}

uint8_t stk__extension_code(const char *text, size_t length)
{
    for (unsigned i = 0; i < NAME_COUNT; i++) {
        if (strlen(names[i]) != length || strncasecmp(text, names[i], length) != 0) continue;
        unsigned upper = 0;
        for (size_t at = 0; at < length; at++)
            upper |= (unsigned)(text[at] != names[i][at]) << at;
        return (uint8_t)(i | upper << NAME_BITS);
    }
    return STK_EXTENSION_NONE;
}

bool stk__extension_is_picture(const char *name, size_t length)
{
    static const char *const others[] = {"bmp", "gif", "webp", "tif", "tiff", "ppm", "heic"};
    const size_t stem = stk__extension_stem(name, length);
    if (stem == length) return false;
    const char *text = name + stem + 1;
    const size_t size = length - stem - 1;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (strlen(others[i]) == size && strncasecmp(text, others[i], size) == 0) return true;
    return stk__extension_code(text, size) != STK_EXTENSION_NONE;
}

void stk__extension_text(uint8_t code, char text[STK_EXTENSION_BYTES])
{
    const char *name = stk__extension_name(code);
    const unsigned upper = code >> NAME_BITS;
    size_t at = 0;
    for (; name[at]; at++)
        text[at] = (char)(upper >> at & 1 ? name[at] - 'a' + 'A' : name[at]);
    text[at] = '\0';
}

const char *stk__extension_name(uint8_t code)
{
    const unsigned number = code & ((1 << NAME_BITS) - 1);
    return number < NAME_COUNT ? names[number] : ""; /* no code that was made here is beyond */
}
