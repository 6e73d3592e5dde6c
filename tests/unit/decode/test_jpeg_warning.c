/* SPDX-License-Identifier: Apache-2.0 */
/* JPEGs as the world writes them: arithmetic coding, bytes too many before a marker, odd versions and scan
 * parameters decode to the right pixels and are noted; scans that are missing are damage. */
#include "support/pictures.h"
#include "jpeg_ways.h"

#include <string.h>

enum { W = 83, H = 61, DHT = 0xC4, SOF0 = 0xC0, EOI = 0xD9, SOS = 0xDA, DQT = 0xDB };

static const char *const too_many = "extraneous bytes before a marker";

static size_t find_marker(const stk__buffer *bytes, size_t from, uint8_t marker)
{
    for (size_t at = from; at + 1 < bytes->size_bytes; at++)
        if (bytes->data[at] == 0xFF && bytes->data[at + 1] == marker) return at;
    return 0;
}

static void insert(stk__buffer *bytes, size_t at, size_t count, uint8_t value)
{
    assert_true(at > 0);
    assert_int_equal(stk__buffer_reserve(bytes, bytes->size_bytes + count + 64, NULL), STK_OK);
    memmove(bytes->data + at + count, bytes->data + at, bytes->size_bytes - at);
    memset(bytes->data + at, value, count);
    bytes->size_bytes += count;
    memset(bytes->data + bytes->size_bytes, 0, 64);
}

/* Decodes, and returns what was noted. */
static const char *decode(stk__decoder *decoder, const stk__buffer *bytes, stk__pixels target)
{
    stk__picture picture;
    stk_error error = {0};
    stk_status status = stk__decode_header(decoder, as_encoded(bytes), "jpg", &picture, &error);
    if (status == STK_OK) status = stk__decode_image(decoder, as_encoded(bytes), &picture, target, &error);
    if (status != STK_OK) print_error("%s\n", error.message);
    assert_int_equal(status, STK_OK);
    return stk__decode_warning(decoder, &picture);
}

/* The pixels must be those of `wanted`, whatever stands in bytes besides. */
static void check_noted(stk__decoder *decoder, const stk__buffer *bytes, stk__pixels wanted, const char *note)
{
    stk__pixels got = make_target(wanted.w, wanted.h, wanted.channels);
    const char *warning = decode(decoder, bytes, got);
    assert_memory_equal(got.data, wanted.data, size_of(wanted));
    if (note)
        assert_string_equal(warning, note);
    else
        assert_null(warning);
    stk__free(got.data);
}

static void arithmetic_coding_is_decoded(void **state)
{
    (void)state;
    static const pictures_jpeg_options kinds[] = {{0},
                                                  {.progressive = true},
                                                  {.restart_rows = 1},
                                                  {.progressive = true, .restart_rows = 2},
                                                  {.quality = 3},
                                                  {.sampling = 1},
                                                  {.space = PICTURES_GREY},
                                                  {.scan_repeats = 1},
                                                  {.quality = 100}};
    stk__decoder *decoder = make_decoder(NULL);
    stk__buffer coded = {0}, usual = {0};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        pictures_jpeg_options options = kinds[i];
        stk__pixels drawn = pictures_draw(W, H, options.space == PICTURES_GREY ? 1 : 3, (uint32_t)i);
        pictures_jpeg(&usual, drawn, &options);
        options.arithmetic = true;
        pictures_jpeg(&coded, drawn, &options);
        assert_int_not_equal(coded.size_bytes, usual.size_bytes);
        for (int channels = 1; channels <= 3; channels += 2) {
            stk__pixels wanted = decode_bare(&usual, channels, 1);
            check_noted(decoder, &coded, wanted, NULL);
            check_noted(decoder, &usual, wanted, NULL); /* the decoder's state does not stay */
            stk__free(wanted.data);
        }
        stk__free(drawn.data);
    }
    stk__buffer_fini(&coded);
    stk__buffer_fini(&usual);
    stk__decoder_destroy(&decoder);
}

