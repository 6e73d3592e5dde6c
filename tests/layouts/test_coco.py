#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""COCO's key points: one annotated instance per image is points, several are refused, none is left out.

Rows of folders as COCO, CVAT, Roboflow and Label Studio write them; then the numbers that come out of them. Run by
meson with STOKER set; stdlib only.
"""
import json
import unittest

from layout_case import Case, Workspace, names, run_cases

NAMES = ["nose", "left_eye", "right_eye"]
COCO = "images with COCO key points"
WHOLE = "COCO key points: integers are pixel indices, so +0.5 gives pixel centers"
WITHOUT = "images without key points"


def annotation(image, *points, **more):
    flat = [number for point in points for number in point]
    return {"id": 100 + image, "image_id": image, "category_id": 1, "iscrowd": 0, "bbox": [0, 0, 8, 8],
            "num_keypoints": sum(v > 0 for v in flat[2::3]), "keypoints": flat, **more}


def person(image, **more):
    return annotation(image, (1, 2, 2), (3, 4, 1), (0, 0, 0), **more)


def coco(annotations, count=3, pattern="{}.png", categories=None, **more):
    return json.dumps({
        "info": {"description": "a \"test\" [ ] { }"}, "licenses": [],
        "images": [{"id": i, "file_name": pattern.format(i), "width": 8, "height": 8} for i in range(count)],
        "annotations": annotations,
        "categories": categories or [{"id": 1, "name": "person", "keypoints": NAMES, "skeleton": [[1, 2]]}], **more})


ALL = coco([person(i) for i in range(3)])
IMAGES = dict.fromkeys(names("images/{}.png", 0, 1, 2))
BOXES = [{"id": 1, "image_id": 0, "category_id": 1, "bbox": [0, 0, 4, 4], "segmentation": [[0, 0, 1, 1, 2, 2]]}]


def read(name, files, *settings, left_out=(), samples=3, found=WHOLE, **more):
    return Case(name, files, *settings, layout=more.pop("layout", COCO), samples=samples, found=found, left_out=left_out,
                **more)


TABLE = [
    read("CVAT: images and annotations", IMAGES | {"annotations/person_keypoints_default.json": ALL}),
    read("images in a folder of a part", dict.fromkeys(names("images/default/{}.png", 0, 1, 2))
         | {"annotations/person_keypoints_default.json": ALL}),
    read("Label Studio: result.json", IMAGES | {"result.json": coco([person(i) for i in range(3)],
                                                                    pattern="images/{}.png")}),
    read("a file beside the images", dict.fromkeys(names("{}.png", 0, 1, 2)) | {"coco.json": ALL}),
    read("the file itself", IMAGES | {"annotations/mine.json": ALL}, root="annotations/mine.json"),
    read("the file itself, in the folder above", IMAGES | {"mine.json": ALL}, root="mine.json"),
    read("Roboflow: a file in each part",
         dict.fromkeys(names("train/{}.png", 0, 1, 2) + names("valid/{}.png", 0, 1, 2))
         | {"train/_annotations.coco.json": ALL, "valid/_annotations.coco.json": ALL},
         parts=["train", "val"], layout=COCO + " in train/"),
    read("COCO: folders of parts, annotations beside",
         dict.fromkeys(names("train2017/{}.png", 0, 1, 2) + names("val2017/{}.png", 3, 4))
         | {"annotations/person_keypoints_train2017.json": ALL,
            "annotations/person_keypoints_val2017.json": coco([person(0)], 1),
            "annotations/instances_train2017.json": coco(BOXES, categories=[{"id": 1, "name": "person"}])},
         parts=["train", "val"], layout=COCO + " in train2017/"),
    read("COCO: names with the folder of the part",
         dict.fromkeys(names("train2017/{}.png", 0, 1, 2) + names("val2017/{}.png", 0, 1, 2))
         | {"annotations/person_keypoints_train2017.json": ALL,
            "annotations/person_keypoints_val2017.json": coco([person(i) for i in range(3)], pattern="val2017/{}.png")},
         "data.part=val", parts=["train", "val"], layout=COCO + " in val2017/"),
    read("COCO: parts below images",
         dict.fromkeys(names("images/train/{}.png", 0, 1, 2) + names("images/val/{}.png", 0, 1, 2))
         | {"annotations/kp_train.json": ALL, "annotations/kp_val.json": ALL}, "data.part=val", parts=["train", "val"],
         layout=COCO + " in val/"),
    read("COCO: the file of a part", dict.fromkeys(names("train2017/{}.png", 0, 1) + names("val2017/{}.png", 0, 1, 2))
         | {"annotations/person_keypoints_val2017.json": ALL}, root="annotations/person_keypoints_val2017.json"),
    read("parts by the names of the files", IMAGES | {"annotations/kp_train.json": coco([person(0), person(1)], 2),
                                                       "annotations/kp_val.json": coco([person(2)])},
         samples=2, parts=["train", "val"], of=2),
    read("the part val", IMAGES | {"annotations/kp_train.json": coco([person(0), person(1)], 2),
                                    "annotations/kp_val.json": coco([person(2)])},
         "data.part=val", samples=1, parts=["train", "val"], left_out={WITHOUT: 2}),
    read("images without annotation, without points, with a crowd",
         IMAGES | {"coco.json": coco([person(0), person(0, iscrowd=1), annotation(1, *[(0, 0, 0)] * 3)])}, samples=1,
         left_out={WITHOUT: 2, "annotations of crowds (iscrowd)": 1}),
    read("fractions are positions already",
         IMAGES | {"coco.json": coco([annotation(i, (1.25, 2, 2), (3, 4, 1), (0, 0, 0)) for i in range(3)])},
         found="COCO key points: coordinates as they are"),
    read("two categories with the same points",
         IMAGES | {"coco.json": coco([person(0), person(1, category_id=2), person(2)], categories=[
             {"id": 1, "name": "cat", "keypoints": NAMES}, {"id": 2, "name": "dog", "keypoints": NAMES}])}),
    read("categories without names", IMAGES | {"coco.json": coco([person(i) for i in range(3)],
                                                                 categories=[{"id": 1, "name": "person"}])}),
    Case("several instances", IMAGES | {"coco.json": coco([person(i) for i in (0, 1, 1, 1, 2, 2)])},
         refused=["2 of 3 images have several annotated instances ('1.png' has 3)"], hint="crop each instance"),
    Case("two categories with other points",
         IMAGES | {"coco.json": coco([person(0), person(1, category_id=2)], categories=[
             {"id": 1, "keypoints": NAMES}, {"id": 2, "keypoints": ["tip"]}])},
         refused="annotations of two categories have different key points", hint="points.csv"),
    Case("boxes and polygons", IMAGES | {"coco.json": coco(BOXES, categories=[{"id": 1, "name": "person"}])},
         refused="is a COCO annotation file", hint="object detection is not supported"),
    Case("empty key points", IMAGES | {"coco.json": coco([{**BOXES[0], "keypoints": []}], categories=[
        {"id": 1, "keypoints": []}])}, refused="is a COCO annotation file", hint="object detection is not supported"),
    Case("names of points, but no points", IMAGES | {"coco.json": coco(BOXES)}, refused="no annotation has key points"),
    Case("data.columns", IMAGES | {"coco.json": ALL}, "data.columns=points=nose",
         refused="data.columns is set, but points in JSON files have no columns", hint="leave data.columns out"),
    Case("cut off", IMAGES | {"coco.json": ALL[:-40]}, refused=["cannot be used: invalid JSON"], hint="points.csv"),
    Case("invalid inside", IMAGES | {"coco.json": ALL.replace('"image_id": 1', '"image_id" 1')},
         refused="invalid JSON in an image or annotation"),
    Case("an unknown image", IMAGES | {"coco.json": coco([person(0), person(9)])},
         refused="'image_id' that is not in 'images'"),
    Case("two images with one id", IMAGES | {"coco.json": ALL.replace('"id": 2,', '"id": 1,', 1)},
         refused="two images have the same 'id'"),
    Case("two files", IMAGES | {"coco.json": ALL, "keypoints.json": ALL},
         refused=["two COCO files with key points", "coco.json", "keypoints.json"], hint="data.val_root"),
    Case("two files of a part", IMAGES | {"annotations/a_train.json": ALL, "annotations/b_train.json": ALL},
         refused=["two COCO files with key points", "a_train.json", "b_train.json"]),
    Case("all parts at once", IMAGES | {"annotations/a_train.json": ALL, "annotations/a_val.json": ALL}, "data.part=all",
         refused="has the lists 'a_train.json' and 'a_val.json' for its parts", hint="data.part=train or data.part=val"),
]


class Coco(Workspace):
    def test_table(self):
        run_cases(self, TABLE)

    def build(self, text):
        Case("", IMAGES | {"coco.json": text}).build(self.folder)

    def stats(self, *settings):
        done = self.stoker("stats", ".", "--json", *settings)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_coordinates(self):
        """Integers are indices of pixels: +0.5. A point with v = 0 is not visible, one with v = 1 is."""
        self.build(ALL)
        self.assertEqual([(p["name"], p["visible"], p["missing"]) for p in self.stats()["points"]],
                         [("nose", 3, 0), ("left_eye", 3, 0), ("right_eye", 0, 3)])
        self.assertEqual([self.stats()["points"][0][key] for key in ("x_min_px", "y_max_px")], [1.5, 2.5])
        self.build(coco([annotation(i, (1.25, 2, 2), (3, 4, 1), (0, 0, 0)) for i in range(3)]))
        self.assertEqual([self.stats()["points"][0][key] for key in ("x_min_px", "y_max_px")], [1.25, 2])

    def test_files_of_parts(self):
        """Each part reads the images of its own folder, though the names are the same."""
        Case("", {"annotations/kp_train.json": coco([person(0)], 1), "annotations/kp_val.json": coco([person(0)], 1)}
             | dict.fromkeys(names("images/{}/0.png", "train", "val"))).build(self.folder)
        (self.folder / "images/val/0.png").write_bytes(b"not an image")
        done = self.stoker("load", ".", "data.num_workers=0")
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.stoker("load", ".", "data.num_workers=0", "data.part=val")
        self.assertIn("images/val/0.png", done.stderr)
        self.assertNotEqual(done.returncode, 0)

    def test_flip_pairs(self):
        self.build(ALL)
        done = self.stoker("load", ".", "augment.horizontal_flip_prob=0.5", "--stop-after", "0")
        self.assertIn("left_eye", done.stdout + done.stderr)
        self.assertRegex(done.stdout + done.stderr, r"data\.flip_pairs")

    def test_bad_annotations(self):
        """Each is one bad sample, named with its line."""
        lines = [person(0, num_keypoints=0), annotation(1, (1, 2, 2)), annotation(2, (1, "x", 2), (3, 4, 1), (0, 0, 0))]
        Case("", ["images/3.png"]).build(self.folder)
        self.build(coco(lines + [person(3)], 4).replace('{"id": 101', '\n{"id": 101').replace('{"id": 102', '\n{"id": 102'))
        done = self.stoker("load", ".", "data.on_bad_sample=skip", "data.num_workers=0", "--json", "--ledger", "l.jsonl")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["bad_samples"], 3, done.stderr)
        ledger = (self.folder / "l.jsonl").read_text()
        for words in ("'num_keypoints' is 0, but 2 points are labeled", "'keypoints' has 3 numbers, not 9",
                      "point 0 is not three numbers", "coco.json:1", "coco.json:2", "coco.json:3"):
            self.assertIn(words, ledger)


if __name__ == "__main__":
    unittest.main()
