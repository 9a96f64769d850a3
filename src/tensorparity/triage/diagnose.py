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
from dataclasses import dataclass

from ..core.finding import Class, Diagnosis
from ..core.graph import Node
from ..core.jsontext import Json, canonical
from ..core.signature import value_classes
from ..core.verdict import Kind, Measure
from ..operators.catalogue import has_layer, layer
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


def accuse(measured: Sequence[NodeErrors], families: Mapping[str, str]) -> list[Accusation]:
    """Group guilty nodes: one accusation per defect, as far as can be told before reduction, in the order of the graph.

    One layer type may have several defects, so nodes that fail in another way or with other parameters are accusations
    of their own; those of one defect get one signature when they are reduced. A few of each type are enough: the rest
    is counted with the first.

    Args:
        families: which code each target shares with others (``keras``).
    """
    groups: dict[_Place, dict[tuple[str, ...], list[NodeErrors]]] = {}
    for errors in measured:
        klass, suspects = blame(errors, families)
        if klass is not None:
            alike = groups.setdefault((errors.node.op, klass, suspects), {})
            alike.setdefault(_manner(errors) if klass is Class.DEFECT else (), []).append(errors)
    accusations = [
        accusation_of(klass, suspects, nodes)
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


def accusation_of(klass: Class, suspects: tuple[str, ...], nodes: list[NodeErrors]) -> Accusation:
    """An accusation of these suspects for these nodes, which are of one type."""
    first = nodes[0]
    worst = max(first.errors.values())
    node = first.node
    diagnosis = Diagnosis(
        klass=klass,
        suspects=suspects,
        node=node.key,
        api=public_name(node.op),
        parameters=_parameters(node),
        evidence=tuple(evidence(first, suspects, klass, len(nodes))),
        measure=Measure("error-in-roundoffs", worst),
        threshold=first.limit,
    )
    return Accusation(_kind(first), diagnosis, tuple(nodes))


def public_name(op: str) -> str:
    """What users call a layer: the catalogue's name for it, ``onnx.Conv`` as it is, else one of Keras'."""
    if has_layer(op):
        return layer(op).api
    return op if op.startswith(_OWN_NAMES) else f"keras.layers.{op}"


def _parameters(node: Node) -> Mapping[str, Json]:
    if has_layer(node.op):
        return layer(node.op).significant(node.params)
    return node.params if node.op.startswith(_OWN_NAMES) else {}


def _kind(errors: NodeErrors) -> Kind:
    if errors.form is not None:
        return errors.form
    if errors.dtypes:
        return Kind.DTYPE
    if any(math.isinf(off) for off in errors.absolute.values()):
        return Kind.SHAPE
    return Kind.NAN if any(math.isinf(error) for error in errors.errors.values()) else Kind.INCONSISTENCY


def evidence(errors: NodeErrors, suspects: tuple[str, ...], klass: Class, alike: int) -> list[str]:
    """The accusation in words and numbers."""
    node = errors.node
    against = "the float64 reference" if errors.judged_by == "reference" else "the vote of the targets"
    lines: list[str] = []
    accused = [target for target in errors.errors if target in suspects]
    others = [target for target in errors.errors if target not in suspects]
    where = f"{node.layer} ({node.op}) run alone on identical inputs"
    if errors.form is not None:
        return [*errors.said.values(), *(f"{target} {ending}" for target, ending in errors.endings.items())]
    for target in accused:
        off, units = errors.absolute.get(target, 0.0), errors.errors[target]
        if target in errors.dtypes:
            lines.append(_in_another_dtype(target, errors, where))
            continue
        by = f"off by {off:.3g}" if off else "wrong"  # some measures know no absolute error
        lines.append(f"{target} is {by} in {where}: {units:.3g} times what rounding explains")
    if errors.freedom:
        lines.append(errors.freedom.said)
    if klass in (Class.PRECISION, Class.SPECIFICATION) or not accused:
        for target, units in errors.errors.items():
            if target in errors.dtypes:
                lines.append(_in_another_dtype(target, errors, where))
                continue
            lines.append(f"{target} is off by {errors.absolute[target]:.3g} in {where} ({units:.3g} units)")
        if klass is Class.DEFECT and not errors.dtypes:
            lines.append(f"all of them agree with each other and not with {against}")
    elif others:
        closest = max(errors.absolute[target] for target in others)
        to = f" to {closest:.1g}" if closest else ""
        lines.append(f"{_list(others)} agree{'s' if len(others) == 1 else ''} with {against}{to}")
    if alike > 1:
        lines.append(f"{alike} layers of type {node.op} are affected; {node.layer} is the first")
    for target, ending in errors.endings.items():
        lines.append(f"{target} {ending}")
    return lines


def _in_another_dtype(target: str, errors: NodeErrors, where: str) -> str:
    return f"{target} answers in {errors.dtypes[target]} in {where}, which is not what its dtype policy says"


def _list(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]
