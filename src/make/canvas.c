/* SPDX-License-Identifier: Apache-2.0 */
/* A small anti-aliased rasteriser for the generated data sets. An outline adds signed areas to an
 * accumulation buffer, whose running sum along a row is the coverage (as font rasterisers do); fills then
 * blend colour, light and texture by it in fixed point and write class ids into a second plane. Same bytes
 * on every machine. */
#include "make/canvas.h"

#include "core/align.h"

#include <assert.h>
#include <string.h>

static size_t sums_bytes(int32_t w, int32_t h)
{
    return stk__align_up(sizeof(int16_t) * (size_t)(w + 2) * (size_t)h, STK_LINE_BYTES);
}

size_t stk__canvas_bytes(int32_t w, int32_t h, int32_t plane_count)
{
    const size_t plane = stk__align_up((size_t)w * (size_t)h, STK_LINE_BYTES);
    return plane * (size_t)(plane_count + 1) + sums_bytes(w, h) +
           2 * stk__align_up(sizeof(int16_t) * (size_t)h, STK_LINE_BYTES);
}

static void forget_outline(stk__canvas *canvas)
{
    canvas->cover.top = canvas->h;
    canvas->cover.bottom = -1;
}

void stk__canvas_init(stk__canvas *canvas, int32_t w, int32_t h, int32_t plane_count, uint8_t *memory)
{
    assert(w <= STK_CANVAS_SIDE && h <= STK_CANVAS_SIDE && plane_count <= 3);
    const size_t plane = stk__align_up((size_t)w * (size_t)h, STK_LINE_BYTES);
    *canvas = (stk__canvas){.w = w, .h = h, .plane_count = plane_count, .ids = memory};
    memset(memory, 0, plane * (size_t)(plane_count + 1));
    for (int c = 0; c < plane_count; c++)
        canvas->planes[c] = memory += plane;
    memory += plane;
    canvas->cover.sums = (int16_t *)(void *)memory;
    memset(memory, 0, sums_bytes(w, h));
    memory += sums_bytes(w, h);
    canvas->cover.first = (int16_t *)(void *)memory;
    canvas->cover.last =
        (int16_t *)(void *)(memory + stk__align_up(sizeof(int16_t) * (size_t)h, STK_LINE_BYTES));
    for (int y = 0; y < h; y++) {
        canvas->cover.first[y] = INT16_MAX;
        canvas->cover.last[y] = -1;
    }
    forget_outline(canvas);
}

static float clamp(float value, float low, float high)
{
    return value < low ? low : value > high ? high : value;
}

/* One row's piece of an edge from x0 to x1, `height` (signed) of the row high: what lies right of it is
 * covered by that height, the pixels it crosses by the part of their area right of it. Whole
 * numbers of 1/4096: nothing is lost in a piece, so nothing leaks along the row. */
static void add_piece(stk__canvas *canvas, int32_t y, float x0, float x1, float height)
{
    const float w = (float)canvas->w;
    const float left = clamp(x0 < x1 ? x0 : x1, 0, w), right = clamp(x0 < x1 ? x1 : x0, 0, w);
    int16_t *row = canvas->cover.sums + (size_t)y * (size_t)(canvas->w + 2);
    const int32_t from = (int32_t)left, to = (int32_t)right;
    const float scaled = height * 4096, slope = from < to ? scaled / (right - left) : 0;
    int32_t rest = (int32_t)scaled;
    for (int32_t x = from; x <= to; x++) {
        const float a = x == from ? left : (float)x, b = x == to ? right : (float)(x + 1);
        const int32_t here = x == to ? rest : (int32_t)(slope * (b - a));
        const int32_t part = (int32_t)((float)here * (1 - ((a + b) * 0.5f - (float)x)));
        row[x] = (int16_t)(row[x] + part);
        row[x + 1] = (int16_t)(row[x + 1] + here - part);
        rest -= here;
    }
    if (from < canvas->cover.first[y]) canvas->cover.first[y] = (int16_t)from;
    if (to + 1 > canvas->cover.last[y]) canvas->cover.last[y] = (int16_t)(to + 1);
}

