#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/support/small_data.py KIND FOLDER [COUNT [SIDE]]: a small valid data set, the same every time.

KIND: pairs (images/ + masks/, 19 classes), classes (cat/ and dog/), list (images/ + labels.csv), series
(series.csv: 4 features and a target), values (images/ + labels.csv: ten times the mean brightness of each gray image),
labels (images/ + labels.csv: any of red, green and blue, which have a square each in the image), shards (the samples
of pairs, one to a shard), tarfile (the samples of pairs in three shards, by three formats of Python's tarfile).
"""
import io
import pathlib
import random
import struct
import sys
import tarfile
import zlib


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(side, channels, row_at):
    """An 8-bit grey or RGB image; row_at(y) gives the bytes of a row."""
    header = struct.pack(">IIBBBBB", side, side, 8, {1: 0, 3: 2}[channels], 0, 0, 0)
    rows = b"".join(b"\0" + row_at(y)[:side * channels] for y in range(side))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b"")


def image(number, side):
    ramp = bytes((x * (number + 3)) & 255 for x in range(3 * side + 256))
    return png(side, 3, lambda y: ramp[(y * 5 + number * 31) % 256:])


def mask(number, side):
    stripes = bytes((x // 4 + number) % 19 for x in range(2 * side))
    return png(side, 1, lambda y: stripes[y // 4:])


def write(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def make_pairs(folder, count, side):
    for i in range(count):
        write(folder / "images" / f"{i:03}.png", image(i, side))
        write(folder / "masks" / f"{i:03}.png", mask(i, side))


def make_classes(folder, count, side):
    for i in range(count):
        write(folder / ("cat", "dog")[i % 2] / f"{i:03}.png", image(i, side))


def make_list(folder, count, side):
    rows = ["path,label"]
    for i in range(count):
        write(folder / "images" / f"{i:03}.png", image(i, side))
        rows.append(f"images/{i:03}.png,{i % 3}")
    write(folder / "labels.csv", "\n".join(rows + [""]).encode())


def make_series(folder, count, _side):
    rows = ["a,b,c,d,target"] + [f"{i},{i * i % 97},{i % 7},{-i},{i / 8}" for i in range(count)]
    write(folder / "series.csv", "\n".join(rows + [""]).encode())


def make_values(folder, count, side):
    dice, rows = random.Random(1), ["file,value"]
    for i in range(count):
        mean = dice.uniform(20, 230)
        pixels = bytes(min(255, max(0, round(dice.gauss(mean, 20)))) for _ in range(side * side))
        write(folder / "images" / f"{i:03}.png", png(side, 1, lambda y: pixels[y * side:]))
        rows.append(f"{i:03}.png,{10 * sum(pixels) / len(pixels):.3f}")
    write(folder / "labels.csv", "\n".join(rows + [""]).encode())


COLORS = {"red": (220, 30, 30), "green": (30, 220, 30), "blue": (30, 30, 220)}


def make_labels(folder, count, side):
    dice, rows, half = random.Random(2), ["file,tags"], side // 2
    for i in range(count):
        tags = [name for name in COLORS if dice.random() < 0.5] or ["red"]
        pixels = [bytearray(dice.randrange(90, 120) for _ in range(3 * side)) for _ in range(side)]
        for corner, name in zip(dice.sample([(0, 0), (0, half), (half, 0), (half, half)], len(tags)), tags):
            for y in range(half):
                start = 3 * corner[1]
                pixels[corner[0] + y][start:start + 3 * half] = bytes(COLORS[name]) * half
        write(folder / "images" / f"{i:03}.png", png(side, 3, lambda y: bytes(pixels[y])))
        rows.append(f"{i:03}.png,{';'.join(tags)}")
    write(folder / "labels.csv", "\n".join(rows + [""]).encode())


def add_member(shard, name, data):
    member = tarfile.TarInfo(name)
    member.size = len(data)
    shard.addfile(member, io.BytesIO(data))


def write_shard(path, numbers, side, shard_format):
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w", format=shard_format) as shard:
        for i in numbers:
            add_member(shard, f"{i:03}.png", image(i, side))
            add_member(shard, f"{i:03}.mask.png", mask(i, side))


def make_shards(folder, count, side):
    for i in range(count):
        write_shard(folder / f"x-{i:06}.tar", [i], side, tarfile.USTAR_FORMAT)


def make_tarfile(folder, count, side):
    for i, shard_format in enumerate([tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]):
        write_shard(folder / f"x-{i}.tar", range(i, count, 3), side, shard_format)


MAKERS = {"pairs": make_pairs, "classes": make_classes, "list": make_list, "series": make_series,
          "values": make_values, "labels": make_labels, "shards": make_shards, "tarfile": make_tarfile}

if __name__ == "__main__":
    count, side = (int(text) for text in (sys.argv[3:] + ["12", "16"][len(sys.argv) - 3:])[:2])
    MAKERS[sys.argv[1]](pathlib.Path(sys.argv[2]), count, side)
