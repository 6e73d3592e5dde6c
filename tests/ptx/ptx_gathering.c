/* SPDX-License-Identifier: Apache-2.0 */
/* Axes lie in memory in any order, with gaps, some of them backwards. Bytes are those of the plain loops of
 * pixel_rows.c, value by value. */
#include "ptx/ptx_gathering.h"

#include "augmenter/pixel_rows.h"
#include "core/random.h"

#include <math.h>
#include <string.h>

enum { RUBBISH = 0xA5, MOST_GAP = 3, AXES = 3 };

/* Draws of one trial, one after the other. */
typedef struct dice {
    uint64_t seed;
    uint32_t draw;
} dice;

static uint32_t throw_dice(dice *d, uint32_t sides)
{
    return stk__random_draw((stk__random_at){.seed = d->seed, .draw = d->draw++}).word[0] % sides;
}

static int64_t size_of(int32_t kind)
{
    return kind == STK_KERNEL_VALUES_F32 ? 4 : kind == STK_KERNEL_VALUES_I64 ? 8 : 1;
}

/* A float or an id that is a pixel, or one of those that are not; as the bytes of the kind. */
static void draw_value(dice *d, int32_t kind, bool wrong, uint8_t *to)
{
    static const float odd[] = {-0.0f,        0,          1, 1 + STK_PIXEL_ROUNDING, 1 / 255.0f, 0.5f / 255,
                                254.5f / 255, 0.99999994f},
                       bad[] = {1 + 1.125f * STK_PIXEL_ROUNDING, -1e-30f, NAN, INFINITY, -INFINITY, 255};
    static const int64_t bad_ids[] = {256, -1, INT64_C(1) << 32, INT64_MIN};
    const uint32_t word = throw_dice(d, UINT32_MAX);
    const float level = wrong           ? bad[word % 6]
                        : word % 4 == 0 ? odd[(word >> 8) % 8]
                        : word % 4 == 1 ? (float)(word >> 8 & 255) / 255
                                        : stk__random_unit(word);
    const int64_t id = wrong ? bad_ids[word % 4] : (int64_t)(word >> 8 & 255);
    const uint8_t byte = (uint8_t)(word >> 8);
    if (kind == STK_KERNEL_VALUES_F32) memcpy(to, &level, sizeof level);
    if (kind == STK_KERNEL_VALUES_I64) memcpy(to, &id, sizeof id);
    if (kind == STK_KERNEL_VALUES_U8) *to = byte;
}

/* Strides of the axes row, pixel, channel, and room in the buffer for all values and gaps. */
static stk_status lay_out(dice *d, stk__kernel_values *v, const int32_t lengths[AXES], stk__buffer *room,
                          stk_error *error)
{
    static const uint8_t orders[][AXES] = {{2, 1, 0}, {1, 0, 2}, {0, 1, 2}, {2, 0, 1}, {1, 2, 0}, {0, 2, 1}};
    const uint32_t which = throw_dice(d, 10); /* the first two are those of NHWC and NCHW */
    const uint8_t *order = orders[which < 6 ? which : which % 2];
    int64_t *const strides[AXES] = {&v->row_bytes, &v->pixel_bytes, &v->channel_bytes};
    int64_t extent = size_of(v->kind), first = 0;
    for (int i = 0; i < AXES; i++) {
        const int axis = order[i];
        const bool backwards = throw_dice(d, 6) == 0;
        const int64_t stride =
            extent + (throw_dice(d, 3) == 0 ? throw_dice(d, MOST_GAP + 1) * size_of(v->kind) : 0);
        extent = stride * (lengths[axis] - 1) + extent;
        *strides[axis] = backwards ? -stride : stride;
        if (backwards) first += stride * (lengths[axis] - 1);
    }
    const size_t at = (room->size_bytes + 7) / 8 * 8;
    STK__TRY(stk__buffer_reserve(room, at + (size_t)extent, error));
    memset(room->data + room->size_bytes, RUBBISH, at + (size_t)extent - room->size_bytes);
    room->size_bytes = at + (size_t)extent;
    v->from =
        (const unsigned char *)(uintptr_t)(at + (size_t)first); /* an offset until the buffer grows no more */
    return STK_OK;
}

/* The byte of a value, by the reference; false: it has none. */
static bool make_byte(const uint8_t *from, int32_t kind, uint8_t *to)
{
    const stk__pixel_rows *rows = stk__pixel_rows_at(STK_CPU_C);
    float level;
    int64_t id;
    if (kind == STK_KERNEL_VALUES_F32) return memcpy(&level, from, sizeof level), rows->levels(&level, to, 1);
    if (kind == STK_KERNEL_VALUES_I64) return memcpy(&id, from, sizeof id), rows->ids(&id, to, 1);
    *to = *from;
    return true;
}

