#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The suite slow, which `make test` leaves out for its time: benchmarks with made-up peers, trainings in 16 bits and by
# PyTorch, whole runs and the self-test on a fake GPU.
set -euo pipefail
cd "$(dirname "$0")/../.."
make test-tools
tools/setup build
tools/build build
STOKER_TORCH=$(tools/setup_torch)
export STOKER_TORCH
tools/run_tests build --suite slow
