/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CHECK_WINOGRAD_LANES16_H
#define TESTS_CHECK_WINOGRAD_LANES16_H

#include "engine/winograd/winograd.h"

extern const stk__winograd_kernel winograd_lanes16;

#endif
