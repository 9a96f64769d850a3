"""What runtimes say when they fail, in one line."""

from __future__ import annotations

import pytest

from tensorparity.core.messages import failing_onnx_node, gist, says_not_installed, says_unsupported

OPENVINO = """Exception from src/inference/src/cpp/core.cpp:105:
Check 'false' failed at src/frontends/common_translators/src/unconverted_ops_report.cpp:151:
FrontEnd API failed with OpConversionFailure:
Model wasn't fully converted. Failed operations detailed log:
-- Conv-16 with a message:
While validating ONNX node '<Node(Conv): /decoder/2/Conv>': Check 'rank().is_static()' failed at src/op/conv.cpp:38:
FrontEnd API failed with GeneralFailure:
The input data tensor's rank has to be known (static)

Summary:
-- Conversion is failed for: Conv-16
"""
RUNNING = (
    "[ONNXRuntimeError] : 2 : INVALID_ARGUMENT : Non-zero status code returned while running Reshape node. "
    "Name:'head/reshape' Status Message: the input shape must be divisible"
)
INFERRING = "[ONNXRuntimeError] : 1 : FAIL : Node (If_0) Op (If) [TypeInferenceError] Graph attribute failed"


def test_openvino_says_where_in_its_sources_before_what() -> None:
    assert gist(OPENVINO) == "The input data tensor's rank has to be known (static) (in Conv /decoder/2/Conv)"


def test_a_message_of_nothing_else_is_kept() -> None:
    assert gist("Exception from src/inference/src/cpp/core.cpp:105:") == (
        "Exception from src/inference/src/cpp/core.cpp:105:"
    )


@pytest.mark.parametrize(
    ("message", "node"),
    [
        (OPENVINO, ("Conv", "/decoder/2/Conv")),
        (RUNNING, ("Reshape", "head/reshape")),
        (INFERRING, ("If", "If_0")),
        ("something else", None),
    ],
)
def test_the_node_a_runtime_failed_in(message: str, node: tuple[str, str] | None) -> None:
    assert failing_onnx_node(message) == node


@pytest.mark.parametrize(
    ("said", "lacks"),
    [
        ("Only axis=-1 is currently supported. Received: axis=1", True),
        ("only float32 is supported", True),
        ("the operation is supported on this device only", False),
    ],
)
def test_a_lack_is_told_by_its_words(said: str, lacks: bool) -> None:
    assert says_unsupported("ValueError", said) == lacks


@pytest.mark.parametrize(
    ("kind", "said", "missing"),
    [
        ("ImportError", "This requires the jax2onnx module. You can install it via `pip install jax2onnx`", True),
        ("ImportError", "This requires the tf2onnx module.", True),
        ("ModuleNotFoundError", "No module named 'scipy'", True),
        ("ImportError", "`grain` is not installed", True),
        ("ModuleNotFoundError", "No module named 'keras.src.lost'", False),
        ("ImportError", "cannot import name 'relu' from 'keras.src.ops'", False),
        ("ValueError", "No module named 'scipy'", False),
    ],
)
def test_what_is_not_installed_is_no_fault_of_the_library(kind: str, said: str, missing: bool) -> None:
    assert says_not_installed(kind, said, "keras:jax") == missing
    assert says_unsupported(kind, said) == missing


def test_a_library_that_misses_itself_is_broken() -> None:
    assert not says_not_installed("ModuleNotFoundError", "No module named 'keras'", "keras:jax")
