"""The examiner on targets that compute in NumPy: batches, known keys, and oracles taken up again or from the start."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tensorparity.core.case import Case
from tensorparity.core.engine import Ask
from tensorparity.core.finding import Class, Diagnosis
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.oracle import Answer, Check, Judged, Oracle, Seen, Setup
from tensorparity.core.procedure import Procedure
from tensorparity.core.signature import claim_against
from tensorparity.core.suspicion import Suspicion
from tensorparity.core.verdict import Judgement, Kind
from tensorparity.operators.reference.evaluate import draw_weights
from tensorparity.oracles.base import Steps, Stepwise
from tensorparity.targets.selection import traits_of
from tensorparity.triage.examine import Examiner

TORCH = "keras:torch"
TARGETS = ("keras:tensorflow", TORCH)


def wrong(array: Any) -> Any:
    return array + np.float32(0.5)


def chain(seed: int, procedure: Procedure | None = None) -> Case:
    build = GraphBuilder("chain")
    x = build.add("Dense", build.input("x", (3,)), name="first", units=4)
    x = build.add("LeakyReLU", x, name="leaky", negative_slope=0.7)
    graph = build.build(build.add("Dense", x, name="last", units=2))
    rng = np.random.default_rng(seed)
    inputs = {"x": rng.standard_normal((2, 3)).astype(np.float32)}
    return Case(graph, procedure or Procedure(), inputs, weights=draw_weights(graph, rng))


def examiner(runner: Any) -> Examiner:
    return Examiner(runner, Setup(targets=TARGETS, traits=traits_of(TARGETS)))


@dataclass
class Counted:
    """A runner that counts how often it is asked."""

    runner: Any
    calls: int = 0

    @property
    def targets(self) -> Any:
        return self.runner.targets

    def run_pairs(self, pairs: Any, **more: Any) -> Any:
        self.calls += 1
        return self.runner.run_pairs(pairs, **more)


def test_checks_of_several_cases_are_run_together(fake_runner: Any) -> None:
    runner = Counted(fake_runner(targets=TARGETS))
    found = examiner(runner).examine([Ask(chain(seed)) for seed in range(4)])
    assert [item.judged.verdicts[0].judgement for item in found] == [Judgement.PASS] * 4
    assert runner.calls == 2, "the cases, and the layers of all of them"


class Forgetful:
    """An oracle whose memo is lost between two calls."""

    def __init__(self, oracle: Oracle) -> None:
        self._oracle = oracle

    def judge(self, seen: Seen) -> Judged:
        return replace(self._oracle.judge(replace(seen, memo=None)), memo=None)


RUNNERS = {
    "healthy": {},
    "a layer": {"planted": {TORCH: {"leaky": wrong}}},
    "what is lost": {"lost": {TORCH: {"leaky": wrong}}},
    "fused": {"whole": {TORCH: wrong}},
    "raising": {"raising": {TORCH: ["leaky"]}},
}


@pytest.mark.parametrize("reload", [False, True])
@pytest.mark.parametrize("name", RUNNERS)
def test_a_memo_saves_work_and_changes_nothing(fake_runner: Any, name: str, reload: bool) -> None:
    case = chain(0, Procedure(reload=reload))
    plain, forgetful = (examiner(fake_runner(targets=TARGETS, **RUNNERS[name])) for _ in range(2))
    forgetful._oracles["layers"] = Forgetful(forgetful.oracle_named("layers"))
    (first,), (second,) = plain.examine([Ask(case)]), forgetful.examine([Ask(case)])
    assert first.judged.verdicts == second.judged.verdicts
    assert [(s.key, s.case.digest) for s in first.judged.suspicions] == [
        (s.key, s.case.digest) for s in second.judged.suspicions
    ]
    assert bool(first.judged.suspicions) is (name != "healthy" and (reload or name != "what is lost"))


class Keyed(Stepwise):
    """Asks for a check that has a key, and convicts by it where it was run."""

    answers: list[Answer]

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.answers = []

    def steps(self, seen: Seen) -> Steps:
        key = ("forward", "an.api", "its parameters")
        plain = replace(seen.case, procedure=replace(seen.case.procedure, trace=True))
        (answer,) = yield [Check(plain, seen.targets, key=key)]
        self.answers.append(answer)
        if answer.judged is None:
            return Judged()
        diagnosis = Diagnosis(Class.DEFECT, (TORCH,), api="an.api")
        return Judged((), (Suspicion(Kind.INCONSISTENCY, diagnosis, seen.case, seen.targets, known_by=key),))


def test_a_check_whose_key_is_known_is_skipped(fake_runner: Any) -> None:
    runner = fake_runner(targets=TARGETS)
    at = examiner(runner)
    oracle = at._oracles["keyed"] = Keyed(at.setup)
    results = [at.examine([Ask(chain(seed), (), ("keyed",))])[0] for seed in range(3)]
    assert [len(item.judged.suspicions) for item in results] == [1, 1, 0]
    assert [bool(item.known) for item in results] == [False, False, True]
    assert oracle.answers[-1].judged is None
    assert not oracle.answers[-1].outcomes
    assert sum(ran.case.procedure.trace for ran in runner.ran) == 2 * len(TARGETS)


def test_what_two_cases_convict_by_one_key_is_confirmed_twice(fake_runner: Any) -> None:
    at = examiner(fake_runner(targets=TARGETS))
    at._oracles["keyed"] = Keyed(at.setup)
    found = at.examine([Ask(chain(seed), (), ("keyed",)) for seed in range(2)])
    assert at.is_known(("forward", "an.api", "its parameters"))
    assert [again.diagnosis.klass for again, _ in at.confirm(found)] == [Class.DEFECT] * 2


def test_a_row_of_what_is_known_is_cut_out(fake_runner: Any) -> None:
    at = examiner(fake_runner(targets=TARGETS))
    at._oracles["keyed"] = Keyed(at.setup)
    found = at.examine([Ask(chain(seed), (), ("keyed",)) for seed in range(2)])
    rows = [replace(item.judged.suspicions[0], row=1) for item in found]
    assert [(s.row, len(s.case.inputs["x"])) for s in at.cut_out(rows)] == [(None, 1)] * 2


def test_who_tries_one_thing_again_and_again_has_it_examined_each_time(fake_runner: Any) -> None:
    runner = fake_runner(targets=TARGETS)
    at = examiner(runner)
    at._oracles["keyed"] = Keyed(at.setup)
    reducing = at.on(runner)
    results = [reducing.examine([Ask(chain(seed), (), ("keyed",))])[0] for seed in range(4)]
    assert [len(item.judged.suspicions) for item in results] == [1] * 4


class Broken(Stepwise):
    """Ends with an exception wherever the numbers are of this seed, before or after a check."""

    def __init__(self, setup: Setup, error: Exception, after: bool) -> None:
        super().__init__(setup)
        self._error, self._after = error, after

    def steps(self, seen: Seen) -> Steps:
        if self._after:
            yield [Check(replace(seen.case, procedure=replace(seen.case.procedure, trace=True)), seen.targets)]
        raise self._error


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("error", [KeyError("it"), TypeError("it"), ZeroDivisionError("it")])
def test_a_plug_ins_oracle_that_raises_leaves_its_case_undecided(
    fake_runner: Any, error: Exception, after: bool
) -> None:
    at = examiner(fake_runner(targets=TARGETS, planted={TORCH: {"leaky": wrong}}))
    at._oracles["theirs"] = Broken(at.setup, error, after)
    theirs, ours = at.examine([Ask(chain(0), (), ("theirs",)), Ask(chain(1))])
    assert [verdict.judgement for verdict in theirs.judged.verdicts] == [Judgement.UNDECIDED]
    assert theirs.judged.undecided.startswith(f"the oracle theirs ended with {type(error).__name__}: ")
    assert theirs.judged.notes == (theirs.judged.undecided,)
    assert ours.judged.suspicions


def test_a_defect_of_ours_ends_the_run(fake_runner: Any) -> None:
    at = examiner(fake_runner(targets=TARGETS))
    at._oracles["layers"] = Broken(at.setup, KeyError("it"), after=False)
    with pytest.raises(KeyError):
        at.examine([Ask(chain(0))])


def test_a_plug_ins_oracle_that_answers_nothing_leaves_its_case_undecided(fake_runner: Any) -> None:
    at = examiner(fake_runner(targets=TARGETS))
    at._oracles["theirs"] = SimpleNamespace(judge=lambda seen: None)  # type: ignore[assignment]
    (theirs,) = at.examine([Ask(chain(0), (), ("theirs",))])
    assert "AttributeError" in theirs.judged.undecided


def test_who_raised_is_confirmed_by_the_same_oracle(fake_runner: Any) -> None:
    at = examiner(fake_runner(targets=TARGETS, raising={TORCH: ["leaky"]}))
    found = at.examine([Ask(chain(0))])
    ((suspicion, _),) = at.confirm(found)
    assert (suspicion.diagnosis.klass, suspicion.oracle) == (Class.DEFECT, "layers")
    assert suspicion.diagnosis.api == "keras.layers.LeakyReLU"


def test_only_defects_are_seen_again(fake_runner: Any) -> None:
    """What blames nobody stands as it is, and costs no fresh worker."""
    runner = fake_runner(targets=TARGETS, raising={TORCH: ["leaky"]})
    at = examiner(runner)
    (found,) = at.examine([Ask(chain(0))])
    (suspicion,) = found.judged.suspicions
    blameless = replace(suspicion, diagnosis=replace(suspicion.diagnosis, klass=Class.PRECISION))
    runner.ran.clear()
    assert at.confirm_all([blameless]) == [blameless]
    assert runner.ran == []


class Slow(Stepwise):
    """Asks for a check that has more time than others."""

    def steps(self, seen: Seen) -> Steps:
        yield [
            Check(replace(seen.case, procedure=replace(seen.case.procedure, trace=True)), seen.targets, deadline=3.0)
        ]
        return Judged()


@pytest.mark.parametrize("fresh", [False, True])
def test_a_check_has_its_own_deadline_also_in_fresh_workers(fake_runner: Any, fresh: bool) -> None:
    runner = fake_runner(targets=TARGETS)
    at = examiner(runner)
    at._oracles["slow"] = Slow(at.setup)
    at.examine([Ask(chain(0), (), ("slow",))], fresh=fresh)
    assert {(ran.case.procedure.trace, ran.deadline_factor) for ran in runner.ran} == {(False, 1.0), (True, 3.0)}


def test_a_suspicion_from_a_case_file_is_signed_by_the_oracle_of_its_layer(fake_runner: Any) -> None:
    """As it was when it was found: a file names the suspects, and the whole model is looked at."""
    at = examiner(fake_runner(targets=TARGETS, planted={TORCH: {"leaky": wrong}}))
    (found,) = at.examine([Ask(chain(0), (), ("parity",))])
    (opened,) = at.on(at.runner).examine([Ask(chain(0), (), ("parity",))], fresh=True, claim=claim_against([TORCH]))
    (first,), (again,) = found.judged.suspicions, opened.judged.suspicions
    assert (again.oracle, again.key, again.case.digest) == (first.oracle, first.key, first.case.digest)
    assert again.oracle == "layer"
