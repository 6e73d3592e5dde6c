/* SPDX-License-Identifier: Apache-2.0 */
/* A folder of the test's own, and files in it. Everything stops the test when it goes wrong. */
#ifndef WORKSPACE_H
#define WORKSPACE_H

typedef struct workspace {
    char path[256];
} workspace;

workspace workspace_make(void);
void workspace_remove(workspace *f);
/* Writes text to a file below; its folders are made. */
void workspace_put(const workspace *f, const char *name, const char *text);
/* How many entries lie directly in it. */
int workspace_count(const workspace *f);

#endif
