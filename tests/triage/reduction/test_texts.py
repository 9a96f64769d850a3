"""Calls on strings, reduced to the shortest that still fails."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorparity.core.case import ApiCall, ArrayArg, Case
from tensorparity.core.procedure import Goal, Procedure
from tensorparity.triage.reduction.order import simpler, value_cost


def text_case(*texts: str, **params: Any) -> Case:
    call = ApiCall("keras.layers.TextVectorization", (ArrayArg("x"),), params)
    return Case(call, Procedure(goal=Goal.CALL), inputs={"x": np.array(texts, object)})


def test_one_letter_of_one_text_is_left(reduced: Any) -> None:
    case = text_case("a b", "c, d É-e f", "g", vocabulary=("a", "é", "b"), idf_weights=(0.1, 0.2, 0.3), ngrams=2)

    def fails(case: Case) -> bool:
        known = case.subject.kwargs.get("vocabulary", ())
        weights = case.subject.kwargs.get("idf_weights", ())
        return "é" in known and len(weights) == len(known) and any("É" in text for text in case.inputs["x"].ravel())

    result, _ = reduced(case, fails)
    assert result.case.inputs["x"].tolist() == ["É"]
    assert dict(result.case.subject.kwargs) == {"vocabulary": ("é",), "idf_weights": (0.2,)}


def test_what_does_not_matter_is_the_empty_string(reduced: Any) -> None:
    result, _ = reduced(text_case("a b", "c", vocabulary=("a",)), lambda case: len(case.inputs["x"]) == 2)
    assert result.case.inputs["x"].tolist() == ["", ""]


def test_shorter_strings_are_simpler() -> None:
    assert simpler(text_case("ab", vocabulary=("a",)), text_case("abc", vocabulary=("a",)))
    assert value_cost(np.array(["", "ab"], object)) == 2
