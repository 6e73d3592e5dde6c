/* SPDX-License-Identifier: Apache-2.0 */
/* The decoder's front. A format is found by its first bytes; the header's size is checked against the
 * limits before memory is spent; then the format decodes straight into the target, or into the decoder's
 * own buffers when the image has to be turned upright or resized. Masks: ids are mapped and checked
 * against the classes. One decoder per thread. */
#include "decode/format.h"
#include "decode/mask_colors.h"

#include "core/clock.h"
#include "image/part_bundle.h"
#include "image/resize.h"

#include <string.h>
#include <strings.h>

const stk__limits stk__limits_default = {
    .bytes = UINT64_C(256) << 20, .pixels = 100000000, .scans = 200, .warnings = 0, .time_s = 10};

static const stk__format_ops *const formats[] = {[STK_FORMAT_JPEG] = &stk__format_jpeg,
                                                 [STK_FORMAT_PNG] = &stk__format_png,
                                                 [STK_FORMAT_NPY] = &stk__format_npy,
                                                 [STK_FORMAT_PARTS] = &stk__format_parts};

enum { FORMAT_COUNT = sizeof formats / sizeof formats[0] };
_Static_assert((int)FORMAT_COUNT == STK_FORMAT_COUNT, "a format is not in the table");

struct stk__decoder {
    stk__limits limits;
    void *states[FORMAT_COUNT];
    stk__buffer stored, upright; /* pixels between decoding, turning and resizing */
    stk__buffer scratch;         /* of resizing */
    stk__buffer colors;          /* of an RGB mask */
};

stk_status stk__decoder_create(stk__decoder **decoder, const stk__limits *limits, stk_error *error)
{
    *decoder = stk__alloc(sizeof **decoder);
    if (!*decoder) return stk__fail_memory(error, sizeof **decoder, "a decoder");
    (*decoder)->limits = limits ? *limits : stk__limits_default;
    for (int i = 0; i < FORMAT_COUNT; i++) {
        if (!formats[i]->create) continue;
        const stk_status status = formats[i]->create(&(*decoder)->states[i], &(*decoder)->limits, error);
        if (status == STK_OK) continue;
        stk__decoder_destroy(decoder);
        return status;
    }
    stk__parts_set_decoder((*decoder)->states[STK_FORMAT_PARTS], *decoder);
    return STK_OK;
}

void stk__decoder_destroy(stk__decoder **decoder)
{
    if (!*decoder) return;
    for (int i = 0; i < FORMAT_COUNT; i++)
        if ((*decoder)->states[i]) formats[i]->destroy((*decoder)->states[i]);
    stk__buffer_fini(&(*decoder)->stored);
    stk__buffer_fini(&(*decoder)->upright);
    stk__buffer_fini(&(*decoder)->scratch);
    stk__buffer_fini(&(*decoder)->colors);
    stk__free(*decoder);
    *decoder = NULL;
}

static void *find_state(const stk__decoder *decoder, const stk__format_ops *format)
{
    return decoder->states[format->number];
}

const stk__format_ops *stk__format_by_extension(const char *extension)
{
    if (!extension) return NULL;
    for (int i = 0; i < FORMAT_COUNT; i++)
        for (const char *const *known = formats[i]->extensions; *known; known++)
            if (strcasecmp(*known, extension) == 0) return formats[i];
    return NULL;
}

const char *stk__format_name(const stk__format_ops *format)
{
    return format ? format->name : "unknown";
}

stk__deadline stk__deadline_start(const stk__limits *limits)
{
    return (stk__deadline){.look_ns = stk__clock_ns() + stk__seconds_ns(limits->time_s) / 16,
                           .time_s = limits->time_s};
}

bool stk__deadline_passed(stk__deadline *deadline)
{
    if (!deadline->end_ns && stk__clock_ns() < deadline->look_ns) return false;
    const uint64_t now_ns = stk__clock_thread_ns();
    if (!deadline->end_ns) deadline->end_ns = now_ns + stk__seconds_ns(deadline->time_s);
    return now_ns >= deadline->end_ns;
}

