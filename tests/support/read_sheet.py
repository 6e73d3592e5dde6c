#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""read_sheet.py FILE.png TEXT...: prints each text that is written on a sheet, and the size of the sheet with --size.

The letters are those of src/image/bitmap_font.c; a text is found where exactly its dots, and nothing else around
them, differ from the paper."""
import pathlib
import re
import struct
import sys
import zlib

FONT = pathlib.Path(__file__).resolve().parents[2] / "src/image/bitmap_font.c"
PAPER = b"\xf5\xf5\xf5"


def letters():
    table = FONT.read_text().split("letters[")[1].split("};")[0]
    rows = [[int(number) for number in re.findall(r"\d+", row)] for row in re.findall(r"\{([\d, ]+)\}", table)]
    return {chr(32 + i): row for i, row in enumerate(rows)}


def read_png(path):
    """(width, [rows of RGB bytes])"""
    data = pathlib.Path(path).read_bytes()
    width, height, depth, kind = struct.unpack(">IIBB", data[16:26])
    assert (depth, kind) == (8, 2), (depth, kind)
    packed, at = b"", 8
    while at < len(data):
        (size,) = struct.unpack(">I", data[at:at + 4])
        if data[at + 4:at + 8] == b"IDAT":
            packed += data[at + 8:at + 8 + size]
        at += size + 12
    raw, rows, before = zlib.decompress(packed), [], bytearray(3 * width)
    for y in range(height):
        start = y * (3 * width + 1)
        before = unfilter(raw[start], raw[start + 1:start + 1 + 3 * width], before)
        rows.append(bytes(before))
    return width, rows


def unfilter(kind, line, above):
    out = bytearray(line)
    if kind == 2:
        return bytearray((value + up) & 255 for value, up in zip(line, above))
    for i in range(len(line) if kind else 0):
        left, up, corner = (out[i - 3], above[i], above[i - 3]) if i >= 3 else (0, above[i], 0)
        if kind == 1:
            out[i] = (line[i] + left) & 255
        elif kind == 3:
            out[i] = (line[i] + (left + up) // 2) & 255
        else:
            a, b, c = abs(up - corner), abs(left - corner), abs(left + up - 2 * corner)
            out[i] = (line[i] + (left if a <= b and a <= c else up if b <= c else corner)) & 255
    return out


def pattern(text, scale, font):
    lines = []
    for row in range(9):
        dots = "0".join(f"{font[letter][row]:05b}" for letter in text)
        lines += ["".join(dot * scale for dot in dots)] * scale
    return lines


def find(dots, lines):
    for y in range(len(dots) - len(lines) + 1):
        x = dots[y].find(lines[0])
        while x >= 0:
            if all(dots[y + k].startswith(line, x) for k, line in enumerate(lines)):
                return x, y
            x = dots[y].find(lines[0], x + 1)
    return None


if __name__ == "__main__":
    font, (width, rows) = letters(), read_png(sys.argv[1])
    dots = ["".join("0" if row[3 * x:3 * x + 3] == PAPER else "1" for x in range(width)) for row in rows]
    for text in sys.argv[2:]:
        if text == "--size":
            print(width, len(rows))
        elif any(find(dots, pattern(text, scale, font)) for scale in (2, 1)):
            print(text)
