/* SPDX-License-Identifier: Apache-2.0 */
/* Lossless JPEG rewriting: the same coefficients for every kind and size, metadata that stays or goes,
 * damaged input, limits and failing allocations. */
#include "decode/exif.h"
#include "pack/jpeg_rewrite.h"
#include "support/fail_alloc.h"
#include "support/pictures.h"
#include "../decode/decoding.h"

#include <stdlib.h>
#include <string.h>

enum {
    SOI = 0xD8,
    EOI = 0xD9,
    SOS = 0xDA,
    DQT = 0xDB,
    DRI = 0xDD,
    DHT = 0xC4,
    SOF0 = 0xC0,
    APP0 = 0xE0,
    APP1 = 0xE1
};
enum { APP2 = 0xE2, APP14 = 0xEE, COMMENT = 0xFE };

static stk__jpeg_rewriter *rewriter;
static stk__decoder *decoder;

static int make_tools(void **state)
{
    (void)state;
    decoder = make_decoder(NULL);
    return stk__jpeg_rewriter_create(&rewriter, &stk__limits_default, NULL);
}

static int remove_tools(void **state)
{
    (void)state;
    stk__jpeg_rewriter_destroy(&rewriter);
    stk__decoder_destroy(&decoder);
    return rewriter || decoder;
}

static int channels_of(const pictures_jpeg_options *options)
{
    return options->space == PICTURES_GREY ? 1 : options->space >= PICTURES_CMYK ? 4 : 3;
}

static void encode(stk__buffer *bytes, int32_t w, int32_t h, const pictures_jpeg_options *options)
{
    stk__pixels drawn = pictures_draw(w, h, channels_of(options), 7);
    pictures_jpeg(bytes, drawn, options);
    stk__free(drawn.data);
}

static stk__pixels decode(const stk__buffer *bytes, stk__picture *picture)
{
    stk_error error = {0};
    stk_status status = stk__decode_header(decoder, as_encoded(bytes), "jpg", picture, &error);
    stk__pixels target = make_target(picture->w, picture->h, picture->channels);
    stk__picture stored = *picture;
    stored.orientation = 1;
    if (status == STK_OK) status = stk__decode_image(decoder, as_encoded(bytes), &stored, target, &error);
    if (status != STK_OK) print_error("%s\n", error.message);
    assert_int_equal(status, STK_OK);
    return target;
}

static void check_same_picture(const stk__buffer *a, const stk__buffer *b)
{
    stk__picture first, second;
    stk__pixels before = decode(a, &first), after = decode(b, &second);
    assert_int_equal(first.w, second.w);
    assert_int_equal(first.h, second.h);
    assert_int_equal(first.channels, second.channels);
    assert_int_equal(first.orientation, second.orientation);
    assert_memory_equal(before.data, after.data, size_of(before));
    stk__free(before.data);
    stk__free(after.data);
}

/* The markers of a file up to its end, in order; what stands between SOS and the next marker is passed over.
 */
static size_t list_markers(const stk__buffer *bytes, uint8_t *markers, size_t most)
{
    size_t count = 0, at = 2;
    while (at + 1 < bytes->size_bytes && count < most) {
        assert_int_equal(bytes->data[at], 0xFF);
        const uint8_t marker = markers[count++] = bytes->data[at + 1];
        if (marker == EOI) break;
        at += 2;
        if (marker < 0xD0 || marker > 0xD7) at += (size_t)bytes->data[at] << 8 | bytes->data[at + 1];
        const bool entropy = marker == SOS || (marker >= 0xD0 && marker <= 0xD7);
        while (entropy && (bytes->data[at] != 0xFF || bytes->data[at + 1] == 0))
            at++;
    }
    return count;
}

static bool has_marker(const stk__buffer *bytes, uint8_t marker)
{
    uint8_t markers[512];
    const size_t count = list_markers(bytes, markers, sizeof markers);
    return memchr(markers, marker, count) != NULL;
}

