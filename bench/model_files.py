"""Model files for ``real_models.py``: quantized ONNX models that are made here, and files that packages carry."""

from __future__ import annotations

import importlib
import importlib.util
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

FOLDER = Path(tempfile.gettempdir()) / "tensorparity-model-files"
ONNX = ("onnxruntime", "openvino", "onnx:reference")

#: Package, file inside it, name in the table, options.
CARRIED: list[tuple[str, str, str, list[str]]] = [
    ("magika", "models/standard_v3_3/model.onnx", "magika", ["--input", "bytes=2048:int32:0..256"]),
    ("silero_vad", "data/silero_vad_16k_op15.onnx", "silero_vad", []),
    ("silero_vad", "data/silero_vad_op18_ifless.onnx", "silero_vad_ifless", []),
    ("basic_pitch", "saved_models/icassp_2022/nmp.onnx", "basic_pitch", []),
    (
        "rapidocr_onnxruntime",
        "models/ch_ppocr_mobile_v2.0_cls_infer.onnx",
        "rapidocr_orientation",
        ["--input", "x=3x48x192"],
    ),
    ("rapidocr_onnxruntime", "models/ch_PP-OCRv4_det_infer.onnx", "rapidocr_detection", ["--input", "x=3x64x64"]),
    ("rapidocr_onnxruntime", "models/ch_PP-OCRv4_rec_infer.onnx", "rapidocr_recognition", ["--input", "x=3x48x96"]),
    ("onnx", "backend/test/data/light/light_squeezenet.onnx", "squeezenet", []),
    ("onnx", "backend/test/data/light/light_shufflenet.onnx", "shufflenet", []),
    ("onnx", "backend/test/data/light/light_densenet121.onnx", "densenet121", []),
]


def file_entries() -> list[dict[str, Any]]:
    """Entries of the table whose files are there, or can be made."""
    found = [
        {"name": name, "kind": f"carried by {package}", "source": str(path), "targets": ONNX, "options": options}
        for package, inside, name, options in CARRIED
        if (path := _inside(package, inside)) is not None
    ]
    return found + [
        {"name": name, "kind": "quantized ONNX", "source": str(FOLDER / f"{name}.onnx"), "targets": ONNX}
        for name in QUANTIZED
        if all(importlib.util.find_spec(needed) for needed in ("onnxruntime", "onnxscript", "torch"))
    ]


def make_file(name: str) -> None:
    """Make a file of the table that no package carries, where it is not there yet."""
    path = FOLDER / f"{name}.onnx"
    if name in QUANTIZED and not path.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        QUANTIZED[name](path)


def _inside(package: str, file: str) -> Path | None:
    spec = importlib.util.find_spec(package)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        if (Path(folder) / file).exists():
            return Path(folder) / file
    return None


def _exported(factory: str, path: Path) -> Path:
    """The float model that is quantized."""
    import torch

    module, examples = getattr(importlib.import_module("model_factories"), factory)()
    target = path.with_suffix(".float.onnx")
    dynamic = ({0: torch.export.Dim.AUTO},)
    exported = torch.onnx.export(module.eval(), (examples,), dynamo=True, dynamic_shapes=dynamic, verbose=False)
    model = exported.model_proto
    del model.graph.value_info[:]  # those of weights that the optimizer has turned are wrong, and onnx says so
    target.write_bytes(model.SerializeToString())
    return target


def _dynamic(path: Path) -> None:
    from onnxruntime.quantization import quantize_dynamic

    quantize_dynamic(str(_exported("perceptron", path)), str(path))


def _static(path: Path, form: str) -> None:
    from onnxruntime.quantization import QuantFormat, quantize_static

    source = _exported("resnet18", path)
    quantize_static(str(source), str(path), _Calibration(source), quant_format=QuantFormat[form])


class _Calibration:
    """Drawn images; onnxruntime asks for them one by one."""

    def __init__(self, model: Path) -> None:
        import numpy as np
        import onnxruntime

        session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
        draw = np.random.default_rng(0).standard_normal((4, 2, 3, 64, 64), dtype=np.float32)
        self._left = [{session.get_inputs()[0].name: images} for images in draw]

    def get_next(self) -> dict[str, Any] | None:
        return self._left.pop() if self._left else None

    def __iter__(self) -> _Calibration:
        return self

    def __next__(self) -> dict[str, Any]:
        found = self.get_next()
        if found is None:
            raise StopIteration
        return found

    def set_range(self, start_index: int, end_index: int) -> None:
        """Asked for large data sets only."""


QUANTIZED: dict[str, Callable[[Path], None]] = {
    "perceptron_dynamic_int8": _dynamic,
    "resnet18_qdq_int8": lambda path: _static(path, "QDQ"),
    "resnet18_qoperator_int8": lambda path: _static(path, "QOperator"),
}
