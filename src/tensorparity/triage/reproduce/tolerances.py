"""What each library's own tests allow by default: a report that stays below it is not taken up."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Relative and absolute, and where the library says so."""

    rtol: float
    atol: float
    source: str

    def allows(self, off: float, expected: float) -> bool:
        return off <= self.atol + self.rtol * abs(expected)


#: By framework, for float32.
DEFAULTS = {
    "keras": Tolerance(1e-6, 1e-6, "keras.src.testing.TestCase.assertAllClose"),
    "torch": Tolerance(1.3e-6, 1e-5, "torch.testing.assert_close"),
    "tensorflow": Tolerance(1e-6, 1e-6, "tf.test.TestCase.assertAllClose"),
    "onnx": Tolerance(1e-3, 1e-7, "onnx.backend.test"),
    # The runtimes are tested with ONNX' own backend tests, among others.
    "onnxruntime": Tolerance(1e-3, 1e-7, "onnx.backend.test"),
    "openvino": Tolerance(1e-3, 1e-7, "onnx.backend.test"),
}