/* Baseline, one scan, no marker that is not needed. */
static void check_plain(const stk__buffer *bytes)
{
    uint8_t markers[64];
    const size_t count = list_markers(bytes, markers, sizeof markers);
    int scans = 0, frames = 0;
    for (size_t i = 0; i < count; i++) {
        const uint8_t marker = markers[i];
        scans += marker == SOS;
        frames += marker == SOF0;
        if (marker != SOS && marker != SOF0 && marker != DQT && marker != DHT && marker != APP0 &&
            marker != APP1 && marker != APP14 && marker != EOI)
            fail_msg("marker %02X", marker);
    }
    assert_int_equal(scans, 1);
    assert_int_equal(frames, 1);
    assert_int_equal(markers[count - 1], EOI);
    assert_int_equal(bytes->data[bytes->size_bytes - 1], EOI);
}

static void rewrite(const stk__buffer *bytes, stk__buffer *file)
{
    stk_error error = {0};
    const stk_status status = stk__jpeg_rewrite(rewriter, as_encoded(bytes),
                                                stk__exif_orientation(as_encoded(bytes)), file, &error);
    if (status != STK_OK) print_error("%s\n", error.message);
    assert_int_equal(status, STK_OK);
    for (int i = 0; i < 64; i++)
        assert_int_equal(file->data[file->size_bytes + (size_t)i], 0);
}

/* --- the oracle: frames, divisors and coefficients, by libjpeg itself --------------------------------------
 */

static void open_codec(struct jpeg_decompress_struct *codec, const stk__buffer *bytes)
{
    static struct jpeg_error_mgr errors;
    codec->err = jpeg_std_error(&errors);
    jpeg_create_decompress(codec);
    jpeg_mem_src(codec, bytes->data, bytes->size_bytes);
    jpeg_read_header(codec, TRUE);
}

static void check_component(const jpeg_component_info *a, const jpeg_component_info *b)
{
    assert_int_equal(a->h_samp_factor, b->h_samp_factor);
    assert_int_equal(a->v_samp_factor, b->v_samp_factor);
    assert_int_equal(a->width_in_blocks, b->width_in_blocks);
    assert_int_equal(a->height_in_blocks, b->height_in_blocks);
    assert_memory_equal(a->quant_table->quantval, b->quant_table->quantval, sizeof a->quant_table->quantval);
}

/* Blocks that only fill up the last row or column are no part of the picture. */
static void check_coefficients(const stk__buffer *a, const stk__buffer *b)
{
    struct jpeg_decompress_struct one, two;
    open_codec(&one, a);
    open_codec(&two, b);
    jvirt_barray_ptr *first = jpeg_read_coefficients(&one), *second = jpeg_read_coefficients(&two);
    assert_int_equal(one.num_components, two.num_components);
    assert_int_equal(one.jpeg_color_space, two.jpeg_color_space);
    for (int i = 0; i < one.num_components; i++) {
        const jpeg_component_info *info = &one.comp_info[i];
        check_component(info, &two.comp_info[i]);
        for (JDIMENSION y = 0; y < info->height_in_blocks; y++)
            assert_memory_equal(one.mem->access_virt_barray((j_common_ptr)&one, first[i], y, 1, FALSE)[0],
                                two.mem->access_virt_barray((j_common_ptr)&two, second[i], y, 1, FALSE)[0],
                                info->width_in_blocks * sizeof(JBLOCK));
    }
    jpeg_destroy_decompress(&one);
    jpeg_destroy_decompress(&two);
}

static void check_rewritten(const stk__buffer *bytes)
{
    stk__buffer file = {0}, again = {0};
    rewrite(bytes, &file);
    check_plain(&file);
    check_same_picture(bytes, &file);
    check_coefficients(bytes, &file);
    rewrite(&file, &again); /* nothing is left to do */
    assert_int_equal(again.size_bytes, file.size_bytes);
    assert_memory_equal(again.data, file.data, file.size_bytes);
    stk__buffer_fini(&file);
    stk__buffer_fini(&again);
}

