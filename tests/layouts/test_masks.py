#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Masks as people have them, understood or refused with the setting that helps. Each data set is made here;
`stoker train --plan` says how it is read. Run by meson with STOKER set; stdlib only."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from png_files import PALETTE, RGB, photo, png  # noqa: E402

STOKER = os.path.abspath(os.environ["STOKER"])
SIDE = 16
SMALL = ["model.width=2", "model.depth=2", "run.engine=reference"]
CVAT = [(0, 0, 0), (250, 50, 83), (51, 221, 255)]
LABELMAP = "# label:color_rgb:parts:actions\nbackground:0,0,0::\ncat:250,50,83::\ndog:51,221,255::\n"
CLASS_DICT = "name,r,g,b\nsky,0,0,0\ncat,250,50,83\ndog,51,221,255\n"
VOC = [(0, 0, 0), (128, 0, 0), (0, 128, 0)]


def run(*words, folder):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("STOKER_")}
    return subprocess.run([STOKER, *words], cwd=folder, env=environment, text=True, timeout=120,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def areas(values, w=SIDE, h=SIDE):
    """Vertical stripes of these values."""
    return [[values[x * len(values) // w] for x in range(w)] for _ in range(h)]


def write(folder, name, data):
    path = pathlib.Path(folder, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)


def make(folder, masks, extension="png", size=(SIDE, SIDE)):
    """images/ and masks/, one for each of masks (bytes of a file)."""
    for number, mask in enumerate(masks):
        write(folder, f"images/{number:02}.png", photo(*size, number))
        write(folder, f"masks/{number:02}.{extension}", mask)


def gray(*sets, **options):
    return [png(areas(values), **options) for values in sets]


def colored(*sets):
    return [png(areas(values), RGB) for values in sets]


def blurred():
    """Black and white, but for a row of levels between."""
    return [png(areas([0, 255])[1:] + [list(range(10, 250, 15))])]


def renumbered():
    """Masks of the same colors, which a drawing program numbered for each file."""
    turned = [VOC[0], VOC[2], VOC[1]]
    return [png(areas([0, 1, 2]), PALETTE, palette=palette) for palette in (VOC, VOC, turned)]


def jpeg_files(count):
    """JPEG files of the program's own making."""
    with tempfile.TemporaryDirectory() as elsewhere:
        done = run("make", "faces", "made", "--count", str(count), folder=elsewhere)
        assert done.returncode == 0, done.stderr
        return [path.read_bytes() for path in sorted(pathlib.Path(elsewhere, "made").rglob("*.jpg"))]


VOC_PALETTE = [tuple(sum((i >> (3 * bit + c) & 1) << (7 - bit) for bit in range(8)) for c in range(3))
               for i in range(256)]


# name, data set, settings, expected: {setting: (in effect, why)}; None: left at its default, nothing to tell
UNDERSTOOD = [
    ("ids", lambda f: make(f, gray([0, 1], [0, 2], [1, 2])), [],
     {"data.num_classes": (3, "largest mask id found 2 + 1, in 3 masks"),
      "model.num_classes": (3, "largest mask id found 2 + 1, in 3 masks"), "data.mask_map": None}),
    ("ids_ignored", lambda f: make(f, gray([0, 1, 255], [0, 2], [3, 2])), [],
     {"data.num_classes": (4, "largest mask id found 3 + 1, in 3 masks"), "data.mask_map": None}),
    ("binary", lambda f: make(f, gray([0, 255], [0], [255, 0])), [],
     {"data.mask_map": ("0:0,255:1", "auto: the 3 masks have the values 0 and 255 only: two classes"),
      "model.num_classes": (2, "largest mask id found 1 + 1, in 3 masks")}),
    ("binary_told", lambda f: make(f, gray([0, 255], [0, 255])), ["data.mask_map=0:1,255:0"],
     {"data.mask_map": ("0:1,255:0", None), "data.num_classes": (2, "largest mask id found 1 + 1, in 2 masks")}),
    ("binary_and_ignored", lambda f: make(f, gray([0, 1, 255], [0, 1])), [],
     {"data.mask_map": ("none", "auto: two classes 0 and 1; 255 is ignored (1 masks have both)"),
      "model.num_classes": (2, "largest mask id found 1 + 1, in 2 masks")}),
    ("binary_of_both_kinds_told", lambda f: make(f, gray([0, 1], [0, 255])), ["data.mask_map=0:0,1:1,255:1"],
     {"model.num_classes": (2, "largest mask id found 1 + 1, in 2 masks")}),
    ("levels_told", lambda f: make(f, gray([0, 128, 255], [0, 128])), ["data.mask_map=0:0,128:1,255:2"],
     {"model.num_classes": (3, "largest mask id found 2 + 1, in 2 masks")}),
    ("voc_palette", lambda f: make(f, gray([0, 15, 255], [0, 2], color=PALETTE, palette=VOC_PALETTE)), [],
     {"model.num_classes": (16, "largest mask id found 15 + 1, in 2 masks"), "data.mask_map": None}),
    ("palette_of_two_bits", lambda f: make(f, gray([0, 1, 3], color=PALETTE, depth=2, palette=VOC_PALETTE[:4])), [],
     {"model.num_classes": (4, "largest mask id found 3 + 1, in 1 mask")}),
    ("one_bit", lambda f: make(f, gray([0, 1], [1, 0], depth=1)), [],
     {"model.num_classes": (2, "largest mask id found 1 + 1, in 2 masks")}),
    ("sixteen_bits", lambda f: make(f, gray([0, 1, 5], depth=16)), [],
     {"model.num_classes": (6, "largest mask id found 5 + 1, in 1 mask")}),
    ("gray_saved_as_rgb", lambda f: make(f, colored([(0, 0, 0), (2, 2, 2)], [(1, 1, 1), (0, 0, 0)])), [],
     {"model.num_classes": (3, "largest mask id found 2 + 1, in 2 masks")}),
    ("binary_saved_as_rgb", lambda f: make(f, colored([(0, 0, 0), (255, 255, 255)])), [],
     {"data.mask_map": ("0:0,255:1", "auto: the 1 masks have the values 0 and 255 only: two classes")}),
    ("colors_voc", lambda f: make(f, colored(VOC, [(0, 0, 0), (224, 224, 192)])), ["data.mask_colors=voc"],
     {"model.num_classes": (21, "classes of data.mask_colors"), "data.mask_colors": ("voc", None)}),
    ("colors_auto", lambda f: make(f, colored(VOC, [(0, 0, 0), (9, 9, 9)])), ["data.mask_colors=auto"],
     {"model.num_classes": (4, "classes of data.mask_colors"),
      "data.mask_colors": ("000000:0,008000:1,090909:2,800000:3",
                           "auto: 4 colors found in 2 masks, in ascending order")}),
    ("colors_file", lambda f: (make(f, colored(VOC)), write(f, "c.txt", "0 0 0 sky\n#008000 tree\n128,0,0,car\n")),
     ["data.mask_colors=c.txt"],
     {"model.num_classes": (3, "classes of data.mask_colors"), "data.mask_colors": ("c.txt", None)}),
    ("colors_of_cvat_told", lambda f: (make(f, colored(CVAT)), write(f, "labelmap.txt", LABELMAP)),
     ["data.mask_colors=./labelmap.txt"], {"model.num_classes": (3, "classes of data.mask_colors")}),
    ("colors_of_camvid_told", lambda f: (make(f, colored(CVAT)), write(f, "class_dict.csv", CLASS_DICT)),
     ["data.mask_colors=./class_dict.csv"], {"model.num_classes": (3, "classes of data.mask_colors")}),
    ("colors_csv", lambda f: (make(f, colored(VOC)), write(f, "c.csv", "name,r,g,b\nsky,0,0,0\ntree,0,128,0\n"
                                                                         "void,128,0,0\n")),
     ["data.mask_colors=c.csv"], {"model.num_classes": (2, "classes of data.mask_colors")}),
    ("palettes_of_each_file_told", lambda f: make(f, renumbered()), ["data.mask_map=none"],
     {"model.num_classes": (3, "largest mask id found 2 + 1, in 3 masks")}),
    ("palettes_that_agree", lambda f: make(f, [png(areas([0, 1]), PALETTE, palette=VOC), png(
        areas([0, 2]), PALETTE, palette=[VOC[0], (9, 9, 9), VOC[2]])]), [],
     {"model.num_classes": (3, "largest mask id found 2 + 1, in 2 masks"), "data.mask_map": None}),
    ("jpeg_threshold", lambda f: make(f, jpeg_files(3), "jpg"), ["data.mask_map=threshold"],
     {"model.num_classes": (2, "largest mask id found 1 + 1, in 3 masks")}),
    ("blurred_threshold", lambda f: make(f, blurred()), ["data.mask_map=threshold"],
     {"model.num_classes": (2, "largest mask id found 1 + 1, in 1 mask")}),
    ("half_size", lambda f: make(f, [png(areas([0, 1], 8, 8)), png(areas([0, 1]))]), [],
     {"model.num_classes": (2, "largest mask id found 1 + 1, in 2 masks")}),
    ("named", lambda f: (make(f, gray([0, 1], [2])), write(f, "classes.txt", "a\nb\nc\nd\ne\n")), [],
     {"data.num_classes": None, "model.num_classes": (5, None)}),
    ("count_told", lambda f: make(f, gray([0, 1])), ["data.num_classes=7"],
     {"data.num_classes": (7, None), "model.num_classes": (7, None)}),
    ("network_told", lambda f: make(f, gray([0, 1])), ["model.num_classes=19"],
     {"model.num_classes": (19, None)}),
    ("ignore_index", lambda f: make(f, gray([0, 1, 9])), ["loss.ignore_index=9"],
     {"model.num_classes": (2, "largest mask id found 1 + 1, in 1 mask")}),
    ("one_corrupt", lambda f: make(f, gray([0, 1], [0, 2]) + [b"broken"]), [],
     {"model.num_classes": (3, "largest mask id found 2 + 1, in 2 masks")}),
]

# name, data set, settings, what the error says, what the hint says
REFUSED = [
    ("binary_as_stored", lambda f: make(f, gray([0, 255], [0])), ["data.mask_map=none"],
     "'.' has only one class: there is nothing to learn", "masks and classes.txt need a class for the background"),
    ("binary_of_both_kinds", lambda f: make(f, gray([0, 1], [0, 255])), [],
     "the masks have the values 0, 1 and 255 (2 masks): some masks are 0/1 and others 0/255, or 255 is ignored",
     "data.mask_map=0:0,1:1,255:1 or data.mask_map=none"),
    ("binary_of_many_classes", lambda f: make(f, gray([0, 255])), ["data.num_classes=5"],
     "the masks have the values 0 and 255 (1 masks): 255 is the foreground of two classes, or 255 is ignored",
     "data.mask_map=0:0,255:1 or data.mask_map=none"),
    ("levels", lambda f: make(f, gray([0, 128, 255], [0, 128])), [],
     "the masks have the values 0, 128 and 255 (2 masks): gray levels that stand for classes, or class ids",
     "data.mask_map=0:0,128:1,255:2 or data.mask_map=none"),
    ("one_value", lambda f: make(f, gray([200], [200])), [], "all pixels of the 2 masks that were looked at have the value 200",
     "Image.open(FILE).getchannel('A').save(FILE)"),
    ("all_white", lambda f: make(f, gray([255], [255])), [],
     "the masks have the value 255 (2 masks): 255 is the foreground of two classes, or 255 is ignored",
     "data.mask_map=0:0,255:1 or data.mask_map=none"),
    ("all_empty", lambda f: make(f, gray([0], [0])), [],
     "'.' has only one class: there is nothing to learn", "masks and classes.txt need a class for the background"),
    ("colors", lambda f: make(f, colored(VOC, VOC)), [],
     "2 of 2 masks are RGB images, with 3 colors in all: #000000 in 2, #008000 in 2, #800000 in 2",
     "data.mask_colors=voc has all these colors; data.mask_colors=FILE (lines 'r g b name') says which color is "
     "which class; data.mask_colors=auto numbers them from #000000 on"),
    ("colors_of_two_tables", lambda f: make(f, colored([(128, 0, 0), (128, 128, 128), (64, 0, 128)])), [],
     "1 of 1 masks are RGB images, with 3 colors",
     "data.mask_colors=voc or data.mask_colors=camvid has all these colors; data.mask_colors=FILE"),
    ("colors_of_cvat", lambda f: (make(f, colored(CVAT)), write(f, "labelmap.txt", LABELMAP)), [],
     "1 of 1 masks are RGB images, with 3 colors", "data.mask_colors=./labelmap.txt has all these colors; "),
    ("colors_of_camvid", lambda f: (make(f, colored(CVAT)), write(f, "class_dict.csv", CLASS_DICT)), [],
     "1 of 1 masks are RGB images, with 3 colors", "data.mask_colors=./class_dict.csv has all these colors; "),
    ("colors_of_another_file", lambda f: (make(f, colored(CVAT)), write(f, "labelmap.txt", "a:1,2,3::\n")), [],
     "1 of 1 masks are RGB images, with 3 colors", "hint:  data.mask_colors=FILE (lines 'r g b name')"),
    ("colors_unknown", lambda f: make(f, colored([(1, 2, 3), (4, 5, 6)])), [],
     "1 of 1 masks are RGB images, with 2 colors in all: #010203 in 1, #040506 in 1",
     "data.mask_colors=FILE (lines 'r g b name') says which color is which class; data.mask_colors=auto numbers "
     "them from #010203 on"),
    ("photographs", lambda f: make(f, [photo(SIDE, SIDE, 1)]), ["data.mask_colors=auto"],
     "data.mask_colors=auto: the RGB masks have more than 64 colors: photographs, or masks with blurred edges",
     "data.mask_colors=FILE names the colors, 'r g b name' a line"),
    ("colors_no_file", lambda f: make(f, colored(VOC)), ["data.mask_colors=nothing.txt"],
     "data.mask_colors: ", "name a file of lines 'r g b name', or voc, cityscapes, camvid or auto"),
    ("palettes_of_each_file", lambda f: make(f, renumbered()), [],
     "the masks have different palettes: index 1 is color #008000 in './masks/02.png' and #800000 in "
     "'./masks/00.png'", "data.mask_map=none, if the indices are the class ids; if the colors are, save the masks as RGB"),
    ("jpeg", lambda f: make(f, jpeg_files(2), "jpg"), [],
     "2 of 2 masks are JPEG files, whose compression blurs class ids at every edge",
     "store masks as PNG; two classes in black and white: data.mask_map=threshold reads values from 128 on as "
     "class 1, below as 0"),
    ("blurred", lambda f: make(f, blurred()), [],
     "a black and white mask with blurred edges, or class ids", "data.mask_map=threshold or data.mask_map=none"),
    ("nothing_readable", lambda f: make(f, [b"broken", b"broken"]), [],
     "none of the 2 masks that were looked at is usable; the first: not a JPEG, PNG or npy file", ""),
    ("map_misspelt", lambda f: make(f, gray([0, 1])), ["data.mask_map=automatic"],
     "data.mask_map has 'automatic', which is not value:id with numbers from 0 to 255",
     "such as 0:0,255:1; or auto, none or threshold"),
]

failures = []


def check(name, good, about):
    if not good:
        failures.append(name)
        print(f"{name}: {about}")


def check_understood(name, fill, settings, expected):
    with tempfile.TemporaryDirectory() as folder:
        fill(folder)
        done = run("train", ".", "--plan", "--json", *SMALL, *settings, folder=folder)
        if done.returncode != 0:
            return check(name, False, done.stderr)
        rows = {row["name"]: row for row in json.loads(done.stdout)["effects"]}
        for setting, value in expected.items():
            row = rows.get(setting)
            got = row and (row["in_effect"], row["why"])
            good = got == value if value else not got or got[1] is None and not got[0]
            check(name, good, f"{setting} is {got}, expected {value}")


def check_refused(name, fill, settings, message, hint):
    with tempfile.TemporaryDirectory() as folder:
        fill(folder)
        done = run("train", ".", "--plan", *SMALL, *settings, folder=folder)
        check(name, done.returncode not in (0, -6, -11) and message in done.stderr and hint in done.stderr,
              f"status {done.returncode}, expected '{message}' ({hint}):\n{done.stderr}")


def check_training():
    """Both parts follow one decision, config.yaml keeps it, and a larger id stops the run."""
    with tempfile.TemporaryDirectory() as top:
        folder = pathlib.Path(top, "data")
        make(folder, gray([0, 255], [255, 0], [0], [0, 255]))
        fit = ["data.val_split=0.25", "data.batch_size=2", "data.num_workers=1", "train.epochs=1", *SMALL]
        done = run("train", ".", "--run", "../r", *fit, folder=folder)
        check("binary run", done.returncode == 0, done.stderr)
        check("binary run", "looked at 4 masks in" in done.stderr, done.stderr)
        settings = pathlib.Path(folder, "../r/config.yaml").read_text()
        check("config.yaml", "0:0,255:1" in settings and "num_classes: 2" in settings, settings)
        done = run("train", "--run", "../r", "--resume", "train.epochs=2", folder=folder)
        check("resumed", done.returncode == 0 and "looked at" not in done.stderr, done.stderr)
        done = run("eval", "../r", folder=folder)
        check("evaluated", done.returncode == 0, done.stderr)
        make(pathlib.Path(top, "other"), gray([0, 1], [0, 3]))
        make(pathlib.Path(top, "ids"), gray([0, 1], [1, 0]))
        done = run("train", "../ids", "data.val_root=../other", "--run", "../s", *fit[1:], folder=folder)
        check("larger id", done.returncode not in (0, -6, -11) and "data.num_classes=4" in done.stderr and
              "other/masks/01.png" in done.stderr and not os.path.exists(f"{top}/s"), done.stderr)


def check_palettes_in_stats():
    """What training would refuse is a finding."""
    for masks, settings, expected in ((renumbered(), [], True), (renumbered(), ["data.mask_map=none"], False),
                                      (renumbered()[:2], [], False)):
        with tempfile.TemporaryDirectory() as folder:
            make(folder, masks)
            done = run("stats", ".", *settings, folder=folder)
            check("stats", done.returncode == 0 and expected == ("different palettes: index 1" in done.stdout),
                  done.stdout + done.stderr)


def check_colors_of_a_run():
    """Colors that were numbered once keep their numbers."""
    with tempfile.TemporaryDirectory() as top:
        folder = pathlib.Path(top, "data")
        make(folder, colored(VOC, VOC, [(0, 0, 0), (128, 0, 0)], VOC))
        done = run("train", ".", "--run", "../r", "data.mask_colors=auto", "data.val_split=0.25", "data.batch_size=2",
                   "data.num_workers=1", "train.epochs=1", *SMALL, folder=folder)
        check("colors run", done.returncode == 0, done.stderr)
        for line in ("#000000 class 0: 4 masks, ", "#008000 class 1: 3 masks, ", "#800000 class 2: 4 masks, "):
            check("colors run", line in done.stderr, done.stderr)
        settings = pathlib.Path(folder, "../r/config.yaml").read_text()
        check("colors kept", "000000:0,008000:1,800000:2" in settings, settings)
        make(folder, colored(VOC, [(0, 0, 0), (0, 0, 9)], VOC, VOC))
        done = run("train", "--run", "../r", "--resume", "train.epochs=2", folder=folder)
        check("a new color", done.returncode not in (0, -6, -11) and "#000009" in done.stderr, done.stderr)
        make(folder, colored(VOC, VOC, VOC, VOC))
        done = run("train", "--run", "../r", "--resume", "train.epochs=2", folder=folder)
        check("colors resumed", done.returncode == 0, done.stderr)
        done = run("eval", "../r", folder=folder)
        check("colors evaluated", done.returncode == 0 and "#008000" in done.stdout, done.stdout + done.stderr)


def check_validation():
    """Masks of the validation part that were saved otherwise than those of the training part."""
    with tempfile.TemporaryDirectory() as folder:
        make(os.path.join(folder, "train"), gray([0, 1], [0, 1], [1, 0], [0, 1]))
        make(os.path.join(folder, "val"), gray([0, 255], [255, 0]))
        words = ["train", ".", "model.name=unet", "width=2", "depth=2", "batch_size=2", "epochs=1", "run.engine=reference", "-q"]
        done = run(*words, folder=folder)
        check("validation 0/255", done.returncode == 1 and "validation part have the values 0 and 255 only" in done.stderr
              and "data.val.mask_map=0:0,255:1" in done.stderr, done.stderr)
        done = run(*words, "data.val.mask_map=0:0,255:1", "--run", "mapped", folder=folder)
        check("validation mapped", done.returncode == 0, done.stderr)
        done = run(*words, "data.val.mask_map=none", "--run", "ignored", folder=folder)
        check("validation ignored", done.returncode == 0, done.stderr)


def check_loading():
    """load looks at nothing unless it is asked to."""
    with tempfile.TemporaryDirectory() as folder:
        make(folder, gray([0, 255], [0, 255]))
        done = run("load", ".", "--json", folder=folder)
        rows = {row["name"]: row for row in json.loads(done.stdout)["effects"]}
        check("load", done.returncode == 0 and rows["data.mask_map"]["in_effect"] == "", done.stdout)
        done = run("load", ".", "--json", "data.mask_map=auto", folder=folder)
        rows = {row["name"]: row for row in json.loads(done.stdout)["effects"]}
        check("load auto", rows.get("data.mask_map", {}).get("in_effect") == "0:0,255:1", done.stdout)
    with tempfile.TemporaryDirectory() as folder:
        make(folder, colored(VOC))
        write(folder, "c.txt", "0 0 0 sky\n0 128 0 tree\n")
        done = run("load", ".", folder=folder)
        check("load colors", "the mask is an RGB image with color #800000 at x 6, y 0" in done.stderr, done.stderr)
        done = run("load", ".", "data.mask_colors=c.txt", folder=folder)
        check("load a color", "the mask has color #800000 at x 6, y 0, which is not in data.mask_colors"
              in done.stderr, done.stderr)
        done = run("load", ".", "data.mask_colors=voc", folder=folder)
        check("load voc", done.returncode == 0, done.stderr)
    with tempfile.TemporaryDirectory() as folder:
        make(folder, [png(areas([0, 1], 8, 12))])
        done = run("load", ".", folder=folder)
        check("other aspect", "the mask is 8x12, its image 16x16" in done.stderr and "data.image_size" in done.stderr,
              done.stderr)
        done = run("load", ".", "data.image_size=8", folder=folder)
        check("resized", done.returncode == 0 and "1 file resized: a mask of another size than its image, "
              "'./masks/00.png'" in done.stdout, done.stdout)


def check_kept():
    """A second run on the same files does not look at their masks again; nor does one on their pack."""
    with tempfile.TemporaryDirectory() as top:
        os.environ["XDG_CACHE_HOME"] = os.path.join(top, "cache")
        folder = os.path.join(top, "data")
        make(folder, gray([0, 1], [0, 2], [1, 0], [0, 1]))
        check("pack", run("pack", "data", "pack", folder=top).returncode == 0, "")
        time.sleep(0.1)  # what changed just now is not relied on
        words = ("train.epochs=1", "data.batch_size=2", "--stop-after", "1", *SMALL)
        for data in ("data", "pack"):
            told = [run("train", data, *words, folder=top).stderr for _ in range(2)]
            check("looked", "looked at 4 masks in " in told[0], told[0])
            check("kept", "looked at 4 masks earlier; their files have not changed" in told[1], told[1])
        make(folder, gray([0, 1], [0, 2], [1, 0], [3, 1]))
        told = run("train", "data", *words, folder=top).stderr
        check("looked again", "looked at 4 masks in " in told and "3 + 1, in 4 masks" in told, told)
        del os.environ["XDG_CACHE_HOME"]


for case in UNDERSTOOD:
    check_understood(*case)
for case in REFUSED:
    check_refused(*case)
check_training()
check_colors_of_a_run()
check_palettes_in_stats()
check_kept()
check_validation()
check_loading()
print(f"{len(UNDERSTOOD)} data sets understood, {len(REFUSED)} refused; {len(failures)} failures")
sys.exit(1 if failures else 0)
