"""The same call on another target: what the streams offer, and that the runtimes take it."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from tensorparity.core.call import ApiCall
from tensorparity.core.case import Case
from tensorparity.core.procedure import Goal, Procedure
from tensorparity.generators.api_inputs import ApiInputs, ApiListing
from tensorparity.generators.other_targets import backend_cases, followed, node_cases
from tensorparity.targets.runner import open_runner


def listing(*apis: tuple[str, str]) -> ApiListing:
    entries = [{"name": n, "kind": "function", "aliases": [], "doc": d, "parameters": [{"name": "x"}]} for n, d in apis]
    return ApiListing.from_json({"library": "some", "apis": entries, "excluded": {}})


def test_what_is_documented_to_follow_numpy() -> None:
    listed = listing(
        ("jax.numpy.take", "Take.\n\nJAX implementation of :func:`numpy.take`, in terms of gather."),
        ("some.tri", "TensorFlow variant of NumPy's `tri`."),
        ("some.other", "Like nothing else."),
        ("some.gone", "JAX implementation of :func:`numpy.not_there`."),
    )
    assert followed(listed) == {"jax.numpy.take": "take", "some.tri": "tri"}


def test_backend_cases_take_turns_by_seed() -> None:
    listed = listing(("keras.ops.abs", ""), ("keras.ops.exp", ""), ("keras.layers.Dense", ""))
    first = [name for name, _ in itertools.islice(backend_cases(ApiInputs(listed), 0), 8)]
    assert set(first) == {"keras.ops.abs", "keras.ops.exp"}
    again = [case.digest for _, case in itertools.islice(backend_cases(ApiInputs(listed), 0), 8)]
    assert again == [case.digest for _, case in itertools.islice(backend_cases(ApiInputs(listed), 0), 8)]


@pytest.mark.onnxruntime
def test_the_runtimes_take_node_tests(tmp_path: Path) -> None:
    targets = ["onnx:reference", "onnxruntime"]
    with open_runner(targets) as runner:
        (told,) = runner.run_pairs([(Case(ApiCall(""), Procedure(goal=Goal.SAMPLES)), "onnx:reference")])
        found = list(node_cases(told, tmp_path))
        assert len(found) > 1000
        assert len({name for name, _ in found}) > 120
        some = [case for _, case in found[::60]]
        outcomes = runner.run_pairs([(case, target) for case in some for target in targets])
    assert sum(outcome.completed for outcome in outcomes) > 0.8 * len(outcomes)
