"""What hangs where: so that nothing waits a second time for what never answers.

A worker that hangs costs its patience and the start of another one. Of a request that hung, what it had the library run
is suspected, but for what has answered on that target before; what is common to several such requests soon is one
thing. From then on requests with it are answered at once, as the hang that they would be, until somebody has asked
again with more patience and found that it answers.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ..core.case import ApiCall, Case
from ..core.graph import LayerGraph
from ..core.procedure import Goal

#: How much shorter the patience is with what is suspected to hang.
HASTE = 0.2
_BACKWARD = " backward"

#: What a request has a library run, with the nodes of each layer.
Parts = Mapping[str, tuple[str, ...]]


@dataclass
class _OnTarget:
    """One target's memory.

    Args:
        answered: parts of requests that were answered.
        suspected: of each hang that is not explained, the parts that may be it.
        hangs: parts that hang, with what was said of it.
        said: of the last hang.
        spared: how many requests were not sent because of it.
    """

    answered: set[str] = field(default_factory=set)
    suspected: list[frozenset[str]] = field(default_factory=list)
    hangs: dict[str, str] = field(default_factory=dict)
    said: str = ""
    spared: dict[str, int] = field(default_factory=dict)

    def explain(self) -> None:
        """A suspicion of a single thing is an explanation, and so is what several have in common."""
        together = [frozenset.intersection(*self.suspected)] if len(self.suspected) > 1 else []
        single = (parts for parts in (*self.suspected, *together) if _is_single(parts))
        found = {min(parts, key=len) for parts in single}  # the plainest way: whatever else is done with it needs that
        for part in found:
            self.hangs.setdefault(part, self.said)
        self.suspected = [parts for parts in self.suspected if not parts & found]


class HangMemory:
    """Of every target, what hangs on it; any thread may ask."""

    def __init__(self) -> None:
        self._targets: dict[str, _OnTarget] = {}
        self._lock = threading.Lock()

    def _of(self, target: str) -> _OnTarget:
        return self._targets.setdefault(target, _OnTarget())

    def known(self, target: str, parts: Parts) -> tuple[str, str] | None:
        """The part of a request that is known to hang, with what was said of it; it counts as spared."""
        with self._lock:
            own = self._of(target)
            part = next((part for part in parts if part in own.hangs), None)
            if part is None:
                return None
            own.spared[part] = own.spared.get(part, 0) + 1
            return part, own.hangs[part]

    def patience(self, target: str, parts: Parts) -> float:
        """The share of the usual patience for a request: little, where something in it is suspected."""
        with self._lock:
            return HASTE if any(suspected & set(parts) for suspected in self._of(target).suspected) else 1.0

    def has_answered(self, target: str, parts: Parts) -> None:
        """A request was answered, so none of it is what hung before."""
        if not parts:
            return
        with self._lock:
            own = self._of(target)
            own.answered |= set(parts)
            if own.suspected:
                left = [suspected - own.answered for suspected in own.suspected]
                own.suspected = [parts for parts in left if parts]
                own.explain()

    def has_hung(self, target: str, parts: Parts, detail: str, node: str | None = None) -> None:
        """A request hung; what hangs only sometimes is found where it is asked for alone.

        Args:
            node: the one that was running, where the worker has said so; it is one of those that run forward.
        """
        if not parts:
            return
        running = {part: nodes for part, nodes in parts.items() if node in nodes and not part.endswith(_BACKWARD)}
        parts = running or parts
        with self._lock:
            own = self._of(target)
            left = frozenset(parts) - own.answered or frozenset(list(parts)[-1:] if _is_single(parts) else ())
            left = frozenset(list(parts)[:1]) if running and left else left
            if left:
                own.said = detail
                own.suspected.append(left)
                own.explain()

    def forget(self, target: str) -> None:
        """What was held against a target was not seen again: it is asked anew."""
        with self._lock:
            own = self._of(target)
            own.answered |= set(own.hangs)
            own.hangs.clear()

    def hanging(self) -> dict[str, list[str]]:
        """By target, the parts that are known to hang."""
        with self._lock:
            return {target: sorted(own.hangs) for target, own in self._targets.items() if own.hangs}

    def spared(self) -> dict[str, dict[str, int]]:
        """By target and part, how many requests were not sent."""
        with self._lock:
            return {target: dict(own.spared) for target, own in self._targets.items() if own.spared}


def parts_of(case: Case) -> dict[str, tuple[str, ...]]:
    """What a case has a library run, with the nodes of each layer; nothing of a file, which is one with all its layers.

    A layer that answers forward may hang backward, or when it is saved: those are parts of their own.
    """
    subject, procedure = case.subject, case.procedure
    if isinstance(subject, ApiCall):
        return {subject.api: ()}
    if not isinstance(subject, LayerGraph):
        return {}
    nodes = [node for node in subject.nodes if procedure.goal is not Goal.REPLAY or node.key in procedure.nodes]
    ways = ["", *_ways(case)]
    found: dict[str, tuple[str, ...]] = {}
    for part, key in ((f"{node.op}{way}", node.key) for way in ways for node in nodes):
        found[part] = (*found.get(part, ()), key)
    recipes = {"loss": procedure.loss, "optimizer": procedure.optimizer}
    return found | {f"{role}:{recipe.name}": () for role, recipe in recipes.items() if recipe is not None}


def _ways(case: Case) -> list[str]:
    procedure = case.procedure
    backward = bool(case.cotangents) or procedure.goal in (Goal.GRADIENTS, Goal.UPDATE, Goal.FIT)
    return [" training"] * procedure.training + [_BACKWARD] * backward + [" saved"] * procedure.reload


def _is_single(parts: Iterable[str]) -> bool:
    """One thing, forward or backward."""
    return len({part.partition(" ")[0] for part in parts}) == 1
