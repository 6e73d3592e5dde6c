#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/train/test_run_report.py STOKER [NETWORK...]: what a run says of itself holds, for each network: the stall
table closes against a clock of its own, the planned memory is what the process took, and the first step comes at once.
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from crowd import crowd

STOKER = str(pathlib.Path(sys.argv[1]).resolve())
NETWORKS = {
    "unet": ("make:faces?count=40", "data.image_size=128", "data.batch_size=8", "model.width=16"),
    "locator": ("make:captcha?count=40", "data.batch_size=8"),
    "resnet": ("make:gray?count=160", "data.batch_size=32", "model.width=32"),
    "lstm": ("make:series?count=2400", "data.batch_size=256", "model.hidden=64"),
}
START_S = 0.5


def train(folder, *settings):
    begin = time.monotonic()
    done = subprocess.run([STOKER, "train", *settings, "--run", str(folder), "--json"], capture_output=True, text=True, timeout=300)
    wall = time.monotonic() - begin
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    return report, wall, {row["name"]: row["share"] for row in report["stall"]}


def check_stall(report, wall, stall):
    measured = sum(share for name, share in stall.items() if name != "other")
    assert 0.97 <= measured <= 1.005, f"the measured rows make up {measured:.3f} of the wall clock"
    assert report["wall_s"] <= wall, (report["wall_s"], wall)
    assert wall - report["wall_s"] <= report["first_step_s"] + 1, "the run's clock leaves out more than the start"
    for name in ("forward", "backward", "optimiser", "eval", "checkpoint"):
        assert stall[name] > 0, f"{name} took no time"


def check_wait(folder, settings):
    """Where the loader alone is faster than the network, the network does not wait for it. The best of up to five runs:
    somebody else's work on the machine holds the loader up first, whose threads have the lower priority."""
    least = 1
    for attempt in range(5):
        stall = train(folder / f"wait{attempt}", *settings, "train.epochs=4", "data.shuffle=false")[2]
        least = min(least, stall["read"] + stall["decode"] + stall["augment"])
        if least < 0.02 * crowd():
            return
    raise AssertionError(f"{least:.3f} of the time went by waiting for data")


def check_memory(report):
    ratio = report["peak_memory_bytes"] / report["planned_memory_bytes"]
    assert 0.9 <= ratio <= 1.1, f"peak {report['peak_memory_bytes']:,} bytes, planned {report['planned_memory_bytes']:,}"
    return ratio


def main():
    passed = 0
    slow = "--slow" in sys.argv  # under sanitizers: nothing that depends on time or memory
    for name, settings in NETWORKS.items():
        if [w for w in sys.argv[2:] if not w.startswith("-")] and name not in sys.argv[2:]:
            continue
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            report, wall, stall = train(folder / "run", *settings, "data.val_split=0.2", "train.epochs=2", "train.log_interval=1")
            assert report["network"] == name, report["network"]
            check_stall(report, wall, stall)
            ratio = check_memory(report) if not slow else 1
            if not slow:
                check_wait(folder, settings)
            # The first step is also the slowest: memory is touched for the first time. The best of up to ten starts.
            allowed, start, attempts = START_S + report["step_ms"] / 1000, float("inf"), 0
            while start > allowed * crowd() and attempts < (1 if slow else 10):
                begun, attempts = train(folder / f"start{attempts}", *settings, "train.epochs=1", "--stop-after", "1")[0], attempts + 1
                start = min(start, begun["first_step_s"])
            assert slow or start <= allowed * crowd(), f"first step after {start:.2f} s, a step takes {report['step_ms']:.0f} ms"
            print(f"ok {name}: measured {1 - stall['other']:.4f} of the wall clock, peak / planned memory {ratio:.3f}, "
                  f"first step after {start:.3f} s, {report['step_ms']:.1f} ms a step", flush=True)
            passed += 1
    print(f"{passed} passed, 0 failed")


main()
