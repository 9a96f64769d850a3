"""Inputs and labels for a model: from the user's file, or drawn by seed from its signature."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ...core.archives import UNREADABLE
from ...core.arrays import Array, dtype_named, is_floating
from ...core.errors import DataError
from ...core.graph import InputSpec

#: What stands for a size the signature leaves open.
OPEN_SIZE = 16
_LABEL_NAMES = ("y", "labels")
_NUMBERS = "biufc"
#: Files that people have their data in and that say too little of it.
_TABLES = (".csv", ".tsv", ".txt")


@dataclass(frozen=True)
class Data:
    """Inputs by name, labels by output name (the empty name means: the only output), and where from.

    Args:
        given: by the user, not drawn.
    """

    inputs: dict[str, Array]
    labels: dict[str, Array] = field(default_factory=dict)
    origin: str = ""
    notes: tuple[str, ...] = ()
    given: bool = False

    @property
    def not_finite(self) -> dict[str, int]:
        """Of data that the user gave, how many numbers of an array are NaN or infinite."""
        if not self.given:
            return {}
        arrays = {**self.inputs, **{f"labels {name}".strip(): array for name, array in self.labels.items()}}
        counts = {name: int(array.size - np.isfinite(array).sum()) for name, array in arrays.items() if _floats(array)}
        return {name: count for name, count in counts.items() if count}

    @property
    def count(self) -> int:
        return min(len(array) for array in self.inputs.values())


def load_npz(path: Path, specs: Sequence[InputSpec]) -> Data:
    """Read ``x`` (or one array per input name) and, where present, ``y``.

    Raises:
        DataError: if the file is none, or what is in it does not fit the model.
    """
    arrays = _read_npz(path)
    given = [arrays.pop(name) for name in _LABEL_NAMES if name in arrays]
    labels = {"": given[0]} if given else {}
    for array in given:
        if array.ndim == 0 or array.dtype.kind not in _NUMBERS:
            raise DataError(
                f"{path.name}: expected labels as numbers, one row per instance; "
                f"received dtype {array.dtype} and shape {array.shape}"
            )
    if len(specs) == 1 and "x" in arrays and specs[0].name not in arrays:
        arrays = {specs[0].name: arrays.pop("x"), **arrays}
    wanted = {spec.name for spec in specs}
    if set(arrays) != wanted:
        raise DataError(
            f"{path.name} holds {', '.join(sorted(arrays)) or 'no inputs'}, "
            f"expected {'x or ' if len(specs) == 1 and wanted != {'x'} else ''}{', '.join(sorted(wanted))} "
            "(and y for labels)"
        )
    notes: list[str] = []
    inputs = {spec.name: fit_input(spec, arrays[spec.name], notes) for spec in specs}
    counts = {name: len(array) for name, array in {**inputs, **({"y": labels[""]} if labels else {})}.items()}
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"{name}: {count}" for name, count in counts.items())
        raise DataError(f"{path.name}: the arrays have different numbers of instances ({listed})")
    if 0 in counts.values():
        raise DataError(f"{path.name} holds no instances")
    return Data(inputs, labels, f"{path.name} ({next(iter(counts.values()))} instances)", tuple(notes), given=True)


def check_npz(path: Path) -> None:
    """See to it that there is such a file, before anything is done for it.

    Raises:
        DataError: if the file is none.
    """
    _read_npz(path, opened=lambda archive: {})


def _floats(array: Array) -> bool:
    return array.dtype.kind in "fc"


def _all_arrays(archive: Any) -> dict[str, Array]:
    return {name: archive[name] for name in archive.files}


def _read_npz(path: Path, opened: Callable[[Any], dict[str, Array]] = _all_arrays) -> dict[str, Array]:
    if not path.exists():
        raise DataError(f"no data at {str(path)!r}")
    if path.suffix.lower() in _TABLES:
        raise DataError(
            f"{path.name} is a text table; expected an .npz with x (or one array per input) and y: in Python, "
            f"numpy.savez('data.npz', x=numpy.loadtxt('{path.name}', delimiter=','))"
        )
    try:
        with path.open("rb") as file:  # NumPy leaves a file of its own open where it is broken
            archive = np.load(file, allow_pickle=False)
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise DataError(f"{path.name} is a single array; expected an .npz with x and y")
            return opened(archive)
    except UNREADABLE as error:
        raise DataError(f"{path.name} cannot be read as .npz: {error}") from error


def fit_input(spec: InputSpec, array: Array, notes: list[str]) -> Array:
    """The array in the input's dtype; another precision of the same kind is converted, with a note.

    Raises:
        DataError: for another shape, or another kind of dtype.
    """
    shape = tuple(size for size in spec.shape)
    fits = array.ndim == len(shape) + 1 and all(
        want is None or want == have for want, have in zip(shape, array.shape[1:], strict=True)
    )
    if not fits:
        shown = ", ".join("any" if size is None else str(size) for size in ("instances", *shape))
        raise DataError(f"input {spec.name!r}: expected shape ({shown}), received {array.shape}")
    wanted = _dtype(spec)
    if array.dtype == wanted:
        return array
    kinds = {"i": "iu", "u": "iu"}.get(wanted.kind, wanted.kind)
    if array.dtype.kind not in kinds:
        raise DataError(f"input {spec.name!r}: expected dtype {spec.dtype}, received {array.dtype}")
    notes.append(f"input {spec.name!r} was converted from {array.dtype} to {wanted}")
    return array.astype(wanted)


def _dtype(spec: InputSpec) -> np.dtype[Any]:
    return np.dtype(np.str_) if spec.dtype == "string" else dtype_named(spec.dtype)


@dataclass(frozen=True, slots=True)
class Draw:
    """How an input is drawn where the signature does not say enough; every part is optional.

    Args:
        whole: only whole numbers, whatever the dtype: token ids often travel as floats.
        source: where the range comes from, in words; empty where the user gave it.
    """

    shape: tuple[int, ...] | None = None
    dtype: str | None = None
    low: float | None = None
    high: float | None = None
    whole: bool = False
    source: str = ""


def parse_draw(text: str) -> tuple[str, Draw]:
    """``name=SHAPE[:dtype[:low..high]]``, for example ``tokens=16:int32:0..999`` or ``image=32x32x3``.

    Raises:
        DataError: saying which part is off.
    """
    name, equals, rest = text.partition("=")
    shape, _, rest = rest.partition(":")
    dtype, _, bounds = rest.partition(":")
    wrong = f"--input {text!r} is not name=SHAPE:dtype:low..high, for example tokens=16:int32:0..999"
    if not equals or not name:
        raise DataError(wrong)
    try:
        sizes = tuple(int(size) for size in shape.split("x")) if shape else None
        low, high = (float(bound) for bound in bounds.split("..")) if bounds else (None, None)
        if dtype:
            dtype_named(dtype)
    except (TypeError, ValueError):
        raise DataError(wrong) from None
    if low is not None and high is not None and low > high:
        raise DataError(f"--input {text!r}: the range is empty")
    return name, Draw(sizes, dtype or None, low, high)


def seeded_inputs(specs: Sequence[InputSpec], count: int, seed: int, draws: Mapping[str, Draw] | None = None) -> Data:
    """Standard normal for floats, zeros and ones for integers, unless a Draw says otherwise.

    Raises:
        DataError: for a Draw of an input that does not exist or does not fit it, or a dtype that cannot be drawn.
    """
    draws = dict(draws or {})
    unknown = sorted(set(draws) - {spec.name for spec in specs})
    if unknown:
        known = ", ".join(spec.name for spec in specs)
        raise DataError(f"--input names {', '.join(unknown)}, but the inputs are {known}")
    rng = np.random.default_rng([seed, 0x1D])
    chosen = {spec.name: draws.get(spec.name, Draw()) for spec in specs}
    inputs = {spec.name: _draw(spec, chosen[spec.name], count, rng) for spec in specs}
    described = "; ".join(_described(spec, chosen[spec.name], inputs[spec.name]) for spec in specs)
    return Data(inputs, {}, f"{count} seeded inputs: {described}")


def _described(spec: InputSpec, draw: Draw, array: Array) -> str:
    """An input as it was drawn: shape, dtype, range, and what the range is from."""
    shape = "x".join(str(size) for size in array.shape[1:]) or "scalar"
    if draw.low is not None and draw.high is not None:
        whole = "whole numbers " if draw.whole and is_floating(spec.dtype) else ""
        between = f"{whole}{draw.low:g}..{draw.high:g} ({draw.source or 'from --input'})"
    else:
        between = "standard normal" if is_floating(spec.dtype) else "0..1 (nothing says how large they may be)"
    return f"{spec.name} {shape} {spec.dtype}, {between}"


def _draw(spec: InputSpec, draw: Draw, count: int, rng: np.random.Generator) -> Array:
    sizes = draw.shape or tuple(OPEN_SIZE if size is None else size for size in spec.shape)
    if draw.dtype and draw.dtype != spec.dtype:
        raise DataError(f"input {spec.name!r}: expected dtype {spec.dtype}, received {draw.dtype}")
    dtype = _dtype(spec)
    if is_floating(spec.dtype) and dtype.kind != "c":
        array = _draw_floats(draw, (count, *sizes), rng).astype(dtype)
    elif dtype.kind in "iub":
        low, high = draw.low or 0, 1 if draw.high is None else draw.high
        array = rng.integers(int(low), int(high), (count, *sizes), endpoint=True).astype(dtype)
    else:
        raise DataError(f"input {spec.name!r} has dtype {spec.dtype}; give it with --data")
    try:
        return fit_input(spec, array, [])
    except DataError as error:
        syntax = f"--input {spec.name}=SHAPE:dtype:low..high, SHAPE without the batch axis, as 32x32x3"
        raise DataError(f"{error}; the syntax is {syntax}") from None


def _draw_floats(draw: Draw, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    if draw.low is None or draw.high is None:
        return rng.standard_normal(shape, dtype=np.float32)
    if draw.whole:
        return rng.integers(int(draw.low), int(draw.high), shape, endpoint=True).astype(np.float32)
    return rng.uniform(draw.low, draw.high, shape)
