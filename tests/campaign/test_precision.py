"""The campaign of ``precision`` on a runner of our own: measures, modes, findings; and on a real library."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tensorparity.campaign.sections import Sections
from tensorparity.commands.precision import PrecisionSettings, choose_operator_targets, precision
from tensorparity.core.arrays import Array, dtype_name
from tensorparity.core.case import ApiCall, Case
from tensorparity.core.errors import UsageError
from tensorparity.core.finding import Class
from tensorparity.core.oracle import Setup
from tensorparity.core.outcome import Failure, Outcome, Status
from tensorparity.core.verdict import Judgement, Kind
from tensorparity.engines.predoo.engine import PredooEngine
from tensorparity.engines.predoo.notebook import Notebook, SearchTask
from tensorparity.engines.predoo.paper import PaperTask, spread_of
from tensorparity.engines.predoo.turns import Turns
from tensorparity.operators.functions.catalogue import OPERATORS
from tensorparity.reporting.words import sentences
from tensorparity.targets.catalogue import traits_of

from .operator_runs import (
    Exact,
    Searched,
    absolute_sigmoid,
    exact,
    examined_call,
    filed_call,
    findings_of,
    search_paper,
    searched,
    skipping_nan,
)


def refusing(case: Case) -> Outcome | Array:
    assert isinstance(case.subject, ApiCall)
    if case.subject.kwargs.get("data_format") == "channels_first":
        return Outcome("jax:jit", Status.RAISED, failure=Failure("UnimplementedError", "only NHWC"))
    return exact(case)


def no_half(case: Case) -> Outcome | Array:
    if next(iter(case.inputs.values())).dtype == np.float16:
        return Outcome("jax:jit", Status.RAISED, failure=Failure("RuntimeError", "not implemented for 'Half'"))
    return exact(case)


class TestOperatorMeasure:
    def test_exact_targets_stay_within_a_roundoff(self) -> None:
        for operator in ("tanh", "matmul", "norm", "cross_entropy_with_logits"):
            found = searched(Exact(["torch:eager"]), operator)
            (run,) = found[0].runs()
            assert (run.status, run.inputs) == ("measured", 200)
            assert run.units <= 1.0
            assert findings_of(Exact(["torch:eager"]), found) == []

    def test_an_absolute_error_near_zero_is_found_reduced_and_confirmed(self) -> None:
        runner = Exact(["torch:eager", "onnxruntime"], {"onnxruntime": absolute_sigmoid})
        filed = findings_of(runner, searched(runner, "sigmoid"))
        (item,) = filed
        diagnosis = item.finding.diagnosis
        assert (diagnosis.klass, diagnosis.suspects, diagnosis.api) == (Class.DEFECT, ("onnxruntime",), "onnx.Sigmoid")
        assert item.finding.kind is Kind.PRECISION
        assert item.suspicion.case.inputs["x"].size == 1
        assert runner.fresh == 1
        assert "torch:eager says" in sentences(diagnosis)[1]

    def test_what_is_known_is_not_reduced_again(self) -> None:
        runner = Exact(["torch:eager", "onnxruntime"], {"onnxruntime": absolute_sigmoid})
        notebooks = searched(runner, "sigmoid")
        (first,) = findings_of(runner, notebooks)
        asked = len(runner.asked)
        assert findings_of(runner, notebooks, {first.finding.id: first.finding}) == []
        assert len(runner.asked) == asked + len(runner.targets)  # confirmed

    def test_a_nan_that_vanishes_is_found_and_reduced(self) -> None:
        runner = Exact(["torch:eager", "onnxruntime"], {"onnxruntime": skipping_nan})
        (item,) = findings_of(runner, searched(runner, "exp"))
        diagnosis = item.finding.diagnosis
        assert (diagnosis.klass, diagnosis.suspects, item.finding.kind) == (Class.DEFECT, ("onnxruntime",), Kind.NAN)
        assert np.isnan(item.suspicion.case.inputs["x"]).tolist() == [[True]]
        assert sentences(diagnosis)[0] == "exp(nan) = nan, and onnxruntime says 0 in float32"
        assert searched(runner, "exp")[0].records["onnxruntime"].units <= 1  # no part of the largest error

    def test_an_early_overflow_and_a_lost_nan_are_two_findings(self) -> None:
        def both(case: Case) -> Array:
            found = skipping_nan(case)
            return np.where(np.abs(found.astype(np.float64)) > 1e30, np.inf, found).astype(found.dtype)

        runner = Exact(["torch:eager", "onnxruntime"], {"onnxruntime": both})
        filed = findings_of(runner, searched(runner, "exp"))
        assert [item.suspicion.features for item in filed] == [(), ("nan",)]
        assert len({item.finding.id for item in filed}) == len({item.finding.signature for item in filed}) == 2

    def test_nobody_is_blamed_for_infinities_that_all_treat_alike(self) -> None:
        runner = Exact(["torch:eager", "onnxruntime"], dict.fromkeys(("torch:eager", "onnxruntime"), skipping_nan))
        assert findings_of(runner, searched(runner, "exp")) == []

    def test_a_documented_formula_excuses(self) -> None:
        def literal(case: Case) -> Array:
            y, z = (case.inputs[name].astype(np.float64) for name in ("prediction", "target"))
            with np.errstate(all="ignore"):
                return (np.maximum(y, 0) - y * z + np.log1p(np.exp(-np.abs(y)))).astype(np.float32)

        runner = Exact(["torch:eager", "tensorflow:eager"], {"tensorflow:eager": literal})
        (item,) = findings_of(runner, searched(runner, "bce_with_logits"))
        assert item.finding.diagnosis.klass is Class.SPECIFICATION
        assert any("documented: " in line for line in sentences(item.finding.diagnosis))

    def test_what_does_not_happen_again_is_flaky(self) -> None:
        calls = {"count": 0}

        def sometimes(case: Case) -> Array:
            calls["count"] += 1
            return absolute_sigmoid(case) if runner.fresh == 0 else exact(case)

        runner = Exact(["torch:eager", "onnxruntime"], {"onnxruntime": sometimes})
        (item,) = findings_of(runner, searched(runner, "sigmoid"))
        assert item.finding.diagnosis.klass is Class.FLAKY

    def test_a_refused_format_is_an_error(self) -> None:
        runner = Exact(["torch:eager", "jax:jit"], {"jax:jit": refusing})
        (item,) = findings_of(runner, searched(runner, "conv2d"))
        assert (item.finding.kind, item.finding.diagnosis.suspects) == (Kind.ERROR, ("jax:jit",))
        assert item.finding.diagnosis.parameters["data_format"] == "channels_first"

    def test_a_missing_kernel_for_one_dtype_is_listed_and_not_accused(self) -> None:
        runner = Exact(["torch:eager", "jax:jit"], {"jax:jit": no_half})
        notebooks = searched(runner, "tanh", ("float16", "float32"))
        assert findings_of(runner, notebooks) == []
        statuses = {(run.dtype, run.target): run.status for notebook in notebooks for run in notebook.runs()}
        assert statuses[("float16", "jax:jit")] == "raised"
        assert statuses[("float32", "jax:jit")] == "measured"

    def test_a_narrower_answer_answers_another_question(self) -> None:
        runner = Exact(["keras:jax"], {"keras:jax": lambda case: exact(case).astype(np.float32)})
        (notebook,) = searched(runner, "tanh", ("float64",))
        (run,) = notebook.runs()
        assert (run.status, run.reason) == ("unsupported", "answers in float32")

    @pytest.mark.parametrize("strategy", ["random", "linf", "l1", "exponents", "critical"])
    def test_every_strategy_runs(self, strategy: str) -> None:
        (notebook,) = searched(Exact(["torch:eager"]), "erf", strategy=strategy)
        assert notebook.runs()[0].inputs == 200

    def test_what_shows_only_in_long_arrays_is_shown_by_repeating_the_input(self) -> None:
        def body_only(case: Case) -> Array:
            found = exact(case)
            return found * 2 if found.size >= 16 else found

        runner = Exact(["torch:eager", "onnxruntime"], {"onnxruntime": body_only})
        (item,) = findings_of(runner, searched(runner, "tanh"))
        assert item.finding.diagnosis.klass is Class.DEFECT
        assert item.suspicion.case.inputs["x"].size >= 16


class TestCompiled:
    def searched(self, runner: Exact, names: Sequence[str], dtypes: Sequence[str] = ("float32",)) -> Searched:
        return searched(runner, names, dtypes, inputs=100)

    def test_calls_of_a_dtype_are_packed_and_noted_beside_the_eager_ones(self) -> None:
        runner = Exact(["torch:eager", "torch:compile"])
        notebooks = self.searched(runner, ["tanh", "exp", "sum"], ("float32", "float16"))
        assert set(runner.packs) == {3}
        assert {run.inputs for notebook in notebooks for run in notebook.runs()} == {100}
        alone = [case for case, target in runner.asked if target == "torch:compile"]
        assert len(alone) == sum(runner.packs)

    def test_the_eager_ones_bear_witness(self) -> None:
        runner = Exact(["jax:eager", "torch:eager", "torch:compile"], {"torch:compile": absolute_sigmoid})
        (item,) = findings_of(runner, self.searched(runner, ["sigmoid"]))
        assert item.finding.diagnosis.suspects == ("torch:compile",)
        assert "jax:eager says" in sentences(item.finding.diagnosis)[1]

    def test_who_raises_on_nan_is_asked_on_numbers_and_a_lack_is_said(self) -> None:
        def raising(case: Case) -> Outcome | Array:
            if next(iter(case.inputs.values())).dtype == np.float16 or np.isnan(case.inputs["x"]).any():
                return Outcome("torch:compile", Status.RAISED, failure=Failure("TypeError", "not supported"))
            return exact(case)

        runner = Exact(["torch:eager", "torch:compile"], {"torch:compile": raising})
        wide, half = self.searched(runner, ["tanh"], ("float32", "float16"))
        own = [next(run for run in book.runs() if run.target == "torch:compile") for book in (wide, half)]
        assert [(run.status, run.reason) for run in own] == [("measured", ""), ("raised", "TypeError: not supported")]

    def test_what_the_budget_did_not_reach_says_so(self) -> None:
        task = SearchTask(OPERATORS.get("tanh"), "float32", ("torch:compile",), compiled=frozenset(["torch:compile"]))
        (run,) = Notebook(task).runs()
        assert (run.status, run.reason) == ("not run", "the run ended before its turn came")


class TestPaperMeasure:
    def run(self, mode: str, strategy: str = "linf", operator: str = "sigmoid", **options: Any) -> Any:
        self.runner = Exact(["tensorflow:eager"])
        task = PaperTask(
            OPERATORS.get(operator), "tensorflow:eager", strategy, mode, shape=(20,), inputs=600, **options
        )
        return search_paper(self.runner, task).searched.run

    def test_operator_precision_errs_more_than_input_precision(self) -> None:
        by_input, by_operator = self.run("input_mode"), self.run("op_mode")
        assert by_input.largest > 1e-5
        assert 1.2e-4 < by_operator.largest < 1e-3

    def test_input_mode_changes_the_input_and_not_the_operator(self) -> None:
        self.run("input_mode")
        widest = [case for case, _ in self.runner.asked if case.procedure.dtype == "float64"]
        assert {dtype_name(case.inputs["x"]) for case in widest} == {"float16", "float32", "float64"}

    def test_op_mode_changes_both_and_default_leaves_the_input_alone(self) -> None:
        self.run("op_mode")
        assert {case.procedure.dtype for case, _ in self.runner.asked} == {None}
        self.run("default")
        assert {dtype_name(case.inputs["x"]) for case, _ in self.runner.asked} == {"float64"}
        assert {case.procedure.dtype for case, _ in self.runner.asked} == {"float16", "float32", "float64"}

    def test_groups_and_counts(self) -> None:
        found = self.run("op_mode", "l1")
        assert found.inputs == 600
        assert len(found.groups) == 20
        assert max(found.groups) == found.largest
        assert found.largest_l1 >= found.largest
        assert found.tolerance == (1e-3, 1e-3)

    def test_exceptions_are_recorded_and_do_not_end_the_search(self) -> None:
        runner = Exact(["jax:jit"], {"jax:jit": refusing})
        task = PaperTask(OPERATORS.get("conv2d"), "jax:jit", "linf", "op_mode", shape=(5, 5, 1), inputs=300)
        found = search_paper(runner, task).searched.run
        assert found.inputs == 300
        assert found.largest > 0
        (text,) = found.exceptions
        assert text.startswith("UnimplementedError")

    def test_exceptions_are_filed_on_the_simplest_input(self) -> None:
        runner = Exact(["jax:jit"], {"jax:jit": refusing})
        task = PaperTask(OPERATORS.get("conv2d"), "jax:jit", "linf", "op_mode", shape=(5, 5, 1), inputs=300)
        (item,) = findings_of(runner, search_paper(runner, task).examined)
        assert (item.finding.kind, item.finding.diagnosis.klass) == (Kind.ERROR, Class.DEFECT)
        assert item.finding.diagnosis.parameters["dtype"] == "float32"
        assert set(item.suspicion.case.inputs["x"].ravel().tolist()) == {1.0}

    def test_what_was_refused_is_counted_in_every_batch(self) -> None:
        runner = Exact(["jax:jit"], {"jax:jit": refusing})
        task = PaperTask(OPERATORS.get("conv2d"), "jax:jit", "linf", "op_mode", shape=(5, 5, 1), inputs=1500)
        found = search_paper(runner, task).searched.run
        assert 500 < sum(found.exceptions.values()) < 1500, "an input counts once, in three precisions"

    def test_several_times_in_a_row(self) -> None:
        """The error of a sigmoid that is applied three times is not that of one."""
        once, thrice = (self.run("op_mode", operator="sigmoid", times=times) for times in (1, 3))
        assert (once.times, thrice.times) == (1, 3)
        assert 0.0 < thrice.largest != once.largest

    def test_the_spread_leaves_outliers_out(self) -> None:
        spread = spread_of(np.array([*np.linspace(1, 2, 99), 1e6, np.nan]))
        assert spread.high <= 2.0
        assert spread.first < spread.median < spread.third


class TestHunt:
    def test_cases_of_the_engine_are_examined(self) -> None:
        engine = Turns(0)
        runner = Exact(["torch:eager", "jax:jit"])
        cases = engine.propose(0)
        said = [examined_call(runner, case).judged.verdicts for case in cases]
        assert all(verdict.judgement is Judgement.PASS for (verdict,) in said)
        engine.learn(0, said)
        assert len(engine.propose(1)) == engine.round_size

    def test_a_defect_fails(self) -> None:
        x = np.linspace(-30, 1, 20).reshape(1, 20).astype(np.float32)
        case = Case(OPERATORS.get("sigmoid").api_call({}), inputs={"x": x})
        runner = Exact(["torch:eager", "onnxruntime"], {"onnxruntime": absolute_sigmoid})
        examined = examined_call(runner, case)
        assert examined.judged.verdicts[0].judgement is Judgement.FAIL
        assert len(filed_call(runner, case)) == 1


def test_unknown_names_are_refused(tmp_path: Path) -> None:
    for change in ({"dtypes": ("float8",)}, {"modes": ("fast",)}, {"strategies": ("luck",)}, {"measure": "guess"}):
        with pytest.raises(UsageError, match="unknown"):
            precision(PrecisionSettings(["torch:eager"], store=tmp_path, **change))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="no operator"):
        precision(PrecisionSettings(["torch:eager"], operators=("nothing",), store=tmp_path))


@pytest.mark.torch
def test_a_real_library(tmp_path: Path) -> None:
    found = precision(PrecisionSettings(["torch:eager"], ("tanh", "softmax"), ("float32",), inputs=100, store=tmp_path))
    assert found.facts.precision is not None
    assert {run.status for run in found.facts.precision.operators} == {"measured"}
    assert found.facts.findings == ()
    assert found.facts.targets[0].versions["torch"]
    assert choose_operator_targets("torch:eager", "operator") == ["torch:eager"]
    assert "torch:compile" in choose_operator_targets("all", "operator")
    assert "torch:compile" not in choose_operator_targets(None, "operator")


@pytest.mark.torch
def test_what_is_set_for_the_engine_wins(tmp_path: Path) -> None:
    told = Sections(engines={"predoo": {"inputs": 50}})
    found = precision(
        PrecisionSettings(["torch:eager"], ("tanh",), ("float32",), inputs=400, sections=told, store=tmp_path)
    )
    assert found.facts.precision is not None
    assert [run.inputs for run in found.facts.precision.operators] == [50]


def test_a_round_may_be_cut_short() -> None:
    traits = traits_of(["torch:eager"])
    engine = PredooEngine(Setup(0, ("torch:eager",), traits, settings={"operators": ["tanh", "exp"]}))
    assert engine.ask()
    engine.tell([])
    engine.ask()
