"""What targets made of a node, held against the truth or against each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np

from ...core.arrays import Array, dtype_name, unit_roundoff
from ...core.channels import distance, is_finite, is_text, magnitude
from ...core.closeup import Closeup, closeup_of
from ...core.evidence import Evidence
from ...core.graph import Node
from ...core.jsontext import Json
from ...core.verdict import Kind
from ...operators.reference.rounding import K, error_units
from ...operators.spec import Evaluation
from .documented_freedoms import Freedom

#: A vote has no rounding bound of its own, so it must be won by more.
VOTE_MARGIN = 8.0


@dataclass(frozen=True, slots=True)
class Place:
    """The number of a target's answer that is furthest from what is right, in units of what rounding explains.

    Args:
        index: of the number in its array; None where the whole array has another shape.
        output: which array it is, where there are several: a name, or the position among a layer's outputs.
        observed: the target's number, ``expected`` what is right; of another shape, the shapes.
        relative: the largest error of its array, relative to the largest number that is right there.
        closeup: what is around it.
    """

    index: tuple[int, ...] | None
    observed: Json
    expected: Json
    output: str = ""
    relative: float | None = None
    closeup: Closeup | None = None


@dataclass(frozen=True, slots=True)
class NodeErrors:
    """What each target made of one node on the same inputs.

    Args:
        errors: decision 5's e per target, against the reference or, without one, against the vote.
        absolute: largest absolute error per target; infinite where the shape is another.
        mutual: largest e of any target against any other, in the reference's units or, without one, in units of the
            outputs' own scale.
        judged_by: ``reference``, ``vote`` or ``nothing``.
        endings: targets that gave no answer for this node, and why.
        camps: the targets that answered, in groups that agree among themselves.
        unsettled: of several arrays, the targets differ on one that too few of them gave to vote on.
        answers: what each target gave, thinned out where it is large; only where an error is beyond the limit.
        freedom: what the documentation leaves open, where that explains every error beyond the limit.
        dtypes: targets that answered in another dtype than their policy's, and which.
        rough: it was computed in half precision, where all targets may be far from the reference alike.
        form: ``shape`` or ``dtype``, where that is not what was announced, or not what most gave.
        said: of each target whose form is wrong, how.
        implementations: whose code each target runs, where that is not its own: those who share it have one vote.
        worst: of each target that is beyond the limit, where it is furthest off, if that is known.
        nan_alike: an infinity goes in, and all targets give NaN wherever any of them is beyond the limit: a formula is
            taken literally (infinity times 0), though the function has a limit there.
        unmasked: in its model it may receive a mask, which is not known: that it agrees without one clears nobody.
    """

    node: Node
    errors: Mapping[str, float]
    absolute: Mapping[str, float] = field(default_factory=dict)
    mutual: float = 0.0
    judged_by: str = "reference"
    endings: Mapping[str, str] = field(default_factory=dict)
    camps: tuple[frozenset[str], ...] = ()
    unsettled: bool = False
    freedom: Freedom | None = None
    answers: Mapping[str, Sequence[Array]] = field(default_factory=dict)
    dtypes: Mapping[str, str] = field(default_factory=dict)
    rough: bool = False
    form: Kind | None = None
    said: Mapping[str, Evidence] = field(default_factory=dict)
    implementations: Mapping[str, str] = field(default_factory=dict)
    worst: Mapping[str, Place] = field(default_factory=dict)
    nan_alike: bool = False
    unmasked: bool = False

    @property
    def limit(self) -> float:
        """Up to here an error is explained."""
        return K * (1.0 if self.judged_by == "reference" else VOTE_MARGIN)

    @property
    def disputed(self) -> bool:
        """The targets differ, and neither a reference nor a majority says who is right."""
        if self.judged_by == "nothing":
            return self.mutual > self.limit
        if self.unsettled:
            return True
        return self.judged_by == "vote" and not self.majority

    @property
    def majority(self) -> bool:
        """More implementations within the limit than beyond it; targets that share code are one on either side."""
        good = [target for target, error in self.errors.items() if error <= self.limit]
        bad = [target for target, error in self.errors.items() if not error <= self.limit]
        return self.votes(good) > self.votes(bad)

    def votes(self, targets: Iterable[str]) -> int:
        """How many independent implementations these targets are."""
        return len({self.implementations.get(target, target) for target in targets})


def reference_error(outputs: Sequence[Array], reference: Sequence[Evaluation]) -> float:
    """Decision 5's e of a node's outputs, the largest; infinite for another shape or number of outputs."""
    if len(outputs) != len(reference):
        return float("inf")
    return max(_units(output, truth) for output, truth in zip(outputs, reference, strict=True))


def _units(output: Array, truth: Evaluation, dtype: str = "") -> float:
    if output.shape != truth.value.shape:
        return float("inf")
    return float(error_units(output, truth, dtype or dtype_name(output)).max(initial=0.0))


def worst_place(outputs: Sequence[Array], reference: Sequence[Evaluation], name: str = "") -> Place | None:
    """Where outputs are furthest from the true ones; None where they are not comparable at all.

    Args:
        name: of the only output, where it has one.
    """
    if len(outputs) != len(reference):
        return None
    found = [_place(output, truth) for output, truth in zip(outputs, reference, strict=True)]
    number = max(range(len(found)), key=lambda number: found[number][0])
    output = name or (str(number) if len(found) > 1 else "")
    return replace(found[number][1], output=output)


def _place(output: Array, truth: Evaluation) -> tuple[float, Place]:
    if output.shape != truth.value.shape:
        return float("inf"), Place(None, list(output.shape), list(truth.value.shape))
    if not output.size:
        return -1.0, Place((), None, None)
    units = error_units(output, truth, dtype_name(output))
    index = tuple(int(part) for part in np.unravel_index(int(np.argmax(units)), units.shape))
    relative, closeup = relative_error(output, truth.value), closeup_of(output, truth.value, index)
    place = Place(index, _item(output, index), _item(truth.value, index), relative=relative, closeup=closeup)
    return float(units[index]), place


def _item(array: Array, index: tuple[int, ...]) -> Json:
    """One element as JSON."""
    item = np.asarray(array)[index]
    if is_text(np.asarray(array)) or array.dtype.kind == "c":
        return str(item)
    return bool(item) if array.dtype.kind == "b" else int(item) if array.dtype.kind in "iu" else float(item)


def relative_error(output: Array, true: Array) -> float | None:
    """The largest difference as a share of the largest true number; None where that says nothing."""
    if is_text(output) or is_text(true):
        return None
    scale = float(magnitude(true)[is_finite(true)].max(initial=0.0))
    apart = distance(output, true)
    largest = float(apart.max(initial=0.0))
    return largest / scale if scale > 0 and np.isfinite(largest) else None


def absolute_error(output: Array | None, truth: Evaluation) -> float:
    """The largest finite distance from the truth; infinite for another shape or no output at all."""
    return float("inf") if output is None else largest_distance([output], [truth])


def largest_distance(outputs: Sequence[Array], reference: Sequence[Evaluation]) -> float:
    worst = 0.0
    if len(outputs) != len(reference):
        return float("inf")
    for output, truth in zip(outputs, reference, strict=True):
        if output.shape != truth.value.shape:
            return float("inf")
        difference = distance(output, truth.value)
        finite = difference[np.isfinite(difference)]
        worst = max(worst, float(finite.max(initial=0.0)))
    return worst


def mutual_error(answers: Sequence[Sequence[Array]], reference: Sequence[Evaluation]) -> float:
    """How far any two of the targets are from each other, in the reference's units."""
    worst = 0.0
    for one, other in combinations(answers, 2):
        if len(one) != len(other):
            return float("inf")
        for a, b, truth in zip(one, other, reference, strict=False):
            kappa = truth.kappa if b.shape == truth.value.shape else np.zeros(b.shape)
            coarser = max(dtype_name(a), dtype_name(b), key=unit_roundoff)
            worst = max(worst, _units(a, Evaluation(b, kappa), coarser))
    return worst
