#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`stoker train --grid` killed, interrupted, or with one of its runs killed: the same command goes on and ends with the
table of the grid that was never cut, and nothing is left running. With GRID=s4 that of examples/s4.yaml, on fewer windows for
fewer epochs (tests/long/grid.sh)."""
import json
import os
import pathlib
import random
import signal
import subprocess
import tempfile
import time
import unittest

STOKER = os.environ["STOKER"]
SETTINGS = ("make:series?count=1500", "model.layers=1", "data.batch_size=64", "data.val_split=0.2", "train.epochs=4",
            "train.log_interval=1", "run.threads=1", "data.num_workers=0")
GRID = ("--grid", "model.hidden=2,5", "data.sequence_length=8,12")
NAMES = [f"hidden-{hidden}_sequence_length-{length}" for hidden in (2, 5) for length in (8, 12)]
PATIENCE_S, CUT_S = 100, 0.6  # for what takes long; a kill comes at most so late
if os.environ.get("GRID") == "s4":
    SETTINGS = (str(pathlib.Path(__file__).resolve().parents[2] / "examples/s4.yaml"), "data.root=make:series?count=2500",
                "train.epochs=2", "train.log_interval=1", "run.threads=1", "data.num_workers=0")
    GRID = ("--grid", "hidden=128,256", "data.sequence_length=30,60,90")
    NAMES = [f"hidden-{hidden}_sequence_length-{length}" for hidden in (128, 256) for length in (30, 60, 90)]
    PATIENCE_S, CUT_S = 1800, 8


def children(pid):
    """Of a process, all of its threads."""
    found = []
    for path in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += [int(word) for word in path.read_text().split()]
        except OSError:
            pass
    return found


def is_running(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def wait_until(what):
    end = time.monotonic() + PATIENCE_S
    while not what():
        if time.monotonic() > end:
            raise AssertionError("it did not come about")
        time.sleep(0.005)


class GridCut(unittest.TestCase):
    expected = None

    def setUp(self):
        place = tempfile.TemporaryDirectory(prefix="stoker-grid-")
        self.addCleanup(place.cleanup)
        self.folder = pathlib.Path(place.name).resolve()

    def start(self, name, *words):
        grid = subprocess.Popen([STOKER, "train", *SETTINGS, *GRID, "--run", name, "--jobs", "2", *words], cwd=self.folder,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(grid.kill)
        return grid

    def finish(self, grid, status=0):
        output, errors = grid.communicate(timeout=PATIENCE_S)
        self.assertEqual(grid.returncode, status, errors)
        return output, errors

    def results(self, name):
        """Rank and metric of each run, and every loss it logged: no times."""
        report = json.loads((self.folder / name / "grid.json").read_text())
        losses = {}
        for run in NAMES:
            lines = (self.folder / name / run / "metrics.jsonl").read_text().splitlines()
            losses[run] = [json.loads(line).get("loss", "-") for line in lines]
        table = [(row["rank"], row["name"], row["state"], row["best_metric"], row["best_step"]) for row in report["runs"]]
        return table, losses

    def is_under_way(self, name):
        """One of the runs has logged something."""
        return any((self.folder / name / run / "metrics.jsonl").exists() for run in NAMES)

    def whole(self):
        """Of a grid that is not cut; trained once."""
        if not GridCut.expected:
            self.finish(self.start("whole"))
            GridCut.expected = self.results("whole")
        return GridCut.expected

    def test_killed_again_and_again(self):
        expected = self.whole()
        draw, kills = random.Random(7), 0
        for attempt in range(5):
            grid = self.start("cut")
            if attempt == 0:
                wait_until(lambda: self.is_under_way("cut"))
            else:
                time.sleep(draw.uniform(0.02, CUT_S))
            runs = children(grid.pid)
            grid.kill()
            grid.communicate(timeout=PATIENCE_S)
            kills += grid.returncode == -signal.SIGKILL
            for pid in runs:
                wait_until(lambda: not is_running(pid))
        self.assertGreater(kills, 0)
        output, _ = self.finish(self.start("cut", "--json"))
        self.assertEqual(self.results("cut"), expected)
        self.assertEqual([row["state"] for row in json.loads(output)["runs"]], ["done"] * len(NAMES))
        again, _ = self.finish(self.start("cut"))
        twice, _ = self.finish(self.start("cut"))
        self.assertEqual(again, twice)
        self.assertEqual(again.count("cut/hidden-"), len(NAMES))
        if os.environ.get("GRID"):
            print(again)

    def test_interrupted(self):
        expected = self.whole()
        for number in (signal.SIGINT, signal.SIGTERM):
            grid = self.start(number.name)
            wait_until(lambda: self.is_under_way(number.name))
            runs = children(grid.pid)
            grid.send_signal(number)
            _, errors = self.finish(grid, 130)
            self.assertIn("the same command resumes", errors)
            self.assertEqual([pid for pid in runs if is_running(pid)], [])
            saved = list((self.folder / number.name).glob("*/checkpoints/*"))
            self.assertTrue(saved, "nothing was saved")
            self.finish(self.start(number.name, "--resume"))
            self.assertEqual(self.results(number.name), expected)

    def test_one_run_dies(self):
        expected = self.whole()
        for attempt in range(5): # on a busy machine it may have ended before the signal came
            name = f"one{attempt}"
            grid = self.start(name)
            wait_until(lambda: self.is_under_way(name))
            for pid in children(grid.pid)[:1]:
                os.kill(pid, signal.SIGKILL)
            output, errors = grid.communicate(timeout=PATIENCE_S)
            if grid.returncode != 0:
                break
        self.assertEqual(grid.returncode, 1, errors)
        self.assertEqual(output.count("failed: ended by signal 9 (Killed)"), 1)
        self.assertIn(f"1 of {len(NAMES)} runs failed", errors)
        states = [row["state"] for row in json.loads((self.folder / name / "grid.json").read_text())["runs"]]
        self.assertEqual(states, ["done"] * (len(NAMES) - 1) + ["failed"])
        self.finish(self.start(name))
        self.assertEqual(self.results(name), expected)

    def test_twice_at_once(self):
        grid = self.start("both")
        wait_until(lambda: self.is_under_way("both"))
        _, errors = self.finish(self.start("both"), 1)
        self.assertIn(str(grid.pid), errors)
        self.finish(grid)


if __name__ == "__main__":
    unittest.main()