static const pictures_jpeg_options kinds[] = {
    {0},
    {.sampling = 1},
    {.luma = {4, 1}},
    {.luma = {2, 1}},
    {.luma = {1, 2}},
    {.progressive = true},
    {.progressive = true, .sampling = 1},
    {.progressive = true, .luma = {4, 1}},
    {.space = PICTURES_GREY},
    {.space = PICTURES_GREY, .progressive = true},
    {.space = PICTURES_RGB, .sampling = 1},
    {.space = PICTURES_RGB, .sampling = 1, .progressive = true},
    {.space = PICTURES_CMYK, .sampling = 1},
    {.space = PICTURES_CMYK, .sampling = 1, .no_adobe = true},
    {.space = PICTURES_CMYK, .sampling = 1, .progressive = true},
    {.space = PICTURES_YCCK},
    {.space = PICTURES_YCCK, .sampling = 1, .progressive = true},
    {.restart_rows = 1},
    {.restart_rows = 1, .progressive = true},
    {.scan_repeats = 2},
    {.quality = 1},
    {.quality = 100},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static void every_kind_and_size(void **state)
{
    (void)state;
    static const int32_t sizes[][2] = {{64, 48}, {67, 41}, {1, 1}, {8, 8}, {17, 1}, {1, 33}, {16, 16}};
    stk__buffer bytes = {0};
    for (size_t i = 0; i < KINDS; i++)
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            encode(&bytes, sizes[s][0], sizes[s][1], &kinds[i]);
            check_rewritten(&bytes);
        }
    stk__buffer_fini(&bytes);
}

static void orientations(void **state)
{
    (void)state;
    stk__buffer bytes = {0}, file = {0};
    for (int orientation = 1; orientation <= 8; orientation++)
        for (int big = 0; big < 2; big++) {
            encode(&bytes, 40, 24, &(pictures_jpeg_options){.orientation = orientation, .exif_big = big});
            check_rewritten(&bytes);
            rewrite(&bytes, &file);
            assert_int_equal(stk__exif_orientation(as_encoded(&file)), orientation);
            assert_int_equal(has_marker(&file, APP1), orientation > 1);
        }
    stk__buffer_fini(&bytes);
    stk__buffer_fini(&file);
}

/* Adobe's marker says how inks and RGB are meant; elsewhere it is one of the things that go. */
static void markers_that_stay_and_go(void **state)
{
    (void)state;
    stk__buffer bytes = {0}, file = {0};
    for (size_t i = 0; i < KINDS; i++) {
        encode(&bytes, 20, 20, &kinds[i]);
        rewrite(&bytes, &file);
        const bool inks = kinds[i].space >= PICTURES_CMYK;
        assert_int_equal(has_marker(&file, APP14),
                         (inks && !kinds[i].no_adobe) || kinds[i].space == PICTURES_RGB);
        assert_int_equal(has_marker(&file, APP0), !inks && kinds[i].space != PICTURES_RGB);
    }
    encode(&bytes, 20, 20, &(pictures_jpeg_options){.restart_rows = 1});
    assert_true(has_marker(&bytes, DRI));
    stk__buffer_fini(&bytes);
    stk__buffer_fini(&file);
}

static void insert(stk__buffer *bytes, size_t at, const void *data, size_t size)
{
    stk__buffer longer = {0};
    assert_int_equal(stk__buffer_append(&longer, bytes->data, at, NULL), STK_OK);
    assert_int_equal(stk__buffer_append(&longer, data, size, NULL), STK_OK);
    assert_int_equal(stk__buffer_append(&longer, bytes->data + at, bytes->size_bytes - at + 64, NULL),
                     STK_OK);
    longer.size_bytes -= 64;
    stk__buffer_fini(bytes);
    *bytes = longer;
}

/* A comment, a colour profile and a thumbnail's worth of something, and bytes behind the end. */
static void metadata_goes(void **state)
{
    (void)state;
    static const uint8_t comment[] = {0xFF, COMMENT, 0, 7, 'h', 'e', 'l', 'l', 'o'};
    static uint8_t profile[2 + 20000] = {0xFF, APP2, 20000 >> 8, 20000 & 255};
    stk__buffer bytes = {0}, file = {0}, bare = {0};
    encode(&bytes, 64, 48, &(pictures_jpeg_options){0});
    rewrite(&bytes, &bare);
    insert(&bytes, bytes.size_bytes, "behind the end", 14);
    insert(&bytes, 20, comment, sizeof comment); /* behind JFIF */
    insert(&bytes, 20, profile, sizeof profile);
    rewrite(&bytes, &file);
    assert_int_equal(file.size_bytes, bare.size_bytes);
    assert_memory_equal(file.data, bare.data, bare.size_bytes);
    check_same_picture(&bytes, &file);
    stk__buffer_fini(&bytes);
    stk__buffer_fini(&file);
    stk__buffer_fini(&bare);
}

