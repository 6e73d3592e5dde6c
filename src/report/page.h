/* SPDX-License-Identifier: Apache-2.0 */
/* HTML into a buffer. The first failure stays, so that it is asked for only once, at the end. */
#ifndef STK_REPORT_PAGE_H
#define STK_REPORT_PAGE_H

#include "core/memory.h"

typedef struct stk__page { /* zeroed; stk__buffer_fini(&page.text) when done */
    stk__buffer text;
    stk_status status;
    stk_error *error; /* of the first failure */
} stk__page;

void stk__page_html(stk__page *page, const char *html); /* as it is */
/* The same with values; never for text from outside. */
void stk__page_print(stk__page *page, const char *format, ...) STK__PRINTF(2, 3);
/* Text from anywhere: escaped for content and for attributes in quotes; invalid UTF-8 and characters that
 * HTML does not allow become U+FFFD. */
void stk__page_text(stk__page *page, const char *text);
void stk__page_text_part(stk__page *page, const char *text, size_t size_bytes);
void stk__page_base64(stk__page *page, const uint8_t *data, size_t size_bytes);

/* Numbers for people; "–" for what is none. */
void stk__page_number(stk__page *page, double value);
void stk__page_bytes(stk__page *page, double bytes); /* "31.1 MB" */
void stk__page_share(stk__page *page, double share); /* "12.3 %" */

/* The frame of a page that needs nothing else: up to the text of <title>; from its end to <main>, with more
 * styles (or NULL); from the end of <main> on. */
void stk__page_begin(stk__page *page);
void stk__page_body(stk__page *page, const char *styles);
void stk__page_end(stk__page *page);

extern const char stk__report_css[], stk__report_js[], stk__data_page_css[];

#endif
