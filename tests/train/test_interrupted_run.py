#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/train/test_interrupted_run.py STOKER: a run that is interrupted or killed again and again ends with the
losses, evaluations and weights of one that was left alone, to the last bit."""
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

STOKER = str(pathlib.Path(sys.argv[1]).resolve())
SETTINGS = ("make:faces?count=40", "data.image_size=32", "data.val_split=0.2", "data.batch_size=4", "model.width=4", "model.depth=2",
            "augment.preset=strong", "train.log_interval=3", "train.epochs=8", "train.ema=0.9", "train.max_grad_norm=1",
            "train.gradient_accumulation_steps=2", "optimizer.schedule=one_cycle", "optimizer.lr=0.01")
INTERRUPTIONS = 10


def metrics(run):
    """What must be equal: everything but times."""
    lines = []
    for text in (run / "metrics.jsonl").read_text().splitlines():
        line = json.loads(text)
        line.pop("samples_per_s", None)
        line.pop("wait_share", None)
        lines.append(line)
    return lines


def weights(run):
    newest = sorted((run / "checkpoints").iterdir())[-1]
    return newest.name, (newest / "model.safetensors").read_bytes(), (newest / "optimizer.safetensors").read_bytes()


def start(run, resume):
    words = ("--resume",) if resume else SETTINGS
    return subprocess.Popen([STOKER, "train", *words, "--run", str(run), "-q"], stderr=subprocess.PIPE, text=True)


def interrupt_often(run, rng, how):
    """Returns how often it was stopped before it ended by itself."""
    stopped, resume = 0, False
    while True:
        process = start(run, resume)
        # Long enough to have begun, short enough to be in the middle.
        deadline = time.monotonic() + rng.uniform(0.15, 0.6) if stopped < INTERRUPTIONS else None
        while process.poll() is None and (deadline is None or time.monotonic() < deadline):
            time.sleep(0.005)
        if process.poll() is None:
            process.send_signal(how)
        error = process.communicate(timeout=60)[1]
        if process.returncode == 0:
            return stopped
        # It may have been killed before it listened, where a sanitizer takes long to start.
        expected = (130, -signal.SIGINT) if how == signal.SIGINT else (-signal.SIGKILL,)
        assert process.returncode in expected, f"status {process.returncode}: {error}"
        stopped += 1
        resume = (run / "config.yaml").is_file()  # killed before it had begun: begins again
        if not resume and run.exists():
            subprocess.run(["rm", "-rf", str(run)], check=True)


def leave_at_once(run):
    """The second signal does not wait for a step that takes long."""
    process = subprocess.Popen([STOKER, "train", "make:faces?count=64", "data.batch_size=32", "data.image_size=256", "--run", str(run), "-q"])
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    start = time.monotonic()
    status = process.wait(timeout=60)
    took = time.monotonic() - start
    limit = max(1, os.getloadavg()[0] / os.cpu_count())  # on a busy machine a process waits for its turn
    assert status == 130 and took < limit, f"status {status} after {took:.1f} s"
    print(f"ok twice: left {took:.2f} s after the second signal", flush=True)


def main():
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(1 << 30)
    print(f"seed {seed}", flush=True)
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        whole = folder / "whole"
        process = start(whole, False)
        error = process.communicate(timeout=120)[1]
        assert process.returncode == 0, error
        assert len(metrics(whole)) > 20
        for how in (signal.SIGINT, signal.SIGKILL):
            run = folder / how.name
            count = interrupt_often(run, rng, how)
            assert metrics(run) == metrics(whole), f"{how.name}: other losses after {count} interruptions"
            assert weights(run) == weights(whole), f"{how.name}: other weights after {count} interruptions"
            left = [path.name for path in (run / "checkpoints").iterdir() if path.name.startswith(".")]
            assert not left, left
            print(f"ok {how.name}: {count} interruptions, the same losses and weights", flush=True)
        leave_at_once(folder / "twice")
    print("3 passed, 0 failed")


main()
