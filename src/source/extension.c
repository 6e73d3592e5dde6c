/* SPDX-License-Identifier: Apache-2.0 */
/* File extensions: the known ones, of files that are read, packed into one byte (which of them, and which
 * letters are upper case, so that a catalog entry can give back the exact file name), and those of pictures
 * that are not read. Pure but for one function that looks for a file. */
#include "source/extension.h"

#include "source/kinds.h"
#include "source/shards/shard_name.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* A code is the number of the extension, and above it one bit per letter: upper case. */
static const char *const names[] = {"jpg", "jpeg", "png", "npy"};
enum { NAME_COUNT = sizeof names / sizeof names[0], NAME_BITS = 2 };
_Static_assert(NAME_COUNT <= 1 << NAME_BITS, "more bits are needed for the number");
_Static_assert((int)NAME_COUNT <= (int)STK_FORMATS_MOST, "a data set may have files of each (source.h)");
/* Codes are in the indexes of shards, with two bits for the prefix of a mask above them: a fifth extension
 * needs a new layout there and a new magic (shards/shard_index.c). */
_Static_assert(NAME_BITS + STK_EXTENSION_BYTES - 1 <= STK_SHARD_PREFIX_SHIFT, "codes reach into the prefix");

/* JPEG by its other names is decoded where a list names the file; folders have no code left for it. */
static const char *const unread[] = {"webp", "bmp",  "gif", "tif", "tiff", "heic", "heif", "avif",
                                     "jp2",  "jfif", "jpe", "ppm", "pgm",  "exr",  "hdr",  "dcm",
                                     "nii",  "svg",  "psd", "tga", "cr2",  "dng",  "nef",  "arw"};

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

bool stk__extension_is_unread(const char *text, size_t length)
{
    for (size_t i = 0; i < sizeof unread / sizeof unread[0]; i++)
        if (strlen(unread[i]) == length && strncasecmp(text, unread[i], length) == 0) return true;
    return false;
}

bool stk__extension_is_picture(const char *name, size_t length)
{
    const size_t stem = stk__extension_stem(name, length);
    if (stem == length) return false;
    const char *text = name + stem + 1;
    const size_t size = length - stem - 1;
    return stk__extension_code(text, size) != STK_EXTENSION_NONE || stk__extension_is_unread(text, size);
}

bool stk__extension_finds_file(const char *stem)
{
    static const unsigned cases[] = {0, UINT8_MAX}; /* bits of letters: none is upper case, all are */
    char path[PATH_MAX], text[STK_EXTENSION_BYTES];
    for (unsigned i = 0; i < NAME_COUNT; i++)
        for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
            stk__extension_text((uint8_t)(i | cases[k] << NAME_BITS), text);
            if (snprintf(path, sizeof path, "%s.%s", stem, text) < PATH_MAX && stk__path_is_file(path))
                return true;
        }
    return false;
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
