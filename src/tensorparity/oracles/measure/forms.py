"""The form of what a node gives: its shape and dtype, apart from its numbers.

A library that builds a model first says of every tensor what it will be. Held against what the tensor then is, one
target alone can be wrong. Between targets, those of one family (Keras on its backends) promise the same dtype, whatever
runs below; libraries have rules of their own, so others are not held against them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from ...core.arrays import Array, dtype_name
from ...core.evidence import Evidence, observed
from ...core.graph import Node
from ...core.outcome import Form, Outcome
from ...core.traits import Traits
from ...core.verdict import Kind

#: Keras narrows these to 32 bits on some backends, by design.
_NARROWED = {"float64": "float32", "int64": "int32", "uint64": "uint32", "complex128": "complex64"}
#: These NumPy does not have, so that some backends hand them over as another.
_NOT_NUMPYS = ("bfloat16", "float8")
_KNOWN = ("float", "int", "uint", "bool", "complex")


def outputs_of(node: Node, values: Mapping[str, object]) -> list[str]:
    """The keys of a node's outputs among these, in order."""
    keys = [node.key] if node.key in values else []
    while keys and f"{node.key}.{len(keys)}" in values:
        keys.append(f"{node.key}.{len(keys)}")
    return keys


def as_announced(key: str, outcome: Outcome) -> Kind | None:
    """In what a tensor of a trace is not what the library said it would be; None if it is, or nothing was said."""
    array, form = outcome.trace.nodes.get(key), outcome.trace.symbolic.get(key)
    if array is None or form is None:
        return None
    if not _fits(array.shape, form.shape):
        return Kind.SHAPE
    return None if same_dtype(form.dtype, dtype_name(array)) else Kind.DTYPE


def _fits(shape: Sequence[int], announced: Sequence[int | None]) -> bool:
    """Whatever the batch is, and what is left open."""
    if len(shape) != len(announced):
        return False
    return all(size in (None, real) for real, size in zip(shape[1:], announced[1:], strict=True))


def announced_shape(shape: Sequence[int], announced: Sequence[int | None]) -> tuple[int, ...]:
    """The shape that was announced, with the batch of the real one, and its sizes where they are left open."""
    real = [*shape, *[1] * len(announced)]
    return tuple(real[axis] if axis == 0 or size is None else size for axis, size in enumerate(announced))


def same_dtype(one: str, other: str) -> bool:
    """Whether two dtypes are one, or may not be told apart."""
    if one == other or not (_comparable(one) and _comparable(other)):
        return True
    return _NARROWED.get(one, one) == _NARROWED.get(other, other)


def _comparable(name: str) -> bool:
    return name.startswith(_KNOWN) and not name.startswith(_NOT_NUMPYS)


class Forms:
    """What the targets gave for one node, and who of them gave it in the wrong form.

    Attributes:
        targets: those that were judged.
        kind: ``shape`` or ``dtype``; None where nothing is wrong.
        wrong: the targets that are.
        announced: wrong against what they said themselves, not by the vote.
        disputed: the targets differ, and there is no majority.
        said: per target that is wrong, how.
    """

    def __init__(self, node: Node, outcomes: Mapping[str, Outcome], traits: Traits) -> None:
        self.kind: Kind | None = None
        self.announced = False
        self.disputed = False
        self.said: dict[str, Evidence] = {}
        answered = {target: outcome for target, outcome in outcomes.items() if node.key in outcome.trace.nodes}
        self.targets = tuple(answered)
        self._by_announcement(node, answered)
        if self.announced:
            self.targets = tuple(target for target, outcome in answered.items() if node.key in outcome.trace.symbolic)
        else:
            self._by_vote(node, answered, traits)

    @property
    def wrong(self) -> tuple[str, ...]:
        return tuple(self.said)

    def _by_announcement(self, node: Node, outcomes: Mapping[str, Outcome]) -> None:
        for target, outcome in outcomes.items():
            for key in outputs_of(node, outcome.trace.nodes):
                kind = as_announced(key, outcome)
                if kind is None or target in self.said:
                    continue
                self.kind, self.announced = self.kind or kind, True
                real, form = outcome.trace.nodes[key], outcome.trace.symbolic[key]
                self.said[target] = observed("announced", target=target, given=_form(real), announced=str(form))

    def _by_vote(self, node: Node, outcomes: Mapping[str, Outcome], traits: Traits) -> None:
        """Shapes are the numbers' business, where the reference knows them; here it is dtypes only."""
        for ends in _families(outcomes, traits):
            given = {target: [dtype_name(a) for a in _arrays(node, outcomes[target])] for target in ends}
            groups: list[list[str]] = []
            for target in ends:
                alike = (g for g in groups if _same(given[g[0]], given[target]))
                group = next(alike, None)
                groups.append([target]) if group is None else group.append(target)
            if len(groups) < 2:
                continue
            self.kind = Kind.DTYPE
            groups.sort(key=len, reverse=True)
            if len(groups[0]) < 2 or 2 * len(groups[0]) <= len(ends):
                self.disputed = True
                continue
            right = given[groups[0][0]]
            for target in (target for group in groups[1:] for target in group):
                self.said[target] = observed("outvoted-dtype", target=target, given=given[target], most=right)


def _same(one: Sequence[str], other: Sequence[str]) -> bool:
    return len(one) != len(other) or all(same_dtype(a, b) for a, b in zip(one, other, strict=True))


def _families(targets: Iterable[str], traits: Traits) -> list[list[str]]:
    """The targets that share a front end, the largest group first; nobody who is alone."""
    found: dict[str, list[str]] = {}
    for target, family in traits.families(targets).items():
        found.setdefault(family, []).append(target)
    most = Counter({name: len(members) for name, members in found.items()}).most_common()
    return [found[name] for name, count in most if count > 1]


def _arrays(node: Node, outcome: Outcome) -> list[Array]:
    return [outcome.trace.nodes[key] for key in outputs_of(node, outcome.trace.nodes)]


def _form(array: Array) -> str:
    return str(Form(array.shape, dtype_name(array)))
