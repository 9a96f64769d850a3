"""Sequences to train on: digits row by row or pixel by pixel, a sine wave, a share's price."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..core.arrays import Array
from .data import DataSet, Part
from .packaged import digit_rows, google_prices

#: Pixels of a digit, and the values that one may have.
DIGIT_PIXELS, DIGIT_LEVELS = 64, 17
SINE_STEPS = 24
PRICE_DAYS = 20
#: IMDB's reviews: the last words of each, and the most frequent words only.
IMDB_LENGTH, IMDB_WORDS = 80, 5000

_DIGITS_TRAINING = 1437  # four fifths
_WAVES_TRAINING, _WAVES_VALIDATION = 2000, 500
_PRICE_SHARE = 0.8
_PRICE_SCALE = 10.0  # a month's change of a tenth becomes one


def digit_sequence() -> DataSet:
    """scikit-learn's digits as sequences of eight rows of eight pixels in [0, 1]."""
    pixels, labels = _shuffled_digits()
    return _data_set({"rows": (pixels.reshape(-1, 8, 8) / 16.0).astype(np.float32)}, labels, _DIGITS_TRAINING)


def digit_tokens() -> DataSet:
    """The same digits as sequences of 64 tokens, which are pixels from 0 to 16, and their positions."""
    pixels, labels = _shuffled_digits()
    positions = np.broadcast_to(np.arange(DIGIT_PIXELS, dtype=np.int32), pixels.shape)
    return _data_set({"tokens": pixels.astype(np.int32), "positions": positions.copy()}, labels, _DIGITS_TRAINING)


def sine_wave() -> DataSet:
    """Pieces of waves of seeded frequency and phase; the label is the next value."""
    rng = np.random.default_rng(0x51AE)
    count = _WAVES_TRAINING + _WAVES_VALIDATION
    frequency, phase = rng.uniform(0.2, 0.8, (count, 1)), rng.uniform(0, 2 * np.pi, (count, 1))
    waves = np.sin(frequency * np.arange(SINE_STEPS + 1) + phase).astype(np.float32)
    return _data_set({"series": waves[:, :-1, None]}, waves[:, -1:], _WAVES_TRAINING)


def google_price() -> DataSet:
    """Twenty days of Google's price relative to the first of them, as logarithms; the label is the next day.

    The validation part is later than the training part, and shares no day with it.
    """
    logs = np.log(google_prices())
    windows = np.lib.stride_tricks.sliding_window_view(logs, PRICE_DAYS + 1)
    relative = (_PRICE_SCALE * (windows - windows[:, :1])).astype(np.float32)
    cut = int(_PRICE_SHARE * len(relative))
    training, validation = (
        Part({"series": part[:, :-1, None]}, part[:, -1:]) for part in (relative[: cut - PRICE_DAYS], relative[cut:])
    )
    return DataSet(training, validation)


def _shuffled_digits() -> tuple[Array, Array]:
    rows = digit_rows()
    order = np.random.default_rng(0).permutation(len(rows))
    return rows[order, :-1], rows[order, -1].astype(np.int64)


def _data_set(inputs: Mapping[str, Array], labels: Array, training: int) -> DataSet:
    first, second = (
        Part({name: array[piece] for name, array in inputs.items()}, labels[piece])
        for piece in (slice(training), slice(training, None))
    )
    return DataSet(first, second)