/* Where bytes are too many: before a marker of the header, between two scans, behind the last. */
static void bytes_too_many_are_noted(void **state)
{
    (void)state;
    static const pictures_jpeg_options kinds[] = {
        {0}, {.progressive = true}, {.scan_repeats = 1}, {.restart_rows = 1}, {.optimised = true}};
    static const uint8_t markers[] = {DQT, DHT, SOS, EOI};
    stk__decoder *decoder = make_decoder(NULL);
    stk__buffer whole = {0}, bytes = {0};
    stk__pixels drawn = pictures_draw(W, H, 3, 4);
    int noted = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        pictures_jpeg(&whole, drawn, &kinds[i]);
        stk__pixels wanted = decode_bare(&whole, 3, 1);
        for (size_t m = 0; m < sizeof markers; m++)
            for (size_t at = find_marker(&whole, 2, markers[m]); at;
                 at = find_marker(&whole, at + 2, markers[m])) {
                pictures_cut(&bytes, &whole, whole.size_bytes);
                insert(&bytes, at, 40, 0x5A);
                check_noted(decoder, &bytes, wanted, too_many);
                check_noted(decoder, &whole, wanted, NULL);
                noted++;
            }
        stk__free(wanted.data);
    }
    assert_true(noted > 30);
    stk__free(drawn.data);
    stk__buffer_fini(&whole);
    stk__buffer_fini(&bytes);
    stk__decoder_destroy(&decoder);
}

/* Behind a comment that stands behind the scan, which ends as it should. */
static void bytes_too_many_behind_a_comment(void **state)
{
    (void)state;
    stk__buffer bytes = {0};
    const pair p = make_pair();
    stk__pixels drawn = pictures_draw(W, H, 3, 4);
    pictures_jpeg(&bytes, drawn, &(pictures_jpeg_options){0});
    stk__pixels wanted = decode_bare(&bytes, 3, 1);
    bytes.size_bytes -= 2;
    append(&bytes, "\xFF\xFE\x00\x04hm", 6);
    append(&bytes, "some bytes too many\xFF\xD9", 21);
    compare(p.ours, p.alone, &bytes, 3);
    free_pair(p);
    stk__decoder *decoder = make_decoder(NULL);
    check_noted(decoder, &bytes, wanted, too_many);
    stk__free(drawn.data);
    stk__free(wanted.data);
    stk__buffer_fini(&bytes);
    stk__decoder_destroy(&decoder);
}

/* Few of them libjpeg may have fetched already; then it does not see them. Pixels are right either way. */
static void any_number_of_bytes_too_many(void **state)
{
    (void)state;
    stk__decoder *decoder = make_decoder(NULL);
    stk__buffer whole = {0}, bytes = {0};
    stk__pixels drawn = pictures_draw(W, H, 3, 4), got = make_target(W, H, 3);
    pictures_jpeg(&whole, drawn, &(pictures_jpeg_options){0});
    stk__pixels wanted = decode_bare(&whole, 3, 1);
    for (size_t more = 1; more < 3000; more += 1 + more / 8) {
        pictures_cut(&bytes, &whole, whole.size_bytes);
        insert(&bytes, whole.size_bytes - 2, more, 0);
        const char *warning = decode(decoder, &bytes, got);
        assert_memory_equal(got.data, wanted.data, size_of(wanted));
        if (more > 8) assert_string_equal(warning, too_many);
    }
    stk__free(drawn.data);
    stk__free(got.data);
    stk__free(wanted.data);
    stk__buffer_fini(&whole);
    stk__buffer_fini(&bytes);
    stk__decoder_destroy(&decoder);
}

/* With arithmetic coding they would be data. */
static void arithmetic_data_have_no_end(void **state)
{
    (void)state;
    stk__decoder *decoder = make_decoder(NULL);
    stk__buffer bytes = {0};
    stk__pixels drawn = pictures_draw(W, H, 3, 4);
    pictures_jpeg(&bytes, drawn, &(pictures_jpeg_options){.arithmetic = true});
    insert(&bytes, bytes.size_bytes - 2, 40, 0x5A);
    assert_int_equal(find_damage(decoder, &bytes), STK_DAMAGE_CORRUPT);
    pictures_jpeg(&bytes, drawn, &(pictures_jpeg_options){0}); /* that of the image before is forgotten */
    insert(&bytes, find_marker(&bytes, 2, DQT), 40, 0x5A);
    assert_int_equal(find_damage(decoder, &bytes), STK_DAMAGE_NONE);
    stk__free(drawn.data);
    stk__buffer_fini(&bytes);
    stk__decoder_destroy(&decoder);
}

/* The header says fewer rows than there are: what is left over are blocks. */
static void blocks_left_over_are_damage(void **state)
{
    (void)state;
    stk__limits lenient = stk__limits_default;
    lenient.warnings = 1;
    stk__decoder *strict = make_decoder(NULL), *kind = make_decoder(&lenient);
    stk__buffer bytes = {0};
    for (uint32_t seed = 0; seed < 40; seed++) {
        stk__pixels drawn = pictures_draw(W, H, 3, seed);
        pictures_jpeg(&bytes, drawn,
                      &(pictures_jpeg_options){.optimised = seed % 2, .sampling = seed % 3 == 1});
        bytes.data[find_marker(&bytes, 2, SOF0) + 6] = 32;
        assert_int_equal(find_damage(strict, &bytes), STK_DAMAGE_CORRUPT);
        assert_int_equal(find_damage(kind, &bytes), STK_DAMAGE_NONE);
        stk__free(drawn.data);
    }
    stk__buffer_fini(&bytes);
    stk__decoder_destroy(&strict);
    stk__decoder_destroy(&kind);
}

