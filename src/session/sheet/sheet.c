/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures are scaled into cells of one RGB image that grows no more after init; colours of ids lie over
 * them. From top to bottom: headings, rows of cells with their captions, the legend. One thread. */
#include "session/sheet/sheet.h"

#include "core/file.h"
#include "image/bitmap_font.h"
#include "image/jpeg_write.h"
#include "image/png_write.h"
#include "image/resize.h"
#include "session/sheet/sheet_ink.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum {
    MOST_PX = 256,
    LEAST_PX = 192,
    LEAST_W_PX = 128,
    TITLE_GAP_PX = 4,
    PAPER = 245,
    IGNORED = 255,
    ENTRY_GAP_PX = 18,
    MOST_CLASSES = 64
};

static int32_t sheet_w(const stk__sheet *sheet)
{
    return sheet->columns * (sheet->cell_w + STK_SHEET_GAP_PX) + STK_SHEET_GAP_PX;
}

static int32_t rows_h(const stk__sheet *sheet)
{
    return sheet->head_h + sheet->rows * (sheet->cell_h + sheet->caption_h + STK_SHEET_GAP_PX) +
           STK_SHEET_GAP_PX;
}

stk__pixels stk__sheet_pixels(const stk__sheet *sheet)
{
    return stk__pixels_dense(sheet->pixels.data, sheet_w(sheet), rows_h(sheet) + sheet->legend_h, 3);
}

stk__pixels stk__sheet_cell(const stk__sheet *sheet, stk__sheet_place place)
{
    const int32_t left = STK_SHEET_GAP_PX + place.column * (sheet->cell_w + STK_SHEET_GAP_PX),
                  top = sheet->head_h + STK_SHEET_GAP_PX +
                        place.row * (sheet->cell_h + sheet->caption_h + STK_SHEET_GAP_PX);
    return stk__ink_part(stk__sheet_pixels(sheet), left, top, sheet->cell_w, sheet->cell_h);
}

/* --- legend ------------------------------------------------------------------------------------------------
 */

/* Places the entries one after the other, in lines as wide as the sheet, and draws them if `picture` is
 * there. Returns the height of all lines. */
static int32_t lay_legend(const stk__sheet_form *form, int32_t w, int32_t top, const stk__pixels *picture)
{
    int32_t x = STK_SHEET_GAP_PX, y = top;
    for (int32_t i = 0; i < form->legend_count; i++) {
        const stk__sheet_entry *entry = &form->legend[i];
        const int32_t text = stk__font_width(entry->text, 2), all = STK_INK_SYMBOL_PX + 8 + text;
        if (x > STK_SHEET_GAP_PX && x + all > w - STK_SHEET_GAP_PX) {
            x = STK_SHEET_GAP_PX;
            y += STK_INK_LINE_PX + 4;
        }
        const int32_t text_x = x + STK_INK_SYMBOL_PX + 8;
        if (picture) {
            stk__ink_symbol(*picture, x, y + 3, entry);
            stk__ink_text(*picture, (stk__ink_place){text_x, y, w - STK_SHEET_GAP_PX - text_x, 0},
                          STK_INK_TEXT, entry->text);
        }
        x += all + ENTRY_GAP_PX;
    }
    return form->legend_count ? y + STK_INK_LINE_PX + STK_SHEET_GAP_PX - top : 0;
}

int32_t stk__sheet_list_classes(stk__sheet_entry *legend, int32_t room, int32_t count,
                                const char *const *names)
{
    int32_t n = 0;
    const int32_t most = count < MOST_CLASSES ? count : MOST_CLASSES;
    for (int32_t id = 0; id < most && n < room - 1; id++) {
        stk__sheet_entry *entry = &legend[n++];
        *entry = (stk__sheet_entry){.symbol = id ? STK_SYMBOL_BOX : STK_SYMBOL_OUTLINE};
        stk__sheet_colour((uint8_t)id, entry->rgb);
        if (names)
            snprintf(entry->text, sizeof entry->text, "%s", names[id]);
        else
            snprintf(entry->text, sizeof entry->text, "class %d", (int)id);
    }
    if (n < room) legend[n++] = (stk__sheet_entry){STK_SYMBOL_BOX, {20, 20, 20}, "ignored"};
    return n;
}

