"""Is it the exporter? Two runtimes that run the same exported file agree with each other, not with the original.

A runtime that is given an exported file may be wrong itself, or the file may be. Two independent runtimes
do not make the same mistake, so where they agree and the original does not, the original is wrong or whoever wrote the
file is. The exporter alone is accused where the original is shown to be right: by a reference, or by a second
implementation that runs the original and agrees. Else both are suspects. With a single runtime nobody can tell.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from ...core.arrays import Array
from ...core.evidence import Evidence, observed
from ...core.finding import Class, Diagnosis
from ...core.outcome import Outcome
from ...core.traits import Traits
from ...core.verdict import Measure
from .diagnose import Accusation, accusation_of
from .node_errors import NodeErrors

PREFIX = "exporter:"
#: How much closer to each other than to the original the runtimes must be.
_CLOSER = 16.0


def exporter_at_border(errors: NodeErrors, exporters: Mapping[str, str]) -> str | None:
    """Who wrote the file, if the targets fall into two camps: those that run it, and all others."""
    exported = frozenset(target for target in errors.errors if target in exporters)
    others = frozenset(errors.errors) - exported
    if not exported or not others or set(errors.camps) != {exported, others}:
        return None
    names = {exporters[target] for target in exported}
    if len(names) > 1 or (errors.judged_by == "reference" and _right(errors, exported)):
        return None
    return names.pop()


def _right(errors: NodeErrors, targets: frozenset[str]) -> bool:
    return any(errors.errors[target] <= errors.limit for target in targets)


def is_ambiguous(errors: NodeErrors, exporters: Mapping[str, str]) -> bool:
    """The one runtime that runs the file is alone against the original: it, or the file, may be wrong."""
    return exporter_at_border(errors, exporters) is not None and _runtimes(errors, exporters) < 2


def _runtimes(errors: NodeErrors, exporters: Mapping[str, str]) -> int:
    """How many independent ones: two flavours or settings of one runtime make the same mistake."""
    return errors.votes(target for target in errors.errors if target in exporters)


def is_settled_by_exporter(errors: NodeErrors, exporters: Mapping[str, str]) -> bool:
    """No target is to be accused of this node: the exporter is, or nobody can tell.

    A single runtime that a reference proves wrong stays accused; ``doubt`` says what else it may be.
    """
    at_border = exporter_at_border(errors, exporters) is not None
    return at_border and (_runtimes(errors, exporters) > 1 or errors.judged_by != "reference")


def _is_original_right(errors: NodeErrors, originals: Sequence[str]) -> bool:
    """Two implementations do not make the same mistake; one alone needs a reference."""
    by_reference = errors.judged_by == "reference" and _right(errors, frozenset(originals))
    return by_reference or errors.votes(originals) > 1


def _suspects(exporter: str, originals: Sequence[str], are_right: bool) -> tuple[str, ...]:
    return (PREFIX + exporter,) if are_right else (*originals, PREFIX + exporter)


def suspects_of_failure(
    target: str, failed: Collection[str], completed: Collection[str], exporters: Mapping[str, str], traits: Traits
) -> tuple[str, ...]:
    """Whose fault it is that a target fails: the exporter's, where two runtimes fail on its file and none completes."""
    name = exporters.get(target)
    failing = [other for other in failed if exporters.get(other) == name]
    fine = any(exporters.get(other) == name for other in completed)
    alike = len(traits.implementations(failing)) > 1
    return (PREFIX + name,) if name is not None and not fine and alike else (target,)


def doubts_about(target: str, exporters: Mapping[str, str]) -> tuple[Evidence, ...]:
    """What else may be wrong where a single runtime of an exported file is accused."""
    if target not in exporters:
        return ()
    return (observed("exporter-doubt", target=target, exporter=exporters[target]),)


def doubt(accusation: Accusation, exporters: Mapping[str, str]) -> Accusation:
    """The accusation, with a word on the exporter where the only runtime of its file is accused."""
    suspects = accusation.diagnosis.suspects
    if _runtimes(accusation.first, exporters) != 1 or not suspects or not set(suspects) <= set(exporters):
        return accusation
    diagnosis = accusation.diagnosis
    evidence = (*diagnosis.evidence, *doubts_about(suspects[0], exporters))
    return replace(accusation, diagnosis=replace(diagnosis, evidence=evidence))


