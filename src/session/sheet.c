/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures are scaled into cells of one RGB image that grows no more after init; colours of ids lie over
 * them. One thread. */
#include "session/sheet.h"

#include "core/file.h"
#include "image/jpeg_write.h"
#include "image/png_write.h"
#include "image/resize.h"

#include <string.h>
#include <strings.h>

enum { MOST_PX = 256, PAPER = 245, IGNORED = 255 };

static int32_t sheet_w(const stk__sheet *sheet)
{
    return sheet->columns * (sheet->cell_w + STK_SHEET_GAP_PX) + STK_SHEET_GAP_PX;
}

static int32_t sheet_h(const stk__sheet *sheet)
{
    return sheet->rows * (sheet->cell_h + STK_SHEET_GAP_PX) + STK_SHEET_GAP_PX;
}

stk_status stk__sheet_init(stk__sheet *sheet, int32_t columns, int32_t rows, stk__pixels shape,
                           stk_error *error)
{
    const int32_t longer = shape.w > shape.h ? shape.w : shape.h, most = longer < MOST_PX ? longer : MOST_PX;
    *sheet = (stk__sheet){.columns = columns, .rows = rows};
    sheet->cell_w = shape.w * most / longer > 0 ? shape.w * most / longer : 1;
    sheet->cell_h = shape.h * most / longer > 0 ? shape.h * most / longer : 1;
    const size_t bytes = (size_t)sheet_w(sheet) * (size_t)sheet_h(sheet) * 3;
    STK__TRY(stk__buffer_reserve(&sheet->pixels, bytes, error));
    memset(sheet->pixels.data, PAPER, bytes);
    return stk__buffer_reserve(&sheet->cell, (size_t)sheet->cell_w * (size_t)sheet->cell_h * 4, error);
}

void stk__sheet_fini(stk__sheet *sheet)
{
    stk__buffer_fini(&sheet->pixels);
    stk__buffer_fini(&sheet->cell);
    stk__buffer_fini(&sheet->scratch);
}

/* Neighbouring ids get colours far apart: hues a golden section of the circle from each other. */
static void colour_of(uint8_t id, uint8_t rgb[3])
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
    if (id != IGNORED) colour_of(id, rgb);
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
    const size_t left = (size_t)(STK_SHEET_GAP_PX + place.column * (w + STK_SHEET_GAP_PX)),
                 top = (size_t)(STK_SHEET_GAP_PX + place.row * (h + STK_SHEET_GAP_PX));
    for (int32_t y = 0; y < h; y++) {
        uint8_t *out = sheet->pixels.data + ((top + (size_t)y) * (size_t)sheet_w(sheet) + left) * 3;
        for (int32_t x = 0; x < w; x++, out += 3) {
            copy_pixel(out, stk__pixels_row(cell, y) + x * channels, channels);
            if (mask.data) stk__sheet_tint(out, stk__pixels_row(ids, y)[x]);
        }
    }
    return STK_OK;
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
    const stk__pixels all = stk__pixels_dense(sheet->pixels.data, sheet_w(sheet), sheet_h(sheet), 3);
    stk_status status =
        is_jpeg(path) ? stk__jpeg_write(all, QUALITY, &file, error) : encode_png(all, &file, error);
    if (status == STK_OK) status = stk__file_write(path, file, STK_FILE_QUICK | STK_FILE_NAMED, error);
    stk__buffer_fini(&file);
    return status;
}
