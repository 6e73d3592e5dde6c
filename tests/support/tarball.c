/* SPDX-License-Identifier: Apache-2.0 */
/* Tar files built header by header, correct or wrong as a test wants them. */
#include "support/tarball.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { BLOCK = 512 };

static void append(tarball *ball, const void *data, size_t size)
{
    assert_int_equal(stk__buffer_append(&ball->bytes, data, size, NULL), STK_OK);
}

void tarball_sum(tarball *ball, size_t header)
{
    uint8_t *block = ball->bytes.data + header;
    unsigned sum = 0;
    memset(block + 148, ' ', 8);
    for (int i = 0; i < BLOCK; i++)
        sum += block[i];
    snprintf((char *)block + 148, 8, "%06o", sum & 0777777);
}

static void write_octal(uint8_t *field, int digits, uint64_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%0*llo", digits, (unsigned long long)number);
    memcpy(field, text, (size_t)digits + 1);
}

size_t tarball_header(tarball *ball, const char *name, char type, uint64_t size)
{
    uint8_t block[BLOCK] = {0};
    const size_t length = strlen(name), at = ball->bytes.size_bytes;
    memcpy(block, name, length < 100 ? length : 100);
    write_octal(block + 100, 7, 0644);
    write_octal(block + 108, 7, 0);
    write_octal(block + 116, 7, 0);
    if (size >> 33) {
        block[124] = 0x80;
        for (int i = 0; i < 8; i++)
            block[128 + i] = (uint8_t)(size >> 8 * (7 - i));
    } else {
        write_octal(block + 124, 11, size);
    }
    write_octal(block + 136, 11, 946684800);
    block[156] = (uint8_t)type;
    memcpy(block + 257, "ustar\00000", 8);
    append(ball, block, sizeof block);
    tarball_sum(ball, at);
    return at;
}

void tarball_data(tarball *ball, const void *data, size_t size)
{
    static const uint8_t zeros[BLOCK];
    append(ball, data, size);
    append(ball, zeros, (BLOCK - size % BLOCK) % BLOCK);
}

size_t tarball_file(tarball *ball, const char *name, const void *data, size_t size)
{
    const size_t at = tarball_header(ball, name, '0', size);
    tarball_data(ball, data, size);
    return at;
}

size_t tarball_text(tarball *ball, const char *name, const char *text)
{
    return tarball_file(ball, name, text, strlen(text));
}

size_t tarball_records(tarball *ball, char type, const char *records)
{
    const size_t at = tarball_header(ball, "PaxHeaders/x", type, strlen(records));
    tarball_data(ball, records, strlen(records));
    return at;
}

size_t tarball_record(tarball *ball, char type, const char *key, const char *value)
{
    const size_t rest = strlen(key) + strlen(value) + 3; /* blank, '=', line end */
    size_t length = rest + 1;
    char digits[24];
    while (rest + (size_t)snprintf(digits, sizeof digits, "%zu", length) != length)
        length++;
    char *text = malloc(length + 1);
    assert_non_null(text);
    snprintf(text, length + 1, "%zu %s=%s\n", length, key, value);
    const size_t at = tarball_records(ball, type, text);
    free(text);
    return at;
}

size_t tarball_long_name(tarball *ball, char type, const char *name)
{
    const size_t at = tarball_header(ball, "././@LongLink", type, strlen(name) + 1);
    memcpy(ball->bytes.data + at + 257, "ustar  ", 8);
    tarball_sum(ball, at);
    tarball_data(ball, name, strlen(name) + 1);
    return at;
}

void tarball_end(tarball *ball)
{
    static const uint8_t zeros[2 * BLOCK];
    append(ball, zeros, sizeof zeros);
}

void tarball_write(const tarball *ball, const char *path)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    if (ball->bytes.size_bytes)
        assert_int_equal(fwrite(ball->bytes.data, 1, ball->bytes.size_bytes, file), ball->bytes.size_bytes);
    assert_int_equal(fclose(file), 0);
}

void tarball_clear(tarball *ball)
{
    stk__buffer_fini(&ball->bytes);
}
