/* SPDX-License-Identifier: Apache-2.0 */
/* Periodic noise tiles for textures (grain, clouds, strands, weave): integers only, computed once per
 * process (pthread_once), the same on every machine. */
#include "make/noise.h"

#include "make/dice.h"

#include <pthread.h>

enum { SIDE = STK_NOISE_SIDE, WRAP = STK_NOISE_WRAP, CELLS = SIDE * SIDE };

/* Frozen: another key would change every picture. */
static const uint64_t tile_seed = UINT64_C(0x53746f6b6572);

static int8_t tiles[STK_NOISE_COUNT][CELLS];
static int16_t white[CELLS]; /* -510 … 510, the raw material */

static int8_t to_tile(int32_t value)
{
    return (int8_t)(value > 127 ? 127 : value < -127 ? -127 : value);
}

static void make_white(void)
{
    stk__dice dice = stk__dice_make(tile_seed, 0, STK_OPERATION_MAKE_NOISE);
    for (int i = 0; i < CELLS; i++) {
        const uint32_t word = stk__dice_word(&dice);
        white[i] = (int16_t)((int)(word & 255) + (int)(word >> 8 & 255) + (int)(word >> 16 & 255) +
                             (int)(word >> 24) - 510);
    }
}

/* White noise with a little of its neighbours, as a sensor behind a colour filter gives it. */
static void make_grain(void)
{
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++) {
            const int16_t *row = white + y * SIDE, *below = white + ((y + 1) & WRAP) * SIDE;
            const int right = (x + 1) & WRAP;
            tiles[STK_NOISE_GRAIN][y * SIDE + x] =
                to_tile((6 * row[x] + 3 * row[right] + 3 * below[x] + below[right]) / 32);
        }
}

/* Value noise: random heights on a grid of `period` cells a side, blended by a smooth step in 1/64 pixels. */
static int32_t value_at(int x, int y, int cell, int salt)
{
    const int gx = x / cell, gy = y / cell, cells = SIDE / cell;
    const int fx = (x % cell) * 64 / cell, fy = (y % cell) * 64 / cell;
    const int sx = fx * fx * (192 - 2 * fx) / 4096, sy = fy * fy * (192 - 2 * fy) / 4096;
    const int nx = (gx + 1) % cells, ny = (gy + 1) % cells;
    const int32_t a = white[((gy + salt) & WRAP) * SIDE + gx], b = white[((gy + salt) & WRAP) * SIDE + nx];
    const int32_t c = white[((ny + salt) & WRAP) * SIDE + gx], d = white[((ny + salt) & WRAP) * SIDE + nx];
    return ((a * (64 - sx) + b * sx) * (64 - sy) + (c * (64 - sx) + d * sx) * sy) / 4096;
}

static void make_clouds(void)
{
    static const int weights[] = {20, 14, 9, 6, 4, 3}; /* of cells of 128, 64, … 4 pixels, in 1/64 */
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++) {
            int32_t sum = 0;
            for (int octave = 0; octave < 6; octave++)
                sum += weights[octave] * value_at(x, y, 128 >> octave, octave * 67 + 31);
            tiles[STK_NOISE_CLOUDS][y * SIDE + x] = to_tile(sum / 64);
        }
}

/* Mixes each value with its right neighbour, so that single columns do not flicker. */
static void soften_row(int8_t *row)
{
    const int8_t first = row[0];
    for (int x = 0; x < SIDE; x++)
        row[x] = (int8_t)((5 * row[x] + 3 * (x + 1 < SIDE ? row[x + 1] : first)) / 8);
}

/* A column forgets its brightness slowly, so that neighbours in y are alike; twice around, to be periodic. */
static void make_strands(void)
{
    for (int x = 0; x < SIDE; x++) {
        int32_t slow = 0, slower = 0;
        for (int y = 0; y < 2 * SIDE; y++) {
            const int32_t here = white[(y & WRAP) * SIDE + x] * 16;
            slow += (here - slow) / 16;
            slower += (white[((y + 77) & WRAP) * SIDE + x / 6] * 16 - slower) / 40;
            tiles[STK_NOISE_STRANDS][(y & WRAP) * SIDE + x] = to_tile((slow * 2 + slower * 2) / 32);
        }
    }
    for (int y = 0; y < SIDE; y++)
        soften_row(tiles[STK_NOISE_STRANDS] + y * SIDE);
}

static void make_weave(void)
{
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++) {
            const int over = ((x >> 2) + (y >> 2)) & 1, rib = over ? (x & 3) : (y & 3);
            const int32_t thread = over ? white[(x >> 2) * SIDE] : white[y >> 2];
            tiles[STK_NOISE_WEAVE][y * SIDE + x] =
                to_tile((rib == 0 || rib == 3 ? -36 : 36) + thread / 10 + white[y * SIDE + x] / 12);
        }
}

static void make_all(void)
{
    make_white();
    make_grain();
    make_clouds();
    make_strands();
    make_weave();
}

const int8_t *stk__noise_tile(stk__noise_kind kind)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_all);
    return tiles[kind];
}
