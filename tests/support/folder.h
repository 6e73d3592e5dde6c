/* A folder of the test's own, and files in it. Everything stops the test when it goes wrong. */
#ifndef FOLDER_H
#define FOLDER_H

typedef struct folder {
    char path[256];
} folder;

folder folder_make(void);
void folder_remove(folder *f);
/* Writes text to a file below; its folders are made. */
void folder_put(const folder *f, const char *name, const char *text);
/* How many entries lie directly in it. */
int folder_count(const folder *f);

#endif
