#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# All tests under AddressSanitizer and UBSan, those of suite plain, too, which `make asan` leaves out for its time.
set -euo pipefail
cd "$(dirname "$0")/../.."
make asan ALL=1
