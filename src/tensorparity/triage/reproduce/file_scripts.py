"""Scripts around a model file: for layers that no catalogue knows, and so no text can build.

The file stands beside the script. A layer of it is run alone, on the inputs that were captured; a whole model on
the smallest batch that shows it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...core.arrays import Array, Arrays
from ...core.case import Case, ModelFile
from ...core.jsontext import Json
from ...core.procedure import Goal, Mode
from . import literals
from .attachments import HERE, AttachmentFolder
from .script import Parts

KERAS_FORMATS = ("keras", "h5", "hdf5")


@dataclass(frozen=True)
class FileScript:
    """What is known besides the case.

    Args:
        outputs: names of the outputs, in the model's order.
        wanted: the one that is looked at.
        imports: the user's modules that the file needs.
        trust: it may run code of its own.
    """

    outputs: Sequence[str]
    wanted: str = ""
    imports: Sequence[str] = ()
    trust: bool = False
    watched: bool = False

    @property
    def position(self) -> int:
        return list(self.outputs).index(self.wanted) if self.wanted in self.outputs else 0


def keras_file_parts(case: Case, backend: str, how: FileScript, desk: AttachmentFolder) -> Parts:
    """Load the file with Keras; call one of its layers, or predict.

    Raises:
        Unprintable: if the call is more than that.
    """
    steps, layer = keras_model(case, how, desk)
    names, lines = inputs(case, desk)
    steps += lines
    if layer:
        if len(names) != 1:
            raise literals.Unprintable(f"a layer of a file on {len(names)} inputs")
        return Parts(keras_imports(backend, how), [*steps, f"observed = {outcome(f'layer({names[0]})', how, 'layer')}"])
    given = names[0] if len(names) == 1 else _dict_text(case.inputs, names)
    size = f", batch_size={literals.value(case.procedure.batch_size)}" if case.procedure.batch_size else ""
    return Parts(
        keras_imports(backend, how), [*steps, f"observed = {outcome(f'model.predict({given}{size}, verbose=0)', how)}"]
    )


def keras_imports(backend: str, how: FileScript) -> list[str]:
    return [
        "import os",
        *(["import subprocess"] if how.watched else []),
        "import sys",
        "from pathlib import Path",
        "",
        f'os.environ["KERAS_BACKEND"] = {literals.value(backend)}',
        "import keras",
        "import numpy as np",
        *(f"import {literals.dotted_name(module)}" for module in how.imports),
    ]


def keras_model(case: Case, how: FileScript, desk: AttachmentFolder) -> tuple[list[str], bool]:
    """Lines that load the model and, for a replay, take its layer; whether they take one."""
    file = _file(case, *KERAS_FORMATS)
    procedure = case.procedure
    if procedure.goal not in (Goal.FORWARD, Goal.REPLAY) or case.cotangents or procedure.training or procedure.reload:
        raise literals.Unprintable("a model file in training, or backward")
    safe = ", safe_mode=False" if how.trust else ""
    model = desk.model(file.path, file.sha256)
    lines = [HERE, f"model = keras.saving.load_model({model}, compile=False{safe})"]
    if procedure.goal is not Goal.REPLAY:
        return lines, False
    return [*lines, f"layer = model.get_layer({literals.value(_only_node(case))})"], True


def outcome(expression: str, how: FileScript, of: str = "model") -> str:
    """The output that is looked at, as an array, of one or of several."""
    several = len(how.outputs) > 1
    picked = f"keras.tree.flatten({expression})[{how.position}]" if several else expression
    return f"keras.ops.convert_to_numpy({picked})" if of == "layer" else picked


def inputs(case: Case, desk: AttachmentFolder) -> tuple[list[str], list[str]]:
    """Names of variables for the inputs, in their order, and the lines that fill them."""
    names = ["x"] if len(case.inputs) == 1 else [f"x{index}" for index in range(len(case.inputs))]
    return names, desk.arrays(dict(zip(names, case.inputs.values(), strict=True)))


def torch_file_parts(case: Case, flavour: str, how: FileScript, desk: AttachmentFolder) -> Parts:
    """Load an exported program with torch; call it, or one of its nodes.

    Raises:
        Unprintable: if it is no such program.
    """
    names, lines = inputs(case, desk)
    compiled = flavour == "compile"
    steps = [*torch_program(case, desk), *lines]
    if case.procedure.goal is Goal.REPLAY:
        steps += _torch_node(_only_node(case), names)
        run = "torch.compile(run)(*values)" if compiled else "run(*values)"
    else:
        steps += torch_arguments(case, names)
        run = "torch.compile(program.module())(*given)" if compiled else "program.module()(*given)"
    picked = f"{run}[{how.position}]" if len(how.outputs) > 1 else run
    return Parts(torch_imports(how), [*steps, f"observed = {picked}.detach().numpy()"])


def torch_imports(how: FileScript) -> list[str]:
    first = [*(["import subprocess"] if how.watched else []), "import sys", "from pathlib import Path", ""]
    return [
        *first,
        "import numpy as np",
        "import torch",
        *(f"import {literals.dotted_name(name)}" for name in how.imports),
    ]


def torch_program(case: Case, desk: AttachmentFolder) -> list[str]:
    file = _file(case, "torch")
    return [HERE, f"program = torch.export.load({desk.model(file.path, file.sha256)})"]


def torch_arguments(case: Case, names: Sequence[str]) -> list[str]:
    """The program's inputs in its own order."""
    return [
        f"arrays = {_dict_text(case.inputs, names)}",
        "given = [torch.from_numpy(arrays[name]) for name in program.graph_signature.user_inputs]",
    ]


