/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs by the kernel's files (/sys/class/drm): finding the cards of a vendor, their hwmon sensors, PCIe
 * link and power state. What is not there stays unknown. */
#include "monitor/drm/drm_card.h"

#include "core/number.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

const char *stk__drm_root(void)
{
    const char *root = getenv("STOKER_MONITOR_ROOT");
    return root ? root : "";
}

static bool read_text(const char *path, char *text, size_t size)
{
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return false;
    const ssize_t got = read(file, text, size - 1);
    const int failed = errno;
    close(file);
    errno = failed;
    if (got < 0) return false;
    text[got] = '\0';
    if (got && text[got - 1] == '\n') text[got - 1] = '\0';
    return true;
}

bool stk__drm_text(char *text, size_t size, const char *format, ...)
{
    char path[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(path, sizeof path, format, arguments);
    va_end(arguments);
    return read_text(path, text, size);
}

stk_known stk__drm_number(double *number, const char *format, ...)
{
    char path[1024], text[64];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(path, sizeof path, format, arguments);
    va_end(arguments);
    if (!read_text(path, text, sizeof text))
        return errno == ENOENT || errno == ENOTDIR || errno == EOPNOTSUPP || errno == EINVAL ? STK_UNSUPPORTED
                                                                                             : STK_UNKNOWN;
    return stk__number_real(text, strspn(text, "+-.0123456789"), number) ? STK_KNOWN : STK_UNKNOWN;
}

/* The value of KEY=value in uevent; "": no such key. */
static void find_fact(const char *uevent, const char *key, char *value, size_t size)
{
    const size_t length = strlen(key);
    value[0] = '\0';
    for (const char *line = uevent; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, length) == 0 && line[length] == '=') {
            snprintf(value, size, "%.*s", (int)strcspn(line + length + 1, "\n"), line + length + 1);
            return;
        }
    }
}

static void find_sensors(stk__drm_card *card)
{
    char path[700];
    snprintf(path, sizeof path, "%s/device/hwmon", card->folder);
    DIR *folder = opendir(path);
    if (!folder) return;
    for (const struct dirent *entry; (entry = readdir(folder));)
        if (strncmp(entry->d_name, "hwmon", 5) == 0)
            snprintf(card->hwmon, sizeof card->hwmon, "%s/device/hwmon/%.60s", card->folder, entry->d_name);
    closedir(folder);
}

static bool fill_card(stk__drm_card *card, const char *vendor, const char *const *drivers)
{
    char uevent[1024], id[24];
    if (!stk__drm_text(uevent, sizeof uevent, "%s/device/uevent", card->folder)) return false;
    find_fact(uevent, "DRIVER", card->driver, sizeof card->driver);
    find_fact(uevent, "PCI_SLOT_NAME", card->slot, sizeof card->slot);
    find_fact(uevent, "PCI_ID", id, sizeof id);
    while (*drivers && strcmp(*drivers, card->driver) != 0)
        drivers++;
    if (!*drivers) return false;
    find_sensors(card);
    snprintf(card->facts.vendor, sizeof card->facts.vendor, "%s", vendor);
    snprintf(card->facts.id, sizeof card->facts.id, "%s", card->slot);
    if (!stk__drm_text(card->facts.name, sizeof card->facts.name, "%s/device/product_name", card->folder) ||
        !card->facts.name[0])
        snprintf(card->facts.name, sizeof card->facts.name, "%s GPU %s",
                 strcmp(vendor, "amd") == 0 ? "AMD" : "Intel", id);
    return true;
}

static int compare_cards(const void *a, const void *b)
{
    return ((const stk__drm_card *)a)->number - ((const stk__drm_card *)b)->number;
}