def accuse_exporters(measured: Sequence[NodeErrors], exporters: Mapping[str, str]) -> list[Accusation]:
    """One accusation per exporter and layer type, in the order of the graph; whose original is right apart."""
    groups: dict[tuple[str, str, bool], list[NodeErrors]] = {}
    for errors in measured:
        name = exporter_at_border(errors, exporters)
        if name is not None and _runtimes(errors, exporters) > 1:
            right = _is_original_right(errors, _originals(errors, exporters))
            groups.setdefault((errors.node.op, name, right), []).append(errors)
    return [_accusation(name, nodes, exporters, right) for (_, name, right), nodes in groups.items()]


def _originals(errors: NodeErrors, exporters: Mapping[str, str]) -> list[str]:
    return [target for target in errors.errors if target not in exporters]


def _accusation(name: str, nodes: list[NodeErrors], exporters: Mapping[str, str], right: bool) -> Accusation:
    first = nodes[0]
    runtimes = [target for target in first.errors if target in exporters]
    others = _originals(first, exporters)
    layer, op = first.node.layer, first.node.op
    evidence = [
        observed("exported-layer", layer=layer, op=op, how="forward", runtimes=runtimes, originals=others),
        *_doubted(others, right),
    ]
    if len(nodes) > 1:
        evidence.append(observed("affected", count=len(nodes), op=op, layer=layer))
    accusation = accusation_of(Class.DEFECT, _suspects(name, others, right), nodes)
    return replace(accusation, diagnosis=replace(accusation.diagnosis, evidence=tuple(evidence)))


def _doubted(originals: Sequence[str], are_right: bool) -> list[Evidence]:
    return [] if are_right else [observed("original-doubt", originals=list(originals))]


@dataclass(frozen=True, slots=True)
class OutputsApart:
    """An output on which the runtimes agree and the original does not.

    Args:
        alone: the original is run by one implementation, so nothing shows that it is right.
    """

    output: str
    exporter: str
    runtimes: tuple[str, ...]
    originals: tuple[str, ...]
    apart: float
    together: float
    alone: bool = False

    def diagnosis(self, threshold: float) -> Diagnosis:
        evidence = (
            observed(
                "exported-output",
                output=self.output,
                runtimes=list(self.runtimes),
                originals=list(self.originals),
                together=self.together,
                apart=self.apart,
            ),
            *_doubted(self.originals, not self.alone),
            observed("no-layer-differs"),
        )
        return Diagnosis(
            Class.DEFECT,
            _suspects(self.exporter, self.originals, not self.alone),
            evidence=evidence,
            measure=Measure("relative", self.apart),
            threshold=threshold,
            relative=self.apart,
        )


def outputs_apart(
    outcomes: Mapping[str, Outcome],
    exporters: Mapping[str, str],
    difference: Callable[[Array, Array], float],
    threshold: float,
    traits: Traits,
) -> OutputsApart | None:
    """The first output that runtimes of one exported file agree on, against the original.

    Args:
        difference: of two outputs, relative to their scale; infinite for other shapes.
        threshold: up to here a difference is taken for amplified rounding.
    """
    done = {target: outcome.outputs for target, outcome in outcomes.items() if outcome.completed}
    originals = tuple(target for target in done if target not in exporters)
    for name in dict.fromkeys(exporters.values()):
        runtimes = tuple(target for target in done if exporters.get(target) == name)
        if len(traits.implementations(runtimes)) < 2 or not originals:
            continue
        for output in done[originals[0]]:
            if any(output not in done[target] for target in (*runtimes, *originals)):
                continue
            together = max(difference(done[runtimes[0]][output], done[t][output]) for t in runtimes[1:])
            apart = min(difference(done[a][output], done[b][output]) for a in originals for b in runtimes)
            if together <= threshold and apart > max(threshold, _CLOSER * together):
                alone = len(traits.implementations(originals)) < 2
                return OutputsApart(output, name, runtimes, originals, apart, together, alone)
    return None
