"""Shapes and dtypes against what was announced, and against each other, on handmade outcomes."""

from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core.case import Case
from tensorparity.core.finding import Class
from tensorparity.core.graph import GraphBuilder, Node, Ref
from tensorparity.core.outcome import Form, Outcome, Status, Trace
from tensorparity.core.verdict import Kind
from tensorparity.oracles.measure.diagnose import accuse, blame
from tensorparity.oracles.measure.forms import Forms, same_dtype
from tensorparity.oracles.measure.isolated_nodes import measure_node
from tensorparity.reporting.words import sentences
from tensorparity.targets.catalogue import TARGETS, traits_of

from ..judging import judge

TRAITS = traits_of(TARGETS)

NODE = Node("flat", "Flatten", (Ref("x"),))
X = np.arange(6, dtype=np.float32).reshape(1, 2, 3)
Y = X.reshape(1, 6)
A, B, C = "keras:tensorflow", "keras:torch", "keras:jax"
KERAS = dict.fromkeys((A, B, C), "keras")


def outcome(target: str, value: np.ndarray = Y, form: Form | None = None) -> Outcome:
    symbolic = {"flat#0": form} if form else {}
    return Outcome(target, Status.COMPLETED, {}, Trace({"flat#0": value}, symbolic=symbolic))


def measured(*outcomes: Outcome):
    return measure_node(NODE, [X], {}, {item.target: item for item in outcomes}, traits=TRAITS)


def test_the_odd_dtype_out_is_a_defect_though_its_numbers_are_right() -> None:
    errors = measured(outcome(A), outcome(B, Y.astype(np.float16)), outcome(C))
    (accusation,) = accuse([errors], KERAS)
    assert (accusation.kind, accusation.diagnosis.suspects) == (Kind.DTYPE, (B,))
    assert sentences(accusation.diagnosis)[0] == f"{B} gives float16, most others give float32"


def test_two_that_differ_are_disputed() -> None:
    errors = measured(outcome(A), outcome(B, Y.astype(np.float16)))
    assert blame(errors, KERAS) == (None, ())
    assert errors.disputed


def test_libraries_with_rules_of_their_own_are_not_held_against_each_other() -> None:
    errors = measured(outcome(A), outcome(C), outcome("onnxruntime", Y.astype(np.float64)))
    assert errors.form is None


@pytest.mark.parametrize(
    ("form", "kind"),
    [
        (Form((None, 7), "float32"), Kind.SHAPE),
        (Form((None, 6, 1), "float32"), Kind.SHAPE),
        (Form((None, 6), "float16"), Kind.DTYPE),
        (Form((None, 6), "int32"), Kind.DTYPE),
        (Form((None, None), "float32"), None),
        (Form((3, 6), "float32"), None),
        (Form((None, 6), "float64"), None),
        (Form((None, 6), "bfloat16"), None),
    ],
)
def test_a_library_is_held_to_what_it_announced(form: Form, kind: Kind | None) -> None:
    right = Form((None, 6), "float32")
    errors = measured(outcome(A, form=right), outcome(B, form=form))
    assert errors.form is kind
    assert blame(errors, KERAS) == ((Class.DEFECT, (B,)) if kind else (None, ()))
    if kind:
        assert blame(measured(outcome(A, form=form), outcome(B, form=form)), KERAS) == (Class.DEFECT, ("keras",))


def test_wrong_numbers_come_first() -> None:
    errors = measured(outcome(A), outcome(B, (Y + 1).astype(np.float16)), outcome(C))
    assert errors.form is None
    assert blame(errors, KERAS) == (Class.DEFECT, (B,))


def test_nothing_is_said_where_nothing_is_wrong() -> None:
    assert Forms(NODE, {A: outcome(A), B: outcome(B)}, traits=TRAITS).kind is None
    assert same_dtype("string", "float32")


def test_a_form_survives_the_way_to_the_cache() -> None:
    first = outcome(A, form=Form((None, 6), "float32"))
    again = Outcome.from_parts(first.header(), first.arrays())
    assert again.trace.symbolic == first.trace.symbolic


def test_a_case_of_one_layer_is_judged_in_the_same_way_when_it_is_replayed() -> None:
    builder = GraphBuilder()
    graph = builder.build(builder.add("Flatten", builder.input("x", (2, 3)), name="flat"))
    case = Case(graph, inputs={"x": X})
    given = {A: Y, B: Y.astype(np.float16), C: Y}
    outcomes = {target: Outcome(target, Status.COMPLETED, {"flat": value}) for target, value in given.items()}
    suspicion, _ = judge(case, outcomes)
    assert suspicion is not None
    assert (suspicion.kind, suspicion.diagnosis.suspects) == (Kind.DTYPE, (B,))
    del outcomes[C]
    suspicion, _ = judge(case, outcomes)
    assert suspicion is not None, "the layer runs in float32, so float16 is wrong without any majority"
    assert suspicion.diagnosis.suspects == (B,)
    outcomes[B] = Outcome(B, Status.COMPLETED, {"flat": Y})
    assert judge(case, outcomes) == (None, "")