static void add_edge(stk__canvas *canvas, stk__coord a, stk__coord b)
{
    if (a.y == b.y) return;
    const float sign = a.y < b.y ? 1.0f : -1.0f;
    const stk__coord high = a.y < b.y ? a : b, low = a.y < b.y ? b : a;
    const float y_start = clamp(high.y, 0, (float)canvas->h), y_end = clamp(low.y, 0, (float)canvas->h);
    const float slope = (low.x - high.x) / (low.y - high.y);
    const int32_t first = (int32_t)y_start;
    if (y_start >= y_end) return;
    if (first < canvas->cover.top) canvas->cover.top = first;
    for (int32_t y = first; y < canvas->h && (float)y < y_end; y++) {
        const float y0 = (float)y > y_start ? (float)y : y_start;
        const float y1 = (float)(y + 1) < y_end ? (float)(y + 1) : y_end;
        add_piece(canvas, y, high.x + (y0 - high.y) * slope, high.x + (y1 - high.y) * slope,
                  sign * (y1 - y0));
        if (y > canvas->cover.bottom) canvas->cover.bottom = y;
    }
}

void stk__canvas_polygon(stk__canvas *canvas, const stk__coord *spots, int32_t count)
{
    for (int32_t i = 0; i < count; i++)
        add_edge(canvas, spots[i], spots[i + 1 < count ? i + 1 : 0]);
}

/* Columns [from, to) of one row with what is to be blended there. Colours are blended in 16-bit fixed point:
 * eight pixels per instruction on the oldest x86-64. */
typedef struct span {
    int32_t y, from, to;
    uint8_t cover[STK_CANVAS_SIDE + 2];
    float tone[STK_CANVAS_SIDE];
    uint16_t factor[STK_CANVAS_SIDE]; /* tone in 1/4096, below 16 */
    int16_t weight[STK_CANVAS_SIDE];  /* share of the new colour in 1/32768, below 1 */
} span;

static void take_cover(stk__canvas *canvas, span *row)
{
    stk__cover *cover = &canvas->cover;
    int16_t *restrict sums = cover->sums + (size_t)row->y * (size_t)(canvas->w + 2), sum = 0;
    row->from = cover->first[row->y];
    row->to = cover->last[row->y] + 1;
    for (int32_t x = row->from; x < row->to; x++)
        sums[x] = sum = (int16_t)(sum + sums[x]);
    for (int32_t x = row->from; x < row->to; x++) {
        const int16_t size = (int16_t)(sums[x] < 0 ? -sums[x] : sums[x]), area = size > 4096 ? 4096 : size;
        row->cover[x] = (uint8_t)((area - (area >> 8) + 8) >> 4);
    }
    memset(sums + row->from, 0, sizeof *sums * (size_t)(row->to - row->from));
    if (row->to > canvas->w) row->to = canvas->w;
    cover->first[row->y] = INT16_MAX;
    cover->last[row->y] = -1;
}

static void light_row(const stk__light *light, span *row)
{
    const float rx = light->radius.x > 0 ? 1 / light->radius.x : 0,
                ry = light->radius.y > 0 ? 1 / light->radius.y : 0;
    const float py = (float)row->y + 0.5f - light->centre.y, v = py * ry;
    const float gain = light->gain > 0 ? light->gain : 1;
    const float start = gain + light->slope.y * py - light->bulge * v * v;
    const float offset = 0.5f - light->centre.x, slope = light->slope.x, bulge = light->bulge;
    for (int32_t x = row->from; x < row->to; x++) {
        const float px = (float)x + offset, u = px * rx;
        row->tone[x] = start + slope * px - bulge * u * u;
    }
}

static void fan_row(const stk__texture *texture, const int8_t *tile, float amplitude, span *row)
{
    float down = (float)row->y - texture->fan_from.y;
    if (down < 0) down = -down;
    const float spread = 256 / (down + 150), from = texture->fan_from.x;
    for (int32_t x = row->from; x < row->to; x++) {
        const int32_t u = (int32_t)(((float)x - from) * spread + 4096);
        row->tone[x] += amplitude * (float)tile[(u + texture->u) & STK_NOISE_WRAP];
    }
}

static void texture_row(const stk__texture *texture, span *row)
{
    const int32_t step = texture->step ? texture->step : 1;
    const int8_t *tile =
        stk__noise_tile(texture->kind) + ((row->y * step + texture->v) & STK_NOISE_WRAP) * STK_NOISE_SIDE;
    const float amplitude = texture->amplitude / 127;
    if (texture->fan) {
        fan_row(texture, tile, amplitude, row);
        return;
    }
    /* In runs up to the tile's end, so that the inner loop has no wrap. */
    for (int32_t x = row->from; x < row->to;) {
        const int8_t *here = tile + ((x * step + texture->u) & STK_NOISE_WRAP);
        const int32_t run = (int32_t)(tile + STK_NOISE_SIDE - here + step - 1) / step;
        const int32_t end = run < row->to - x ? x + run : row->to;
        if (step == 1)
            for (int32_t i = 0; i < end - x; i++)
                row->tone[x + i] += amplitude * (float)here[i];
        else
            for (int32_t i = 0; i < end - x; i++)
                row->tone[x + i] += amplitude * (float)here[i * step];
        x = end;
    }
}

