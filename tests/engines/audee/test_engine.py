"""Audee's engine: variants first, then searches on those that did not fail; counted as in section 3.2."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tensorparity.campaign.engine_search import result_of, taught
from tensorparity.core.errors import UsageError
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.oracle import Setup
from tensorparity.core.outcome import Failure, Outcome, Status
from tensorparity.engines.audee.engine import AudeeEngine
from tensorparity.engines.audee.seeds import SeedModel
from tensorparity.engines.audee.settings import AudeeSettings, paper_settings
from tensorparity.operators.reference.evaluate import draw_weights
from tensorparity.targets.catalogue import traits_of
from tensorparity.triage.examine import Examiner

TARGETS = ("fake:a", "fake:b")


def seed_model() -> SeedModel:
    build = GraphBuilder("small")
    x = build.add("Dense", build.input("x", (4,)), name="hidden", units=3, activation="relu")
    graph = build.build(build.add("Softmax", build.add("Dense", x, name="logits", units=2), name="classes"))
    rng = np.random.default_rng(0)
    inputs = {"x": rng.standard_normal((5, 4)).astype(np.float32)}
    return SeedModel("small", graph, draw_weights(graph, rng), inputs)


def run(runner: Any, **settings: object) -> tuple[AudeeEngine, list[str]]:
    """The engine to its end, and the digests of all of its cases."""
    own = {"variants": 4, "invalid": 0.0, "levels": ("input",), "generations": 3, "size": 6, "parents": 2, **settings}
    setup = Setup(0, TARGETS, traits_of(TARGETS), own)
    engine, examiner = AudeeEngine(setup, [seed_model()]), Examiner(runner, setup)
    digests: list[str] = []
    while asks := engine.ask():
        found = examiner.examine(asks)
        digests += [item.case.digest for item in found]
        engine.tell([taught(result_of(place, item)) for place, item in enumerate(found)])
    return engine, digests


def test_variants_then_searches(fake_runner: Any) -> None:
    engine, _ = run(fake_runner(targets=TARGETS))
    tables = engine.tables()
    assert tables["models"]["small"]["valid"] + tables["models"]["small"]["invalid"] == 4
    assert tables["models"]["small"]["inputs"] == 5
    (curve,) = tables["curves"]
    assert [count for count, _ in curve["curve"]] == [6, 10, 14]
    (row,) = tables["table1"]
    assert row["searches"] == {"input": 1, "weight": 0, "input+weight": 0}


def test_the_seed_decides_and_results_alone_teach(fake_runner: Any) -> None:
    assert run(fake_runner(targets=TARGETS))[1] == run(fake_runner(targets=TARGETS))[1]


def test_a_network_with_other_labels_counts_once_however_many_inputs_show_it(fake_runner: Any) -> None:
    turned = {"fake:b": {"logits": lambda y: -y}}
    engine, _ = run(fake_runner(targets=TARGETS, planted=turned))
    (row,) = engine.tables()["table1"]
    assert row["net"] == 4
    assert row["total"] == 4
    assert not engine.tables()["curves"], "what fails is not searched"
    (figure,) = [item for item in engine.tables()["figure4"] if item["inconsistent"]]
    assert figure["cases"] == 4


def test_by_input_search_a_network_counts_once_and_by_weights_every_individual_counts(fake_runner: Any) -> None:
    """Large inputs alone part the targets, so that only the search finds it."""

    def turned(y: Any) -> Any:
        return np.where(np.abs(y).max(axis=-1, keepdims=True) > 30.0, -y, y)

    engine, _ = run(fake_runner(targets=TARGETS, planted={"fake:b": {"logits": turned}}), scale=20.0)
    (row,) = engine.tables()["table1"]
    assert row["net"] == 0
    assert row["input"] == 1
    (curve,) = engine.tables()["curves"]
    assert curve["failures"] > 1


def test_the_first_failure_may_end_a_search(fake_runner: Any) -> None:
    def turned(y: Any) -> Any:
        return np.where(np.abs(y).max(axis=-1, keepdims=True) > 30.0, -y, y)

    runner = fake_runner(targets=TARGETS, planted={"fake:b": {"logits": turned}})
    engine, _ = run(runner, scale=20.0, first_failure=True, generations=50)
    (curve,) = engine.tables()["curves"]
    assert curve["failures"] >= 1
    assert len(curve["curve"]) < 50


def test_nan_is_searched_for_on_each_target(fake_runner: Any) -> None:
    def burst(y: Any) -> Any:
        return np.where(np.abs(y) > 30.0, np.float32(np.nan), y)

    runner = fake_runner(targets=TARGETS, planted={"fake:b": {"logits": burst}})
    engine, _ = run(runner, scale=20.0, goals=("nan",), first_failure=True)
    rows = {row["target"]: row for row in engine.tables()["table3"]}
    assert (rows["fake:a"]["nan"], rows["fake:b"]["nan"]) == (0, 1)
    assert rows["fake:b"]["evaluations"] >= 1


class Refusing:
    """Two targets that refuse whatever they are given, one of them in clear words."""

    targets = TARGETS

    def run_pairs(self, pairs: Any, **how: Any) -> list[Outcome]:
        said = {"fake:a": ("ValueError", "units must be positive"), "fake:b": ("KeyError", "'units'")}
        return [Outcome(target, Status.RAISED, failure=Failure(*said[target])) for _, target in pairs]


def test_how_invalid_values_are_taken_is_counted() -> None:
    engine, _ = run(Refusing(), invalid=1.0)
    tables = engine.tables()
    assert tables["models"]["small"] == {"layers": 3, "inputs": 5, "valid": 0, "invalid": 4}
    assert tables["reactions"] == [
        {"target": "fake:a", "refuses": 4, "raises-raw": 0, "accepts": 0, "dies": 0, "hangs": 0},
        {"target": "fake:b", "refuses": 0, "raises-raw": 4, "accepts": 0, "dies": 0, "hangs": 0},
    ]


def test_every_so_many_variants_are_invalid(fake_runner: Any) -> None:
    setup = Setup(0, TARGETS, traits_of(TARGETS), {"variants": 8, "invalid": 0.25})
    asks = AudeeEngine(setup, [seed_model()]).ask()
    assert [ask.oracles[0] for ask in asks].count("invalid_value") == 2


def test_the_papers_protocol() -> None:
    paper = paper_settings(AudeeSettings())
    assert (paper.variants, paper.searched, paper.inputs, paper.repeats) == (500, 20, 10_000, 5)
    assert paper.first_failure
    assert paper.search_seconds == 1800.0


class Slow:
    """A runner whose targets take so many seconds for each generation, by what they say."""

    def __init__(self, inner: Any, seconds: float) -> None:
        self._inner, self._seconds = inner, seconds

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def run_pairs(self, pairs: Any, **how: Any) -> list[Outcome]:
        return [replace(outcome, seconds=self._seconds) for outcome in self._inner.run_pairs(pairs, **how)]


@pytest.mark.parametrize(("limit", "generations"), [(2.0, 1), (2.5, 2), (100.0, 3), (None, 3)])
def test_a_search_ends_when_its_time_is_used_up(fake_runner: Any, limit: float | None, generations: int) -> None:
    engine, _ = run(Slow(fake_runner(targets=TARGETS), 2.0), search_seconds=limit)
    (curve,) = engine.tables()["curves"]
    assert len(curve["curve"]) == generations


@pytest.mark.parametrize("wrong", [{"levels": ["net?"]}, {"goals": ["speed"]}, {"colour": 1}, {"invalid": 2.0}])
def test_settings_that_there_are_not_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        AudeeSettings.from_mapping(wrong)
