"""The hunt's loop with a small engine and fake targets: exact counts, resumes, findings once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tensorparity.campaign.hunt import Hunt, HuntSettings, StopReason, hunt, model_oracle
from tensorparity.campaign.stages import StepExaminer
from tensorparity.campaign.stepped import Stepped

from tensorparity.campaign.events import silent
from tensorparity.campaign.reducing import ReducingSettings
from tensorparity.core.arrays import Array
from tensorparity.core.case import ApiCall, Case
from tensorparity.core.errors import DataError, UsageError
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.outcome import Status
from tensorparity.core.procedure import Goal, Procedure, Recipe
from tensorparity.core.verdict import Judgement, Verdict
from tensorparity.engines.base import ENGINES
from tensorparity.operators.evaluate import draw_weights
from tensorparity.oracles.pair import judge_parity
from tensorparity.store.database import Result, open_store
from tensorparity.targets.faults import Fault
from tensorparity.targets.runner import RunnerSettings

TARGETS = ("keras:jax", "keras:tensorflow", "keras:torch")


class SmallEngine:
    """Two dense layers per round; what it learns goes into the next round, so that order shows."""

    name = "small"
    round_size = 2

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._learned: list[int] = []

    def propose(self, round_index: int) -> Sequence[Case]:
        return [self._case(round_index * 2 + position) for position in range(2)]

    def learn(self, round_index: int, verdicts: Sequence[Sequence[Verdict]]) -> None:
        self._learned += [sum(verdict.judgement is Judgement.PASS for verdict in group) for group in verdicts]

    def _case(self, index: int) -> Case:
        build = GraphBuilder(f"small{index % 2}")
        graph = build.build(build.add("Dense", build.input("x", (4,)), name="dense", units=3))
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
            return campaign, store.results(campaign._campaign, "small")

    return hunted


def bump(array: Array) -> Array:
    return array + np.float32(0.1)


@pytest.mark.parametrize("cases", [0, 1, 2, 5])
def test_a_count_is_exact(run: Any, cases: int) -> None:
    hunted, results = run(cases=cases)
    assert [result.index for result in results] == list(range(cases))
    assert hunted.tallies["small"].cases == cases
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
        assert hunted.tallies["small"].resumed == cut


def test_without_resume_a_new_campaign_begins(run: Any) -> None:
    first, _ = run(cases=2)
    second, results = run(cases=2)
    assert first._campaign != second._campaign
    assert second.tallies["small"].resumed == 0
    assert len(results) == 2


@pytest.mark.parametrize("change", [{"seed": 1}, {"oracle": "cradle"}], ids=["seed", "oracle"])
def test_another_hunt_is_not_resumed(run: Any, change: dict[str, Any]) -> None:
    run(cases=2)
    hunted, _ = run(cases=2, resume=True, **change)
    assert hunted.tallies["small"].resumed == 0


def test_a_fault_that_changed_under_its_name_is_not_resumed(run: Any) -> None:
    one, other = (RunnerSettings(faults={"keras:jax": Fault("f.py", source)}) for source in ("a = 1", "a = 2"))
    run(cases=2, runner=one)
    assert run(cases=2, runner=one, resume=True)[0].tallies["small"].resumed == 2
    assert run(cases=2, runner=other, resume=True)[0].tallies["small"].resumed == 0


def test_other_versions_are_not_resumed(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run(cases=2)
    assert run(cases=2, resume=True, circumstances="fake 1.1")[0].tallies["small"].resumed == 0
    assert run(cases=2, resume=True)[0].tallies["small"].resumed == 2
    monkeypatch.setattr("tensorparity.campaign.hunt.__version__", "999")
    assert run(cases=2, resume=True)[0].tallies["small"].resumed == 0


def test_verdicts_are_recorded_in_case_order(run: Any) -> None:
    _, results = run(cases=3, planted={"keras:jax": {"dense": bump}})
    for result in results:
        assert [verdict.judgement.value for verdict in result.verdicts] == ["fail", "fail", "pass"]


def test_one_defect_of_one_model_is_one_finding_with_a_case_file(run: Any, tmp_path: Path) -> None:
    hunted, _ = run(cases=6, planted={"keras:jax": {"dense": bump}})
    assert len(hunted.findings) == 2  # small0 and small1
    for finding in hunted.findings.values():
        assert finding.diagnosis.suspects == ("keras:jax",)
        assert finding.versions["keras:jax"] == {"fake": "1.0"}
        assert (tmp_path / "store" / str(finding.case)).is_file()


def test_what_reduction_shows_to_be_one_defect_is_one_finding(run: Any) -> None:
    planted, reducing = {"keras:jax": {"dense": bump}}, ReducingSettings(scripts=False)
    hunted, _ = run(cases=6, planted=planted, reducing=reducing)
    (finding,) = hunted.findings.values()
    again = hunted.facts(0.0).stats["again"]
    assert (list(again), again[finding.signature] > 0) == ([finding.signature], True)
    assert not hunted.distinct.is_merged(finding.id)
    resumed, _ = run(cases=8, planted=planted, reducing=reducing, resume=True)
    assert list(resumed.findings) == [finding.id]


def test_findings_survive_a_resume(run: Any) -> None:
    planted = {"keras:jax": {"dense": bump}}
    first, _ = run(cases=2, planted=planted)
    second, _ = run(cases=2, planted=planted, resume=True)
    assert second.findings == first.findings
    assert second.facts(0.0).findings == first.facts(0.0).findings


def test_ctrl_c_ends_the_hunt_and_not_the_report(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    examine = Hunt._examine

    def interrupted(self: Hunt, engine: Any, index: int, *rest: Any) -> Any:
        if index == 2:
            raise KeyboardInterrupt
        return examine(self, engine, index, *rest)

    monkeypatch.setattr(Hunt, "_examine", interrupted)
    hunted, results = run(cases=5)
    assert len(results) == 2
    assert hunted.stop is StopReason.INTERRUPTED
    assert hunted.facts(1.0).notes[0] == "interrupted"


@pytest.mark.parametrize(
    ("status", "counts"), [(Status.UNSUPPORTED, (0, 3)), (Status.TIMED_OUT, (3, 0))], ids=["unsupported", "hanging"]
)
def test_a_lack_of_support_is_counted_apart_and_once_per_case(run: Any, status: Status, counts: Any) -> None:
    first, _ = run(cases=3, ends={"keras:jax": status})
    again, _ = run(cases=3, ends={"keras:jax": status}, resume=True)
    for hunted in (first, again):
        tally = hunted.tallies["small"]
        assert (tally.undecided, tally.unsupported) == counts
        reasons = hunted.unsupported if status is Status.UNSUPPORTED else hunted.undecided
        assert list(reasons.values()) == [3]


@pytest.mark.parametrize("oracle", ["parity", "cradle"])
@pytest.mark.parametrize("called", [False, True])
def test_cases_that_no_oracle_is_asked_about_are_named(
    run: Any, monkeypatch: pytest.MonkeyPatch, oracle: str, called: bool
) -> None:
    def call(engine: SmallEngine, index: int) -> Case:
        return Case(ApiCall("torch.abs", ()), inputs={}, seed=index)

    if called:
        monkeypatch.setattr(SmallEngine, "_case", call)
        monkeypatch.setattr(Hunt, "_examine", lambda *_: Result("small", 0, "digest", ()))
    campaign, _ = run(cases=2, oracle=oracle)
    said = [note for note in campaign._note_on_oracle() if "of small cases are judged by other rules" in note]
    assert len(said) == (called and oracle == "cradle")


def test_the_rule_of_training_steps_leaves_models_to_parity(run: Any) -> None:
    campaign, _ = run(cases=1, oracle="muffin")
    assert campaign._rules.oracle is judge_parity
    assert any("muffin judges training steps" in note for note in campaign._note_on_oracle())


def test_an_unknown_oracle_is_told_all_that_are_known() -> None:
    with pytest.raises(UsageError, match="unknown oracle 'mufin'; known are cradle, muffin, parity"):
        model_oracle("mufin")


def test_an_unknown_engine_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    settings = HuntSettings(TARGETS, engines=("cradel",), store=tmp_path / "store")
    with pytest.raises(UsageError, match="unknown engine 'cradel'; known are .*cradle"):
        hunt(settings)
    assert not (tmp_path / "store").exists()


class TrainingEngine(SmallEngine):
    """The same layers, trained."""

    def _case(self, index: int) -> Case:
        loss = Procedure(goal=Goal.GRADIENTS, loss=Recipe("MeanSquaredError"))
        return replace(super()._case(index), procedure=loss, labels={"dense": np.zeros((4, 3), np.float32)})


class TestRoundsOfSteps:
    """The training steps of a round are examined together."""

    @pytest.fixture
    def batches(self, monkeypatch: pytest.MonkeyPatch) -> list[int]:
        sizes: list[int] = []

        def examine(self: StepExaminer, cases: Sequence[Case]) -> list[Stepped]:
            sizes.append(len(cases))
            if any(case.seed == 3 for case in cases) and len(cases) > 1:
                raise DataError("one of them is too much")
            passed = Verdict(Judgement.PASS, TARGETS[:2], "well")
            return [Stepped(case, {}, verdicts=[passed]) for case in cases]

        monkeypatch.setattr(StepExaminer, "examine", examine)
        monkeypatch.setattr(StepExaminer, "confirm", lambda self: [])
        monkeypatch.setitem(ENGINES._loaded, "small", TrainingEngine)
        return sizes

    def test_a_round_at_a_time_and_not_beyond_the_count(self, run: Any, batches: list[int]) -> None:
        _, results = run(cases=1)
        assert (batches, len(results)) == ([1], 1)

    def test_what_is_known_is_not_examined_again(self, run: Any, batches: list[int]) -> None:
        run(cases=1)
        _, results = run(cases=2, resume=True)
        assert (batches, [result.index for result in results]) == ([1, 1], [0, 1])

    def test_where_a_round_cannot_be_examined_each_case_is_its_own_answer(self, run: Any, batches: list[int]) -> None:
        _, results = run(cases=4)
        assert batches == [2, 2, 1, 1]
        assert [result.verdicts[0].judgement for result in results] == [Judgement.PASS] * 4
