"""The Muffin engine: what it asks for, what it makes of what it is told, and what it can be set to."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tensorparity.core.engine import Ask, Result
from tensorparity.core.errors import UsageError
from tensorparity.core.oracle import Setup
from tensorparity.core.procedure import Goal
from tensorparity.core.verdict import Judgement, Stage, Verdict
from tensorparity.engines.muffin.engine import MuffinEngine, MuffinSettings, goal_of
from tensorparity.generators.networks.palettes import DATA
from tensorparity.oracles.step_facts import STEP, Known, StepFacts
from tensorparity.targets.catalogue import traits_of
from tensorparity.zoo.series import sine_wave

TARGETS = ("keras:tensorflow", "keras:jax", "onnxruntime")
SMALL = {"max_vertices": 4, "single_cases": []}


def engine(seed: int = 0, **settings: object) -> MuffinEngine:
    return MuffinEngine(Setup(seed, TARGETS, traits_of(TARGETS), {**SMALL, **settings}))


def digests(asks: Sequence[Ask]) -> list[str]:
    return [ask.case.digest for ask in asks]


def result(index: int, ask: Ask, facts: StepFacts) -> Result:
    return Result(index, ask.case.digest, facts={STEP: facts.to_json()})


WELL = StepFacts(statuses=dict.fromkeys(TARGETS, "completed"))


class TestRounds:
    def test_a_round_is_eight_networks_and_a_few_single_cases(self) -> None:
        asks = engine(single_cases=["losses", "metrics", "functions", "reloads"]).ask()
        counted = [ask for ask in asks if ask.counted]
        assert len(counted) == 8
        assert len(asks) - len(counted) == 4 + 2 + 4 + 1 + 4, "with what is ruled out"
        assert {ask.oracles for ask in counted} == {("training_step",)}
        assert {(ask.oracles, ask.targets) for ask in asks if not ask.counted} == {((), ())}

    def test_single_cases_go_out_with_a_round_that_is_cut(self) -> None:
        kinds = [ask.counted for ask in engine(single_cases=["metrics"]).ask()]
        assert kinds == sorted(kinds)

    def test_the_seed_decides_and_nothing_that_is_told(self) -> None:
        told, untold = engine(3), engine(3)
        for _ in range(2):
            asks = told.ask()
            assert digests(asks) == digests(untold.ask())
            told.tell([result(index, ask, WELL) for index, ask in enumerate(asks)])
        assert not set(digests(engine(4).ask())) & set(digests(engine(3).ask()))

    def test_networks_may_be_left_to_those_who_can_train(self) -> None:
        assert {ask.targets for ask in engine(only_trainable=False).ask()} == {()}
        assert {ask.targets for ask in engine().ask()} == {TARGETS[:2]}

    def test_some_run_what_is_alone_only(self) -> None:
        asks = engine(only_trainable=False, only_alone=TARGETS[1:2], single_cases=["metrics"]).ask()
        assert {ask.targets for ask in asks if ask.counted} == {(TARGETS[0], TARGETS[2])}
        assert {ask.targets for ask in asks if not ask.counted} == {()}
        assert {ask.targets for ask in engine(only_trainable=False, only_alone=TARGETS[1:]).ask()} == {()}, "too few"


class TestTold:
    def test_what_was_run_is_covered_and_counted(self) -> None:
        own = engine()
        asks = own.ask()
        own.tell([result(index, ask, WELL) for index, ask in enumerate(asks)])
        tables = own.tables()
        assert tables["models"] == 8
        assert tables["coverage"]["policies"]["used"] >= 1
        assert tables["coverage"]["layers"]["used"] > 0
        assert sum(tables["tables"]["networks"].values()) == 8
        assert {ask.part for ask in asks} == set(tables["tables"]["networks"])
        covered = tables["coverage"]["layers"]
        assert f"{covered['used']} of {covered['declared']} layers" in own.standing().detail

    def test_what_nobody_ran_is_not_covered_but_the_layer_that_is_to_blame(self) -> None:
        own = engine(layers=["Dense", "ELU"])
        asks = own.ask()
        raised = dict.fromkeys(TARGETS, "raised")
        own.tell([result(index, ask, StepFacts(statuses=raised)) for index, ask in enumerate(asks)])
        assert own.tables()["coverage"]["layers"]["used"] == 0
        asks = own.ask()
        guilty = StepFacts(statuses=raised, convicted=("keras.layers.ELU",))
        own.tell([result(index, ask, guilty) for index, ask in enumerate(asks)])
        assert own.tables()["coverage"]["layers"]["used"] == 1

    def test_of_a_round_that_was_cut_short_what_was_run(self) -> None:
        own = engine()
        asks = own.ask()
        own.tell([result(index, ask, WELL) for index, ask in enumerate(asks[:3])])
        assert own.tables()["models"] == 3

    def test_reasons_count_once_and_what_is_known_each_time(self) -> None:
        own = engine()
        asks = own.ask()
        open_ = [Verdict(Judgement.UNDECIDED, pair, "who knows") for pair in (TARGETS[:2], TARGETS[1:])]
        known = Known(("forward", "keras.layers.ELU", "keras:jax", "{}"), Stage.FORWARD, "keras.layers.ELU", ())
        facts = StepFacts(statuses=WELL.statuses, known=(known, known)).to_json()
        own.tell([Result(0, asks[0].case.digest, tuple(open_), facts={STEP: facts})])
        tables = own.tables()
        assert tables["undecided_reasons"] == {"who knows": 1}
        assert tables["again"] == {"forward/keras.layers.ELU/keras:jax": 2}


class TestSettings:
    def test_stages_say_how_far_networks_are_run(self) -> None:
        assert goal_of([Stage.FORWARD]) is Goal.FORWARD
        assert goal_of([Stage.BACKWARD]) is Goal.GRADIENTS
        assert goal_of([Stage.FORWARD, Stage.UPDATE]) is Goal.UPDATE
        assert {ask.case.procedure.goal for ask in engine(stages=["build", "forward"]).ask()} == {Goal.FORWARD}

    @pytest.mark.parametrize("settings", [{"stages": ["sideways"]}, {"single_cases": ["cats"]}, {"colour": "red"}])
    def test_what_there_is_not(self, settings: dict[str, object]) -> None:
        with pytest.raises(UsageError, match="known are"):
            engine(**settings)


class TestData:
    def test_real_samples_of_the_data_sets_that_are_asked_for(self) -> None:
        own = engine(data=["sine-wave"], max_vertices=3, varied=False)
        data = sine_wave().validation
        rows = {row.tobytes() for row in data.inputs["series"]}
        cases = [ask.case for _ in range(2) for ask in own.ask()]
        for case in cases:
            assert all(row.tobytes() in rows for row in case.inputs["x0"])
        labels = {label for case in cases for array in case.labels.values() for label in array.ravel()}
        assert labels & set(data.labels.ravel()), "the next value of the wave"
        assert "sine waves" in own.tables()["samples"]["sine-wave"]

    def test_a_data_set_that_cannot_be_had_gives_its_shape_and_says_so(self, monkeypatch, tmp_path) -> None:
        monkeypatch.setenv("KERAS_HOME", str(tmp_path))
        own = engine(data=["cifar10", "fashion-mnist", "imagenet"], unit=True)
        shapes = {ask.case.inputs["x0"].shape[1:] for ask in own.ask()}
        assert shapes == {(32, 32, 3), (28, 28, 1), (224, 224, 3)}
        for name in ("cifar10", "fashion-mnist"):
            assert own.tables()["samples"][name].startswith("by shape alone: ")
        assert own.tables()["samples"]["imagenet"] == "by shape alone"


def test_facts_go_to_json_and_back() -> None:
    known = Known(("ending", "", "a"), Stage.BUILD, "", ("a",))
    facts = StepFacts({"a": "raised"}, {"b": "no"}, True, known=(known,), open=(("loss", "x"),), settled=("y",))
    assert StepFacts.from_json(facts.to_json()) == facts


class TestTheProtocolOfThePaper:
    """``--protocol paper``: the paper's networks, data, stages and nothing beside them."""

    @pytest.fixture(scope="class")
    @staticmethod
    def asks() -> list[Ask]:
        made = MuffinEngine(Setup(0, TARGETS, traits_of(TARGETS), {"protocol": "paper", "max_vertices": 4}))
        return [ask for _ in range(2) for ask in made.ask()]

    def test_nothing_but_networks_that_train_in_float32(self, asks: list[Ask]) -> None:
        assert len(asks) == 16
        assert all(ask.counted for ask in asks)
        procedures = [ask.case.procedure for ask in asks]
        assert {(p.goal, p.training, p.dtype) for p in procedures} == {(Goal.GRADIENTS, True, None)}

    def test_its_six_data_sets_in_turn(self, asks: list[Ask]) -> None:
        shapes = [next(iter(ask.case.inputs.values())).shape[1:] for ask in asks]
        mnist, cifar, imagenet, sine, stock = (28, 28, 1), (32, 32, 3), (224, 224, 3), (24, 1), (20, 1)
        turn = [mnist, cifar, imagenet, sine, stock, mnist]
        assert shapes == (turn * 3)[:16]

    def test_every_target_votes(self, asks: list[Ask]) -> None:
        assert {ask.targets for ask in asks} == {()}

    def test_what_is_said_besides_goes_before_it(self) -> None:
        settings = MuffinSettings.from_mapping({"protocol": "paper", "data": ["mnist"], "training": False})
        assert (settings.networks.data, settings.networks.training, settings.single_cases) == (("mnist",), False, ())

    def test_there_is_no_other(self) -> None:
        with pytest.raises(UsageError, match="unknown protocol 'lemon'; known is paper"):
            MuffinSettings.from_mapping({"protocol": "lemon"})


def test_samples_are_real_by_default_where_a_package_carries_them() -> None:
    assert engine().tables()["samples"]["sine-wave"].startswith("pieces of seeded sine waves")
    assert set(engine().tables()["samples"]) == {name for name, data in DATA.items() if data.share}
