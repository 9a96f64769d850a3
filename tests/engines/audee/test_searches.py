"""What becomes of individuals that fail: judged where users are, else counted by what lies outside of that."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest

from tensorparity.core.case import Case
from tensorparity.core.engine import Result
from tensorparity.core.errors import UsageError
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.oracle import Setup
from tensorparity.engines.audee.engine import AudeeEngine
from tensorparity.engines.audee.planning import Plan, Sound, check_layer
from tensorparity.engines.audee.searches import SearchRun
from tensorparity.engines.audee.seeds import SeedModel
from tensorparity.engines.audee.settings import NAN, AudeeSettings
from tensorparity.engines.audee.tables import AudeeTally
from tensorparity.generators.mutation.variants import Variant
from tensorparity.operators.reference.evaluate import draw_weights
from tensorparity.targets.catalogue import traits_of

TARGET = "keras:torch"


def model() -> SeedModel:
    """A normalization, whose variance a search can make negative, on inputs between -1 and 1."""
    build = GraphBuilder("small")
    x = build.add("BatchNormalization", build.input("x", (4,)), name="bn")
    graph = build.build(build.add("Dense", x, name="logits", units=2))
    rng = np.random.default_rng(0)
    inputs = {"x": rng.uniform(-1.0, 1.0, (50, 4)).astype(np.float32)}
    return SeedModel("small", graph, draw_weights(graph, rng), inputs)


def search(level: str, **settings: object) -> SearchRun:
    own = {"levels": [level], "goals": [NAN], "size": 12, "parents": 2, **settings}
    audee = AudeeSettings.from_mapping(own)
    seed = model()
    plan = Plan(audee, 0, (TARGET,), traits_of((TARGET,)))
    sound = Sound(Variant(seed.graph, seed.weights, 0), set(), {TARGET})
    (run,) = plan.searches(seed, [sound], 0, 0)
    return run


def generation(run: SearchRun, fails: Callable[[Case], bool]) -> int:
    """Have a generation told, in which individuals fail as they are; how many did."""
    run.ask()
    cases = [run.search.individual(row) for row in range(len(run.search.evolution.children))]
    nan = [float(fails(case)) for case in cases]
    run.tell(Result(0, "", measures={"logits-range": {TARGET: [1.0] * len(cases)}, "nan": {TARGET: nan}}))
    return int(sum(nan))


def negative(case: Case) -> bool:
    return bool((case.weights["bn/moving_variance"] < 0).any())


def everything(case: Case) -> bool:
    return True


def table(run: SearchRun) -> dict[str, object]:
    tally = AudeeTally((TARGET,))
    tally.count_search(run)
    (row,) = tally.to_json()["individuals"]  # type: ignore[misc]
    return row  # type: ignore[no-any-return]


def test_a_negative_variance_is_counted_and_nobodys_fault() -> None:
    run = search("weight", scale=2.0)
    failed = sum(generation(run, negative) for _ in range(2))
    assert failed > 0
    assert run.outside["negative variance"] + run.outside["not looked at"] == failed
    assert not run.individuals()
    assert table(run)["judged"] == 0


def test_numbers_that_nobody_has_are_counted_by_what_they_are() -> None:
    inputs, weights = search("input", scale=5.0), search("weight", scale=0.01)
    for run in (inputs, weights):
        generation(run, everything)
    assert inputs.outside["inputs out of range"] >= 7
    assert not weights.outside["inputs out of range"]
    assert not weights.outside["negative variance"]


@pytest.mark.parametrize("level", ["input", "weight", "input+weight"])
def test_a_search_may_be_kept_where_users_are(level: str) -> None:
    run = search(level, scale=5.0, within="data")
    for _ in range(3):
        generation(run, everything)
    data = model().inputs["x"]
    asked = run.individuals()
    assert len(asked) == 3, "what fails there is judged"
    for ask in asked:
        assert data.min() <= ask.case.inputs["x"].min()
        assert ask.case.inputs["x"].max() <= data.max()
        assert (ask.case.weights["bn/moving_variance"] > 0).all()
    counts = table(run)
    outside: dict[str, int] = counts["outside"]  # type: ignore[assignment]
    assert sum(outside.values()) - outside["not looked at"] == 0


@pytest.mark.parametrize(("kept", "judged"), [(0, 0), (3, 3), (7, 7)])
def test_so_many_are_kept_and_the_others_are_counted(kept: int, judged: int) -> None:
    run = search("input", scale=5.0, within="data", kept=kept)
    failed = sum(generation(run, everything) for _ in range(4))
    assert len(run.individuals()) == judged
    counts = table(run)
    assert (counts["failed"], counts["judged"]) == (failed, judged)
    assert counts["dropped"] + sum(counts["outside"].values()) == failed - judged  # type: ignore[attr-defined]


def test_a_generation_that_is_not_completed_is_judged_where_users_are() -> None:
    far, near = search("weight", scale=50.0), search("weight", scale=50.0, within="data")
    for run in (far, near):
        run.ask()
        run.tell(Result(0, ""))
    assert (len(far.individuals()), far.outside["generation not completed"]) == (0, 1)
    assert len(near.individuals()) == 1


@pytest.mark.parametrize(("given", "within"), [({}, "data"), ({"within": "anything"}, "anything")])
def test_a_hunt_stays_where_users_are(given: dict[str, str], within: str) -> None:
    engine = AudeeEngine(Setup(0, (TARGET,), traits_of((TARGET,)), given))
    assert engine._settings.within == within


def test_a_layer_that_there_is_not_is_refused_with_those_that_there_are() -> None:
    for level in ("input", "weight"):
        with pytest.raises(UsageError, match="no layer 'typo'; there are bn, logits"):
            check_layer(model(), AudeeSettings(levels=(level,), watch="typo"))
        check_layer(model(), AudeeSettings(levels=(level,), watch="bn"))
    with pytest.raises(UsageError, match="no layer 'typo'"):
        search("input", watch="typo")


def test_an_embedding_is_no_fitness_layer_where_it_is_moved() -> None:
    build = GraphBuilder("text")
    y = build.add("Embedding", build.input("words", (3,), "int32"), name="embed", input_dim=9, output_dim=2)
    graph = build.build(build.add("Dense", build.add("Flatten", y), name="logits", units=2))
    weights = draw_weights(graph, np.random.default_rng(0))
    text = SeedModel("text", graph, weights, {"words": np.array([[1, 2, 3]], np.int32)})
    check_layer(text, AudeeSettings(levels=("weight",), watch="embed"))
    with pytest.raises(UsageError, match="no layer 'embed'"):
        check_layer(text, AudeeSettings(levels=("input", "weight"), watch="embed"))


def planned(levels: tuple[str, ...], goals: tuple[str, ...] = ("inconsistency",)) -> dict[tuple[str, ...], list[str]]:
    """By pair or target, the levels on which it is searched."""
    settings, seed = AudeeSettings(levels=levels, goals=goals), model()
    plan = Plan(settings, 0, MIXED, traits_of(MIXED))
    pairs = set(itertools.combinations(MIXED, 2))
    found: dict[tuple[str, ...], list[str]] = {}
    for run in plan.searches(seed, [Sound(Variant(seed.graph, seed.weights, 0), pairs, set(MIXED))], 0, 0):
        found.setdefault(run.targets, []).append(run.search.level)
    assert plan.weightless == (["onnxruntime"] if levels != ("input",) or goals == ("nan",) else [])
    return found


MIXED = ("keras:torch", "onnxruntime")


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        (("input",), ["input"]),
        (("input", "weight"), ["input"]),
        (("input+weight",), ["input"]),
        (("weight",), []),
    ],
)
def test_where_weights_are_part_of_the_model_inputs_are_searched(levels: tuple[str, ...], expected: list[str]) -> None:
    assert planned(levels).get(MIXED, []) == expected


def test_nan_is_searched_for_on_every_target() -> None:
    found = planned(("input+weight",), ("nan",))
    assert found == {("keras:torch",): ["input+weight"], ("onnxruntime",): ["input"]}


def test_nan_is_counted_by_network_and_time_as_the_mean_of_all_repeats() -> None:
    """Two networks, of which one has NaN in two repeats of three, the other in none."""
    tally = AudeeTally((TARGET,))
    tally.begin(model())
    for variant, failed_after in (("one", 2.0), ("one", 4.0), ("one", None), *(("other", None),) * 3):
        run = search("weight")
        run.model, run.variant = "small", variant
        run.failed_at, run.failed_after = (None if failed_after is None else 10), failed_after
        tally.count_search(run)
    (row,) = tally.to_json()["table3"]  # type: ignore[misc]
    assert (row["searched"], row["repeats"], row["nan"], row["seconds"]) == (2, 3, pytest.approx(2 / 3), 3.0)  # type: ignore[index]


def test_the_time_until_nan_is_what_the_target_worked() -> None:
    run = search("input", scale=5.0)
    assert run.ask().oracles == ("population", "elapsed")
    cases = len(run.search.evolution.children)
    for nan in (0.0, 1.0, 1.0):
        measures = {"logits-range": {TARGET: [1.0] * cases}, "nan": {TARGET: [nan] * cases}, "elapsed": {TARGET: [1.5]}}
        run.tell(Result(0, "", measures=measures))
        run.ask()
        cases = len(run.search.evolution.children)
    assert (run.failed_after, run.spent) == (3.0, 4.5)
