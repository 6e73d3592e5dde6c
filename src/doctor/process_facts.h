/* SPDX-License-Identifier: Apache-2.0 */
/* What a process is: its command line, whether it has loaded PyTorch, how PyTorch has named its threads. */
#ifndef STK_DOCTOR_PROCESS_FACTS_H
#define STK_DOCTOR_PROCESS_FACTS_H

#include "doctor/process_record.h"

/* Costs more than a look (milliseconds where much is mapped): every few seconds. text: STK_HOST_TEXT_BYTES of
 * room. */
void stk__process_facts_read(stk__process_record *record, const char *root, char *text, uint64_t now_ns);

/* The arguments of a command line ("a\0b\0"), shortened to what fits: without the folder of the program, with
 * blanks between them. */
void stk__process_command(const char *line, size_t size, char command[STK_DOCTOR_TEXT]);

#endif
