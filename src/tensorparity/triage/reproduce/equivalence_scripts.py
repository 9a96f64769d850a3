"""A call computed in two ways, written as a person would: both sides, and the comparison."""

from __future__ import annotations

import numpy as np

from ...core.arrays import EXTENSION_DTYPES, Array, dtype_name
from ...core.call import CALLED, ApiCall, ArrayArg
from ...core.case import Case
from ...core.rule import Agreement, demands_of
from ...core.suspicion import Suspicion
from . import literals
from .call_texts import Library, call_text, rewritten
from .script import MOST_LINES, ScriptParts, assemble, heading_lines
from .ways import is_gradient, way_of

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


#: Lines that the comparison of two sides, and the gradients that a way is made of, take besides.
_MORE = 32


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
    derivative = max(first.procedure.derivative, second.procedure.derivative)
    lines = [*heading_lines(title), *_flat(head), *_helpers(root, derivative)]
    (one, run), (other, run_other) = _side(first, library, root), _side(second, library, root)
    seeded = _seeded(first, root)  # what the second side draws is drawn anew
    again = [] if other == one and not seeded else [*seeded, *other]
    lines += [*seeded, *one, f"first = {run}", *again, f"second = {run_other}"]
    lines += _comparison(suspicion)
    if len(lines) > MOST_LINES + _MORE or max(map(len, lines)) > 4000:
        raise literals.Unprintable(f"a script of {len(lines)} lines")
    return "\n".join(lines) + "\n"


def plain_script(title: str, suspicion: Suspicion, flavour: str) -> str:
    """The text of a script that makes a call which ends badly.

    Raises:
        Unprintable: if it cannot be written in a few lines.
    """
    case, root = suspicion.case, _root(suspicion.case)
    if root not in _LIBRARIES or case.procedure.rows is not None or not isinstance(case.subject, ApiCall):
        raise literals.Unprintable("it shows among others only")
    library = _LIBRARIES[root]
    head = [library.before.format(flavour)] if library.before else []
    imports = _flat([*head, "import subprocess", "import sys", "", "import numpy as np", library.imports])
    lines = [f"{literals.name(key)} = {_tensor(case.inputs[key], library, root)}" for key in case.subject.arrays()]
    lines += [call_text(case.subject, library), 'observed = "an answer"']
    return assemble(title, suspicion.kind, ScriptParts(imports, lines), None, suspicion.exception)


def _flat(lines: list[str]) -> list[str]:
    return [part for line in lines for part in line.split("\n")]


def _root(case: Case) -> str:
    assert isinstance(case.subject, ApiCall)
    return next((call.api.partition(".")[0] for call in case.subject.calls() if call.api[:1].isalpha()), "")


#: How what a library draws is made the same on both sides.
_SEEDS = {
    "torch": "torch.manual_seed({})",
    "tensorflow": "tensorflow.random.set_seed({})",
    "keras": "keras.utils.set_random_seed({})",
}


def _seeded(case: Case, root: str) -> list[str]:
    """The line before a side whose objects draw their weights; none where there are no objects."""
    assert isinstance(case.subject, ApiCall)
    draws = any(call.api == CALLED for call in case.subject.calls())
    return [_SEEDS[root].format(case.seed)] if draws and root in _SEEDS else []


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


def _side(case: Case, library: Library, root: str) -> tuple[list[str], str]:
    """What a side needs, and the expression that computes it."""
    assert isinstance(case.subject, ApiCall)
    variant, derivative = case.procedure.variant, case.procedure.derivative
    names = [literals.name(key) for key in case.subject.arrays()]
    given = ", ".join(names)
    other = rewritten(case.subject, variant, library, root)
    way = way_of(root, "" if other.replaces_call else variant)
    if derivative > 1 or (derivative and root not in _GRADIENTS):
        raise literals.Unprintable("second derivatives")
    written = other.library or library
    lines = [f"{literals.name(key)} = {_tensor(case.inputs[key], written, root)}" for key in case.subject.arrays()]
    made = None if other.replaces_call or other.written else _made(case.subject)
    function = [f"f = {call_text(made, library)}"] if made else [f"def f({given}):", f"    return {other.text}"]
    lines += ["", *way.helpers, *other.helpers, *function, ""]
    if other.written:
        lines += [f"def written({given}, out):", f"    {other.written}", ""]
    run = way.text.replace("{f}", "f").replace("{given}", given)
    if is_gradient(variant):
        return lines, f"attempt(lambda: [np.array(leaf) for leaf in {run}])"
    if derivative:
        run = f"gradients(lambda {given}: {run}, [{given}])"
    leaf = written.numpy.format("leaf")
    return lines, f"attempt(lambda: [{leaf} for leaf in leaves({run}) if leaf is not None])"


def _made(call: ApiCall) -> ApiCall | None:
    """The object of which the case is a call with nothing but its inputs: a compiler sees it made."""
    inputs = [item.name for item in call.args[1:] if isinstance(item, ArrayArg)]
    if call.api != CALLED or call.kwargs or inputs != list(call.arrays()):
        return None
    made = call.args[0]
    return made if isinstance(made, ApiCall) and len(inputs) == len(call.args) - 1 and not made.arrays() else None


def _tensor(array: Array, library: Library, root: str) -> str:
    kind = dtype_name(array)
    if kind in EXTENSION_DTYPES:
        if root != "torch":
            raise literals.Unprintable(f"NumPy has no {kind}")
        return library.tensor.format(literals.array(np.asarray(array).astype(np.float32))) + f".to(torch.{kind})"
    return library.tensor.format(literals.array(array))


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
    one_sided = all(not item.data["name"] for item in suspicion.diagnosis.observations if item.code == "differs-at")
    refused = "0 if isinstance(first, str) == isinstance(second, str) else 1" if one_sided else "2"
    return [
        "",
        f"# rule {rule!r}: both must agree" if rule else "# both must agree",
        *_shown(suspicion),
        "if isinstance(first, str) or isinstance(second, str):",
        f"    sys.exit({refused})",
        f"same = [{forms} and {close} for a, b in zip(first, second)]",
        "sys.exit(0 if len(first) == len(second) and all(same) else 1)",
    ]
