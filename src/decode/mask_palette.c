/* SPDX-License-Identifier: Apache-2.0 */
/* Color tables: three that are published with their data sets (written here as the text of a file, so that
 * one parser reads all), a list in the setting itself, or a file. One thread, when a loader opens. */
#include "decode/mask_palette.h"

#include "core/file.h"
#include "core/number.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { IGNORED = 255, FILE_BYTES_MOST = 1 << 16, WORDS_MOST = 16 };

static const struct {
    const char *name, *text;
} published[] = {
    {"voc", "0 0 0 background\n128 0 0 aeroplane\n0 128 0 bicycle\n128 128 0 bird\n0 0 128 boat\n"
            "128 0 128 bottle\n0 128 128 bus\n128 128 128 car\n64 0 0 cat\n192 0 0 chair\n64 128 0 cow\n"
            "192 128 0 diningtable\n64 0 128 dog\n192 0 128 horse\n64 128 128 motorbike\n"
            "192 128 128 person\n0 64 0 pottedplant\n128 64 0 sheep\n0 192 0 sofa\n128 192 0 train\n"
            "0 64 128 tvmonitor\n224 224 192 void\n"},
    {"cityscapes",
     "128 64 128 road\n244 35 232 sidewalk\n70 70 70 building\n102 102 156 wall\n190 153 153 fence\n"
     "153 153 153 pole\n250 170 30 traffic light\n220 220 0 traffic sign\n107 142 35 vegetation\n"
     "152 251 152 terrain\n70 130 180 sky\n220 20 60 person\n255 0 0 rider\n0 0 142 car\n0 0 70 truck\n"
     "0 60 100 bus\n0 80 100 train\n0 0 230 motorcycle\n119 11 32 bicycle\n0 0 0 void\n111 74 0 void\n"
     "81 0 81 void\n250 170 160 void\n230 150 140 void\n180 165 180 void\n150 100 100 void\n"
     "150 120 90 void\n0 0 90 void\n0 0 110 void\n"},
    {"camvid",
     "64 128 64 Animal\n192 0 128 Archway\n0 128 192 Bicyclist\n0 128 64 Bridge\n128 0 0 Building\n"
     "64 0 128 Car\n64 0 192 CartLuggagePram\n192 128 64 Child\n192 192 128 Column_Pole\n"
     "64 64 128 Fence\n128 0 192 LaneMkgsDriv\n192 0 64 LaneMkgsNonDriv\n128 128 64 Misc_Text\n"
     "192 0 192 MotorcycleScooter\n128 64 64 OtherMoving\n64 192 128 ParkingBlock\n64 64 0 Pedestrian\n"
     "128 64 128 Road\n128 128 192 RoadShoulder\n0 0 192 Sidewalk\n192 128 128 SignSymbol\n"
     "128 128 128 Sky\n64 128 192 SUVPickupTruck\n0 0 64 TrafficCone\n0 64 64 TrafficLight\n"
     "192 64 128 Train\n128 128 0 Tree\n192 128 192 Truck_Bus\n64 0 64 Tunnel\n192 192 0 VegetationMisc\n"
     "0 0 0 void\n64 192 0 Wall\n"},
};

enum { PUBLISHED_COUNT = sizeof published / sizeof published[0] };

/* --- files -------------------------------------------------------------------------------------------------
 */

/* What a line says. */
typedef struct entry {
    uint32_t color;
    char name[STK_PALETTE_NAME_BYTES];
} entry;

static bool read_hex(const char *text, size_t length, uint32_t *color)
{
    *color = 0;
    for (size_t i = 0; i < length; i++) {
        if (!isxdigit((unsigned char)text[i])) return false;
        const int digit = tolower((unsigned char)text[i]);
        *color = *color << 4 | (uint32_t)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
    }
    return length == 6;
}

typedef struct words {
    const char *start[WORDS_MOST];
    size_t size[WORDS_MOST];
    int count;
} words;

/* By commas or semicolons if there are any, else by blanks; words beyond the room stay in the last. */
static words split_line(const char *line, size_t length)
{
    words all = {.count = 0};
    const char *separators = memchr(line, ',', length) ? "," : memchr(line, ';', length) ? ";" : " \t";
    for (size_t at = 0; at < length && all.count < WORDS_MOST;) {
        size_t end = at;
        while (end < length && (all.count == WORDS_MOST - 1 || !strchr(separators, line[end])))
            end++;
        size_t first = at, last = end;
        while (first < last && isspace((unsigned char)line[first]))
            first++;
        while (last > first && isspace((unsigned char)line[last - 1]))
            last--;
        if (last > first) {
            all.start[all.count] = line + first;
            all.size[all.count++] = last - first;
        }
        at = end + 1;
    }
    return all;
}

