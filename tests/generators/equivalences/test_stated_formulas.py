"""What docstrings state: formulas in the forms in which libraries write them, and what is none."""

from __future__ import annotations

import pytest

from tensorparity.core.call import ApiCall, ArrayArg
from tensorparity.core.case import Case
from tensorparity.core.procedure import Goal, Procedure
from tensorparity.core.rule import RULES
from tensorparity.generators.api_inputs import Api
from tensorparity.generators.equivalences.stated_formulas import stated_formula


@pytest.mark.parametrize(
    ("doc", "stated"),
    [
        ("It is defined as `f(x) = log(exp(x) + 1)`, where", "f(x) = log(exp(x) + 1)"),
        ("Computes:\n\n.. math::\n    y_i = \\log_{2}\n    (x_i)\n\nMore.", "y_i = \\log_{2} (x_i)"),
        ("Element-wise :math:`x * \\tanh(x)` of\n", "x * \\tanh(x)"),
        ("Formula:\n\n```python\nloss = mean(square(a - b), axis=-1)\n```\n", "loss = mean(square(a - b), axis=-1)"),
        ("where\n\n * $ e ^ x - 1 $ if\n", "e ^ x - 1"),
        ("Returns a `Tensor`, see `tf.nn.relu(x)` and `keepdims`; its `shape = (2, 3)`.", ""),
        ("Negates.", ""),
    ],
)
def test_a_formula_is_quoted_as_it_stands(doc: str, stated: str) -> None:
    assert stated_formula(doc) == stated


def test_the_rule_quotes_what_the_library_says() -> None:
    rule = RULES.get("documented-formula")
    case = Case(ApiCall("torch.tanhshrink", (ArrayArg("x"),)), Procedure(goal=Goal.CALL))
    told = Api("torch.tanhshrink", "function", ((),), "It gives `x - tanh(x)`.")
    assert rule.speaks_of(told)  # type: ignore[attr-defined]
    assert rule.said(case) == "x - tanh(x)"  # type: ignore[attr-defined]
    silent = Case(ApiCall("torch.hardshrink", (ArrayArg("x"),)), Procedure(goal=Goal.CALL))
    assert rule.said(silent) == ""  # type: ignore[attr-defined]
