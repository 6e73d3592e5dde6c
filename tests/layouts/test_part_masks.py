#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CelebAMask-HQ as it is unpacked: a mask file for each part of a face, merged into one mask for each image.

The first table is how such folders are read. The other tests write 6 images in 2 folders of masks with Pillow; what their merged masks
are is computed here by NumPy, by the rule of the data set's own script (face_parsing/Data_preprocessing/g_mask.py).
"""
import io
import json
import tarfile
import unittest

from layout_case import MASK, Case, Workspace, mask_bytes, run_cases

try:
    import numpy
    from PIL import Image
except ImportError:
    numpy = Image = None

NAMES = ["background", "skin", "nose", "eye_g", "l_eye", "r_eye", "l_brow", "r_brow", "l_ear", "r_ear", "mouth", "u_lip", "l_lip",
         "hair", "hat", "ear_r", "neck_l", "neck", "cloth"]
PARTS = NAMES[1:]
PAIRS = {"l_eye": "r_eye", "l_brow": "r_brow", "l_ear": "r_ear"}
LAYOUT = "images and masks of parts"
IMG, ANNO = "CelebA-HQ-img", "CelebAMask-HQ-mask-anno"
FOUND = f"CelebAMask-HQ: images in '{IMG}', masks of parts in '{ANNO}'"
WHITE = mask_bytes(255)
TWO = {f"{IMG}/0.jpg": None, f"{IMG}/2000.jpg": None, f"{ANNO}/0/00000_hair.png": WHITE, f"{ANNO}/0/00000_skin.png": WHITE,
       f"{ANNO}/1/02000_neck_l.png": WHITE}

READ = [
    Case("all images have masks", TWO, layout=LAYOUT, samples=2, classes=NAMES, found=FOUND),
    Case("the texts that come with it", TWO | dict.fromkeys(
        ["CelebA-HQ-to-CelebA-mapping.txt", "CelebAMask-HQ-attribute-anno.txt", "CelebAMask-HQ-pose-anno.txt", "README.txt"],
        "30000\nSmiling Young\n0.jpg  -1 1\n"), layout=LAYOUT, samples=2, classes=NAMES, found=FOUND),
    Case("an image without, a mask without, a text", TWO | {f"{IMG}/1.jpg": None, f"{ANNO}/0/00002_hat.png": WHITE, f"{ANNO}/0/x.txt": "x"},
         layout=LAYOUT, samples=3, classes=NAMES, found=FOUND, unmasked=1,
         left_out={"masks without an image": 1, "txt files: not images": 1}),
    Case("as pairs", TWO, "data.layout=pairs", layout=LAYOUT, samples=2, classes=NAMES, found=FOUND),
    Case("folders by settings", {path.replace(IMG, "faces"): data for path, data in TWO.items()}, "data.images=faces", f"data.masks={ANNO}",
         layout=LAYOUT, samples=2, classes=NAMES, found=f"images in 'faces', masks in '{ANNO}', as set"),
    Case("other folders beside it", TWO | {"more/a.png": None}, layout=LAYOUT, samples=2, classes=NAMES, found=FOUND,
         left_out={"folders that are not read": 1}),
    Case("merged masks beside it", TWO | {f"CelebAMask-HQ-mask/{i}.png": MASK for i in (0, 2000)}, layout="images and masks", samples=2,
         found=f"images in '{IMG}', masks in 'CelebAMask-HQ-mask'; the same names", left_out={"folders that are not read": 1}),
    Case("a list of the validation part", TWO | {"val.txt": "2000\n"}, "data.val_list=val.txt", "data.part=train", layout=LAYOUT, samples=1,
         classes=NAMES, found=FOUND, parts=["train", "val"]),
    Case("a part of its own", {f"{part}/{path}": data for part in ("train", "val") for path, data in TWO.items()}, layout=LAYOUT + " in train/",
         samples=2, classes=NAMES, found=FOUND, parts=["train", "val"]),
    Case("the images alone", TWO, "data.layout=images", root=IMG, layout="folder of images", samples=2),
]

REFUSED = [
    Case("the folder around it", {"CelebAMask-HQ/" + path: data for path, data in TWO.items()},
         refused="holds nothing but the folder 'CelebAMask-HQ'", hint="give './CelebAMask-HQ' as the data set"),
    Case("an unknown part", TWO | {f"{ANNO}/0/00000_beard.png": WHITE}, refused=["'beard' is not the name of a part", "00000_beard.png"],
         hint="NUMBER_PART, with the parts skin, nose,"),
    Case("no images", {f"{ANNO}/0/00000_hair.png": WHITE}, refused="no folder beside it is called like images", hint=f"data.masks={ANNO}"),
    Case("masks of other images", {f"{IMG}/5.jpg": None, f"{ANNO}/0/00000_hair.png": WHITE}, refused="no mask belongs to an image",
         hint="is it the same data set"),
    Case("an image with two folders", TWO | {f"{ANNO}/1/00000_hat.png": WHITE}, refused="lie in two places", hint="one folder"),
    Case("parts beside it", TWO | {"train/images/1.png": None, "train/masks/1.png": MASK},
         refused=["can be read in two ways: parts of a data set ('train')", f"images in '{IMG}' with masks in '{ANNO}'"],
         hint="data.layout=parts or data.layout=pairs"),
    Case("too few names", TWO | {"classes.txt": "background\nskin\nhair\n"}, refused="classes.txt has 3 names, masks of parts have 19", hint="remove it"),
    Case("a part without a name", TWO | {"classes.txt": "\n".join(NAMES).replace("hat", "cap")},
         refused="classes.txt does not have the part 'hat'", hint="the 18 parts in any order"),
    Case("a part as class 0", TWO | {"classes.txt": "\n".join(NAMES[::-1])}, refused="class 0 of classes.txt is 'cloth'", hint="no part"),
]


class Layouts(unittest.TestCase):
    def test_read(self):
        run_cases(self, READ)

    def test_refused(self):
        run_cases(self, REFUSED)


SIDE, NUMBERS = 24, (0, 1, 2, 1999, 2000, 2001)


def draw_image(number, side):
    y, x = numpy.mgrid[0:side, 0:side]
    return numpy.stack([(x * 7 + number) % 256, (y * 5 + x + number) % 256, (x * y + 3 * number) % 256], axis=-1).astype(numpy.uint8)


def draw_parts(number):
    """Name to mask of 0 and 255: rectangles that overlap; about a third of the parts is missing."""
    random = numpy.random.default_rng(number)
    parts = {}
    for name in PARTS:
        y, x, h, w = random.integers(0, SIDE * 2 // 3, 4)
        if name == "skin" or random.random() < 0.65:
            parts[name] = numpy.zeros((SIDE, SIDE), numpy.uint8)
            parts[name][y:y + h + 2, x:x + w + 2] = 255
    return parts


def merge(parts):
    mask = numpy.zeros((SIDE, SIDE), numpy.uint8)
    for number, name in enumerate(PARTS):
        if name in parts:
            mask[parts[name] != 0] = number + 1
    return mask


class Pixels(Workspace):
    """The set of parts, and twins of it with one mask for each image."""

    def setUp(self):
        super().setUp()
        if Image is None:
            self.skipTest("neither Pillow nor NumPy here")

    def save(self, array, *names, mode=None):
        path = self.folder.joinpath(*names)
        path.parent.mkdir(parents=True, exist_ok=True)
        image = Image.fromarray(array)
        (image.convert(mode) if mode else image).save(path)

    def make(self, image_side=SIDE):
        """Parts as RGB files, those of image 1 in gray; and the same samples as images and masks in `twin`."""
        for number in NUMBERS:
            parts = draw_parts(number)
            for name, part in parts.items():
                self.save(part, "set", ANNO, str(number // 2000), f"{number:05d}_{name}.png", mode=None if number == 1 else "RGB")
            for path in (("set", IMG), ("twin", "images")):
                self.save(draw_image(number, image_side), *path, f"{number}.png")
            self.save(merge(parts), "twin", "masks", f"{number}.png")
        (self.folder / "twin/classes.txt").write_text("\n".join(NAMES) + "\n")

    def load(self, root, *settings, status=0):
        done = self.stoker("load", root, "--json", "--hash", "data.batch_size=2", *settings)
        self.assertEqual(done.returncode, status, done.stderr)
        return json.loads(done.stdout) if status == 0 else done.stderr

    def digest(self, *words):
        return self.load(*words)["digest"]

    def test_merged_pixels(self):
        """The stream is that of masks which NumPy merged, for every number of workers, cache, resizing and augmentation."""
        self.make()
        expected = self.digest("twin")
        others = set()
        for settings in ([], ["data.num_workers=0"], ["data.num_workers=3"], ["data.cache=1M"]):
            self.assertEqual(self.digest("set", *settings), expected, settings)
        for settings in (["--epochs", "2"], ["data.image_size=17"], ["augment.preset=strong", "data.image_size=20", "--epochs", "2"]):
            other = self.digest("twin", *settings)
            others.add(other)
            for workers in ("data.num_workers=1", "data.num_workers=3", "data.cache=1M"):
                self.assertEqual(self.digest("set", *settings, workers), other, settings)
        self.assertEqual(len(others | {expected}), 4)

    def test_masks_of_half_the_size(self):
        """As published: masks of 512 pixels, images of 1024."""
        self.make(2 * SIDE)
        self.assertEqual(self.digest("set"), self.digest("twin"))

    def test_resume(self):
        self.make()
        self.load("set", "--stop-after", "2", "--state", "state.json")
        self.assertEqual(self.digest("set", "--state", "state.json", "data.num_workers=3"), self.digest("twin"))

    def test_left_and_right(self):
        """A mirrored sample is the mirrored picture, with left and right exchanged."""
        self.make()
        swap = numpy.arange(256, dtype=numpy.uint8)
        for left, right in PAIRS.items():
            a, b = NAMES.index(left), NAMES.index(right)
            swap[a], swap[b] = b, a
        for number in NUMBERS:
            self.save(numpy.ascontiguousarray(draw_image(number, SIDE)[:, ::-1]), "mirror", "images", f"{number}.png")
            self.save(numpy.ascontiguousarray(swap[merge(draw_parts(number))][:, ::-1]), "mirror", "masks", f"{number}.png")
        plain = self.digest("mirror", "augment.horizontal_flip_prob=0", "augment.gamma=[1,1]")
        self.assertEqual(self.digest("set", "augment.horizontal_flip_prob=1", "augment.gamma=[1,1]"), plain)
        self.assertEqual(self.digest("set", "augment.horizontal_flip_prob=1", "augment.gamma=[1,1]", "data.cache=1M"), plain)
        self.assertNotEqual(self.digest("set", "augment.horizontal_flip_prob=1", "augment.gamma=[1,1]", "data.flip_pairs=none"), plain)

    def test_damaged_part(self):
        """A corrupt part is a corrupt sample, by each policy, and the ledger names the file of the part."""
        self.make()
        part = self.folder / "set" / ANNO / "1" / "02000_skin.png"
        part.write_bytes(part.read_bytes()[:60])
        told = self.load("set", status=1)
        self.assertIn(f"where: set/{ANNO}/1/02000_skin.png", told)
        for policy in ("replace", "skip"):
            reports = [self.load("set", f"data.on_bad_sample={policy}", f"data.num_workers={n}") for n in (1, 3)]
            self.assertEqual(len({report["digest"] for report in reports}), 1)
            for report in reports:
                self.assertEqual(report["bad_samples"], 1)
        self.save(numpy.zeros((SIDE, SIDE + 1), numpy.uint8), "set", ANNO, "1", "02000_skin.png")
        self.assertIn("mask_size", self.load("set", status=1) + json.dumps(self.stats("set", "data.on_bad_sample=skip")))

    def stats(self, *words):
        done = self.stoker("stats", *words, "--json", "-q")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_stats(self):
        """Pixels by class are those of NumPy; nothing in a clean set is a finding."""
        self.make()
        report = self.stats("set", "--html", "page.html")
        counts = sum(numpy.bincount(merge(draw_parts(number)).ravel(), minlength=19) for number in NUMBERS)
        self.assertEqual([(row["name"], row["count"]) for row in report["classes"]], list(zip(NAMES, counts.tolist())))
        self.assertEqual(report["findings"], self.stats("twin")["findings"])
        self.assertIn("ear_r", (self.folder / "page.html").read_text())

    def test_sheets(self):
        self.make()
        sheets = []
        for root in ("set", "twin"):
            (self.folder / root).rename(self.folder / "root")  # its name is in the picture
            done = self.stoker("augment", "root", "--sheet", f"{root}.png", "augment.preset=standard")
            self.assertEqual(done.returncode, 0, done.stderr)
            sheets.append((self.folder / f"{root}.png").read_bytes())
            (self.folder / "root").rename(self.folder / root)
        self.assertEqual(*sheets)

    def test_pack(self):
        """A pack has the merged mask as one PNG in its own size, and gives the same stream."""
        for side in (SIDE, 2 * SIDE):
            self.make(side)
            packed = f"packed-{side}"
            done = self.stoker("pack", "set", packed)
            self.assertEqual(done.returncode, 0, done.stderr)
            masks = {}
            for shard in (self.folder / packed).glob("*.tar"):
                with tarfile.open(shard) as tar:
                    masks |= {name: numpy.array(Image.open(io.BytesIO(tar.extractfile(name).read()))) for name in tar.getnames()
                              if name.endswith(".mask.png")}
            self.assertEqual(sorted(masks), sorted(f"{number}.mask.png" for number in NUMBERS))
            for number in NUMBERS:
                self.assertTrue((masks[f"{number}.mask.png"] == merge(draw_parts(number))).all(), number)
            self.assertEqual((self.folder / packed / "classes.txt").read_text().split(), NAMES)
            for settings in ([], ["augment.preset=strong", "data.image_size=[17, 21]", "data.num_workers=3"]):
                self.assertEqual(self.digest(packed, *settings), self.digest("set", *settings))
            (self.folder / "set").rename(self.folder / "moved")
            done = self.stoker("pack", "moved", packed)
            self.assertIn("already complete", done.stdout, done.stderr)
            (self.folder / "moved").rename(self.folder / "set")

    def test_train(self):
        """The settings of a user's report start on it; classes and pairs are in the effects; eval and predict work."""
        self.make(2 * SIDE)
        (self.folder / "best.yaml").write_text(
            "data:\n  batch_size: 2\n  num_workers: 2\ntraining:\n  use_gpu_augmentation: true\n  use_amp: true\n"
            "gpu_augmentation:\n  horizontal_flip_prob: 0.5\n  rotation_degrees: 15\n  brightness: 0.2\n  contrast: 0.2\n")
        done = self.stoker("train", "best.yaml", "data.root=set", "model.width=4", "model.depth=2", "image_size=16", "epochs=1",
                           "val_split=0.34", "run.engine=reference", "--run", "run")
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads((self.folder / "run/run.json").read_text())
        effects = {row["name"]: row["in_effect"] for row in report["effects"]}
        self.assertEqual(effects["data.flip_pairs"], "4:5,6:7,8:9")
        self.assertIn("19 classes", done.stdout + done.stderr)
        done = self.stoker("eval", "run", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.stoker("predict", "run", "set", "--overlay", "--output", "out")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(list((self.folder / "out").rglob("*.png"))), 2 * len(NUMBERS))


if __name__ == "__main__":
    unittest.main()
