"""One call of a public function, written as a person would; also for native torch."""

from __future__ import annotations

from dataclasses import replace

from ...core.case import ApiCall, ArrayArg, Case, TupleArg
from ...operators.functions.api import composed_call, returns_several
from . import literals
from .claim import Claim
from .operator_scripts import TENSORS, call_text, leaves_of
from .script import ScriptParts


def argument_lines(case: Case, wrap: str) -> list[str]:
    """One line per array; ``wrap`` turns it into the library's tensor."""
    return [
        f"{literals.name(name)} = " + (f"{wrap}({literals.array(array)})" if wrap else literals.array(array))
        for name, array in case.inputs.items()
    ]


def call_expression(call: ApiCall) -> str:
    arguments = [_argument(item) for item in call.args]
    arguments += [f"{literals.name(name)}={_argument(item)}" for name, item in call.kwargs.items()]
    return f"{literals.dotted_name(call.api)}({', '.join(arguments)})"


def position(claim: Claim | None) -> int:
    """Which of several results is looked at; they are named by their numbers."""
    return int(claim.name) if claim is not None and claim.name.isdecimal() else 0


def _argument(item: object) -> str:
    if isinstance(item, ArrayArg):
        return literals.name(item.name)
    if isinstance(item, TupleArg) and any(isinstance(part, ArrayArg) for part in item.items):
        return f"({''.join(_argument(part) + ', ' for part in item.items)})"
    if isinstance(item, (list, tuple)) and any(isinstance(part, ArrayArg) for part in item):
        return f"[{', '.join(_argument(part) for part in item)}]"
    return literals.value(item)


def composed_parts(case: Case, library: str, flavour: str, *, watched: bool) -> ScriptParts | None:
    """The parts of a script for a call whose arguments are made of arrays; None for all others.

    Raises:
        Unprintable: if it is not written in the library's plain words.
    """
    call = case.subject
    composed = composed_call(call, case.inputs) if isinstance(call, ApiCall) else None
    if composed is None:
        return None
    if flavour not in ("eager", ""):
        raise literals.Unprintable(f"{composed.api} in compiled code")
    imports = [*(["import subprocess"] if watched else []), "import sys", "", "import numpy as np", f"import {library}"]
    used = {leaf.name for leaf in leaves_of(composed)}
    lines = argument_lines(replace(case, inputs={n: a for n, a in case.inputs.items() if n in used}), "")
    return ScriptParts(imports, [*lines, f"observed = np.array({call_text(composed, TENSORS[library])})"])


def native_parts(case: Case, library: str, claim: Claim | None, *, watched: bool) -> ScriptParts:
    """The parts of a script for one call of a library's function, on its own tensors.

    Raises:
        Unprintable: if nobody has said how that library makes tensors.
    """
    call = case.subject
    if not isinstance(call, ApiCall) or library not in TENSORS:
        raise literals.Unprintable(f"a call of {library} is not written down")
    module = call.api.rpartition(".")[0] if library == "jax" else library
    modules = sorted({module, *(["jax.numpy"] if library == "jax" else [])})
    imports = [*(["import subprocess"] if watched else []), "import sys", "", "import numpy as np"]
    imports += [f"import {name}" for name in modules]
    part = f"[{position(claim)}]" if returns_several(call.api) else ""
    steps = argument_lines(case, TENSORS[library].partition("(")[0])
    return ScriptParts(imports, [*steps, f"observed = np.array({call_expression(call)}{part})"])


def torch_parts(case: Case, flavour: str, claim: Claim | None, *, watched: bool) -> ScriptParts:
    """The parts of a script for native torch.

    Raises:
        Unprintable: if the case is not a call.
    """
    call = case.subject
    if not isinstance(call, ApiCall):
        raise literals.Unprintable("a model file is no text; the case file runs it")
    imports = [*(["import subprocess"] if watched else []), "import sys", "", "import numpy as np", "import torch"]
    expression = call_expression(call)
    steps = argument_lines(case, "torch.from_numpy")
    if flavour == "compile":
        names = ", ".join(map(literals.name, case.inputs))
        steps.append(f"compiled = torch.compile(lambda {names}: {expression})")
        expression = f"compiled({names})"
    part = f"[{position(claim)}]" if returns_several(call.api) else ""
    return ScriptParts(imports, [*steps, f"observed = {expression}{part}.numpy()"])
