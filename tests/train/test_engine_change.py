#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/train/test_engine_change.py STOKER: the checkpoint of one engine goes on with the other, onednn and torch. The next
step's loss is the same to 1e-4, that of 50 steps later to 2 %; a run of torch that is stopped ends with the bits of one that
was left alone. Exit status 77: there is no PyTorch here."""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

STOKER = str(pathlib.Path(sys.argv[1]).resolve())
# The learning rate is low: what rounding differs by grows with every step.
SETTINGS = ("make:gray?count=400", "data.image_size=32", "data.val_split=0.125", "data.batch_size=4", "model.width=4", "model.depth=1",
            "train.log_interval=1", "train.epochs=5", "train.max_grad_norm=1", "optimizer.lr=0.0005")
FIRST, MORE = 10, 50


def train(run, *words):
    """Which engine it says it was."""
    done = subprocess.run([STOKER, "train", *words, "--run", str(run), "-q", "--json"], capture_output=True, text=True, timeout=250)
    if done.returncode != 0 and "PyTorch" in done.stderr and "not found" in done.stderr:
        print(f"skipped: {done.stderr.splitlines()[0]}")
        sys.exit(77)
    assert done.returncode == 0, (words, done.stderr)
    return json.loads(done.stdout)["engine"]


def losses(run):
    lines = map(json.loads, (run / "metrics.jsonl").read_text().splitlines())
    return {line["step"]: line["loss"] for line in lines if "loss" in line}


def go_on(run, engine):
    """The losses of a copy of a run that goes on with this engine."""
    copy = run.with_name(f"{run.name}-{engine}")
    shutil.copytree(run, copy)
    assert train(copy, "--resume", f"run.engine={engine}", "--stop-after", str(MORE)) == engine
    return losses(copy)


def check_change(folder, first, second):
    run = folder / f"from-{first}"
    train(run, *SETTINGS, f"run.engine={first}", "--stop-after", str(FIRST))
    stays, changes = go_on(run, first), go_on(run, second)
    next_off = abs(changes[FIRST + 1] / stays[FIRST + 1] - 1)
    late = range(FIRST + MORE - 9, FIRST + MORE + 1)
    late_off = abs(sum(changes[step] for step in late) / sum(stays[step] for step in late) - 1)
    print(f"{first} -> {second}: the next step's loss is {next_off:.1e} off, that of {MORE} steps later {late_off:.1e}")
    assert stays[FIRST + 1] != stays[FIRST] and next_off < 1e-4 and late_off < 0.02


def check_resume(folder):
    whole, parts = folder / "whole", folder / "parts"
    train(whole, *SETTINGS, "run.engine=torch", "--stop-after", "24")
    train(parts, *SETTINGS, "run.engine=torch", "--stop-after", "7")
    for count in ("11", "6"):
        train(parts, "--resume", "--stop-after", count)
    assert losses(whole) == losses(parts), "a resumed run of torch has other losses"
    names = [sorted((run / "checkpoints").iterdir())[-1] for run in (whole, parts)]
    assert names[0].name == names[1].name
    assert (names[0] / "model.safetensors").read_bytes() == (names[1] / "model.safetensors").read_bytes()


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check_resume(folder)
        check_change(folder, "onednn", "torch")
        check_change(folder, "torch", "onednn")
    print("3 passed, 0 failed")


main()
