"""GIF89a, written without compression: the other half of a round trip through a library's decoder."""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterator, Sequence

import numpy as np

from ...core.arrays import Array

_HEADER, _DESCRIPTOR, _TRAILER = b"GIF89a", b"\x2c", b"\x3b"
_MOST_COLOURS = 256
_BLOCK = 255


def encoded(indices: Array, palette: Array) -> str:
    """One picture as web-safe base64, as TensorFlow reads it.

    Args:
        indices: height by width, places in the palette.
        palette: one row of red, green and blue per colour.

    Raises:
        ValueError: if that is no picture of at most 256 colours.
    """
    if indices.ndim != 2 or palette.ndim != 2 or palette.shape[1] != 3 or not indices.size:
        raise ValueError(f"expected indices of rank 2 and rows of three. Received: {indices.shape}, {palette.shape}")
    if not 1 <= len(palette) <= _MOST_COLOURS or indices.min() < 0 or indices.max() >= len(palette):
        raise ValueError(f"expected places in a palette of at most {_MOST_COLOURS} colours")
    bits = max(1, int(len(palette) - 1).bit_length())
    height, width = indices.shape
    table = palette.astype(np.uint8).tobytes().ljust(3 * (1 << bits), b"\0")
    screen = struct.pack("<HHBBB", width, height, 0xF0 | (bits - 1), 0, 0)
    image = _DESCRIPTOR + struct.pack("<HHHHB", 0, 0, width, height, 0)
    smallest = max(2, bits)
    packed = _packed(list(_codes(indices.ravel().tolist(), smallest)), smallest + 1)
    data = bytes([smallest]) + _blocks(packed)
    whole = _HEADER + screen + table + image + data + _TRAILER
    return base64.urlsafe_b64encode(whole).decode()


def _codes(pixels: Sequence[int], smallest: int) -> Iterator[int]:
    """Every pixel by itself; the dictionary is cleared before its codes would need another bit."""
    clear = 1 << smallest
    for place, pixel in enumerate(pixels):
        if place % (clear - 2) == 0:
            yield clear
        yield pixel
    yield clear + 1


def _packed(codes: Sequence[int], width: int) -> bytes:
    """Codes of equal width, the lowest bits first."""
    number = sum(code << (width * place) for place, code in enumerate(codes))
    return number.to_bytes((width * len(codes) + 7) // 8, "little")


def _blocks(data: bytes) -> bytes:
    pieces = [data[start : start + _BLOCK] for start in range(0, len(data), _BLOCK)]
    return b"".join(bytes([len(piece)]) + piece for piece in pieces) + b"\0"
