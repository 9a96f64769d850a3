"""Who is wrong, and how we know: from the errors of isolated nodes to accusations.

The rule is decision 5's. A target whose error is above K, where another stays below, is wrong. All
above K and agreeing with each other: the code they share is wrong, except in half precision, where rounding may add
up on all of them alike. All above K and scattered: the case is ill-conditioned and blames nobody, except whoever gives
a NaN or an infinity where others give a number, which no rounding does. What the documentation leaves open is nobody's
fault.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ...core.closeup import Closeup
from ...core.evidence import Evidence, observed
from ...core.finding import Class, Diagnosis
from ...core.graph import Node
from ...core.jsontext import Json, canonical
from ...core.signature import value_classes
from ...core.verdict import Kind, Measure
from ...operators.catalogue import has_layer, layer
from ...operators.known_classes import LAYERS
from .node_errors import NodeErrors

#: Accusations of one layer type and the same suspects that are worth a confirmation and a reduction.
_MOST_ALIKE = 3
#: Operators that are not Keras' say so themselves.
_OWN_NAMES = ("onnx.", "torch.", "keras.")

#: Layer type, class and suspects.
_Place = tuple[str, Class, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Accusation:
    """One distinct defect (or rounding problem): the first guilty node and all others like it."""

    kind: Kind
    diagnosis: Diagnosis
    nodes: tuple[NodeErrors, ...]

    @property
    def first(self) -> NodeErrors:
        return self.nodes[0]


def accuse(measured: Sequence[NodeErrors], families: Mapping[str, str], how: str = "forward") -> list[Accusation]:
    """Group guilty nodes: one accusation per defect, as far as can be told before reduction, in the order of the graph.

    One layer type may have several defects, so nodes that fail in another way or with other parameters are accusations
    of their own; those of one defect get one signature when they are reduced. A few of each type are enough: the rest
    is counted with the first.

    Args:
        families: which code each target shares with others (``keras``).
        how: the nodes were looked at, as for ``accusation_of``.
    """
    groups: dict[_Place, dict[tuple[str, ...], list[NodeErrors]]] = {}
    for errors in measured:
        klass, suspects = blame(errors, families)
        if klass is not None:
            alike = groups.setdefault((errors.node.op, klass, suspects), {})
            alike.setdefault(_manner(errors) if klass is Class.DEFECT else (), []).append(errors)
    accusations = [
        accusation_of(klass, suspects, nodes, how)
        for (_, klass, suspects), alike in groups.items()
        for nodes in _few(list(alike.values()))
    ]
    order = {errors.node.key: index for index, errors in enumerate(measured)}
    return sorted(accusations, key=lambda accusation: order[accusation.first.node.key])


def _manner(errors: NodeErrors) -> tuple[str, ...]:
    """How a node fails, and what its parameters are like: what a signature would tell apart."""
    return (_kind(errors).value, canonical(value_classes(_parameters(errors.node))))


def _few(groups: list[list[NodeErrors]]) -> list[list[NodeErrors]]:
    """Some of the groups, of every kind of failure if possible; the others' nodes go with the first."""
    kinds = {_kind(nodes[0]): index for index, nodes in reversed(list(enumerate(groups)))}
    chosen = sorted({*kinds.values()} | {0})
    chosen = sorted([*chosen, *(index for index in range(len(groups)) if index not in chosen)][:_MOST_ALIKE])
    rest = [errors for index, nodes in enumerate(groups) if index not in chosen for errors in nodes]
    kept = [groups[index] for index in chosen]
    return [[*kept[0], *rest], *kept[1:]]


def blame(errors: NodeErrors, families: Mapping[str, str]) -> tuple[Class | None, tuple[str, ...]]:
    """The class and the suspects of one node; (None, ()) where nothing is wrong or nobody can tell."""
    limit = errors.limit
    known = {target: error for target, error in errors.errors.items() if not math.isnan(error)}
    bad = tuple(target for target, error in known.items() if error > limit)
    if not bad or (errors.judged_by == "vote" and not errors.majority):
        return None, ()
    if errors.freedom:
        return Class.SPECIFICATION, ()
    if len(bad) < len(known):
        return Class.DEFECT, bad
    if errors.judged_by != "reference" or len(known) < 2:
        return None, ()
    if errors.rough and not errors.dtypes and errors.mutual <= limit:
        return None, ()  # in half precision rounding may add up to that, on all of them alike
    if errors.mutual <= limit and errors.nan_alike:
        return None, ()  # all take the formula literally at an infinity
    if errors.mutual <= limit:
        shared = {families.get(target, target) for target in bad}
        return (Class.DEFECT, (shared.pop(),)) if len(shared) == 1 else (None, ())
    broken = tuple(target for target in bad if math.isinf(known[target]))
    if broken and len(broken) < len(bad):
        return Class.DEFECT, broken
    return Class.PRECISION, ()


def doubts(measured: Sequence[NodeErrors], families: Mapping[str, str]) -> list[str]:
    """One sentence per layer that the reference is alone with: no target is accused, and nothing is lost.

    All targets that answered agree with each other and not with the reference, and they share no code that could
    be blamed. Either all of them are wrong or the reference is.
    """
    found: list[str] = []
    for errors in measured:
        known = {target: error for target, error in errors.errors.items() if not math.isnan(error)}
        if errors.judged_by != "reference" or not known or blame(errors, families)[0] is not None:
            continue
        if all(error > errors.limit for error in known.values()):
            agree = "agree with each other and not" if len(known) > 1 else "is alone and does not agree"
            off = max(known.values())
            found.append(
                f"undecided: in {errors.node.layer} ({errors.node.op}) {_list(list(known))} {agree} with the float64 "
                f"reference ({off:.3g} times what rounding explains): they are wrong, or it is"
            )
    return found


