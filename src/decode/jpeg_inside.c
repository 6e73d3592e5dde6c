/* SPDX-License-Identifier: Apache-2.0 */
/* What libjpeg is really there. Versions have no function that tells, but a caller that claims to be built
 * for another API or another struct is refused, and the refusal names libjpeg's own numbers. The entropy
 * decoder has no such number: its two function pointers must point into libjpeg. The verdict is kept for the
 * process in one atomic; threads that ask at the same time come to the same one. */
#include "decode/jpeg_inside.h"

#include "core/logger.h"
#include "decode/jpeg.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <string.h>
#include <jerror.h>
#include <jpegint.h>

static const stk__jpeg_inside built_for = {.api = JPEG_LIB_VERSION,
                                           .codec_bytes = (int)sizeof(struct jpeg_decompress_struct),
                                           .message_count = JMSG_LASTMSGCODE,
                                           .entropy_is_its = true};

static const stk__jpeg_inside *built = &built_for;
enum { UNKNOWN, FITS, DIFFERS };
static _Atomic int verdict; /* one of these */

typedef struct question {
    struct jpeg_decompress_struct codec; /* first: the callback gets its address */
    struct jpeg_error_mgr errors;
    jmp_buf jump;
} question;

_Noreturn static void jump_back(j_common_ptr codec)
{
    longjmp(((question *)(void *)codec)->jump, 1);
}

/* The number of its own that libjpeg puts into the refusal; 0: it refused for another reason, or not at all.
 */
static int ask(int version, size_t codec_bytes, int refusal)
{
    question q;
    memset(&q, 0, sizeof q);
    q.codec.err = jpeg_std_error(&q.errors);
    q.errors.error_exit = jump_back;
    if (setjmp(q.jump)) return q.errors.msg_code == refusal ? q.errors.msg_parm.i[0] : 0;
    jpeg_CreateDecompress(&q.codec, version, codec_bytes);
    jpeg_destroy_decompress(&q.codec);
    return 0;
}

static const void *home_of(const void *function)
{
    Dl_info info;
    return dladdr(function, &info) ? info.dli_fbase : NULL;
}

/* C has no cast from a function to void *. */
#define ADDRESS_OF(function) (*(void *const *)(const void *)&(function))

static bool is_from_libjpeg(const struct jpeg_entropy_decoder *entropy)
{
    struct jpeg_error_mgr errors;
    jpeg_std_error(&errors); /* its functions are libjpeg's, whatever stands between us and the library */
    const void *libjpeg = home_of(ADDRESS_OF(errors.format_message));
    return libjpeg && home_of(ADDRESS_OF(entropy->start_pass)) == libjpeg &&
           home_of(ADDRESS_OF(entropy->decode_mcu)) == libjpeg;
}

static stk__jpeg_inside look(const struct jpeg_entropy_decoder *entropy)
{
    struct jpeg_error_mgr errors;
    jpeg_std_error(&errors);
    return (stk__jpeg_inside){.api = ask(-1, 0, JERR_BAD_LIB_VERSION),
                              .codec_bytes = ask(JPEG_LIB_VERSION, 0, JERR_BAD_STRUCT_SIZE),
                              .message_count = errors.last_jpeg_message + 1,
                              .entropy_is_its = is_from_libjpeg(entropy)};
}

static int judge(const struct jpeg_entropy_decoder *entropy)
{
    const stk__jpeg_inside found = look(entropy);
    const bool fits = found.api == built->api && found.codec_bytes == built->codec_bytes &&
                      found.message_count == built->message_count &&
                      found.entropy_is_its == built->entropy_is_its;
    int before = UNKNOWN;
    const bool first = atomic_compare_exchange_strong(&verdict, &before, fits ? FITS : DIFFERS);
    if (first && !fits)
        stk__log(
            STK_LOG_WARNING,
            "libjpeg (API %d, %d bytes, %d messages%s) differs from the one Stoker was built for (API %d, %d "
            "bytes, %d messages): its own Huffman decoder is used, which takes longer",
            found.api, found.codec_bytes, found.message_count,
            found.entropy_is_its ? "" : ", another entropy decoder", built->api, built->codec_bytes,
            built->message_count);
    return fits ? FITS : DIFFERS;
}

bool stk__jpeg_inside_fits(const struct jpeg_entropy_decoder *entropy)
{
    const int known = atomic_load_explicit(&verdict, memory_order_relaxed);
    return (known == UNKNOWN ? judge(entropy) : known) == FITS;
}

void stk__jpeg_inside_fake(const stk__jpeg_inside *fake)
{
    built = fake ? fake : &built_for;
    atomic_store(&verdict, UNKNOWN);
}

bool stk__jpeg_huffman_take(stk__jpeg_state *state)
{
    if (!stk__jpeg_inside_fits(state->codec.entropy) || !stk__jpeg_huffman_prepare(state)) return false;
    state->codec.entropy->decode_mcu = stk__jpeg_huffman_mcu;
    return true;
}
