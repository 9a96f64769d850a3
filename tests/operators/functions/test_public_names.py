"""What a case file may call: functions that compute, and nothing that reaches out."""

from __future__ import annotations

import pytest

from tensorparity.operators.functions.public_names import is_public_function


@pytest.mark.parametrize(
    "name",
    [
        "torch.nn.functional.gelu",
        "tensorflow.io.decode_png",
        "jax.numpy.fft.fft",
        "keras.ops.softmax",
        "()",
        ".to_sparse",
    ],
)
def test_what_computes_may_be_called(name: str) -> None:
    assert is_public_function(name)


@pytest.mark.parametrize(
    "name",
    ["torch.load", "torch.hub.load", "tensorflow.io.read_file", "tensorflow.io.writeFile", "keras.saving.load_model"]
    + ["os.system", "torch.os.system", "torch._C.f", "jax.numpy.savez_save", ".tofile", ".__class__", "torch", ""],
)
def test_what_reaches_out_may_not(name: str) -> None:
    assert not is_public_function(name)
