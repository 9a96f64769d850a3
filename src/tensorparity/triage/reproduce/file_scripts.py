"""Scripts around a model file: for layers that no catalogue knows, and so no text can build.

The file stands beside the script. A layer of it is run alone, on the inputs that were captured; a whole model on
the smallest batch that shows it.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...core.arrays import Array, Arrays
from ...core.case import Case, ModelFile
from ...core.jsontext import Json
from ...core.procedure import Goal, Mode
from . import literals
from .attachments import HERE, AttachmentFolder
from .onnx_scripts import joined_lines, one_run
from .script import ScriptParts

KERAS_FORMATS = ("keras", "h5", "hdf5")


@dataclass(frozen=True)
class FileScript:
    """What is known besides the case.

    Args:
        outputs: names of the outputs, in the model's order.
        wanted: the one that is looked at.
        imports: the user's modules that the file needs; ``import_paths`` is where they are.
        trust: it may run code of its own.
    """

    outputs: Sequence[str]
    wanted: str = ""
    imports: Sequence[str] = ()
    trust: bool = False
    watched: bool = False
    import_paths: Sequence[str] = ()

    @property
    def position(self) -> int:
        return list(self.outputs).index(self.wanted) if self.wanted in self.outputs else 0


def keras_file_parts(case: Case, backend: str, how: FileScript, desk: AttachmentFolder) -> ScriptParts:
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
        return ScriptParts(
            keras_imports(backend, how, desk), [*steps, f"observed = {outcome(f'layer({names[0]})', how, 'layer')}"]
        )
    given = names[0] if len(names) == 1 else _dict_text(case.inputs, names)
    size = f", batch_size={literals.value(case.procedure.batch_size)}" if case.procedure.batch_size else ""
    return ScriptParts(
        keras_imports(backend, how, desk),
        [*steps, f"observed = {outcome(f'model.predict({given}{size}, verbose=0)', how)}"],
    )


def user_imports(how: FileScript, desk: AttachmentFolder) -> list[str]:
    """Lines that import the user's modules, from whatever folder the script is run.

    A module that is one file stands beside the script, where Python looks first; a package stays where it is.
    """
    lines: list[str] = []
    for module in how.imports:
        name = literals.dotted_name(module)
        place = next((Path(folder) for folder in how.import_paths if _holds(Path(folder), name)), None)
        if place is not None and (place / f"{name}.py").is_file():
            desk.module(place / f"{name}.py")
        elif place is not None:
            lines.append(f"sys.path.append({literals.value(str(place.resolve()))})  # where {name} is")
        lines.append(f"import {name}")
    return lines


def _holds(folder: Path, module: str) -> bool:
    """Whether a folder of the user's has a module; installed packages need no path."""
    first = module.partition(".")[0]
    installed = "site-packages" in folder.parts or "dist-packages" in folder.parts
    return not installed and ((folder / f"{first}.py").is_file() or (folder / first).is_dir())


