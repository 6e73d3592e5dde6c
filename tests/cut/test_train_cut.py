#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`stoker train` cut off at every call that changes files of its run: killed before it, and a full or broken disk at it.
The next start finds the newest valid checkpoint and ends with the losses and weights of the run that was never cut."""
import json
import os
import pathlib
import tempfile
import unittest

import cut_calls

STOKER = os.environ["STOKER"]
SETTINGS = ("make:series?count=260", "model.hidden=2", "model.layers=1", "data.batch_size=64", "data.val_split=0.2",
            "data.num_workers=0", "train.epochs=4", "train.keep=1", "train.log_interval=1", "run.threads=1")
MODES = ("kill", "ENOSPC", "EIO")
needs_shim = unittest.skipUnless(cut_calls.SHIM, "the sanitizers and a preloaded library do not go together")


def start(folder):
    run = folder / "run"
    words = ("--resume",) if (run / "config.yaml").is_file() else SETTINGS
    return [STOKER, "train", *words, "--run", run, "-q"]


def metrics(folder):
    lines = [json.loads(line) for line in (folder / "run/metrics.jsonl").read_text().splitlines()]
    return [{key: value for key, value in line.items() if key not in ("samples_per_s", "wait_share")} for line in lines]


def files(folder):
    """Everything but what differs from run to run: times, and the lock."""
    found = {}
    for path in sorted((folder / "run").rglob("*")):
        name = str(path.relative_to(folder / "run"))
        if path.is_file() and name not in ("lock", "run.json", "metrics.jsonl", "config.yaml", "predictions.json", "report.html") and not name.startswith("events."):
            found[name] = path.read_bytes()
    return found


class TrainCut(unittest.TestCase):
    @needs_shim
    def test_every_call(self):
        with tempfile.TemporaryDirectory(prefix="stoker-cut-", dir=cut_calls.PLACE) as place:
            whole = pathlib.Path(place).resolve()
            calls = cut_calls.trace(start(whole), whole)
            expected = metrics(whole), files(whole)
        self.assertGreater(len(calls), 50)
        self.assertIn(("main", "rename"), {(call.thread, call.call) for call in calls})
        every = int(os.environ.get("CUT_EVERY", "1"))

        def check(folder, call, mode, outcome):
            if mode == "kill":
                self.assertEqual(outcome.status, -9, outcome.errors)
            elif outcome.status != 0: # what only fails to remove something goes on
                self.assertEqual(outcome.status, 1, outcome.errors)
                self.assertIn("Input/output error" if mode == "EIO" else "No space left on device", outcome.errors)
            again = cut_calls.run(start(folder), folder)
            self.assertEqual((again.status, again.errors), (0, ""))
            self.assertEqual(metrics(folder), expected[0])
            self.assertEqual(files(folder).keys(), expected[1].keys())
            self.assertEqual(files(folder), expected[1])

        count = cut_calls.each_point(calls[::every], start, lambda folder: None, check, MODES)
        print(f"{self.id()}: {len(calls)} calls, {count} points", flush=True)


if __name__ == "__main__":
    unittest.main()
