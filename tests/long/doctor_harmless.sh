#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The doctor's hook in programs that others wrote: torch.compile with inductor, torchrun with two ranks, Lightning, the Trainer of Hugging Face,
# torchvision's transforms, Accelerate. Each runs without and with the hook; what it prints must be the same. Packages are fetched once, into the
# user's cache.
set -euo pipefail
cd "$(dirname "$0")/../.."
tools/setup build
tools/build build
STOKER_TORCH=$(tools/setup_torch)
if [ -z "$STOKER_TORCH" ]; then echo 'there is no PyTorch' && exit 77; fi
export STOKER_TORCH
venv="${XDG_CACHE_HOME:-$HOME/.cache}/stoker/doctor-programs"
if [ ! -e "$venv/whole" ]; then
    rm -rf "$venv"
    python3 -m venv "$venv"
    pip=("$venv/bin/pip" install -q --disable-pip-version-check)
    # What depends on torch without its dependencies: torch is there already, and NVIDIA's libraries are stood in for.
    if ! "${pip[@]}" pillow numpy transformers psutil tqdm albumentations setuptools ||
        ! "${pip[@]}" --no-deps torchvision lightning pytorch-lightning torchmetrics lightning-utilities accelerate; then
        echo 'packages could not be installed'
        exit 77
    fi
    ln -s "$STOKER_TORCH"/../../torch-*.dist-info "$venv"/lib/python3*/site-packages/ # they ask for its version
    touch "$venv/whole"
fi
export HOOK_PROBE=$PWD/build/tests/doctor/hook_probe
exec "$venv/bin/python" tests/fake/cudart/assemble.py build/tests/fake --python "$venv/bin/python" -B tests/doctor/harmless.py
