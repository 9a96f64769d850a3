"""What ended badly, and what fails though no layer explains it: filed, so that nothing fails in silence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from ...core.arrays import Array, Arrays
from ...core.comparison import Comparison
from ...core.evidence import Evidence
from ...core.finding import Class, Diagnosis
from ...core.messages import failing_layer, failing_onnx_node, gist
from ...core.onnx.layers import PREFIX as ONNX_PREFIX
from ...core.outcome import Outcome, Status
from ...core.procedure import Procedure
from ...core.suspicion import Suspicion
from ...core.verdict import Judgement, Kind
from ...targets.catalogue import traits_of
from ...triage.confirm import confirm_ending, flaky
from ...triage.diagnose import public_name
from ...triage.exporters import doubts_about, suspects_of_ending
from ...triage.fusion import AMPLIFIED, relative_difference
from ...triage.support import classed_ending
from ..events import Progress
from .instances import cut
from .setting import Examined, Setting
from .verdicts import Verdicts

_KINDS = {
    Status.RAISED: Kind.ERROR,
    Status.CRASHED: Kind.CRASH,
    Status.TIMED_OUT: Kind.HANG,
}


class Endings:
    """Files what the layers do not.

    Args:
        failed_on: per target, the inputs it failed on first.
    """

    def __init__(self, at: Setting, verdicts: Verdicts, failed_on: Mapping[str, slice]) -> None:
        self._at = at
        self._verdicts = verdicts
        self._failed_on = failed_on

    def file_endings(self, found: Examined, inputs: Arrays) -> None:
        """Targets that raised, crashed or hung, where another one did complete."""
        bad = [o for o in found.outcomes.values() if o.status in _KINDS]
        if not any(outcome.completed for outcome in found.outcomes.values()):
            if bad:
                found.notes.append("no target completed, so nothing could be compared")
            return
        failed = [outcome.target for outcome in bad]
        completed = [outcome.target for outcome in found.outcomes.values() if outcome.completed]
        filed: dict[tuple[tuple[str, ...], Kind], Suspicion] = {}
        for outcome in bad:
            suspects = suspects_of_ending(
                outcome.target, failed, completed, self._at.model.exporters, traits_of([*failed, *completed])
            )
            suspicion = self._ending(outcome, suspects, found, inputs)
            flaky = suspicion.diagnosis.klass is Class.FLAKY
            # two runtimes of one exported file are one finding; one that showed again is worth more
            if not flaky or (suspects, suspicion.kind) not in filed:
                filed.setdefault((suspects, suspicion.kind), suspicion)
            if not flaky and filed[suspects, suspicion.kind].diagnosis.klass is Class.FLAKY:
                filed[suspects, suspicion.kind] = suspicion
            if flaky:
                found.comparisons = [_unbelieved(c, outcome.target) for c in found.comparisons]
        found.suspicions += filed.values()

    def file_uncovered(self, found: Examined, inputs: Arrays) -> None:
        """A pair that fails although no suspicion speaks of it is filed as it is: nothing fails in silence."""
        for comparison in found.comparisons:
            if comparison.verdict.failed and comparison.instances and not self._is_covered(comparison, found):
                found.suspicions.append(self._pair_suspicion(comparison, found, inputs))

    def _is_covered(self, comparison: Comparison, found: Examined) -> bool:
        believed = [s.diagnosis for s in found.suspicions if s.diagnosis.klass is not Class.FLAKY]
        return any(self._verdicts.accusable(comparison) & set(diagnosis.suspects) for diagnosis in believed)

    def _pair_suspicion(self, comparison: Comparison, found: Examined, inputs: Arrays) -> Suspicion:
        verdict = comparison.verdict
        index = comparison.worst_input or 0
        one = {name: array[index : index + (self._at.model.batch or 1)] for name, array in inputs.items()}
        case = self._at.model.own_case(comparison.a, Procedure(), one, seed=self._at.rules.seed)
        by_values = verdict.kind not in (Kind.SHAPE, Kind.DTYPE)
        rounding = verdict.kind is Kind.INCONSISTENCY and bool(found.measured)
        suspects = () if by_values else _odd_ones(comparison, found.outcomes)
        evidence = [f"{comparison.a} and {comparison.b}, output {comparison.output!r}: {verdict.reason}"]
        if rounding:
            evidence.append("every layer agrees alone; the difference is rounding, carried along")
        elif by_values:
            evidence.append("without the layers nobody can say which of them is wrong")
        diagnosis = Diagnosis(
            klass=Class.PRECISION if rounding else Class.DEFECT,
            suspects=suspects,
            evidence=tuple(evidence),
            measure=verdict.measure,
            threshold=verdict.threshold,
        )
        if not rounding and not self._shows_again(comparison, found, one, index):
            diagnosis = flaky(diagnosis)
        return Suspicion(verdict.kind or Kind.INCONSISTENCY, diagnosis, case, (comparison.a, comparison.b))

    def _shows_again(self, comparison: Comparison, found: Examined, one: Arrays, index: int) -> bool:
        """Both sides give in fresh workers what they gave before, on the one input."""
        pairs = [
            (self._at.model.case(target, Procedure(), one, seed=self._at.rules.seed), target)
            for target in (comparison.a, comparison.b)
        ]
        for outcome in self._at.runner.run_pairs(pairs, fresh=True):
            before = found.outcomes[outcome.target].outputs.get(comparison.output)
            again = outcome.outputs.get(comparison.output)
            if (before is None) != (again is None):
                return False
            if before is not None and again is not None and not _same(before[index : index + len(again)], again):
                return False
        return True

    def _ending(self, outcome: Outcome, suspects: tuple[str, ...], found: Examined, inputs: Arrays) -> Suspicion:
        self._at.tell(Progress("confirming in fresh processes", 0, None, outcome.target))
        few = cut(inputs, self._failed_on[outcome.target])
        case = self._at.model.case(
            outcome.target, Procedure(batch_size=self._at.rules.batch_size), few, seed=self._at.rules.seed
        )
        same, _ = confirm_ending(self._at.runner, case, outcome)
        failure = outcome.failure
        assert failure is not None
        node, api = self._failing_place(failure.message)
        node = failure.node or node or self._failing_node(outcome.target, few)
        others = [name for name, other in found.outcomes.items() if other.completed]
        evidence: list[Evidence | str] = [
            f"{outcome.target} {outcome.status.value}: {failure.type}: {gist(failure.message)}"
        ]
        evidence.append(f"{', '.join(others)} completed the same model on the same inputs")
        if suspects == (outcome.target,):
            evidence += doubts_about(outcome.target, self._at.model.exporters)
        else:
            evidence.append("no runtime of the exported file completed it")
        diagnosis = Diagnosis(
            klass=Class.DEFECT,
            suspects=suspects,
            node=node,
            api=api or self._api_of(node),
            evidence=tuple(evidence),
        )
        diagnosis = classed_ending(diagnosis, outcome) if same else flaky(diagnosis)
        case = self._at.model.own_case(outcome.target, case.procedure, few, seed=self._at.rules.seed)
        return Suspicion(_KINDS[outcome.status], diagnosis, case, tuple(found.outcomes), failure.type)

    def _failing_place(self, message: str) -> tuple[str | None, str | None]:
        """Node and public name, as far as the library's own words tell."""
        if self._at.model.file is not None and self._at.model.file.format == "onnx":
            op, name = failing_onnx_node(message) or ("", "")
            node = next((node.key for node in self._at.nodes() if name and node.layer == name), None)
            return node, f"{ONNX_PREFIX}{op}" if op else None
        layer = failing_layer(message)
        return None, f"keras.layers.{layer}" if layer and layer != "Functional" else None

    def _api_of(self, key: str | None) -> str | None:
        """The public name of a node's layer; Keras says it in its message, if it is one of Keras'."""
        ops = [node.op for node in self._at.nodes() if node.key == key]
        return public_name(ops[0]) if ops and "." in ops[0] else None

    def _failing_node(self, target: str, few: Arrays) -> str | None:
        """Where a model fails that fails as a whole: the node that was running when it is run step by step."""
        one = {name: array[: self._at.model.batch or 1] for name, array in few.items()}
        case = self._at.model.case(target, Procedure(trace=True), one, seed=self._at.rules.seed)
        failure = self._at.runner.run_pairs([(case, target)])[0].failure
        return failure.node if failure else None