static void restrict_row(const stk__canvas *canvas, uint32_t only, span *row)
{
    const uint8_t *ids = canvas->ids + (size_t)row->y * (size_t)canvas->w;
    for (int32_t x = row->from; x < row->to; x++)
        if (!(only >> ids[x] & 1)) row->cover[x] = 0;
}

static void fix_row(span *row, float opacity)
{
    const uint16_t full = (uint16_t)(opacity * 32767);
    for (int32_t x = row->from; x < row->to; x++) {
        const int32_t factor = (int32_t)(row->tone[x] * 4096);
        row->factor[x] = (uint16_t)(factor < 0 ? 0 : factor > UINT16_MAX ? UINT16_MAX : factor);
    }
    for (int32_t x = row->from; x < row->to; x++)
        row->weight[x] = (int16_t)((uint32_t)(uint16_t)(row->cover[x] * 257) * full >> 16);
}

/* here + (colour * factor - here) * weight, with 4 bits behind the point inside, 6 in the sum. */
static void blend_row(uint8_t *restrict plane, float colour, const span *row)
{
    const uint16_t base = (uint16_t)(clamp(colour, 0, 255) * 256);
    const uint16_t *restrict factor = row->factor;
    const int16_t *restrict weight = row->weight;
    for (int32_t x = row->from; x < row->to; x++) {
        const uint16_t lit = (uint16_t)((uint32_t)base * factor[x] >> 16);
        const int16_t value = (int16_t)(lit > 4080 ? 4080 : lit);
        const int16_t change = (int16_t)((value - (int16_t)(plane[x] << 4)) * 8);
        const int16_t add = (int16_t)((int32_t)change * weight[x] >> 16);
        plane[x] = (uint8_t)((int16_t)((plane[x] << 6) + add + 32) >> 6);
    }
}

static void mark_row(uint8_t *restrict ids, uint8_t id, const span *row)
{
    for (int32_t x = row->from; x < row->to; x++)
        ids[x] = row->cover[x] >= 128 ? id : ids[x];
}

static void paint_row(stk__canvas *canvas, const stk__paint *paint, span *row)
{
    const size_t start = (size_t)row->y * (size_t)canvas->w;
    if (paint->only) restrict_row(canvas, paint->only, row);
    if (paint->id != STK_CANVAS_KEEP) mark_row(canvas->ids + start, paint->id, row);
    if (canvas->plane_count == 0) return;
    light_row(&paint->light, row);
    if (paint->texture.amplitude != 0) texture_row(&paint->texture, row);
    fix_row(row, paint->opacity != 0 ? paint->opacity : 1);
    for (int c = 0; c < canvas->plane_count; c++)
        blend_row(canvas->planes[c] + start, paint->rgb[c], row);
}

void stk__canvas_fill(stk__canvas *canvas, const stk__paint *paint)
{
    span row;
    for (row.y = canvas->cover.top; row.y <= canvas->cover.bottom; row.y++) {
        if (canvas->cover.first[row.y] > canvas->cover.last[row.y]) continue;
        take_cover(canvas, &row);
        paint_row(canvas, paint, &row);
    }
    forget_outline(canvas);
}

void stk__canvas_flood(stk__canvas *canvas, const stk__paint *paint)
{
    span row = {.to = canvas->w};
    for (row.y = 0; row.y < canvas->h; row.y++) {
        memset(row.cover, 255, (size_t)canvas->w);
        paint_row(canvas, paint, &row);
    }
}

static void add_row(uint8_t *restrict plane, float delta, const span *row)
{
    const int16_t strength = (int16_t)(clamp(delta, -255, 255) * 128);
    const int16_t *restrict weight = row->weight;
    for (int32_t x = row->from; x < row->to; x++) {
        const int16_t add = (int16_t)((int32_t)strength * weight[x] >> 16);
        const int16_t sum = (int16_t)((int16_t)((plane[x] << 6) + add + 32) >> 6);
        plane[x] = (uint8_t)(sum < 0 ? 0 : sum > 255 ? 255 : sum);
    }
}

