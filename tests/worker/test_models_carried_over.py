"""Keras models exported, fed by data sets, compiled whole, and made by a program: by the libraries themselves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from tensorparity.core.call import ApiCall, ArrayArg
from tensorparity.core.case import Case
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.outcome import Outcome, Status
from tensorparity.core.procedure import Goal, Procedure, Recipe
from tensorparity.core.runner import run_case
from tensorparity.targets.runner import LocalRunner, open_runner

BACKENDS = [pytest.param(name, marks=getattr(pytest.mark, name)) for name in ("tensorflow", "torch")]
FORMS = {"tensorflow": ("onnx", "tf_saved_model", "litert"), "torch": ("onnx", "torch")}


@pytest.fixture(scope="module", params=BACKENDS)
def runner(request: pytest.FixtureRequest) -> Iterator[LocalRunner]:
    with open_runner([f"keras:{request.param}"]) as opened:
        yield opened


def network() -> Case:
    builder = GraphBuilder()
    rng = np.random.default_rng(0)
    a, b = builder.input("a", (4,)), builder.input("b", (3,))
    y = builder.add("Dense", builder.add("Concatenate", a, b, name="both"), units=2, name="y", activation="tanh")
    z = builder.add("ReLU", a, name="z")
    weights = {"y/kernel": rng.standard_normal((7, 2)), "y/bias": np.array([0.5, -0.5])}
    return Case(
        builder.build(y, z),
        inputs={name: rng.standard_normal((5, size)).astype(np.float32) for name, size in (("a", 4), ("b", 3))},
        weights={name: array.astype(np.float32) for name, array in weights.items()},
    )


def did(runner: LocalRunner, case: Case, **changed: object) -> Outcome:
    procedure = replace(case.procedure, **changed)  # type: ignore[arg-type]
    return run_case(runner, replace(case, procedure=procedure), runner.targets)[runner.targets[0]]


def assert_close(one: Outcome, other: Outcome) -> None:
    assert other.completed, other.failure
    assert list(one.outputs) == list(other.outputs)
    for name, array in one.outputs.items():
        np.testing.assert_allclose(other.outputs[name], array, rtol=1e-5, atol=1e-6)


def test_a_model_is_exported_in_the_formats_of_its_backend(runner: LocalRunner) -> None:
    case, backend = network(), runner.targets[0].partition(":")[2]
    plain = did(runner, case)
    for form in FORMS[backend]:
        assert_close(plain, did(runner, case, reload=True, variant=f"export {form}"))
    for form in set(FORMS["tensorflow"] + FORMS["torch"]) - set(FORMS[backend]):
        assert did(runner, case, reload=True, variant=f"export {form}").status is Status.UNSUPPORTED


def test_a_model_is_fed_by_data_sets(runner: LocalRunner) -> None:
    case = network()
    plain = did(runner, case, batch_size=2)
    for feed in ("PyDataset", "generator"):
        assert_close(plain, did(runner, case, batch_size=2, variant=f"fed {feed}"))
    assert did(runner, case, batch_size=2, variant="fed nothing").status is Status.UNSUPPORTED


def test_a_trained_model_is_evaluated_on_what_feeds_it(runner: LocalRunner) -> None:
    builder = GraphBuilder()
    graph = builder.build(builder.add("Dense", builder.input("a", (4,)), units=2, name="y"))
    x = np.random.default_rng(1).standard_normal((6, 4)).astype(np.float32)
    procedure = Procedure(
        goal=Goal.FIT, steps=1, training=True, loss=Recipe("MeanSquaredError"), optimizer=Recipe("SGD"), batch_size=2
    )
    weights = {"y/kernel": np.ones((4, 2), np.float32), "y/bias": np.zeros(2, np.float32)}
    case = Case(graph, procedure, {"a": x}, {"y": x[:, :2]}, weights)
    plain = did(runner, case, variant="lived model")
    assert any(name.startswith("evaluated ") for name in plain.outputs)
    for feed in ("PyDataset", "generator"):
        assert_close(plain, did(runner, case, variant=f"lived model fed {feed}"))


@pytest.mark.tensorflow
def test_a_model_is_compiled_as_a_whole_also_once_it_was_cloned() -> None:
    with open_runner(["keras:tensorflow"]) as opened:
        plain = did(opened, network())
        assert_close(plain, did(opened, network(), variant="jit_compile"))
        assert_close(plain, did(opened, network(), reload=True, variant="clone + jit_compile"))


def application(**options: object) -> Case:
    settings = {"weights": None, "input_shape": [32, 32, 3], "classes": 3, "alpha": 0.25, **options}
    made = ApiCall("keras.applications.MobileNet", (), settings)
    x = np.random.default_rng(2).standard_normal((4, 32, 32, 3)).astype(np.float32)
    call = ApiCall("()", (made, ArrayArg("x")), {"training": False})
    return Case(call, Procedure(goal=Goal.CALL), {"x": x}, seed=5)


@pytest.mark.torch
def test_a_model_that_a_program_makes_is_saved_and_fed_in_batches_but_never_fetched() -> None:
    with open_runner(["keras:torch"]) as opened:
        plain = did(opened, application())
        for variant in ("saved", "batches of 3"):
            assert_close(plain, did(opened, application(), variant=variant))
        fetched = did(opened, application(weights="imagenet"), variant="saved")
        assert fetched.status is Status.UNSUPPORTED
        assert "weights=None" in str(fetched.failure and fetched.failure.message)
