/* SPDX-License-Identifier: Apache-2.0 */
/* A temporary folder of the test's own, and files in it; removed with everything below at the end. */
#include "support/workspace.h"

#include "core/file.h"

#include <dirent.h>
#include <ftw.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

workspace workspace_make(void)
{
    workspace f;
    const char *base = getenv("TMPDIR");
    snprintf(f.path, sizeof f.path, "%s/stoker-test-XXXXXX", base && *base ? base : "/tmp");
    assert_non_null(mkdtemp(f.path));
    return f;
}

static int remove_one(const char *path, const struct stat *facts, int kind, struct FTW *walk)
{
    (void)facts;
    (void)kind;
    (void)walk;
    return remove(path);
}

void workspace_remove(workspace *f)
{
    nftw(f->path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    f->path[0] = '\0';
}

void workspace_put(const workspace *f, const char *name, const char *text)
{
    char path[PATH_MAX];
    stk_error error = {0};
    snprintf(path, sizeof path, "%s/%s", f->path, name);
    *strrchr(path, '/') = '\0';
    assert_int_equal(stk__folder_make(path, &error), STK_OK);
    snprintf(path, sizeof path, "%s/%s", f->path, name);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

int workspace_count(const workspace *f)
{
    int count = 0;
    DIR *entries = opendir(f->path);
    assert_non_null(entries);
    while (readdir(entries))
        count++;
    closedir(entries);
    return count - 2; /* "." and ".." */
}
