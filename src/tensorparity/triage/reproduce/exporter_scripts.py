"""Scripts that show an exporter wrong: a model, its export, a runtime, and what the model itself gives.

Nothing is claimed in numbers: the model is the truth about itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...core.case import Case, ModelFile
from ...core.graph import LayerGraph
from ...core.verdict import Kind
from . import literals
from .attachments import AttachmentFolder
from .file_scripts import (
    FileScript,
    inputs,
    keras_imports,
    keras_model,
    outcome,
    run_onnx,
    torch_arguments,
    torch_imports,
    torch_node,
    torch_output,
    torch_program,
    user_imports,
)
from .keras_scripts import keras_parts
from .script import MOST_LINES, heading_lines

#: Where each exporter is at home: the target that writes the file.
EXPORTERS = {"keras-tf2onnx": "keras:tensorflow", "keras-torch": "keras:torch", "torch.onnx": "torch:eager"}

_RUNTIME = "onnxruntime"
_PATH = '"model.onnx"'
#: Of a whole model's outputs: amplified rounding, where no layer is known to be wrong.
_SHARE = 0.01


def exporter_script(
    title: str, case: Case, exporter: str, kind: Kind, how: FileScript, desk: AttachmentFolder, tolerance: float | None
) -> str:
    """The script: exits 1 while the exported file gives something else than the model.

    Args:
        tolerance: absolute, what rounding explains; None for a share of the scale of what is expected.

    Raises:
        Unprintable: if it cannot be written in a few lines.
    """
    target = EXPORTERS.get(exporter)
    if target is None:
        raise literals.Unprintable(f"a script for the exporter {exporter}")
    backend = target.partition(":")[2]
    if exporter == "torch.onnx":
        imports, steps = _torch(case, how, desk)
    elif isinstance(case.subject, ModelFile):
        imports, steps = _keras_file(case, backend, how, desk)
    else:
        imports, steps = _keras_graph(case, backend, how, desk)
    runs = _runs(how)
    checks = comparison_lines(tolerance)
    if kind is Kind.ERROR:
        steps, checks = [*steps, "try:", *(f"    {line}" for line in runs)], completion_lines()
    else:
        steps = [*steps, *runs]
    lines = [*heading_lines(title), *imports, "import onnxruntime", "", *steps, *checks]
    if len(lines) > MOST_LINES + 4:
        raise literals.Unprintable(f"a script of {len(lines)} lines")
    return "\n".join(lines) + "\n"


def _keras_graph(case: Case, backend: str, how: FileScript, desk: AttachmentFolder) -> tuple[list[str], list[str]]:
    """The smallest layers, written down."""
    graph = case.subject
    assert isinstance(graph, LayerGraph)
    parts = keras_parts(case, backend, None, watched=False)
    *steps, last = parts.steps
    if not last.startswith("observed = model.predict("):
        raise literals.Unprintable("an export of more than a forward pass")
    names = ["x"] if len(graph.inputs) == 1 else [f"x{index}" for index in range(len(graph.inputs))]
    imports = [*parts.imports, *user_imports(how, desk)]
    return imports, [*steps, last.replace("observed", "expected", 1), *_exported_by_keras(), _given_line(names)]


def _keras_file(case: Case, backend: str, how: FileScript, desk: AttachmentFolder) -> tuple[list[str], list[str]]:
    """The file, or one of its layers as a model of its own."""
    lines, layer = keras_model(case, how, desk)
    names, arrays = inputs(case, desk)
    lines += arrays
    if layer:
        if len(names) != 1:
            raise literals.Unprintable(f"a layer of a file on {len(names)} inputs")
        lines.append("model = keras.Sequential([keras.Input(x.shape[1:], dtype=str(x.dtype)), layer])")
    given = names[0] if len(names) == 1 else f"[{', '.join(names)}]"
    predicted = f"model.predict({given}, verbose=0)"
    lines.append(f"expected = {outcome(predicted, how)}")
    return keras_imports(backend, how, desk), [*lines, *_exported_by_keras(), _given_line(names)]


def _exported_by_keras() -> list[str]:
    return [f'model.export({_PATH}, format="onnx", verbose=False)']


def _torch(case: Case, how: FileScript, desk: AttachmentFolder) -> tuple[list[str], list[str]]:
    names, arrays = inputs(case, desk)
    lines = [*torch_program(case, desk), *arrays]
    if case.procedure.nodes:
        lines += torch_node(case, names)
        run, exported = "run(*values)", "run, tuple(values)"
        given = "values"
    else:
        lines += torch_arguments(case, names)
        run, exported = "program.module()(*args, **kwargs)", "program"
        given = "given"
    lines += [
        f"expected = {torch_output(run, how)}.detach().numpy()",
        f"torch.onnx.export({exported}, dynamo=True, verbose=False).save({_PATH})",
        f"given = [item.numpy() for item in {given}]",
    ]
    return torch_imports(how, desk), lines


def _given_line(names: Sequence[str]) -> str:
    return f"given = [{', '.join(names)}]"


def _runs(how: FileScript) -> list[str]:
    """The exported inputs are in the model's order; names are the exporter's own."""
    session, *_ = run_onnx(_RUNTIME, _PATH, {}, "")
    return [
        session,
        "feeds = {item.name: value for item, value in zip(session.get_inputs(), given)}",
        f"observed = session.run(None, feeds)[{how.position}]",
    ]


def comparison_lines(tolerance: float | None) -> list[str]:
    """Whether ``observed`` is ``expected``, as far as rounding goes."""
    allowed = f"{_SHARE} * np.nanmax(np.abs(expected))" if tolerance is None else f"{tolerance:.2g}"
    return [
        "same = observed.shape == expected.shape",
        "worst = np.argmax(np.abs(observed - expected)) if same else 0",
        'print("expected:", expected.shape, expected.flat[worst])',
        'print("observed:", observed.shape, observed.flat[worst])',
        f"close = same and np.allclose(observed, expected, rtol=0, atol={allowed}, equal_nan=True)",
        "sys.exit(0 if close else 1)",
    ]


def completion_lines() -> list[str]:
    """What follows a ``try`` that gives ``observed``."""
    return [
        "except Exception as error:",
        '    print("expected:", expected.shape)',
        '    print("observed:", type(error).__name__, str(error).strip()[:500])',
        "    sys.exit(1)",
        'print("observed:", observed.shape)',
    ]
