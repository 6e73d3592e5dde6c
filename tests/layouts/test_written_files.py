#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files that other programs wrote: Pillow, NumPy, OpenCV and pandas, where they are installed.

Images, masks and lists as these programs write them without further options; what Stoker counts in them (sizes, ids, classes,
orientations) is compared with the arrays that were written. PYTHON=… of another environment runs what is skipped here.
"""
import csv
import json
import pathlib
import shutil
import subprocess
import unittest

from layout_case import STOKER, Workspace

try:
    import numpy
    from PIL import Image
except ImportError:
    numpy = Image = None
try:
    import cv2
except ImportError:
    cv2 = None
try:
    import pandas
except ImportError:
    pandas = None

W, H, COUNT = 40, 24, 8


def pixels(number, channels=3):
    """An array [H W channels] of smooth colors, another one for each number."""
    y, x = numpy.mgrid[0:H, 0:W]
    planes = [(x * (3 + number) + y * (c + 1) * 2 + 7 * number) % 256 for c in range(channels)]
    return numpy.stack(planes, axis=-1).astype(numpy.uint8).squeeze()


def ids(number, values):
    """A mask [H W]: stripes of these values, which begin elsewhere for each number."""
    x = numpy.arange(W) // 5 + number
    return numpy.broadcast_to(numpy.array(values, numpy.uint8)[x % len(values)], (H, W)).copy()


class Files(Workspace):
    def setUp(self):
        super().setUp()
        if Image is None:
            self.skipTest("neither Pillow nor NumPy here")
        self.folder = pathlib.Path(self.top.name)

    def path(self, *names):
        path = self.folder.joinpath(*names)
        path.parent.mkdir(parents=True, exist_ok=True)
        return str(path)

    def run_stoker(self, *words, status=0):
        done = subprocess.run([STOKER, *words], cwd=self.folder, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def stats(self, root, *settings):
        return json.loads(self.run_stoker("stats", root, "--json", "-q", *settings).stdout)

    def count_ids(self, root, *settings):
        """Pixels by class id, as stats counts them."""
        return {row["id"]: row["count"] for row in self.stats(root, *settings)["classes"] if row["count"]}

    def effects(self, root, *settings):
        """What a training decides about the data: name to what is in effect."""
        self.run_stoker("train", root, "model.name=unet", "model.width=4", "model.depth=2", "image_size=16", "epochs=1", "batch_size=4",
                        "val_split=0.25", "run.engine=reference", "--run", "run", "-q", *settings)
        report = json.loads((self.folder / "run/run.json").read_text())
        return {row["name"]: row["in_effect"] for row in report["effects"]}


class Pillow(Files):
    def images(self, folder="images", extension="jpg"):
        for i in range(COUNT):
            Image.fromarray(pixels(i)).save(self.path(f"{folder}/{i:03}.{extension}"))

    def test_kinds_of_images(self):
        """Every mode that Pillow saves as JPEG or PNG loads, with its size."""
        for mode, kind, options in (("RGB", "jpg", {}), ("L", "jpg", {}), ("RGB", "jpg", {"progressive": True}),
                                    ("RGB", "jpg", {"optimize": True, "quality": 95, "subsampling": 0}), ("RGB", "png", {}),
                                    ("RGBA", "png", {}), ("LA", "png", {}), ("L", "png", {}), ("P", "png", {}), ("1", "png", {}),
                                    ("I;16", "png", {}), ("RGB", "png", {"optimize": True, "compress_level": 9})):
            with self.subTest(f"{mode} {kind} {options}"):
                name = f"{mode.replace(';', '')}-{len(options)}-{kind}"
                for i in range(4):
                    rgb = Image.fromarray(pixels(i))
                    image = (Image.fromarray(pixels(i, 1).astype(numpy.uint16) * 257) if mode == "I;16" else rgb.convert(mode))
                    image.save(self.path(name, f"{i}.{kind}"), **options)
                report = self.stats(name)
                self.assertEqual((report["samples"], report["bad_samples"]), (4, 0))
                self.assertEqual([(row["w"], row["h"]) for row in report["sizes"]], [(W, H)])

    def test_orientation(self):
        """All eight, in JPEG and in PNG: the size is that of the image as Pillow turns it."""
        for kind in ("jpg", "png"):
            for orientation in range(1, 9):
                image, exif = Image.fromarray(pixels(3)), Image.Exif()
                exif[0x0112] = orientation
                image.save(self.path(f"{kind}/{orientation}.{kind}"), exif=exif.tobytes())
            report = self.stats(kind)
            self.assertEqual({(row["w"], row["h"]): row["count"] for row in report["sizes"]}, {(W, H): 4, (H, W): 4}, kind)
            self.assertEqual(report["image_files"]["exif_turned"], 7)

    def test_black_and_white_masks(self):
        """0 and 255 in mode L are two classes by a map; in mode 1 the file has 0 and 1."""
        self.images("gray/images")
        self.images("bits/images")
        for i in range(COUNT):
            mask = Image.fromarray(ids(i, (0, 255, 0)))
            mask.save(self.path(f"gray/masks/{i:03}.png"))
            mask.convert("1").save(self.path(f"bits/masks/{i:03}.png"))
        effects = self.effects("gray")
        self.assertEqual((effects["data.mask_map"], effects["model.num_classes"]), ("0:0,255:1", 2))
        self.assertEqual(sorted(self.count_ids("bits")), [0, 1])

    def test_palette_masks_of_voc(self):
        self.images("JPEGImages")
        want, palette = {}, [(37 * i) % 256 for i in range(768)]
        for i in range(COUNT):
            mask = ids(i, (0, 5, 12, 255, 20))
            image = Image.fromarray(mask, mode="P")
            image.putpalette(palette)
            image.save(self.path(f"SegmentationClass/{i:03}.png"))
            for value in numpy.unique(mask):
                want[int(value)] = want.get(int(value), 0) + int((mask == value).sum())
        del want[255]  # ignored
        self.path("ImageSets/Segmentation/x")
        (self.folder / "ImageSets/Segmentation/train.txt").write_text("".join(f"{i:03}\n" for i in range(COUNT)))
        self.assertEqual(self.count_ids("."), want)

    def test_color_masks(self):
        self.images()
        colors = numpy.array([(0, 0, 0), (255, 0, 0), (0, 128, 64)], numpy.uint8)
        want = {}
        for i in range(COUNT):
            mask = ids(i, (0, 1, 2))
            Image.fromarray(colors[mask]).save(self.path(f"masks/{i:03}.png"))
            for value in range(3):
                want[value] = want.get(value, 0) + int((mask == value).sum())
        refusal = self.run_stoker("train", ".", "image_size=16", "-q", status=1).stderr
        self.assertIn("data.mask_colors", refusal)
        self.assertEqual(self.effects(".", "data.mask_colors=auto")["model.num_classes"], 3)
        # In ascending order: black, 008040, ff0000.
        self.assertEqual(self.count_ids(".", "data.mask_colors=auto"), {0: want[0], 1: want[2], 2: want[1]})

    def digest(self, root, *settings):
        return json.loads(self.run_stoker("load", root, "--hash", "--json", "-q", *settings).stdout)["digest"]

    def test_packed_color_masks(self):
        """A pack has class ids instead of colors, and their names: the same stream, whether the colors are named again or not."""
        colors = numpy.array([(0, 0, 0), (255, 0, 0), (0, 128, 64), (9, 9, 9)], numpy.uint8)
        for i in range(COUNT):
            Image.fromarray(pixels(i)).save(self.path(f"set/images/{i:03}.png"))
            Image.fromarray(colors[ids(i, (0, 1, 2, 3))]).save(self.path(f"set/masks/{i:03}.png"))
        pathlib.Path(self.path("colors.txt")).write_text("0 128 64 tree\n0 0 0 sky\n255 0 0 roof\n9 9 9 void\n")
        refusal = self.run_stoker("pack", "set", "refused", status=1).stderr
        self.assertIn("colors are not class ids", refusal)
        self.assertIn("data.mask_colors", refusal)
        self.assertIn("a pack needs the colors themselves", self.run_stoker("pack", "set", "auto", "data.mask_colors=auto", status=2).stderr)
        self.run_stoker("pack", "set", "packed", "data.mask_colors=colors.txt")
        self.assertEqual((self.folder / "packed/classes.txt").read_text(), "tree\nsky\nroof\n")
        for settings in ([], ["data.image_size=17", "augment.preset=strong"]):
            want = self.digest("set", "data.mask_colors=colors.txt", *settings)
            self.assertEqual(self.digest("packed", *settings), want)
            self.assertEqual(self.digest("packed", "data.mask_colors=colors.txt", *settings), want)
        stored = self.stats("packed")
        self.assertEqual({row["name"]: row["count"] for row in stored["classes"]},
                         {row["name"]: row["count"] for row in self.stats("set", "data.mask_colors=colors.txt")["classes"]})
        self.run_stoker("pack", "set", "packed", "data.mask_colors=colors.txt")  # already complete
        for other in (["data.mask_colors=0080fe:0,000000:1,ff0000:2,090909:255"], []):
            self.assertIn("was started with another data.mask_colors", self.run_stoker("pack", "set", "packed", *other, status=1).stderr)
        self.assertIn("#090909 at x", self.run_stoker("pack", "set", "less", "data.mask_colors=000000:0,ff0000:1,008040:2", status=1).stderr)
        # A class without a color has no name: ids alone.
        self.run_stoker("pack", "set", "gaps", "data.mask_colors=000000:0,ff0000:1,008040:3,090909:255")
        self.assertFalse((self.folder / "gaps/classes.txt").exists())
        Image.fromarray(pixels(0)).save(self.path("plain/a.png"))
        self.assertIn("has no masks", self.run_stoker("pack", "plain", "none", "data.mask_colors=voc", status=2).stderr)

    def test_arrays(self):
        for i in range(COUNT):
            numpy.save(self.path(f"{'ab'[i % 2]}/{i}.npy"), pixels(i))
        report = self.stats(".")
        self.assertEqual((report["samples"], [row["name"] for row in report["classes"]]), (COUNT, ["a", "b"]))

    def test_masks_as_arrays(self):
        """argmax has int64, a comparison bool: accepted if all ids are 0 to 255, else damage with the reason."""
        for kind in ("int64", "int32", "uint16", "uint8", "bool"):
            self.images(f"{kind}/images")
            values, want = (0, 1) if kind == "bool" else (0, 4, 1), {}
            for i in range(COUNT):
                mask = ids(i, values).astype(kind)
                numpy.save(self.path(f"{kind}/masks/{i:03}.npy"), mask if i % 2 else mask[:, :, None])
                for value in values:
                    want[value] = want.get(value, 0) + int((mask == value).sum())
            self.assertEqual(self.count_ids(kind), want, kind)
            self.assertEqual(self.effects(kind)["model.num_classes"], max(values) + 1)
            shutil.rmtree(self.folder / "run")
        for value, why in ((-1, "less than 0"), (256, "more than 255")):
            numpy.save(self.path("int64/masks/000.npy"), numpy.full((H, W), value))
            done = self.run_stoker("stats", "int64")
            self.assertIn(f"class id {value}, {why}", done.stdout + done.stderr)
        for i in range(COUNT):
            numpy.save(self.path(f"int64/masks/{i:03}.npy"), ids(i, (0, 1)).astype("float32"))
        refusal = self.run_stoker("train", "int64", "image_size=16", "-q", status=1).stderr
        self.assertIn("dtype 'f4'", refusal)
        self.assertIn("masks: array.astype('uint8')", refusal.partition("hint:")[2])

    def test_lists(self):
        """to_csv() without options: an index without a name comes first, and is not used."""
        self.images()
        rows = [(f"{i:03}.jpg", ("cat", "dog")[i % 2]) for i in range(COUNT)]
        path = self.path("labels.csv")
        if pandas:
            pandas.DataFrame(rows, columns=["filename", "species"]).to_csv(path)
        else:
            with open(path, "w", newline="", encoding="utf-8") as file:
                csv.writer(file, lineterminator="\n").writerows([("", "filename", "species")] + [(i, *row) for i, row in enumerate(rows)])
        report = self.stats(".")
        self.assertEqual([(row["name"], row["samples"]) for row in report["classes"]], [("cat", COUNT // 2), ("dog", COUNT // 2)])


class OpenCV(Files):
    def test_pairs(self):
        if cv2 is None:
            self.skipTest("no OpenCV here")
        want = {}
        for i in range(COUNT):
            cv2.imwrite(self.path(f"image/{i}.jpg"), pixels(i))
            mask = ids(i, (0, 1, 3))
            cv2.imwrite(self.path(f"mask/{i}.png"), mask if i % 2 else cv2.merge([mask] * 3))  # gray, and gray as three channels
            for value in numpy.unique(mask):
                want[int(value)] = want.get(int(value), 0) + int((mask == value).sum())
        self.assertEqual(self.count_ids("."), want)


if __name__ == "__main__":
    unittest.main()