def _torch_node(name: str, names: Sequence[str]) -> list[str]:
    """One node of the program: what belongs to the program comes from it, what flows in was captured."""
    return [
        f"node = next(item for item in program.graph.nodes if item.name == {literals.value(name)})",
        "signature = program.graph_signature",
        "own = {**signature.inputs_to_parameters, **signature.inputs_to_buffers}",
        f"flowing = iter([{', '.join(f'torch.from_numpy({item})' for item in names)}])",
        "sources = node.all_input_nodes",
        "values = [program.state_dict[own[s.name]] if s.name in own else next(flowing) for s in sources]",
        "graph = torch.fx.Graph()  # of this node alone",
        "inside = {source: graph.placeholder(source.name) for source in sources}",
        "args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), inside.get)",
        "graph.output(graph.call_function(node.target, args, kwargs))",
        "run = torch.fx.GraphModule({}, graph)",
    ]


def onnx_file_parts(runtime: str, subject: Json, arrays: Arrays, how: FileScript, desk: AttachmentFolder) -> Parts:
    """An ONNX model that is too long to be written down, run by a runtime.

    Raises:
        Unprintable: if the inputs go in piece by piece, or there is no script for the runtime.
    """
    if subject["instances"] > subject["rows"] and any(item["cut"] != "whole" for item in subject["inputs"]):
        raise literals.Unprintable("a model that takes its inputs one by one")
    model = desk.data("model", ".onnx", arrays["weights:model"].tobytes())
    names = [f"x{index}" for index in range(len(subject["inputs"]))]
    steps = [
        HERE,
        *desk.arrays({n: arrays[f"inputs:{i['input']}"] for n, i in zip(names, subject["inputs"], strict=True)}),
    ]
    feeds = {item["tensor"]: name for name, item in zip(names, subject["inputs"], strict=True)}
    tensor = next((item["tensor"] for item in subject["outputs"] if item["name"] == how.wanted), None)
    lines = run_onnx(runtime, model, feeds, tensor or subject["outputs"][0]["tensor"])
    first = [*(["import subprocess"] if how.watched else []), "import sys", "from pathlib import Path", ""]
    return Parts([*first, "import numpy as np", RUNTIMES[runtime]], [*steps, *lines])


RUNTIMES = {
    "onnxruntime": "import onnxruntime",
    "openvino": "import openvino",
    "onnx:reference": "from onnx.reference import ReferenceEvaluator",
}


def run_onnx(runtime: str, path: str, feeds: Mapping[str, str], output: str) -> list[str]:
    """Lines that run the model at ``path`` and leave one of its tensors in ``observed``.

    Raises:
        Unprintable: if there is no script for the runtime.
    """
    given = "{" + ", ".join(f"{literals.value(tensor)}: {name}" for tensor, name in feeds.items()) + "}"
    wanted = literals.value(output)
    if runtime == "onnxruntime":
        return [
            f'session = onnxruntime.InferenceSession({path}, providers=["CPUExecutionProvider"])',
            f"observed = session.run([{wanted}], {given})[0]",
        ]
    if runtime == "openvino":
        return [
            f'compiled = openvino.compile_model({path}, "CPU", {{"INFERENCE_PRECISION_HINT": "f32"}})',
            f"observed = compiled({given})[{wanted}]",
        ]
    if runtime == "onnx:reference":
        return [f"observed = ReferenceEvaluator(str({path})).run([{wanted}], {given})[0]"]
    raise literals.Unprintable(f"a script for {runtime}")


def _dict_text(arrays: Mapping[str, Array], names: Sequence[str]) -> str:
    return "{" + ", ".join(f"{literals.value(key)}: {name}" for key, name in zip(arrays, names, strict=True)) + "}"


def _file(case: Case, *formats: str) -> ModelFile:
    file = case.subject
    if not isinstance(file, ModelFile) or file.format not in formats:
        raise literals.Unprintable("a model file of another kind")
    if file.parts:
        raise literals.Unprintable(f"a model that needs {file.parts[0][0]!r} beside it")
    if case.procedure.mode is not Mode.USER or case.procedure.dtype:
        raise literals.Unprintable("a model file in another mode or precision than its own")
    return file


def _only_node(case: Case) -> str:
    if len(case.procedure.nodes) != 1:
        raise literals.Unprintable(f"{len(case.procedure.nodes)} layers of a file at once")
    name, _, call = case.procedure.nodes[0].partition("#")
    if call not in ("", "0"):
        raise literals.Unprintable("a later call of a layer that is shared")
    return name
