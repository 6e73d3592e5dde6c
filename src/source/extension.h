/* SPDX-License-Identifier: Apache-2.0 */
/* File extensions: those that can hold a sample, spelled in any case, packed into one byte of a catalog
 * entry, and those of pictures that are not read. The one list of both. */
#ifndef STK_SOURCE_EXTENSION_H
#define STK_SOURCE_EXTENSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    STK_EXTENSION_NONE = 255,  /* no extension, or none that is known */
    STK_EXTENSION_OTHER = 254, /* lists only: another one, spelled out in the arena behind the key */
    STK_EXTENSION_BYTES = 5    /* of the longest text, zero included */
};

/* Length of the name without its last extension; the dot of ".hidden" starts none. */
size_t stk__extension_stem(const char *name, size_t length);

/* Code of a known extension (without dot), or STK_EXTENSION_NONE. */
uint8_t stk__extension_code(const char *text, size_t length);

/* "webp": the extension (without dot) of pictures that are not read. */
bool stk__extension_is_unread(const char *text, size_t length);

/* "a.jpg", "b.webp": the name of a picture in any format, read here or not. */
bool stk__extension_is_picture(const char *name, size_t length);

/* The spelling that a code stands for ("JPG") and its plain name ("jpg"). */
void stk__extension_text(uint8_t code, char text[STK_EXTENSION_BYTES]);
const char *stk__extension_name(uint8_t code);

/* Is there a file of this path with a known extension behind it, "jpg" or "JPG"? */
bool stk__extension_finds_file(const char *stem);

#endif
