# SPDX-License-Identifier: Apache-2.0
"""Small data sets as people have them on their disks, and how Stoker reads each of them.

A row of a table is a Case: the files of a data set, settings, and either the whole reading (`layout`, `samples`,
`classes`, `parts`, `left_out`, `found`; what is not given must be empty) or a refusal (`refused`: words of its message,
`hint`: words of its hint). `run_cases(table)` builds and checks every row; further tables import this module.
"""
import json
import os
import pathlib
import shutil
import struct
import subprocess
import tempfile
import unittest

import small_data

STOKER = os.environ["STOKER"]
SIDE = 8


def jpeg_bytes():
    """The smallest grey JPEG of 8x8 pixels: one block, whose coefficients are all 0."""
    def segment(marker, data):
        return bytes([0xFF, marker]) + struct.pack(">H", len(data) + 2) + data
    one_code = bytes([1] + [0] * 15 + [0])  # the code 0, of one bit, for the symbol 0
    return (b"\xff\xd8" + segment(0xDB, b"\0" + bytes([1] * 64)) + segment(0xC0, bytes([8, 0, 8, 0, 8, 1, 1, 0x11, 0]))
            + segment(0xC4, b"\x00" + one_code) + segment(0xC4, b"\x10" + one_code)
            + segment(0xDA, bytes([1, 1, 0, 0, 63, 0])) + b"\x3f\xff\xd9")


def npy_bytes():
    """A grey 8x8 array of u8."""
    header = f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({SIDE}, {SIDE}), }}".encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\0" + struct.pack("<H", len(header)) + header + bytes(SIDE * SIDE)


JPEG = jpeg_bytes()


def image_bytes(name):
    """What a file of this name holds, if nothing else is said: an image of 8x8 pixels."""
    extension = name.rsplit(".", 1)[-1].lower()
    if extension in ("jpg", "jpeg"):
        return JPEG
    if extension == "npy":
        return npy_bytes()
    if extension == "png":
        return small_data.image(3, SIDE)
    return b"x\n"


def mask_bytes(value=1):
    """A grey mask of 8x8 pixels: the upper half 0, the lower half `value`."""
    return small_data.png(SIDE, 1, lambda y: bytes([value if y >= SIDE // 2 else 0] * SIDE))


MASK = mask_bytes()


def names(pattern, *words):
    """names("a/{}.png", "x", "y") -> ["a/x.png", "a/y.png"]"""
    return [pattern.format(word) for word in words]


class Case:
    """files: paths (content by extension), or a dict of path to bytes or text, where None is content by extension."""

    def __init__(self, name, files, *settings, layout=None, samples=None, classes=None, class_count=None, parts=(),
                 left_out=(), found="", masks=None, unmasked=0, refused=None, hint=None, of=None, root="."):
        self.name, self.files, self.settings = name, files, settings
        self.layout, self.samples, self.of = layout, samples, of
        self.classes = classes
        self.class_count = len(classes) if classes is not None else class_count or 0
        self.parts, self.left_out, self.found = list(parts), dict(left_out), found
        self.masks = masks if masks is not None else bool(layout) and "masks" in layout
        self.unmasked = unmasked
        self.refused, self.hint, self.root = refused, hint, root

    def build(self, folder):
        files = self.files if isinstance(self.files, dict) else {name: None for name in self.files}
        for name, data in files.items():
            path = folder / name
            if name.endswith("/"):
                path.mkdir(parents=True, exist_ok=True)
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            data = image_bytes(name) if data is None else data
            path.write_bytes(data.encode() if isinstance(data, str) else data)


def stoker(*words, folder):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("STOKER")}
    return subprocess.run([STOKER, *words], cwd=folder, env={**clean, "LC_ALL": "C"}, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=60)


def reading(folder, root=".", *settings):
    """What `stoker load` understood: its key "data"."""
    done = stoker("load", root, "--json", "--stop-after", "0", "data.num_workers=0", *settings, folder=folder)
    return done, json.loads(done.stdout)["data"] if done.returncode == 0 else None


def differences(case, folder):
    """Lines that say what is not as the case has it."""
    done, data = reading(folder, case.root, *case.settings)
    if case.refused is not None:
        if done.returncode == 0:
            return [f"expected a refusal, it was read: {data}"]
        wrong = [f"'{word}' is not in the refusal:\n{done.stderr}" for word in ([case.refused] if isinstance(
            case.refused, str) else case.refused) if word not in done.stderr]
        hints = [case.hint] if isinstance(case.hint, str) else case.hint or []
        told = done.stderr.partition("hint:")[2]
        return wrong + [f"'{word}' is not in the hint: {done.stderr}" for word in hints if word not in told]
    if data is None:
        return [f"it was refused: {done.stderr}"]
    expected = {"layout": case.layout, "count": case.samples, "dataset_count": case.of or case.samples,
                "parts": case.parts, "class_count": case.class_count, "class_names": case.classes,
                "masks": case.masks, "images_without_mask": case.unmasked,
                "left_out": case.left_out}
    got = {key: data[key] for key in expected}
    got["left_out"] = {row["what"]: row["count"] for row in data["left_out"]}
    wrong = [f"{key}: expected {expected[key]!r}, got {got[key]!r}" for key in expected if expected[key] != got[key]]
    if case.found not in data["found"] or (not case.found and data["found"]):
        wrong.append(f"found: expected {case.found!r}, got {data['found']!r}")
    return wrong


def run_cases(test, table):
    """All rows of a table; a failure names each row that is not as it should be."""
    failures = []
    with tempfile.TemporaryDirectory(prefix="stoker-layouts-") as top:
        for number, case in enumerate(table):
            folder = pathlib.Path(top) / f"{number}"
            folder.mkdir()
            case.build(folder)
            failures += [f"{case.name}: {line}" for line in differences(case, folder)]
            shutil.rmtree(folder)
    test.assertFalse(failures, "\n" + "\n".join(failures))
    test.assertEqual(len({case.name for case in table}), len(table), "two rows have the same name")


class Workspace(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self):
        self.top = tempfile.TemporaryDirectory(prefix="stoker-layouts-")
        self.folder = pathlib.Path(self.top.name)

    def tearDown(self):
        self.top.cleanup()

    def stoker(self, *words):
        return stoker(*words, folder=self.folder)
