/* SPDX-License-Identifier: Apache-2.0 */
/* On what kind of storage the files lie that a process reads. */
#ifndef STK_DOCTOR_STORAGE_KIND_H
#define STK_DOCTOR_STORAGE_KIND_H

#include "doctor/evidence.h"

enum { STK_STORAGE_KINDS = 8 };

/* {0} at first. */
typedef struct stk__storage_tally {
    struct {
        char name[STK_DOCTOR_TEXT];
        uint64_t files;
    } kinds[STK_STORAGE_KINDS];
    int count;
} stk__storage_tally;

/* Counts the files that the process has open for reading now; those of the system and of Python do not count.
 * text: STK_HOST_TEXT_BYTES of room. */
void stk__storage_look(stk__storage_tally *tally, const char *root, int32_t pid, char *text);

/* "nfs4", "ext4 on a rotating disk": where most of them were; "": none was seen. */
const char *stk__storage_most(const stk__storage_tally *tally);

#endif
