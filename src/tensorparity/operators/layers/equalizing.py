"""ContrastLimitedAdaptiveHistogramEqualization: deterministic, but documented by its name rather than by a formula.

How tiles are padded, counted and blended is nowhere said, so no target is held against the numbers here: they are what
the one known implementation gives, and serve whoever needs values to go on with. Who is wrong is left to the vote.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...core.arrays import Array
from ..arguments import is_number, need_rank, number, pair, refuse
from ..spec import Domain, Evaluation, LayerSpec, Parameter, Params, Shape, ShapeError, no_weights
from .reshaping import DATA_FORMAT
from .spatial import from_last, spatial_axes, to_last

_LEVELS = 256
#: Of the range of values: sums of shares, a table and two blends.
_ROUNDINGS = 8.0


def _range(params: Params) -> tuple[float, float]:
    value = params["value_range"]
    if not isinstance(value, (tuple, list)) or len(value) != 2 or not all(is_number(item) for item in value):
        refuse("value_range", "a pair of numbers", value)
    return float(value[0]), float(value[1])


def _same(params: Params, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    need_rank(shapes[0], 4)
    _range(params)
    number(params, "clip_limit")
    for axis, tiles in zip(spatial_axes(params), pair(params, "tile_grid_size"), strict=True):
        size = shapes[0][axis]
        if size is not None and size < tiles:
            raise ShapeError(f"Expected an image of {tiles} or more pixels along axis {axis}. Received: {shapes[0]}")
    return (shapes[0],)


def _equalize(params: Params, inputs: Sequence[Array], weights: Mapping[str, Array]) -> tuple[Evaluation, ...]:
    low, high = _range(params)
    scale = (_LEVELS - 1) / (high - low)
    images = (to_last(params, inputs[0]) - low) * scale
    found = _blended(images, pair(params, "tile_grid_size"), number(params, "clip_limit")) / scale + low
    kappa = np.full(found.shape, _ROUNDINGS * (abs(high - low) + abs(low)))
    return (Evaluation(from_last(params, found), from_last(params, kappa)),)


def _blended(images: Array, grid: tuple[int, int], limit: float) -> Array:
    """Each pixel by the tables of the four tiles around it, of which it is nearer to some."""
    height, width = images.shape[1:3]
    tile = -(-height // grid[0]), -(-width // grid[1])
    more = [(0, 0), (0, tile[0] * grid[0] - height), (0, tile[1] * grid[1] - width), (0, 0)]
    levels = np.clip(np.nan_to_num(np.pad(images, more, mode="symmetric")), 0, _LEVELS - 1).astype(int)
    tables = _tables(levels, grid, tile, limit)
    levels = levels[:, :height, :width]
    sample = np.arange(len(levels))[:, None, None, None]
    channel = np.arange(levels.shape[3])
    found = np.zeros(levels.shape)
    for row, by_row in _around(height, tile[0], grid[0]):
        for column, by_column in _around(width, tile[1], grid[1]):
            chosen = tables[sample, row[:, None, None], column[:, None], channel, levels]
            found += by_row[:, None, None] * by_column[:, None] * chosen
    return found


def _around(size: int, tile: int, tiles: int) -> list[tuple[Array, Array]]:
    """The two tiles that each pixel lies between, and the share of each."""
    place = (np.arange(size) - tile / 2.0) / tile
    before = np.floor(place).astype(int)
    share = place - before
    return [
        (np.clip(before, 0, tiles - 1), 1.0 - share),
        (np.clip(before + 1, 0, tiles - 1), share),
    ]


def _tables(levels: Array, grid: tuple[int, int], tile: tuple[int, int], limit: float) -> Array:
    """Per sample, tile and channel, what each level becomes: its rank among the pixels of the tile."""
    samples, _, _, channels = levels.shape
    area = tile[0] * tile[1]
    found = np.empty((samples, *grid, channels, _LEVELS))
    for where in np.ndindex(samples, *grid, channels):
        sample, row, column, channel = where
        rows = slice(row * tile[0], (row + 1) * tile[0])
        columns = slice(column * tile[1], (column + 1) * tile[1])
        counts = np.bincount(levels[sample, rows, columns, channel].ravel(), minlength=_LEVELS).astype(float)
        found[where] = _table(counts, area, limit)
    return found


def _table(counts: Array, area: int, limit: float) -> Array:
    if limit > 0:
        kept = np.minimum(counts, limit * area / _LEVELS)
        counts = kept + (counts - kept).sum() / _LEVELS
    ranks = np.cumsum(counts)
    left = area - ranks[0]
    return np.asarray(np.clip((ranks - ranks[0]) * (_LEVELS - 1) / (left if left else 1.0), 0.0, _LEVELS - 1))


CLAHE = LayerSpec(
    name="ContrastLimitedAdaptiveHistogramEqualization",
    api="keras.layers.ContrastLimitedAdaptiveHistogramEqualization",
    arity=(1, 1),
    ranks=(4,),
    parameters=(
        Parameter("value_range", (0, 255), ((0, 255), (0, 1), (-1, 1))),
        Parameter("clip_limit", 4.0, (4.0, 1.0, 40.0, 256.0)),
        Parameter("tile_grid_size", (8, 8), ((8, 8), (2, 2), (1, 3), (4, 2))),
        DATA_FORMAT,
    ),
    shape=_same,
    weights=no_weights,
    reference=_equalize,
    formula=(
        "output = the image with histograms of its tiles made flat, clipped at clip_limit, and blended between tiles; "
        "the details are nowhere documented, so targets are held against each other"
    ),
    voted=True,
    discontinuous=True,
    domain=lambda params: Domain("float32", *_range(params)),
    hazards=("a pixel is cut to one of 256 levels",),
)
