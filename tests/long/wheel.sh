#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/long/wheel.sh: tools/build_wheel makes a wheel; its tag is abi3 and of glibc 2.34 or older. It is installed from a local
# folder into a fresh environment, on a bare Debian root that has only python3 and python3-venv, and there loads a batch
# and trains with the engine onednn. The same file is tried under every other Python 3.11 or later of this machine.
set -euo pipefail
PATH="$PATH:/usr/sbin:/sbin"
tree=$(cd "$(dirname "$0")/../.." && pwd)

skip() {
    echo "skipped: $1"
    exit 77
}

# What must work wherever it is installed.
check='
import stoker, sys
with stoker.Loader("make:faces?count=16", batch_size=8, image_size=64) as loader:
    images, masks = next(iter(loader))
print(sys.version.split()[0], images.shape, images.dtype, masks.dtype)
images, masks = stoker.Augment("strong")(images, masks)
assert images.shape == (8, 3, 64, 64) and str(masks.dtype) == "int64"
'
train='train data.root=make:faces?count=16 data.image_size=64 model.name=unet train.epochs=1 data.batch_size=8 run.engine=onednn'

try_here() { # PYTHON
    rm -rf "$folder/env"
    "$1" -m venv "$folder/env"
    "$folder/env/bin/pip" install -q --disable-pip-version-check stoker --no-index --find-links "$folder/wheels" 2>"$folder/said" || { cat "$folder/said"; exit 1; }
    "$folder/env/bin/pip" install -q --disable-pip-version-check --find-links "$folder/wheels" numpy
    (cd "$folder" && "$folder/env/bin/python" -c "$check")
}

if [ "${1-}" != inside ]; then
    folder=$(mktemp -d)
    trap 'rm -rf --one-file-system "$folder"' EXIT
    wheel=$("$tree/tools/build_wheel" "$folder/wheels")
    echo "$(basename "$wheel"): $(stat -c %s "$wheel") bytes"
    grep -Eq '^stoker-[0-9.]+-cp311-abi3-manylinux_2_(1[0-9]|2[0-9]|3[0-4])_' <<<"$(basename "$wheel")"
    python3 -m venv "$folder/fetch"
    "$folder/fetch/bin/pip" download -q --disable-pip-version-check -d "$folder/wheels" --find-links "$folder/wheels" stoker numpy \
        --python-version 3.11 --only-binary :all: || skip "oneDNN and NumPy could not be downloaded"
    for python in python3.11 python3.12 python3.13 python3.14 $(ls -d "$HOME"/.pyenv/versions/3.1[1-9]*/bin/python3 2>/dev/null); do
        if command -v "$python" >/dev/null && "$python" -c 'import ensurepip' 2>/dev/null; then try_here "$python"; fi
    done
    [ "$(id -u)" = 0 ] || skip "chroot needs root"
    command -v debootstrap >/dev/null || skip "debootstrap is not installed"
    chroot / true 2>/dev/null || skip "chroot is not permitted"
    unshare --mount true 2>/dev/null || skip "mounts are not permitted"
    status=0
    unshare --mount --propagation private "$0" inside "$folder" || status=$?
    exit $status
fi

folder=$2
. "$(dirname "$0")/bare_debian"
make_bare python3,python3-venv
root="$folder/bare"
mount -t proc proc "$root/proc"
mkdir "$root/wheels"
cp "$folder"/wheels/*.whl "$root/wheels"
env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot "$root" sh -euc "
    ! command -v cc && ! test -e /usr/lib/*/libgomp.so.1
    python3 -m venv /env
    /env/bin/pip install -q --disable-pip-version-check --no-index --find-links /wheels stoker numpy
    cd /tmp
    /env/bin/python -c '$check'
    /env/bin/stoker --version
    /env/bin/stoker $train --run /tmp/run" 2>&1 | tail -n 30
test -e "$root/tmp/run/run.json"
grep -o '"engine": *"onednn"' "$root/tmp/run/run.json" | head -n 1
umount "$root/proc"
