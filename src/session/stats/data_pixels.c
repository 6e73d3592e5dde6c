/* SPDX-License-Identifier: Apache-2.0 */
/* What decoded pixels tell: sums for mean and standard deviation (which data_stats.c computes of them),
 * images of one color, ids of masks. Called by all workers of a loader: each adds up its sample alone, then
 * adds the sums to the totals under the lock. */
#include "session/stats/data_stats.h"

/* Of one image. */
typedef struct pixel_sums {
    uint64_t pixels, sum[3], squares[3];
    bool constant;
} pixel_sums;

static pixel_sums sum_image(stk__pixels image)
{
    pixel_sums sums = {.pixels = (uint64_t)image.w * (uint64_t)image.h};
    for (int32_t y = 0; y < image.h; y++) {
        const uint8_t *row = stk__pixels_row(image, y);
        for (int32_t x = 0; x < image.w; x++)
            for (int32_t c = 0; c < image.channels; c++) {
                const uint32_t v = row[x * image.channels + c];
                sums.sum[c] += v;
                sums.squares[c] += v * v;
            }
    }
    sums.constant = sums.pixels > 0;
    for (int32_t c = 0; c < image.channels && sums.constant; c++) {
        const uint64_t level = image.data[c]; /* all pixels have it when both sums are those of it */
        sums.constant = sums.sum[c] == level * sums.pixels && sums.squares[c] == level * level * sums.pixels;
    }
    return sums;
}

static void count_ids(stk__pixels mask, uint64_t ids[STK_DATA_IDS])
{
    uint32_t counts[4][STK_DATA_IDS] = {{0}}; /* four tables: equal neighbors do not wait for each other */
    for (int32_t y = 0; y < mask.h; y++) {
        const uint8_t *row = stk__pixels_row(mask, y);
        for (int32_t x = 0; x < mask.w; x++)
            counts[x & 3][row[x]]++;
    }
    for (int id = 0; id < STK_DATA_IDS; id++)
        ids[id] = (uint64_t)counts[0][id] + counts[1][id] + counts[2][id] + counts[3][id];
}

/* (lock) */
static void add_mask(stk__data_stats *stats, const uint64_t ids[STK_DATA_IDS], int64_t sample)
{
    bool has_class = false;
    for (int id = 0; id < STK_DATA_IDS; id++) {
        stats->mask_pixels[id] += ids[id];
        stats->mask_samples[id] += ids[id] > 0;
        has_class |= ids[id] && id > 0 && id < STK_DATA_IGNORED;
    }
    stats->masks++;
    stats->beside_ignored += has_class && ids[STK_DATA_IGNORED];
    if (!has_class) stk__data_event_add(&stats->no_class, sample);
    if (!has_class && !ids[STK_DATA_IGNORED]) stk__data_event_add(&stats->all_zero, sample);
}

void stk__data_pixels_see(void *context, uint64_t id, stk__pixels image, stk__pixels mask)
{
    stk__data_stats *stats = context;
    uint64_t ids[STK_DATA_IDS];
    const pixel_sums sums = sum_image(image);
    if (mask.data) count_ids(mask, ids);
    pthread_mutex_lock(&stats->lock);
    for (int32_t c = 0; c < image.channels; c++) {
        stats->sum[c] += sums.sum[c];
        stats->squares[c] += sums.squares[c];
        stats->pixels[c] += sums.pixels;
    }
    if (sums.constant) stk__data_event_add(&stats->constant, (int64_t)id);
    if (mask.data) add_mask(stats, ids, (int64_t)id);
    pthread_mutex_unlock(&stats->lock);
}
