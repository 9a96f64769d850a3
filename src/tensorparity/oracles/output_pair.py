"""Whole models: the outputs of all instances on all targets, pair by pair, and the layers where the outputs differ.

``parity`` passes what is equal up to rounding and has the layers decide everything else; with ``cradle`` the paper's
rule decides, and the layers only explain.
"""

from __future__ import annotations

from dataclasses import replace

from ..core.finding import Class
from ..core.jsontext import Json
from ..core.oracle import Check, Judged, Seen, Setup
from ..core.suspicion import Suspicion
from ..core.verdict import Judgement
from .base import Steps, Stepwise
from .kinds import WHOLE_MODELS
from .pair import PairOracle, judge_cradle, judge_parity
from .whole.failures import suspect_endings, suspect_uncovered
from .whole.instances import hardly_depends_on_inputs, named_labels
from .whole.layers import look_at_layers
from .whole.sight import Asking, Clock, Found, Sight, WholeSettings
from .whole.verdicts import decide


class OutputPair(Stepwise):
    """Judges pairs of outputs by a rule, and looks at the layers.

    Settings: ``localize`` (auto, always, never), ``arbiters``, ``batch`` (the only size the model takes), and
    ``thresholds``, ``share`` and ``k`` of CRADLE's distances.
    """

    name: str
    rule: PairOracle
    role = WHOLE_MODELS
    needs_labels = False

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        rule = type(self).rule
        self._settings = WholeSettings.of(setup.settings, rule, self.name, needs_labels=self.needs_labels)

    def steps(self, seen: Seen) -> Steps:
        at = Sight.of(seen, self._settings)
        with Clock(at.phases, "compare"):
            at.labels = named_labels(seen.case.labels, seen.own)
            at.comparisons = at.compare()
        with Clock(at.phases, "localize"):
            yield from _localize(at)
            suspicions = yield from _with_smallest_cases(at)
        return Judged(
            verdicts=tuple(comparison.verdict for comparison in at.comparisons),
            suspicions=tuple(suspicions),
            comparisons=tuple(at.comparisons),
            notes=tuple(at.notes),
            told={"outputs": _output_names(at), "inconsistent": _inconsistent(at)},
            facts={"phases": at.phases, "measured": tuple(at.measured), "doubts": tuple(at.doubts)},
        )


class Parity(OutputPair):
    """Equal up to rounding, or the layers decide."""

    name = "parity"
    rule = staticmethod(judge_parity)


class Cradle(OutputPair):
    """The paper's rule on classes and distances, which needs labels."""

    name = "cradle"
    rule = staticmethod(judge_cradle)
    needs_labels = True


def _output_names(at: Sight) -> list[str]:
    done = next(iter(at.seen.completed.values()), None)
    return list(done.outputs) if done else []


def _inconsistent(at: Sight) -> list[Json]:
    """The pairs that are inconsistent by CRADLE's first distance, each with its metric and its pattern."""
    named = [(f"{c.a} / {c.b} / {c.output}", c.distances[0]) for c in at.comparisons if c.distances]
    return [
        {"metric": distance.name, "pattern": list(distance.pattern.values()), "pair": name}
        for name, distance in named
        if distance.inconsistent
    ]


def _localize(at: Sight) -> Asking[None]:
    if wants_layers(at) and (yield from look_at_layers(at)):
        at.comparisons = [decide(at, comparison) for comparison in at.comparisons]
    yield from suspect_endings(at)
    suspect_uncovered(at)


def wants_layers(at: Sight) -> bool:
    """Whether the layers are looked at: where outputs differ, or say too little, or somebody asked for it."""
    if at.settings.localize == "never" or not at.comparisons:
        return False
    different = [c for c in at.comparisons if c.instances and c.verdict.judgement is not Judgement.PASS]
    if different or at.settings.localize == "always":
        return True
    if hardly_depends_on_inputs(at.outcomes):
        at.notes.append("the outputs hardly depend on the inputs, so the layers were compared one by one")
        return True
    return False


def _with_smallest_cases(at: Sight) -> Asking[list[Suspicion]]:
    """Every suspicion with the smallest case that shows it, and the oracle that sees it there.

    A layer may be right when it is taken out of its file (an exporter wrote it in other words), so whoever confirms or
    reduces must be given a case that was tried.
    """
    if at.seen.claim is not None:
        return at.suspicions
    waiting = dict(enumerate(at.found))
    done: dict[int, Suspicion] = {}
    for depth in range(max((len(item.places) for item in at.found), default=0)):
        tried = {index: item for index, item in waiting.items() if _is_tried(at, item, depth)}
        answers = yield [_look(item, depth) for item in tried.values()]
        shows = {
            index
            for index, answer in zip(tried, answers, strict=True)
            if answer.judged is None or answer.judged.of_key(tried[index].suspicion.key) is not None
        }
        for index in [index for index in waiting if index in shows or index not in tried]:
            done[index] = _at(waiting.pop(index), depth)
    return [done[index] for index in sorted(done)]


def _is_tried(at: Sight, item: Found, depth: int) -> bool:
    """Only defects are confirmed; the last place, and the case that is being looked at, are taken without a look."""
    if item.suspicion.diagnosis.klass is not Class.DEFECT or depth == len(item.places) - 1:
        return False
    return item.places[depth].case.digest != at.seen.case.digest


def _look(item: Found, depth: int) -> Check:
    place = item.places[depth]
    return Check(place.case, item.suspicion.targets, place.oracle)


def _at(item: Found, depth: int) -> Suspicion:
    place = item.places[depth]
    return replace(item.suspicion, case=place.case, oracle=place.oracle)