/* The last byte of a scan, if its last two bits, and not the one before, only fill it up; 0: they do not. */
static size_t find_filled(stk__decoder *decoder, stk__buffer *bytes, stk__pixels wanted)
{
    const size_t last = bytes->size_bytes - 3;
    stk__pixels got = make_target(wanted.w, wanted.h, 3);
    unsigned fills = 0;
    for (unsigned bit = 1; bit <= 4; bit <<= 1) {
        stk__picture picture;
        bytes->data[last] ^= (uint8_t)bit;
        stk_status status = stk__decode_header(decoder, as_encoded(bytes), "jpg", &picture, NULL);
        if (status == STK_OK) status = stk__decode_image(decoder, as_encoded(bytes), &picture, got, NULL);
        if (status == STK_OK && memcmp(got.data, wanted.data, size_of(got)) == 0) fills |= bit;
        bytes->data[last] ^= (uint8_t)bit;
    }
    stk__free(got.data);
    return fills == 3 ? last : 0;
}

/* Encoders that write out a whole register fill up with zeros: nothing but zeros may follow then. */
static void zeros_may_fill_up(void **state)
{
    (void)state;
    stk__decoder *decoder = make_decoder(NULL);
    stk__buffer whole = {0}, bytes = {0};
    size_t last = 0;
    for (uint32_t seed = 0; !last; seed++) {
        stk__pixels drawn = pictures_draw(64, 48, 3, seed);
        pictures_jpeg(&whole, drawn, &(pictures_jpeg_options){0});
        stk__pixels wanted = decode_bare(&whole, 3, 1);
        last = find_filled(decoder, &whole, wanted);
        stk__free(drawn.data);
        stk__free(wanted.data);
    }
    whole.data[last] &= 0xFC;
    pictures_cut(&bytes, &whole, whole.size_bytes);
    insert(&bytes, last + 1, 20, 0);
    assert_int_equal(find_damage(decoder, &bytes), STK_DAMAGE_NONE);
    pictures_cut(&bytes, &whole, whole.size_bytes);
    insert(&bytes, last + 1, 20, 0x5A);
    assert_int_equal(find_damage(decoder, &bytes), STK_DAMAGE_CORRUPT);
    bytes.data[last] |= 3; /* but with ones anything may */
    assert_int_equal(find_damage(decoder, &bytes), STK_DAMAGE_NONE);
    stk__buffer_fini(&whole);
    stk__buffer_fini(&bytes);
    stk__decoder_destroy(&decoder);
}

/* In the middle of a scan they mean that the decoder had lost its place. */
static void bytes_before_a_restart_are_damage(void **state)
{
    (void)state;
    stk__decoder *decoder = make_decoder(NULL);
    stk__buffer bytes = {0};
    stk__pixels drawn = pictures_draw(W, H, 3, 4);
    for (int arithmetic = 0; arithmetic < 2; arithmetic++) {
        pictures_jpeg(&bytes, drawn, &(pictures_jpeg_options){.restart_rows = 1, .arithmetic = arithmetic});
        assert_int_equal(find_damage(decoder, &bytes), STK_DAMAGE_NONE);
        insert(&bytes, find_marker(&bytes, find_marker(&bytes, 2, SOS), 0xD1), 40, 0x5A);
        assert_int_equal(find_damage(decoder, &bytes), STK_DAMAGE_CORRUPT);
    }
    stk__free(drawn.data);
    stk__buffer_fini(&bytes);
    stk__decoder_destroy(&decoder);
}

