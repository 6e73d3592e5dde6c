#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A run that is cut off again and again, and goes on with other numbers of workers, ends with the digest of the run
that was never cut."""
import json
import time
import unittest

import cut

EPOCHS = 2
WORKERS = (0, 1, 2, 3, 8)
CUTS = 3 * EPOCHS


class Resume(cut.Case):
    count, side = 300, 128

    def finish(self, *words):
        """The report of a run that ends by itself."""
        program = self.run_stoker("load", "data", "--epochs", EPOCHS, "--hash", "--json", "batch_size=5", *words)
        program.wait(120)
        self.assertEqual(program.process.returncode, 0, program.errors())
        return json.loads(program.output())

    def place(self):
        if not (self.out / "state").exists():
            return 0
        state = json.loads((self.out / "state").read_text())
        return state["epoch"] * self.count + state["position"]

    def settings(self):
        return f"num_workers={self.random.choice(WORKERS)}", f"prefetch_factor={self.random.choice((1, 2, 5))}"

    def cut_once(self, seconds):
        """Ctrl-C so many seconds after it is ready to take it; whether there is something left to do."""
        program = self.run_stoker("load", "data", "--epochs", EPOCHS, "--hash", "batch_size=5", "--state", "out/state",
                                  *self.settings())
        program.wait_until(lambda: program.takes_signals() or program.process.poll() is not None)
        time.sleep(seconds)
        program.send()
        status, _ = program.wait(60)
        self.assertIn(status, (0, 130), program.errors())
        return status == 130

    def test_interrupted(self):
        """Cut by Ctrl-C at random moments; as often as it takes until the cuts are many enough."""
        start = time.monotonic()
        whole = self.finish()
        pace_s = (time.monotonic() - start) / (2 * CUTS)
        for _ in range(20):
            cuts = set()
            while self.cut_once(self.random.uniform(0, pace_s)):
                cuts.add(self.place())
            self.assertEqual(self.place(), EPOCHS * self.count)
            self.assertEqual(self.finish("--state", "out/state")["digest"], whole["digest"])
            (self.out / "state").unlink()
            if min(sum(cut < self.count for cut in cuts), sum(cut >= self.count for cut in cuts)) >= CUTS // EPOCHS:
                break
        else:
            self.fail("it was never cut often enough")
        print(f"cut at samples {sorted(cuts)} of {EPOCHS} x {self.count}")

    def test_stopped(self):
        """Cut by --stop-after at random batches."""
        whole = self.finish()
        per_epoch, batches = self.count // 5, 0
        for _ in range(CUTS):
            share = self.random.randint(1, per_epoch // 4)
            report = self.finish("--state", "out/state", "--stop-after", share, *self.settings())
            batches += report["batches"]
            self.assertEqual(report["batches"], share)
            self.assertEqual(self.place(), 5 * batches)
        last = self.finish("--state", "out/state", *self.settings())
        self.assertEqual(batches + last["batches"], EPOCHS * per_epoch)
        self.assertEqual(last["digest"], whole["digest"])
        again = self.finish("--state", "out/state", *self.settings()) # nothing is left to do
        self.assertEqual((again["batches"], again["digest"]), (0, whole["digest"]))

    def test_whatever_the_workers(self):
        whole = self.finish()["digest"]
        for workers in (0, 1, 2, 3, 8, 16):
            for prefetch in (1, 2, 5):
                self.assertEqual(self.finish(f"num_workers={workers}", f"prefetch_factor={prefetch}")["digest"], whole)


if __name__ == "__main__":
    unittest.main()
