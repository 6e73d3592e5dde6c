#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Labels in the names of files: train says that they are not read, and what to write; the hint, followed, trains."""
import re
import unittest

from layout_case import Case, Workspace, names

SMALL = ("--plan", "model.width=2", "image_size=32", "run.engine=reference")
SETS = [  # files, the label of each by its name (None: no hint)
    (names("cat.{}.jpg", *range(4)) + names("dog.{}.jpg", *range(4)), lambda name: name.split(".")[0]),
    (names("train/cat.{}.jpg", *range(4)) + names("train/dog.{}.jpg", *range(4)) + ["test/1.jpg"], lambda name: name.split(".")[0]),
    (names("images/american_bulldog_{}.png", *range(4)) + names("images/Abyssinian_{}.png", *range(4)), lambda name: name.rsplit("_", 1)[0]),
    (names("rose ({}).jpg", *range(4)) + names("tulip ({}).jpg", *range(4)), lambda name: name.split(" ")[0]),
    (names("{}_0_2_20170116174525125.jpg.chip.jpg", 25, 1, 80, 26), lambda name: name.split("_")[0]),
    (names("IMG_{}.jpg", *range(8)), None),
    (names("{}.jpg", *range(8)), None),
    (names("{}_1.jpg", *"abcdefgh"), None),
    (names("2024_{}.jpg", *range(8)), None),
]


class NameLabels(Workspace):
    def test_hints(self):
        for number, (files, label_of) in enumerate(SETS):
            with self.subTest(files[0]):
                Case("", [f"{number}/{name}" for name in files]).build(self.folder)
                done = self.stoker("train", str(number), *SMALL)
                self.assertEqual(done.returncode, 2, done.stderr)
                said = "the names of the files seem to have labels" in done.stderr
                self.assertEqual(said, label_of is not None, done.stderr)
                if not said:
                    continue
                path, column, file, label = re.search(r"write (\S+): the line file,(\w+).* such as (.*),(.*)$", done.stderr,
                                                      re.M).groups()
                self.assertEqual(label, label_of(file))
                folder = self.folder / path
                listed = [name.rsplit("/", 1)[-1] for name in files if not name.startswith("test/")]
                folder.write_text(f"file,{column}\n" + "".join(f"{name},{label_of(name)}\n" for name in listed))
                done = self.stoker("train", str(number), *SMALL)
                self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main()
