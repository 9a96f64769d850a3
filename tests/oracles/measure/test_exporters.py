"""When is it the exporter: two runtimes of its file against the original."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from tensorparity.core.arrays import Array
from tensorparity.core.graph import Node, Ref
from tensorparity.core.outcome import Outcome, Status, Trace
from tensorparity.oracles.measure.diagnose import accuse
from tensorparity.oracles.measure.exporters import (
    accuse_exporters,
    doubt,
    doubts_about,
    exporter_at_border,
    is_ambiguous,
    is_settled_by_exporter,
    outputs_apart,
    suspects_of_failure,
)
from tensorparity.oracles.measure.isolated_nodes import measure_node
from tensorparity.oracles.measure.node_errors import NodeErrors
from tensorparity.oracles.measure.votes import shared_code
from tensorparity.reporting.words import sentence, sentences
from tensorparity.targets.catalogue import TARGETS, traits_of

TRAITS = traits_of(TARGETS)

FILES = {"ort": "torch.onnx", "ov": "torch.onnx"}


def node_errors(*camps: str, judged_by: str = "vote", **errors: float) -> NodeErrors:
    groups = tuple(frozenset(camp.split()) for camp in camps)
    known = {target: errors.get(target, 0.0) for camp in camps for target in camp.split()}
    node = Node("act", "torch.ops.aten.silu.default", (Ref("x"),))
    return NodeErrors(node, known, dict(known), judged_by=judged_by, camps=groups)


def test_two_runtimes_against_two_that_run_the_original_are_the_exporter() -> None:
    for camps in (("eager other", "ort ov"), ("ov ort", "other eager")):
        (accusation,) = accuse_exporters([node_errors(*camps)], FILES)
        assert accusation.diagnosis.suspects == ("exporter:torch.onnx",)
        assert accusation.diagnosis.node == "act#0"
        assert accusation.diagnosis.api == "torch.ops.aten.silu.default"
        (said,) = sentences(accusation.diagnosis)
        assert "agree with each other on the exported file" in said


def test_an_original_that_nothing_shows_to_be_right_is_a_suspect_as_well() -> None:
    compiled = node_errors("torch:eager torch:compile", "ort ov")
    shared = replace(compiled, implementations=shared_code(compiled.errors, TRAITS))  # one library
    both = [(node_errors("eager", "ort ov"), ("eager",)), (shared, ("torch:eager", "torch:compile"))]
    for errors, originals in both:
        (accusation,) = accuse_exporters([errors], FILES)
        assert accusation.diagnosis.suspects == (*originals, "exporter:torch.onnx")
        assert "may be wrong as well as the exporter" in sentences(accusation.diagnosis)[1]


def test_a_reference_shows_that_the_original_is_right() -> None:
    far = {"ort": 1e6, "ov": 1e6}
    (accusation,) = accuse_exporters([node_errors("eager", "ort ov", judged_by="reference", **far)], FILES)
    assert accusation.diagnosis.suspects == ("exporter:torch.onnx",)
    errors = node_errors("eager", "ort ov", judged_by="reference", eager=1e6, **far)
    (accusation,) = accuse_exporters([errors], FILES)
    assert accusation.diagnosis.suspects == ("eager", "exporter:torch.onnx")


def test_nodes_whose_original_is_right_are_apart_from_others() -> None:
    doubted = node_errors("eager", "ort ov")
    shown = node_errors("eager", "ort ov", judged_by="reference", ort=1e6, ov=1e6)
    found = [item.diagnosis.suspects for item in accuse_exporters([doubted, shown], FILES)]
    assert found == [("eager", "exporter:torch.onnx"), ("exporter:torch.onnx",)]


@pytest.mark.parametrize(
    "camps",
    [("eager ort", "ov"), ("eager", "ort", "ov"), ("eager ort ov",), ("eager", "compiled ort ov"), ("ort", "ov")],
)
def test_any_other_split_is_not(camps: tuple[str, ...]) -> None:
    errors = node_errors(*camps)
    assert exporter_at_border(errors, FILES) is None
    assert not accuse_exporters([errors], FILES)
    assert not is_settled_by_exporter(errors, FILES)


def test_files_of_two_exporters_are_not_compared() -> None:
    assert exporter_at_border(node_errors("eager", "ort ov"), {"ort": "one", "ov": "another"}) is None


def test_one_runtime_is_not_enough() -> None:
    errors = node_errors("eager compiled", "ort", ort=1e6)
    assert is_ambiguous(errors, FILES)
    assert is_settled_by_exporter(errors, FILES)
    assert not accuse_exporters([errors], FILES)


def test_two_settings_of_one_runtime_are_one() -> None:
    one, two = "onnxruntime", "onnxruntime{optimization=none}"
    files = {one: "torch.onnx", two: "torch.onnx"}
    groups = (frozenset(["eager"]), frozenset(files))
    known = {"eager": 0.0, one: 1e6, two: 1e6}
    node, shared = Node("act", "Softmax", (Ref("x"),)), shared_code(known, TRAITS)
    errors = NodeErrors(node, known, known, judged_by="vote", camps=groups, implementations=shared)
    assert is_ambiguous(errors, files)
    assert not accuse_exporters([errors], files)


def test_a_reference_keeps_a_single_runtime_accused_with_a_doubt() -> None:
    errors = node_errors("eager compiled", "ort", judged_by="reference", ort=1e6)
    assert not is_settled_by_exporter(errors, FILES)
    (accusation,) = accuse([errors], {})
    assert doubt(accusation, FILES).diagnosis.suspects == ("ort",)
    assert "exported by torch.onnx, which may be wrong instead" in sentences(doubt(accusation, FILES).diagnosis)[-1]
    assert doubt(accusation, {}) == accusation


def test_a_reference_that_finds_the_runtimes_right_clears_the_exporter() -> None:
    errors = node_errors("eager", "ort ov", judged_by="reference", eager=1e6)
    assert exporter_at_border(errors, FILES) is None
    (accusation,) = accuse([errors], {})
    assert accusation.diagnosis.suspects == ("eager",)


# Outputs


def difference(a: Array, b: Array) -> float:
    return float(np.abs(a - b).max()) if a.shape == b.shape else float("inf")


@pytest.fixture
def outcomes() -> Callable[..., dict[str, Outcome]]:
    def make(**values: float) -> dict[str, Outcome]:
        return {
            target: Outcome(target, Status.COMPLETED, {"out": np.full((2, 3), value)})
            for target, value in values.items()
        }

    return make


def test_outputs_that_runtimes_agree_on_against_the_original(outcomes: Callable[..., dict[str, Outcome]]) -> None:
    apart = outputs_apart(outcomes(eager=1.0, ort=1.5, ov=1.5001), FILES, difference, 0.01, traits=TRAITS)
    assert apart is not None
    assert (apart.output, apart.exporter, apart.runtimes, apart.originals) == (
        "out",
        "torch.onnx",
        ("ort", "ov"),
        ("eager",),
    )
    assert apart.diagnosis(0.01).suspects == ("eager", "exporter:torch.onnx")
    both = outputs_apart(outcomes(eager=1.0, other=1.0, ort=1.5, ov=1.5001), FILES, difference, 0.01, traits=TRAITS)
    assert both is not None
    assert both.diagnosis(0.01).suspects == ("exporter:torch.onnx",)


@pytest.mark.parametrize(
    "values",
    [
        {"eager": 1.0, "ort": 1.001, "ov": 1.001},  # rounding, amplified
        {"eager": 1.0, "ort": 1.5, "ov": 1.7},  # they do not agree
        {"eager": 1.0, "ort": 1.05, "ov": 1.059},  # hardly closer to each other than to the original
        {"eager": 1.0, "ort": 1.5},  # a single runtime
        {"ort": 1.5, "ov": 1.0},  # no original
        {"eager": 1.0, "compiled": 1.5, "ort": 1.5, "ov": 1.5},  # one original is with them
    ],
)
def test_outputs_that_blame_no_exporter(outcomes: Callable[..., dict[str, Outcome]], values: dict[str, float]) -> None:
    assert outputs_apart(outcomes(**values), FILES, difference, 0.01, traits=TRAITS) is None


def test_a_file_that_no_two_runtimes_complete_is_the_exporters_fault() -> None:
    assert suspects_of_failure("ort", ["ort", "ov"], ["eager"], FILES, traits=TRAITS) == ("exporter:torch.onnx",)
    assert suspects_of_failure("ort", ["ort"], ["ov"], FILES, traits=TRAITS) == ("ort",)
    assert suspects_of_failure("ort", ["ort", "eager"], [], FILES, traits=TRAITS) == ("ort",)
    assert suspects_of_failure("eager", ["eager", "compiled"], ["ort", "ov"], FILES, traits=TRAITS) == ("eager",)
    third = {**FILES, "reference": "torch.onnx"}
    assert suspects_of_failure("ort", ["ort", "ov"], ["reference"], third, traits=TRAITS) == ("ort",)
    settings = {"onnxruntime": "e", "onnxruntime{A=1}": "e"}  # one implementation twice is one
    assert suspects_of_failure("onnxruntime", list(settings), [], settings, traits=TRAITS) == ("onnxruntime",)


def test_doubts_are_about_runtimes_of_exported_files_only() -> None:
    assert doubts_about("eager", FILES) == ()
    assert "exported by torch.onnx" in sentence(doubts_about("ort", FILES)[0])


# The catalogue as the arbiter of a torch program's node

X = np.linspace(-2.0, 2.0, 12, dtype=np.float32).reshape(3, 4)


def silu(x: Array, slope: float = 1.0) -> Array:
    return np.asarray(x / (1.0 + np.exp(-np.float32(slope) * x)), np.float32)


def measured(op: str, **answers: Array) -> NodeErrors:
    node = Node("act", f"torch.ops.aten.{op}.default", (Ref("x"),))
    outcomes = {
        target: Outcome(target, Status.COMPLETED, trace=Trace(nodes={"act#0": value}))
        for target, value in answers.items()
    }
    return measure_node(node, [X], {}, outcomes, TRAITS)


def test_the_catalogue_convicts_the_original_of_a_known_operator() -> None:
    errors = measured("silu", eager=silu(X, 0.9), ort=silu(X), ov=silu(X))
    assert errors.judged_by == "reference"
    assert not accuse_exporters([errors], FILES)
    (accusation,) = accuse([errors], {})
    assert accusation.diagnosis.suspects == ("eager",)


def test_the_catalogue_clears_the_original_of_a_known_operator() -> None:
    errors = measured("silu", eager=silu(X), ort=silu(X, 0.9), ov=silu(X, 0.9))
    (accusation,) = accuse_exporters([errors], FILES)
    assert accusation.diagnosis.suspects == ("exporter:torch.onnx",)


def test_where_no_target_agrees_with_the_catalogue_it_decides_nothing() -> None:
    errors = measured("silu", eager=silu(X, 0.8), ort=silu(X, 0.9), ov=silu(X, 0.9))
    assert errors.judged_by != "reference"
    (accusation,) = accuse_exporters([errors], FILES)
    assert accusation.diagnosis.suspects == ("eager", "exporter:torch.onnx")


def test_targets_that_agree_are_not_held_against_the_catalogue() -> None:
    alike = silu(X, 0.9)
    assert measured("silu", eager=alike, ort=alike, ov=alike).judged_by != "reference"
