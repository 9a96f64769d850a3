"""GIF and BMP files of pictures, written and read in NumPy: one half of round trips through a library's decoders.

What is read is what is written here: one picture of one palette, or of three or four bytes for a pixel.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

import numpy as np

from ...core.arrays import Array

_HEADER, _DESCRIPTOR, _TRAILER = b"GIF89a", b"\x2c", b"\x3b"
_MOST_CODES, _BLOCK = 4096, 255
_BMP_HEAD, _BMP_INFO = 14, 40


class NoPictureError(ValueError):
    """These bytes are no picture as it is written here."""


def gif_bytes(frames: Array) -> bytes:
    """Frames by height by width, as numbers of shades: a GIF with all 256 of them, compressed as GIFs are."""
    _, height, width = frames.shape
    shades = np.repeat(np.arange(256, dtype=np.uint8), 3).tobytes()
    screen = struct.pack("<HHBBB", width, height, 0xF7, 0, 0)
    pictures = b""
    for frame in frames:
        packed = _packed(_compressed(frame.ravel().tolist()))
        pieces = [packed[start : start + _BLOCK] for start in range(0, len(packed), _BLOCK)]
        blocks = b"".join(bytes([len(piece)]) + piece for piece in pieces) + b"\0"
        pictures += _DESCRIPTOR + struct.pack("<HHHHB", 0, 0, width, height, 0) + b"\x08" + blocks
    return _HEADER + screen + shades + pictures + _TRAILER


def _compressed(pixels: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Codes and how many bits each takes, by the method of Lempel, Ziv and Welch."""
    clear, width = 256, 9
    yield clear, width
    known: dict[tuple[int, ...], int] = {(shade,): shade for shade in range(256)}
    following = clear + 2
    run: tuple[int, ...] = ()
    for pixel in pixels:
        longer = (*run, pixel)
        if longer in known:
            run = longer
            continue
        yield known[run], width
        if following == _MOST_CODES:
            yield clear, width
            known = {(shade,): shade for shade in range(256)}
            following, width = clear + 2, 9
        else:
            known[longer] = following
            width += following == 1 << width
            following += 1
        run = (pixel,)
    yield known[run], width
    yield clear + 1, width + ((following == 1 << width) and width < 12)


def _packed(codes: Iterator[tuple[int, int]]) -> bytes:
    """Codes one after another, the lowest bits first."""
    number, place = 0, 0
    for code, width in codes:
        number |= code << place
        place += width
    return number.to_bytes((place + 7) // 8, "little")


def bmp_bytes(picture: Array, *, top_down: bool = False) -> bytes:
    """A picture of red, green and blue, with opacity where it has four channels, in rows from the bottom to the top."""
    height, width, channels = picture.shape
    order = (2, 1, 0, 3)[:channels] if channels > 1 else (0,)
    rows = picture[..., order] if top_down else picture[::-1][..., order]
    filler = b"\0" * (-width * channels % 4)
    data = b"".join(row.tobytes() + filler for row in rows)
    table = b"".join(bytes([shade, shade, shade, 0]) for shade in range(256)) if channels == 1 else b""
    start = _BMP_HEAD + _BMP_INFO + len(table)
    head = b"BM" + struct.pack("<IHHI", start + len(data), 0, 0, start)
    info = struct.pack(
        "<IiiHHIIiiII", _BMP_INFO, width, -height if top_down else height, 1, 8 * channels, 0, len(data), 0, 0, 0, 0
    )
    return head + info + table + data


def read_bmp(data: bytes) -> Array:
    """The picture of a file that ``bmp_bytes`` wrote.

    Raises:
        NoPictureError: for any other.
    """
    if len(data) < _BMP_HEAD + _BMP_INFO or data[:2] != b"BM":
        raise NoPictureError("it does not begin as a BMP")
    (start,) = struct.unpack_from("<I", data, 10)
    width, signed = struct.unpack_from("<ii", data, 18)
    channels, height = struct.unpack_from("<H", data, 28)[0] // 8, abs(signed)
    stride = width * channels + (-width * channels % 4)
    if min(width, height, channels) < 1 or len(data) != start + stride * height:
        raise NoPictureError("its length is not that of its rows")
    rows = np.frombuffer(data[start:], np.uint8).reshape(height, stride)[:, : width * channels]
    whole = rows.reshape(height, width, channels)[..., (2, 1, 0, 3)[:channels] if channels > 1 else (0,)]
    return np.ascontiguousarray(whole if signed < 0 else whole[::-1])


def read_gif(data: bytes) -> Array:
    """The frames of a file that ``gif_bytes`` wrote, in red, green and blue.

    Raises:
        NoPictureError: for any other.
    """
    if data[:6] != _HEADER or len(data) < 13 + 768:
        raise NoPictureError("it does not begin as a GIF with 256 colours")
    width, height = struct.unpack_from("<HH", data, 6)
    place, frames = 13 + 768, []
    while data[place : place + 1] == _DESCRIPTOR:
        place += 11
        packed = b""
        while place < len(data) and data[place]:
            packed += data[place + 1 : place + 1 + data[place]]
            place += 1 + data[place]
        place += 1
        frames.append(_expanded(packed, width * height))
    if not frames or data[place:] != _TRAILER:
        raise NoPictureError("it does not end as a GIF")
    return np.repeat(np.asarray(frames, np.uint8).reshape(-1, height, width, 1), 3, axis=-1)


def _expanded(packed: bytes, count: int) -> list[int]:
    number, place = int.from_bytes(packed, "little"), 0
    found: list[int] = []
    known: dict[int, tuple[int, ...]] = {}
    before: tuple[int, ...] = ()
    following, width = 258, 9
    while len(found) < count and place < 8 * len(packed):
        code = (number >> place) & ((1 << width) - 1)
        place += width
        if code == 256:
            known, following, width, before = {}, 258, 9, ()
            continue
        run = (code,) if code < 256 else known.get(code, (*before, *before[:1]))
        found += run
        if before and following < _MOST_CODES:
            known[following] = (*before, run[0])
            following += 1
            width += following == 1 << width and width < 12
        before = run
    if len(found) != count:
        raise NoPictureError("its picture is of another size")
    return found
