/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries that pip installs are found from where a wheel puts this library and the program; argv[1]: any
 * library that can be opened. */
#include "engine/onednn/onednn_beside.h"
#include "support/workspace.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static const char *some_library;

static void link_library(const workspace *f, const char *name)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", f->path, name);
    assert_int_equal(symlink(some_library, path), 0);
}

static void expect(const workspace *f, const char *own, const char *file, const char *where)
{
    char from[PATH_MAX], path[PATH_MAX], wanted[PATH_MAX];
    snprintf(from, sizeof from, "%s/%s", f->path, own);
    snprintf(wanted, sizeof wanted, "%s/%s", f->path, where);
    assert_int_equal(stk__onednn_open_above(from, file, path, sizeof path) != NULL, *where != '\0');
    assert_string_equal(path, *where ? wanted : "");
}

static void libraries_of_an_environment_are_found(void **state)
{
    (void)state;
    static const char package[] = "lib/python3.11/site-packages/stoker/";
    const workspace f = workspace_make();
    char module[256], program[256], openmp[256];
    snprintf(module, sizeof module, "%s_stoker.abi3.so", package);
    snprintf(program, sizeof program, "%sbin/stoker", package);
    snprintf(openmp, sizeof openmp, "%slib/libgomp.so.1", package);
    workspace_put(&f, module, "");
    workspace_put(&f, program, "");
    workspace_put(&f, "bin/stoker", "");
    expect(&f, module, "libdnnl.so.2", "");
    link_library(&f, "lib/libdnnl.so.2");
    expect(&f, module, "libdnnl.so.2", "lib/libdnnl.so.2");
    expect(&f, program, "libdnnl.so.2", "lib/libdnnl.so.2");
    expect(&f, "bin/stoker", "libdnnl.so.2", "lib/libdnnl.so.2");
    expect(&f, "bin/nothing", "libdnnl.so.2", "");
    workspace_put(&f, openmp, "this is no library"); /* what cannot be opened is passed over */
    expect(&f, program, "libgomp.so.1", "");
    link_library(&f, "lib/libgomp.so.1");
    expect(&f, program, "libgomp.so.1", "lib/libgomp.so.1");
    workspace_remove((workspace *)&f);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(libraries_of_an_environment_are_found)};
    if (argc < 2) return 1;
    some_library = realpath(argv[1], NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
