"""Traits: what the host must know of a target before it is started, as data.

The catalogue of targets, or a plug-in, fills them in; whoever judges, reduces or writes scripts is handed them. No
other module asks for a target's name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from .machine_settings import Setting
from .procedure import Goal
from .tolerance import Tolerance

#: In ``shared_kernels``, the entry that holds for every operation.
EVERYTHING = "*"


@dataclass(frozen=True, slots=True)
class TargetTraits:
    """One target.

    Args:
        name: without environment and settings, which make another target but no other implementation.
        family: whose front end it shares (``keras``): code that is wrong on all of a family alike is the family's.
        library: whose kernels compute its answers; those of one library have one vote.
        shared_kernels: by type of layer or operator (or ``EVERYTHING``), another library whose kernels it borrows.
        effective_dtypes: by the dtype that a policy computes in, the dtype that its numbers are really worth.
        documented_dtypes: by the dtype that a call is asked for in, the other one that it documents to answer in.
        max_goal: how far it runs a training step; of more, it is asked for as much. Some run single calls only.
        optimizers: of what it runs to the gradients only, the optimizers that it takes a first step of all the same,
            and the arguments of each that it has an equal of.
        lowering: the form a LayerGraph is turned into before it is sent (``onnx``, ``torch``), if any.
        calls: the library whose functions it is asked for when a case names an operator; empty for none.
        reads: formats of model files that it loads as they are.
        compiled: compiles every new call, which takes seconds.
        unoptimized_eager: its ``eager`` mode is an unoptimized compilation that no user has.
        arbiter: slow, but asked about single layers where the others disagree and nothing else can tell.
        witness: runs single layers without the front end of a family, and is asked about what was convicted.
        default: part of the default set of ``hunt`` and ``compare`` where installed.
        searched: part of that of ``hunt`` and ``fuzz`` alone, as far as it runs a case: it is accused like the others.
        alone: that search asks it for single layers and calls, which it compiles one by one; networks take it too long.
        high_precision: computes a whole model in float64 under that policy, for whoever needs a value to measure by.
        wide_formats: formats of model files that it runs in float64 as they are.
        training_rank: who trains models for us, the lower the sooner; None for whoever does not.
        gains_by_threads: trains the quicker the more threads it has.
        start_rank: the quicker to start and to build, the lower; who is asked first as the one that is right.
        exporters: by form (``onnx``), the distributions it needs to export its models to it.
        script_writer: who writes its reproducers, by name or as ``package.module:function``, which is given a
            ``ScriptRequest``; without one, or where that one gives up, the reproducer replays the case file.
        tolerances: by dtype, what the library's own tests allow.
        settings: under which it may answer otherwise, so that a defect is tried once under each.
    """

    name: str
    family: str = ""
    library: str = ""
    shared_kernels: Mapping[str, str] = field(default_factory=dict)
    effective_dtypes: Mapping[str, str] = field(default_factory=dict)
    max_goal: Goal = Goal.UPDATE
    lowering: str | None = None
    compiled: bool = False
    arbiter: bool = False
    default: bool = True
    start_rank: int = 100
    exporters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    script_writer: str = ""
    calls: str = ""
    reads: tuple[str, ...] = ()
    documented_dtypes: Mapping[str, str] = field(default_factory=dict)
    unoptimized_eager: bool = False
    witness: bool = False
    high_precision: bool = False
    wide_formats: tuple[str, ...] = ()
    training_rank: int | None = None
    gains_by_threads: bool = False
    tolerances: Mapping[str, Tolerance] = field(default_factory=dict)
    settings: tuple[Setting, ...] = ()
    searched: bool = False
    alone: bool = False
    optimizers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def implementation(self, op: str = "") -> str:
        """Whose kernel answers for this type of layer: the name that a vote is counted under."""
        borrowed = self.shared_kernels.get(op) or self.shared_kernels.get(EVERYTHING)
        return borrowed or self.library or self.name

    def effective_dtype(self, compute: str) -> str:
        """The dtype that its numbers are worth where a policy says ``compute``."""
        return self.effective_dtypes.get(compute, compute)


def base_name(target: str) -> str:
    """A target's name without its environment and settings."""
    return re.split(r"[@{]", target, maxsplit=1)[0].strip()


class Traits(Mapping[str, TargetTraits]):
    """The traits of the targets of a run, by their full names; of a name that nobody declared, the plainest ones."""

    def __init__(self, known: Mapping[str, TargetTraits] | None = None) -> None:
        self._known = dict(known or {})

    def __getitem__(self, target: str) -> TargetTraits:
        known = self._known.get(target) or self._known.get(base_name(target))
        return known or TargetTraits(base_name(target))

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def families(self, targets: Iterable[str]) -> dict[str, str]:
        """By target, the name of the code that it shares with others; its own name where it shares none."""
        return {target: self[target].family or target for target in targets}

    def implementation(self, target: str, op: str = "") -> str:
        return self[target].implementation(op)

    def implementations(self, targets: Iterable[str], op: str = "") -> set[str]:
        """The independent implementations among these targets: each has one vote."""
        return {self.implementation(target, op) for target in targets}
