"""Who shares code with whom."""

from __future__ import annotations

import pytest

from tensorparity.triage.ballots import ballot_of


@pytest.mark.parametrize(
    ("ballot", "targets"),
    [
        ("tensorflow", ["keras:tensorflow", "keras:tensorflow{TF_ENABLE_ONEDNN_OPTS=0}", "tensorflow:xla"]),
        ("jax", ["keras:jax", "keras:numpy", "keras:numpy@old", "jax:jit"]),
        ("torch", ["keras:torch", "torch:eager", "torch:compile", "torch:compile@nightly{threads=1}"]),
        ("openvino", ["keras:openvino", "openvino", "openvino{threads=2}"]),
        (
            "onnxruntime",
            ["onnxruntime", "onnxruntime{optimization=none}", "onnxruntime@1.17{a=b}", "onnxruntime{a=b}@x"],
        ),
        ("onnx", ["onnx:reference"]),
        ("theano", ["keras:theano@legacy"]),
        ("fake:a", ["fake:a", "fake:a@somewhere"]),
        ("mine", ["mine"]),
    ],
)
def test_targets_of_one_implementation_have_one_ballot(ballot: str, targets: list[str]) -> None:
    assert {ballot_of(target) for target in targets} == {ballot}