static void tables_of_its_own_make_it_smaller(void **state)
{
    (void)state;
    stk__buffer bytes = {0}, file = {0};
    encode(&bytes, 256, 256, &(pictures_jpeg_options){0});
    rewrite(&bytes, &file);
    assert_true(file.size_bytes < bytes.size_bytes);
    stk__buffer_fini(&bytes);
    stk__buffer_fini(&file);
}

/* The bytes depend on the picture alone, not on what the rewriter did before. */
static void nothing_is_remembered(void **state)
{
    (void)state;
    stk__buffer bytes = {0}, fresh[KINDS] = {0}, file = {0};
    for (size_t i = 0; i < KINDS; i++) {
        assert_int_equal(remove_tools(NULL) + make_tools(NULL), 0);
        encode(&bytes, 33, 21, &kinds[i]);
        rewrite(&bytes, &fresh[i]);
    }
    for (size_t round = 0; round < 3; round++)
        for (size_t k = 0; k < KINDS; k++) {
            const size_t i = k * (2 * round + 1) % KINDS;
            encode(&bytes, 33, 21, &kinds[i]);
            rewrite(&bytes, &file);
            assert_int_equal(file.size_bytes, fresh[i].size_bytes);
            assert_memory_equal(file.data, fresh[i].data, file.size_bytes);
        }
    for (size_t i = 0; i < KINDS; i++)
        stk__buffer_fini(&fresh[i]);
    stk__buffer_fini(&bytes);
    stk__buffer_fini(&file);
}

static void check_refused(stk__encoded bytes, const char *why)
{
    stk__buffer file = {0};
    stk_error error = {0};
    assert_int_equal(stk__jpeg_rewrite(rewriter, bytes, 1, &file, &error), STK_ERROR_UNSUPPORTED);
    if (!strstr(error.message, why)) print_error("unexpected: %s\n", error.message);
    assert_non_null(strstr(error.message, why));
    stk__buffer_fini(&file);
}

/* Without Huffman tables the usual ones are meant, not those of the image before. */
static void usual_tables_are_put_in(void **state)
{
    (void)state;
    stk__buffer bytes = {0}, file = {0}, expected = {0};
    for (int i = 0; i < 4; i++) {
        encode(&bytes, 61, 47, &(pictures_jpeg_options){.optimised = true});
        if (i % 2) rewrite(&bytes, &file);
        encode(&bytes, 61, 47, &(pictures_jpeg_options){.scan_repeats = i / 2});
        rewrite(&bytes, &expected);
        remove_segments(&bytes, DHT);
        check_rewritten(&bytes);
        rewrite(&bytes, &file);
        assert_int_equal(file.size_bytes, expected.size_bytes);
        assert_memory_equal(file.data, expected.data, file.size_bytes);
    }
    encode(&bytes, 61, 47, &(pictures_jpeg_options){.progressive = true});
    remove_segments(&bytes, DHT);
    check_refused(as_encoded(&bytes), "Huffman table");
    stk__buffer_fini(&bytes);
    stk__buffer_fini(&file);
    stk__buffer_fini(&expected);
}

static void arithmetic_coding_goes(void **state)
{
    (void)state;
    stk__buffer bytes = {0}, plain = {0}, file = {0}, expected = {0};
    for (int progressive = 0; progressive < 2; progressive++) {
        encode(&bytes, 61, 47, &(pictures_jpeg_options){.arithmetic = true, .progressive = progressive});
        encode(&plain, 61, 47, &(pictures_jpeg_options){0});
        rewrite(&bytes, &file);
        rewrite(&plain, &expected);
        assert_int_equal(file.size_bytes, expected.size_bytes);
        assert_memory_equal(file.data, expected.data, file.size_bytes);
        check_coefficients(&bytes, &file);
    }
    stk__buffer_fini(&bytes);
    stk__buffer_fini(&plain);
    stk__buffer_fini(&file);
    stk__buffer_fini(&expected);
}

