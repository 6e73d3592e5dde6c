/* Any bytes as a JPEG file: see fuzz_decode.c. Its orientation is found the same in any place of memory. */
#include "fuzz.h"
#include "fuzz_decode.h"

#include "decode/exif.h"

#include <assert.h>
#include <stdlib.h>

/* The tag is looked for in exactly these bytes: the sanitizer watches their end. */
static void check_orientation(const uint8_t *data, size_t size)
{
    uint8_t *exact = fuzz_copy(data, size, 0);
    const stk__orientation found = stk__exif_orientation((stk__encoded){exact, size});
    assert(found >= 1 && found <= 8);
    free(exact);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *bytes = fuzz_copy(data, size, 64);
    fuzz_decode("jpg", bytes, size);
    check_orientation(data, size);
    free(bytes);
    return 0;
}
