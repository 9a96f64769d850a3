"""What a stranger's case file asks for, inspected before any worker hears of it.

Reading a case file makes sure that it is well formed (``store.casefile``); here is what it would make
a worker do: the variables its targets set, the model files it points at, the classes its layers name.
A case gets through where ``compare`` would take the same model, or where the user trusts it
(decision 17).
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from ...core.case import EXPORTED_ONNX, ApiCall, ArrayArg, Case, ModelFile, Subject
from ...core.errors import CaseFileError, ModelRefusedError
from ...core.graph import LayerGraph
from ...core.procedure import Procedure
from ...operators.catalogue import has_layer
from ...operators.functions.declared_calls import DECLARED
from ...operators.known_classes import LOSSES, OPTIMIZERS
from .keras_files import inspect_model_file, refusal, refused_classes
from .onnx_files import inspect_onnx_file
from .torch_files import inspect_torch_file

#: Settings of targets that change numbers and speed, and nothing else: not what is loaded, not where
#: files are read or written, not which program compiles. Those in capitals become variables of the
#: worker, where others (``LD_PRELOAD``, ``PYTHONPATH``, ``CXX``, ``XLA_FLAGS``) run code.
HARMLESS_SETTINGS = frozenset(
    [
        "threads",
        "optimization",
        "ATEN_CPU_CAPABILITY",
        "DNNL_DEFAULT_FPMATH_MODE",
        "DNNL_MAX_CPU_ISA",
        "JAX_DEFAULT_MATMUL_PRECISION",
        "JAX_DISABLE_JIT",
        "JAX_ENABLE_X64",
        "MKL_CBWR",
        "MKL_ENABLE_INSTRUCTIONS",
        "MKL_NUM_THREADS",
        "NPY_DISABLE_CPU_FEATURES",
        "OMP_NUM_THREADS",
        "ONEDNN_DEFAULT_FPMATH_MODE",
        "ONEDNN_MAX_CPU_ISA",
        "OPENBLAS_CORETYPE",
        "OPENBLAS_NUM_THREADS",
        "PYTHONHASHSEED",
        "TF_DETERMINISTIC_OPS",
        "TF_ENABLE_ONEDNN_OPTS",
        "TF_NUM_INTEROP_THREADS",
        "TF_NUM_INTRAOP_THREADS",
    ]
)

#: The canonical form alone, so that nobody reads a name in another way than we do here. An environment
#: (``@name``) is one the user has declared.
_TARGET = re.compile(r"[a-z][a-z0-9_]*(?::[a-z0-9_.]+)?(?:@[\w.-]+)?(?:\{(?P<settings>[^{}]*)\})?", re.ASCII)
#: No path, no list, no option.
_VALUE = re.compile(r"[\w.+-]{1,64}", re.ASCII)

#: Libraries choose how to read a file by its suffix, so it must be the one of the format we looked for.
_SUFFIXES: Mapping[str, tuple[str, ...]] = {
    "keras": (".keras",),
    "h5": (".h5", ".hdf5"),
    "hdf5": (".h5", ".hdf5"),
    "onnx": (".onnx",),
    EXPORTED_ONNX: (".onnx",),
    "torch": (".pt2",),
}

_MOST_SHOWN = 120


def inspect_case(case: Case, targets: Sequence[str], *, trust: bool, imports: Sequence[str] = ()) -> tuple[str, ...]:
    """Make sure that a case may be run, and return the targets it may be run on.

    Model files are read and must be those the case was made with, trusted or not.

    Args:
        targets: those the case file names; what the user names needs no inspection.
        trust: the user takes the responsibility for what the case may run.
        imports: modules the user brings, which may define classes of the case's models.

    Raises:
        CaseFileError: if its targets, layers or procedure could run code of somebody's.
        ModelRefusedError: if a model of it is missing, has changed, or would be refused by itself.
    """
    if not trust:
        for target in targets:
            _check_target(target)
        for procedure in _procedures(case):
            _check_procedure(procedure, imports)
    for subject in _subjects(case):
        if isinstance(subject, ModelFile):
            _check_file(subject, trust, imports)
        elif isinstance(subject, LayerGraph) and not trust:
            _check_graph(subject, imports)
        elif isinstance(subject, ApiCall) and not trust:
            _check_call(subject, case)
    return tuple(targets)


def _subjects(case: Case) -> Iterator[Subject]:
    yield case.subject
    if case.counterpart and case.counterpart.subject not in (None, case.subject):
        assert case.counterpart.subject is not None
        yield case.counterpart.subject


def _procedures(case: Case) -> Iterator[Procedure]:
    yield case.procedure
    if case.counterpart and case.counterpart.procedure:
        yield case.counterpart.procedure


def _check_target(target: str) -> None:
    match = _TARGET.fullmatch(target)
    if not match:
        raise CaseFileError(f"the case's target {_brief(target)} is not a plain target name; needs --trust")
    for item in filter(None, (match["settings"] or "").split(",")):
        name, _, value = item.partition("=")
        if name not in HARMLESS_SETTINGS or not _VALUE.fullmatch(value):
            raise CaseFileError(
                f"the case's target {_brief(target)} sets {_brief(name)}, which could make the worker run other code; "
                "needs --trust"
            )


def _check_procedure(procedure: Procedure, imports: Sequence[str]) -> None:
    for recipe, known in ((procedure.loss, LOSSES), (procedure.optimizer, OPTIMIZERS)):
        if recipe is None:
            continue
        if recipe.name not in known:
            raise CaseFileError(f"the case trains with {_brief(recipe.name)}, which is not Keras' own; needs --trust")
        _check_classes(f"{recipe.name} in the case", recipe.params, imports)


def _check_call(call: ApiCall, case: Case) -> None:
    """Arguments and arrays are called by names that scripts may repeat."""
    for name in (*call.kwargs, *case.inputs, *_array_names([*call.args, *call.kwargs.values()])):
        if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name):
            raise CaseFileError(f"the case's argument {_brief(str(name))} is no name in Python; needs --trust")
    _check_tables(call)


def _check_tables(call: ApiCall) -> None:
    """A table is given as it is: in the place of a list, Keras takes the name of a file, and opens it."""
    spec = DECLARED.get(call.api)
    for parameter in spec.parameters if spec else ():
        given = call.kwargs.get(parameter.name)
        if parameter.data and not isinstance(given, (list, tuple, type(None))):
            raise CaseFileError(f"the case's {parameter.name} is no list, but {_brief(str(given))}; needs --trust")


def _array_names(value: object) -> Iterator[object]:
    if isinstance(value, ArrayArg):
        yield value.name
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _array_names(item)


def _check_graph(graph: LayerGraph, imports: Sequence[str]) -> None:
    for node in graph.nodes:
        if not has_layer(node.op):
            raise CaseFileError(
                f"the case's layer {_brief(node.name)} is a {_brief(node.op)}, which the catalogue does not have; "
                "needs --trust"
            )
        _check_classes(f"the case's layer {_brief(node.name)}", [node.params, node.call_params], imports)


def _check_classes(what: str, value: object, imports: Sequence[str]) -> None:
    try:
        refused = refused_classes(value, imports)
    except RecursionError as error:
        raise CaseFileError(f"{what} has parameters that are nested too deeply") from error
    if refused:
        raise CaseFileError(f"{what} {refusal(refused)}")


def _check_file(file: ModelFile, trust: bool, imports: Sequence[str]) -> None:
    path = Path(file.path)
    if file.format not in _SUFFIXES:
        if trust:
            return  # code that builds a model; there is nothing to look into
        raise CaseFileError(f"the case's model is of format {_brief(file.format)}, which can run code; needs --trust")
    if not trust and path.suffix not in _SUFFIXES[file.format]:
        expected = " or ".join(_SUFFIXES[file.format])
        raise ModelRefusedError(f"the case's model {_brief(file.path)} has not the suffix of its format ({expected})")
    if not path.is_file():
        raise ModelRefusedError(
            f"no model at {_brief(file.path)}; put the file with sha256 {_brief(file.sha256)} there"
        )
    found = _INSPECTORS[file.format](path, trust, imports)
    if (found.sha256, found.parts) != (file.sha256, file.parts):
        raise ModelRefusedError(
            f"model {_brief(file.path)} or its data has changed: its sha256 is {found.sha256}, "
            f"the case was made with {_brief(file.sha256)}"
        )


def _keras(path: Path, trust: bool, imports: Sequence[str]) -> ModelFile:
    return inspect_model_file(path, trust=trust, imports=imports).model


def _onnx(path: Path, trust: bool, imports: Sequence[str]) -> ModelFile:
    return inspect_onnx_file(path).file


def _torch(path: Path, trust: bool, imports: Sequence[str]) -> ModelFile:
    inspected = inspect_torch_file(path, trust=trust)
    if inspected.containers and not trust:
        raise ModelRefusedError(
            f"{path.name} hands over {_brief(inspected.containers[0])}, a class that loading it would import; "
            "needs --trust"
        )
    return inspected.model


_INSPECTORS: Mapping[str, Callable[[Path, bool, Sequence[str]], ModelFile]] = {
    "keras": _keras,
    "h5": _keras,
    "hdf5": _keras,
    "onnx": _onnx,
    EXPORTED_ONNX: _onnx,
    "torch": _torch,
}


def _brief(text: str) -> str:
    """In one line and of bounded length, whatever a stranger put into it."""
    shown = repr(text)
    return shown if len(shown) <= _MOST_SHOWN else shown[: _MOST_SHOWN - 3] + "..."
