/* SPDX-License-Identifier: Apache-2.0 */
/* HTML into a growing buffer: escaping, base64 and numbers for people. The first failure is kept and later
 * calls do nothing, so that it is checked once, at the end. */
#include "report/page.h"

#include "core/utf8.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define NOT_A_CHARACTER "\xef\xbf\xbd"

enum { REST_BYTES = 256 << 10 }; /* of a page, after its picture */

static void put(stk__page *page, const void *data, size_t size_bytes)
{
    if (page->status == STK_OK) page->status = stk__buffer_append(&page->text, data, size_bytes, page->error);
}

void stk__page_html(stk__page *page, const char *html)
{
    put(page, html, strlen(html));
}

void stk__page_print(stk__page *page, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (length > 0) put(page, text, (size_t)length < sizeof text ? (size_t)length : sizeof text - 1);
}

/* --- text -----------------------------------------------------------------------------------------------
 */

static const char *escape_of(char letter)
{
    static const struct {
        char letter;
        const char *escape;
    } escapes[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}};
    for (size_t i = 0; i < sizeof escapes / sizeof escapes[0]; i++)
        if (escapes[i].letter == letter) return escapes[i].escape;
    const unsigned char code = (unsigned char)letter;
    const bool control = (code < 0x20 && letter != '\n' && letter != '\t') || code == 0x7f;
    return control ? NOT_A_CHARACTER : NULL;
}

/* Up to the first zero or size bytes; a sequence that is cut there is none. */
void stk__page_text_part(stk__page *page, const char *text, size_t size_bytes)
{
    size_t plain = 0; /* bytes that can go as they are */
    for (size_t i = 0; i < size_bytes && text[i];) {
        char sequence[5] = {0};
        memcpy(sequence, text + i, size_bytes - i < 4 ? size_bytes - i : 4);
        const size_t length = stk__utf8_length(sequence);
        const char *escape = length ? escape_of(text[i]) : NOT_A_CHARACTER;
        i += length ? length : 1;
        plain += escape ? 0 : length;
        if (!escape && i < size_bytes && text[i]) continue;
        const size_t end = escape ? i - (length ? length : 1) : i;
        put(page, text + end - plain, plain);
        if (escape) stk__page_html(page, escape);
        plain = 0;
    }
}

void stk__page_text(stk__page *page, const char *text)
{
    if (text) stk__page_text_part(page, text, strlen(text));
}

/* A picture is most of a page: the text grows once for it, and for what follows. */
void stk__page_base64(stk__page *page, const uint8_t *data, size_t size_bytes)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const size_t most = page->text.size_bytes + (size_bytes + 2) / 3 * 4 + REST_BYTES;
    if (page->status == STK_OK) page->status = stk__buffer_reserve(&page->text, most, page->error);
    for (size_t i = 0; i < size_bytes; i += 3) {
        const size_t left = size_bytes - i;
        const uint32_t bits = (uint32_t)data[i] << 16 | (uint32_t)(left > 1 ? data[i + 1] : 0) << 8 |
                              (uint32_t)(left > 2 ? data[i + 2] : 0);
        const char four[4] = {letters[bits >> 18], letters[bits >> 12 & 63],
                              left > 1 ? letters[bits >> 6 & 63] : '=', left > 2 ? letters[bits & 63] : '='};
        put(page, four, sizeof four);
    }
}

/* --- numbers --------------------------------------------------------------------------------------------
 */

/* "1,234,567" */
static void put_grouped(stk__page *page, double value)
{
    char digits[32];
    const int length = snprintf(digits, sizeof digits, "%.0f", fabs(value));
    stk__page_html(page, value < 0 ? "-" : "");
    for (int i = 0; i < length; i++)
        stk__page_print(page, "%s%c", i && (length - i) % 3 == 0 ? "," : "", digits[i]);
}

void stk__page_number(stk__page *page, double value)
{
    if (!isfinite(value))
        stk__page_html(page, "–");
    else if (fabs(value) >= 1e4 && fabs(value) < 1e15)
        put_grouped(page, value);
    else
        stk__page_print(page, fabs(value) < 1e-3 ? "%.3g" : "%.4g", value);
}

void stk__page_bytes(stk__page *page, double bytes)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
    int unit = 0;
    if (!isfinite(bytes)) {
        stk__page_html(page, "–");
        return;
    }
    for (; bytes >= 999.95 && unit < 4; unit++)
        bytes /= 1000;
    stk__page_print(page, unit ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
}

void stk__page_share(stk__page *page, double share)
{
    if (isfinite(share))
        stk__page_print(page, "%.1f %%", 100 * share);
    else
        stk__page_html(page, "–");
}

/* --- the frame of a page --------------------------------------------------------------------------------
 */

/* Nothing from elsewhere: not even a browser that was fooled would fetch it. */
void stk__page_begin(stk__page *page)
{
    stk__page_html(
        page,
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; style-src "
        "'unsafe-inline'; script-src 'unsafe-inline'\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"color-scheme\" content=\"light dark\">\n<title>");
}

void stk__page_body(stk__page *page, const char *styles)
{
    stk__page_html(page, "</title>\n<style>\n");
    stk__page_html(page, stk__report_css);
    stk__page_html(page, styles ? styles : "");
    stk__page_html(page, "</style></head>\n<body><main>\n");
}

void stk__page_end(stk__page *page)
{
    stk__page_html(page, "<footer>written by stoker " STK_VERSION
                         "</footer>\n</main>\n<div id=\"tip\" hidden></div>\n<script>\n");
    stk__page_html(page, stk__report_js);
    stk__page_html(page, "</script></body></html>\n");
}