static void fill(dice *d, const ptx_gather_trial *trial, const stk__kernel_gather *source,
                 const stk__kernel_values *v, bool wrong_ones, uint32_t *wrong)
{
    const bool swaps = v == &source->mask && source->swaps;
    uint8_t *to = trial->expected.data + v->to;
    uint32_t number = 0;
    *wrong = UINT32_MAX;
    for (int32_t y = 0; y < source->h; y++)
        for (int32_t x = 0; x < source->w; x++)
            for (int32_t c = 0; c < v->channels; c++, number++) {
                uint8_t *at = (uint8_t *)(uintptr_t)v->from + y * v->row_bytes + x * v->pixel_bytes +
                              c * v->channel_bytes;
                draw_value(d, v->kind, wrong_ones && throw_dice(d, 100) == 0, at);
                const bool good = make_byte(at, v->kind, &to[number]);
                if (!good) to[number] = 0;
                if (!good && number < *wrong) *wrong = number;
                if (swaps) to[number] = trial->table[to[number]];
            }
}

static stk_status place(dice *d, ptx_gather_trial *trial, stk__kernel_gather *source, uint32_t side_px,
                        stk_error *error)
{
    static const int32_t mask_kinds[] = {STK_KERNEL_VALUES_U8, STK_KERNEL_VALUES_I64};
    const int32_t channels = throw_dice(d, 2) ? 3 : 1;
    const bool masks = throw_dice(d, 3) > 0;
    source->w = (int32_t)(throw_dice(d, 5) ? 1 + throw_dice(d, side_px) : 1);
    source->h = (int32_t)(throw_dice(d, 5) ? 1 + throw_dice(d, side_px) : 1);
    source->swaps = throw_dice(d, 2) != 0;
    source->image = (stk__kernel_values){
        .channels = channels, .kind = throw_dice(d, 2) ? STK_KERNEL_VALUES_F32 : STK_KERNEL_VALUES_U8};
    STK__TRY(lay_out(d, &source->image, (int32_t[]){source->h, source->w, channels}, &trial->images, error));
    const size_t area = (size_t)source->w * (size_t)source->h;
    source->image.to = trial->arena_bytes + throw_dice(d, 9);
    trial->arena_bytes = (size_t)source->image.to + area * (size_t)channels;
    if (!masks) return STK_OK;
    source->mask = (stk__kernel_values){.channels = 1, .kind = mask_kinds[throw_dice(d, 2)]};
    STK__TRY(lay_out(d, &source->mask, (int32_t[]){source->h, source->w, 1}, &trial->masks, error));
    source->mask.to = trial->arena_bytes + throw_dice(d, 9);
    trial->arena_bytes = (size_t)source->mask.to + area;
    return STK_OK;
}

static stk_status make_arenas(ptx_gather_trial *trial, stk_error *error)
{
    const size_t bytes = trial->arena_bytes;
    trial->arena.size_bytes = trial->expected.size_bytes = 0;
    STK__TRY(stk__buffer_reserve(&trial->arena, bytes, error));
    STK__TRY(stk__buffer_reserve(&trial->expected, bytes, error));
    trial->arena.size_bytes = trial->expected.size_bytes = bytes;
    memset(trial->arena.data, RUBBISH, bytes);
    memset(trial->expected.data, RUBBISH, bytes);
    memset(trial->wrong, 0xff, sizeof trial->wrong);
    return STK_OK;
}

stk_status ptx_gather_trial_make(ptx_gather_trial *trial, uint64_t seed, uint32_t side_px, stk_error *error)
{
    dice d = {.seed = seed};
    const uint32_t count = 1 + throw_dice(&d, PTX_MOST_GATHERED);
    trial->images.size_bytes = trial->masks.size_bytes = trial->arena_bytes = 0;
    memset(trial->sources, 0, sizeof trial->sources);
    for (int i = 0; i < 256; i++)
        trial->table[i] = (uint8_t)(i ^ 21);
    for (uint32_t i = 0; i < count; i++)
        STK__TRY(place(&d, trial, &trial->sources[i], side_px, error));
    STK__TRY(make_arenas(trial, error));
    for (uint32_t i = 0; i < count; i++) {
        stk__kernel_gather *source = &trial->sources[i];
        source->image.from = trial->images.data + (uintptr_t)source->image.from;
        fill(&d, trial, source, &source->image, seed % 4 == 3, &trial->expected_wrong[2 * i]);
        trial->expected_wrong[2 * i + 1] = UINT32_MAX;
        if (!source->mask.channels) continue;
        source->mask.from = trial->masks.data + (uintptr_t)source->mask.from;
        fill(&d, trial, source, &source->mask, seed % 4 == 3, &trial->expected_wrong[2 * i + 1]);
    }
    trial->gathering = (ptx_gathering){trial->sources, count,         &trial->images, &trial->masks,
                                       trial->table,   &trial->arena, trial->wrong};
    return STK_OK;
}

void ptx_gather_trial_fini(ptx_gather_trial *trial)
{
    stk__buffer_fini(&trial->images);
    stk__buffer_fini(&trial->masks);
    stk__buffer_fini(&trial->arena);
    stk__buffer_fini(&trial->expected);
    *trial = (ptx_gather_trial){0};
}

bool ptx_gather_trial_matches(const ptx_gather_trial *trial)
{
    return memcmp(trial->wrong, trial->expected_wrong, 2 * trial->gathering.count * sizeof *trial->wrong) ==
               0 &&
           memcmp(trial->arena.data, trial->expected.data, trial->arena.size_bytes) == 0;
}
