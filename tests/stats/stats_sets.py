"""Small data sets, each clean but for one defect. By name: MAKERS[name](folder) writes it and gives settings."""
import os
import pathlib
import shutil
import struct
import subprocess
import zlib

import small_data
from small_data import chunk, write


def picture(w, h, color, rows, depth=8, palette=b""):
    """A PNG: color 0 gray, 2 RGB, 3 palette; rows(y) gives the bytes of a row."""
    header = struct.pack(">IIBBBBB", w, h, depth, color, 0, 0, 0)
    data = b"".join(b"\0" + rows(y) for y in range(h))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + (chunk(b"PLTE", palette) if palette else b"") +
            chunk(b"IDAT", zlib.compress(data, 1)) + chunk(b"IEND", b""))


def photo(number, w=24, h=16):
    return picture(w, h, 2, lambda y: bytes((x * (number + 3) + y * 5 + number) & 255 for x in range(3 * w)))


def gray(number, w=24, h=16, depth=8):
    return picture(w, h, 0, lambda y: bytes((x * (number + 3) + y) & 255 for x in range(w * depth // 8)), depth)


def flat(w=24, h=16, level=40):
    return picture(w, h, 2, lambda y: bytes([level]) * (3 * w))


def mask(values, w=24, h=16):
    """Stripes of these values."""
    return picture(w, h, 0, lambda y: bytes(values[x * len(values) // w] for x in range(w)))


def pairs(folder, count=12, values=(0, 1, 2)):
    for i in range(count):
        write(folder / f"images/{i:03}.png", photo(i))
        write(folder / f"masks/{i:03}.png", mask(values))


def classes(folder, count=12, names=("cat", "dog")):
    for i in range(count):
        write(folder / names[i % len(names)] / f"{i:03}.png", photo(i))


def points(folder, count=6, at=lambda i: (5 + i, 7)):
    rows = ["file,nose_x,nose_y,chin_x,chin_y"]
    for i in range(count):
        write(folder / f"images/{i:03}.png", photo(i))
        x, y = at(i)
        rows.append(f"{i:03}.png,{x},{y},3,{4 + i}")
    write(folder / "points.csv", "\n".join(rows + [""]).encode())


def series(folder, rows=200, change=None):
    lines = ["time,load,heat,target"]
    for i in range(rows):
        row = [str(i * 10), str(i * i % 97), str(i % 7), str(i / 8)]
        lines.append(",".join(change(i, row) if change else row))
    write(folder / "series.csv", "\n".join(lines + [""]).encode())


# --- clean ---------------------------------------------------------------------------------------------------------

def clean_classes(folder):
    classes(folder)


def clean_palette(folder):
    palette = bytes(range(48))
    for i in range(6):
        write(folder / f"images/{i:03}.png", photo(i))
        write(folder / f"masks/{i:03}.png", picture(24, 16, 3, lambda y: bytes(x * 4 // 24 for x in range(24)), palette=palette))


def clean_parts(folder):
    for part, start in (("train", 0), ("val", 50)):
        for i in range(6):
            write(folder / part / ("cat", "dog")[i % 2] / f"{i:03}.png", photo(start + i))


CLEAN = {
    "classes": clean_classes,
    "pairs": pairs,
    "palette": clean_palette,
    "points": points,
    "series": series,
    "list": lambda folder: small_data.make_list(folder, 12, 16),
    "parts": clean_parts,
    "shards": lambda folder: small_data.make_shards(folder, 4, 16),
    "split": lambda folder: classes(folder) or ("val_split=0.25",),
    "faces": lambda folder: ("root=make:faces?count=40",),
    "captcha": lambda folder: ("root=make:captcha?count=60", "val_split=0.25"),
    "gray": lambda folder: ("root=make:gray?count=200",),
    "made_series": lambda folder: ("root=make:series?count=500",),
}


# --- with a defect -------------------------------------------------------------------------------------------------

def corrupt_samples(folder):
    classes(folder)
    write(folder / "cat/004.png", photo(4)[:60])


def mask_ids_out_of_range(folder):
    pairs(folder)
    write(folder / "classes.txt", b"sky\nsea\n")
    for i in range(2, 12): # the first two stay wrong
        write(folder / f"masks/{i:03}.png", mask((0, 1)))


def labels_missing(folder):
    pairs(folder)
    (folder / "masks/003.png").unlink()


def part_unusable(folder):
    clean_parts(folder)
    for file in (folder / "val").rglob("*.png"):
        file.write_bytes(b"")


def train_val_overlap(folder):
    clean_parts(folder)
    shutil.copy(folder / "train/cat/002.png", folder / "val/dog/other.png")


def overlap_by_split(folder):
    """Ten copies of one image: each split has some on both sides."""
    classes(folder, 2)
    for i in range(10):
        write(folder / f"cat/copy{i}.png", photo(0))
        write(folder / f"dog/more{i}.png", photo(100 + i))
    return ("val_split=0.5",)


def overlap_by_column(first, second):
    """A list with a column of parts, where two files of one part have a row of the other one, too."""
    def make(folder):
        rows = [f"images/{i:03}.png,{'ab'[i % 2]},{first if i < 8 else second}" for i in range(12)]
        for i in range(12):
            write(folder / f"images/{i:03}.png", photo(i))
        rows += [row.replace(first, second) for row in rows[:2]]
        write(folder / "labels.csv", "\n".join(["file,label,split", *rows, ""]).encode())
    return make


def binary_masks(folder):
    pairs(folder, values=(0, 255))


def mask_values(folder):
    pairs(folder, values=(0, 100, 200))


def series_nan(folder):
    series(folder, change=lambda i, row: row[:2] + ["nan"] + row[3:] if i in (70, 71) else row)


def series_text(folder):
    series(folder, change=lambda i, row: row[:2] + ["n/a"] + row[3:] if i == 80 else row)


def no_targets(folder):
    for i in range(6):
        write(folder / f"{i}.png", photo(i))


def empty_masks(folder):
    pairs(folder)
    write(folder / "masks/005.png", mask((0, 255)))
    write(folder / "masks/006.png", mask((0,)))


def duplicates(folder):
    classes(folder)
    write(folder / "dog/copy.png", photo(0))


def tiny_images(folder):
    classes(folder)
    write(folder / "dog/tiny.png", photo(40, 7, 16))
    return ("image_size=16",)


def constant_images(folder):
    classes(folder)
    write(folder / "dog/flat.png", flat())


def classes_without_samples(folder):
    pairs(folder)
    write(folder / "classes.txt", b"sky\nsea\nsand\nrock\n")


def similar_classes(folder):
    for i, name in enumerate(("cat", "Cat", "dog") * 4):
        write(folder / name / f"{i:03}.png", photo(i))


def class_imbalance(folder):
    for i in range(43):
        write(folder / ("cat" if i % 21 else "dog") / f"{i:03}.png", photo(i))
    (folder / "dog/042.png").unlink()
    (folder / "dog/021.png").unlink()


def points_outside(folder):
    points(folder, at=lambda i: (30, 7) if i == 2 else (5, 7))


def points_missing(folder):
    for i in range(4):
        write(folder / f"images/{i:03}.png", photo(i))
    rows = [f'{{"file": "{i:03}.png", "points": [[4, 5], null]}}' for i in range(4)]
    write(folder / "points.jsonl", "\n".join(rows + [""]).encode())


def series_gaps(folder):
    series(folder, change=lambda i, row: [str(i * 10 + 500 * (i >= 90))] + row[1:])


def constant_features(folder):
    series(folder, change=lambda i, row: row[:1] + ["3.5"] + row[2:])


def misnamed_files(folder):
    classes(folder)
    write(folder / "dog/other.jpg", photo(77))


def decoder_warnings(folder):
    subprocess.run([os.environ["STOKER"], "make", "faces", folder, "--count", "12", "-q"], check=True)
    one = folder / "images/000005.jpg"
    whole = one.read_bytes()
    one.write_bytes(whole[:-2] + b"some bytes too many" + whole[-2:])  # before the marker at the end


def mixed_sizes(folder):
    classes(folder)
    write(folder / "dog/wide.png", photo(50, 64, 32))


def mixed_channels(folder):
    classes(folder)
    write(folder / "dog/gray.png", gray(50))


def coarse_values(folder):
    for i in range(6):
        write(folder / f"images/{i:03}.png", photo(i))
    rows = [f"images/{i:03}.png,{1700000000.5 + i}" for i in range(6)]
    write(folder / "labels.csv", "\n".join(["file,value", *rows, ""]).encode())


def unused_columns(folder):
    for i in range(6):
        write(folder / f"images/{i:03}.png", photo(i))
    rows = [f"images/{i:03}.png,{'ab'[i % 2]},p{i},{i}" for i in range(6)]
    write(folder / "labels.csv", "\n".join(["file,label,patient,visit", *rows, ""]).encode())


def left_out(folder):
    pairs(folder)
    write(folder / "masks/999.png", mask((0, 1)))


FOUND = {maker.__name__: maker for maker in (
    corrupt_samples, mask_ids_out_of_range, labels_missing, part_unusable, train_val_overlap, binary_masks, mask_values, series_nan,
    no_targets, empty_masks, duplicates, tiny_images, constant_images, classes_without_samples, similar_classes, class_imbalance,
    coarse_values, points_outside, points_missing, series_gaps, constant_features, misnamed_files, decoder_warnings, mixed_sizes,
    mixed_channels, unused_columns, left_out)}


def make(maker, folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    return maker(folder) or ()