stk_status stk__deadline_fail(const stk__deadline *deadline, stk_error *error)
{
    stk__damaged(error, STK_DAMAGE_TOO_SLOW, "decoding took more than %g s of CPU time", deadline->time_s);
    stk__error_hint(error, "raise limits.time if such images are expected");
    return STK_ERROR_SAMPLE;
}

/* A file that is shorter than the magic but starts like it belongs to the format too. */
static const stk__format_ops *find_format(stk__encoded bytes)
{
    for (int i = 0; i < STK_FORMAT_PARTS; i++) {
        const size_t magic = formats[i]->magic_bytes;
        const size_t known = bytes.size_bytes < magic ? bytes.size_bytes : magic;
        if (memcmp(bytes.data, formats[i]->magic, known) == 0) return formats[i];
    }
    return NULL;
}

/* Formats that people have, and that are not decoded here: named, so that it is clear what to convert. */
static const char *name_unsupported(stk__encoded bytes)
{
    static const struct {
        const char *name, *magic;
        size_t offset, size;
    } known[] = {{"WebP", "WEBP", 8, 4},  {"GIF", "GIF8", 0, 4},      {"TIFF", "II*\0", 0, 4},
                 {"TIFF", "MM\0*", 0, 4}, {"AVIF", "ftypavif", 4, 8}, {"HEIC", "ftyphei", 4, 7},
                 {"PDF", "%PDF", 0, 4},   {"BMP", "BM", 0, 2}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (bytes.size_bytes >= known[i].offset + known[i].size &&
            memcmp(bytes.data + known[i].offset, known[i].magic, known[i].size) == 0)
            return known[i].name;
    return NULL;
}

static stk_status refuse_format(stk__encoded bytes, stk_error *error)
{
    const char *name = name_unsupported(bytes);
    if (!name) return stk__damaged(error, STK_DAMAGE_NOT_AN_IMAGE, "not a JPEG, PNG or npy file");
    stk__damaged(error, STK_DAMAGE_NOT_AN_IMAGE, "not a JPEG, PNG or npy file but %s", name);
    stk__error_hint(error, "convert it to JPEG or PNG");
    return STK_ERROR_SAMPLE;
}

static stk_status identify(const stk__decoder *decoder, stk__encoded bytes, const stk__format_ops **format,
                           stk_error *error)
{
    if (bytes.size_bytes == 0) return stk__damaged(error, STK_DAMAGE_EMPTY, "the file is empty");
    if (bytes.size_bytes > decoder->limits.bytes) {
        stk__damaged(error, STK_DAMAGE_TOO_MANY_BYTES, "%zu bytes, more than limits.bytes '%llu'",
                     bytes.size_bytes, (unsigned long long)decoder->limits.bytes);
        stk__error_hint(error, "raise limits.bytes if such files are expected");
        return STK_ERROR_SAMPLE;
    }
    *format = find_format(bytes);
    if (!*format) return refuse_format(bytes, error);
    if (bytes.size_bytes < (*format)->magic_bytes)
        return stk__damaged(error, STK_DAMAGE_TRUNCATED, "truncated %s file of %zu bytes", (*format)->name,
                            bytes.size_bytes);
    return STK_OK;
}

static stk_status check_size(const stk__decoder *decoder, const stk__picture *picture, stk_error *error)
{
    if (picture->w <= 0 || picture->h <= 0)
        return stk__damaged(error, STK_DAMAGE_ZERO_SIZE, "%s of %d x %d pixels", picture->format->name,
                            picture->w, picture->h);
    if ((uint64_t)picture->w * (uint64_t)picture->h <= decoder->limits.pixels) return STK_OK;
    stk__damaged(error, STK_DAMAGE_TOO_MANY_PIXELS, "%d x %d pixels, more than limits.pixels '%llu'",
                 picture->w, picture->h, (unsigned long long)decoder->limits.pixels);
    stk__error_hint(error, "raise limits.pixels if such images are expected");
    return STK_ERROR_SAMPLE;
}

stk_status stk__decode_header(stk__decoder *decoder, stk__encoded bytes, const char *extension,
                              stk__picture *picture, stk_error *error)
{
    const stk__format_ops *format = &stk__format_parts;
    if (extension != stk__part_bundle_extension) STK__TRY(identify(decoder, bytes, &format, error));
    const stk__format_ops *promised = stk__format_by_extension(extension);
    *picture = (stk__picture){.format = format, .orientation = 1, .misnamed = promised && promised != format};
    STK__TRY(format->header(find_state(decoder, format), bytes, picture, error));
    return check_size(decoder, picture, error);
}

static stk_status reserve_pixels(stk__buffer *buffer, stk__pixels *pixels, stk_error *error)
{
    const size_t size = (size_t)pixels->w * (size_t)pixels->h * (size_t)pixels->channels;
    STK__TRY(stk__buffer_reserve(buffer, size, error));
    pixels->data = buffer->data;
    return STK_OK;
}

/* Turns `from` upright. The result is written to `target` when it has its size, else to the buffer; *to tells
 * where it is. */
static stk_status turn_upright(stk__decoder *decoder, stk__pixels from, stk__orientation orientation,
                               stk__pixels target, stk__pixels *to, stk_error *error)
{
    *to = from;
    if (orientation == 1) return STK_OK;
    const bool swaps = stk__orientation_swaps(orientation);
    *to = stk__pixels_dense(NULL, swaps ? from.h : from.w, swaps ? from.w : from.h, from.channels);
    if (to->w == target.w && to->h == target.h)
        *to = target;
    else
        STK__TRY(reserve_pixels(&decoder->upright, to, error));
    stk__orientation_apply(from, *to, orientation);
    return STK_OK;
}

/* The rectangle the format decodes into: target itself when nothing has to be changed afterwards. */
static stk_status choose_stored(stk__decoder *decoder, const stk__picture *picture, int shrink,
                                stk__pixels target, stk__pixels *stored, stk_error *error)
{
    *stored = stk__pixels_dense(NULL, picture->w / shrink, picture->h / shrink, target.channels);
    if (picture->orientation == 1 && stored->w == target.w && stored->h == target.h) {
        *stored = target;
        return STK_OK;
    }
    return reserve_pixels(&decoder->stored, stored, error);
}

stk_status stk__decode_image(stk__decoder *decoder, stk__encoded bytes, const stk__picture *picture,
                             stk__pixels target, stk_error *error)
{
    const stk__format_ops *format = picture->format;
    const bool swaps = stk__orientation_swaps(picture->orientation);
    const int32_t want_w = swaps ? target.h : target.w, want_h = swaps ? target.w : target.h;
    const int shrink = format->shrink ? format->shrink(picture, want_w, want_h) : 1;
    stk__pixels stored, upright;
    STK__TRY(choose_stored(decoder, picture, shrink, target, &stored, error));
    STK__TRY(format->image(find_state(decoder, format), bytes, picture, stored, error));
    STK__TRY(turn_upright(decoder, stored, picture->orientation, target, &upright, error));
    if (upright.data == target.data) return STK_OK;
    return stk__resize_image(upright, target, &decoder->scratch, error);
}

const char *stk__decode_warning(const stk__decoder *decoder, const stk__picture *picture)
{
    const stk__format_ops *format = picture->format;
    return format->warning ? format->warning(find_state(decoder, format)) : NULL;
}

static stk_status fail_ids(int id, const char *why, stk_error *error)
{
    stk__damaged(error, STK_DAMAGE_MASK_IDS, "the mask has class id %d, %s", id, why);
    return STK_ERROR_SAMPLE;
}

/* Translates ids in place. Which ids occur is gathered first: a table of 256 instead of a test per pixel. */
static stk_status map_ids(stk__pixels mask, const stk__mask_options *options, stk_error *error)
{
    uint8_t seen[256] = {0};
    for (int32_t y = 0; y < mask.h; y++) {
        uint8_t *row = stk__pixels_row(mask, y);
        for (int32_t x = 0; x < mask.w; x++) {
            seen[row[x]] = 1;
            row[x] = options->map[row[x]];
        }
    }
    for (int id = 0; id < 256; id++)
        if (seen[id] && options->mapped && !options->mapped[id]) {
            fail_ids(id, "which is not in data.mask_map", error);
            stk__error_hint(error, "add %d:ID to data.mask_map, with 255 as ID to ignore it", id);
            return STK_ERROR_SAMPLE;
        }
    return STK_OK;
}

/* -1 when all ids are classes or ignored. A row is judged as a whole, without branches; only then searched.
 */
static int find_stranger(stk__pixels mask, uint8_t count, uint8_t ignore)
{
    for (int32_t y = 0; y < mask.h; y++) {
        const uint8_t *row = stk__pixels_row(mask, y);
        uint8_t strange = 0;
        for (int32_t x = 0; x < mask.w; x++)
            strange |= (uint8_t)((row[x] >= count) & (row[x] != ignore));
        for (int32_t x = 0; strange && x < mask.w; x++)
            if (row[x] >= count && row[x] != ignore) return row[x];
    }
    return -1;
}

static stk_status check_ids(stk__pixels mask, const stk__mask_options *options, stk_error *error)
{
    if (options->class_count <= 0 || options->class_count > 255) return STK_OK;
    const int id = find_stranger(mask, (uint8_t)options->class_count, options->ignore);
    if (id < 0) return STK_OK;
    fail_ids(id, "which is not below the number of classes", error);
    stk__error_hint(error, "set data.num_classes=%d, or data.mask_map", id + 1);
    return STK_ERROR_SAMPLE;
}

/* Class ids cannot be blurred: what lies between two of them is a third. */
static stk_status refuse_lossy(const stk__format_ops *format, stk_error *error)
{
    stk__damaged(error, STK_DAMAGE_MASK_FORMAT,
                 "a %s file cannot store class ids: its compression blurs them", format->name);
    stk__error_hint(error, "store masks as PNG; or, if they have two classes in black and white, set "
                           "data.mask_map=threshold");
    return STK_ERROR_SAMPLE;
}

/* All ids of a mask as stored. */
static stk_status read_ids(stk__decoder *decoder, stk__encoded bytes, const stk__picture *picture,
                           const stk__mask_options *options, stk__pixels ids, stk_error *error)
{
    const stk__format_ops *format = picture->format;
    void *state = find_state(decoder, format);
    if (!format->mask)
        return options->lossy ? format->image(state, bytes, picture, ids, error)
                              : refuse_lossy(format, error);
    if (picture->channels != 3 || picture->indexed) return format->mask(state, bytes, picture, ids, error);
    if (picture->depth_bits != 8)
        return stk__damaged(error, STK_DAMAGE_MASK_FORMAT, "the mask is an RGB image of %d bits per channel",
                            picture->depth_bits);
    stk__pixels rgb = stk__pixels_dense(NULL, picture->w, picture->h, 3);
    STK__TRY(reserve_pixels(&decoder->colors, &rgb, error));
    STK__TRY(format->image(state, bytes, picture, rgb, error));
    return stk__mask_colors_apply(options->colors, rgb, ids, error);
}

stk_status stk__decode_mask(stk__decoder *decoder, stk__encoded bytes, const stk__picture *picture,
                            const stk__mask_options *options, stk__pixels target, stk_error *error)
{
    stk__pixels stored, upright;
    stk__picture turned = *picture;
    turned.orientation = options->orientation;
    STK__TRY(choose_stored(decoder, &turned, 1, target, &stored, error));
    STK__TRY(read_ids(decoder, bytes, picture, options, stored, error));
    if (options->map) STK__TRY(map_ids(stored, options, error));
    STK__TRY(check_ids(stored, options, error));
    STK__TRY(turn_upright(decoder, stored, options->orientation, target, &upright, error));
    if (upright.data != target.data) stk__resize_mask(upright, target);
    return STK_OK;
}
