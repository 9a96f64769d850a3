"""The tolerances libraries test themselves with: the documented defaults of their testing helpers, as data.

By dtype. The catalogue of targets says whose are whose; OpenVINO states none.
"""

from __future__ import annotations

from ...core.tolerance import Tolerance


def _table(source: str, **values: tuple[float, float]) -> dict[str, Tolerance]:
    return {dtype: Tolerance(rtol, atol, source) for dtype, (rtol, atol) in values.items()}


TENSORFLOW = _table(
    "tf.test.TestCase.assertAllCloseAccordingToType",
    float16=(1e-3, 1e-3), bfloat16=(1e-2, 1e-2), float32=(1e-6, 1e-6), float64=(1e-6, 1e-6),
)  # fmt: skip
TORCH = _table(
    "torch.testing.assert_close",
    float16=(1e-3, 1e-5), bfloat16=(1.6e-2, 1e-5), float32=(1.3e-6, 1e-5), float64=(1e-7, 1e-7),
)  # fmt: skip
JAX = _table(
    "jax._src.public_test_util.default_tolerance",
    float16=(1e-3, 1e-3), bfloat16=(1e-2, 1e-2), float32=(1e-6, 1e-6), float64=(1e-15, 1e-15),
)  # fmt: skip
KERAS = _table(
    "keras.src.testing.TestCase.assertAllClose",
    float16=(1e-6, 1e-6), bfloat16=(1e-6, 1e-6), float32=(1e-6, 1e-6), float64=(1e-6, 1e-6),
)  # fmt: skip
ONNXRUNTIME = _table(
    "onnxruntime/test/providers/checkers.cc, DefaultTolerance",
    float16=(1e-3, 2.5e-3), bfloat16=(1e-2, 2e-2), float32=(1e-4, 1e-5), float64=(1e-5, 1e-5),
)  # fmt: skip
#: Their backend tests have one for all.
ONNX = _table(
    "onnx.backend.test",
    float16=(1e-3, 1e-7), bfloat16=(1e-3, 1e-7), float32=(1e-3, 1e-7), float64=(1e-3, 1e-7),
)  # fmt: skip
