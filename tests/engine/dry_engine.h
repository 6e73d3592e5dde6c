/* SPDX-License-Identifier: Apache-2.0 */
/* The engine torch on PyTorch's own CUDA library, which computes nothing (tests/fake/cudart/assemble.py
 * starts such tests), and what it asks of a GPU. */
#ifndef TESTS_ENGINE_DRY_ENGINE_H
#define TESTS_ENGINE_DRY_ENGINE_H

#include "fake/cudart/dry.h"
#include "engine/engine.h"
#include "op_rig.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { DRY_SKIPPED = 77 };

static stk__engine *dry_engine;
static dry_read_function *dry_engine_counts;

/* 0, or the status for main. */
static inline int dry_engine_open(const char *device)
{
    stk_error error = {0};
    const char *path = getenv("STOKER_DRY_LIBRARY");
    if (!path) {
        fprintf(stderr, "skipped: not on the dry CUDA (tests/fake/cudart/assemble.py starts it)\n");
        return DRY_SKIPPED;
    }
    const stk__engine_options options = {.name = "torch", .device = device, .threads = 1};
    if (stk__engine_open(&dry_engine, &options, &error) != STK_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL),
         *symbol = library ? dlsym(library, "dry_read") : NULL;
    memcpy(&dry_engine_counts, &symbol, sizeof symbol);
    return symbol ? 0 : 1;
}

#endif
