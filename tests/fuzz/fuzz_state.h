/* SPDX-License-Identifier: Apache-2.0 */
/* A small trainer that is sent to any place. */
#ifndef TEST_FUZZ_STATE_H
#define TEST_FUZZ_STATE_H

#include <jansson.h>

void fuzz_state_open(void); /* makes it, the first time */

json_t *fuzz_state_tell(void); /* its place; the caller owns it */

/* Refused, or what the trainer then tells is where it was sent. state may be NULL. */
void fuzz_state_seek(const json_t *state);

#endif