/* Damage, and blocks that fit into no single scan. Afterwards the rewriter is as good as before. */
static void what_cannot_be_done(void **state)
{
    (void)state;
    stk__buffer bytes = {0};
    encode(&bytes, 64, 64, &(pictures_jpeg_options){0});
    check_refused((stk__encoded){bytes.data, bytes.size_bytes / 2}, "Premature end");
    check_refused((stk__encoded){bytes.data, 40}, "");
    check_refused((stk__encoded){(const uint8_t *)"no JPEG at all", 14}, "Not a JPEG");
    check_rewritten(&bytes);
    encode(&bytes, 64, 64, &(pictures_jpeg_options){.luma = {4, 4}, .scan_repeats = 1});
    check_refused(as_encoded(&bytes), "Sampling factors too large");
    encode(&bytes, 64, 64, &(pictures_jpeg_options){0});
    check_rewritten(&bytes);
    stk__buffer_fini(&bytes);
}

static void end_before_second_scan(stk__buffer *bytes)
{
    size_t at = 2;
    for (int scans = 0; scans < 2; at++)
        scans += bytes->data[at] == 0xFF && bytes->data[at + 1] == SOS;
    bytes->data[at] = EOI;
    bytes->size_bytes = at + 1;
}

/* Then a component has neither coefficients nor divisors. */
static void scans_that_never_come(void **state)
{
    (void)state;
    stk__buffer bytes = {0};
    for (int arithmetic = 0; arithmetic < 2; arithmetic++) {
        encode(&bytes, 40, 24, &(pictures_jpeg_options){.scan_repeats = 1, .arithmetic = arithmetic});
        end_before_second_scan(&bytes);
        check_refused(as_encoded(&bytes), "not transmit all data");
    }
    stk__buffer_fini(&bytes);
}

static void limits_hold(void **state)
{
    (void)state;
    stk__buffer bytes = {0};
    const stk__limits small = {.bytes = 1 << 20, .pixels = 63 * 64, .scans = 200, .time_s = 10};
    const stk__limits few = {.bytes = 1 << 20, .pixels = 1 << 20, .scans = 3, .time_s = 10};
    const stk__limits soon = {.bytes = 1 << 20, .pixels = 1 << 20, .scans = 200, .time_s = 1e-9};
    const stk__limits *limits[] = {&small, &few, &soon};
    encode(&bytes, 64, 64, &(pictures_jpeg_options){.progressive = true});
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        stk__jpeg_rewriter_destroy(&rewriter);
        assert_int_equal(stk__jpeg_rewriter_create(&rewriter, limits[i], NULL), STK_OK);
        check_refused(as_encoded(&bytes), "");
    }
    stk__buffer_fini(&bytes);
}

static stk_status rewrite_once(void *context, stk_error *error)
{
    stk__jpeg_rewriter *own = NULL;
    stk__buffer file = {0};
    stk_status status = stk__jpeg_rewriter_create(&own, &stk__limits_default, error);
    if (status == STK_OK) status = stk__jpeg_rewrite(own, as_encoded(context), 6, &file, error);
    stk__buffer_fini(&file);
    stk__jpeg_rewriter_destroy(&own);
    return status;
}

static void memory_runs_out(void **state)
{
    (void)state;
    stk__buffer bytes = {0};
    encode(&bytes, 512, 512, &(pictures_jpeg_options){.quality = 100}); /* more than the first piece */
    assert_true(bytes.size_bytes > 100 * 1024);
    assert_true(fail_alloc_each(rewrite_once, &bytes) > 3);
    stk__buffer_fini(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_kind_and_size, make_tools, remove_tools),
        cmocka_unit_test_setup_teardown(orientations, make_tools, remove_tools),
        cmocka_unit_test_setup_teardown(markers_that_stay_and_go, make_tools, remove_tools),
        cmocka_unit_test_setup_teardown(metadata_goes, make_tools, remove_tools),
        cmocka_unit_test_setup_teardown(tables_of_its_own_make_it_smaller, make_tools, remove_tools),
        cmocka_unit_test_setup_teardown(nothing_is_remembered, make_tools, remove_tools),
        cmocka_unit_test_setup_teardown(usual_tables_are_put_in, make_tools, remove_tools),
        cmocka_unit_test_setup_teardown(arithmetic_coding_goes, make_tools, remove_tools),
        cmocka_unit_test_setup_teardown(what_cannot_be_done, make_tools, remove_tools),
        cmocka_unit_test_setup_teardown(scans_that_never_come, make_tools, remove_tools),
        cmocka_unit_test_setup_teardown(limits_hold, make_tools, remove_tools),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
