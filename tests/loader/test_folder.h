/* A folder of the test program's own, readable by all, as group setup and teardown. */
#ifndef TEST_FOLDER_H
#define TEST_FOLDER_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static char root[64];

static int folder_make(void **state)
{
    (void)state;
    snprintf(root, sizeof root, "/tmp/stoker-test-XXXXXX");
    return mkdtemp(root) && chmod(root, 0755) == 0 ? 0 : -1;
}

static int folder_remove_one(const char *path, const struct stat *facts, int kind, struct FTW *depth)
{
    (void)facts;
    (void)kind;
    (void)depth;
    return remove(path);
}

static int folder_remove(void **state)
{
    (void)state;
    return nftw(root, folder_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

#endif
