/* SPDX-License-Identifier: Apache-2.0 */
/* The NVRTCs that are here, in the order in which they fit the driver. */
#ifndef STK_DEVICE_NVRTC_H
#define STK_DEVICE_NVRTC_H

#include "device/cuda/cuda_api.h"

enum { STK_NVRTC_MOST = 8 };

typedef struct stk__nvrtc {
    stk__nvrtc_api api;
    void *library;
    int version; /* 12040 is 12.4, as cuDriverGetVersion counts */
} stk__nvrtc;

/* Those that are not newer than the driver, the newest of them first: it runs whatever they make. Then those
 * that are newer, the oldest first: the driver runs their code, but not their PTX, when the major version is
 * its own. Found once per process, any thread; nothing of it changes after that. *count 0: none is here, and
 * error says where it was looked for. Fails where STOKER_NVRTC_LIBRARY names one that cannot be used; with
 * `none` it is as if there were none. */
stk_status stk__nvrtc_list(const stk__nvrtc **list, int *count, stk_error *error);

bool stk__nvrtc_is_beyond(int version); /* of a newer major version than the driver */

/* Why none of them can be used, as far as versions tell; "" where one may. */
void stk__nvrtc_describe(char *why, size_t why_bytes);

#endif
