"""The hunt's loop with a small engine and fake targets: exact counts, resumes, findings once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tensorparity.campaign.budget import StopReason
from tensorparity.campaign.events import silent
from tensorparity.campaign.session import CampaignSession
from tensorparity.commands.hunt import Hunt, HuntSettings, hunt
from tensorparity.core.arrays import Array
from tensorparity.core.case import ApiCall, ArrayArg, Case
from tensorparity.core.engine import Ask, Result, calls_functions
from tensorparity.core.errors import DataError, UsageError
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.oracle import Judged, Seen, Setup
from tensorparity.core.outcome import Outcome, Status
from tensorparity.core.procedure import Goal, Procedure, Recipe
from tensorparity.core.verdict import Judgement
from tensorparity.engines.base import ENGINES
from tensorparity.engines.cradle import CradleEngine
from tensorparity.engines.predoo.engine import PredooEngine
from tensorparity.operators.reference.evaluate import draw_weights
from tensorparity.oracles.training_step import TrainingStep
from tensorparity.store.database import open_store
from tensorparity.targets.catalogue import traits_of
from tensorparity.targets.faults import Fault
from tensorparity.targets.runner import RunnerSettings
from tensorparity.targets.selection import native_libraries
from tensorparity.triage.examine import Examiner
from tensorparity.triage.reduction.preparation import ReducingSettings

TARGETS = ("keras:jax", "keras:tensorflow", "keras:torch")


class SmallEngine:
    """Two small models per round; what it learns goes into the next round, so that order shows."""

    name = "small"
    ahead = 0
    oracles: tuple[str, ...] = ("parity",)

    def __init__(self, setup: Setup) -> None:
        self._seed = setup.seed
        self._asked = 0
        self._learned: list[int] = []

    def ask(self) -> Sequence[Ask]:
        self._asked += 2
        return [Ask(self._case(self._asked - 2 + position), oracles=self.oracles) for position in range(2)]

    def tell(self, results: Sequence[Result]) -> None:
        told = [[verdict.judgement for verdict in result.verdicts] for result in results]
        self._learned += [judgements.count(Judgement.PASS) for judgements in told]

    def tables(self) -> Mapping[str, Any]:
        return {"learned": list(self._learned)}

    def _case(self, index: int) -> Case:
        build = GraphBuilder(f"small{index % 2}")
        x = build.add("Dense", build.input("x", (4,)), name="dense", units=3)
        graph = build.build(build.add("ReLU", x, name="relu"))
        rng = np.random.default_rng([self._seed, index, *self._learned[: index // 2 * 2]])
        inputs = {"x": rng.standard_normal((4, 4)).astype(np.float32)}
        return Case(graph, inputs=inputs, weights=draw_weights(graph, rng), seed=index)


@pytest.fixture(autouse=True)
def small_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENGINES._paths, "small", "nowhere:small")
    monkeypatch.setitem(ENGINES._loaded, "small", SmallEngine)


@pytest.fixture
def run(tmp_path: Path, fake_runner: Any) -> Callable[..., tuple[Hunt, list[Result]]]:
    def hunted(
        folder: str = "store",
        planted: Any = None,
        runner: RunnerSettings | None = None,
        circumstances: str = "fake 1.0",
        ends: Any = None,
        **settings: Any,
    ) -> tuple[Hunt, list[Result]]:
        chosen = HuntSettings(
            TARGETS, engines=("small",), store=tmp_path / folder, runner=runner or RunnerSettings(), **settings
        )
        with open_store(chosen.store) as store:
            fake = fake_runner(targets=TARGETS, planted=planted or {}, ends=ends or {}, circumstances=circumstances)
            campaign = Hunt(chosen, fake, store, silent)
            campaign.run()
            return campaign, store.results(campaign.campaign, "small")

    return hunted


def bump(array: Array) -> Array:
    return array + np.float32(0.1)


@pytest.mark.parametrize("cases", [0, 1, 2, 5])
def test_a_count_is_exact(run: Any, cases: int) -> None:
    hunted, results = run(cases=cases)
    assert [result.index for result in results] == list(range(cases))
    assert hunted.tally.engines["small"].cases == cases
    assert hunted.stop is StopReason.CASES


def test_a_budget_of_nothing_runs_nothing(run: Any) -> None:
    hunted, results = run(budget=0.0)
    assert results == []
    assert hunted.stop is StopReason.BUDGET


def test_a_budget_cuts_the_same_sequence(run: Any) -> None:
    _, some = run("some", budget=0.2)
    _, counted = run("counted", cases=max(1, len(some)))
    assert some[: len(counted)] == counted[: len(some)]


def test_a_resume_continues_as_if_never_interrupted(run: Any) -> None:
    _, whole = run("whole", cases=5)
    for cut in (1, 2, 3):
        run(f"cut{cut}", cases=cut)
        hunted, resumed = run(f"cut{cut}", cases=5, resume=True)
        assert resumed == whole
        assert hunted.tally.engines["small"].resumed == cut


def test_without_resume_a_new_campaign_begins(run: Any) -> None:
    first, _ = run(cases=2)
    second, results = run(cases=2)
    assert first.campaign != second.campaign
    assert second.tally.engines["small"].resumed == 0
    assert len(results) == 2


@pytest.mark.parametrize("change", [{"seed": 1}, {"oracle": "cradle"}], ids=["seed", "oracle"])
def test_another_hunt_is_not_resumed(run: Any, change: dict[str, Any]) -> None:
    run(cases=2)
    hunted, _ = run(cases=2, resume=True, **change)
    assert hunted.tally.engines["small"].resumed == 0


def test_a_fault_that_changed_under_its_name_is_not_resumed(run: Any) -> None:
    one, other = (RunnerSettings(faults={"keras:jax": Fault("f.py", source)}) for source in ("a = 1", "a = 2"))
    run(cases=2, runner=one)
    assert run(cases=2, runner=one, resume=True)[0].tally.engines["small"].resumed == 2
    assert run(cases=2, runner=other, resume=True)[0].tally.engines["small"].resumed == 0


def test_other_versions_are_not_resumed(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run(cases=2)
    assert run(cases=2, resume=True, circumstances="fake 1.1")[0].tally.engines["small"].resumed == 0
    assert run(cases=2, resume=True)[0].tally.engines["small"].resumed == 2
    monkeypatch.setattr("tensorparity.commands.hunt.__version__", "999")
    assert run(cases=2, resume=True)[0].tally.engines["small"].resumed == 0


def test_verdicts_are_recorded_in_case_order(run: Any) -> None:
    _, results = run(cases=3, planted={"keras:jax": {"dense": bump}})
    for result in results:
        assert [verdict.judgement.value for verdict in result.verdicts] == ["fail", "fail", "pass"]


def test_one_defect_of_one_model_is_one_finding_with_a_case_file(run: Any, tmp_path: Path) -> None:
    hunted, _ = run(cases=6, planted={"keras:jax": {"dense": bump}})
    assert len(hunted.session.findings) == 2  # small0 and small1
    for finding in hunted.session.findings.values():
        assert finding.diagnosis.suspects == ("keras:jax",)
        assert finding.versions["keras:jax"] == {"fake": "1.0"}
        assert (tmp_path / "store" / str(finding.case)).is_file()


def test_what_reduction_shows_to_be_one_defect_is_one_finding(run: Any) -> None:
    planted, reducing = {"keras:jax": {"dense": bump}}, ReducingSettings(scripts=False)
    hunted, _ = run(cases=6, planted=planted, reducing=reducing)
    (finding,) = hunted.session.findings.values()
    again = hunted.facts(0.0).stats["again"]
    assert (list(again), again[finding.signature] > 0) == ([finding.signature], True)
    assert not hunted.session.distinct.is_merged(finding.id)
    resumed, _ = run(cases=8, planted=planted, reducing=reducing, resume=True)
    assert list(resumed.session.findings) == [finding.id]


def test_the_stats_tell_what_was_explained_and_what_was_not_reduced(run: Any) -> None:
    planted = {"keras:jax": {"dense": bump}}
    hunted, _ = run(cases=4, planted=planted, reducing=ReducingSettings(scripts=False))
    known = hunted.session.preparation.explanations
    known.explained, known.audited, known.refuted = 40, 3, 1
    (finding,) = hunted.session.findings.values()
    for reduced, share in ((True, 0.0), (False, 1.0)):
        hunted.session.findings[finding.id] = replace(finding, reduced=reduced)
        stats = hunted.facts(0.0).stats
        told = [stats[name] for name in ("explained", "audited", "refuted", "unreduced_share")]
        assert told == [40, 3, 1, share]


def test_nothing_is_explained_where_nothing_is_reduced(run: Any) -> None:
    stats = run(cases=2)[0].facts(0.0).stats
    assert [stats[name] for name in ("explained", "audited", "refuted", "unreduced_share")] == [0, 0, 0, 0.0]


def test_findings_survive_a_resume(run: Any) -> None:
    planted = {"keras:jax": {"dense": bump}}
    first, _ = run(cases=2, planted=planted)
    second, _ = run(cases=2, planted=planted, resume=True)
    assert second.session.findings == first.session.findings
    assert second.facts(0.0).findings == first.facts(0.0).findings


def test_ctrl_c_ends_the_hunt_and_not_the_report(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    judge = Examiner.judge

    def interrupted(self: Examiner, begun: Any, before: Any = ()) -> Any:
        if begun.asks[0].case.seed == 2:
            raise KeyboardInterrupt
        return judge(self, begun, before)

    monkeypatch.setattr(Examiner, "judge", interrupted)
    hunted, results = run(cases=5, planted={"keras:jax": {"dense": bump}})
    assert len(results) == 2
    assert hunted.stop is StopReason.INTERRUPTED
    assert hunted.facts(1.0).notes[0] == "interrupted"
    assert len(hunted.session.findings) == 2, "what was convicted before is confirmed and filed"


def test_a_second_ctrl_c_leaves_what_was_convicted_to_a_resume(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    planted = {"keras:jax": {"dense": bump}}
    with monkeypatch.context() as patched:
        patched.setattr(CampaignSession, "confirm", interrupted)
        hunted, results = run(cases=2, planted=planted)
    assert (results, hunted.session.findings, hunted.stop) == ([], {}, StopReason.INTERRUPTED)
    hunted, results = run(cases=2, planted=planted, resume=True)
    assert (len(results), len(hunted.session.findings)) == (2, 2)


def test_nothing_is_recorded_before_its_findings_are_filed(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[int] = []
    record = CampaignSession.record

    def recorded(self: CampaignSession, engine: str, results: Sequence[Result]) -> None:
        found.extend(len(self.findings) for result in results if any(v.failed for v in result.verdicts))
        record(self, engine, results)

    monkeypatch.setattr(CampaignSession, "record", recorded)
    run(cases=2, planted={"keras:jax": {"dense": bump}})
    assert found == [2, 2]


@pytest.mark.parametrize(
    ("status", "counts"), [(Status.UNSUPPORTED, (0, 3)), (Status.TIMED_OUT, (3, 0))], ids=["unsupported", "hanging"]
)
def test_a_lack_of_support_is_counted_apart_and_once_per_case(run: Any, status: Status, counts: Any) -> None:
    first, _ = run(cases=3, ends={"keras:jax": status})
    again, _ = run(cases=3, ends={"keras:jax": status}, resume=True)
    for hunted in (first, again):
        tally = hunted.tally.engines["small"]
        assert (tally.undecided, tally.unsupported) == counts
        reasons = hunted.tally.unsupported if status is Status.UNSUPPORTED else hunted.tally.undecided
        assert list(reasons.values()) == [3]


class CallingEngine(SmallEngine):
    """Calls of a function, which only their own oracle can judge."""

    oracles = ()

    def _case(self, index: int) -> Case:
        call = ApiCall("keras.ops.tanh", (ArrayArg("x"),))
        return Case(call, Procedure(goal=Goal.CALL), {"x": np.ones(2, np.float32)}, seed=index)


class Calls:
    """A runner that answers calls."""

    def __init__(self, fake: Any) -> None:
        self.targets, self.broken, self.desk = fake.targets, fake.broken, fake.desk
        self.hanging, self.settings = fake.hanging, fake.settings
        self.packing, self.cpu_seconds = fake.packing, fake.cpu_seconds

    def within(self, limit: Any) -> Calls:
        return self

    def run_pairs(self, pairs: Sequence[tuple[Case, str]], **_: Any) -> list[Outcome]:
        return [Outcome(target, Status.COMPLETED, {"0": np.tanh(case.inputs["x"])}) for case, target in pairs]


@pytest.mark.parametrize("oracle", ["", "parity", "cradle"])
@pytest.mark.parametrize("called", [False, True])
def test_cases_that_no_oracle_is_asked_about_are_named(
    tmp_path: Path, fake_runner: Any, monkeypatch: pytest.MonkeyPatch, oracle: str, called: bool
) -> None:
    monkeypatch.setitem(ENGINES._loaded, "small", CallingEngine if called else SmallEngine)
    fake = fake_runner(targets=TARGETS)
    settings = HuntSettings(TARGETS, engines=("small",), store=tmp_path, cases=2, oracle=oracle)
    with open_store(tmp_path) as store:
        campaign = Hunt(settings, Calls(fake) if called else fake, store, silent)  # type: ignore[arg-type]
        campaign.run()
    said = [note for note in campaign.facts(0.0).notes if "other cases of small are judged by other rules" in note]
    assert len(said) == (called and oracle == "cradle")


@pytest.mark.parametrize(("oracle", "judge"), [("muffin", "parity"), ("cradle", "cradle"), ("", "parity")])
def test_the_rule_of_training_steps_leaves_models_to_parity(run: Any, oracle: str, judge: str) -> None:
    campaign, _ = run(cases=1, oracle=oracle)
    assert campaign.tally.judges == {"small": {judge}}
    said = [note for note in campaign.facts(0.0).notes if "muffin judges training steps" in note]
    assert len(said) == (oracle == "muffin")


@pytest.mark.parametrize("name", ["mufin", "layers"])
def test_an_unknown_oracle_is_told_all_that_are_known(tmp_path: Path, name: str) -> None:
    known = "known are audee, cradle, eagle, equivalence, muffin, parity, precision, training_step"
    with pytest.raises(UsageError, match=f"unknown oracle {name!r}.*; {known}"):
        hunt(HuntSettings(TARGETS, oracle=name, store=tmp_path / "store"))
    assert not (tmp_path / "store").exists()


def test_an_unknown_engine_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    settings = HuntSettings(TARGETS, engines=("cradel",), store=tmp_path / "store")
    with pytest.raises(UsageError, match="unknown engine 'cradel' .did you mean cradle.*; known are .*cradle"):
        hunt(settings)
    assert not (tmp_path / "store").exists()


class TrainingEngine(SmallEngine):
    """The same layers, trained."""

    oracles = ("training_step",)

    def _case(self, index: int) -> Case:
        loss = Procedure(goal=Goal.GRADIENTS, loss=Recipe("MeanSquaredError"))
        return replace(super()._case(index), procedure=loss, labels={"relu": np.zeros((4, 3), np.float32)})


class TestRoundsOfSteps:
    """The training steps of a round are examined together."""

    @pytest.fixture
    def batches(self, monkeypatch: pytest.MonkeyPatch) -> list[int]:
        sizes: list[int] = []
        judge, begin = TrainingStep.judge, Examiner.begin

        def begun(self: Examiner, asks: Sequence[Ask]) -> Any:
            sizes.append(len(asks))
            return begin(self, asks)

        def judged(self: TrainingStep, seen: Seen) -> Judged:
            if seen.case.seed == 3:
                raise DataError("this one is too much")
            return judge(self, seen)

        monkeypatch.setattr(Examiner, "begin", begun)
        monkeypatch.setattr(TrainingStep, "judge", judged)
        monkeypatch.setitem(ENGINES._loaded, "small", TrainingEngine)
        return sizes

    def test_a_round_at_a_time_and_not_beyond_the_count(self, run: Any, batches: list[int]) -> None:
        _, results = run(cases=3)
        assert (batches, len(results)) == ([2, 1], 3)

    def test_what_is_known_is_not_examined_again(self, run: Any, batches: list[int]) -> None:
        run(cases=1)
        _, results = run(cases=2, resume=True)
        assert (batches, [result.index for result in results]) == ([1, 1], [0, 1])

    def test_what_our_own_code_cannot_examine_is_that_cases_answer(self, run: Any, batches: list[int]) -> None:
        hunted, results = run(cases=6)
        assert batches == [2, 2, 2]
        reasons = [next((v.reason for v in result.verdicts if "could not" in v.reason), "") for result in results]
        assert reasons == [""] * 3 + ["could not be examined: DataError: this one is too much"] + [""] * 2
        assert dict(hunted.tally.undecided)[reasons[3]] == 1


def test_single_cases_beside_networks_are_counted_at_the_top(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SmallEngine, "tables", lambda self: {"loss_cases": 4})
    monkeypatch.setattr(ENGINES, "_ours", ENGINES._ours | {"small"})
    hunted, _ = run(cases=1)
    facts = hunted.facts(0.0)
    assert (facts.stats["loss_cases"], facts.stats["metric_cases"]) == (4, 0)
    assert facts.stats["engine_tables"] == {"small": {"loss_cases": 4}}
    assert facts.engine_tables == {}


def test_tables_of_somebody_elses_engine_are_shown_as_they_are(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever its tables are called: ours are counted by their names, and his mean what he says."""
    monkeypatch.setattr(SmallEngine, "tables", lambda self: {"loss_cases": {"first": 4}})
    hunted, _ = run(cases=1)
    facts = hunted.facts(0.0)
    assert facts.stats["loss_cases"] == 0
    assert facts.engine_tables == {"small": {"loss_cases": {"first": 4}}}


def test_an_engine_of_single_calls_is_given_the_libraries_too() -> None:
    """In a hunt Predoo's subject is the libraries themselves, not only what Keras makes of them."""
    setup = Setup(0, ("keras:torch", "torch:eager"), traits_of(("keras:torch", "torch:eager")))
    assert calls_functions(PredooEngine)
    assert {ask.targets for ask in PredooEngine(setup).ask()} == {("keras:torch", "torch:eager")}
    assert not calls_functions(CradleEngine)


def test_libraries_are_whoever_calls_their_own_functions_as_they_are() -> None:
    found = native_libraries(("keras:torch",))
    assert set(found) <= {"tensorflow:eager", "torch:eager", "jax:eager"}
    assert native_libraries(found) == []
