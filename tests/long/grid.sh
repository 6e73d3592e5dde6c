#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The grid of examples/s4.yaml, reduced: killed again and again it ends with the table of one that was not.
set -euo pipefail
cd "$(dirname "$0")/../.."
tools/build build
GRID=s4 STOKER=$PWD/build/cli/stoker python3 tests/cut/test_grid_cut.py GridCut.test_killed_again_and_again
