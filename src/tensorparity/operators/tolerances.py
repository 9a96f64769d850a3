"""The tolerances libraries test themselves with: the documented defaults of their testing helpers, as data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tolerance:
    """|actual - expected| <= atol + rtol |expected|."""

    rtol: float
    atol: float
    source: str

    def allows(self, off: float, expected: float) -> bool:
        return off <= self.atol + self.rtol * abs(expected)


def _table(source: str, **values: tuple[float, float]) -> dict[str, Tolerance]:
    return {dtype: Tolerance(rtol, atol, source) for dtype, (rtol, atol) in values.items()}


#: By library and dtype. ONNX' backend tests have one for all; OpenVINO states none.
TOLERANCES: dict[str, dict[str, Tolerance]] = {
    "tensorflow": _table(
        "tf.test.TestCase.assertAllCloseAccordingToType",
        float16=(1e-3, 1e-3), bfloat16=(1e-2, 1e-2), float32=(1e-6, 1e-6), float64=(1e-6, 1e-6),
    ),
    "torch": _table(
        "torch.testing.assert_close",
        float16=(1e-3, 1e-5), bfloat16=(1.6e-2, 1e-5), float32=(1.3e-6, 1e-5), float64=(1e-7, 1e-7),
    ),
    "jax": _table(
        "jax._src.public_test_util.default_tolerance",
        float16=(1e-3, 1e-3), bfloat16=(1e-2, 1e-2), float32=(1e-6, 1e-6), float64=(1e-15, 1e-15),
    ),
    "keras": _table(
        "keras.src.testing.TestCase.assertAllClose",
        float16=(1e-6, 1e-6), bfloat16=(1e-6, 1e-6), float32=(1e-6, 1e-6), float64=(1e-6, 1e-6),
    ),
    "onnxruntime": _table(
        "onnxruntime/test/providers/checkers.cc, DefaultTolerance",
        float16=(1e-3, 2.5e-3), bfloat16=(1e-2, 2e-2), float32=(1e-4, 1e-5), float64=(1e-5, 1e-5),
    ),
    "onnx": _table(
        "onnx.backend.test",
        float16=(1e-3, 1e-7), bfloat16=(1e-3, 1e-7), float32=(1e-3, 1e-7), float64=(1e-3, 1e-7),
    ),
}  # fmt: skip


def tolerance_of(target: str, dtype: str) -> Tolerance | None:
    """Of the library a target is named after."""
    framework = target.partition(":")[0].partition("@")[0].partition("{")[0]
    return TOLERANCES.get(framework, {}).get(dtype)
