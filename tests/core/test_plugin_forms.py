"""What others build on: the names of ``tensorparity.plugin``, and the order in which its forms take what they take."""

from __future__ import annotations

import inspect
import typing
from typing import Any

import numpy as np
import pytest

from tensorparity import plugin
from tensorparity.oracles.kinds import ORACLES
from tensorparity.triage.examine import Examiner

#: By form, what stands first among its arguments, and which of these may be left out.
FORMS = {
    "Setup": ("seed targets traits settings", "seed targets traits settings"),
    "Ask": ("case targets oracles", "targets oracles"),
    "Result": ("index digest verdicts endings measures replies", "verdicts endings measures replies"),
    "Seen": ("case outcomes ran traits answers claim memo", "ran traits answers claim memo"),
    "Judged": (
        "verdicts suspicions checks measures comparisons memo",
        "verdicts suspicions checks measures comparisons memo",
    ),
    "Check": ("case targets oracle key deadline", "oracle key deadline"),
    "Answer": ("check outcomes judged", "outcomes judged"),
    "TargetTraits": (
        "name family library shared_kernels effective_dtypes max_goal lowering compiled arbiter default start_rank "
        "exporters script_writer",
        "family library shared_kernels effective_dtypes max_goal lowering compiled arbiter default start_rank "
        "exporters script_writer",
    ),
    "Counterpart": ("subject procedure inputs weights rule", "subject procedure inputs weights rule"),
}
#: Beside the forms.
NAMES = (
    "Engine Oracle Rule Report Case LayerGraph ApiCall ArrayArg Procedure Goal Outcome Verdict Judgement Kind Stage "
    "TargetSpec Facts Suspicion Diagnosis Class WorstElement LayerSpec Operator Setting Tolerance AdapterChoice"
)
METHODS = {"Engine": ("ask", "tell", "tables"), "Oracle": ("judge",), "Rule": ("counterpart",), "Report": ("render",)}


@pytest.mark.parametrize("form", FORMS)
def test_a_form_takes_what_is_promised_in_its_order(form: str) -> None:
    parameters = inspect.signature(getattr(plugin, form)).parameters
    names, optional = (text.split() for text in FORMS[form])
    assert list(parameters)[: len(names)] == names
    left_out = [name for name in names if parameters[name].default is not inspect.Parameter.empty]
    assert left_out == optional
    later = [parameters[name] for name in list(parameters)[len(names) :]]
    assert all(parameter.default is not inspect.Parameter.empty for parameter in later), "what came later is optional"


def test_all_that_is_promised_can_be_imported() -> None:
    assert {*NAMES.split(), *FORMS} <= set(plugin.__all__)
    assert all(hasattr(plugin, name) for name in plugin.__all__)
    assert len(plugin.__all__) == len(set(plugin.__all__))


@pytest.mark.parametrize("protocol", METHODS)
def test_what_is_asked_of_somebody_elses(protocol: str) -> None:
    assert all(callable(getattr(getattr(plugin, protocol), method, None)) for method in METHODS[protocol])


def test_types_of_forms_are_plug_in_names() -> None:
    """Whoever fills in a form finds the types of its fields in the same module."""
    wanted = {"Suspicion": ("WorstElement",), "Outcome": ("Record", "Trace", "Failure"), "Trace": ("Form",)}
    for form, names in wanted.items():
        fields = str(typing.get_type_hints(getattr(plugin, form)))
        assert all(f".{name}" in fields and name in plugin.__all__ for name in names)


class ListOracle:
    """Asks for checks, and convicts whom they convict; everything in lists."""

    def __init__(self, setup: plugin.Setup) -> None:
        """It needs nothing of it."""

    def judge(self, seen: plugin.Seen) -> plugin.Judged:
        if not seen.answers:
            check = plugin.Check(seen.case, ["a", "b"], "layer", ["mine"])  # type: ignore[arg-type]
            return plugin.Judged(checks=[check])  # type: ignore[arg-type]
        found = [s for answer in seen.answers if answer.judged for s in answer.judged.suspicions]
        verdict = plugin.Verdict(plugin.Judgement.FAIL, ["a"], "not as it should be")  # type: ignore[arg-type]
        return plugin.Judged([verdict], found)  # type: ignore[arg-type]


class Wrong:
    """Two targets, of which the first adds one to a ReLU."""

    targets = ("a", "b")

    def run_pairs(self, pairs: Any, **_: Any) -> list[plugin.Outcome]:
        return [
            plugin.Outcome(target, plugin.Status.COMPLETED, {"r": np.maximum(case.inputs["x"], 0) + (target == "a")})
            for case, target in pairs
        ]


def test_lists_are_taken_wherever_forms_have_tuples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ORACLES._paths, "lists", "nowhere:lists")
    monkeypatch.setitem(ORACLES._loaded, "lists", ListOracle)
    build = plugin.GraphBuilder()
    graph = build.build(build.add("ReLU", build.input("x", (1,)), name="r"))
    case = plugin.Case(graph, inputs={"x": np.ones((1, 1), np.float32)})
    examiner = Examiner(Wrong(), plugin.Setup(0, ("a", "b")))
    asks = [plugin.Ask(case, ["a", "b"], ["lists"])]  # type: ignore[arg-type]
    (examined,) = examiner.examine(asks)
    (suspicion,) = examined.judged.suspicions
    assert suspicion.diagnosis.suspects == ("a",)
    ((again, _),) = examiner.confirm([examined])
    assert again.diagnosis.klass is plugin.Class.DEFECT
