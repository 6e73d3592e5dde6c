/* SPDX-License-Identifier: Apache-2.0 */
/* A folder of the test program's own, readable by all, as group setup and teardown. */
#ifndef TEST_FOLDER_H
#define TEST_FOLDER_H

#include "support/workspace.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static char root[sizeof((workspace *)0)->path];

static int folder_make(void **state)
{
    (void)state;
    const workspace made = workspace_make();
    memcpy(root, made.path, sizeof root);
    return chmod(root, 0755);
}

static int folder_remove(void **state)
{
    (void)state;
    workspace made;
    memcpy(made.path, root, sizeof root);
    workspace_remove(&made);
    return 0;
}

#endif
