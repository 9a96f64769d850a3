"""What one target costs without TensorParity: import, build, export, one forward. ``bare_forward.py TARGET MODEL``.

MODEL is ``module:function`` beside this file, or an ``.onnx`` or ``.keras`` file. Nothing is checked or compared. The
caller measures the process from outside.
"""

from __future__ import annotations

import importlib
import io
import os
import sys
from typing import Any

ROWS = 8


def main() -> None:
    target, model = sys.argv[1:3]
    if target.startswith("keras:"):
        os.environ["KERAS_BACKEND"] = target.partition(":")[2]
    if model.endswith((".onnx", ".keras")):
        _run_file(target, model)
        return
    module, _, function = model.partition(":")
    made = getattr(importlib.import_module(module), function)()
    made = made if isinstance(made, tuple) else (made,)
    if hasattr(made[0], "predict"):
        _run_keras(target, made[0])
    else:
        _run_torch(target, *made)


def _run_torch(target: str, module: Any, examples: Any, dynamic: Any = None) -> None:
    import torch

    from tensorparity.worker.saving import save_program

    file = io.BytesIO()
    save_program(module, examples, file, dynamic)
    file.seek(0)
    program = torch.export.load(file)
    args, kwargs = program.example_inputs
    if target.startswith("torch:"):
        run = program.module() if target == "torch:eager" else torch.compile(program.module())
        with torch.no_grad():
            run(*args, **kwargs)
        return
    exported = torch.onnx.export(program, dynamo=True, verbose=False)
    tensors = [item.numpy() for item in torch.utils._pytree.tree_leaves((args, kwargs))]
    names = [value.name for value in exported.model.graph.inputs]
    _run_onnx(target, exported.model_proto.SerializeToString(), dict(zip(names, tensors, strict=False)))


def _run_keras(target: str, model: Any) -> None:
    import numpy as np

    given = [np.zeros((ROWS, *[size or 16 for size in item.shape[1:]]), item.dtype) for item in model.inputs]
    if target.startswith("keras:"):
        model.predict(given, verbose=0)
        return
    model(given if len(given) > 1 else given[0])  # an export wants a model that was called
    path = "/tmp/bare-forward.onnx"
    model.export(path, format="onnx", verbose=False)
    names = [item.name for item in model.inputs]
    with open(path, "rb") as file:
        _run_onnx(target, file.read(), dict(zip(names, given, strict=True)))


def _run_file(target: str, path: str) -> None:
    if path.endswith(".keras"):
        import keras

        _run_keras(target, keras.saving.load_model(path))
        return
    import numpy as np
    import onnx

    model = onnx.load(path)
    known = {item.name for item in model.graph.initializer}
    feeds = {}
    for item in model.graph.input:
        if item.name not in known:
            declared = enumerate(item.type.tensor_type.shape.dim)
            sizes = [size.dim_value or (1 if place == 0 else 32) for place, size in declared]
            dtype = onnx.helper.tensor_dtype_to_np_dtype(item.type.tensor_type.elem_type)
            feeds[item.name] = np.zeros(sizes, dtype)
    _run_onnx(target, model.SerializeToString(), feeds)


def _run_onnx(target: str, model: bytes, feeds: dict[str, Any]) -> None:
    if target == "onnxruntime":
        import onnxruntime

        onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"]).run(None, feeds)
    elif target == "openvino":
        import openvino

        core = openvino.Core()
        core.compile_model(core.read_model(model, b""), "CPU")(feeds)
    else:
        import onnx
        from onnx.reference import ReferenceEvaluator

        ReferenceEvaluator(onnx.load_from_string(model)).run(None, feeds)


if __name__ == "__main__":
    main()
