#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/train/test_image_targets.py STOKER [--engine=NAME]: a network learns a value of each image (ten times its mean brightness)
and several labels of each (colors of squares); scores are those of its predictions, a resumed run is the same to the last bit.
Exit status 77: the engine is not available."""
import json
import math
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import small_data  # noqa: E402

ENGINE = next((word.partition("=")[2] for word in sys.argv if word.startswith("--engine=")), "auto")
sys.argv = [word for word in sys.argv if not word.startswith("--engine=")]
STOKER = str(pathlib.Path(sys.argv.pop(1)).resolve())
SMALL = ("model.width=4", "model.depth=1", "data.batch_size=16", "optimizer.lr=0.02", "data.cache=auto",
         "optimizer.schedule=one_cycle", f"run.engine={ENGINE}", "train.amp=false", "-q")


class Targets(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.addCleanup(self.place.cleanup)
        self.root = pathlib.Path(self.place.name)

    def stoker(self, *words):
        done = subprocess.run([STOKER, *map(str, words)], capture_output=True, text=True, timeout=240, cwd=self.root)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def lines(self, run):
        times = ("samples_per_s", "wait_share", "time", "elapsed_s")
        return [{key: value for key, value in json.loads(line).items() if key not in times}
                for line in (self.root / run / "metrics.jsonl").read_text().splitlines()]

    def rows(self):
        return [row.split(",") for row in (self.root / "data/labels.csv").read_text().splitlines()[1:]]

    def write_list(self, targets):
        """Every fifth image is for validation."""
        self.kept = list(targets)[::5]
        rows = [f"{file},{target},{'val' if file in self.kept else 'train'}" for file, target in targets.items()]
        (self.root / "data/labels.csv").write_text("\n".join([f"file,{self.column},split", *rows, ""]))

    def check_resume(self, *words):
        common = ("data", *SMALL, "train.log_interval=3", "augment.horizontal_flip_prob=0.5", "augment.mixup_alpha=0.4",
                  "train.epochs=3", *words)
        self.stoker("train", *common, "--run", "whole")
        self.stoker("train", *common, "--run", "parts", "--stop-after", 11)
        self.stoker("train", "--run", "parts", "--resume", "-q")
        self.assertEqual(self.lines("whole"), self.lines("parts"))
        last = sorted((self.root / "whole/checkpoints").iterdir())[-1].name
        for name in ("model.safetensors", "optimizer.safetensors"):
            files = [self.root / run / "checkpoints" / last / name for run in ("whole", "parts")]
            self.assertEqual(files[0].read_bytes(), files[1].read_bytes())

    def answers(self, key):
        found = json.loads(self.stoker("predict", "run", "data", "--json", "-q"))["predictions"]
        return {pathlib.Path(row["file"]).name: row[key] for row in found}


class ImageLabels(Targets):
    column = "tags"

    def setUp(self):
        super().setUp()
        small_data.make_labels(self.root / "data", 160, 16)
        self.truth = {file: set(tags.split(";")) for file, tags in self.rows()}
        self.write_list({file: ";".join(tags) for file, tags in self.truth.items()})

    def test_learns_and_scores(self):
        report = json.loads(self.stoker("train", "data", *SMALL, "train.epochs=8", "--run", "run", "--json"))
        self.assertEqual(report["metric"], "map")
        self.assertGreater(report["best_metric"], 0.9)
        found = json.loads(self.stoker("eval", "run", "--json", "-q"))
        said = {file: {label["name"] for label in labels} for file, labels in self.answers("labels").items()}
        hits = sum(len(said[file] & self.truth[file]) for file in self.kept)
        both = sum(len(said[file]) + len(self.truth[file]) for file in self.kept)
        self.assertAlmostEqual(found["f_score"], 2 * hits / both, delta=1e-9)
        self.assertAlmostEqual(found["map"], sum(found["ap_per_class"]) / 3, delta=1e-9)
        for c, name in enumerate(sorted(small_data.COLORS)):  # whoever is told apart at 0.5 is ranked without a mistake
            if all((name in said[file]) == (name in self.truth[file]) for file in self.kept):
                self.assertEqual(found["ap_per_class"][c], 1)
        for labels in self.answers("labels").values():
            probabilities = [label["probability"] for label in labels]
            self.assertEqual(probabilities, sorted(probabilities, reverse=True))
            self.assertTrue(all(0.5 < p <= 1 for p in probabilities))

    def test_report(self):
        self.stoker("train", "data", *SMALL, "train.epochs=1", "--run", "run")
        found = json.loads((self.root / "run/predictions.json").read_text())
        self.assertEqual((found["task"], found["score"], found["columns"]), ("multilabel", "loss", 1))
        page = (self.root / "run/report.html").read_text()
        for row in found["samples"] + found["worst"]:
            file = pathlib.Path(row["file"]).name
            self.assertEqual(set(row["truth"].split(", ")), self.truth[file])
            self.assertIn(file, page)

    def test_resumed_to_the_last_bit(self):
        self.check_resume("augment.cutmix_alpha=1", "augment.cutmix_prob=0.3")


class ImageValues(Targets):
    column = "value"

    def setUp(self):
        super().setUp()
        small_data.make_values(self.root / "data", 160, 16)
        self.truth = {file: float(value) for file, value in self.rows()}
        self.write_list(self.truth)

    def test_learns_and_scores(self):
        report = json.loads(self.stoker("train", "data", *SMALL, "train.epochs=8", "--run", "run", "--json"))
        self.assertEqual(report["metric"], "r2")
        self.assertGreater(report["best_metric"], 0.9)
        found = json.loads(self.stoker("eval", "run", "--json", "-q"))
        said = self.answers("value")
        self.assertEqual(said.keys(), self.truth.keys())
        errors = [said[file] - self.truth[file] for file in self.kept]
        mean = sum(self.truth[file] for file in self.kept) / len(self.kept)
        spread = sum((self.truth[file] - mean) ** 2 for file in self.kept)
        squares = sum(e * e for e in errors)
        self.assertAlmostEqual(found["mae"], sum(map(abs, errors)) / len(errors), delta=0.01)
        self.assertAlmostEqual(found["rmse"], math.sqrt(squares / len(errors)), delta=0.01)
        self.assertAlmostEqual(found["r2"], 1 - squares / spread, delta=1e-4)
        self.assertAlmostEqual(found["loss"], squares / len(errors), delta=0.002 * squares / len(errors) + 0.1)

    def test_report(self):
        """Pictures with both values, in predictions.json and on the page."""
        self.stoker("train", "data", *SMALL, "train.epochs=1", "--run", "run")
        found = json.loads((self.root / "run/predictions.json").read_text())
        self.assertEqual((found["task"], found["score"], found["columns"]), ("image_regression", "abs_error", 1))
        page = (self.root / "run/report.html").read_text()
        for row in found["samples"] + found["worst"]:
            file = pathlib.Path(row["file"]).name
            self.assertIn(file, self.kept)
            self.assertAlmostEqual(row["truth"], self.truth[file], delta=1e-3)
            self.assertAlmostEqual(row["abs_error"], abs(row["truth"] - row["prediction"]), delta=1e-3)
            self.assertIn(file, page)
        worst = [row["abs_error"] for row in found["worst"]]
        self.assertEqual(worst, sorted(worst, reverse=True))

    def test_constants_are_those_of_the_training_part(self):
        """Without a step the network's answer is near the mean of the values, whatever their scale."""
        self.write_list({file: value * 1000 + 5e6 for file, value in self.truth.items()})
        self.stoker("train", "data", *SMALL, "train.epochs=1", "optimizer.lr=1e-9", "--run", "run")
        score = json.loads(self.stoker("eval", "run", "--json", "-q"))
        self.assertLess(score["rmse"], 2e6)  # the deviation is 6e5, the mean 6e6
        self.assertGreater(score["rmse"], 1e5)

    def test_resumed_to_the_last_bit(self):
        self.check_resume("loss.name=smooth_l1")


if __name__ == "__main__":
    if ENGINE == "torch":
        done = subprocess.run([STOKER, "train", "make:gray?count=8", "--plan", "run.engine=torch"], capture_output=True, text=True)
        if done.returncode != 0 and "PyTorch" in done.stderr:
            sys.exit(77)
    unittest.main()
