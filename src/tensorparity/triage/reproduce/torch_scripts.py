"""Scripts for layers in native torch: the program of its functions, line by line."""

from __future__ import annotations

from collections.abc import Mapping

from ...core.arrays import Array, Arrays, dtype_name, is_floating
from ...core.jsontext import Json
from . import literals
from .claim import Claim
from .script import ScriptParts

#: Groups of the arrays that a program's tensors are named after.
_GROUPS = {"x": "inputs", "w": "weights", "y": "labels"}


def torch_graph_parts(
    subject: Json, arrays: Arrays, flavour: str, claim: Claim | None, *, watched: bool
) -> ScriptParts:
    """The parts of a script for a lowered graph.

    Raises:
        Unprintable: if it is run in slices, or what is claimed is not in it.
    """
    if "nodes" not in subject:
        raise literals.Unprintable("a batch in slices")
    writer = _TorchScriptWriter(subject, arrays, needs_gradient=claim is not None and claim.group == "gradients")
    calls = writer.calls()
    wanted = _wanted_tensor(subject, claim)
    steps = [*writer.leaves(), *(_compiled_lines(writer, calls, wanted) if flavour == "compile" else calls)]
    imports = [*(["import subprocess"] if watched else []), "import sys", "", "import numpy as np", "import torch"]
    return ScriptParts(imports, [*steps, *writer.observed(wanted, claim)])


def _wanted_tensor(subject: Json, claim: Claim | None) -> str:
    """The tensor that is looked at, or that gradients are of."""
    if claim is not None and claim.group in ("gradients", "losses") and subject["loss"]:
        return str(subject["loss"])
    outputs = dict(subject["outputs"])
    for key, _, names, _ in subject["replays"]:
        outputs.update({key if index == 0 else f"{key}.{index}": name for index, name in enumerate(names)})
    if not outputs:
        raise literals.Unprintable("a program without outputs")
    found = outputs.get(claim.name) if claim is not None else None
    return str(found or next(iter(outputs.values())))


class _TorchScriptWriter:
    """Python for a program; leaves are called ``x0``, ``w0`` and ``y0``, what is computed ``t1`` and so on."""

    def __init__(self, subject: Json, arrays: Arrays, *, needs_gradient: bool) -> None:
        self._subject = subject
        self._arrays = arrays
        self._needs_gradient = needs_gradient
        self._names: dict[str, str] = {}

    def calls(self) -> list[str]:
        return [self._call(*step) for _, steps in self._subject["nodes"] for step in steps]

    def _call(self, api: str, args: list[Json], kwargs: Mapping[str, Json], result: Json) -> str:
        given = [self._text(item) for item in args]
        given += [f"{literals.name(name)}={self._text(item)}" for name, item in kwargs.items()]
        names = [result] if isinstance(result, str) else result
        comma = "," if len(names) == 1 and not isinstance(result, str) else ""
        return f"{', '.join(map(literals.name, names))}{comma} = {literals.dotted_name(api)}({', '.join(given)})"

    def _text(self, item: Json) -> str:
        if isinstance(item, dict):
            return self.name(item["$"]) if "$" in item else f"torch.{literals.name(item['dtype'] or self._dtype)}"
        if isinstance(item, list):
            return f"[{', '.join(map(self._text, item))}]"
        return literals.value(item)

    @property
    def _dtype(self) -> str:
        return str(self._subject["dtype"])

    def name(self, tensor: str) -> str:
        """A variable for a tensor; leaves are numbered as they are met."""
        kind, _, rest = tensor.partition(":")
        if not rest:
            return literals.name(tensor)
        if tensor not in self._names:
            count = sum(other.startswith(f"{kind}:") for other in self._names)
            self._names[tensor] = f"{literals.name(kind)}{count}"
        return self._names[tensor]

    def leaves(self) -> list[str]:
        """One line per array, of those that ``calls`` has met."""
        return [f"{name} = {self._tensor(self._array(tensor))}" for tensor, name in self._names.items()]

    def _array(self, tensor: str) -> Array:
        kind, _, rest = tensor.partition(":")
        return self._arrays[f"{_GROUPS[kind]}:{rest}"]

    def _tensor(self, array: Array, *, leaf: bool = True) -> str:
        text = f"torch.from_numpy({literals.array(array)})"
        if not is_floating(dtype_name(array)):
            return text
        if dtype_name(array) != self._dtype:
            text += f".to(torch.{literals.name(self._dtype)})"
        return f"{text}.requires_grad_()" if leaf and self._needs_gradient else text

    @property
    def arguments(self) -> str:
        return ", ".join(self._names.values())

    def observed(self, wanted: str, claim: Claim | None) -> list[str]:
        found = self.name(wanted)
        if not self._needs_gradient or claim is None:
            return [f"observed = {found}.numpy()"]
        lines, given = [], ""
        cotangents = [name for name in self._arrays if name.startswith("cotangents:")]
        if cotangents:
            lines.append(f"cotangent = {self._tensor(self._arrays[cotangents[0]], leaf=False)}")
            given = ", cotangent"
        return [*lines, f"observed = torch.autograd.grad({found}, {self._source(claim.name)}{given})[0].numpy()"]

    def _source(self, gradient: str) -> str:
        """What the gradient is with respect to: a leaf, or a node of the graph."""
        kind, _, rest = gradient.partition(":")
        tensor = {"input": f"x:{rest}", "weight": f"w:{rest}"}.get(kind) or dict(self._subject["traced"]).get(rest)
        if tensor is None or (":" in tensor and tensor not in self._names):
            raise literals.Unprintable(f"the gradient {gradient}")
        return self.name(tensor)


def _compiled_lines(writer: _TorchScriptWriter, calls: list[str], wanted: str) -> list[str]:
    body = [f"    {line}" for line in calls]
    name = writer.name(wanted)
    whole = ["@torch.compile", f"def model({writer.arguments}):", *body, f"    return {name}"]
    return [*whole, f"{name} = model({writer.arguments})"]