static void odd_headers_are_noted(void **state)
{
    (void)state;
    stk__decoder *decoder = make_decoder(NULL);
    stk__buffer whole = {0}, bytes = {0};
    stk__pixels drawn = pictures_draw(W, H, 3, 4);
    pictures_jpeg(&whole, drawn, &(pictures_jpeg_options){0});
    stk__pixels wanted = decode_bare(&whole, 3, 1);
    pictures_cut(&bytes, &whole, whole.size_bytes);
    bytes.data[find_marker(&bytes, 2, 0xE0) + 9] = 0; /* JFIF 0.01 */
    check_noted(decoder, &bytes, wanted, "unknown JFIF version");
    pictures_cut(&bytes, &whole, whole.size_bytes);
    bytes.data[find_marker(&bytes, 2, SOS) + 12] = 0; /* the last coefficient, as some cameras write it */
    check_noted(decoder, &bytes, wanted, "scan parameters that do not fit a sequential JPEG");
    check_noted(decoder, &whole, wanted, NULL);

    uint8_t adobe[] = {0xFF, 0xEE, 0, 14, 'A', 'd', 'o', 'b', 'e', 0, 100, 0, 0, 0, 0, 7}; /* transform 7 */
    pictures_cut(&bytes, &whole, whole.size_bytes);
    remove_segments(&bytes, 0xE0);
    insert(&bytes, 2, sizeof adobe, 0);
    memcpy(bytes.data + 2, adobe, sizeof adobe);
    assert_int_equal(find_damage(decoder, &bytes), STK_DAMAGE_BAD_HEADER); /* the colours are a guess */
    stk__free(drawn.data);
    stk__free(wanted.data);
    stk__buffer_fini(&whole);
    stk__buffer_fini(&bytes);
    stk__decoder_destroy(&decoder);
}

/* Cut between two scans, with EOI behind: libjpeg does not warn. */
static void missing_scans_are_damage(void **state)
{
    (void)state;
    stk__limits lenient = stk__limits_default;
    lenient.warnings = 1;
    stk__decoder *strict = make_decoder(NULL), *kind = make_decoder(&lenient);
    stk__buffer whole = {0}, bytes = {0};
    stk__pixels drawn = pictures_draw(W, H, 3, 4), got = make_target(W, H, 3);
    for (int arithmetic = 0; arithmetic < 2; arithmetic++) {
        int scans = 0;
        pictures_jpeg(&whole, drawn, &(pictures_jpeg_options){.progressive = true, .arithmetic = arithmetic});
        assert_int_equal(find_damage(strict, &whole), STK_DAMAGE_NONE);
        size_t at = find_marker(&whole, 2, SOS);
        while ((at = find_marker(&whole, at + 2, SOS)) > 0) {
            pictures_cut(&bytes, &whole, at + 2);
            bytes.data[at + 1] = EOI;
            stk__picture picture;
            stk_error error = {0};
            assert_int_equal(stk__decode_header(strict, as_encoded(&bytes), "jpg", &picture, &error), STK_OK);
            assert_int_equal(stk__decode_image(strict, as_encoded(&bytes), &picture, got, &error),
                             STK_ERROR_SAMPLE);
            assert_int_equal(error.damage, STK_DAMAGE_TRUNCATED);
            assert_non_null(strstr(error.message, "the progressive JPEG lacks its last scans"));
            assert_non_null(strstr(error.hint, "data.limits.warnings=1"));
            assert_string_equal(decode(kind, &bytes, got), "damage that limits.warnings permits");
            scans++;
        }
        assert_int_equal(scans, 9);
    }
    stk__free(drawn.data);
    stk__free(got.data);
    stk__buffer_fini(&whole);
    stk__buffer_fini(&bytes);
    stk__decoder_destroy(&strict);
    stk__decoder_destroy(&kind);
}

/* Harmless warnings do not use up what limits.warnings permits, and do not hide damage. */
static void damage_beside_a_harmless_warning(void **state)
{
    (void)state;
    stk__decoder *decoder = make_decoder(NULL);
    stk__buffer bytes = {0};
    stk__pixels drawn = pictures_draw(W, H, 3, 4);
    pictures_jpeg(&bytes, drawn, &(pictures_jpeg_options){0});
    insert(&bytes, find_marker(&bytes, 2, DHT), 40, 0x5A);
    bytes.size_bytes -= 2;
    assert_int_equal(find_damage(decoder, &bytes), STK_DAMAGE_TRUNCATED);
    bytes.size_bytes /= 2;
    assert_int_equal(find_damage(decoder, &bytes), STK_DAMAGE_TRUNCATED);
    stk__free(drawn.data);
    stk__buffer_fini(&bytes);
    stk__decoder_destroy(&decoder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arithmetic_coding_is_decoded),
        cmocka_unit_test(bytes_too_many_are_noted),
        cmocka_unit_test(any_number_of_bytes_too_many),
        cmocka_unit_test(bytes_too_many_behind_a_comment),
        cmocka_unit_test(arithmetic_data_have_no_end),
        cmocka_unit_test(blocks_left_over_are_damage),
        cmocka_unit_test(zeros_may_fill_up),
        cmocka_unit_test(bytes_before_a_restart_are_damage),
        cmocka_unit_test(odd_headers_are_noted),
        cmocka_unit_test(missing_scans_are_damage),
        cmocka_unit_test(damage_beside_a_harmless_warning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
