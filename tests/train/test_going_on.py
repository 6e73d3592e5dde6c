#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/train/test_going_on.py STOKER: runs that go on with other settings, that had gone wrong, or whose files have moved."""
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

STOKER = str(pathlib.Path(sys.argv.pop(1)).resolve())
SERIES = ("make:series?count=229", "data.sequence_length=30", "data.batch_size=16", "model.hidden=4", "model.layers=1",
          "run.engine=reference")  # 200 windows: 12 batches and a half
SLIPPERY = ("optimizer.name=sgd", "loss.name=mse", "train.max_grad_norm=0", "train.log_interval=100")
DIVERGES = (*SLIPPERY, "optimizer.lr=1000")  # before step 10


class GoingOn(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.addCleanup(self.place.cleanup)
        self.root = pathlib.Path(self.place.name)
        self.run_folder = self.root / "run"

    def stoker(self, *words, status=0, **environment):
        done = subprocess.run([STOKER, *map(str, words)], capture_output=True, text=True, timeout=240, cwd=self.root,
                              env={**os.environ, **environment})
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def train(self, *words, status=0, **environment):
        done = self.stoker("train", *words, "--run", self.run_folder, status=status, **environment)
        return done.stderr

    def report(self, folder=None):
        return json.loads(((folder or self.run_folder) / "run.json").read_text())

    def in_effect(self, name, folder=None):
        return next(row["in_effect"] for row in self.report(folder)["effects"] if row["name"] == name)

    def last_weights(self):
        newest = sorted((self.run_folder / "checkpoints").iterdir())[-1]
        return hashlib.sha256((newest / "model.safetensors").read_bytes()).hexdigest()

    def test_many_slots(self):
        """More of them than anybody would make room for in advance."""
        self.train(*SERIES, "data.batch_size=4", "data.num_workers=48", "data.prefetch_factor=8", "train.epochs=9",
                   "--stop-after", 420)
        self.assertEqual(self.report()["steps"], 420)

    def test_the_line_of_an_epoch_has_all_its_steps(self):
        """Also those before a resume."""
        words = (*SERIES, "data.val_split=0.2", "train.epochs=2", "train.log_interval=3", "optimizer.lr=0.05")
        lines = []
        for number, stops in enumerate(((), (4, 9), (1, 1, 1, 8))):
            self.run_folder = self.root / f"run-{number}"
            told = self.train(*words, *(("--stop-after", stops[0]) if stops else ()))
            for steps in stops[1:]:
                told += self.train("--resume", "--stop-after", steps)
            told += self.train("--resume") if stops else ""
            lines.append(re.findall(r"epoch (\d) +loss (\S+) +val_loss (\S+)", told))
        self.assertEqual([line[0] for line in lines[0]], ["1", "2"])
        self.assertEqual(lines[1:], [lines[0], lines[0]])
        log = (self.root / "run-0/metrics.jsonl").read_text().splitlines()
        losses = [json.loads(line)["loss"] for line in log if '"loss"' in line]
        self.assertNotAlmostEqual(losses[0], float(lines[0][0][1]), 3)  # the first half alone is another number

    def test_a_run_from_before_left_and_right_changed_places(self):
        """Its settings have no data.flip_pairs: refused, or as it was, or by the new rule, as told."""
        words = ("make:faces?count=8", "data.image_size=64", "data.batch_size=2", "model.width=2", "model.depth=1", "train.epochs=1",
                 "run.engine=reference", "augment.horizontal_flip_prob=1")
        weights = []
        for number, told in enumerate(("none", "auto", None)):
            self.run_folder = self.root / f"run-{number}"
            self.train(*words, "data.flip_pairs=none", "--stop-after", 2)
            settings = self.run_folder / "config.yaml"
            lines = settings.read_text().splitlines(keepends=True)
            settings.write_text("".join(line for line in lines if "flip_pairs" not in line))
            if told:
                self.train("--resume", f"data.flip_pairs={told}")
                weights.append(self.last_weights())
                continue
            error = self.train("--resume", status=2)
            self.assertIn("the run was begun without data.flip_pairs", error)
            self.assertIn("data.flip_pairs=none resumes as it was begun", error)
        self.run_folder = self.root / "whole"
        self.train(*words, "data.flip_pairs=none")
        weights.append(self.last_weights())
        self.assertEqual(weights[0], weights[2])
        self.assertNotEqual(weights[0], weights[1])

    def test_other_batches_begin_the_epoch_again(self):
        self.train(*SERIES, "train.epochs=1", "--stop-after", 5)
        told = self.train("--resume", "data.batch_size=24")  # 200 = 8 x 24 + 8, 120 = 5 x 24
        self.assertIn("epoch 1 restarts: the batch size has changed", told)
        self.assertEqual((self.report()["steps"], self.report()["epochs"]), (5 + 9, 1))

    def test_other_batches_behind_an_epoch(self):
        """All of its batches were trained on, but its end was not reached: it ends, and no epoch is lost."""
        for size, more in ((40, 5), (8, 25)):
            self.run_folder = self.root / f"run-{size}"
            self.train(*SERIES, "train.epochs=2", "--stop-after", 13)
            told = self.train("--resume", f"data.batch_size={size}")
            self.assertNotIn("restarts", told)
            self.assertEqual((self.report()["steps"], self.report()["epochs"]), (13 + more, 2))

    def test_no_checkpoint_of_what_is_no_number(self):
        told = self.train(*SERIES, *DIVERGES, "--stop-after", 10, status=1)
        self.assertIn("loss is NaN or infinite at step 10", told)
        self.assertNotIn("newest checkpoint", told)
        self.assertFalse((self.run_folder / "checkpoints").exists() and any((self.run_folder / "checkpoints").iterdir()))

    def test_what_failed_in_a_grid_is_tried_again(self):
        """Its only epoch was over when it did."""
        words = ("train", *SERIES, *SLIPPERY, "train.epochs=1", "--grid", "optimizer.lr=1000,1e-6", "--run", "grid",
                 "--json")
        for _ in range(2):
            states = [run["state"] for run in json.loads(self.stoker(*words, status=1).stdout)["runs"]]
            self.assertEqual(sorted(states), ["done", "failed"])

    def test_a_grid_goes_on_with_its_values(self):
        """Whatever the environment says."""
        words = ("train", *SERIES, "train.epochs=1", "--grid", "optimizer.lr=0.01,0.02", "--run", "grid")
        environment = {"STOKER_OPTIMIZER_LR": "0.5"}
        self.stoker(*words, **environment)
        runs = sorted(path for path in (self.root / "grid").iterdir() if path.is_dir())
        for run in runs:
            (run / "run.json").unlink()  # as if it had been killed at its end
        self.stoker(*words, **environment)
        self.assertEqual([float(self.in_effect("optimizer.lr", run)) for run in runs], [0.01, 0.02])

    def test_settings_changed_on_the_way_stay(self):
        self.train(*SERIES, "train.epochs=1")
        self.train("--resume", "train.epochs=3", "--stop-after", 2)
        self.train("--resume")
        self.assertEqual((self.report()["epochs"], self.report()["steps"]), (3, 39))

    def test_settings_that_do_not_fit_are_not_kept(self):
        self.train(*SERIES, "train.epochs=2", "--stop-after", 2)
        before = (self.run_folder / "config.yaml").read_bytes()
        self.train("--resume", "model.hidden=5", status=1)
        self.assertEqual((self.run_folder / "config.yaml").read_bytes(), before)
        self.train("--resume")

    def test_that_it_went_on_is_no_setting_of_the_run(self):
        """Whoever asks for it: the next start from config.yaml is a new one."""
        (self.root / "on.yaml").write_text("run: {resume: true}\n")
        self.train(*SERIES, "train.epochs=2", "--stop-after", 1)
        self.train("--resume", "--stop-after", 1)
        kept = (self.run_folder / "config.yaml").read_text()
        self.assertIn("  resume: auto\n", kept)
        for words, environment in ((("run.resume=true",), {}), (("on.yaml",), {}),
                                   ((), {"STOKER_RUN_RESUME": "true"}), (("run.resume=yes",), {})):
            self.assertIn("resumed from step", self.train(*words, "--stop-after", 1, **environment))
            self.assertEqual((self.run_folder / "config.yaml").read_text(), kept)
        self.run_folder = self.root / "second"
        self.train(self.root / "run" / "config.yaml", "run.resume=false", "--stop-after", 1)
        self.assertEqual((self.run_folder / "config.yaml").read_text(), kept)

    def test_a_file_comes_on_top_of_the_settings_of_a_run(self):
        (self.root / "more.yaml").write_text("optimizer: {lr: 0.25}\n")
        self.train(*SERIES, "train.epochs=2", "optimizer.weight_decay=0.125", "--stop-after", 2)
        self.train("more.yaml", "--resume")
        self.assertEqual(float(self.in_effect("optimizer.lr")), 0.25)
        self.assertEqual(float(self.in_effect("optimizer.weight_decay")), 0.125)

    def test_weights_it_began_with_are_needed_no_more(self):
        self.train(*SERIES, "train.epochs=1")
        start, = (self.run_folder / "checkpoints").iterdir()
        weights = self.root / "weights.safetensors"
        weights.write_bytes((start / "model.safetensors").read_bytes())
        self.run_folder = self.root / "second"
        self.train(*SERIES, f"model.weights={weights}", "data.val_split=0.2", "train.epochs=3", "--stop-after", 2)
        weights.unlink()
        self.train("--resume", "--stop-after", 2)
        self.stoker("eval", self.run_folder)
        self.assertEqual(self.in_effect("model.weights"), str(weights))

    def test_a_checkpoint_that_was_passed_over_is_told(self):
        self.train(*SERIES, "data.val_split=0.2", "train.epochs=2", "train.keep=5")
        found = json.loads(self.stoker("eval", self.run_folder, "--json").stdout)["checkpoint"]
        (pathlib.Path(found) / "model.safetensors").write_bytes(b"")
        self.assertIn("1 checkpoint is not valid and passed over: ", self.stoker("eval", self.run_folder).stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
