#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stoker stats --html: as a file, and in Chromium, wide and narrow, light and dark.

The browser's part is left out where there is no Chromium ($CHROMIUM may name one). $REPORT_PICTURES names a folder for
pictures to look at."""
import html.parser
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

import browser
import stats_sets

STOKER = os.environ["STOKER"]
WIDE, NARROW = 1200, 390
LOOKS = ((WIDE, False), (NARROW, True), (WIDE, True), (NARROW, False))
HOSTILE = '<script>alert("x")<\\script>&\'"'


def many_findings(folder):
    stats_sets.pairs(folder, 30)
    stats_sets.write(folder / "classes.txt", b"sky\nsea\nsand\nrock\n")
    for name, image, mask in (("900", stats_sets.photo(0), stats_sets.mask((0, 1, 2))),
                              ("901", stats_sets.flat(), stats_sets.mask((0,))),
                              ("902", stats_sets.photo(5, 300, 200), stats_sets.mask((0, 1, 2, 3), 300, 200)),
                              ("903", stats_sets.photo(6)[:60], stats_sets.mask((0, 1)))):
        stats_sets.write(folder / f"images/{name}.png", image)
        stats_sets.write(folder / f"masks/{name}.png", mask)


def hostile(folder):
    stats_sets.classes(folder, names=(HOSTILE, "dog<b>&amp;"))
    stats_sets.write(folder / "dog<b>&amp;" / f"{HOSTILE}.png", stats_sets.flat())


SETS = {"many": many_findings, "hostile": hostile, "points": stats_sets.points_outside, "series": stats_sets.series_nan,
        "faces": lambda folder: ("root=make:faces?count=8",), "sizes": stats_sets.mixed_sizes}


class Tags(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.seen = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.seen.append((tag, dict(attributes)))


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.place = pathlib.Path(cls.scratch.name)
        cls.reports, cls.pages = {}, {}
        for name, maker in SETS.items():
            folder, page = cls.place / name, cls.place / f"{name}.html"
            settings = stats_sets.make(maker, folder)
            words = [*([] if any("root=" in word for word in settings) else [folder]), *settings, "--html", page, "--json"]
            done = subprocess.run([STOKER, "stats", *map(str, words)], capture_output=True, check=True, timeout=120)
            cls.reports[name], cls.pages[name] = json.loads(done.stdout), page
        cls.browser = browser.Browser(browser.find()) if browser.find() else None

    @classmethod
    def tearDownClass(cls):
        if cls.browser:
            cls.browser.close()
        cls.scratch.cleanup()

    def run_stats(self, *words):
        return subprocess.run([STOKER, "stats", *map(str, words)], capture_output=True, text=True, timeout=120)

    def test_self_contained(self):
        for name, page in self.pages.items():
            text = page.read_text()
            for tag, attributes in Tags(text).seen:
                for key in ("src", "href", "action"):
                    self.assertTrue(attributes.get(key, "data:").startswith("data:"), (name, tag, attributes.get(key)))
            self.assertIn("default-src 'none'", text)
            for finding in self.reports[name]["findings"]:
                self.assertIn(f"({finding['id']})", text)

    def test_text_is_escaped(self):
        text = self.pages["hostile"].read_text()
        self.assertNotIn("<script>alert", text)
        self.assertNotIn("dog<b>", text)
        self.assertIn("&lt;script&gt;alert", text)

    def test_samples(self):
        """Findings' samples first, each with image and mask."""
        seen = Tags(self.pages["many"].read_text()).seen
        figures = [attributes for tag, attributes in seen if tag == "figure"]
        pictures = [attributes for tag, attributes in seen if tag == "img"]
        self.assertEqual(len(figures), 24)
        self.assertEqual(len(pictures), 2 * 23) # one is corrupt
        first = [attributes["alt"] for attributes in pictures[:4]]
        self.assertTrue(any("901" in text for text in first), first)
        self.assertTrue(any("000" in text for text in first), first)

    def test_named_by_the_user(self):
        """Devices and links are written through; what cannot be written is status 1, and the text is there before."""
        data, link = self.place / "many", self.place / "link.html"
        link.symlink_to(self.place / "behind.html")
        self.assertEqual(self.run_stats(data, "--html", link, "-q").returncode, 0)
        self.assertTrue(link.is_symlink() and (self.place / "behind.html").read_text().endswith("</html>\n"))
        self.assertEqual(self.run_stats(data, "--html", "/dev/null", "-q").returncode, 0)
        full = self.run_stats(data, "--html", "/dev/full", "-q")
        self.assertEqual(full.returncode, 1)
        self.assertIn("findings:", full.stdout)
        self.assertIn("/dev/full", full.stderr)
        self.assertEqual(self.run_stats(data, "--html", self.place / "no/such/folder.html", "-q").returncode, 1)
        self.assertFalse((self.place / "no").exists())
        (self.place / "empty").mkdir()
        nothing = self.run_stats(self.place / "empty", "--html", self.place / "empty.html")
        self.assertEqual(nothing.returncode, 1)
        self.assertFalse((self.place / "empty.html").exists())

    def test_interrupted(self):
        """Ctrl-C ends it early with status 130, and leaves no page behind."""
        page = self.place / "interrupted.html"
        job = subprocess.Popen([STOKER, "stats", "make:faces?count=1000000", "--html", str(page), "num_workers=1"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        job.stderr.readline() # the data set is open
        job.send_signal(signal.SIGINT)
        job.communicate(timeout=60)
        self.assertEqual(job.returncode, 130)
        self.assertFalse(page.exists())

    def keep_picture(self, name):
        if os.environ.get("REPORT_PICTURES"):
            self.browser.picture(pathlib.Path(os.environ["REPORT_PICTURES"]) / f"stats-{name}.png")

    def test_every_page_at_every_width(self):
        if not self.browser:
            self.skipTest("there is no Chromium here (tools/setup browser installs it)")
        for name, page in self.pages.items():
            for width, dark in LOOKS if os.environ.get("REPORT_PICTURES") else LOOKS[:2]:
                with self.subTest(page=name, width=width, dark=dark):
                    self.browser.open(page, width, dark=dark)
                    self.assertEqual(self.browser.complaints(), [])
                    self.assertEqual(len([url for url in self.browser.requests() if not url.startswith("data:")]), 1)
                    self.assertLessEqual(self.browser.value("document.documentElement.scrollWidth"), width)
                    paper = self.browser.value("getComputedStyle(document.body).backgroundColor")
                    self.assertEqual(sum(map(int, paper[4:-1].split(","))) < 300, dark, paper)
                    boxes = self.browser.value("[...document.querySelectorAll('.thumb img')].map(i => { const b = "
                                               "i.getBoundingClientRect(); return [b.left, b.right, b.height, i.naturalWidth]; })")
                    for left, right, height, natural in boxes:
                        self.assertTrue(0 <= left < right <= width and height > 15 and natural > 0, (left, right, height, natural))
                    cards = self.browser.value("[...document.querySelectorAll('.card, .finding')].map(c => "
                                               "c.getBoundingClientRect().right)")
                    self.assertLessEqual(max(cards), width)
                    self.keep_picture(f"{name}-{width}{'-dark' if dark else ''}")

    def test_bars_are_proportional(self):
        if not self.browser:
            self.skipTest("there is no Chromium here (tools/setup browser installs it)")
        for width in (WIDE, NARROW):
            self.browser.open(self.pages["faces"], width)
            bars = self.browser.value("[...document.querySelectorAll('#classes tbody tr')].map(row => { const i = "
                                      "row.querySelector('.bar i'); return i ? i.getBoundingClientRect().width : 0; })")
            shares = [row["share"] for row in self.reports["faces"]["classes"]]
            self.assertEqual(len(bars), len(shares))
            for bar, share in zip(bars, shares):
                self.assertAlmostEqual(bar, max(bars) * share / max(shares), delta=2.1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
