#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""report.html in Chromium, wide and narrow, light and dark: nothing to complain about, everything there and inside the page.

Exit status 77 where there is no Chromium ($CHROMIUM may name one). $REPORT_PICTURES names a folder for pictures to look at."""
import os
import pathlib
import sys
import tempfile
import unittest

import browser
import small_runs

STOKER, FAKE = os.environ["STOKER"], sys.argv.pop()
WIDE, NARROW = 1280, 400
LOOKS = ((WIDE, False), (NARROW, True), (WIDE, True), (NARROW, False))
CHARTS = """[...document.querySelectorAll('.chart svg')].map(svg => {
  const box = svg.getBoundingClientRect(), lines = [...svg.querySelectorAll('.line')];
  return { name: svg.ariaLabel, left: box.left, right: box.right, top: box.top + scrollY, height: box.height,
    lines: lines.map(line => line.getTotalLength()), dots: svg.querySelectorAll('.dot').length,
    text: parseFloat(getComputedStyle(svg.querySelector('text')).fontSize) * box.width / svg.viewBox.baseVal.width };
})"""


class ReportBrowser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        place = pathlib.Path(cls.scratch.name)
        cls.runs = {task: small_runs.make_task(STOKER, place, task) for task in small_runs.TASKS}
        cls.runs["hostile"] = small_runs.make_hostile(STOKER, place)
        cls.runs["gpu"] = small_runs.make_gpu(STOKER, place, FAKE)
        cls.browser = browser.Browser(browser.find())

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.scratch.cleanup()

    def keep_picture(self, name):
        if os.environ.get("REPORT_PICTURES"):
            self.browser.picture(pathlib.Path(os.environ["REPORT_PICTURES"]) / f"{name}.png")

    def check_charts(self, width):
        charts = self.browser.value(CHARTS)
        self.assertGreaterEqual(len(charts), 5)
        for chart in charts:
            self.assertTrue(0 <= chart["left"] and chart["right"] <= width, chart)
            self.assertGreater(chart["height"], 120, chart)
            self.assertTrue(chart["lines"] and (max(chart["lines"]) > 10 or chart["dots"]), chart)
            self.assertTrue(9.5 <= chart["text"] <= 16, chart)
        columns = len({round(chart["left"]) for chart in charts})
        self.assertEqual(columns if width == NARROW else min(columns, 3), 1 if width == NARROW else 3)

    def test_every_run_at_every_width(self):
        for name, run in self.runs.items():
            for width, dark in LOOKS if os.environ.get("REPORT_PICTURES") else LOOKS[:2]:
                with self.subTest(run=name, width=width, dark=dark):
                    self.browser.open(run / "report.html", width, dark=dark)
                    self.assertEqual(self.browser.complaints(), [])
                    self.assertEqual(len([url for url in self.browser.requests() if not url.startswith("data:")]), 1)
                    self.assertLessEqual(self.browser.value("document.documentElement.scrollWidth"), width)
                    self.check_charts(width)
                    paper = self.browser.value("getComputedStyle(document.body).backgroundColor")
                    self.assertEqual(sum(map(int, paper[4:-1].split(","))) < 300, dark, paper)
                    self.keep_picture(f"{name}-{width}{'-dark' if dark else ''}")

    def test_pictures_are_shown(self):
        for name in ("segmentation", "points", "classification"):
            self.browser.open(self.runs[name] / "report.html", WIDE)
            boxes = self.browser.value("[...document.querySelectorAll('.cut')].map(cut => [cut.offsetWidth, cut.offsetHeight])")
            self.assertEqual(len(boxes), 12 + 6 if name == "classification" else 3 * (4 + 6))
            shape = 2 if name == "points" else 1 # width to height
            for width, height in boxes:
                self.assertGreater(height, 40)
                self.assertAlmostEqual(width / height, shape, delta=0.05)

    def test_tables_stay_inside(self):
        """What is wider than the page scrolls in its own card; swatches have the colours of the masks."""
        for name in ("segmentation", "classification", "regression"):
            for width in (WIDE, NARROW):
                self.browser.open(self.runs[name] / "report.html", width)
                cards = self.browser.value("[...document.querySelectorAll('.fit')].map(card => { const b = card.getBoundingClientRect(); return [b.left, b.right]; })")
                self.assertEqual(len(cards), 1 if name == "regression" else 2)
                for left, right in cards:
                    self.assertTrue(0 <= left < right <= width, (name, width, left, right))
        self.browser.open(self.runs["segmentation"] / "report.html", WIDE)
        colours = self.browser.value("[...document.querySelectorAll('.keys i')].map(i => getComputedStyle(i).backgroundColor)")
        self.assertEqual(len(set(colours)), 20)
        self.assertEqual(colours[1:19], self.browser.value("[...document.querySelectorAll('.scores i')].map(i => getComputedStyle(i).backgroundColor)")[1:])

    def test_values_under_the_pointer(self):
        self.browser.open(self.runs["regression"] / "report.html", WIDE)
        box = self.browser.value("(() => { const b = document.querySelector('.chart svg').getBoundingClientRect(); return [b.left, b.top, b.width, b.height]; })()")
        self.browser.point(box[0] + box[2] * 0.97, box[1] + box[3] / 2)
        tip = self.browser.value("document.getElementById('tip').hidden ? '' : document.getElementById('tip').textContent")
        last = small_runs.lines(self.runs["regression"])[-1]
        self.assertEqual(tip.splitlines()[0], str(last["step"]))
        self.assertIn(f"validation  {last['val_loss']:.5g}", tip)
        self.browser.point(2, 2)
        self.assertTrue(self.browser.value("document.getElementById('tip').hidden"))
        self.assertEqual(self.browser.complaints(), [])

    def test_without_scripts(self):
        self.browser.call("Emulation.setScriptExecutionDisabled", value=True)
        try:
            self.browser.open(self.runs["classification"] / "report.html", WIDE)
            self.check_charts(WIDE)
        finally:
            self.browser.call("Emulation.setScriptExecutionDisabled", value=False)


if __name__ == "__main__":
    if not browser.find():
        print("skipped: there is no Chromium here (tools/setup browser installs it)")
        sys.exit(77)
    unittest.main()