int stk__drm_find(const char *vendor, const char *const *drivers, stk__drm_card *cards, int most)
{
    char path[600];
    int count = 0;
    snprintf(path, sizeof path, "%.500s/sys/class/drm", stk__drm_root());
    DIR *folder = opendir(path);
    if (!folder) return 0;
    for (const struct dirent *entry; count < most && (entry = readdir(folder));) {
        int64_t number;
        const char *digits = entry->d_name + 4;
        if (strncmp(entry->d_name, "card", 4) != 0 || !stk__number_whole(digits, strlen(digits), &number))
            continue; /* card0-DP-1 is a connector of card0 */
        stk__drm_card *card = &cards[count];
        *card = (stk__drm_card){.number = (int)number};
        snprintf(card->root, sizeof card->root, "%.500s", stk__drm_root());
        snprintf(card->folder, sizeof card->folder, "%.560s/%.32s", path, entry->d_name);
        count += fill_card(card, vendor, drivers);
    }
    closedir(folder);
    qsort(cards, (size_t)count, sizeof *cards, compare_cards);
    for (int i = 0; i < count; i++)
        cards[i].facts.index = i;
    return count;
}

bool stk__drm_is_there(const stk__drm_card *card)
{
    char path[700];
    snprintf(path, sizeof path, "%s/device/uevent", card->folder);
    return access(path, R_OK) == 0;
}

bool stk__drm_sleeps(const stk__drm_card *card)
{
    char text[32];
    return stk__drm_text(text, sizeof text, "%s/device/power/runtime_status", card->folder) &&
           strcmp(text, "suspended") == 0;
}

void stk__drm_read_sources(stk__poller_context *context, const stk__drm_card *card,
                           const stk__drm_source *sources, int count, stk_gpu_frame *frame)
{
    for (int i = 0; i < count; i++) {
        const stk__drm_source *s = &sources[i];
        stk_reading *reading = &frame->readings[s->metric];
        double number;
        if (reading->known == STK_KNOWN || (s->sensor && !card->hwmon[0])) continue;
        stk__poller_context_beat(context);
        const stk_known known =
            stk__drm_number(&number, "%s/%s", s->sensor ? card->hwmon : card->folder, s->name);
        if (known == STK_KNOWN && number * s->scale >= s->least && number * s->scale <= s->most)
            *reading = stk__reading_known(number * s->scale, stk__clock_ns());
        else if (known != STK_UNSUPPORTED)
            reading->when_ns = 1; /* the file exists without a value: it stays unknown (stk__drm_finish) */
    }
}

static double generation_of(double transfers)
{
    static const double speeds[] = {2.5, 5, 8, 16, 32, 64, 128};
    for (int i = 0; i < 7; i++)
        if (fabs(transfers - speeds[i]) < 0.01) return i + 1;
    return 0;
}

static void read_speed(const stk__drm_card *card, const char *name, stk_reading *reading, uint64_t now_ns)
{
    double transfers;
    if (stk__drm_number(&transfers, "%s/device/%s_link_speed", card->folder, name) == STK_KNOWN &&
        generation_of(transfers) > 0)
        *reading = stk__reading_known(generation_of(transfers), now_ns);
}

static void read_width(const stk__drm_card *card, const char *name, stk_reading *reading, uint64_t now_ns)
{
    double lanes;
    if (stk__drm_number(&lanes, "%s/device/%s_link_width", card->folder, name) == STK_KNOWN && lanes >= 1 &&
        lanes <= 64) /* 255: there is no link */
        *reading = stk__reading_known(lanes, now_ns);
}

void stk__drm_read_link(const stk__drm_card *card, uint64_t now_ns, stk_gpu_frame *frame)
{
    stk_reading *readings = frame->readings;
    read_speed(card, "current", &readings[STK_METRIC_LINK_GENERATION], now_ns);
    read_speed(card, "max", &readings[STK_METRIC_LINK_GENERATION_MAX], now_ns);
    read_width(card, "current", &readings[STK_METRIC_LINK_WIDTH], now_ns);
    read_width(card, "max", &readings[STK_METRIC_LINK_WIDTH_MAX], now_ns);
}

void stk__drm_finish(stk_gpu_frame *frame)
{
    for (int i = 0; i < STK_METRIC_COUNT; i++) {
        stk_reading *reading = &frame->readings[i];
        if (reading->known == STK_UNKNOWN && !reading->when_ns) reading->known = STK_UNSUPPORTED;
        if (reading->known != STK_KNOWN) reading->when_ns = 0;
    }
}
