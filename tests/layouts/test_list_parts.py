#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""train.csv, val.csv and test.csv in one folder are the parts of one data set, with one numbering of their classes.

Run by meson with STOKER set; stdlib only.
"""
import json
import shutil
import unittest

from layout_case import Case, Workspace, names, run_cases

LIST = "list of images"
IMAGES = dict.fromkeys(names("images/{}.png", *range(9)))
SITE = {"column 'site' of the list: not used": 2}
BESIDE, VALIDATION = "tables beside the list: not read", "list for validation, not read: give it as data.val_root, or the folder"


def table(first, *labels, header="file,label"):
    return header + "\n" + "".join(f"{first + i}.png,{label}\n" for i, label in enumerate(labels))


def lines(first, *labels):
    return "".join(json.dumps({"file": f"{first + i}.png", "label": label}) + "\n" for i, label in enumerate(labels))


TRAIN, VAL, TEST = table(0, "cat", "dog", "cat"), table(3, "bird", "dog"), table(5, "dog", "cat")
THREE = IMAGES | {"train.csv": TRAIN, "val.csv": VAL, "test.csv": TEST}
CLASSES = ["bird", "cat", "dog"]
FOUND = "'{}' of the lists 'train.csv', 'val.csv' and 'test.csv'"


def read(name, files, *settings, samples, parts=("train", "val", "test"), classes=CLASSES, **more):
    return Case(name, files, *settings, layout=LIST, samples=samples, parts=parts, classes=classes, **more)


TABLE = [
    read("three lists", THREE, samples=3, found=FOUND.format("train.csv")),
    read("val of three", THREE, "data.part=val", samples=2, found=FOUND.format("val.csv")),
    read("test of three", THREE, "data.part=test", samples=2, found=FOUND.format("test.csv")),
    read("JSONL", IMAGES | {"train.jsonl": lines(0, "cat", "dog"), "validation.jsonl": lines(3, "dog", "bird")},
         samples=2, parts=["train", "val"], found="'train.jsonl' and 'validation.jsonl'"),
    read("valid and dev", IMAGES | {"train.csv": TRAIN, "dev.csv": VAL}, "data.part=val", samples=2,
         parts=["train", "val"], found="'dev.csv' of the lists 'train.csv' and 'dev.csv'"),
    Case("numbers as names, images in valid/", dict.fromkeys(names("valid/{}.png", *range(9))) | {
        "val.csv": "id,label\n3,dog\n4,cat\n"}, root="val.csv", layout=LIST, samples=2, classes=["cat", "dog"]),
    read("train and test: val is split from train", IMAGES | {"train.csv": TRAIN, "test.csv": TEST}, "data.part=val",
         "data.val_split=0.4", samples=1, of=3, parts=["train", "test"], classes=["cat", "dog"],
         found="'train.csv' of the lists 'train.csv' and 'test.csv'"),
    read("folders of parts with the same names", dict.fromkeys(names("train/{}.png", 0, 1) + names("val/{}.png", 0, 1))
         | {"train.csv": table(0, "cat", "dog"), "val.csv": table(0, "bird", "dog")}, "data.part=val", samples=2,
         parts=["train", "val"], found="'val.csv' of the lists"),
    read("integers", IMAGES | {"train.csv": table(0, 0, 1), "val.csv": table(2, 2, 1)}, samples=2, classes=None,
         class_count=3, parts=["train", "val"], found="'train.csv' of the lists"),
    read("classes.txt", THREE | {"classes.txt": "dog\ncat\nbird\n"}, samples=3, classes=["dog", "cat", "bird"],
         found=FOUND.format("train.csv")),
    read("Kaggle: test.csv without labels", IMAGES | {"train.csv": TRAIN, "test.csv": "file\n5.png\n6.png\n",
                                                      "sample_submission.csv": "file,label\n5.png,cat\n"}, samples=3,
         parts=[], classes=["cat", "dog"], left_out={BESIDE: 2}),
    *(read(f"Kaggle: {setting}, which test.csv has not", IMAGES | {
        "train.csv": table(0, "a,0", "b,1", header="image,site,target"), "test.csv": "image,site\n5.png,a\n6.png,b\n"},
           "data.columns=" + setting, samples=2, parts=[], classes=None, class_count=count, left_out={BESIDE: 1, **SITE})
      for setting, count in (("label=target", 2), ("value=target", 0), ("file=image,label=target", 2))),
    read("data.columns for train, val and test", IMAGES | {
        name: table(i, "cat", "dog", header="image,dx") for i, name in enumerate(("train.csv", "val.csv", "test.csv"))},
         "data.columns=label=dx", samples=2, classes=["cat", "dog"], found="'train.csv' of the lists"),
    read("labels= of two lists", IMAGES | {"train.csv": table(0, "a|b", "c", header="file,x"),
                                           "val.csv": table(3, "5", header="file,x")}, "data.columns=labels=x", "data.part=val",
         samples=1, parts=["train", "val"], classes=["5", "a", "b", "c"], found="'val.csv' of the lists"),
    Case("data.columns names what no list has", IMAGES | {"train.csv": TRAIN, "val.csv": VAL}, "data.columns=label=dx",
         refused="takes the label from 'dx', which is not a column of the list", hint="'file', 'label'"),
    read("train.csv itself", THREE, samples=3, parts=[], classes=["cat", "dog"], root="train.csv",
         left_out={VALIDATION: 1, BESIDE: 1}),
    read("val.csv itself", THREE, samples=2, parts=[], classes=["bird", "dog"], root="val.csv", left_out={BESIDE: 2}),
    Case("all parts at once", THREE, "data.part=all", refused="has the lists 'train.csv', 'val.csv' and 'test.csv' for",
         hint="data.part=train or data.part=val or data.part=test"),
    Case("a part that is not there", IMAGES | {"train.csv": TRAIN, "val.csv": VAL}, "data.part=test",
         refused="has no part 'test': only the lists 'train.csv' and 'val.csv'", hint="data.part=val"),
    *(read(f"several labels, '{sep}'{part}", IMAGES | {
        "train.csv": table(0, f'"cat{sep}dog"', "dog", f'"dog{sep}red_car"', header='"file","label"'),
        "val.csv": table(3, f'"bird{sep}cat{sep}dog"', "dog"), "test.csv": table(5, "dog", f'"fish{sep}dog"')}, f"data.part={part}",
           samples=count, classes=["bird", "cat", "dog", "red_car"], found=f"'{part}.csv' of the lists")
      for sep in (";", "|", " ", ", ") for part, count in (("train", 3), ("val", 2), ("test", 2))),
    *(read(f"several labels in train alone, {part}", IMAGES | {
        "train.csv": table(0, "cat;dog", "cow"), "val.csv": table(3, "cat", "dog")}, f"data.part={part}", samples=2,
           parts=["train", "val"], classes=["cat", "cow", "dog"], found=f"'{part}.csv' of the lists")
      for part in ("train", "val")),
    *(read(f"several labels in train alone, classes.txt, {part}", IMAGES | {
        "train.csv": table(0, "cat;dog", "cow"), "val.csv": table(3, "cat", "dog"), "classes.txt": "dog\ncow\ncat\n"},
           f"data.part={part}", samples=2, parts=["train", "val"], classes=["dog", "cow", "cat"], found=f"'{part}.csv' of the lists")
      for part in ("train", "val")),
    read("several integers", IMAGES | {"train.csv": table(0, "16 0", "5"), "val.csv": table(3, "5", "7")}, "data.part=val",
         samples=2, parts=["train", "val"], classes=["0", "16", "5", "7"], found="'val.csv' of the lists"),
    Case("several labels and integers", IMAGES | {"train.csv": table(0, "cat;dog", "cat"), "val.csv": table(3, 0, 1)},
         refused="have not the same kind of labels", hint="train.csv"),
    Case("several labels in test alone", IMAGES | {"train.csv": TRAIN, "test.csv": table(3, "cat;dog", "dog")},
         refused="have not the same kind of labels", hint="train.csv"),
    Case("columns of 0 and 1 that differ", IMAGES | {
        "train.csv": "file,cat,dog\n0.png,1,0\n1.png,0,1\n", "val.csv": "file,cat,cow,dog\n3.png,1,0,5\n4.png,0,1,7\n"},
         refused="the column 'dog' of 0 and 1 is a label in 'train.csv' and not in 'val.csv'", hint="neither 0 nor 1"),
    read("a NaN in val.csv", IMAGES | {"train.csv": "file,cat,dog\n0.png,1,0\n1.png,0,1\n",
                                       "val.csv": "file,cat,dog\n3.png,1,NaN\n4.png,0,1\n"}, "data.part=val",
         "data.on_bad_sample=skip", samples=2, parts=["train", "val"], classes=["cat", "dog"], found="'val.csv' of the lists"),
    Case("two lists for validation", THREE | {"valid.csv": VAL}, refused="has two lists, 'val.csv' and 'valid.csv'"),
    Case("names and integers", IMAGES | {"train.csv": TRAIN, "val.csv": table(3, 0, 1)},
         refused="have not the same kind of labels", hint="train.csv"),
    Case("labels and points", IMAGES | {"train.csv": TRAIN, "val.csv": "file,a_x,a_y\n3.png,1,2\n"},
         refused="'train.csv' and 'val.csv' lie in one folder, but have not the same kind of labels"),
    Case("a column of parts as well", IMAGES | {"val.csv": VAL, "train.csv": "file,label,split\n0.png,cat,train\n"
                                                "1.png,dog,val\n"},
         refused="can be read in two ways: the lists", hint="data.columns='split=none'"),
    Case("boxes for validation", IMAGES | {"train.csv": TRAIN, "val.csv": "file,xmin,ymin,xmax,ymax\n3.png,1,2,3,4\n"},
         refused=["val.csv", "boxes"]),
    Case("a list above folders of classes in parts", dict.fromkeys(names("{}/cat/1.png", "train", "val"))
         | {"train.csv": "file,label\ntrain/cat/1.png,cat\n", "val.csv": "file,label\nval/cat/1.png,cat\n"},
         refused=["can be read in two ways: the list 'train.csv', or parts"], hint="data.layout=list"),
]


class ListParts(Workspace):
    def test_table(self):
        run_cases(self, TABLE)

    def test_training(self):
        """Trained on train.csv, validated on val.csv, test.csv held out; a class that only test has is a bad sample."""
        Case("", THREE | {"test.csv": table(5, "dog", "fish", "cat")}).build(self.folder)
        done = self.stoker("train", ".", "model.depth=18", "model.width=8", "epochs=1", "batch_size=2", "run.dir=runs",
                           "run.name=a", "data.num_workers=0", "data.image_size=32")
        self.assertEqual(done.returncode, 0, done.stderr)
        said = done.stdout + done.stderr
        self.assertIn("3 samples for training, 2 for validation", said)
        self.assertIn("named by the data set: train val test (held out)", said)
        done = self.stoker("eval", "runs/a-0001", "data.part=test", "data.on_bad_sample=skip")
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.stoker("eval", "runs/a-0001", "data.part=test")
        self.assertIn("the label 'fish' is in neither of the lists for train and val", done.stderr)

    def test_several_labels(self):
        """Classes are numbered over train and val; images of each class are those that the lists say."""
        Case("", IMAGES | {"train.csv": table(0, "cat;dog", "dog", "dog;red car", header='"image","labels"'),
                           "val.csv": table(3, "dog;tree", "cat"), "test.csv": table(5, "dog;fish", "cat")}).build(self.folder)
        for part, counts in (("train", [1, 3, 1, 0]), ("val", [1, 1, 0, 1]), ("test", [1, 0, 0, 0])):
            done = self.stoker("stats", ".", "--json", f"data.part={part}")
            self.assertEqual(done.returncode, 0, done.stderr)
            found = json.loads(done.stdout)
            self.assertEqual({c["name"]: c["count"] for c in found["classes"]},
                             dict(zip(("cat", "dog", "red car", "tree"), counts)))
            self.assertEqual(found["bad_samples"], int(part == "test"))
        done = self.stoker("train", ".", "model.depth=18", "model.width=8", "epochs=1", "batch_size=2", "run.dir=runs",
                           "run.name=a", "data.num_workers=0", "data.image_size=32")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("several labels: column 'labels'", done.stdout + done.stderr)

    def test_two_lists(self):
        """The hint for train.csv with data.val_root=val.csv works: the same classes.txt next to both."""
        Case("", IMAGES | {"train.csv": table(0, "cat;dog", "dog", "dog;red car"),
                           "val.csv": table(3, "dog;tree", "cat")}).build(self.folder)
        train = ("train", "train.csv", "data.val_root=val.csv", "model.depth=18", "model.width=8", "epochs=1", "batch_size=2",
                 "run.dir=runs", "data.num_workers=0", "data.image_size=32")
        done = self.stoker(*train)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("the same classes.txt next to both", done.stderr)
        (self.folder / "classes.txt").write_text("cat\ndog\nred car\ntree\n")
        done = self.stoker(*train)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_pack(self):
        Case("", THREE).build(self.folder)
        done = self.stoker("pack", ".", "../packed-" + self.folder.name)
        self.assertEqual(done.returncode, 0, done.stderr)
        try:
            for part, count in (("train", 3), ("val", 2), ("test", 2)):
                done = self.stoker("load", "../packed-" + self.folder.name, "--json", f"data.part={part}")
                self.assertEqual(json.loads(done.stdout)["samples"], count, done.stderr)
        finally:
            shutil.rmtree(self.folder.parent / ("packed-" + self.folder.name))


if __name__ == "__main__":
    unittest.main()
