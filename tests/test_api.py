"""``tensorparity.compare`` in Python: what it makes of objects and data, and how a result shows itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorparity
from tensorparity import api
from tensorparity.cli.exit_codes import FailOn, exit_code
from tensorparity.core.comparison import Comparison
from tensorparity.core.errors import UsageError
from tensorparity.core.finding import Class, Diagnosis, Finding
from tensorparity.core.verdict import Judgement, Kind, Stage, Verdict
from tensorparity.reporting.facts import Facts, KnownFacts, TargetFacts


def result(*findings: Finding, judgement: Judgement = Judgement.PASS, broken: bool = False, **more: Any) -> Any:
    verdict = Verdict(judgement, ("a", "b"), "because")
    comparison = Comparison("a", "b", "y", verdict, 4)
    targets = (TargetFacts("a"), TargetFacts("b"))
    facts = Facts("compare", 0, targets, {}, findings, comparisons=(comparison,), subject="<m>", **more)
    return api.ParityResult(facts, broken)


def finding(klass: Class = Class.DEFECT, **more: Any) -> Finding:
    diagnosis = Diagnosis(klass, ("b",), node="act#0", api="onnx.Relu", evidence=("it is off",), **more)
    return Finding("f1", "cradle", Kind.INCONSISTENCY, Stage.FORWARD, ("a", "b"), diagnosis, "signature")


def test_the_same_is_said_only_if_nothing_is_open() -> None:
    assert result().same
    assert not result(judgement=Judgement.UNDECIDED).same
    assert not result(broken=True).same
    assert not result(finding(), judgement=Judgement.FAIL).same


def test_a_difference_is_raised_with_the_layer() -> None:
    result().raise_for_difference()
    with pytest.raises(tensorparity.ParityError, match=r"onnx\.Relu|Relu"):
        result(finding(), judgement=Judgement.FAIL).raise_for_difference()
    with pytest.raises(AssertionError):
        result(broken=True).raise_for_difference()


def test_what_is_known_raises_nothing() -> None:
    known = (KnownFacts("signature", "documented", findings=("f1",)),)
    accepted = result(finding(), judgement=Judgement.FAIL, known=known)
    assert accepted.findings == ()
    accepted.raise_for_difference()


@pytest.mark.parametrize("remark", [finding(klass) for klass in Class if klass is not Class.DEFECT])
def test_what_does_not_fail_the_command_is_a_remark(remark: Finding) -> None:
    found = result(remark)
    assert exit_code(found.facts, FailOn(), found.broken) == 0
    assert (found.findings, found.remarks, found.same) == ((), (remark,), True)
    found.raise_for_difference()


def test_lost_digits_are_a_remark_where_the_outputs_agree() -> None:
    off = finding(relative=1e-7)
    agreeing = result(off)
    assert (agreeing.findings, agreeing.remarks) == ((), (off,))
    agreeing.raise_for_difference()
    differing = result(off, judgement=Judgement.FAIL)
    assert (differing.findings, differing.remarks) == ((off,), ())
    with pytest.raises(tensorparity.ParityError):
        differing.raise_for_difference()


def test_what_was_interrupted_is_no_answer() -> None:
    with pytest.raises(tensorparity.ParityError):
        result(interrupted=True).raise_for_difference()


def test_in_a_notebook_it_is_a_page_in_a_frame() -> None:
    shown = result()._repr_html_()
    assert shown.count("<iframe") == 1
    assert 'sandbox="allow-scripts"' in shown
    assert "&lt;!doctype html&gt;" in shown.lower()
    assert "<m>" not in shown  # a model's name is text


def test_verdicts_by_pair() -> None:
    assert list(result().verdicts) == [("a", "b", "y")]
    assert str(result()) == result().headline


def test_data_is_named() -> None:
    one = np.ones((2, 3))
    assert list(api._named_arrays(one, ["a"])) == ["x"]
    assert list(api._named_arrays([one, one], ["a", "b"])) == ["a", "b"]
    assert list(api._named_arrays({"q": one}, ["a"])) == ["q"]
    with pytest.raises(UsageError, match="received 2"):
        api._named_arrays([one, one], ["a"])


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"expected a keras\.Model.*received int"):
        api._given(3, None, None, None, tmp_path)


def test_classes_of_the_program_itself_cannot_be_imported_elsewhere() -> None:
    mine = type("Mine", (), {"__module__": "__main__"})
    other = type("Other", (), {"__module__": "my_layers"})
    own = type("Dense", (), {"__module__": "keras.src.layers"})
    assert api._modules_of([own, other, other]) == ("my_layers",)
    with pytest.raises(UsageError, match="__main__"):
        api._modules_of([mine])


def test_a_model_by_name_takes_arrays_as_data(tmp_path: Path) -> None:
    given = api._given("model.onnx", {"x": np.ones((2, 1))}, [0, 1], None, tmp_path)
    assert given.model == "model.onnx"
    assert given.data is not None
    with np.load(given.data) as kept:
        assert sorted(kept.files) == ["x", "y"]
