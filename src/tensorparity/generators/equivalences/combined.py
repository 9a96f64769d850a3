"""Beyond the paper: two rules at once. The other side of the first, in the other way of the second."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ...core.case import Case, Counterpart
from . import (
    depthwise_by_conv,
    dilated_by_conv,
    documented_formula,
    explicit_padding,
    higher_dimension,
    memory,
    optimization,
    time_major,
    ways,
)
from .base import LIBRARIES, Category, Equivalence, Variant, library_of

#: Between the names of ways that are taken one inside the other, as workers read it.
_AND = " + "


@dataclass(frozen=True)
class Combined(Equivalence):
    """Rules whose demands are the first's; the second is a way of running."""

    first: Equivalence = field(default=memory.TURNED)
    second: Variant = field(default=optimization.JIT_TRACE)

    def applies(self, api: str) -> bool:
        return super().applies(api) and self.first.applies(api)

    def own_cases(self, library: str, count: int, seed: int) -> list[Case]:
        return self.first.own_cases(library, count, seed)

    def prepared(self, case: Case) -> Case | None:
        return self.first.prepared(case)

    def counterpart(self, case: Case) -> Counterpart | None:
        other = self.first.counterpart(case)
        if other is None or library_of(case) in self.absent:
            return None
        procedure = other.procedure or case.procedure
        within = f"{procedure.variant}{_AND}{self.second.variant}" if procedure.variant else self.second.variant
        return replace(other, procedure=replace(procedure, variant=within))


def _both(name: str, first: Equivalence, second: Variant) -> Combined:
    absent = {library: first.absent.get(library) or second.absent[library]
              for library in LIBRARIES if library in first.absent or library in second.absent}  # fmt: skip
    return Combined(
        name,
        0,
        Category.BEYOND,
        f"{first.name} and {second.name} at once",
        absent,
        first.demands,
        cost=max(first.cost, second.cost, 2),
        derivative=min(first.derivative, second.derivative, 1),
        first=first,
        second=second,
    )


_AOT, _JIT, _XLA, _GRAPH = optimization.AOT_EAGER, optimization.JAX_JIT, optimization.XLA, optimization.TF_FUNCTION
_PADDING, _DIMENSION = explicit_padding.EXPLICIT_PADDING, higher_dimension.HIGHER_DIMENSION
_FORMULA = documented_formula.DOCUMENTED_FORMULA

TURNED_TRACED = _both("turned-and-traced", memory.TURNED, optimization.JIT_TRACE)
STRIDED_AOT = _both("strided-and-aot", memory.STRIDED, _AOT)
SHIFTED_AOT = _both("shifted-and-aot", memory.SHIFTED, _AOT)
VMAP_TURNED = _both("vmap-and-turned", ways.VMAP, memory.TURNED)
VMAP_JIT = _both("vmap-and-jit", ways.VMAP, _JIT)
VMAP_GRAPH = _both("vmap-and-tf.function", ways.VMAP, _GRAPH)
JIT_CHECKPOINT = _both("jit-and-checkpoint", _JIT, ways.CHECKPOINT)
PADDING_GRAPH = _both("padding-and-tf.function", _PADDING, _GRAPH)
PADDING_XLA = _both("padding-and-xla", _PADDING, _XLA)
PADDING_JIT = _both("padding-and-jit", _PADDING, _JIT)
PADDING_AOT = _both("padding-and-aot", _PADDING, _AOT)
DIMENSION_AOT = _both("dimension-and-aot", _DIMENSION, _AOT)
DIMENSION_JIT = _both("dimension-and-jit", _DIMENSION, _JIT)
DILATED_XLA = _both("dilated-and-xla", dilated_by_conv.DILATED_BY_CONV, _XLA)
DEPTHWISE_XLA = _both("depthwise-and-xla", depthwise_by_conv.DEPTHWISE_BY_CONV, _XLA)
TIME_TRACED = _both("time-major-and-traced", time_major.TIME_MAJOR, optimization.JIT_TRACE)
FORMULA_JIT = _both("formula-and-jit", _FORMULA, _JIT)
FORMULA_XLA = _both("formula-and-xla", _FORMULA, _XLA)
FORMULA_AOT = _both("formula-and-aot", _FORMULA, _AOT)