def accusation_of(klass: Class, suspects: tuple[str, ...], nodes: list[NodeErrors], how: str = "forward") -> Accusation:
    """An accusation of these suspects for these nodes, which are of one type.

    Args:
        how: the nodes were looked at, a code that ``reporting/words`` has a phrase for.
    """
    first = nodes[0]
    worst = max(first.errors.values())
    node = first.node
    diagnosis = Diagnosis(
        klass=klass,
        suspects=suspects,
        node=node.key,
        api=public_name(node.op),
        parameters=_parameters(node),
        evidence=tuple(evidence(first, suspects, klass, len(nodes), how)),
        measure=Measure("error-in-roundoffs", worst),
        threshold=first.limit,
        relative=_relative(first, suspects),
        closeup=_closeup(first, suspects),
    )
    return Accusation(_kind(first), diagnosis, tuple(nodes))


def public_name(op: str) -> str:
    """What users call a layer: the catalogue's name for it, one of Keras', else (``onnx.Conv``, their own) as it is."""
    if has_layer(op):
        return layer(op).api
    return f"keras.layers.{op}" if op in LAYERS else op


def _parameters(node: Node) -> Mapping[str, Json]:
    if has_layer(node.op):
        return layer(node.op).significant(node.params)
    return node.params if node.op.startswith(_OWN_NAMES) else {}


def _kind(errors: NodeErrors) -> Kind:
    if errors.form is not None:
        return errors.form
    # who answers in another dtype says nothing of the numbers of those who do not
    wrong = [t for t, error in errors.errors.items() if error > errors.limit and t not in errors.dtypes]
    if errors.dtypes and not wrong:
        return Kind.DTYPE
    others = [target for target in errors.errors if target not in errors.dtypes]
    if any(math.isinf(errors.absolute.get(target, 0.0)) for target in others):
        return Kind.SHAPE
    return Kind.NAN if any(math.isinf(errors.errors[target]) for target in others) else Kind.INCONSISTENCY


def evidence(
    errors: NodeErrors, suspects: tuple[str, ...], klass: Class, alike: int, how: str = "forward"
) -> list[Evidence]:
    """What speaks for the accusation."""
    answered = [observed("no-answer", target=target, ending=ending) for target, ending in errors.endings.items()]
    if errors.form is not None:
        return [*errors.said.values(), *answered]
    node = errors.node
    accused = [target for target in errors.errors if target in suspects]
    # who is off as well is no witness, whatever excuses him: he may be worse than the accused
    others = [target for target, error in errors.errors.items() if target not in suspects and not error > errors.limit]
    blameless = klass in (Class.PRECISION, Class.SPECIFICATION) or not accused
    lines = [_error(errors, target, how) for target in (errors.errors if blameless else accused)]
    if errors.freedom:
        lines.append(errors.freedom.said)
    if blameless and klass is Class.DEFECT and not errors.dtypes:
        lines.append(observed("all-agree", against=_against(errors)))
    if not blameless and others:
        lines.append(_agreement(errors, others))
    if alike > 1:
        lines.append(observed("affected", count=alike, op=node.op, layer=node.layer))
    return [*lines, *answered]


def _against(errors: NodeErrors) -> str:
    return "reference" if errors.judged_by == "reference" else "vote"


def _error(errors: NodeErrors, target: str, how: str) -> Evidence:
    """How wrong a target is: by another dtype, by another shape, by what is no number, or by so much."""
    where: dict[str, Json] = {"target": target, "layer": errors.node.layer, "op": errors.node.op, "how": how}
    where["against"] = _against(errors)
    if target in errors.dtypes:
        return observed("other-dtype", dtype=errors.dtypes[target], **where)
    place = errors.worst.get(target)
    if place is not None and place.index is None:
        return observed("other-shape", given=place.observed, wanted=place.expected, **where)
    if place is not None:
        shown = {"observed": place.observed, "expected": place.expected, "output": place.output}
        where |= {**shown, "index": list(place.index or ())}
        if not (_is_number(place.observed) and _is_number(place.expected)):
            return observed("not-finite", **where)
    off, ratio = errors.absolute.get(target, 0.0), errors.errors[target] / errors.limit
    return observed("off", off=off, ratio=ratio, **where)


def _is_number(value: Json) -> bool:
    """Not NaN, not an infinity; words and truth values count as what they are."""
    return not isinstance(value, float) or math.isfinite(value)


def _agreement(errors: NodeErrors, targets: Sequence[str]) -> Evidence:
    """Whoever is right, by how much, and how much of what rounding explains that is."""
    off = max(errors.absolute.get(target, 0.0) for target in targets)
    known = [errors.errors[target] for target in targets if math.isfinite(errors.errors[target])]
    ratio = max(known) / errors.limit if known else None
    return observed("agree", targets=list(targets), against=_against(errors), off=off, ratio=ratio)


def _relative(errors: NodeErrors, suspects: tuple[str, ...]) -> float | None:
    """The largest relative error of the suspects; of everybody, where they are not among the targets."""
    accused = [target for target in errors.worst if target in suspects] or list(errors.worst)
    known = [share for target in accused if (share := errors.worst[target].relative) is not None]
    return max(known, default=None)


def _closeup(errors: NodeErrors, suspects: tuple[str, ...]) -> Closeup | None:
    """Of the suspect that is furthest off; of anybody, where they are not among the targets."""
    accused = [target for target in errors.worst if target in suspects] or list(errors.worst)
    for target in sorted(accused, key=lambda target: -errors.errors[target]):
        found = errors.worst[target].closeup
        if found is not None:
            return replace(found, target=target, against=_against(errors))
    return None


def _list(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]
