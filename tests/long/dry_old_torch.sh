#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The oldest PyTorch that is supported, 2.10 (CUDA 12), by its own CUDA library on the dry runtime: the tests of the newest one. Only its wheel is
# fetched (0.9 GB, once, into the user's cache): all of NVIDIA's libraries are stood in for.
set -euo pipefail
cd "$(dirname "$0")/../.."
version=2.10.0
cache="${XDG_CACHE_HOME:-$HOME/.cache}/stoker"
dir="$cache/torch-$version"
need_mb=4000 # while it is unpacked

skip() {
    echo "skipped: $*"
    exit 77
}

library_below() { # ENVIRONMENT
    for library in "$1"/lib/python3*/site-packages/torch/lib/libtorch_cuda.so; do
        if [ -e "$library" ]; then dirname "$library" && return; fi
    done
    return 1
}

if ! library_below "$dir" >/dev/null; then
    mkdir -p "$cache"
    free_mb=$(df -Pm "$cache" | awk 'NR == 2 { print $4 }')
    if [ "$free_mb" -lt "$need_mb" ]; then skip "PyTorch $version needs $need_mb MB in '$cache', which has $free_mb"; fi
    part="$dir.part-$$"
    trap 'rm -rf "$part"' EXIT
    python3 -m venv "$part" || skip "PyTorch $version needs python3-venv"
    timeout -k 10 1800 "$part/bin/pip" install -q --disable-pip-version-check --no-deps "torch==$version" || skip "PyTorch $version could not be installed"
    mv -T "$part" "$dir" 2>/dev/null || true # the first one stays
fi
STOKER_TORCH=$(library_below "$dir") || skip "there is no PyTorch $version with CUDA"
export STOKER_TORCH
tools/build build
meson test -C build --no-rebuild --print-errorlogs torch_dry torch_dry_second torch_dry_legacy torch_dry_resize torch_graph_dry dry_cuda dry_run dry_graphs
