"""What a search for the largest error of an operator comes to: plain data for stores and reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from .jsontext import Json


@dataclass(frozen=True, slots=True)
class Spread:
    """The distribution of an error over all inputs, as a box plot shows it; outliers are not part of it."""

    low: float
    first: float
    median: float
    third: float
    high: float


@dataclass(frozen=True, slots=True)
class PaperRun:
    """One run of Algorithm 1.

    Args:
        largest: epsilon, the largest elementwise difference between instances of different precision.
        largest_mean: the largest over all inputs of the mean over an input's elements, which is what the paper prints.
        overflows: how many inputs overflow in a narrower precision where the widest gives a number.
        over_tolerance: the largest difference over what the library's own tests allow there, rtol |P'| + atol.
        groups: le_g, the largest of each of the 20 groups.
        seconds: of the whole run; ``library_seconds`` are CPU seconds of the worker, for the library's calls alone.
        exceptions: how many inputs raised one, by its first line.
        tolerance: what the library's own testing helper allows in the narrowest dtype: rtol, atol.
        worst: the first few numbers of the input with the largest error; ``case`` is where all of it is in the store.
    """

    operator: str
    target: str
    strategy: str
    mode: str
    dtypes: tuple[str, ...]
    shape: tuple[int, ...]
    inputs: int
    largest: float
    largest_l1: float
    groups: tuple[float, ...]
    spread: Spread
    seconds: float
    library_seconds: float
    refills: int = 0
    times: int = 1
    exceptions: Mapping[str, int] = field(default_factory=dict)
    tolerance: tuple[float, float] | None = None
    tolerance_source: str = ""
    worst: tuple[float, ...] = ()
    case: str = ""
    largest_mean: float = 0.0
    overflows: int = 0
    over_tolerance: float | None = None

    def to_json(self) -> Json:
        return _json(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Json]) -> PaperRun:
        return cls(**{**_tuples(data), "spread": Spread(**data["spread"])})


@dataclass(frozen=True, slots=True)
class OperatorRun:
    """The largest errors of one operator on one target in one dtype, against its true value.

    Args:
        status: ``measured``, or why not.
        units: error over what rounding explains; above K it is not rounding.
        worst: the numbers of the input with the most units, the first few of them.
        case: where all of that input is in the store.
        groups: best so far after each of the 20 groups.
        lacks: parameters that could not be measured, and why, beside those that were.
    """

    operator: str
    family: str
    target: str
    dtype: str
    strategy: str
    status: str
    reason: str = ""
    inputs: int = 0
    units: float = 0.0
    absolute: float = 0.0
    relative: float = 0.0
    ulps: float = 0.0
    worst: tuple[float, ...] = ()
    parameters: Mapping[str, Json] = field(default_factory=dict)
    tolerance: tuple[float, float] | None = None
    tolerance_source: str = ""
    groups: tuple[float, ...] = ()
    lacks: tuple[str, ...] = ()
    case: str = ""

    def to_json(self) -> Json:
        return _json(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Json]) -> OperatorRun:
        return cls(**_tuples(data))


@dataclass(frozen=True, slots=True)
class ModelRun:
    """What ``compare`` sees of a model that is made of the same operators (the paper's Table 3)."""

    model: str
    seconds: float
    operators: tuple[str, ...]
    problem: str

    def to_json(self) -> Json:
        return _json(self)


@dataclass(frozen=True, slots=True)
class Precision:
    """All of one run of ``precision``; ``bound`` is K."""

    measure: str
    bound: float
    paper: tuple[PaperRun, ...] = ()
    operators: tuple[OperatorRun, ...] = ()
    models: tuple[ModelRun, ...] = ()

    def to_json(self) -> Json:
        return {
            "measure": self.measure,
            "bound": self.bound,
            "paper": [run.to_json() for run in self.paper],
            "operators": [run.to_json() for run in self.operators],
            "models": [run.to_json() for run in self.models],
        }


def _tuples(data: Mapping[str, Json]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in data.items()}


def _json(run: Any) -> Json:
    data: dict[str, Json] = asdict(run)
    return {name: dict(value) if isinstance(value, Mapping) else value for name, value in data.items()}
