"""The zoo: every model with the data it is trained on and how. Adding a model is adding a row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..core.errors import UsageError
from ..core.graph import LayerGraph
from ..core.jsontext import Json
from ..core.near_misses import meant
from ..core.procedure import Recipe
from .datasets import DATASETS
from .driving import dave_dropout, dave_norminit, dave_orig
from .lenet import lenet1, lenet4, lenet5
from .networks import inception_block, mobilenetv2, resnet20, vgg16
from .sequences import gru, gru_imdb, lstm, lstm5_imdb, lstm_imdb, simple_rnn, simple_rnn_imdb, transformer

_CLASSES = Recipe("SparseCategoricalCrossentropy")
_YES_OR_NO = Recipe("BinaryCrossentropy")
_VALUES = Recipe("MeanSquaredError")
#: Of the moving statistics while training; Keras' own 0.99 needs more steps than there are.
_MOMENTUM = 0.9


@dataclass(frozen=True)
class Entry:
    """One model of the zoo.

    Args:
        data: the name of the data set it is trained on; empty for a model that only ever has calibrated weights.
        learning_rate: of Adam.
        instances: train on at most so many; 0 for all.
        quick: trained on the spot where it is asked for and has not been trained yet.
        dense_deviation: dense kernels start from normal numbers of this deviation instead of one by their size.
    """

    name: str
    build: Callable[[], LayerGraph]
    data: str = ""
    loss: Recipe = _CLASSES
    learning_rate: float = 0.002
    epochs: int = 6
    batch_size: int = 64
    instances: int = 0
    quick: bool = False
    dense_deviation: float | None = None

    @property
    def classifies(self) -> bool:
        """Whether its answer is a class; else it is a value."""
        return self.loss is not _VALUES

    @property
    def origin(self) -> str:
        """The data it is trained on, in words."""
        return DATASETS[self.data].origin if self.data else ""

    def recipe(self) -> dict[str, Json]:
        """How a worker trains it."""
        return {
            "optimizer": Recipe("Adam", {"learning_rate": self.learning_rate}).to_json(),
            "loss": self.loss.to_json(),
            "batch_size": self.batch_size,
            "epochs": self.epochs,
            "momentum": _MOMENTUM,
        }


#: In the order of their cost, which is the order in which a hunt goes through them.
_ENTRIES = (
    Entry("lenet1", lenet1, "mnist", learning_rate=0.004, quick=True),
    Entry("lenet4", lenet4, "mnist", quick=True),
    Entry("lenet5", lenet5, "mnist", quick=True),
    Entry("inception-block", inception_block),
    Entry("simplernn", simple_rnn, "sine", loss=_VALUES, epochs=15),
    Entry("gru", gru, "google-price", loss=_VALUES, epochs=20),
    Entry("lstm", lstm, "digit-rows", learning_rate=0.004, epochs=20),
    Entry("lstm-imdb", lstm_imdb, "imdb", loss=_YES_OR_NO, epochs=3),
    Entry("simplernn-imdb", simple_rnn_imdb, "imdb", epochs=3),
    Entry("lstm5-imdb", lstm5_imdb, "imdb", epochs=3),
    Entry("gru-imdb", gru_imdb, "imdb", epochs=3),
    Entry("transformer", transformer, "digit-tokens", learning_rate=0.003, epochs=25),
    Entry("dave-orig", dave_orig, "rotated-mnist", loss=_VALUES, learning_rate=0.001, epochs=8),
    Entry(
        "dave-norminit",
        dave_norminit,
        "rotated-mnist",
        loss=_VALUES,
        learning_rate=0.001,
        epochs=8,
        dense_deviation=0.1,
    ),
    Entry("dave-dropout", dave_dropout, "rotated-mnist", loss=_VALUES, learning_rate=0.001, epochs=6),
    Entry("resnet20", resnet20, "mnist-32", epochs=4, batch_size=32, instances=2000),
    Entry("vgg16", vgg16, "mnist-32", epochs=4, batch_size=32, instances=2000),
    Entry("mobilenetv2", mobilenetv2, "mnist-32", epochs=6, batch_size=32),
    Entry("resnet20-cifar10", resnet20, "cifar10", epochs=4),
    Entry("vgg16-cifar10", vgg16, "cifar10", epochs=6),
    Entry("mobilenetv2-cifar10", mobilenetv2, "cifar10", epochs=6),
)
ZOO: dict[str, Entry] = {entry.name: entry for entry in _ENTRIES}

#: One entry per architecture: the same network on other data is not another one to a hunt.
ARCHITECTURES: dict[str, Callable[[], LayerGraph]] = {}
for _entry in _ENTRIES:
    if _entry.build not in ARCHITECTURES.values():
        ARCHITECTURES[_entry.name] = _entry.build


def find_entry(name: str) -> Entry:
    """The model of that name; ``DaveOrig`` and ``LeNet-5`` are found too.

    Raises:
        UsageError: naming those that exist.
    """
    for known, entry in ZOO.items():
        if _plain(known) == _plain(name):
            return entry
    raise UsageError(f"no model {name!r} in the zoo{meant(name, ZOO)}; there are {', '.join(ZOO)}")


def _plain(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")
