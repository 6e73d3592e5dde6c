#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_example_train.py EXAMPLE STOKER: examples/train_network.c trains; its run is one that the program takes, and what it
prints of the time adds up."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

EXAMPLE, STOKER = (str(pathlib.Path(word).resolve()) for word in sys.argv[1:3])
SETTINGS = ("data.root=make:gray?count=60", "data.image_size=16", "data.val_split=0.2", "data.batch_size=8", "model.width=4",
            "model.depth=1", "train.epochs=2", "run.threads=1")


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, timeout=100)


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/run"
        done = run(EXAMPLE, path, *SETTINGS)
        print(done.stdout, done.stderr)
        assert done.returncode == 0 and not done.stderr
        assert len(re.findall(r"^epoch \d: loss [\d.]+, val_loss [\d.]+, top1 [\d.]+$", done.stdout, re.M)) == 2
        shares = [float(share) for share in re.findall(r"^  \w+ +([\d.]+) %$", done.stdout, re.M)]
        assert abs(sum(shares) - 100) < 2, shares
        report = json.loads(pathlib.Path(path, "run.json").read_text())
        assert report["epochs"] == 2 and not report["failed"]
        assert run(STOKER, "eval", path).returncode == 0
        refused = run(EXAMPLE, f"{folder}/other", "data.root=make:gray", "train.epoch=2")
        assert refused.returncode == 1 and "did you mean" in refused.stderr, refused.stderr
        assert run(EXAMPLE).returncode == 2


if __name__ == "__main__":
    main()
