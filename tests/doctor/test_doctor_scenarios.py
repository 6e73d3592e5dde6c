#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`stoker doctor -- python3 SCENARIO`: real trainings with PyTorch, one fault each (scenarios/), and what must be found. Those with cuda in
their names run on the dry CUDA runtime (tests/fake/cudart), which computes nothing: calls and settings are real there, times are not."""
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent / "scenarios"
# About the machine, which others may use during the test.
MACHINE = {"cpu_competition", "cpu_full", "io_pressure", "memory_near_limit", "swapping", "orphan_workers", "quota_throttled", "storage_slow"}
# Scenario: findings that must be there, the largest first; None: nothing else may be there. With "…" others may follow.
EXPECTED = {
    "healthy_cpu": [],
    "workers_zero": ["workers_zero"],
    "workers_few": ["workers_few"],
    "workers_started_each_epoch": ["workers_not_persistent"],
    "item_loop": ["item_loop"],
    "zero_grad_kept": ["zero_grad_kept"],
    "save_every_step": ["checkpoint_often"],
    "evaluate_often": ["evaluation_often"],
    "anomaly_detection": ["anomaly_detection"],
    "compile_not_called": ["compile_not_called"],
    "two_faults": ["workers_zero", "checkpoint_often"],
    "dies": ["command_died"],
    "cuda_amp_not_active": ["amp_not_active", "…"],
    "cuda_sync": ["sync_every_step", "…"],
}


def examine(name):
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "TMPDIR": folder}
        report = pathlib.Path(folder) / "report.json"
        done = subprocess.run([os.environ["STOKER"], "doctor", "--json", "--output", report, "--", sys.executable, "-B", HERE / f"{name}.py"],
                              capture_output=True, text=True, timeout=150, env=environment)
        left = [path.name for path in pathlib.Path(folder).glob("stoker-*")]
        return done, json.loads(report.read_text()), left


class Scenarios(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            cls.reports = dict(zip(EXPECTED, pool.map(examine, EXPECTED)))

    def check(self, name):
        done, report, left = self.reports[name]
        expected = EXPECTED[name]
        said = json.dumps([(f["id"], f["gain"], f["evidence"]["text"]) for f in report["findings"]], indent=1)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(left, [])
        self.assertTrue(report["hook"]["started"], report["hook"])
        self.assertIsNone(report["hook"]["note"])
        self.assertEqual(report["command_status"], 1 if name == "dies" else 0, done.stderr)
        self.assertAlmostEqual(sum(row["share"] for row in report["stall"]), 1, places=6)
        found = [f["id"] for f in report["findings"] if f["id"] not in MACHINE]
        if expected[-1:] == ["…"]:
            self.assertTrue(set(expected[:-1]) <= set(found), said)
        else:
            self.assertEqual(found, expected, said)
        return report

    def share(self, report, *names):
        return sum(row["share"] for row in report["stall"] if row["name"] in names)

    def test_delay_is_in_its_row(self):
        """64 ms of each step are sleep: 16 samples of 4 ms."""
        report = self.reports["workers_zero"][1]
        rows = {row["name"]: row["ms_per_step"] for row in report["stall"]}
        self.assertGreater(rows["dataset_code"], 64)
        work = next(row for row in report["work"] if row["kind"] == "dataset_code")
        self.assertLess(work["cpu_s"], 0.3 * work["total_s"])

    def test_call_sites(self):
        sites = {(site["call"], site["site"].rsplit("/", 1)[-1]) for site in self.reports["cuda_sync"][1]["sites"]}
        self.assertIn(("item", "cuda_sync.py:16"), sites)

    def test_no_gpu_rule_on_cpu(self):
        for name, (_, report, _) in self.reports.items():
            if not name.startswith("cuda"):
                self.assertEqual(report["hook"]["device"], "cpu")


for scenario in EXPECTED:
    setattr(Scenarios, "test_" + scenario, lambda self, name=scenario: self.check(name))

if __name__ == "__main__":
    unittest.main()
