"""From decisions to a call: shapes out of symbols, arrays out of shapes, arguments out of roles."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.call import ApiCall, ArrayArg, DtypeArg
from .documentation import Facts
from .layouts import Shape
from .listing import Parameter
from .roles import INDICES, Role
from .values import PLAIN, draw, matrix_like

SIZES = ("all differ", "all equal", "one is 1", "around 16", "one is 0")
_POOL = (2, 3, 4, 5, 6, 7)
_IMAGE = re.compile(
    r"^image|height|width|^h(_?in)?$|^w(_?in)?$|^l(_?in)?$|rows|cols|length|time|steps|^t$|planes|^d_?in$"
)
_KERNEL = re.compile(r"^kernel|filter_|^k[hwd]?$|kernel")
_PREFERRED = ("float32", "int32", "int64", "float64", "bool", "complex64", "uint8")
_COMMON_DTYPES = ("float32", "float64", "int32", "int64")
_MOST_AXES = 5


@dataclass
class Built:
    """A call with its arrays; ``domains`` are those whose numbers are free, with where they must lie."""

    call: ApiCall
    arrays: dict[str, Array]
    domains: dict[str, str]


@dataclass
class Workshop:
    """Everything that arguments of one call have in common."""

    rng: np.random.Generator
    sizes: str
    values: str
    dtype: str
    matrices: str
    layout: Mapping[str, Shape]
    facts: Mapping[str, Facts]
    symbols: dict[str, int] = field(default_factory=dict)
    arrays: dict[str, Array] = field(default_factory=dict)
    domains: dict[str, str] = field(default_factory=dict)
    main: tuple[int, ...] = ()

    def prepare(self) -> None:
        """Give every symbol its size; the first tensor is the one that axes and sizes refer to."""
        names = dict.fromkeys(symbol for shape in self.layout.values() for symbol in shape)
        pool = list(self.rng.permutation(_POOL))
        for symbol in names:
            self.symbols[symbol] = self._size(symbol, pool)
        free = [symbol for symbol in names if not symbol.isdigit()]
        special = {"one is 1": 1, "one is 0": 0, "around 16": int(self.rng.choice([15, 16, 17]))}.get(self.sizes)
        if special is not None and free:
            self.symbols[free[int(self.rng.integers(len(free)))]] = special
        first = next(iter(self.layout.values()), ())
        self.main = self.shape(first)

    def _size(self, symbol: str, pool: list[int]) -> int:
        if symbol.isdigit():
            return int(symbol)
        if _KERNEL.search(symbol):
            return int(self.rng.integers(1, 4))
        if _IMAGE.search(symbol):
            return int(self.rng.integers(5, 10))
        if self.sizes == "all equal":
            return 3
        return int(pool.pop() if pool else self.rng.integers(2, 8))

    def shape(self, symbols: Shape) -> tuple[int, ...]:
        leading = (2,) if symbols[:1] == ("...",) or symbols[:1] == ("*",) else ()
        return (*leading, *(self.symbols[symbol] for symbol in symbols if symbol not in ("...", "*")))[:_MOST_AXES]

    # Arguments

    def argument(self, parameter: Parameter, role: Role) -> Any:
        makers: dict[str, Callable[[Parameter, Role], Any]] = {
            "tensor": self._tensor,
            "tensors": self._tensors,
            "number": lambda p, r: float(self.rng.choice([0.5, 1.0, 2.0, 0.1, 1.5])),
            "int": self._int,
            "axis": self._axis,
            "axes": self._axes,
            "permutation": lambda p, r: [int(axis) for axis in self.rng.permutation(len(self.main))],
            "ints": self._ints,
            "shape": self._shape,
            "flag": lambda p, r: not p.default if isinstance(p.default, bool) else bool(self.rng.integers(2)),
            "choice": self._choice,
            "dtype": self._dtype,
            "size of": self._size_of,
            "near": self._near,
        }
        return makers[role.kind](parameter, role)

    def _tensor(self, parameter: Parameter, role: Role, suffix: str = "") -> ArrayArg:
        name = f"{parameter.name}{suffix}"
        shape = self.shape(self.layout.get(parameter.name, ()))
        allowed = tuple(role.data or ())
        dtype = self._dtype_of(allowed)
        domain = self.facts[parameter.name].domain if parameter.name in self.facts else ""
        special = self._special(parameter.name, shape) if set(allowed) & set(INDICES) else None
        if special is not None:
            array = special.astype(self._dtype_of([item for item in allowed if item in INDICES]))
        elif allowed and set(allowed) <= set(INDICES):
            array = self.rng.integers(0, max(1, min((2, *shape))) if 0 in shape else 2, shape).astype(dtype)
        else:
            array = draw(self.rng, shape, dtype, self.values, domain)
            self.domains[name] = domain
            if self.matrices != "as they are" and len(shape) > 1 and shape[-1] == shape[-2] and self.values == PLAIN:
                array = matrix_like(array, self.matrices)
                self.domains.pop(name)
        self.arrays[name] = array
        return ArrayArg(name)

    def _special(self, name: str, shape: tuple[int, ...]) -> Array | None:
        """Whole numbers that mean something: a permutation, sizes, a count above every index."""
        rank = len(self.main)
        if re.search(r"^perm", name) and shape == (rank,):
            return self.rng.permutation(rank)
        if re.search(r"^(shape|size|sizes|output_shape|dense_shape|input_sizes|end|new_?shape)$", name) and shape == (
            rank,
        ):
            return np.array(self.main)
        if re.search(r"^(num_|depth|k$|n$|max_output)", name):
            return np.full(shape, 2)
        if "segment" in name:
            return np.sort(self.rng.integers(0, 2, shape), axis=0) if shape else None
        return None

    def _dtype_of(self, allowed: Sequence[str]) -> str:
        if not allowed or self.dtype in allowed:
            return self.dtype
        known = [name for name in _PREFERRED if name in allowed]
        return known[0] if known else next((name for name in allowed if name[-1].isdigit()), "float32")

    def _tensors(self, parameter: Parameter, role: Role) -> list[ArrayArg]:
        count = int(self.rng.integers(2, 4))
        return [self._tensor(parameter, role, str(place)) for place in range(count)]

    def _int(self, parameter: Parameter, role: Role) -> int:
        least = parameter.minimum if parameter.minimum is not None else 0
        return int(max(least, self.rng.choice([1, 1, 2, 2, 2, 3, 3, 4, 5, 0])))

    def _axis(self, parameter: Parameter, role: Role) -> int:
        rank = len(self.main)
        return int(self.rng.integers(-rank, rank)) if rank else int(self.rng.integers(-1, 1))

    def _axes(self, parameter: Parameter, role: Role) -> list[int]:
        rank = max(1, len(self.main))
        chosen = self.rng.permutation(rank)[: int(self.rng.integers(1, rank + 1))]
        return [int(axis) - rank * int(self.rng.integers(2)) for axis in chosen]

    def _ints(self, parameter: Parameter, role: Role) -> list[Any]:
        form, choices = (role.data[0], role.data[1:]) if isinstance(role.data[0], str) else ("", role.data)
        rank, value = len(self.main), int(self.rng.choice(choices))
        if form == "window":
            return [1, *[value] * max(0, rank - 2), 1]
        if form == "pairs":
            return [[value, value] for _ in range(rank)]
        length = {"spatial": max(1, rank - 2), "axes": rank}.get(form, int(self.rng.integers(1, 3)))
        return [int(self.rng.choice(choices)) for _ in range(length)]

    def _shape(self, parameter: Parameter, role: Role) -> list[int]:
        if not self.main or self.rng.random() < 0.2:
            return [int(self.rng.integers(1, 5)) for _ in range(int(self.rng.integers(1, 4)))]
        if self.rng.random() < 0.5:
            return [int(self.main[axis]) for axis in self.rng.permutation(len(self.main))]
        return [int(np.prod(self.main))] if self.rng.random() < 0.5 else [2, *self.main]

    def _choice(self, parameter: Parameter, role: Role) -> str:
        facts = self.facts.get(parameter.name)
        choices = role.data or (facts.choices if facts else ()) or (parameter.default or "",)
        return str(choices[int(self.rng.integers(len(choices)))])

    def _dtype(self, parameter: Parameter, role: Role) -> DtypeArg:
        names = tuple(role.data or _COMMON_DTYPES)
        return DtypeArg(str(names[int(self.rng.integers(len(names)))]))

    def _size_of(self, parameter: Parameter, role: Role) -> int:
        axis = int(role.data)
        return self.main[axis] if -len(self.main) <= axis < len(self.main) else 2

    def _near(self, parameter: Parameter, role: Role) -> Any:
        return self._near_value(role.data)

    def _near_value(self, default: Any) -> Any:
        if isinstance(default, tuple):
            return [self._near_value(item) for item in default]
        if isinstance(default, bool) or not isinstance(default, (int, float)):
            return default
        if isinstance(default, int):
            return int(self.rng.choice([default, default + 1, max(default - 1, 0), 1, 2]))
        return float(self.rng.choice([default, default * 2, default / 2, default + 0.25]))


def assembled(name: str, kind: str, arguments: Sequence[tuple[Parameter, Any]]) -> ApiCall:
    """The call with these arguments, in the form in which the kind of function is called."""
    made = [(parameter, value) for parameter, value in arguments if not parameter.of_call]
    called = [(parameter, value) for parameter, value in arguments if parameter.of_call]
    if kind == "class":
        args, kwargs = _split(called)
        constructor = ApiCall(name, *_split(made))
        return ApiCall("()", (constructor, *args), kwargs)
    if kind == "metric":
        positional, kwargs = _split(called)
        return ApiCall(name, positional, {parameter.name: value for parameter, value in made} | kwargs)
    return ApiCall("." + name.rsplit(".", 1)[-1] if kind == "method" else name, *_split(made))


def _split(arguments: Sequence[tuple[Parameter, Any]]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """What is required and may be given by place is; the rest goes by name."""
    positional: list[Any] = []
    kwargs: dict[str, Any] = {}
    for parameter, value in arguments:
        if parameter.many:
            positional.extend(value if isinstance(value, list) else [value])
        elif parameter.required and not parameter.keyword and not kwargs:
            positional.append(value)
        else:
            kwargs[parameter.name] = value
    return tuple(positional), kwargs
