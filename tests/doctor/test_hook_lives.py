#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How processes with the doctor's hook begin, go on and end; and a hook that fails."""
import ast
import pathlib
import signal
import tempfile
import unittest

from hook_case import SCRIPTS, Case, Run, started_together

HOOK = pathlib.Path(__file__).resolve().parents[2] / "src/doctor/hook"


class WithoutTorch(Case):
    def test_isolated(self):
        for option in ("-I", "-E", "-S"):
            run = Run([option, "-c", "print(1)"])
            self.assertEqual((run.out, run.err, run.status), ("1\n", "", 0))
            self.assertEqual((run.records["hook_started"], run.files), (False, []))
            self.assertIn("-I", run.records["hook_note"])

    def test_no_torch(self):
        bare, run = (Run(["-c", "import sys; print(sys.path, 'json' in sys.modules)"], hook) for hook in (False, True))
        self.assertEqual((run.out, run.err), (bare.out, bare.err))
        self.assertEqual((run.records["hook_started"], run.records["trainers"]), (True, 0))
        self.assertIn("torch", run.records["hook_note"])

    def test_other_customizations(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("sitecustomize", "usercustomize"):
                (pathlib.Path(folder) / f"{name}.py").write_text(f"print('{name} of the user', __file__.startswith('{folder}'))\n")
            words = ["-c", "import sitecustomize, sys; print(sitecustomize.__file__)"]
            bare, seen = (Run(words, hook, env={"PYTHONPATH": folder}) for hook in (False, True))
            self.assertIn("sitecustomize of the user True", bare.out)
            self.assertEqual((seen.out, seen.err), (bare.out, bare.err))
            (pathlib.Path(folder) / "sitecustomize.py").write_text("import missing_module\n")
            bare, seen = (Run(["-c", ""], hook, env={"PYTHONPATH": folder}) for hook in (False, True))
            self.assertEqual((seen.out, seen.err, seen.status), (bare.out, bare.err, bare.status))

    def test_old_pythons(self):
        ast.parse((HOOK / "sitecustomize.py").read_text(), feature_version=(3, 4))
        for file in (HOOK / "stoker_hook").glob("*.py"):
            ast.parse(file.read_text(), feature_version=(3, 9))

    def test_folder_that_cannot_be_written(self):
        run = Run(["-c", "print(1)"], env={"STOKER_DOCTOR_DIR": "/nowhere"}, change=lambda place: None)
        self.assertEqual((run.out, run.err), ("1\n", ""))
        bad = Run(["-c", "import os; os.environ['STOKER_DOCTOR_DIR'] = '/nowhere'; os.execlp('python3', 'python3', '-c', 'print(1)')"])
        self.assertEqual((bad.out, bad.err), ("1\n", ""))


class WithTorch(Case):
    @classmethod
    def setUpClass(cls):
        def break_hook(folder):
            (folder / "stoker_hook/loader.py").write_text("broken = 1 / 0\n")
        cls.killed, cls.scaled, cls.predicted, cls.forked, cls.profiled, cls.broken = started_together(
            (Run, ["lives.py", "exec"]), (Run, ["lives.py", "scale"]), (Run, ["lives.py", "predict"]), (Run, ["lives.py", "forked"]),
            (Run, ["-m", "cProfile", "lives.py", "predict"]), (Run, ["lives.py", "predict"], True, None, None, break_hook))

    def test_exec_and_kill(self):
        self.assertEqual((self.killed.status, len(self.killed.files)), (-signal.SIGKILL, 2))
        self.assertEqual((self.killed.records["trainers"], self.killed.records["steps_total"]), (1, 50))
        self.assertEqual(self.killed.records["loaders"][0]["batches"], 50)

    def test_scaler(self):
        torch = self.scaled.records["torch"]
        self.assertEqual((torch["scaler_skips"], torch["scale_first"], torch["scale_last"]), (1, 256, 128))
        self.assertEqual(self.scaled.records["steps_total"], 1 + 7)
        self.assertEqual((torch["tf32_matmul"], torch["out_of_memory"]), (True, 1))
        self.assertTrue(self.scaled.err.endswith("OutOfMemoryError: as PyTorch says it\n"))
        self.assertNotIn("stoker_hook", self.scaled.err)

    def test_prediction(self):
        records = self.predicted.records
        self.assertEqual((records["steps_total"], records["trainers"], records["optimizers"]), (3, 1, []))
        self.assertTrue(all(step["batches"] == 1 and step["forward"] > 0 for step in records["steps"]))
        self.assertEqual(self.row(records["sites"], call="item")["count"], 3)
        self.assertEqual(self.row(records["loaders"], training=False)["batches"], 3)

    def test_fork(self):
        self.assertEqual(len(self.forked.files), 2)
        self.assertEqual((self.forked.records["trainers"], self.forked.records["steps_total"]), (2, 7))
        self.assertEqual([row["steps"] for row in self.forked.records["optimizers"] if row["steps"]], [7])
        self.assertIn("AttributeError: module 'torch'", self.forked.err)

    def test_profiler(self):
        self.assertEqual((self.profiled.status, self.profiled.records["steps_total"]), (0, 3))
        self.assertIn("function calls", self.profiled.out)

    def test_broken_hook(self):
        self.assertEqual((self.broken.out, self.broken.err, self.broken.status), (self.predicted.out, self.predicted.err, 0))
        self.assertIn("ZeroDivisionError", self.broken.records["hook_note"])


if __name__ == "__main__":
    unittest.main()
