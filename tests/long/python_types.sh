#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/long/python_types.sh: the stubs of the Python module are those of the module (stubtest), a program that uses it passes
# `mypy --strict`, and so do the scripts of examples/python where the packages that they use are (python_env; else the test ends as
# skipped after the rest). mypy comes from the index, into an environment of its own; the module is the one in build/.
# PYTHON=FILE: an interpreter that has all of them.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tree=$(cd "$here/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export MYPYPATH="$tree/build/python"

skip() {
    echo "skipped: $1"
    exit 77
}

test -e "$tree/build/python/stoker/_stoker.abi3.so" || skip "the Python module is not built (make build, with python3-dev)"
if python=${PYTHON:-$("$here/python_env")}; then
    frameworks=yes
else
    frameworks=
    python="$folder/env/bin/python"
    python3 -m venv "$folder/env" || skip "python3-venv is not installed"
    "$folder/env/bin/pip" install -q --disable-pip-version-check mypy==2.4.1 numpy || skip "mypy could not be installed"
fi
cat >"$folder/use.py" <<'END'
import stoker


def main() -> None:
    with stoker.Loader("x", batch_size=4, shuffle=False, augment={"preset": "strong"}, device="cuda", image_size=(4, 4)) as loader:
        loader.set_epoch(1)
        for batch in loader:
            images, masks = batch.to("cuda", non_blocking=True)
            print(images.shape, masks.shape, batch.ids, len(loader), loader.state_dict()["epoch"], loader.sample(3)[0])
            print(loader.state_dict(after=batch)["position"])
    augment = stoker.Augment("strong", image_size=4, hue=(-0.1, 0.1), schedule={0: "none", 2: "strong"}, mean=[0.5, 0.5, 0.5])
    print(augment(images, masks, epoch=1, ids=[1, 2]), augment.eval().training, augment.effects[0]["name"])
    with stoker.Monitor(interval=0.5) as monitor:
        pass
    print(monitor.summary()["verdict"], stoker.gpu_utilization()[0])
END
cd "$folder"
"$python" -m mypy --strict use.py
PYTHONPATH="$tree/build/python" "$python" -m mypy.stubtest stoker --ignore-missing-stub --ignore-disjoint-bases
[ -n "$frameworks" ] || skip "the examples, because Lightning and the like could not be installed"
cd "$tree/examples/python"
"$python" -m mypy --strict --cache-dir "$folder/cache" ./*.py
