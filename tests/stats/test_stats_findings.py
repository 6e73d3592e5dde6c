#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stoker stats: each finding appears on a set made with it, and on no clean one; the text and --json agree."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import stats_sets

STOKER = os.environ["STOKER"]


def run(*words, status=0):
    done = subprocess.run([STOKER, "stats", *map(str, words)], capture_output=True, text=True, timeout=120)
    assert done.returncode == status, (words, done.returncode, done.stdout, done.stderr)
    return done.stdout


class Findings(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.place = pathlib.Path(self.scratch.name)

    def tearDown(self):
        self.scratch.cleanup()

    def look(self, maker, name="data", *more):
        settings = stats_sets.make(maker, self.place / name)
        words = [*([] if any("root=" in word for word in settings) else [self.place / name]), *settings, *more]
        return json.loads(run("--json", *words)), words

    def found(self, report):
        return [finding["id"] for finding in report["findings"]]

    def test_clean(self):
        for name, maker in stats_sets.CLEAN.items():
            with self.subTest(name):
                report, words = self.look(maker, name)
                self.assertEqual(self.found(report), [])
                self.assertIn("findings: none", run(*words))

    def test_each_finding(self):
        for name, maker in stats_sets.FOUND.items():
            with self.subTest(name):
                report, words = self.look(maker, name)
                self.assertIn(name, self.found(report))
                others = {"tiny_images": [], "mixed_channels": ["corrupt_samples"]}.get(name, [])
                self.assertEqual([found for found in self.found(report) if found not in others], [name])
                finding = next(row for row in report["findings"] if row["id"] == name)
                text = run(*words)
                self.assertIn(f"{finding['text']} ({name})", text)
                self.assertIn(f"hint: {finding['hint']}", text)
                for path in finding["paths"]:
                    self.assertIn(path, text)

    def test_rules_are_all_made(self):
        """The table of rules and the sets made here have the same ids."""
        source = (pathlib.Path(__file__).parents[2] / "src/session/stats/data_findings.c").read_text()
        ids = [line.split('"')[1] for line in source.splitlines() if line.startswith('    {"')]
        self.assertEqual(sorted(ids), sorted(stats_sets.FOUND))

    def test_examples(self):
        one = self.look(stats_sets.duplicates, "duplicates")[0]["findings"][0]
        self.assertEqual([pathlib.Path(path).name for path in one["paths"]], ["000.png", "copy.png"])
        self.assertEqual(one["count"], 1)
        one = self.look(stats_sets.train_val_overlap, "overlap")[0]["findings"][0]
        self.assertEqual([path.split("/")[-3:] for path in one["paths"]], [["train", "cat", "002.png"], ["val", "dog", "other.png"]])
        one = self.look(stats_sets.empty_masks, "empty")[0]["findings"][0]
        self.assertEqual((one["count"], one["paths"][0].split("/")[-2:]), (2, ["masks", "005.png"]))
        one = self.look(stats_sets.mask_ids_out_of_range, "ids")[0]["findings"][0]
        self.assertEqual((one["count"], one["total"]), (2, 12))

    def test_parts(self):
        report, words = self.look(stats_sets.overlap_by_split)
        self.assertEqual(self.found(report), ["train_val_overlap", "duplicates"])
        self.assertEqual(report["content"]["compared_with"], "val")
        self.assertEqual(report["content"]["compared_samples"], 11)
        other = json.loads(run("--json", *words, "part=val"))
        self.assertEqual(other["content"]["compared_with"], "train")
        self.assertGreater(other["content"]["in_both"], 0)

    def test_parts_by_a_column(self):
        """A file in two parts of a list: the second row is bad, and its content is not read."""
        for first, second in (("train", "val"), ("val", "train")):
            report, _ = self.look(stats_sets.overlap_by_column(first, second), first)
            one = [row for row in report["findings"] if row["id"] == "train_val_overlap"][0]
            self.assertEqual((one["severity"], one["count"]), ("error", 2))
            self.assertEqual(report["content"]["in_both"], 2)
            self.assertIn("labels.csv:", one["paths"][first == "train"])

    def test_settings_answer(self):
        """A setting that answers a finding ends it."""
        for maker, setting in ((stats_sets.mixed_sizes, "image_size=16"), (stats_sets.mixed_channels, "channels=3"),
                               (stats_sets.binary_masks, "mask_map=0:0,255:1")):
            with self.subTest(setting):
                report, _ = self.look(maker, maker.__name__, setting)
                self.assertNotIn(maker.__name__, [row["id"] for row in report["findings"] if row["severity"] != "note"])

    def test_workers(self):
        """Nothing depends on the number of workers."""
        for maker in (stats_sets.mixed_sizes, stats_sets.duplicates, stats_sets.empty_masks, stats_sets.misnamed_files):
            _, words = self.look(maker, maker.__name__)
            self.assertEqual(run("--json", *words, "num_workers=1"), run("--json", *words, "num_workers=3"))

    def test_numbers(self):
        stats_sets.make(stats_sets.series_text, self.place / "text")
        report = json.loads(run("--json", self.place / "text"))
        self.assertEqual(self.found(report), ["series_nan"])
        columns = {column["name"]: column for column in report["series"]["columns"]}
        self.assertEqual(list(columns), ["time", "load", "heat", "target"])
        self.assertEqual((columns["heat"]["not_numbers"], columns["load"]["not_numbers"]), (1, 0))
        self.assertEqual((columns["time"]["step"], columns["time"]["gaps"], columns["load"]["step"]), (10, 0, None))
        self.assertEqual((columns["target"]["target"], columns["target"]["max"]), (True, 199 / 8))
        values = [i * i % 97 for i in range(200)]
        mean = sum(values) / 200
        self.assertAlmostEqual(columns["load"]["mean"], mean, places=6)
        self.assertAlmostEqual(columns["load"]["std"], (sum((v - mean) ** 2 for v in values) / 200) ** 0.5, places=6)
        self.assertEqual((report["series"]["rows"], report["series"]["bad_rows"]), (200, 1))

    def test_sizes_and_formats(self):
        folder = self.place / "mixed"
        stats_sets.classes(folder)
        for i in range(5):
            stats_sets.write(folder / f"dog/more{i}.png", stats_sets.photo(60 + i, 40 + 10 * i, 100))
        stats_sets.write(folder / "cat/deep.png", stats_sets.gray(9, depth=16))
        report = json.loads(run("--json", folder))
        self.assertEqual(report["width_px"], {"min": 24, "median": 24, "max": 80})
        self.assertEqual(report["height_px"], {"min": 16, "median": 16, "max": 100})
        self.assertEqual(report["orientation"], {"landscape": 13, "portrait": 5, "square": 0})
        self.assertEqual(report["sizes"][0], {"w": 24, "h": 16, "count": 13})
        self.assertEqual((report["different_sizes"], report["other_sizes"]), (6, 0))
        self.assertEqual(sum(row["count"] for row in report["width_histogram"]), 18)
        self.assertEqual(report["image_files"], {"count": 18, "formats": {"PNG": 18}, "gray": 1, "rgb": 17, "palette": 0,
                                                 "over_8_bits": 1, "exif_turned": 0, "misnamed": 0})

    def test_points(self):
        report, _ = self.look(stats_sets.points_outside)
        self.assertEqual([(row["visible"], row["missing"], row["outside"]) for row in report["points"]], [(5, 0, 1), (6, 0, 0)])
        self.assertEqual((report["points"][0]["x_min_px"], report["points"][0]["x_max_px"]), (5, 5))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
