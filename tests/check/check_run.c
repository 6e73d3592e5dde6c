/* SPDX-License-Identifier: Apache-2.0 */
/* Runs one case with the reference and with a kernel under test, each on its own guarded output, and
 * compares bit by bit; a difference is described by place, channel and both values. */
#include "check/check_run.h"

#include <stdio.h>
#include <string.h>

enum { MOST_VALUES = 1 << 20, OFFSET_VALUES = 64 };

check_room check_room_create(void)
{
    check_room room = {.image = check_fence_create(MOST_VALUES), .mask = check_fence_create(MOST_VALUES)};
    static const uint8_t untouched[2] = {0x5a, 0xc3}; /* different: what nobody writes differs */
    for (int i = 0; i < 2; i++) {
        room.images[i] = check_output_create((MOST_VALUES + OFFSET_VALUES) * sizeof(float), untouched[i]);
        room.masks[i] = check_output_create(MOST_VALUES * sizeof(int64_t), untouched[i]);
    }
    return room;
}

void check_room_destroy(check_room *room)
{
    check_fence_destroy(&room->image);
    check_fence_destroy(&room->mask);
    for (int i = 0; i < 2; i++) {
        check_output_destroy(&room->images[i]);
        check_output_destroy(&room->masks[i]);
        stk__buffer_fini(&room->scratch[i]);
    }
}

static uint8_t draw_byte(check_case *c, int32_t x, int32_t y, int32_t i)
{
    switch (c->pixels) {
    case CHECK_ZERO:
        return 0;
    case CHECK_MAX:
        return 255;
    case CHECK_RAMP:
        return (uint8_t)(3 * x + 5 * y + 40 * i);
    case CHECK_POINT:
        return x == c->source_w / 2 && y == c->source_h / 2 ? 255 : 0;
    default:
        return (uint8_t)check_draw(c);
    }
}

static stk__pixels draw_pixels(check_case *c, const check_fence *fence, int32_t channels, int32_t slack)
{
    const size_t row = (size_t)c->source_w * (size_t)channels, pitch = row + (size_t)slack;
    const size_t size = (size_t)(c->source_h - 1) * pitch + row;
    const stk__pixels p = {check_fence_place(fence, size, c->source_first), pitch, c->source_w, c->source_h,
                           channels};
    for (int32_t y = 0; y < p.h; y++)
        for (int32_t x = 0; x < p.w; x++)
            for (int32_t i = 0; i < channels; i++)
                stk__pixels_row(p, y)[x * channels + i] = draw_byte(c, x, y, i);
    return p;
}

static size_t image_values(const check_case *c)
{
    return (size_t)c->target.w * (size_t)c->target.h * (size_t)c->target.channels;
}

static size_t value_bytes(stk_dtype dtype)
{
    return (size_t)stk_dtype_bytes(dtype);
}

static stk_status run(check_room *room, const check_case *c, int which, stk__augment_kernel kernel,
                      stk_error *error)
{
    stk__augment_target target = c->target;
    const size_t bytes = value_bytes(target.dtype), area = (size_t)target.w * (size_t)target.h;
    check_output_place(&room->images[which], image_values(c) * bytes, c->image_offset * bytes);
    check_output_place(&room->masks[which], area * value_bytes(target.mask_dtype), 0);
    target.image = room->images[which].data;
    target.mask = c->has_mask ? room->masks[which].data : NULL;
    return kernel(&c->block, &room->source, &target, &room->scratch[which], error);
}

void check_room_prepare(check_room *room, const check_case *c)
{
    check_case drawn = *c;
    room->source.image = draw_pixels(&drawn, &room->image, c->target.channels, c->pitch_slack);
    room->source.mask = (stk__pixels){0};
    drawn.pixels = CHECK_RANDOM;
    if (c->has_mask) room->source.mask = draw_pixels(&drawn, &room->mask, 1, c->mask_slack);
    run(room, c, 0, stk__augment_c, NULL);
}

static uint32_t value_at(const check_output *output, size_t i, size_t bytes)
{
    uint32_t value = 0;
    memcpy(&value, output->data + i * bytes, bytes < 4 ? bytes : 4);
    return value;
}

static double number_of(uint32_t bits, stk_dtype dtype)
{
    float v;
    if (dtype == STK_DTYPE_BF16) bits <<= 16;
    memcpy(&v, &bits, sizeof v);
    return dtype == STK_DTYPE_F16 ? -1 : (double)v; /* halves: the bits have to do */
}

static const char *tell_image(check_room *room, const check_case *c, const contestant *who, char text[512])
{
    const stk__augment_target *const t = &c->target;
    const size_t bytes = value_bytes(t->dtype), values = image_values(c), area = values / (size_t)t->channels;
    size_t first = values, count = 0;
    for (size_t i = 0; i < values; i++) {
        if (value_at(&room->images[0], i, bytes) == value_at(&room->images[1], i, bytes)) continue;
        first = first == values ? i : first;
        count++;
    }
    const size_t pixel = t->planar ? first % area : first / (size_t)t->channels;
    const size_t channel = t->planar ? first / area : first % (size_t)t->channels;
    const uint32_t expected = value_at(&room->images[0], first, bytes);
    const uint32_t found = value_at(&room->images[1], first, bytes);
    snprintf(
        text, 512,
        "%zu of %zu values differ, first at x %zu y %zu channel %zu: reference %.9g (0x%x), %s %.9g (0x%x)",
        count, values, pixel % (size_t)t->w, pixel / (size_t)t->w, channel, number_of(expected, t->dtype),
        expected, who->name, number_of(found, t->dtype), found);
    return text;
}

static const char *tell_mask(check_room *room, const check_case *c, const contestant *who, char text[512])
{
    const size_t bytes = value_bytes(c->target.mask_dtype), w = (size_t)c->target.w;
    size_t i = 0;
    while (memcmp(room->masks[0].data + i * bytes, room->masks[1].data + i * bytes, bytes) == 0)
        i++;
    snprintf(text, 512, "mask differs, first at x %zu y %zu: reference %u, %s %u", i % w, i / w,
             value_at(&room->masks[0], i, bytes), who->name, value_at(&room->masks[1], i, bytes));
    return text;
}

const char *check_room_compare(check_room *room, const check_case *c, const contestant *who, char text[512])
{
    stk_error error = {0};
    if (run(room, c, 1, who->run, &error)) {
        snprintf(text, 512, "did not succeed: %.400s", error.message);
        return text;
    }
    if (!check_output_kept(&room->images[1])) return "wrote beside the image";
    if (!check_output_kept(&room->masks[1])) return "wrote beside the mask";
    if (memcmp(room->images[0].data, room->images[1].data, room->images[0].size_bytes))
        return tell_image(room, c, who, text);
    if (c->has_mask && memcmp(room->masks[0].data, room->masks[1].data, room->masks[0].size_bytes))
        return tell_mask(room, c, who, text);
    return NULL;
}
