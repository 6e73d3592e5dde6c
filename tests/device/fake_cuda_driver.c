/* SPDX-License-Identifier: Apache-2.0 */
/* The fake CUDA driver loaded into the test's own process: its entry points, its script, and the check
 * that nothing is left allocated. */
#include "fake_cuda_driver.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static fake_driver driver;
static bool opened;

static void take(void *library, const char *name, void *member)
{
    void *symbol = dlsym(library, name);
    if (!symbol) {
        fprintf(stderr, "'%s' is not the fake driver: it has no '%s'\n", getenv("STOKER_CUDA_LIBRARY"), name);
        exit(1);
    }
    memcpy(member, &symbol, sizeof symbol);
}

const fake_driver *fake_driver_open(void)
{
    const char *path = getenv("STOKER_CUDA_LIBRARY");
    void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (opened) return &driver;
    if (!library) {
        fprintf(stderr, "STOKER_CUDA_LIBRARY must name the fake driver: %s\n",
                path ? dlerror() : "it is not set");
        exit(1);
    }
#define TAKE(name, parameters) take(library, #name, &driver.cuda.name);
    STK_CUDA_CALLS(TAKE)
#undef TAKE
#define TAKE(name, parameters) take(library, #name, &driver.nvrtc.name);
    STK_NVRTC_CALLS(TAKE)
#undef TAKE
    take(library, "fake_cuda_play", &driver.play);
    take(library, "fake_cuda_add", &driver.add);
    take(library, "fake_cuda_release", &driver.release);
    take(library, "fake_cuda_calls", &driver.calls);
    take(library, "fake_cuda_count", &driver.count);
    take(library, "fake_cuda_misuse", &driver.misuse);
    take(library, "fake_cuda_host", &driver.host);
    opened = true;
    return &driver;
}

void fake_driver_play(const char *format, ...)
{
    char text[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const char *why = fake_driver_open()->play(text);
    if (why) fail_msg("the fake driver does not take its script: %s", why);
}

void fake_driver_add(const char *text)
{
    const char *why = driver.add(text);
    if (why) fail_msg("the fake driver does not take more script: %s", why);
}

void fake_driver_expect_nothing_left(const char *where)
{
    static const char *const words[] = {"device_bytes", "pinned_bytes", "memories", "pinned",   "streams",
                                        "events",       "modules",      "contexts", "programs", "current"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        const int64_t left = driver.count(words[i]);
        if (left) fail_msg("%s: %lld of '%s' left", where, (long long)left, words[i]);
    }
    if (driver.count("misuses")) fail_msg("%s: %s", where, driver.misuse());
}
