"""Scripts of calls that are run element by element, row by row, or in NumPy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tensorparity.core.call import ApiCall, ArrayArg
from tensorparity.core.case import Case, Counterpart
from tensorparity.core.evidence import observed
from tensorparity.core.finding import Class, Diagnosis
from tensorparity.core.procedure import Goal, Procedure
from tensorparity.core.suspicion import Suspicion
from tensorparity.core.verdict import Kind
from tensorparity.triage.reproduce import literals
from tensorparity.triage.reproduce.equivalence_scripts import equivalence_script

pytestmark = pytest.mark.filterwarnings("ignore")  # of the libraries: scripts are run in processes of their own


def script(api: str, variant: str, derivative: int = 0, dtype: str | None = None) -> str:
    plain = Procedure(goal=Goal.CALL, derivative=derivative)
    rule = variant if variant in ("meta", "fake", "slopes") else "by-element"
    rule = "of-nothing" if variant == "of nothing" else rule
    other = Counterpart(procedure=replace(plain, variant=variant, dtype=dtype), rule=rule)
    inputs = {"x": np.array([[0.25, 0.5, 1.0]] * 2, np.float32)}
    case = Case(ApiCall(api, (ArrayArg("x"),)), plain, inputs, counterpart=other)
    place = observed("differs-at", name="0", allowed=1e-6, wrong=None)
    diagnosis = Diagnosis(Class.DEFECT, ("here",), threshold=1e-6, evidence=(place,))
    return equivalence_script("A title", Suspicion(Kind.EQUIVALENCE, diagnosis, case, ("here",)), "")


def ending(text: str, before: str = "") -> int:
    """The exit code of a script, run here: the library is imported once."""
    with pytest.raises(SystemExit) as ended:
        exec(compile(before + "\n" + text, "script", "exec"), {"__name__": "__main__"})
    return int(ended.value.code or 0)


@pytest.mark.parametrize("api", ["torch.exp", "jax.numpy.exp", "tensorflow.math.exp"])
@pytest.mark.parametrize("variant", ["by element", "without axes"])
def test_elements_are_taken_one_by_one(api: str, variant: str) -> None:
    text = script(api, variant)
    compile(text, "script", "exec")
    assert ("i : i + 1" in text) == (variant == "by element")


def test_numpy_is_called_by_its_own_name() -> None:
    second = script("jax.numpy.exp", "numpy").split("first = ")[1]
    assert "np.exp(x)" in second
    assert "jax.numpy.exp" not in second


@pytest.mark.parametrize("variant", ["saved", "a + b", "turned + a"])
def test_what_takes_more_than_a_line_is_not_written(variant: str) -> None:
    with pytest.raises(literals.Unprintable):
        script("torch.exp", variant)


PLAIN = [
    "by element",
    "without axes",
    "row by row",
    "of nothing",
    "among others",
    "vmap",
    "meta",
    "fake",
    "out",
    "numpy",
    "export",
]
WORDS = [("torch.exp", "method"), ("torch.exp", "in place"), ("torch.nn.functional.relu", "in place"),
         ("torch.absolute", "alias"), ("torch.nn.functional.relu", "defaults")]  # fmt: skip


@pytest.mark.torch
@pytest.mark.parametrize(("api", "variant"), [*(("torch.exp", way) for way in PLAIN), *WORDS])
def test_both_sides_agree_where_nothing_is_wrong(api: str, variant: str) -> None:
    assert ending(script(api, variant)) == 0


def module_script(variant: str) -> str:
    made = ApiCall(".eval", (ApiCall("torch.nn.Linear", (3, 4)),))
    plain = Procedure(goal=Goal.CALL)
    other = Counterpart(procedure=replace(plain, variant=variant), rule="turned")
    inputs = {"x": np.array([[0.25, 0.5, 1.0]] * 2, np.float32)}
    case = Case(ApiCall("()", (made, ArrayArg("x"))), plain, inputs, counterpart=other)
    place = observed("differs-at", name="0", allowed=1e-6, wrong=None)
    diagnosis = Diagnosis(Class.DEFECT, ("here",), threshold=1e-6, evidence=(place,))
    return equivalence_script("A title", Suspicion(Kind.EQUIVALENCE, diagnosis, case, ("here",)), "")


@pytest.mark.torch
@pytest.mark.parametrize("variant", ["turned", "export", "jit.trace", "vmap"])
def test_both_sides_have_the_weights_that_one_seed_draws(variant: str) -> None:
    text = module_script(variant)
    assert ending(text) == 0
    assert ending(text.replace("torch.manual_seed(0)", "pass")) == 1  # or the script would show nothing but chance


@pytest.mark.torch
def test_axes_are_counted_from_the_other_end() -> None:
    text = script("torch.softmax", "axis from the end").replace("torch.softmax)(x)", "torch.softmax)(x, dim=0)")
    text = text.replace("torch.softmax(x)", "torch.softmax(x, dim=0)")
    assert ending(text) == 0
    assert ending(text.replace("value - rank if", "value - 1 if")) == 1


@pytest.mark.torch
@pytest.mark.parametrize("variant", ["turned + jit.trace", "vmap + turned"])
def test_ways_are_taken_one_inside_the_other(variant: str) -> None:
    text = script("torch.exp", variant)
    assert "lambda *given" in text
    assert ending(text) == 0


#: A product whose gradient is two times what it should be.
_TWICE = """
import torch

class Twice(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        context.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(context, pull):
        return 4 * context.saved_tensors[0] * pull

torch.square = Twice.apply
"""


@pytest.mark.torch
def test_a_gradient_is_held_against_slopes(monkeypatch: pytest.MonkeyPatch) -> None:
    text = script("torch.square", "slopes", 1, "float64")
    assert ending(text) == 0
    import torch

    with monkeypatch.context() as patched:
        patched.setattr(torch, "square", torch.square)  # put back afterwards
        assert ending(text, _TWICE) == 1


@pytest.mark.torch
def test_a_gradient_is_held_against_forward_mode() -> None:
    assert ending(script("torch.exp", "forward mode", 1)) == 0


@pytest.mark.torch
def test_an_error_on_one_side_is_no_difference_of_numbers() -> None:
    text = script("torch.exp", "method").replace("x.exp()", "x.no_such_method()")
    assert ending(text) == 2


@pytest.mark.torch
@pytest.mark.parametrize("variant", ["out", "out with gaps", "out resized", "out wider"])
def test_results_are_written_into_what_is_given(variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    text, right = script("torch.exp", variant), torch.exp
    assert ending(text) == 0

    def wrong(x: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
        return right(x) if out is None else out.resize_(2, 3).fill_(1) if variant == "out resized" else out.fill_(1)

    monkeypatch.setattr(torch, "exp", wrong)
    assert ending(text) == 1
