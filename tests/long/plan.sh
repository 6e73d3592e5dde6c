#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The plan of memory against the peak of 300 random runs and of every example, on all engines that are here.
set -euo pipefail
cd "$(dirname "$0")/../.."
tools/build build program
python3 tests/train/plan_check.py build/cli/stoker --count "${PLAN_CASES:-300}" --seed "${PLAN_SEED:-1}" --known --examples examples