def _unbelieved(comparison: Comparison, target: str) -> Comparison:
    """A pair that failed by an ending which did not happen again."""
    if not comparison.verdict.failed or comparison.instances or target not in (comparison.a, comparison.b):
        return comparison
    reason = f"{comparison.verdict.reason} (did not fail again in fresh processes)"
    return replace(comparison, verdict=replace(comparison.verdict, judgement=Judgement.UNDECIDED, reason=reason))


def _same(before: Array, again: Array) -> bool:
    """Up to what another batch size may change."""
    alike = before.shape == again.shape and before.dtype == again.dtype
    return alike and relative_difference(before, again) <= AMPLIFIED


def _odd_ones(comparison: Comparison, outcomes: Mapping[str, Outcome]) -> tuple[str, ...]:
    """Of a pair whose outputs are of another shape or dtype: who is alone with it; both where nobody can tell."""
    forms = {target: _form(outcome, comparison.output) for target, outcome in outcomes.items() if outcome.completed}
    votes = Counter(forms.values())
    common, count = votes.most_common(1)[0]
    pair = (comparison.a, comparison.b)
    if 2 * count <= len(forms):
        return pair
    return tuple(target for target in pair if forms.get(target) != common) or pair


def _form(outcome: Outcome, name: str) -> tuple[str, tuple[int, ...]] | None:
    output = outcome.outputs.get(name)
    return None if output is None else (output.dtype.name, output.shape)
