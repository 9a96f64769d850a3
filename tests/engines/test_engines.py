"""What every engine promises: rounds of a fixed size that depend on the seed alone."""

from __future__ import annotations

import pytest

from tensorparity.core.graph import LayerGraph
from tensorparity.core.verdict import Judgement, Verdict
from tensorparity.engines.base import ENGINES
from tensorparity.engines.cradle import CradleEngine
from tensorparity.engines.muffin import MuffinEngine
from tensorparity.generators.networks.networks import NetworkSettings
from tensorparity.zoo.entries import ARCHITECTURES
from tensorparity.zoo.series import sine_wave

PASS, FAIL = (Verdict(judgement, ("a", "b"), "said so") for judgement in (Judgement.PASS, Judgement.FAIL))


def digests(name: str, seed: int, rounds: int = 2, verdict: Verdict = PASS) -> list[str]:
    engine = ENGINES.get(name)(seed)
    found = []
    for index in range(rounds):
        cases = engine.propose(index)
        found += [case.digest for case in cases]
        engine.learn(index, [[verdict]] * len(cases))
    return found


@pytest.mark.parametrize("name", ENGINES.names())
class TestEveryEngine:
    def test_rounds_have_the_promised_size(self, name: str) -> None:
        engine = ENGINES.get(name)(0)
        assert engine.name == name
        assert len(engine.propose(0)) == engine.round_size > 0

    def test_the_seed_decides(self, name: str) -> None:
        assert digests(name, 1) == digests(name, 1)
        assert not set(digests(name, 1, rounds=1)) & set(digests(name, 2, rounds=1))

    def test_no_case_comes_twice(self, name: str) -> None:
        found = digests(name, 0)
        assert len(set(found)) == len(found)


def test_cradle_goes_through_the_zoo_whatever_was_found() -> None:
    cases = CradleEngine(0).propose(3)
    assert [case.subject.name for case in cases if isinstance(case.subject, LayerGraph)] == [
        ARCHITECTURES[name]().name for name in ARCHITECTURES
    ]
    assert digests("cradle", 0, verdict=PASS) == digests("cradle", 0, verdict=FAIL)


def test_cradle_can_start_at_any_round() -> None:
    assert [case.digest for case in CradleEngine(0).propose(1)] == digests("cradle", 0)[CradleEngine.round_size :]


def test_muffin_takes_real_samples_of_the_data_sets_it_is_asked_for():
    engine = MuffinEngine(0, NetworkSettings(data=("sine-wave",), max_vertices=3, varied=False))
    data = sine_wave().validation
    rows = {row.tobytes() for row in data.inputs["series"]}
    networks = [network for _ in range(2) for network in engine.networks()]
    for network in networks:
        assert all(row.tobytes() in rows for row in network.case.inputs["x0"])
    labels = {label for network in networks for array in network.case.labels.values() for label in array.ravel()}
    assert labels & set(data.labels.ravel()), "the next value of the wave"
    assert "sine waves" in engine.samples["sine-wave"]


def test_a_data_set_that_cannot_be_had_gives_its_shape_and_says_so(monkeypatch, tmp_path):
    monkeypatch.setenv("KERAS_HOME", str(tmp_path))
    engine = MuffinEngine(0, NetworkSettings(data=("cifar10", "fashion-mnist", "imagenet"), unit=True))
    assert {network.case.inputs["x0"].shape[1:] for network in engine.networks()} == {
        (32, 32, 3),
        (28, 28, 1),
        (224, 224, 3),
    }
    for name in ("cifar10", "fashion-mnist"):
        assert engine.samples[name].startswith("by shape alone: ")
    assert engine.samples["imagenet"] == "by shape alone"
