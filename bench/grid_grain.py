#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/grid_grain.py STOKER [--rounds N]: what running side by side brings a grid, by the size of a step.

Trains two runs of each network of the list one after another with all CPUs (`--jobs 1`) and side by side with half of them
each (`--jobs 2`), interleaved, and prints GFLOP a step, seconds and the ratio: where it falls below 1, GRAIN_FLOPS of
cli/grid/grid_plan.c ends. For a quiet machine with 2 CPUs, under three minutes there; elsewhere the clock says little."""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

STOKER = str(pathlib.Path(sys.argv[1]).resolve())
ROUNDS = int(sys.argv[sys.argv.index("--rounds") + 1]) if "--rounds" in sys.argv else 3


def lstm(hidden, window, batch, count):
    return (f"lstm, hidden {hidden}, windows of {window}, batches of {batch}",
            (f"make:series?count={count}", f"model.hidden={hidden}", "model.layers=1", f"data.sequence_length={window}", f"data.batch_size={batch}"))


def resnet(width, size, batch, count):
    return (f"resnet, width {width}, {size} x {size}, batches of {batch}",
            (f"make:gray?count={count}", f"model.width={width}", "model.depth=1", f"data.image_size={size}", f"data.batch_size={batch}"))


CASES = (lstm(8, 30, 32, 6000), lstm(32, 30, 32, 4000), resnet(8, 32, 32, 2000), lstm(64, 30, 64, 4000), lstm(64, 60, 128, 5000), resnet(16, 64, 32, 700),
         lstm(128, 60, 256, 4000), resnet(32, 128, 32, 130))
COMMON = ("data.val_split=0.1", "train.epochs=1", "train.log_interval=1000")


def step_gflop(settings):
    plan = subprocess.run([STOKER, "train", *settings, *COMMON, "--plan", "--json"], capture_output=True, text=True, check=True)
    return json.loads(plan.stdout)["step_flops"] * 1e-9


def seconds(settings, jobs, folder):
    start = time.monotonic()
    subprocess.run([STOKER, "train", *settings, *COMMON, "--grid", "data.seed=1,2", "--jobs", str(jobs), "--run", folder, "-q"], capture_output=True,
                   check=True)
    return time.monotonic() - start


def main():
    print(f"load {os.getloadavg()[0]:.1f}, {len(os.sched_getaffinity(0))} CPUs, {ROUNDS} rounds\n")
    print(f"{'network':<45} {'GFLOP a step':>12} {'--jobs 1, s':>12} {'--jobs 2, s':>12} {'side by side brings':>20}")
    for name, settings in CASES:
        took = {1: [], 2: []}
        with tempfile.TemporaryDirectory() as folder:
            for turn in range(ROUNDS):
                for jobs in took:
                    took[jobs].append(seconds(settings, jobs, f"{folder}/{turn}-{jobs}"))
        ratio = statistics.median(a / b for a, b in zip(took[1], took[2]))
        print(f"{name:<45} {step_gflop(settings):12.3g} {statistics.median(took[1]):12.2f} {statistics.median(took[2]):12.2f} {ratio:20.2f}", flush=True)


main()
