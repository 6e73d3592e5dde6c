#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every parser under libFuzzer for five minutes, or FUZZ_SECONDS. Skipped where clang cannot link it.
set -euo pipefail
cd "$(dirname "$0")/../.."
if ! tools/setup build fuzz; then
    echo 'libFuzzer cannot be had here'
    exit 77
fi
FUZZ_SECONDS=${FUZZ_SECONDS:-300} tools/fuzz
