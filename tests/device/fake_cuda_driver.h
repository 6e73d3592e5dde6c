/* SPDX-License-Identifier: Apache-2.0 */
/* The fake CUDA driver in the test's own process: its tables of calls and its knobs. */
#ifndef TEST_FAKE_CUDA_DRIVER_H
#define TEST_FAKE_CUDA_DRIVER_H

#include "device/cuda/cuda_api.h"

typedef struct fake_driver {
    stk__cuda_api cuda;
    stk__nvrtc_api nvrtc;
    const char *(*play)(const char *text), *(*add)(const char *text);
    void (*release)(void);
    long (*calls)(const char *call, int gpu);
    int64_t (*count)(const char *what);
    const char *(*misuse)(void);
    void *(*host)(uint64_t address);
} fake_driver;

/* The library that STOKER_CUDA_LIBRARY names; ends the program when it is not the fake. */
const fake_driver *fake_driver_open(void);

void fake_driver_play(const char *format, ...) __attribute__((format(printf, 1, 2)));

void fake_driver_add(const char *text); /* to what is played */

/* Fails the test when the program under test holds anything of the driver, or has misused it. where: in
 * words. */
void fake_driver_expect_nothing_left(const char *where);

#endif
