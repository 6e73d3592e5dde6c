# SPDX-License-Identifier: Apache-2.0
"""Small PNG files without a library: gray of 1 to 16 bits, palettes, RGB."""
import struct
import zlib

GRAY, RGB, PALETTE = 0, 2, 3


def chunk(kind, data):
    body = kind + data
    return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))


def png(rows, color=GRAY, depth=8, palette=None):
    """rows: lists of numbers, or of (r, g, b); palette: [(r, g, b), ...]."""
    raw = b""
    for row in rows:
        samples = [value for pixel in row for value in (pixel if isinstance(pixel, tuple) else (pixel,))]
        if depth == 16:
            line = struct.pack(f">{len(samples)}H", *samples)
        elif depth == 8:
            line = bytes(samples)
        else:
            bits = "".join(format(value, f"0{depth}b") for value in samples)
            bits += "0" * (-len(bits) % 8)
            line = bytes(int(bits[i:i + 8], 2) for i in range(0, len(bits), 8))
        raw += b"\0" + line
    head = struct.pack(">IIBBBBB", len(rows[0]), len(rows), depth, color, 0, 0, 0)
    table = chunk(b"PLTE", bytes(v for rgb in palette for v in rgb)) if palette else b""
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + table + chunk(b"IDAT", zlib.compress(raw)) +
            chunk(b"IEND", b""))


def photo(w, h, seed):
    """An RGB image that is no mask."""
    return png([[((x * 7 + seed) % 256, (y * 5 + seed * 3) % 256, (x * y + seed) % 256) for x in range(w)]
                for y in range(h)], RGB)
