#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stoker.Monitor, gpu_utilization and print_gpu_status against a fake driver (tests/fake/nvml) that plays a script."""
import io
import json
import os
import pathlib
import tempfile
import time
import unittest

import stoker

SCRIPT = """
gpus 2
* util_percent const 73
* power_w const 312
* power_limit_w const 400
* memory_used_bytes const 20e9
* memory_total_bytes const 80e9
* temperature_c const 64
* throttle const 1
1 util_percent const 12
"""


class Watch(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        script = pathlib.Path(self.folder.name) / "script"
        script.write_text(SCRIPT)
        before = dict(os.environ)
        self.addCleanup(lambda: (os.environ.clear(), os.environ.update(before)))
        os.environ.update(STOKER_NVML=os.environ["FAKE_NVML"], STOKER_FAKE_NVML=str(script), STOKER_MONITOR_ROOT="/nowhere")

    def test_utilization(self):
        self.assertEqual([round(percent) for percent in stoker.gpu_utilization()], [73, 12])

    def test_status(self):
        page = io.StringIO()
        stoker.print_gpu_status("load", file=page)
        first, second = page.getvalue().splitlines()
        self.assertRegex(first, r"^\[load\] GPU 0 .*: utilization 73 %, memory 20\.0 of 80\.0 GB, power 312 of 400 W, 64 °C, "
                                "held back by power limit$")
        self.assertIn("GPU 1", second)
        self.assertIn("utilization 12 %", second)

    def test_summary(self):
        record = pathlib.Path(self.folder.name) / "record.jsonl"
        with stoker.Monitor(interval=0.1, record=record) as monitor:
            self.assertRaisesRegex(RuntimeError, "still watches", monitor.summary)
            start = monitor.frame["number"]
            deadline = time.monotonic() + 60
            while monitor.frame["number"] < start + 5 and time.monotonic() < deadline:
                time.sleep(0.02)
            self.assertEqual(round(monitor.frame["gpus"][0]["util_percent"]), 73)
            self.assertIsNone(monitor.frame["gpus"][0]["fan_percent"])  # the driver does not tell: None, never 0
        summary = monitor.summary()
        self.assertEqual([gpu["index"] for gpu in summary["gpus"]], [0, 1])
        self.assertEqual([round(gpu["util_mean_percent"]) for gpu in summary["gpus"]], [73, 12])
        self.assertTrue(summary["verdict"])
        self.assertIn("GPU 1", str(monitor))
        self.assertIn("utilization", str(monitor))
        self.assertGreater(len([json.loads(line) for line in record.read_text().splitlines()]), 5)
        self.assertRaises(RuntimeError, monitor.start)
        monitor.stop()
        with stoker.Monitor(replay=record) as again:
            again._thread.join(60)
        self.assertEqual(round(again.summary()["gpus"][1]["util_mean_percent"]), 12)

    def test_no_gpu(self):
        os.environ["STOKER_NVML"] = "/nowhere"
        self.assertEqual(stoker.gpu_utilization(), [])
        page = io.StringIO()
        stoker.print_gpu_status(file=page)
        self.assertRegex(page.getvalue(), "^no GPU: .*NVIDIA.*\n$")
        with stoker.Monitor(interval=0.05) as monitor:
            pass
        self.assertIn("NVIDIA", monitor.summary()["missing_reason"])

    def test_wrong_use(self):
        self.assertRaisesRegex(stoker.Error, "interval", stoker.Monitor(interval=-1).start)
        self.assertRaises(RuntimeError, stoker.Monitor().summary)
        self.assertRaises(TypeError, stoker.Monitor, interval=None)
        with self.assertRaisesRegex(ZeroDivisionError, "division"), stoker.Monitor(demo=True, interval=0.05):
            1 / 0


if __name__ == "__main__":
    unittest.main()
