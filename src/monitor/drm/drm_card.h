/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs as DRM cards in sysfs: /sys/class/drm/cardN, its hwmon sensors, its PCI slot. */
#ifndef STK_MONITOR_DRM_CARD_H
#define STK_MONITOR_DRM_CARD_H

#include "monitor/gpu_reader.h"

typedef struct stk__drm_card {
    int number;       /* N of cardN */
    char root[512];   /* of the made-up tree of a test; else empty */
    char folder[600]; /* …/sys/class/drm/cardN */
    char hwmon[700];  /* …/device/hwmon/hwmonK; empty: it has no sensors */
    char driver[16], slot[24];
    stk_gpu facts;
} stk__drm_card;

/* Where /sys and /proc are: STOKER_MONITOR_ROOT of tests, else "". */
const char *stk__drm_root(void);

/* Cards with one of the drivers (which ends with NULL), in their order; facts are filled. Returns how many.
 */
int stk__drm_find(const char *vendor, const char *const *drivers, stk__drm_card *cards, int most);

bool stk__drm_is_there(const stk__drm_card *card);
/* Runtime suspended: reading its sensors would wake it. */
bool stk__drm_sleeps(const stk__drm_card *card);

/* Text of a small file without its line break. False: errno has the reason. */
bool stk__drm_text(char *text, size_t size, const char *format, ...) STK__PRINTF(3, 4);
/* The number at the beginning of a file. STK_UNSUPPORTED: no such file; STK_UNKNOWN: no value now. */
stk_known stk__drm_number(double *number, const char *format, ...) STK__PRINTF(2, 3);

/* A metric from a file: number x scale, valid from least to most. */
typedef struct stk__drm_source {
    stk_metric metric;
    bool sensor;      /* below hwmon, else below the card's folder */
    const char *name; /* "device/gpu_busy_percent" */
    double scale, least, most;
} stk__drm_source;

/* All sources in order; later ones of a metric are fallbacks for earlier ones without a value. */
void stk__drm_read_sources(stk__poller_context *context, const stk__drm_card *card,
                           const stk__drm_source *sources, int count, stk_gpu_frame *frame);
/* PCIe link generation and width, current and maximum. */
void stk__drm_read_link(const stk__drm_card *card, uint64_t now_ns, stk_gpu_frame *frame);
/* Marks every metric that is still unknown as unsupported. */
void stk__drm_finish(stk_gpu_frame *frame);

#endif
