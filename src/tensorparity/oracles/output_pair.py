"""Whole models: the outputs of all instances on all targets, pair by pair, and the layers where the outputs differ.

``parity`` passes what is equal up to rounding and has the layers decide everything else; with ``cradle`` the paper's
rule decides alone, and its localization map explains: no layer is replayed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from ..core.finding import Class
from ..core.jsontext import Json
from ..core.oracle import Check, Judged, Seen, Setup
from ..core.signature import is_whole
from ..core.suspicion import Suspicion
from ..core.verdict import Judgement
from .base import Steps, Stepwise
from .kinds import WHOLE_MODELS
from .measure.threshold_grid import threshold_grid
from .pair import PairOracle, judge_cradle, judge_parity
from .whole.by_rates import labels_of_answers, map_inconsistent_pairs
from .whole.failures import suspect_endings, suspect_uncovered
from .whole.instances import hardly_depends_on_inputs, named_labels
from .whole.layers import look_at_layers
from .whole.sight import WHOLE_DEFAULTS, WHOLE_SETTINGS, Asking, Found, Sight, WholeSettings
from .whole.verdicts import decide


class OutputPair(Stepwise):
    """Judges pairs of outputs by a rule, and looks at the layers.

    Settings: ``localize`` (auto, always, never), ``arbiters``, ``batch`` (the only size the model takes), and
    ``thresholds``, ``share``, ``k`` and ``metric`` of CRADLE's distances; with ``study`` it is also told what other
    thresholds would report.
    """

    settings: ClassVar[tuple[str, ...]] = WHOLE_SETTINGS
    defaults: ClassVar[Mapping[str, object]] = WHOLE_DEFAULTS

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
        at.labels = named_labels(seen.case.labels, seen.own)
        self.prepare(at)
        at.comparisons = at.compare()
        yield from self.localize(at)
        yield from suspect_endings(at)
        suspect_uncovered(at)
        suspicions = yield from _with_smallest_cases(at)
        return Judged(
            verdicts=tuple(comparison.verdict for comparison in at.comparisons),
            suspicions=tuple(suspicions),
            comparisons=tuple(at.comparisons),
            notes=tuple(at.notes),
            told={"outputs": _output_names(at), **_told_inconsistencies(at)},
            facts={"measured": tuple(at.measured), "doubts": tuple(at.doubts)},
        )

    def prepare(self, at: Sight) -> None:
        """What has to be known before pairs are compared."""

    def localize(self, at: Sight) -> Asking[None]:
        """Look at the layers of pairs that differ; they decide what the outputs alone did not."""
        if wants_layers(at) and (yield from look_at_layers(at)):
            at.comparisons = [decide(at, comparison) for comparison in at.comparisons]


class Parity(OutputPair):
    """Equal up to rounding, or the layers decide."""

    name = "parity"
    rule = staticmethod(judge_parity)


class Cradle(OutputPair):
    """The paper's rule on classes and distances, which needs labels."""

    name = "cradle"
    rule = staticmethod(judge_cradle)
    needs_labels = True

    def prepare(self, at: Sight) -> None:
        labels_of_answers(at)

    def localize(self, at: Sight) -> Asking[None]:
        yield from map_inconsistent_pairs(at)


def _output_names(at: Sight) -> list[str]:
    done = next(iter(at.seen.completed.values()), None)
    return list(done.outputs) if done else []


def _told_inconsistencies(at: Sight) -> dict[str, Json]:
    """Inconsistent pairs with metric and pattern, and what tells where they were seen: an engine keeps all of it."""
    named = [(comparison, comparison.distances[0]) for comparison in at.comparisons if comparison.distances]
    found: dict[str, Json] = {
        "inconsistent": [
            {
                "metric": distance.name,
                "pattern": list(distance.pattern.values()),
                "pair": f"{comparison.a} / {comparison.b} / {comparison.output}",
                "targets": [comparison.a, comparison.b],
                "model": at.model.name,
                "versions": {target: _versions(at, target) for target in (comparison.a, comparison.b)},
            }
            for comparison, distance in named
            if distance.inconsistent
        ]
    }
    return {**found, "threshold_study": _study(at)} if at.settings.study else found


def _versions(at: Sight, target: str) -> dict[str, str]:
    return dict(at.outcomes[target].record.versions)


def _study(at: Sight) -> list[Json]:
    """Of every pair with labels, what other thresholds would report."""
    found: list[Json] = []
    for comparison in (comparison for comparison in at.comparisons if comparison.distances):
        name = comparison.output
        a, b = (at.outcomes[target].outputs[name].astype(float) for target in (comparison.a, comparison.b))
        rows = threshold_grid(a, b, at.labels[name], at.settings.pairs.k)
        found += [{"pair": f"{comparison.a} / {comparison.b} / {name}", **row} for row in rows]
    return found


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
    if is_whole(at.seen.claim):  # who confirms has the case and its oracle already, and only wants to know
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