/* --- all of it ---------------------------------------------------------------------------------------------
 */

/* Texts want to be read: then small pictures are enlarged. */
static void size_cells(stk__sheet *sheet, const stk__sheet_form *form)
{
    const int32_t w = form->shape.w, h = form->shape.h, longer = w > h ? w : h;
    int32_t most = longer;
    if (form->title || form->headings || form->caption_lines) {
        if (most < LEAST_PX) most = LEAST_PX;
        if ((int64_t)w * most / longer < LEAST_W_PX) most = (int32_t)((int64_t)LEAST_W_PX * longer / w);
    }
    if (most > MOST_PX) most = MOST_PX;
    sheet->cell_w = w * most / longer > 0 ? w * most / longer : 1;
    sheet->cell_h = h * most / longer > 0 ? h * most / longer : 1;
    if (form->title || form->headings) sheet->head_h = STK_SHEET_GAP_PX;
    if (form->title) sheet->head_h += STK_INK_LINE_PX;
    if (form->headings) sheet->head_h += STK_INK_LINE_PX + (form->title ? TITLE_GAP_PX : 0);
    sheet->caption_h = form->caption_lines * STK_INK_LINE_PX;
    sheet->legend_h = lay_legend(form, sheet_w(sheet), 0, NULL);
}

/* All headings of one size. */
static void draw_headings(const stk__sheet *sheet, const stk__sheet_form *form, stk__pixels to)
{
    const int32_t gap = STK_SHEET_GAP_PX, top = sheet->head_h - STK_INK_LINE_PX;
    int32_t scale = 2;
    if (form->title)
        stk__ink_text(to, (stk__ink_place){gap, gap, to.w - 2 * gap, 0}, STK_INK_TEXT, form->title);
    for (int32_t c = 0; form->headings && c < form->columns; c++)
        if (stk__ink_scale(form->headings[c], sheet->cell_w) < scale) scale = 1;
    for (int32_t c = 0; form->headings && c < form->columns; c++)
        stk__ink_text(to, (stk__ink_place){gap + c * (sheet->cell_w + gap), top, sheet->cell_w, scale},
                      STK_INK_SOFT, form->headings[c]);
}

stk_status stk__sheet_init(stk__sheet *sheet, const stk__sheet_form *form, stk_error *error)
{
    *sheet = (stk__sheet){.columns = form->columns, .rows = form->rows};
    size_cells(sheet, form);
    const stk__pixels all = stk__sheet_pixels(sheet);
    const size_t bytes = (size_t)all.w * (size_t)all.h * 3;
    STK__TRY(stk__buffer_reserve(&sheet->pixels, bytes, error));
    memset(sheet->pixels.data, PAPER, bytes);
    const stk__pixels drawn = stk__sheet_pixels(sheet);
    lay_legend(form, drawn.w, rows_h(sheet), &drawn);
    draw_headings(sheet, form, drawn);
    return stk__buffer_reserve(&sheet->cell, (size_t)sheet->cell_w * (size_t)sheet->cell_h * 4, error);
}

/* The encoder has all pixels again, filtered, and room for as much if they do not compress. */
uint64_t stk__sheet_bytes(const stk__sheet_form *form)
{
    enum { COPIES = 3, CELL_BYTES = 4, COMPRESSOR_BYTES = 700 << 10 };
    stk__sheet sheet = {.columns = form->columns, .rows = form->rows};
    size_cells(&sheet, form);
    const stk__pixels all = stk__sheet_pixels(&sheet);
    return COPIES * (uint64_t)all.w * (uint64_t)all.h * 3 +
           CELL_BYTES * (uint64_t)sheet.cell_w * (uint64_t)sheet.cell_h + COMPRESSOR_BYTES;
}

void stk__sheet_fini(stk__sheet *sheet)
{
    stk__buffer_fini(&sheet->pixels);
    stk__buffer_fini(&sheet->cell);
    stk__buffer_fini(&sheet->scratch);
}