def keras_imports(backend: str, how: FileScript, desk: AttachmentFolder) -> list[str]:
    return [
        "import os",
        *(["import subprocess"] if how.watched else []),
        "import sys",
        "from pathlib import Path",
        "",
        f'os.environ["KERAS_BACKEND"] = {literals.value(backend)}',
        "import keras",
        "import numpy as np",
        *user_imports(how, desk),
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


def torch_file_parts(case: Case, flavour: str, how: FileScript, desk: AttachmentFolder) -> ScriptParts:
    """Load an exported program with torch; call it, or one of its nodes.

    Raises:
        Unprintable: if it is no such program.
    """
    names, lines = inputs(case, desk)
    steps = [*torch_program(case, desk), *lines]
    if case.procedure.goal is Goal.REPLAY:
        steps += torch_node(case, names)
        run, call = "run", "(*values)"
    else:
        steps += torch_arguments(case, names)
        run, call = "program.module()", "(*args, **kwargs)"
    made = f"torch.compile({run}){call}" if flavour == "compile" else f"{run}{call}"
    return ScriptParts(torch_imports(how, desk), [*steps, f"observed = {torch_output(made, how)}.detach().numpy()"])


def torch_output(expression: str, how: FileScript) -> str:
    """The output that is looked at; a program may return it in a dictionary, beside others."""
    return f"torch.utils._pytree.tree_leaves({expression})[{how.position}]"


def torch_imports(how: FileScript, desk: AttachmentFolder) -> list[str]:
    first = [*(["import subprocess"] if how.watched else []), "import sys", "from pathlib import Path", ""]
    return [
        *first,
        "import numpy as np",
        "import torch",
        *user_imports(how, desk),
    ]


def torch_program(case: Case, desk: AttachmentFolder) -> list[str]:
    file = _file(case, "torch")
    return [HERE, f"program = torch.export.load({desk.model(file.path, file.sha256)})"]


def torch_arguments(case: Case, names: Sequence[str]) -> list[str]:
    """The program's inputs in its own order and containers."""
    if not _with_batch_axis(case):
        raise literals.Unprintable("a program without a batch axis, as a whole")
    return [
        f"arrays = {_dict_text(case.inputs, names)}",
        "given = [torch.from_numpy(arrays[name]) for name in program.graph_signature.user_inputs]",
        "args, kwargs = torch.utils._pytree.tree_unflatten(given, program.call_spec.in_spec)",
    ]


def _with_batch_axis(case: Case) -> bool:
    """Whether the arrays of the case are what the program takes, without an axis of instances before it."""
    with zipfile.ZipFile(_file(case, "torch").path) as archive:
        name = next(name for name in archive.namelist() if name.endswith("/models/model.json"))
        described = json.loads(archive.read(name))["graph_module"]["graph"]["tensor_values"]
    return all(len(described[key]["sizes"]) == array.ndim for key, array in case.inputs.items() if key in described)


def torch_node(case: Case, names: Sequence[str]) -> list[str]:
    """One node of the program: what belongs to the program comes from it, what flows in was captured."""
    return [
        f"node = next(item for item in program.graph.nodes if item.name == {literals.value(_only_node(case))})",
        "signature, state = program.graph_signature, {**program.state_dict, **program.constants}",
        "own = {**signature.inputs_to_parameters, **signature.inputs_to_buffers}",
        "own.update(signature.inputs_to_lifted_tensor_constants)",
        "sources = [s for s in node.all_input_nodes if isinstance(s.meta['val'], torch.Tensor)]",
        f"flowing = iter([{', '.join(f'torch.from_numpy({item})' for item in names)}])",
        "values = [state[own[s.name]].detach() if s.name in own else next(flowing) for s in sources]",
        "pairs = [pair for s, v in zip(sources, values) for pair in zip(s.meta['val'].shape, v.shape)]",
        "sizes = {size.node.expr: n for size, n in pairs if isinstance(size, torch.SymInt)}",
        "graph = torch.fx.Graph()  # of this node alone",
        "inside = {s: graph.placeholder(s.name) for s in sources}",
        "number = lambda s: inside[s] if s in inside else int(s.meta['val'].node.expr.xreplace(sizes))",
        "args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), number)",
        "graph.output(graph.call_function(node.target, args, kwargs))",
        "run = torch.fx.GraphModule({}, graph)",
    ]


def onnx_file_parts(
    runtime: str, subject: Json, arrays: Arrays, how: FileScript, desk: AttachmentFolder
) -> ScriptParts:
    """An ONNX model that is too long to be written down, run by a runtime.

    Raises:
        Unprintable: if several sets of inputs go in one by one, or there is no script for the runtime.
    """
    fed = one_run(subject, arrays)
    model = desk.data("model", ".onnx", arrays["weights:model"].tobytes())
    names = [f"x{index}" for index in range(len(subject["inputs"]))]
    steps = [
        HERE,
        *desk.arrays(dict(zip(names, fed.values(), strict=True))),
    ]
    feeds = {item["tensor"]: name for name, item in zip(names, subject["inputs"], strict=True)}
    tensor = next((item["tensor"] for item in subject["outputs"] if item["name"] == how.wanted), None)
    lines = run_onnx(runtime, model, feeds, tensor or subject["outputs"][0]["tensor"])
    lines += joined_lines(subject, how.wanted)
    first = [*(["import subprocess"] if how.watched else []), "import sys", "from pathlib import Path", ""]
    return ScriptParts([*first, "import numpy as np", RUNTIMES[runtime]], [*steps, *lines])


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
