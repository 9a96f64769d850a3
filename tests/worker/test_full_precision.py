"""Keras on OpenVINO computes whole models in float32, on processors with bfloat16 as well."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from tensorparity.worker.adapters.keras3.forward_only import in_full_precision

HINT = "INFERENCE_PRECISION_HINT"


def test_whole_models_are_compiled_for_float32_unless_said_otherwise() -> None:
    def compile_model(model: str, device: str, config: dict[str, Any]) -> tuple[str, str, dict[str, Any]]:
        return model, device, config

    openvino = SimpleNamespace(compile_model=compile_model)
    in_full_precision(openvino)
    assert openvino.compile_model("m", "CPU") == ("m", "CPU", {HINT: "f32"})
    assert openvino.compile_model("m", "CPU", {"NUM_STREAMS": 1}) == ("m", "CPU", {HINT: "f32", "NUM_STREAMS": 1})
    assert openvino.compile_model("m", "CPU", config={HINT: "bf16"}) == ("m", "CPU", {HINT: "bf16"})
