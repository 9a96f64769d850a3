"""Scripts that export a Keras model in one of Keras' formats, read it as its documentation does, and compare."""

from __future__ import annotations

from ...core.case import Case
from ...core.graph import LayerGraph
from ...core.suspicion import Suspicion
from ...core.verdict import Kind
from ...oracles.measure.export_failures import export_form
from . import literals
from .exporter_scripts import comparison_lines, completion_lines
from .keras_scripts import keras_parts
from .script import MOST_LINES, heading_lines

#: By format: what reads it, and the lines that export the model and run the file; the first output is looked at.
_READERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "onnx": (
        "import onnxruntime",
        (
            'model.export("model.onnx", format="onnx", verbose=False)',
            'session = onnxruntime.InferenceSession("model.onnx", providers=["CPUExecutionProvider"])',
            "feeds = {item.name: value for item, value in zip(session.get_inputs(), given)}",
            "observed = session.run(None, feeds)[0]",
        ),
    ),
    "tf_saved_model": (
        "import tensorflow as tf",
        (
            'model.export("model", format="tf_saved_model", verbose=False)',
            'loaded = tf.saved_model.load("model")',
            "observed = loaded.serve(given if len(given) > 1 else given[0])",
            "observed = keras.tree.flatten(observed)[0].numpy()",
        ),
    ),
    "openvino": (
        "import openvino",
        (
            'model.export("model.xml", format="openvino", verbose=False)',
            'compiled = openvino.Core().compile_model("model.xml", "CPU", {"INFERENCE_PRECISION_HINT": "f32"})',
            "observed = np.array(compiled(given)[0])",
        ),
    ),
    "litert": (
        "import tensorflow as tf",
        (
            'model.export("model.tflite", format="litert", verbose=False)',
            'runner = tf.lite.Interpreter(model_path="model.tflite").get_signature_runner()',
            "feeds = dict(zip([tensor.name for tensor in model.inputs], given))",
            "observed = list(runner(**feeds).values())[0]",
        ),
    ),
    "torch": (
        "import torch",
        (
            "sizes = [keras.InputSpec(shape=value.shape, dtype=value.dtype.name) for value in given]",
            "sizes = sizes if len(sizes) > 1 else sizes[0]",
            'model.export("model.pt2", format="torch", verbose=False, input_signature=[sizes])',
            "tensors = [torch.tensor(value) for value in given]",
            'module = torch.export.load("model.pt2").module()',
            "observed = module(tensors if len(tensors) > 1 else tensors[0])",
            "observed = keras.tree.flatten(observed)[0].detach().numpy()",
        ),
    ),
}


def export_script(title: str, suspicion: Suspicion, backend: str) -> str:
    """The script: exits 1 while the exported model gives something else than the model.

    Raises:
        Unprintable: if it cannot be written in a few lines.
    """
    case = suspicion.case
    reader, runs = _READERS[export_form(case)]
    imports, steps = _model(case, backend)
    if suspicion.kind is Kind.ERROR:
        checks = ["try:", *(f"    {line}" for line in runs), *completion_lines()]
    else:
        checks = [*runs, *comparison_lines(None)]
    lines = [*heading_lines(title), *imports, reader, "", *steps, *checks]
    if len(lines) > MOST_LINES + 8:
        raise literals.Unprintable(f"a script of {len(lines)} lines")
    return "\n".join(lines) + "\n"


def _model(case: Case, backend: str) -> tuple[list[str], list[str]]:
    graph = case.subject
    if not isinstance(graph, LayerGraph):
        raise literals.Unprintable("a model that is no graph of layers")
    parts = keras_parts(case, backend, None, watched=False)
    *steps, last = parts.steps
    if not last.startswith("observed = model.predict("):
        raise literals.Unprintable("an export of more than a forward pass")
    names = ["x"] if len(graph.inputs) == 1 else [f"x{index}" for index in range(len(graph.inputs))]
    return list(parts.imports), [*steps, last.replace("observed", "expected", 1), f"given = [{', '.join(names)}]"]
