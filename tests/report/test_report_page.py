#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""report.html as a text: it is well-formed, needs nothing else, and has the numbers of the run."""
import html.parser
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

import small_runs

STOKER, FAKE = os.environ["STOKER"], sys.argv.pop()
VOID = {"meta", "img", "br", "input", "hr", "link"}
SVG_NAMES = {"viewbox": "viewBox", "preserveaspectratio": "preserveAspectRatio"}


class Page(html.parser.HTMLParser):
    """Elements by tag, with attributes and text; fails where tags do not match."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.elements, self.text = [], [], text
        self.feed(text)
        self.close()
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.elements.append({"tag": tag, "attrs": dict(attrs), "text": "", "inside": [element["tag"] for element in self.open]})
        if tag not in VOID:
            self.open.append(self.elements[-1])

    def handle_startendtag(self, tag, attrs):
        self.elements.append({"tag": tag, "attrs": dict(attrs), "text": "", "inside": [element["tag"] for element in self.open]})

    def handle_endtag(self, tag):
        assert self.open and self.open[-1]["tag"] == tag, f"</{tag}> closes {self.open[-1]['tag'] if self.open else 'nothing'}"
        self.open.pop()

    def handle_data(self, data):
        for element in self.open:
            element["text"] += data

    def all(self, tag):
        return [element for element in self.elements if element["tag"] == tag]

    def first(self, tag):
        return self.all(tag)[0]["text"]

    def ids(self):
        return [element["attrs"]["id"] for element in self.all("section")]

    def charts(self):
        """{title: {name of a line: [(x, y)]}}, read as XML: what is between <svg> and </svg> is well-formed."""
        found = {}
        for source in re.findall(r"<svg viewBox.*?</svg>", self.text, re.S):
            svg = xml.etree.ElementTree.fromstring(source)
            chart = found[svg.get("aria-label")] = {}
            for path in svg.iter("path"):
                xs, ys = ([float(number) for number in path.get(key).split()] for key in ("data-x", "data-y"))
                assert len(xs) == len(ys) == len(re.findall("[ML]", path.get("d"))), path.attrib
                assert all(math.isfinite(float(number)) for number in re.findall(r"-?[\d.]+", path.get("d")))
                chart[path.get("data-name")] = list(zip(xs, ys))
        return found


def read(run):
    return Page((run / "report.html").read_text(encoding="utf-8"))


def points(run, key, scale=1):
    return [(line["step"], float(f"{line[key] * scale:.7g}")) for line in small_runs.lines(run) if line.get(key) is not None]


class ReportPage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.place = pathlib.Path(cls.scratch.name)
        cls.runs = {task: small_runs.make_task(STOKER, cls.place, task) for task in small_runs.TASKS}

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def rewrite(self, run):
        subprocess.run([STOKER, "report", run, "-q"], check=True, timeout=60)
        return read(run)

    def assert_points(self, chart, name, expected):
        self.assertEqual(len(chart.get(name, [])), len(expected), name)
        for told, wanted in zip(chart.get(name, []), expected):
            self.assertEqual(told[0], wanted[0])
            self.assertAlmostEqual(told[1], wanted[1], delta=1e-6 * max(1e-9, abs(wanted[1])))

    def test_charts_have_the_numbers_of_metrics(self):
        for task, run in self.runs.items():
            with self.subTest(task):
                charts = read(run).charts()
                keys = {key.removeprefix("val_") for line in small_runs.lines(run) for key in line}
                for key in keys - {"step", "epoch", "lr", "grad_norm", "samples_per_s", "wait_share"}:
                    self.assert_points(charts[key], "training", points(run, key))
                    self.assert_points(charts[key], "validation", points(run, "val_" + key))
                    self.assertGreater(len(charts[key]["training"]), 2)
                    self.assertEqual(len(charts[key]["validation"]), 3)
                self.assert_points(charts["learning rate"], "learning rate", points(run, "lr"))
                self.assert_points(charts["samples per second"], "samples per second", points(run, "samples_per_s"))
                self.assert_points(charts["gradient norm"], "gradient norm", points(run, "grad_norm"))
                self.assert_points(charts["data wait"], "data wait", points(run, "wait_share", 100))

    def test_nothing_comes_from_elsewhere(self):
        for task, run in self.runs.items():
            with self.subTest(task):
                page = read(run)
                for element in page.elements:
                    for key in ("src", "href", "srcset", "action", "data", "xlink:href"):
                        self.assertTrue(element["attrs"].get(key, "data:").startswith("data:"), element["attrs"])
                self.assertFalse(re.search(r"url\((?!data:)|@import", page.text))
                self.assertIsNone(re.search(r"https?://(?!www\.w3\.org/2000/svg)", page.text))

    def test_title_and_sections(self):
        for task, run in self.runs.items():
            with self.subTest(task):
                page, report = read(run), json.loads((run / "run.json").read_text())
                title = page.first("title")
                self.assertTrue(title.startswith(f"{report['network']} on "), title)
                self.assertIn(report["metric"], title)
                self.assertIn(f"{report['best_metric']:.3g}"[:5], title)
                self.assertIn(report["date"][:10], title)
                classes = ["classes"] if task in ("segmentation", "classification") else []
                self.assertEqual(page.ids(), ["charts", "answers", *classes, "stall", "effects", "plan", "config"])
                self.assertIn("finished", page.first("header"))

    def test_answers(self):
        pages = {task: read(run) for task, run in self.runs.items()}
        for task in ("segmentation", "points"):
            self.assertIn("url(data:image/png;base64,iVBORw0KGgo", pages[task].text)
            cuts = [element["attrs"]["style"] for element in pages[task].all("div") if element["attrs"].get("class") == "cut"]
            answers = json.loads((self.runs[task] / "predictions.json").read_text())
            self.assertEqual((len(answers["samples"]), len(answers["worst"])), (4, 6))
            self.assertEqual(len(set(cuts)), 3 * (4 + 6))
        samples = json.loads((self.runs["classification"] / "predictions.json").read_text())["samples"]
        captions = [element["text"] for element in pages["classification"].all("figcaption") if "figure" in element["inside"]]
        captions = [text for text in captions if "✓" in text or "✗" in text]
        worst = json.loads((self.runs["classification"] / "predictions.json").read_text())["worst"]
        self.assertEqual((len(samples), len(worst)), (12, 6))
        self.assertEqual(len(captions), len(samples) + len(worst))
        self.assertGreaterEqual(len({sample["truth"] for sample in samples}), 8)  # from all of the part, not one class after another
        for caption, sample in zip(captions, samples + worst):
            self.assertIn(pathlib.PurePath(sample["file"]).name, caption)
            self.assertIn(sample["prediction"], caption)
            self.assertEqual("✓" in caption, sample["prediction"] == sample["truth"])
            self.assertTrue(1 / 10 <= sample["probability"] <= 1, sample)
        samples = json.loads((self.runs["regression"] / "predictions.json").read_text())["samples"]
        chart = pages["regression"].charts()["predictions"]
        for name in ("truth", "prediction"):
            self.assert_points(chart, name, [(i, float(f"{sample[name]:.7g}")) for i, sample in enumerate(samples)])

    def test_worst_samples(self):
        """The score of each sample is known from the tables of all of them: a validation set smaller than what is kept."""
        low = {"segmentation": False, "points": True, "classification": True, "regression": True}
        for task, run in self.runs.items():
            with self.subTest(task):
                answers, text = json.loads((run / "predictions.json").read_text()), read(run).first("main")
                scores = [sample[answers["score"]] for sample in answers["worst"]]
                self.assertEqual(scores, sorted(scores, reverse=low[task]))
                self.assertEqual(len({sample["sample_id"] for sample in answers["worst"]}), len(scores))
                kept = [sample[answers["score"]] for sample in answers["samples"]
                        if sample["sample_id"] not in {other["sample_id"] for other in answers["worst"]}]
                self.assertTrue(all(score <= scores[-1] if low[task] else score >= scores[-1] for score in kept))
                self.assertIn("Worst samples", text)
                for sample in answers["worst"]:
                    self.assertIn(pathlib.PurePath(sample["file"]).name, text)
        worst = json.loads((self.runs["regression"] / "predictions.json").read_text())["worst"][0]
        self.assertAlmostEqual(abs(worst["truth"] - worst["prediction"]), worst["abs_error"], delta=1e-9)

    def check_scores(self, run, unit):
        """The table and the matrix of the page, against the counts of run.json."""
        page, report = read(run), json.loads((run / "run.json").read_text())
        told = report["evaluation"]
        names, counts = [row["name"] for row in told["classes"]], told["confusion"]
        self.assertEqual(told["unit"], unit)
        for i, row in enumerate(told["classes"]):
            truth, found, hits = sum(counts[i]), sum(line[i] for line in counts), counts[i][i]
            self.assertEqual((row["count"], row["predicted"]), (truth, found))
            for key, above, below in (("recall", hits, truth), ("precision", hits, found), ("f_score", 2 * hits, truth + found)):
                if below:
                    self.assertAlmostEqual(row[key], above / below, delta=1e-12)
                else:
                    self.assertIsNone(row[key])
        (table,) = [element for element in page.all("table") if element["attrs"].get("class") == "scores"]
        (matrix,) = [element for element in page.all("table") if element["attrs"].get("class") == "confusion"]
        for name in names:
            self.assertIn(name, table["text"])
            self.assertIn(name, matrix["text"])
        cells = [element for element in page.all("td") if (element["attrs"].get("class") or "").split(" ")[0] in ("hit", "miss")]
        self.assertEqual([int(cell["attrs"]["title"]) for cell in cells], [count for line in counts for count in line if count])
        self.assertEqual(sum(cell["attrs"]["class"].startswith("hit") for cell in cells), sum(counts[i][i] > 0 for i in range(len(names))))
        last = [line for line in small_runs.lines(run) if "val_loss" in line][-1]
        return report, told, last

    def test_classes_of_samples(self):
        report, told, last = self.check_scores(self.runs["classification"], "samples")
        counts = told["confusion"]
        self.assertEqual(sum(map(sum, counts)), report["data"]["val_samples"])
        self.assertAlmostEqual(sum(counts[i][i] for i in range(10)) / report["data"]["val_samples"], last["val_top1"], delta=1e-6)
        largest = told["largest_confusions"]
        self.assertEqual([row["count"] for row in largest], sorted((row["count"] for row in largest), reverse=True))
        names = [row["name"] for row in told["classes"]]
        for row in largest:
            self.assertEqual(counts[names.index(row["truth"])][names.index(row["prediction"])], row["count"])

    def test_classes_of_pixels(self):
        run = self.runs["segmentation"]
        report, told, last = self.check_scores(run, "pixels")
        self.assertEqual(sum(map(sum, told["confusion"])), report["data"]["val_samples"] * 32 * 32)
        known = [row["iou"] for row in told["classes"] if row["iou"] is not None]
        self.assertAlmostEqual(sum(known) / len(known), last["val_miou"], delta=1e-6)
        self.assertTrue(any(row["precision"] is None for row in told["classes"]))  # never predicted: unknown, not 0
        text = read(run).text
        legend = json.loads((run / "predictions.json").read_text())["legend"]
        self.assertEqual([row["name"] for row in legend][:2] + [legend[-1]["name"]], ["background", "skin", "ignored"])
        for row, other in zip(told["classes"][1:], legend[1:]):
            self.assertEqual((row["name"], row["colour"]), (other["name"], other["colour"]))
            self.assertGreaterEqual(text.count(f'background:{row["colour"]}'), 2)  # in the legend and in the table
        self.assertEqual(json.loads((self.runs["points"] / "run.json").read_text())["evaluation"], None)

    def test_many_classes(self):
        run = self.place / "many"
        run.mkdir()
        names = [f"<k{i}>" for i in range(30)]
        classes = [{"name": name, "colour": 'red"', "count": 2, "predicted": 2, "precision": None, "recall": 0.5, "f_score": 0.5} for name in names]
        rows = [{"truth": names[1], "prediction": names[2], "count": 77}]
        (run / "run.json").write_text(json.dumps({"evaluation": {"unit": "samples", "classes": classes, "confusion": None, "largest_confusions": rows}}))
        page = self.rewrite(run)
        (table,) = [element for element in page.all("table") if element["attrs"].get("class") == "confusions"]
        self.assertIn("77", table["text"])
        self.assertIn("<k1>", table["text"])
        self.assertFalse([element for element in page.all("table") if element["attrs"].get("class") == "confusion"])
        self.assertIn("all 30 classes", page.first("summary"))

    def test_stall_table(self):
        for task, run in self.runs.items():
            with self.subTest(task):
                page, report = read(run), json.loads((run / "run.json").read_text())
                (bar,) = re.findall(r'<svg class="bar".*?</svg>', page.text, re.S)
                widths = [float(rect.get("width")) for rect in xml.etree.ElementTree.fromstring(bar).iter("rect")]
                self.assertEqual(len(widths), sum(row["share"] > 0 for row in report["stall"]))
                self.assertAlmostEqual(sum(widths), 1000, delta=10)
                (table,) = [element for element in page.all("table") if element["attrs"].get("class") == "stall"]
                shares = [float(text) for text in re.findall(r"(-?[\d.]+) %", table["text"])]
                self.assertEqual(shares, [float(f"{100 * row['share']:.1f}") for row in report["stall"]])

    def test_effects_plan_and_config(self):
        run = self.runs["segmentation"]
        page, report = read(run), json.loads((run / "run.json").read_text())
        different, everything = [element for element in page.all("table") if element["attrs"].get("class") == "effects"]
        (amp,) = [row for row in report["effects"] if row["name"] == "train.amp"]
        if amp["why"]:
            self.assertIn(amp["why"], different["text"])
        self.assertEqual(everything["text"].count("\n") - 1, len(report["effects"]))
        (layers,) = [element for element in page.all("table") if element["attrs"].get("class") == "layers"]
        self.assertEqual(layers["text"].count("\n") - 1, len(report["layers"]))
        self.assertIn(report["layers"][0]["output"], layers["text"])
        self.assertEqual(page.first("pre"), (run / "config.yaml").read_text())

    def test_hostile_names(self):
        run = small_runs.make_hostile(STOKER, self.place)
        page = read(run)
        self.assertEqual(len(page.all("script")), 1)
        self.assertEqual(page.all("b"), [b for b in page.all("b") if "script" not in b["text"]])
        self.assertIn('on <script>alert("x")<\\script>&\'"', page.first("h1"))
        self.assertIn("<b>&amp;", page.first("main"))  # a class, as it is called

    def test_gpus(self):
        run = small_runs.make_gpu(STOKER, self.place, FAKE)
        page, report = read(run), json.loads((run / "run.json").read_text())
        self.assertIn("gpus", page.ids())
        self.assertIn(report["monitor"]["verdict"], page.first("main"))
        frames = [json.loads(line) for line in (run / "monitor.jsonl").read_text().splitlines()]
        known = [frame for frame in frames if "number" in frame and frame["gpus"][1]["readings"]["util_percent"] is not None]
        chart = page.charts()["GPU utilization"]
        self.assertEqual(list(chart), ["GPU 0", "GPU 1"])
        self.assertEqual([y for _, y in chart["GPU 1"]], [62.0] * len(known))
        self.assertEqual({y for line in page.charts()["GPU power"].values() for _, y in line}, {300.0})
        self.assertEqual({y for line in page.charts()["GPU memory"].values() for _, y in line}, {75.0})
        self.assertNotIn("incomplete", page.first("main"))
        with open(run / "monitor.jsonl", "r+") as file: # what a kill leaves
            file.truncate(os.path.getsize(run / "monitor.jsonl") - 40)
        self.assertIn("A recording is incomplete", self.rewrite(run).first("main"))

    def test_runs_that_are_not_whole(self):
        one = small_runs.train(STOKER, self.place / "one", *small_runs.TASKS["classification"][:-1], "--stop-after", "1", "train.log_interval=1")
        page = read(one)
        self.assertEqual([len(line) for line in page.charts()["loss"].values()], [1])
        self.assertIn("ended after step 1", page.first("header"))
        self.assertIn("--resume", page.first("header"))
        self.assertNotIn("answers", page.ids())
        self.assertNotIn("validation", page.charts()["loss"])
        nothing = small_runs.train(STOKER, self.place / "nothing", *small_runs.TASKS["classification"][:-1], "--stop-after", "1")
        self.assertIn("Nothing was logged", read(nothing).first("main"))
        (one / "run.json").unlink()
        self.assertIn("unfinished", self.rewrite(one).first("header"))

    def test_gaps(self):
        run = self.place / "gaps"
        run.mkdir()
        (run / "metrics.jsonl").write_text("".join(json.dumps({"step": step, "epoch": 0, "loss": None if step % 4 == 0 else step}) + "\n"
                                                   for step in range(1, 12)) + '{"step": 12, "lo')
        page = self.rewrite(run)
        told = page.charts()["loss"]["training"]
        self.assertEqual(told, [(step, step) for step in range(1, 12) if step % 4])
        (path,) = re.findall(r'<path[^>]* d="([^"]*)"', page.text)
        self.assertEqual((path.count("M"), path.count("L")), (3, 6))


if __name__ == "__main__":
    unittest.main()
