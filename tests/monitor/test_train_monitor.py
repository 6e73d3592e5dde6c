#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stoker train with run.monitor_interval on the fake driver: lines while it trains, a recording and a judgement in the run."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

STOKER, FAKE = os.environ["STOKER"], sys.argv.pop()
SCRIPT = "".join(f"{gpu} {curve}\n" for gpu in (0, 1) for curve in (
    "util_percent const 62", "power_w const 300", "power_limit_w const 575", "memory_used_bytes const 18e9",
    "memory_total_bytes const 24e9", "temperature_c const 64")) + "samples 50 120\n"
TASK = ["data.root=make:gray?count=64", "data.image_size=32", "data.batch_size=16", "model.name=resnet", "model.width=8", "train.epochs=4"]


class TrainMonitor(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.addCleanup(self.scratch.cleanup)
        self.folder = pathlib.Path(self.scratch.name)
        (self.folder / "script").write_text(SCRIPT)

    def train(self, *words, fake=True):
        environment = dict(os.environ, STOKER_MONITOR_ROOT="/nowhere", STOKER_NVML=FAKE if fake else "/nowhere",
                           STOKER_FAKE_NVML=str(self.folder / "script"))
        return subprocess.run([STOKER, "train", *TASK, "--run", self.folder / "run", *words], env=environment, capture_output=True,
                              text=True, check=True, timeout=100)

    def run_json(self):
        return json.loads((self.folder / "run" / "run.json").read_text())

    def test_lines_recording_and_judgement(self):
        text = self.train("run.monitor_interval=2").stderr
        lines = re.findall(r"^GPU (\d): util (.*)$", text, re.M)
        self.assertEqual([gpu for gpu, _ in lines], ["0", "1"] * 2, text)
        for _, line in lines:
            self.assertRegex(line, r"(62|-) %, (300|-) of 575 W, memory 18 of 24 GB, 64 °C, SM ")
        summary = self.run_json()["monitor"]
        self.assertEqual(len(summary["gpus"]), 2)
        self.assertIn("verdict", summary)
        replayed = subprocess.run([STOKER, "monitor", "--replay", self.folder / "run" / "monitor.jsonl", "--json"], check=True,
                                  capture_output=True, text=True, timeout=60).stdout.splitlines()
        self.assertEqual(json.loads(replayed[-1])["summary"], summary)

    def test_a_second_part_has_its_own_recording(self):
        self.train("run.monitor_interval=1", "--stop-after", "4")
        self.train("run.monitor_interval=1", "--resume")
        self.assertTrue((self.folder / "run" / "monitor-2.jsonl").exists())
        self.assertIn("monitor", self.run_json())

    def test_without_a_gpu(self):
        text = self.train("run.monitor_interval=2", fake=False).stderr
        self.assertRegex(text, r"run\.monitor_interval.*no GPU to monitor")
        self.assertNotIn("monitor", self.run_json())
        self.assertFalse((self.folder / "run" / "monitor.jsonl").exists())

    def test_not_asked_for(self):
        self.assertNotIn("GPU 0", self.train().stderr)
        self.assertNotIn("monitor", self.run_json())


if __name__ == "__main__":
    unittest.main(verbosity=2)
