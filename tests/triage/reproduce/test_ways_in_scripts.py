"""Scripts of calls that are run element by element, row by row, or in NumPy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tensorparity.core.call import ApiCall, ArrayArg
from tensorparity.core.case import Case, Counterpart
from tensorparity.core.finding import Class, Diagnosis
from tensorparity.core.procedure import Goal, Procedure
from tensorparity.core.suspicion import Suspicion
from tensorparity.core.verdict import Kind
from tensorparity.triage.reproduce import literals
from tensorparity.triage.reproduce.equivalence_scripts import equivalence_script


def script(api: str, variant: str) -> str:
    plain = Procedure(goal=Goal.CALL)
    other = Counterpart(procedure=replace(plain, variant=variant), rule="by-element")
    case = Case(ApiCall(api, (ArrayArg("x"),)), plain, {"x": np.ones(3, np.float32)}, counterpart=other)
    diagnosis = Diagnosis(Class.DEFECT, ("here",), threshold=1e-6)
    return equivalence_script("A title", Suspicion(Kind.EQUIVALENCE, diagnosis, case, ("here",)), "")


@pytest.mark.parametrize("api", ["torch.exp", "jax.numpy.exp"])
@pytest.mark.parametrize("variant", ["by element", "without axes"])
def test_elements_are_taken_one_by_one(api: str, variant: str) -> None:
    text = script(api, variant)
    compile(text, "script", "exec")
    assert ("i : i + 1" in text) == (variant == "by element")


def test_numpy_is_called_by_its_own_name() -> None:
    second = script("jax.numpy.exp", "numpy").split("second = ")[1]
    assert "np.exp(x)" in second
    assert "jax.numpy.exp" not in second


@pytest.mark.parametrize(("api", "variant"), [("torch.exp", "numpy"), ("torch.exp", "slopes"), ("torch.exp", "a + b")])
def test_what_takes_more_than_a_line_is_not_written(api: str, variant: str) -> None:
    with pytest.raises(literals.Unprintable):
        script(api, variant)