/* Hues a golden section of the circle from each other. */
void stk__sheet_colour(uint8_t id, uint8_t rgb[3])
{
    static const int starts[3] = {5, 3, 1};
    const float hue = (float)(id * 159 % 256) * (6.0f / 256);
    for (int c = 0; c < 3; c++) {
        float k = (float)starts[c] + hue;
        k = k >= 6 ? k - 6 : k;
        const float part = k < 4 - k ? k : 4 - k, share = part < 0 ? 0 : part > 1 ? 1 : part;
        rgb[c] = (uint8_t)(255 - 200 * share);
    }
}

/* What the loss ignores is nearly black. */
void stk__sheet_tint(uint8_t *pixel, uint8_t id)
{
    uint8_t rgb[3] = {20, 20, 20};
    if (id == 0) return; /* the background stays as it is */
    if (id != IGNORED) stk__sheet_colour(id, rgb);
    const int own = id == IGNORED ? 1 : 5;
    for (int c = 0; c < 3; c++)
        pixel[c] = (uint8_t)((pixel[c] * own + rgb[c] * (10 - own)) / 10);
}

static void copy_pixel(uint8_t *to, const uint8_t *from, int32_t channels)
{
    for (int c = 0; c < 3; c++)
        to[c] = from[channels == 3 ? c : 0];
}

stk_status stk__sheet_draw(stk__sheet *sheet, stk__sheet_place place, stk__pixels picture, stk__pixels mask,
                           stk_error *error)
{
    const int32_t w = sheet->cell_w, h = sheet->cell_h, channels = picture.channels;
    const stk__pixels cell = stk__pixels_dense(sheet->cell.data, w, h, channels);
    const stk__pixels ids = stk__pixels_dense(sheet->cell.data + 3 * (size_t)w * (size_t)h, w, h, 1);
    STK__TRY(stk__resize_image(picture, cell, &sheet->scratch, error));
    if (mask.data) stk__resize_mask(mask, ids);
    const stk__pixels to = stk__sheet_cell(sheet, place);
    for (int32_t y = 0; y < h; y++) {
        uint8_t *out = stk__pixels_row(to, y);
        for (int32_t x = 0; x < w; x++, out += 3) {
            copy_pixel(out, stk__pixels_row(cell, y) + x * channels, channels);
            if (mask.data) stk__sheet_tint(out, stk__pixels_row(ids, y)[x]);
        }
    }
    return STK_OK;
}

void stk__sheet_caption(stk__sheet *sheet, stk__sheet_place place, int32_t columns, int32_t line,
                        const uint8_t rgb[3], const char *text)
{
    static const uint8_t paper[3] = {PAPER, PAPER, PAPER};
    const stk__pixels cell = stk__sheet_cell(sheet, place);
    const stk__pixels below = {stk__pixels_row(cell, cell.h + line * STK_INK_LINE_PX), cell.pitch_bytes,
                               cell.w + (columns - 1) * (cell.w + STK_SHEET_GAP_PX), STK_INK_LINE_PX, 3};
    stk__ink_fill(below, paper);
    stk__ink_text(below, (stk__ink_place){.w = below.w}, rgb, text);
}

static bool is_jpeg(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot && (strcasecmp(dot, ".jpg") == 0 || strcasecmp(dot, ".jpeg") == 0);
}

static stk_status encode_png(stk__pixels pixels, stk__buffer *file, stk_error *error)
{
    stk__png_writer *writer;
    STK__TRY(stk__png_writer_create(&writer, STK_PNG_LEVEL_QUICK, error));
    const stk_status status =
        stk__png_write(writer, pixels, &(stk__png_options){.filter = STK_PNG_BEST}, file, error);
    stk__png_writer_destroy(&writer);
    return status;
}

stk_status stk__sheet_write(const stk__sheet *sheet, const char *path, stk_error *error)
{
    enum { QUALITY = 88 };
    stk__buffer file = {0};
    const stk__pixels all = stk__sheet_pixels(sheet);
    stk_status status =
        is_jpeg(path) ? stk__jpeg_write(all, QUALITY, &file, error) : encode_png(all, &file, error);
    if (status == STK_OK) status = stk__file_write(path, file, STK_FILE_QUICK | STK_FILE_NAMED, error);
    stk__buffer_fini(&file);
    return status;
}
