/* SPDX-License-Identifier: Apache-2.0 */
/* libjpeg's error manager: errors and warnings become classes of damage with libjpeg's own words, by
 * longjmp back to the decoder, and harmless warnings a note (jpeg_warning.c); progress callbacks check the
 * deadline and the number of scans. State belongs to one decoder. */
#include "decode/jpeg.h"
#include "decode/jpeg_warning.h"

#include <jerror.h>

enum { TICKS_PER_LOOK = 64 };

_Noreturn static void jump_back(j_common_ptr codec)
{
    longjmp(stk__jpeg_state_of(codec)->jump, 1);
}

_Noreturn static void jump_with(j_common_ptr codec, stk_damage damage)
{
    stk__jpeg_state_of(codec)->damage = damage;
    jump_back(codec);
}

static void note(stk__jpeg_state *state, const char *warning)
{
    if (!state->accepted) state->accepted = warning;
}

/* reason: instead of libjpeg's words; NULL: those. */
static void count_warning(stk__jpeg_state *state, stk_damage damage, const char *reason)
{
    if (++state->warning_count <= state->limits->warnings) {
        note(state, "damage that limits.warnings permits");
        return;
    }
    state->reason = reason;
    jump_with((j_common_ptr)&state->codec, damage);
}

static void take_message(j_common_ptr codec, int level)
{
    if (level >= 0) return; /* tracing */
    stk__jpeg_state *state = stk__jpeg_state_of(codec);
    const char *harmless = stk__jpeg_warning_harmless(codec);
    if (codec->err->msg_code == JWRN_EXTRANEOUS_DATA && state->codec.output_scanline > 0)
        state->left_over = true;
    if (harmless)
        note(state, harmless);
    else
        count_warning(state, stk__jpeg_warning_damage(codec->err->msg_code), NULL);
}

void stk__jpeg_check_scans(stk__jpeg_state *state)
{
    if (stk__jpeg_lacks_scans(&state->codec))
        count_warning(state, STK_DAMAGE_TRUNCATED, "the progressive JPEG lacks its last scans");
}

static void keep_silent(j_common_ptr codec)
{
    (void)codec;
}

static void watch_progress(j_common_ptr codec)
{
    stk__jpeg_state *state = stk__jpeg_state_of(codec);
    if (state->codec.input_scan_number > state->limits->scans) jump_with(codec, STK_DAMAGE_TOO_MANY_SCANS);
    if (++state->ticks % TICKS_PER_LOOK == 0 && stk__deadline_passed(&state->deadline))
        jump_with(codec, STK_DAMAGE_TOO_SLOW);
}

/* A side of more than 65500 pixels: libjpeg takes none whatever the limit, but a bomb is to be called one. */
static stk_damage classify_side(const stk__jpeg_state *state)
{
    const uint64_t pixels = (uint64_t)state->codec.image_width * state->codec.image_height;
    return pixels > state->limits->pixels ? STK_DAMAGE_TOO_MANY_PIXELS : STK_DAMAGE_UNSUPPORTED;
}

static stk_damage classify_error(const stk__jpeg_state *state, int code, bool in_header)
{
    switch (code) {
    case JERR_EMPTY_IMAGE:
        return STK_DAMAGE_ZERO_SIZE;
    case JERR_IMAGE_TOO_BIG:
        return classify_side(state);
    case JERR_ARITH_NOTIMPL:
    case JERR_BAD_PRECISION:
    case JERR_CCIR601_NOTIMPL:
    case JERR_COMPONENT_COUNT:
    case JERR_CONVERSION_NOTIMPL:
    case JERR_FRACT_SAMPLE_NOTIMPL:
    case JERR_NOTIMPL:
    case JERR_NOT_COMPILED:
    case JERR_SOF_UNSUPPORTED:
    case JERR_WIDTH_OVERFLOW:
        return STK_DAMAGE_UNSUPPORTED;
    default:
        return in_header ? STK_DAMAGE_BAD_HEADER : STK_DAMAGE_CORRUPT;
    }
}

void stk__jpeg_refuse_tail(stk__jpeg_state *state)
{
    count_warning(state, STK_DAMAGE_CORRUPT, "image data is left over behind the last block");
}

/* libjpeg's words, but for tables: those that are missing have become illegal ones (jpeg_tables.h). */
static const char *describe(stk__jpeg_state *state, char *text)
{
    if (state->reason) return state->reason;
    switch (state->errors.msg_code) {
    case JERR_BAD_HUFF_TABLE:
        return "a Huffman table is missing or invalid";
    case JERR_MISSING_DATA:
        return "a component has no scan";
    case JERR_NO_QUANT_TABLE:
        return "a quantization table is missing or has a 0";
    default:
        state->errors.format_message((j_common_ptr)&state->codec, text);
        return text;
    }
}

stk_status stk__jpeg_report(stk__jpeg_state *state, bool in_header, stk_error *error)
{
    j_common_ptr codec = (j_common_ptr)&state->codec;
    const int code = state->errors.msg_code;
    char room[JMSG_LENGTH_MAX];
    const char *text = describe(state, room);
    const unsigned row = state->codec.output_scanline;
    jpeg_abort(codec);
    state->ready.data = NULL;
    switch (state->damage) {
    case STK_DAMAGE_NONE:
        break;
    case STK_DAMAGE_TOO_SLOW:
        return stk__deadline_fail(&state->deadline, error);
    case STK_DAMAGE_TOO_MANY_SCANS:
        stk__damaged(error, state->damage, "more than %lld scans", (long long)state->limits->scans);
        stk__error_hint(error, "raise limits.scans if such images are expected");
        return STK_ERROR_SAMPLE;
    default:
        stk__damaged(error, state->damage, "JPEG decoder at row %u: %s", row, text);
        if (state->warning_count > state->limits->warnings)
            stk__error_hint(error,
                            "fix or remove the file, or accept this warning: data.limits.warnings=%lld",
                            (long long)state->warning_count);
        return STK_ERROR_SAMPLE;
    }
    if (code == JERR_OUT_OF_MEMORY)
        return stk__fail(error, STK_ERROR_MEMORY, "out of memory in the JPEG decoder");
    return stk__damaged(error, classify_error(state, code, in_header), "JPEG decoder at row %u: %s", row,
                        text);
}

void stk__jpeg_listen(stk__jpeg_state *state)
{
    state->codec.err = jpeg_std_error(&state->errors);
    state->errors.error_exit = jump_back;
    state->errors.emit_message = take_message;
    state->errors.output_message = keep_silent;
    state->progress.progress_monitor = watch_progress;
}