/* Words first … first + 2 as a color. */
static bool read_channels(const words *all, int first, uint32_t *color)
{
    *color = 0;
    if (first < 0 || first + 3 > all->count) return false;
    for (int i = first; i < first + 3; i++) {
        int64_t value;
        if (!stk__number_whole(all->start[i], all->size[i], &value) || value < 0 || value > 255) return false;
        *color = *color << 8 | (uint32_t)value;
    }
    return true;
}

static void join_name(const words *all, int first, int end, char *name)
{
    size_t have = 0;
    name[0] = '\0';
    for (int i = first; i < end && have < STK_PALETTE_NAME_BYTES; i++)
        have += (size_t)snprintf(name + have, STK_PALETTE_NAME_BYTES - have, "%s%.*s", i > first ? " " : "",
                                 (int)all->size[i], all->start[i]);
}

/* CVAT's labelmap.txt: "name:r,g,b:parts:actions". */
static bool read_labelmap(const char *line, size_t length, entry *out)
{
    const char *colon = memchr(line, ':', length);
    if (!colon) return false;
    const char *end = memchr(colon + 1, ':', length - (size_t)(colon + 1 - line));
    const words channels = split_line(colon + 1, (size_t)((end ? end : line + length) - colon - 1));
    if (channels.count != 3 || !read_channels(&channels, 0, &out->color)) return false;
    snprintf(out->name, sizeof out->name, "%.*s", (int)(colon - line), line);
    return true;
}

/* "#rrggbb name", "r g b name" or "name,r,g,b"; false: there is no color in it. */
static bool read_line(const char *line, size_t length, entry *out)
{
    if (read_labelmap(line, length, out)) return true;
    const words all = split_line(line, length);
    if (all.count && all.size[0] == 7 && *all.start[0] == '#' && read_hex(all.start[0] + 1, 6, &out->color)) {
        join_name(&all, 1, all.count, out->name);
        return true;
    }
    if (read_channels(&all, 0, &out->color)) {
        join_name(&all, 3, all.count, out->name);
        return true;
    }
    join_name(&all, 0, all.count - 3, out->name);
    return read_channels(&all, all.count - 3, &out->color);
}

static bool is_ignored(const char *name)
{
    return strcasecmp(name, "void") == 0 || strcasecmp(name, "ignore") == 0;
}

/* The class of that name, or a new one; -1: there are too many. */
static int class_of(stk__mask_palette *palette, const entry *line)
{
    char name[STK_PALETTE_NAME_BYTES];
    if (is_ignored(line->name)) return IGNORED;
    if (line->name[0])
        snprintf(name, sizeof name, "%s", line->name);
    else
        snprintf(name, sizeof name, "#%06x", (unsigned)line->color);
    for (int32_t i = 0; i < palette->class_count; i++)
        if (strcmp(palette->names[i], name) == 0) return i;
    if (palette->class_count == IGNORED) return -1;
    memcpy(palette->names[palette->class_count], name, sizeof name);
    palette->name_list[palette->class_count] = palette->names[palette->class_count];
    return palette->class_count++;
}

static stk_status refuse_line(const char *place, int number, const char *why, stk_error *error)
{
    stk__fail(error, STK_ERROR_CONFIG, "data.mask_colors: line %d %s", number, why);
    stk__error_place(error, "%s", place);
    stk__error_hint(error, "each line is 'r g b name' or '#rrggbb name'");
    return STK_ERROR_CONFIG;
}

/* Empty, a comment, or the names of columns above all colors. */
static bool is_skipped(const stk__mask_palette *palette, const char *line, size_t length, int number)
{
    const size_t blank = strspn(line, " \t\r");
    return blank >= length || line[blank] == '#' || strncmp(line + blank, "//", 2) == 0 ||
           (number == 1 && !palette->colors.count);
}

stk_status stk__mask_palette_parse(stk__mask_palette *palette, const char *text, const char *place,
                                   stk_error *error)
{
    int number = 1;
    for (const char *line = text; *line; number++) {
        const size_t length = strcspn(line, "\n");
        entry found;
        if (read_line(line, length, &found)) {
            const int id = class_of(palette, &found);
            if (id < 0) return refuse_line(place, number, "begins class 256: 255 are possible", error);
            if (stk__mask_colors_add(&palette->colors, found.color, (uint8_t)id) < 0)
                return refuse_line(place, number, "has a color that is there already", error);
        } else if (!is_skipped(palette, line, length, number)) {
            return refuse_line(place, number, "has no color", error);
        }
        line += length + (line[length] == '\n');
    }
    if (palette->class_count) return STK_OK;
    return refuse_line(place, number, "ends the file, and there is no class in it", error);
}

