/* SPDX-License-Identifier: Apache-2.0 */
/* What files tell: format, channels, size, content. Called by all workers of a loader: a file's digest is
 * taken outside the lock, the sums are added inside. */
#include "session/stats/data_stats.h"

#include <stdio.h>
#include <string.h>

stk_status stk__data_files_begin(void *context, uint64_t sample_count, stk_error *error)
{
    stk__data_stats *stats = context;
    return stk__content_index_open(&stats->content, sample_count, error);
}

/* By name, so that the order does not depend on the workers. */
static void count_format(stk__data_files *files, const char *name)
{
    int at = 0, last = STK_DATA_FORMATS - 1;
    while (at < last && files->formats[at].name && strcmp(files->formats[at].name, name) < 0)
        at++;
    if (!files->formats[at].name || strcmp(files->formats[at].name, name) != 0) {
        memmove(&files->formats[at + 1], &files->formats[at], (size_t)(last - at) * sizeof files->formats[0]);
        files->formats[at].name = name;
        files->formats[at].count = 0;
    }
    files->formats[at].count++;
}

/* Color type 3 in the header of a PNG, which begins with its signature and IHDR. */
static bool has_palette(stk__encoded bytes, const char *format)
{
    enum { COLOR_TYPE_AT = 25, PALETTE = 3 };
    return strcmp(format, "PNG") == 0 && bytes.size_bytes > COLOR_TYPE_AT &&
           bytes.data[COLOR_TYPE_AT] == PALETTE;
}

static void count_file(stk__data_files *files, const stk__observed_file *file)
{
    const stk__picture *picture = file->picture;
    const char *name = stk__format_name(picture->format);
    const stk__format_ops *promised = file->extension ? stk__format_by_extension(file->extension) : NULL;
    files->count++;
    count_format(files, name);
    if (has_palette(file->bytes, name))
        files->palette++;
    else if (picture->channels == 1)
        files->gray++;
    else
        files->rgb++;
    files->deep += picture->depth_bits > 8;
    files->turned += picture->orientation > 1;
    if (promised && promised != picture->format) stk__data_event_add(&files->misnamed, (int64_t)file->id);
}

/* --- sizes ----------------------------------------------------------------------------------------------
 */

static void count_size(stk__data_sizes *sizes, int32_t w, int32_t h)
{
    const uint32_t hash = ((uint32_t)w * 2654435761u) ^ ((uint32_t)h * 2246822519u);
    for (uint32_t at = hash ^ hash >> 15;; at++) {
        stk__data_size *slot = &sizes->slots[at & (STK_DATA_SIZE_SLOTS - 1)];
        if (slot->count && (slot->w != w || slot->h != h)) continue;
        if (!slot->count && sizes->different == STK_DATA_SIZE_SLOTS / 2) break; /* half stays free */
        sizes->different += !slot->count;
        *slot = (stk__data_size){w, h, slot->count + 1};
        return;
    }
    sizes->others++;
}

static void count_sides(stk__data_sizes *sizes, int32_t w, int32_t h)
{
    const int32_t last = STK_DATA_SIDES - 1;
    sizes->w_counts[w < last ? w : last]++;
    sizes->h_counts[h < last ? h : last]++;
    sizes->landscape += w > h;
    sizes->portrait += w < h;
    sizes->square += w == h;
}

static void add_size(stk__data_sizes *sizes, const stk__observed_file *file)
{
    const stk__picture *picture = file->picture;
    const bool swap = stk__orientation_swaps(picture->orientation);
    const int32_t w = swap ? picture->h : picture->w, h = swap ? picture->w : picture->h;
    count_size(sizes, w, h);
    count_sides(sizes, w, h);
    if (w < STK_DATA_TINY_PX || h < STK_DATA_TINY_PX) stk__data_event_add(&sizes->tiny, (int64_t)file->id);
}

void stk__data_files_see(void *context, const stk__observed_file *file)
{
    stk__data_stats *stats = context;
    const bool image = file->field == STK_FIELD_IMAGE;
    const stk__digest digest =
        image ? stk__digest_of(file->bytes.data, file->bytes.size_bytes) : (stk__digest){0};
    pthread_mutex_lock(&stats->lock);
    count_file(&stats->files[file->field], file);
    if (image) {
        add_size(&stats->sizes, file);
        stk__content_index_add(&stats->content, file->id, digest);
    }
    pthread_mutex_unlock(&stats->lock);
}

/* --- questions at the end -------------------------------------------------------------------------------
 */

stk__data_range stk__data_range_of(const uint32_t counts[STK_DATA_SIDES])
{
    stk__data_range range = {0};
    uint64_t total = 0, below = 0;
    for (int32_t side = 0; side < STK_DATA_SIDES; side++) {
        if (counts[side] && !total) range.least = side;
        if (counts[side]) range.most = side;
        total += counts[side];
    }
    for (int32_t side = 0; side < STK_DATA_SIDES && !range.median; side++) {
        below += counts[side];
        if (below && 2 * below >= total) range.median = side;
    }
    return range;
}

static bool is_more(const stk__data_size *a, const stk__data_size *b)
{
    if (a->count != b->count) return a->count > b->count;
    return a->w != b->w ? a->w < b->w : a->h < b->h;
}

int stk__data_sizes_common(const stk__data_sizes *sizes, stk__data_size *list, int most)
{
    int count = 0;
    for (int i = 0; i < STK_DATA_SIZE_SLOTS; i++) {
        const stk__data_size *size = &sizes->slots[i];
        if (!size->count) continue;
        int at = count < most ? count++ : most;
        for (; at > 0 && is_more(size, &list[at - 1]); at--)
            if (at < most) list[at] = list[at - 1];
        if (at < most) list[at] = *size;
    }
    return count;
}
