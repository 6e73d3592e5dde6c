#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/train/test_trace.py STOKER: `train --trace N` writes what Chrome's trace viewer reads; tracks, nesting, and which steps."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

STOKER = str(pathlib.Path(sys.argv.pop(1)).resolve()) if len(sys.argv) > 1 else ""
SETTINGS = ("make:gray?count=64", "data.image_size=32", "data.batch_size=4", "model.width=2", "data.val_split=0.25", "train.epochs=1",
            "train.log_interval=2", "run.threads=1")
STEPS = 4
NEAR_US = 0.002  # moments are printed with so many digits


class Trace(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.whole = cls.train("whole", "--trace", str(STEPS))
        cls.spans = [event for event in cls.whole["traceEvents"] if event["ph"] == "X"]

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    @classmethod
    def train(cls, name, *words):
        run = pathlib.Path(cls.scratch.name) / name
        subprocess.run([STOKER, "train", *SETTINGS, *words, "--run", run, "-q"], check=True, timeout=200)
        return json.loads((run / "trace.json").read_text())

    def track(self, name, spans=None):
        (thread,) = [event["tid"] for event in self.whole["traceEvents"]
                     if event["ph"] == "M" and event["name"] == "thread_name" and event["args"]["name"] == name]
        return [span for span in (self.spans if spans is None else spans) if span["tid"] == thread]

    def test_every_event_is_whole(self):
        for event in self.whole["traceEvents"]:
            self.assertIn(event["ph"], ("M", "X"))
            self.assertEqual(event["pid"], 1)
            if event["ph"] == "X":
                self.assertGreaterEqual(event["ts"], 0)
                self.assertGreaterEqual(event["dur"], 0)
                self.assertTrue(event["name"] and event["cat"])
        self.assertEqual(self.whole["otherData"]["lost_spans"], 0)
        self.assertEqual(min(span["ts"] for span in self.spans), 0)

    def test_spans_of_a_track_follow_each_other(self):
        for name in ("run", "layers"):
            spans = self.track(name)
            self.assertGreater(len(spans), STEPS)
            for before, after in zip(spans, spans[1:]):
                self.assertGreaterEqual(after["ts"], before["ts"] + before["dur"] - NEAR_US, (before, after))

    def test_as_many_steps_as_asked_for(self):
        names = [span["name"] for span in self.track("run")]
        for row in ("forward", "backward", "optimiser"):
            self.assertEqual(names.count(row), STEPS, names)
        self.assertEqual(names.count("wait for data"), STEPS)

    def test_layers_lie_inside_forward_and_backward(self):
        rows = self.track("run")
        actions = {"forward": ("forward", "loss", "metric", "hold"), "backward": ("backward", "again", "add gradients", "copy")}
        seen = {row: 0 for row in actions}
        for layer in self.track("layers"):
            (row,) = [row for row, words in actions.items() if layer["args"]["action"] in words]
            around = [span for span in rows if span["name"] == row and span["ts"] <= layer["ts"] + NEAR_US
                      and layer["ts"] + layer["dur"] <= span["ts"] + span["dur"] + NEAR_US]
            self.assertEqual(len(around), 1, layer)
            seen[row] += 1
        self.assertTrue(all(count >= STEPS * 10 for count in seen.values()), seen)

    def test_layers_are_those_of_the_plan(self):
        run = json.loads((pathlib.Path(self.scratch.name) / "whole/run.json").read_text())
        planned = {layer["name"] for layer in run["layers"]}
        traced = {span["name"] for span in self.track("layers") if span["args"]["action"] == "forward"}
        self.assertTrue(traced <= planned, traced - planned)
        self.assertTrue(any("conv" in name for name in traced), traced)
        self.assertEqual(run["trace"]["spans"], len(self.spans))

    def test_evaluations_are_in_it(self):
        """With more steps than there are: up to the end, evaluation and checkpoint included."""
        names = [span["name"] for span in self.train("end", "--trace", "100")["traceEvents"]]
        self.assertEqual(names.count("optimiser"), 12 - 2)
        self.assertIn("eval", names)
        self.assertIn("checkpoint", names)


if __name__ == "__main__":
    unittest.main()
