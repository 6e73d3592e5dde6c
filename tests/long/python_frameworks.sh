#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/long/python_frameworks.sh: the Python module in PyTorch Lightning and with accelerate (python_frameworks.py), and the scripts
# of examples/python, each for two epochs of few samples. The packages come from the index, once per machine (python_env); the module
# is the one in build/, and PyTorch runs on stand-ins for NVIDIA's libraries, on the CPU. PYTHON=FILE: an interpreter that has all.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tree=$(cd "$here/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export STOKER="$tree/build/cli/stoker" PYTHONPATH="$tree/build/python" CUDA_VISIBLE_DEVICES=

skip() {
    echo "skipped: $1"
    exit 77
}

test -e "$tree/build/python/stoker/_stoker.abi3.so" || skip "the Python module is not built (make build, with python3-dev)"
if [ -z "${PYTHON:-}" ]; then
    test -e "$tree/build/tests/fake/cudart/libdry_cudart.a" || skip "the tests are not built (make test)"
    PYTHON=$("$here/python_env") || skip "there is no environment with the frameworks"
    eval "$("$PYTHON" "$tree/tests/fake/cudart/assemble.py" "$tree/build/tests/fake" --python --print || echo skip "PyTorch cannot be imported")"
fi
"$PYTHON" -B "$here/python_frameworks.py"
for example in segmentation lightning_classification replace_kornia replace_albumentations; do
    echo "--- $example"
    "$PYTHON" -B "$tree/examples/python/$example.py" --epochs 2 --samples 64 --data "$folder/data" | tee "$folder/said"
    grep -q '^an epoch is [0-9.]* times as fast with Stoker$' "$folder/said"
done
echo "--- monitor_cell"
"$PYTHON" -B "$tree/examples/python/monitor_cell.py"
