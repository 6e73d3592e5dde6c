/* SPDX-License-Identifier: Apache-2.0 */
/* A diagnosis as one object of JSON: `stoker doctor --json`. */
#ifndef STK_DOCTOR_DOCTOR_JSON_H
#define STK_DOCTOR_DOCTOR_JSON_H

#include "doctor/doctor_rules.h"

#include <jansson.h>

enum { STK_DOCTOR_SCHEMA = 1 };

/* Unknown is null, shares are 0 to 1. NULL: out of memory. The caller owns it. */
json_t *stk__diagnosis_json(const stk__diagnosis *diagnosis);

#endif
