"""A call computed in two ways, written as a person would: both sides, and the comparison."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.arrays import EXTENSION_DTYPES, Array, dtype_name
from ...core.call import CALLED, ITEM, SEVERAL, ApiCall, ArrayArg, DtypeArg, TupleArg
from ...core.case import Case
from ...core.rule import Agreement, demands_of
from ...core.suspicion import Suspicion
from . import literals
from .script import MOST_LINES, heading_lines


@dataclass(frozen=True)
class Library:
    """How a library is written.

    Args:
        tensor: makes a tensor of an array.
        numpy: makes an array of a tensor.
        dtype: how its dtypes are written.
        before: lines before it is imported.
        others: in place of its name, what is imported.
    """

    imports: str
    tensor: str
    numpy: str
    dtype: str
    before: str = ""


_LIBRARIES = {
    "torch": Library("import torch", "torch.tensor({})", "{}.detach().resolve_conj().numpy()", "torch.{}"),
    "tensorflow": Library("import tensorflow", "tensorflow.constant({})", "{}.numpy()", "tensorflow.{}"),
    "jax": Library("import jax\nimport jax.numpy", "jax.numpy.array({})", "np.array({})", "jax.numpy.{}"),
    "keras": Library(
        "import keras",
        "keras.ops.convert_to_tensor({})",
        "keras.ops.convert_to_numpy({})",
        '"{}"',
        'import os\n\nos.environ["KERAS_BACKEND"] = "{}"',
    ),
}

#: By variant: the second side, with ``f`` the function and ``{given}`` its arguments.
_WAYS: Mapping[str, str] = {
    "": "f({given})",
    "inductor": "torch.compile(f, dynamic=False)({given})",
    "aot_eager": 'torch.compile(f, backend="aot_eager", dynamic=False)({given})',
    "inductor captured": "torch.compile(lambda: f({given}), dynamic=False)()",
    "aot_eager captured": 'torch.compile(lambda: f({given}), backend="aot_eager", dynamic=False)()',
    "jit.trace": "torch.jit.trace(f, ({given},), check_trace=False, strict=False)({given})",
    "strided": "f(*[torch.stack([t, t], -1).flatten(-2)[..., ::2] if t.ndim else t for t in ({given},)])",
    "turned": "f(*[t.permute(*range(t.ndim)[::-1]).contiguous().permute(*range(t.ndim)[::-1]) for t in ({given},)])",
    "shifted": "f(*[torch.cat([t.new_zeros(1), t.reshape(-1)])[1:].view(t.shape) for t in ({given},)])",
    "expanded": "f(*[t[:1].expand(t.shape) if t.ndim else t for t in ({given},)])",
    "channels_last": "f(*[t.to(memory_format=torch.channels_last) if t.ndim == 4 else t for t in ({given},)])",
    "vmap": "[leaf[0] for leaf in leaves({vmap}(f)(*[t[None] for t in ({given},)]))]",
    "tf.function": "tensorflow.function(f)({given})",
    "tf.function captured": "tensorflow.function(lambda: f({given}))()",
    "xla": "tensorflow.function(f, jit_compile=True)({given})",
    "xla captured": "tensorflow.function(lambda: f({given}), jit_compile=True)()",
    "jax.jit": "jax.jit(f)({given})",
    "jax.jit captured": "jax.jit(lambda: f({given}))()",
    "checkpoint": "jax.checkpoint(f)({given})",
}
_VMAP = {"torch": "torch.vmap", "jax": "jax.vmap", "keras": "keras.ops.vectorized_map"}


def equivalence_script(title: str, suspicion: Suspicion, flavour: str) -> str:
    """The text of a script that computes both sides and compares them.

    Raises:
        Unprintable: if it cannot be written in a few lines.
    """
    first, second = suspicion.case.sides()
    root = _root(first)
    if root not in _LIBRARIES or first.procedure.rows is not None:
        raise literals.Unprintable("it shows among others only")
    library = _LIBRARIES[root]
    head = [library.before.format(flavour)] if library.before else []
    head = [*head, "import sys", "", "import numpy as np", library.imports, ""]
    lines = [*heading_lines(title), *_flat(head), *_helpers(root, first.procedure.derivative)]
    lines += _side("first", first, library, root)
    lines += _side("second", second, library, root)
    lines += _comparison(suspicion)
    if len(lines) > MOST_LINES + 12 or max(map(len, lines)) > 4000:
        raise literals.Unprintable(f"a script of {len(lines)} lines")
    return "\n".join(lines) + "\n"


def _flat(lines: list[str]) -> list[str]:
    return [part for line in lines for part in line.split("\n")]


def _root(case: Case) -> str:
    assert isinstance(case.subject, ApiCall)
    return next((call.api.partition(".")[0] for call in case.subject.calls() if call.api[:1].isalpha()), "")


def _helpers(root: str, derivative: int) -> list[str]:
    lines = [
        "def leaves(value):",
        "    value = list(value.values()) if isinstance(value, dict) else value",
        "    return [leaf for item in value for leaf in leaves(item)] if isinstance(value, (list, tuple)) else [value]",
        "",
        "def attempt(run):",
        "    try:",
        "        return run()",
        "    except Exception as error:",
        '        return f"{type(error).__name__}: {str(error).strip()[:300]}"',
        "",
    ]
    return lines + (_GRADIENTS.get(root, []) if derivative else [])


_QUARTERS = "1 + 0.25 * (np.arange({size}) % 5)"
_GRADIENTS = {
    "torch": [
        "def gradients(run, given):  # pulled back with 1, 1.25, 1.5, ...",
        "    given = [t.detach().requires_grad_(t.is_floating_point() or t.is_complex()) for t in given]",
        "    ends = [leaf for leaf in leaves(run(*given)) if leaf.requires_grad]",
        "    pull = [torch.tensor(1 + 0.25 * (np.arange(e.numel()) % 5)).reshape(e.shape).to(e.dtype) for e in ends]",
        "    return torch.autograd.grad(ends, [t for t in given if t.requires_grad], pull, allow_unused=True)",
        "",
    ],
    "tensorflow": [
        "def gradients(run, given):  # pulled back with 1, 1.25, 1.5, ...",
        "    with tensorflow.GradientTape() as tape:",
        "        tape.watch(given)",
        "        ends = [leaf for leaf in leaves(run(*given)) if leaf.dtype.is_floating]",
        "    pull = [np.resize(1 + 0.25 * np.arange(5), e.shape).astype(e.dtype.name) for e in ends]",
        "    return tape.gradient(ends, given, output_gradients=pull)",
        "",
    ],
    "jax": [
        "def gradients(run, given):  # pulled back with 1, 1.25, 1.5, ...",
        "    ends, pull = jax.vjp(lambda *own: leaves(run(*own)), *given)",
        "    return pull([np.reshape(1 + 0.25 * (np.arange(e.size) % 5), e.shape).astype(e.dtype) for e in ends])",
        "",
    ],
}


def _side(name: str, case: Case, library: Library, root: str) -> list[str]:
    assert isinstance(case.subject, ApiCall)
    names = [literals.name(key) for key in case.subject.arrays()]
    way = _WAYS.get(case.procedure.variant)
    if way is None or (root == "tensorflow" and case.procedure.variant == "vmap"):
        raise literals.Unprintable(f"the way {case.procedure.variant!r} takes more than a line")
    lines = [f"{literals.name(key)} = {_tensor(case.inputs[key], library, root)}" for key in case.subject.arrays()]
    lines += ["", f"def f({', '.join(names)}):", f"    return {call_text(case.subject, library)}", ""]
    given = ", ".join(names)
    run = way.format(given=given, vmap=_VMAP.get(root, ""))
    if case.procedure.derivative:
        if case.procedure.derivative > 1 or root not in _GRADIENTS:
            raise literals.Unprintable("second derivatives")
        run = f"gradients(lambda {given}: {run}, [{given}])"
    return [
        *lines,
        f"{name} = attempt(lambda: [{library.numpy.format('leaf')} for leaf in leaves({run}) if leaf is not None])",
    ]


def _tensor(array: Array, library: Library, root: str) -> str:
    kind = dtype_name(array)
    if kind in EXTENSION_DTYPES:
        if root != "torch":
            raise literals.Unprintable(f"NumPy has no {kind}")
        return library.tensor.format(literals.array(np.asarray(array).astype(np.float32))) + f".to(torch.{kind})"
    return library.tensor.format(literals.array(array))


def call_text(call: ApiCall, library: Library) -> str:
    """A call, and what is called within it."""
    arguments = [argument_text(item, library) for item in call.args]
    named = [f"{literals.name(key)}={argument_text(item, library)}" for key, item in call.kwargs.items()]
    if call.api == CALLED:
        return f"{arguments[0]}({', '.join([*arguments[1:], *named])})"
    if call.api == ITEM:
        return f"{arguments[0]}[{arguments[1]}]"
    if call.api == SEVERAL:
        return f"({', '.join(arguments)},)"
    if call.api.startswith("."):
        return f"{arguments[0]}.{literals.name(call.api[1:])}({', '.join([*arguments[1:], *named])})"
    return f"{literals.dotted_name(call.api)}({', '.join([*arguments, *named])})"


def argument_text(item: Any, library: Library) -> str:
    if isinstance(item, ArrayArg):
        return literals.name(item.name)
    if isinstance(item, ApiCall):
        return call_text(item, library)
    if isinstance(item, DtypeArg):
        return library.dtype.format(item.name if item.name != "bool" or library.dtype != "jax.numpy.{}" else "bool_")
    if isinstance(item, TupleArg):
        return f"({''.join(argument_text(part, library) + ', ' for part in item.items)})"
    if isinstance(item, slice):
        return f"slice({item.start}, {item.stop}, {item.step})"
    if isinstance(item, complex):
        return repr(item)
    if isinstance(item, (list, tuple)):
        return f"[{', '.join(argument_text(part, library) for part in item)}]"
    if isinstance(item, Mapping):
        inside = ", ".join(f"{literals.value(str(key))}: {argument_text(part, library)}" for key, part in item.items())
        return f"{{{inside}}}"
    return literals.value(item)


def _shown(suspicion: Suspicion) -> list[str]:
    """Both answers, by what is held of them."""
    wrong = next((item.data["wrong"] for item in suspicion.diagnosis.observations if item.code == "differs-at"), None)
    if wrong is None:
        return ['print("one side:", first)', 'print("the other:", second)']
    right, other = ("second", "first") if wrong == 0 else ("first", "second")
    return [f'print("expected:", {right})', f'print("observed:", {other})']


def _comparison(suspicion: Suspicion) -> list[str]:
    case = suspicion.case
    rule = case.counterpart.rule if case.counterpart else ""
    allowed = suspicion.diagnosis.threshold or 0.0
    forms = "a.shape == b.shape" + (" and a.dtype == b.dtype" if demands_of(rule).dtypes else "")
    close = f"np.allclose(a, b, rtol=0, atol={allowed:.3g}, equal_nan=True)"
    if demands_of(rule).agreement is Agreement.FORM:
        close = "True"
    return [
        "",
        f"# rule {rule!r}: both must agree" if rule else "# both must agree",
        *_shown(suspicion),
        "if isinstance(first, str) or isinstance(second, str):",
        "    sys.exit(0 if isinstance(first, str) == isinstance(second, str) else 1)",
        f"same = [{forms} and {close} for a, b in zip(first, second)]",
        "sys.exit(0 if len(first) == len(second) and all(same) else 1)",
    ]
