"""What is known already: whom it concerns, which verdict it gives, what makes it unknown again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from tensorparity.core.case import Case
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.outcome import Failure, Outcome, Status
from tensorparity.core.procedure import Procedure
from tensorparity.core.verdict import Judgement, Kind
from tensorparity.reporting.words import sentences
from tensorparity.triage.examine import ENOUGH

from ..stepping import ExaminedSteps

VERSIONS = ("onnxruntime", "onnxruntime@old", "torch:eager")
FAMILIES = {"onnxruntime": "onnxruntime", "onnxruntime@old": "onnxruntime", "torch:eager": "torch"}


def _case() -> Case:
    builder = GraphBuilder("one layer")
    graph = builder.build(builder.add("ReLU", builder.input("x", (2,)), name="y"))
    return Case(graph, Procedure(trace=True), {"x": np.ones((1, 2), np.float32)})


class Ending:
    """A target that raises or hangs where the others are right; in fresh workers perhaps not."""

    targets = VERSIONS

    def __init__(self, guilty: str, status: Status = Status.RAISED, *, fresh_too: bool = True) -> None:
        self._guilty, self._status, self._fresh_too = guilty, status, fresh_too

    def run_pairs(self, pairs: Sequence[tuple[Case, str]], *, fresh=False, deadline_factor=1.0, on_outcome=None):
        return [self._run(case, target, fresh) for case, target in pairs]

    def _run(self, case: Case, target: str, fresh: bool) -> Outcome:
        if target == self._guilty and (self._fresh_too or not fresh):
            return Outcome(target, self._status, failure=Failure("ValueError", "no", "y#0"))
        return Outcome(target, Status.COMPLETED, {"y": np.ones((1, 2), np.float32)})


@pytest.mark.parametrize("guilty", VERSIONS)
def test_an_ending_that_is_known_still_fails_those_it_concerns_and_no_others(guilty: str) -> None:
    """One version of a library is called as both are: the other one is innocent."""
    examiner = ExaminedSteps(Ending(guilty), VERSIONS, FAMILIES)
    steps = [examiner.examine([_case()])[0] for _ in range(4)]
    assert steps[-1].known
    for step in steps:
        for verdict in step.verdicts:
            expected = Judgement.FAIL if guilty in verdict.targets else Judgement.PASS
            assert verdict.judgement is expected, verdict
            assert verdict.kind is (Kind.ERROR if guilty in verdict.targets else None)


def test_what_turns_out_to_be_flaky_is_tried_as_often_as_anything_else() -> None:
    """When it is confirmed depends on timing, so that confirming must not change what is tried next."""
    for confirms in (True, False):
        examiner = ExaminedSteps(Ending("torch:eager", fresh_too=False), VERSIONS, FAMILIES)
        convicted = []
        for _ in range(ENOUGH + 1):
            (step,) = examiner.examine([_case()])
            convicted.append(bool(step.convicted))
            if confirms:
                examiner.confirm()
        assert convicted == [True] * ENOUGH + [False]


def test_an_ending_that_no_trial_shows_teaches_nothing() -> None:
    class Once(Ending):
        """It hangs in the network's own run and never after."""

        def __init__(self) -> None:
            super().__init__("torch:eager", Status.TIMED_OUT)
            self._runs = 0

        def _run(self, case: Case, target: str, fresh: bool) -> Outcome:
            self._runs += target == self._guilty
            outcome = super()._run(case, target, fresh)
            return outcome if self._runs == 1 else super()._run(case, VERSIONS[0], fresh)

    for _ in range(4):
        examiner = ExaminedSteps(Once(), VERSIONS, FAMILIES)
        (step,) = examiner.examine([_case()])
        assert step.open
        assert not step.convicted
        assert not any(examiner.examiner._convicted.values())


def test_an_interrupted_confirmation_can_be_asked_for_again() -> None:
    class Interrupted(Ending):
        interrupt = True

        def run_pairs(self, pairs, *, fresh=False, deadline_factor=1.0, on_outcome=None):
            if fresh and self.interrupt:
                raise KeyboardInterrupt
            return super().run_pairs(pairs)

    runner = Interrupted("torch:eager")
    examiner = ExaminedSteps(runner, VERSIONS, FAMILIES)
    examiner.examine([_case()])
    with pytest.raises(KeyboardInterrupt):
        examiner.confirm()
    runner.interrupt = False
    assert len(examiner.confirm()) == 1
    assert examiner.confirm() == []


class Saying(Ending):
    """It raises in other words each time that it is given a network."""

    def __init__(self, *messages: str) -> None:
        super().__init__("torch:eager")
        self._messages = iter(messages)
        self._message = ""

    def run_pairs(self, pairs: Sequence[tuple[Case, str]], *, fresh=False, deadline_factor=1.0, on_outcome=None):
        if all(case.procedure.trace for case, _ in pairs):
            self._message = next(self._messages)
        return super().run_pairs(pairs, fresh=fresh)

    def _run(self, case: Case, target: str, fresh: bool) -> Outcome:
        outcome = super()._run(case, target, fresh)
        return outcome if outcome.completed else replace(outcome, failure=Failure("ValueError", self._message, "y#0"))


def test_another_message_in_the_same_layer_is_another_crash() -> None:
    messages = ["axis 3 of 'a' is out of range", "axis 7 of 'b' is out of range", "axis 1 of 'c' is out of range"]
    examiner = ExaminedSteps(Saying(*messages, "a negative dimension"), VERSIONS, FAMILIES)
    steps = [examiner.examine([_case()])[0] for _ in range(4)]
    assert [bool(step.known) for step in steps] == [False, False, True, False]
    assert "a negative dimension" in sentences(steps[-1].convicted[0].diagnosis)[0]
