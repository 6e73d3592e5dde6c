#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C at any moment ends the program within 1 s with status 130, and leaves no process and no temporary file."""
import json
import os
import re
import signal
import time
import unittest

import cut

TIMES = int(os.environ.get("CUT_TIMES", 20 if cut.SANITIZED else 100))
STATE_KEYS = {"schema", "fingerprint", "sample_count", "seed", "order", "part", "epoch", "position", "digest", "rules"}
ENDLESS = ["load", "data", "--epochs", 100000, "batch_size=4"]
KEEPING = ["--state", "out/state", "--ledger", "out/ledger"]


class InterruptCase(cut.Case):
    def moment(self):
        """Seconds after exec; every third in the time of starting and opening."""
        return self.random.uniform(0, 0.03 if self.random.random() < 1 / 3 else 0.4)

    def interrupt(self, words, number=signal.SIGINT, again_after=None, may_finish=False):
        """Runs, waits for a random moment, sends the signal (twice), and checks how it ends."""
        program = self.run_stoker(*words, TMPDIR=str(self.out))
        time.sleep(self.moment())
        ready = program.takes_signals()
        program.send(number)
        if again_after is not None:
            time.sleep(again_after)
            program.send(number)
        status, seconds = program.wait(60)
        if status == 0 and may_finish:
            return
        # Before its first lines have run, the system's own way to end a program applies.
        self.assert_ended(program, -number if status == -number and not ready else 130, cut.ENDING_S, seconds)
        self.slowest = max(self.slowest, seconds)
        self.early += status == -number

    def assert_goes_on(self, words, twice=False):
        """Nothing but the asked-for files is there, and the state is good for another run. A second signal may come
        between the two calls that give a new state its name: then it is left under the temporary one."""
        files = {name for name in self.files() if not (twice and re.fullmatch(r"out/state\.tmp-\d+", name))}
        self.assertLessEqual(files, {"out/state", "out/ledger"})
        if "out/state" not in self.files():
            return
        self.assertEqual(set(json.loads((self.out / "state").read_text())), STATE_KEYS)
        resumed = self.run_stoker(*ENDLESS, *KEEPING, "--stop-after", 2, "-q", *(["--hash"] if "--hash" in words else []))
        resumed.wait(60)
        self.assertEqual(resumed.process.returncode, 0, resumed.errors())

    def repeat(self, times, *arguments, **options):
        self.slowest, self.early = 0, 0
        before = sorted((self.folder / "data").rglob("*"))
        for _ in range(times):
            self.interrupt(*arguments, **options)
            self.assert_goes_on(arguments[0], twice="again_after" in options)
            while len(self.programs) > 4:
                self.programs.pop(0).close()
        self.assertEqual(sorted((self.folder / "data").rglob("*")), before)
        print(f"{self.id()}: {times} times, slowest {1e3 * self.slowest:.0f} ms, {self.early} before main", flush=True)


class InterruptLoad(InterruptCase):
    def test_load(self):
        self.repeat(TIMES * 4 // 10, ENDLESS + ["-q"])

    def test_load_with_state_and_ledger(self):
        self.repeat(TIMES * 4 // 10, ENDLESS + KEEPING + ["--hash", "num_workers=3"])

    def test_load_in_callers_thread(self):
        self.repeat(TIMES // 10, ENDLESS + KEEPING + ["num_workers=0"])

    def test_load_json(self):
        self.repeat(TIMES // 10, ENDLESS + ["--json"])

    def test_terminate(self):
        self.repeat(TIMES // 10, ENDLESS + KEEPING, number=signal.SIGTERM)

    def test_twice(self):
        for after in (0, 0.002, 0.02):
            self.repeat(max(TIMES // 20, 1), ENDLESS + KEEPING, again_after=after)


class InterruptStats(InterruptCase):
    """A verb that goes through the data once, of which there is more so that it is met at work."""
    count, side = 600, 128

    def test_stats(self):
        self.repeat(TIMES // 5, ["stats", "data", "num_workers=1"], may_finish=True)
        self.assertGreater(self.slowest, 0)


class InterruptMake(InterruptCase):
    def test_make(self):
        """Every file is whole or absent, nothing temporary stays, and the same command completes the folder."""
        self.slowest, self.early = 0, 0
        made = self.folder / "made"
        words = ["make", "captcha", "made", "--count", 3000, "-q"]
        for _ in range(TIMES // 5):
            self.interrupt(words, may_finish=True)
            files = [path for path in made.rglob("*") if path.is_file()]
            self.assertEqual([path for path in files if ".tmp" in path.name or path.stat().st_size == 0], [])
            jpegs = [path.read_bytes() for path in files if path.suffix == ".jpg"]
            self.assertTrue(all(data.startswith(b"\xff\xd8") and data.endswith(b"\xff\xd9") for data in jpegs))
        self.assertGreater(self.slowest, 0)
        whole = self.run_stoker(*words)
        self.assertEqual(whole.wait(120)[0], 0, whole.errors())
        self.assertEqual(len(list((made / "images").iterdir())), 3000)


class InterruptPredict(InterruptCase):
    def test_predict(self):
        """Masks are whole or absent."""
        train = self.run_stoker("train", "data", "image_size=32", "model.width=2", "model.depth=1", "train.epochs=1",
                                "--run", "run", "-q")
        self.assertEqual(train.wait(60)[0], 0, train.errors())
        self.slowest, self.early = 0, 0
        for _ in range(max(TIMES // 10, 2)):
            self.interrupt(["predict", "run", "make:faces?count=100000", "--output", "out/masks", "-q"])
            files = list(self.out.rglob("*.*"))
            self.assertEqual([path for path in files if ".tmp" in path.name or path.stat().st_size == 0], [])
            masks = [path.read_bytes() for path in files if path.suffix == ".png"]
            self.assertTrue(all(data.endswith(b"IEND\xaeB`\x82") for data in masks))


if __name__ == "__main__":
    unittest.main()
