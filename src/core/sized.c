/* SPDX-License-Identifier: Apache-2.0 */
/* Copies between a caller's struct and ours when the two may have been compiled with different headers. Only
 * as many bytes of the caller's are touched as its struct_size says. Threads: no state. */
#include "core/sized.h"

#include <stdint.h>
#include <string.h>

enum { MOST_BYTES = 65536 }; /* more is a struct that was never initialised */

static stk_status read_size(const void *caller, const stk__sized *sized, size_t *size, stk_error *error)
{
    memcpy(size, caller, sizeof *size);
    if (*size == 0) *size = sized->first;
    if (*size >= sized->first && *size <= MOST_BYTES) return STK_OK;
    stk__fail(error, STK_ERROR_ARGUMENT, "%s has a struct_size of %zu, which no version has", sized->name,
              *size);
    stk__error_hint(error, "set all of it to zero, and struct_size to sizeof(%s)", sized->name);
    return STK_ERROR_ARGUMENT;
}

stk_status stk__sized_take(void *to, const void *from, const stk__sized *sized, stk_error *error)
{
    size_t size;
    STK__TRY(read_size(from, sized, &size, error));
    const uint8_t *bytes = from;
    for (size_t i = sized->known; i < size; i++) {
        if (!bytes[i]) continue;
        stk__fail(error, STK_ERROR_ARGUMENT, "%s has a field that libstoker %s does not know, at byte %zu",
                  sized->name, stk_version(), i);
        stk__error_hint(error, "the program was compiled for a newer libstoker: install that one");
        return STK_ERROR_ARGUMENT;
    }
    memset(to, 0, sized->known);
    memcpy(to, from, size < sized->known ? size : sized->known);
    return STK_OK;
}

stk_status stk__sized_give(void *to, const void *from, const stk__sized *sized, stk_error *error)
{
    size_t size;
    STK__TRY(read_size(to, sized, &size, error));
    const size_t rest = (size < sized->known ? size : sized->known) - sizeof size;
    memcpy((uint8_t *)to + sizeof size, (const uint8_t *)from + sizeof size, rest);
    if (size > sized->known) memset((uint8_t *)to + sized->known, 0, size - sized->known);
    return STK_OK;
}
