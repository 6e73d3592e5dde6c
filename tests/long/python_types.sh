#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/long/python_types.sh: the stubs of the Python module are those of the module (stubtest), and a program that uses it passes
# `mypy --strict`. mypy comes from the index, into an environment of its own; the module is the one in build/.
set -euo pipefail
tree=$(cd "$(dirname "$0")/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

skip() {
    echo "skipped: $1"
    exit 77
}

test -e "$tree/build/python/stoker/_stoker.abi3.so" || skip "the Python module is not built (make build, with python3-dev)"
python3 -m venv "$folder/env" || skip "python3-venv is not installed"
"$folder/env/bin/pip" install -q --disable-pip-version-check mypy==2.4.1 numpy || skip "mypy could not be installed"
cat >"$folder/use.py" <<'END'
import stoker


def main() -> None:
    with stoker.Loader("x", batch_size=4, shuffle=False, augment={"preset": "strong"}, device="cuda", image_size=(4, 4)) as loader:
        loader.set_epoch(1)
        for batch in loader:
            images, masks = batch
            print(images.shape, masks.shape, batch.ids, len(loader), loader.state_dict()["epoch"], loader.sample(3)[0])
    augment = stoker.Augment("strong", image_size=4, hue=(-0.1, 0.1), schedule={0: "none", 2: "strong"}, mean=[0.5, 0.5, 0.5])
    print(augment(images, masks, epoch=1, ids=[1, 2]), augment.eval().training, augment.effects[0]["name"])
    with stoker.Monitor(interval=0.5) as monitor:
        pass
    print(monitor.summary()["verdict"], stoker.gpu_utilization()[0])
END
cd "$folder"
MYPYPATH="$tree/build/python" "$folder/env/bin/mypy" --strict use.py
PYTHONPATH="$tree/build/python" "$folder/env/bin/python" -m mypy.stubtest stoker --ignore-missing-stub --ignore-disjoint-bases