static stk_status read_file(stk__mask_palette *palette, const char *path, stk_error *error)
{
    stk__buffer text = {0};
    stk_status status = stk__file_read(path, FILE_BYTES_MOST, &text, error);
    if (status == STK_OK) /* 64 zeros follow */
        status = stk__mask_palette_parse(palette, (const char *)text.data, path, error);
    else if (status == STK_ERROR_SAMPLE) {
        const stk_error why = *error;
        status = stk__fail(error, STK_ERROR_CONFIG, "data.mask_colors: %.300s", why.message);
        stk__error_place(error, "%s", path);
        stk__error_hint(error, "name a file of lines 'r g b name', or voc, cityscapes, camvid or auto");
    }
    stk__buffer_fini(&text);
    return status;
}

/* --- the setting -------------------------------------------------------------------------------------------
 */

/* "rrggbb:id,…"; false: it is no such list. */
static bool read_list(stk__mask_palette *palette, const char *text)
{
    for (const char *at = text; *at;) {
        const size_t length = strcspn(at, ",");
        uint32_t color;
        int64_t id = -1;
        if (length < 8 || at[6] != ':' || !read_hex(at, 6, &color) ||
            !stk__number_whole(at + 7, length - 7, &id) || id < 0 || id > IGNORED ||
            stk__mask_colors_add(&palette->colors, color, (uint8_t)id) < 0)
            return false;
        if (id != IGNORED && id >= palette->class_count) palette->class_count = (int32_t)id + 1;
        at += length + (at[length] == ',');
    }
    for (int32_t i = 0; i < palette->class_count; i++)
        palette->name_list[i] = palette->names[i];
    for (int32_t i = palette->colors.count; i-- > 0;) /* the first color names its class */
        if (palette->colors.id[i] != IGNORED)
            snprintf(palette->names[palette->colors.id[i]], STK_PALETTE_NAME_BYTES, "#%06x",
                     (unsigned)palette->colors.color[i]);
    return palette->class_count > 0;
}

stk_status stk__mask_palette_read(stk__mask_palette *palette, const char *text, stk_error *error)
{
    for (int i = 0; i < PUBLISHED_COUNT; i++)
        if (strcmp(text, published[i].name) == 0)
            return stk__mask_palette_parse(palette, published[i].text, text, error);
    if (strlen(text) > 7 && text[6] == ':' && read_list(palette, text)) return STK_OK;
    *palette = (stk__mask_palette){.class_count = 0};
    return read_file(palette, text, error);
}

/* Black and red are in every table. */
enum { GUESS_LEAST = 3, LEVELS = 4 };

static bool has_all(const stk__mask_colors *known, const uint32_t *colors, int32_t count)
{
    int32_t found = 0;
    while (found < count && stk__mask_colors_find(known, colors[found]) >= 0)
        found++;
    return found == count;
}

const char *stk__mask_palette_guess(const uint32_t *colors, int32_t count, int *from)
{
    for (; *from < PUBLISHED_COUNT && count >= GUESS_LEAST; ++*from) {
        stk__mask_colors known = {0};
        for (const char *line = published[*from].text; *line; line += strcspn(line, "\n") + 1) {
            entry one;
            if (read_line(line, strcspn(line, "\n"), &one)) stk__mask_colors_add(&known, one.color, 0);
        }
        if (has_all(&known, colors, count)) return published[(*from)++].name;
    }
    return NULL;
}

static bool file_has_all(const char *path, const uint32_t *colors, int32_t count)
{
    stk__buffer text = {0};
    stk__mask_palette *palette = stk__alloc(sizeof *palette);
    const bool all = palette && stk__file_read(path, FILE_BYTES_MOST, &text, NULL) == STK_OK &&
                     stk__mask_palette_parse(palette, (const char *)text.data, path, NULL) == STK_OK &&
                     has_all(&palette->colors, colors, count);
    stk__buffer_fini(&text);
    stk__free(palette);
    return all;
}

bool stk__mask_palette_find(const char *mask, const uint32_t *colors, int32_t count, char *path, size_t size)
{
    static const char *const names[] = {"labelmap.txt",     "class_dict.csv", "label_class_dict.csv",
                                        "label_colors.txt", "classes.csv",    "class_dict_seg.csv",
                                        "CLASSES.csv",      "color_map.txt",  "colormap.txt"};
    size_t length = strlen(mask);
    for (int level = 0; level < LEVELS && length; level++) {
        while (length && mask[length - 1] != '/')
            length--;
        for (size_t i = 0; length && i < sizeof names / sizeof names[0]; i++) {
            const int written = snprintf(path, size, "%.*s%s", (int)length, mask, names[i]);
            if (written > 0 && (size_t)written < size && file_has_all(path, colors, count)) return true;
        }
        length -= length != 0;
    }
    return false;
}
