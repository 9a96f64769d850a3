"""Scripts as text: short, complete, Python. That they run is tested where the libraries are."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from tensorparity.core.arrays import Array
from tensorparity.core.case import ApiCall, ArrayArg, Case
from tensorparity.core.evidence import observed
from tensorparity.core.finding import Class, Diagnosis
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.outcome import Record
from tensorparity.core.procedure import Goal, Procedure, Recipe
from tensorparity.core.suspicion import Suspicion
from tensorparity.core.verdict import Kind, Stage
from tensorparity.operators.reference.evaluate import draw_weights
from tensorparity.targets.catalogue import KERAS_TORCH, TORCH_EAGER
from tensorparity.triage.reproduce.calls import torch_parts
from tensorparity.triage.reproduce.claim import Claim
from tensorparity.triage.reproduce.draft import draft
from tensorparity.triage.reproduce.keras_scripts import keras_parts
from tensorparity.triage.reproduce.literals import Unprintable
from tensorparity.triage.reproduce.script import Reproducer, ScriptParts, assemble
from tensorparity.triage.reproduce.scripts import _spoken_of, _told_upstream, _unlike, title_of

ONE = np.ones((1, 2), np.float32)


def dense(**further: object) -> Case:
    build = GraphBuilder()
    graph = build.build(build.add("Dense", build.input("x0", (2,)), name="d", units=2, activation="relu"))
    weights = draw_weights(graph, np.random.default_rng(0))
    return replace(Case(graph, inputs={"x0": ONE}, weights=weights), **further)


def claim(group: str = "outputs", name: str = "d", observed: Array | None = ONE + 1) -> Claim:
    return Claim(group, name, ONE, 1e-6, "the float64 reference", "y = x", observed, precise=True)


def script(case: Case, said: Claim | None, backend: str = "torch", kind: Kind = Kind.INCONSISTENCY) -> str:
    watched = kind in (Kind.CRASH, Kind.HANG)
    text = assemble("A layer is wrong.", kind, keras_parts(case, backend, said, watched=watched), said)
    compile(text, "script", "exec")
    assert len(text.splitlines()) <= 36
    return text


def test_forward() -> None:
    text = script(dense(), claim())
    assert 'os.environ["KERAS_BACKEND"] = "torch"' in text
    assert 'd = keras.layers.Dense(units=2, activation="relu")' in text
    assert "observed = model.predict(x, verbose=0)" in text
    assert "# expected by the float64 reference: y = x" in text
    assert text.rstrip().endswith("equal_nan=True) else 1)")


def test_inputs_that_the_call_takes_by_name() -> None:
    build = GraphBuilder()
    entries, weights = build.input("x0", (2,), dtype="int32"), build.input("x1", (2,))
    graph = build.build(build.add("CategoryEncoding", entries, weights, name="d", num_tokens=2, output_mode="count"))
    text = script(Case(graph, inputs={"x0": ONE.astype(np.int32), "x1": ONE}), claim())
    assert "d(i0, count_weights=i1)" in text


@pytest.mark.parametrize(("dtype", "literal"), [("float32", "0.333333333"), ("float64", "0.3333333333333333")])
def test_a_claim_keeps_what_its_dtype_can_tell(dtype: str, literal: str) -> None:
    third = np.full((1, 1), 1 / 3)
    said = Claim("outputs", "d", third, 1e-15, "the float64 reference", "y = x", third.astype(dtype) + 1)
    assert f"expected = np.array([[{literal}]], " in script(dense(), said)


def test_another_shape() -> None:
    assert 'print("observed shape:", observed.shape)' in script(dense(), claim(observed=np.ones(3)), kind=Kind.SHAPE)


def test_only_the_worst_element_of_a_large_output() -> None:
    expected = np.zeros((1, 200))
    observed = expected.copy()
    observed[0, 17] = 3
    text = script(dense(), Claim("outputs", "d", expected, 1e-6, "the float64 reference", observed=observed))
    assert "observed = observed[0, 17]" in text
    assert "np.full" not in text


def test_an_element_is_judged_alone_by_its_own_tolerance() -> None:
    expected = np.array([1e6, 1e-3])
    claim = Claim("outputs", "0", expected, 1e-9, "the reference", observed=np.array([1e6 + 0.5, 2e-3]), element=(1,))
    assert claim.off == pytest.approx(1e-3)
    text = assemble("It is wrong.", Kind.INCONSISTENCY, ScriptParts(["import sys"], ["observed = 1"]), claim)
    assert "observed = observed[1]" in text
    assert "expected = np.array(0.001" in text


@pytest.mark.parametrize("kind", [Kind.ERROR, Kind.CRASH, Kind.HANG])
def test_bad_ends(kind: Kind) -> None:
    text = script(dense(), None, kind=kind)
    assert ("except Exception as error:" if kind is Kind.ERROR else "subprocess.run(") in text
    fine = {Kind.CRASH: "code in (0, 1)", Kind.HANG: "code == 0"}
    ending = "sys.exit(1)" if kind is Kind.ERROR else f"sys.exit(0 if {fine[kind]} else 1)"
    assert ending in text


@pytest.mark.parametrize(("raised", "code"), [("ValueError('no')", 1), ("undefined", 2), ("None", 0)])
def test_another_exception_is_another_defect(raised: str, code: int) -> None:
    steps = [f"error = {raised}", "if error: raise error", "observed = 1"]
    text = assemble(
        "It raises.", Kind.ERROR, ScriptParts(["import sys", "import numpy as np"], steps), None, "ValueError"
    )
    assert subprocess.run([sys.executable, "-c", text], check=False, capture_output=True).returncode == code


@pytest.mark.parametrize("backend", ["torch", "tensorflow", "jax"])
@pytest.mark.parametrize("name", ["input:d#0/0", "weight:d/kernel"])
def test_backward(backend: str, name: str) -> None:
    case = dense(
        procedure=Procedure(goal=Goal.REPLAY, nodes=("d#0",), training=True),
        inputs={"d#0/0": ONE},
        cotangents={"d#0": ONE},
    )
    text = script(case, claim("gradients", name), backend)
    means = {"torch": ".backward(", "tensorflow": "tf.GradientTape()", "jax": "jax.vjp("}
    assert means[backend] in text


@pytest.mark.parametrize("group", ["losses", "weights"])
def test_training(group: str) -> None:
    fit = Procedure(goal=Goal.FIT, steps=1, training=True, loss=Recipe("MeanSquaredError"), optimizer=Recipe("SGD"))
    case = dense(procedure=fit, labels={"d": ONE})
    text = script(case, claim(group, "0:d/bias" if group == "weights" else "0"))
    assert "loss = model.train_on_batch(x, y0)" in text
    assert ("d.weights[1]" if group == "weights" else "np.asarray(loss)") in text


def test_what_ends_before_its_loss_needs_no_labels() -> None:
    procedure = Procedure(goal=Goal.UPDATE, loss=Recipe("MeanSquaredError"), optimizer=Recipe("SGD"))
    text = script(dense(procedure=procedure), None, kind=Kind.CRASH)
    assert "observed = model.predict(x, verbose=0)" in text
    assert "train_on_batch" not in text


def test_training_of_several_steps() -> None:
    fit = Procedure(goal=Goal.FIT, steps=3, training=True, loss=Recipe("MeanSquaredError"), optimizer=Recipe("SGD"))
    three = np.ones((3, 2), np.float32)
    text = script(dense(procedure=fit, inputs={"x0": three}, labels={"d": three}), claim("losses", "1"))
    assert "for k in range(2):\n    loss = model.train_on_batch(x[k * 1 : (k + 1) * 1], y0[k * 1 :" in text


@pytest.mark.parametrize("backend", ["torch", "tensorflow", "jax"])
def test_gradients_of_a_loss(backend: str) -> None:
    case = dense(procedure=Procedure(goal=Goal.GRADIENTS, loss=Recipe("MeanSquaredError")), labels={"d": ONE})
    text = script(case, claim("gradients", "input:x0"), backend)
    assert "loss(y0, model(x, training=False))" in text


def test_calls() -> None:
    call = Case(ApiCall("torch.fmod", (ArrayArg("a"), 2)), Procedure(goal=Goal.CALL), inputs={"a": ONE})
    for flavour, wanted in (("eager", "observed = torch.fmod(a, 2).numpy()"), ("compile", "observed = compiled(a)")):
        text = assemble("It is wrong.", Kind.INCONSISTENCY, torch_parts(call, flavour, None, watched=False), claim())
        compile(text, "script", "exec")
        assert wanted in text
    ops = replace(call, subject=ApiCall("keras.ops.sum", (ArrayArg("a"),), {"axis": 0}))
    assert "observed = keras.ops.convert_to_numpy(keras.ops.sum(a, axis=0))" in script(ops, claim(name="0"))


def test_a_script_nobody_would_paste_is_refused() -> None:
    with pytest.raises(Unprintable, match="a script of"):
        assemble("Long.", Kind.INCONSISTENCY, ScriptParts((), ["pass"] * 50), claim())


def test_what_was_not_verified_says_so() -> None:
    assert Reproducer("x = 1\n", remark="it\nended").marked_text == "# Not verified: it ended\nx = 1\n"
    assert Reproducer("x = 1\n", verified=True).marked_text == "x = 1\n"


class TestDraft:
    def text(self, record: Record) -> str:
        diagnosis = Diagnosis(Class.DEFECT, ("keras:torch",), "d#0", "keras.layers.Dense", {"units": 2}, ("it is off",))
        suspicion = Suspicion(Kind.INCONSISTENCY, diagnosis, dense(), ("keras:torch", "keras:jax"), stage=Stage.FORWARD)
        records = {"keras:torch": record, "keras:jax": Record(versions={"jax": "0.1"})}
        script = Reproducer("print(1)\n", verified=True)
        traits = KERAS_TORCH.traits
        return draft("Dense is wrong", "keras:torch", suspicion, claim(), script, records, ("off by 1",), traits)

    def test_what_a_maintainer_asks_for(self) -> None:
        text = self.text(Record(python="3.11.7 x", versions={"keras": "3.15"}, flags={"OMP": "1"}, threads=1))
        for wanted in (
            "# Dense is wrong",
            "```python\nprint(1)\n```",
            "## Expected",
            "[[1.0, 1.0]]",
            "[[2.0, 2.0]]",
            "Formula: y = x.",
            "Higher-precision baseline: the float64 reference",
            "(keras.src.testing.TestCase.assertAllClose: rtol=1e-06, atol=1e-06) is exceeded",
            "- keras 3.15",
            "- threads 1",
            "- `OMP=1`",
            "compared with keras:jax (jax 0.1)",
        ):
            assert wanted in text
        assert "planted" not in text

    def test_a_vote_is_no_higher_precision(self) -> None:
        diagnosis = Diagnosis(Class.DEFECT, ("torch:eager",), "d#0", "keras.layers.Dense", {}, ())
        suspicion = Suspicion(Kind.INCONSISTENCY, diagnosis, dense(), ("torch:eager", "keras:jax"))
        vote = Claim("gradients", "x", ONE.astype(np.float16), 1e-3, "keras:jax", observed=(ONE + 1).astype(np.float16))
        text = draft("Dense is wrong", "torch:eager", suspicion, vote, None, {}, (), TORCH_EAGER.traits)
        assert "Higher-precision" not in text
        assert "- Baseline: what keras:jax gives on the same inputs, in float16 as well." in text
        assert "(torch.testing.assert_close: rtol=0.001, atol=1e-05) is exceeded" in text

    def test_of_a_dtype_the_dtypes_are_shown(self) -> None:
        diagnosis = Diagnosis(Class.DEFECT, ("keras:numpy",), "d#0", "keras.layers.Dense", {"axis": [-2, -1]}, ())
        suspicion = Suspicion(Kind.DTYPE, diagnosis, dense(), ("keras:numpy", "keras:jax"), stage=Stage.FORWARD)
        policy = Claim("outputs", "d", ONE, 0.0, "the dtype policy", observed=ONE, dtype="bfloat16")
        text = draft("Dense is wrong", "keras:numpy", suspicion, policy, None, {}, (), KERAS_TORCH.traits)
        assert "`keras.layers.Dense` with `axis=[-2, -1]` gives a different dtype, here on keras:numpy.\n" in text
        assert "By the dtype policy: dtype `bfloat16`." in text
        assert "## Observed\n\ndtype `float32`" in text
        for wrong in ("off by", "tolerance", str(ONE.tolist()), "as well"):
            assert wrong not in text

    def test_a_planted_fault_is_not_for_sending(self) -> None:
        assert "**Do not send this: the fault `some-fault` was planted" in self.text(Record(fault="some-fault"))


def test_how_a_script_ended_instead() -> None:
    assert _unlike("no end after 3 s, the time that was left,", "") == (
        "there was no end after 3 s, the time that was left, in a fresh process"
    )
    assert _unlike(0, "observed: 1") == "it ended with 0 instead of 1 in a fresh process: observed: 1"


def test_code_that_all_backends_share_is_not_one_backends() -> None:
    shared = Suspicion(Kind.DTYPE, Diagnosis(Class.DEFECT, ("keras",)), dense(), ("keras:jax", "keras:torch"))
    own = replace(shared, diagnosis=replace(shared.diagnosis, suspects=("keras:jax",)))
    assert [_spoken_of(item, "keras:jax") for item in (shared, own)] == ["", "keras:jax"]
    assert "on every Keras backend" in title_of(shared, _spoken_of(shared, "keras:jax"))


def test_upstream_is_not_told_how_a_case_became_small() -> None:
    reduced = observed("reduced", nodes=2, numbers=9, nodes_after=1, numbers_after=1, checks=3)
    diagnosis = Diagnosis(
        Class.DEFECT, ("keras:jax",), evidence=(observed("witness-runs", target="torch:eager"), reduced)
    )
    (said,) = _told_upstream(diagnosis)
    assert "torch:eager" in said
