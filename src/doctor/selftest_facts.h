/* SPDX-License-Identifier: Apache-2.0 */
/* Versions of everything that takes part in a self-test. */
#ifndef STK_DOCTOR_SELFTEST_FACTS_H
#define STK_DOCTOR_SELFTEST_FACTS_H

#include "doctor/selftest_row.h"

enum { STK_SELFTEST_FACTS = 4 };
typedef struct stk__selftest_fact {
    const char *name;
    char text[160];
} stk__selftest_fact;
/* stoker, driver, NVRTC, PyTorch. */
void stk__selftest_facts(const stk__device_info *gpu, stk__selftest_fact facts[STK_SELFTEST_FACTS]);

/* The version in the first line of /proc/driver/nvidia/version; false: there is none. */
bool stk__selftest_driver_version(const char *line, char *version, size_t size);
/* From the text of torch/version.py: "12.8", "" for None; false: it does not say. */
bool stk__selftest_torch_cuda(const char *text, char *version, size_t size);

#endif
