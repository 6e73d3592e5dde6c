/* SPDX-License-Identifier: Apache-2.0 */
/* A library that claims to be oneDNN of the version in FAKE_ONEDNN_MAJOR and has nothing behind it. */
#include <stdlib.h>

typedef struct fake_version {
    int major, minor, patch;
    const char *hash;
    unsigned cpu_runtime, gpu_runtime;
} fake_version;

const fake_version *dnnl_version(void);

__attribute__((visibility("default"))) const fake_version *dnnl_version(void)
{
    static fake_version version = {.minor = 14, .patch = 1, .hash = "none"};
    const char *major = getenv("FAKE_ONEDNN_MAJOR");
    version.major = major ? atoi(major) : 0;
    return &version;
}