static void glow_row(const stk__canvas *canvas, const stk__glow *glow, span *row)
{
    const float v = ((float)row->y + 0.5f - glow->centre.y) / glow->radius.y, room = 1 - v * v;
    const float scale = 1 / glow->radius.x, offset = 0.5f - glow->centre.x;
    const size_t start = (size_t)row->y * (size_t)canvas->w;
    for (int32_t x = row->from; x < row->to; x++) {
        const float u = ((float)x + offset) * scale;
        const int32_t rest = (int32_t)((room - u * u) * 32767);
        const int16_t inside = (int16_t)(rest < 0 ? 0 : rest);
        row->weight[x] = (int16_t)(((int32_t)inside * inside >> 16) * 2);
    }
    for (int32_t x = row->from; glow->only && x < row->to; x++)
        if (!(glow->only >> canvas->ids[start + (size_t)x] & 1)) row->weight[x] = 0;
    for (int c = 0; c < canvas->plane_count; c++)
        add_row(canvas->planes[c] + start, glow->delta[c], row);
}

void stk__canvas_glow(stk__canvas *canvas, const stk__glow *glow)
{
    if (canvas->plane_count == 0) return;
    span row;
    row.from = (int32_t)clamp(glow->centre.x - glow->radius.x, 0, (float)canvas->w);
    row.to = (int32_t)clamp(glow->centre.x + glow->radius.x + 1, 0, (float)canvas->w);
    const int32_t top = (int32_t)clamp(glow->centre.y - glow->radius.y, 0, (float)canvas->h);
    const int32_t end = (int32_t)clamp(glow->centre.y + glow->radius.y + 1, 0, (float)canvas->h);
    for (row.y = top; row.y < end; row.y++)
        glow_row(canvas, glow, &row);
}

static void grain_row(const stk__canvas *canvas, int32_t y, const int16_t *restrict add,
                      uint8_t *restrict out)
{
    uint8_t noisy[3][STK_CANVAS_SIDE];
    for (int32_t c = 0; c < canvas->plane_count; c++) {
        const uint8_t *restrict plane = canvas->planes[c] + (size_t)y * (size_t)canvas->w;
        for (int32_t x = 0; x < canvas->w; x++) {
            const int16_t value = (int16_t)(plane[x] + add[x]);
            noisy[c][x] = (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
        }
    }
    if (canvas->plane_count == 1) memcpy(out, noisy[0], (size_t)canvas->w);
    for (int32_t x = 0; canvas->plane_count == 3 && x < canvas->w; x++)
        for (int32_t c = 0; c < 3; c++)
            out[x * 3 + c] = noisy[c][x];
}

void stk__canvas_finish(const stk__canvas *canvas, float grain, int32_t u, int32_t v, stk__pixels image)
{
    const int8_t *tile = stk__noise_tile(STK_NOISE_GRAIN);
    const int16_t strength = (int16_t)(grain * 256 / 127);
    for (int32_t y = 0; y < canvas->h; y++) {
        const int8_t *noise = tile + ((y + v) & STK_NOISE_WRAP) * STK_NOISE_SIDE;
        int16_t add[STK_CANVAS_SIDE];
        int8_t shifted[STK_NOISE_SIDE];
        memcpy(shifted, noise + u, (size_t)(STK_NOISE_SIDE - u));
        memcpy(shifted + STK_NOISE_SIDE - u, noise, (size_t)u);
        for (int32_t x = 0; x < canvas->w; x++)
            add[x] = (int16_t)((int16_t)(shifted[x] * strength + 128) >> 8);
        grain_row(canvas, y, add, stk__pixels_row(image, y));
    }
}

/* Catmull-Rom: passes through every control, needs no tangents. */
int32_t stk__curve(const stk__coord *controls, int32_t count, int32_t steps, stk__coord *out)
{
    for (int32_t i = 0; i < count; i++) {
        const stk__coord a = controls[(i + count - 1) % count], b = controls[i],
                         c = controls[(i + 1) % count], d = controls[(i + 2) % count];
        for (int32_t k = 0; k < steps; k++) {
            const float t = (float)k / (float)steps, tt = t * t, ttt = tt * t;
            const float wa = (2 * tt - ttt - t) * 0.5f, wb = (3 * ttt - 5 * tt + 2) * 0.5f;
            const float wc = (4 * tt - 3 * ttt + t) * 0.5f, wd = (ttt - tt) * 0.5f;
            *out++ = (stk__coord){wa * a.x + wb * b.x + wc * c.x + wd * d.x,
                                  wa * a.y + wb * b.y + wc * c.y + wd * d.y};
        }
    }
    return count * steps;
}
