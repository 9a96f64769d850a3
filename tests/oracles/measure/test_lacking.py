"""What is a lack depends on the way in which a call is run."""

from __future__ import annotations

import pytest

from tensorparity.core.outcome import Failure
from tensorparity.oracles.measure.lacking import lacks

TRACED = "Abstract tracer value encountered where concrete value is expected"
NUMPY = "A KerasTensor cannot be used as input to a NumPy function"


@pytest.mark.parametrize(
    ("rule", "kind", "message", "lack"),
    [
        ("jax-jit", "ConcretizationTypeError", TRACED, True),
        ("other-backends", "ConcretizationTypeError", TRACED, False),
        ("symbolic", "ValueError", NUMPY, False),
        ("functional", "AttributeError", "'KerasTensor' object has no attribute 'numpy'", False),
        ("jax-jit", "TypeError", "concatenate() got multiple values for argument axis", False),
        ("out", "TypeError", "relu() got an unexpected keyword argument 'out'", True),
        ("method", "TypeError", "expected Tensor as element 0", True),
        ("tf.function", "InvalidArgumentError", "Incompatible shapes: expected [2] but got [3]. [[metadata]]", False),
        ("meta", "RuntimeError", "Tensor.item() cannot be called on meta tensors", True),
        ("strided", "RuntimeError", "Tensor.item() cannot be called on meta tensors", False),
        ("aot-eager", "TorchRuntimeError", "Dynamo failed to run FX node with fake tensors: size mismatch", False),
        ("aot-eager", "TorchRuntimeError", "got DataDependentOutputException(aten._local_scalar_dense)", True),
        ("aot-eager", "InternalTorchDynamoError", "AssertionError", False),
        ("sparse-coo", "RuntimeError", "only works on a sparse tensor", True),
        ("tf.function", "ValueError", "rank 1 but is rank 2 for SparseTensorDenseMatMul, sparse", False),
        ("jax-jit", "TracerArrayConversionError", "__array__() was called on traced array with shape int32[2]", True),
        (
            "jax-jit",
            "TracerArrayConversionError",
            "__array__() was called on traced array with shape float32[2]",
            False,
        ),
        ("other-backends", "ValueError", "`num_segments` must be set when using the JAX backend", True),
        ("strided", "IndexError", "getitem index out of range", False),
        ("strided", "RuntimeError", "'exp' not implemented for 'Half'", True),
        ("", "RuntimeError", "a leaf Variable that requires grad is being used in an in-place operation.", True),
    ],
)
def test_words_excuse_by_the_rule(rule: str, kind: str, message: str, lack: bool) -> None:
    assert lacks(Failure(kind, message), rule) is lack
