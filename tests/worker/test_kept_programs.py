"""Programs that a Keras worker keeps: a run leaves nothing behind, and draws by its own seed alone."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tensorparity.core.case import Case, ModelFile
from tensorparity.core.outcome import Outcome, Status
from tensorparity.core.procedure import Goal, Mode, Procedure, Recipe
from tensorparity.targets.runner import LocalRunner, open_runner

X = np.random.default_rng(0).standard_normal((8, 4)).astype(np.float32)
BACKENDS = [pytest.param(name, marks=getattr(pytest.mark, name)) for name in ("tensorflow", "jax", "torch")]


@pytest.fixture(scope="module", params=BACKENDS)
def runner(request: pytest.FixtureRequest) -> Iterator[LocalRunner]:
    with open_runner([f"keras:{request.param}"]) as opened:
        yield opened


@pytest.fixture(scope="module")
def save(save_keras: Callable[[str, str], Path]) -> Callable[[str, str], ModelFile]:
    def saved(name: str, source: str) -> ModelFile:
        path = save_keras(name, source)
        return ModelFile(str(path), hashlib.sha256(path.read_bytes()).hexdigest())

    return saved


@pytest.fixture(scope="module")
def normalized(save: Any) -> ModelFile:
    return save(
        "normalized.keras",
        """
        x = keras.Input((4,), name="x")
        h = keras.layers.BatchNormalization(name="norm")(keras.layers.Dense(6, name="dense")(x))
        h = keras.layers.Dropout(0.5, name="drop")(h)
        h = keras.layers.GaussianNoise(0.1, seed=7, name="noise")(h)
        model = keras.Model(x, keras.layers.Dense(3, name="last")(h))
        """,
    )


def run(runner: LocalRunner, *cases: Case, fresh: bool = False) -> list[Outcome]:
    outcomes = runner.run_pairs([(case, runner.targets[0]) for case in cases], fresh=fresh)
    for outcome in outcomes:
        assert outcome.completed, outcome.failure
    return outcomes


def assert_same(one: Outcome, other: Outcome) -> None:
    """Equal to the last bit."""
    one_arrays, other_arrays = one.arrays(), other.arrays()
    assert sorted(one_arrays) == sorted(other_arrays)
    for name, array in one_arrays.items():
        np.testing.assert_array_equal(array, other_arrays[name], err_msg=name)


@pytest.fixture(scope="module")
def cases(normalized: ModelFile) -> dict[str, Case]:
    inputs, loss = {"x": X}, Recipe("MeanSquaredError", {})
    labels = {"last": np.zeros((8, 3), np.float32)}
    replayed = {"norm#0/0": np.repeat(X, 2, axis=1)[:, :6], "drop#0/0": np.ones((8, 6), np.float32)}
    replay = Procedure(Goal.REPLAY, training=True, nodes=("norm#0", "drop#0"))
    update = Procedure(Goal.UPDATE, training=True, loss=loss, optimizer=Recipe("SGD", {"learning_rate": 0.1}))
    return {
        "predict": Case(normalized, Procedure(), inputs),
        "trace": Case(normalized, Procedure(trace=True, training=True), inputs),
        "eager": Case(normalized, Procedure(mode=Mode.EAGER, training=True), inputs),
        "replay": Case(normalized, replay, replayed),
        "update": Case(normalized, update, inputs, labels),
    }


def test_runs_in_any_order_give_the_same(runner: LocalRunner, cases: dict[str, Case]) -> None:
    names = list(cases)
    first = dict(zip(names, run(runner, *cases.values()), strict=True))
    backwards = dict(zip(reversed(names), run(runner, *reversed(cases.values())), strict=True))
    for name in names:
        assert_same(first[name], backwards[name])
    # The random layers did draw, and the statistics would have moved.
    assert not np.array_equal(first["trace"].outputs["last"], first["predict"].outputs["last"])
    assert (first["replay"].trace.nodes["drop#0"] == 0).any()


def test_a_fresh_worker_draws_the_same(runner: LocalRunner, cases: dict[str, Case]) -> None:
    (fresh,) = run(runner, cases["trace"], fresh=True)
    assert_same(run(runner, cases["trace"])[0], fresh)


def test_another_seed_draws_other_numbers(runner: LocalRunner, cases: dict[str, Case]) -> None:
    trace = cases["trace"]
    other = Case(trace.subject, trace.procedure, trace.inputs, seed=3)
    one, two = run(runner, trace, other)
    assert not np.array_equal(one.trace.nodes["drop#0"], two.trace.nodes["drop#0"])


def test_states_of_recurrent_layers_are_put_back(runner: LocalRunner, save: Any) -> None:
    file = save(
        "stateful.keras",
        """
        x = keras.Input(batch_shape=(2, 3, 4), name="x")
        model = keras.Model(x, keras.layers.SimpleRNN(3, stateful=True, name="rnn")(x))
        """,
    )
    case = Case(file, Procedure(batch_size=2), {"x": np.ones((2, 3, 4), np.float32)})
    one, two = run(runner, case, case)
    assert_same(one, two)


def test_outputs_in_a_dictionary_keep_their_names(runner: LocalRunner, save: Any) -> None:
    file = save(
        "dictionary.keras",
        """
        x = keras.Input((4,), name="x")
        b, a = keras.layers.Dense(3, name="layer_b")(x), keras.layers.Dense(3, name="layer_a")(x)
        model = keras.Model(x, {"b": b, "a": a})
        """,
    )
    predicted, traced = run(runner, Case(file, Procedure(), {"x": X}), Case(file, Procedure(trace=True), {"x": X}))
    assert sorted(predicted.outputs) == ["layer_a", "layer_b"]
    for name, output in predicted.outputs.items():
        np.testing.assert_allclose(output, traced.trace.nodes[f"{name}#0"], rtol=1e-5, atol=1e-6)


def test_a_file_that_has_changed_is_not_loaded(runner: LocalRunner, normalized: ModelFile, tmp_path: Path) -> None:
    path = tmp_path / "changed.keras"
    path.write_bytes(Path(normalized.path).read_bytes() + b"\0")
    changed = ModelFile(str(path), hashlib.sha256(b"what was inspected").hexdigest())
    (outcome,) = runner.run_pairs([(Case(changed, Procedure(), {"x": X}), runner.targets[0])])
    assert outcome.status is Status.UNSUPPORTED
    assert outcome.failure is not None
    assert outcome.failure.message.startswith("the file has changed since it was inspected")
