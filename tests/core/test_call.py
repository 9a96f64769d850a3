"""Programs of calls: what JSON lacks comes back, and what there was before has the digest that it had."""

from __future__ import annotations

import numpy as np
import pytest

from tensorparity.core import jsontext
from tensorparity.core.call import ApiCall, ArrayArg, DtypeArg, TupleArg
from tensorparity.core.case import Case, Counterpart
from tensorparity.core.procedure import Goal, Procedure
from tensorparity.core.rows import one_row

MADE = ApiCall("torch.nn.Linear", (3, 2), {"dtype": DtypeArg("float64")})
PROGRAM = ApiCall(
    "[]",
    (ApiCall("()", (MADE, ArrayArg("x"))), (slice(None, 2, None), 0)),
    {"state": {"w": ArrayArg("w"), "pair": TupleArg((1, ArrayArg("x")))}, "c": 1 + 2j, "low": float("-inf")},
)


def test_a_program_comes_back_as_it_was() -> None:
    text = jsontext.canonical(PROGRAM.to_json())
    assert ApiCall.from_json(jsontext.parse(text)) == PROGRAM


def test_a_program_knows_its_calls_and_arrays() -> None:
    assert [call.api for call in PROGRAM.calls()] == ["[]", "()", "torch.nn.Linear"]
    assert PROGRAM.arrays() == ("w", "x")


def test_a_plain_case_has_the_digest_that_it_always_had() -> None:
    call = ApiCall("keras.ops.softmax", (ArrayArg("x"),), {"axis": -1, "sizes": (1, 2)})
    case = Case(call, Procedure(goal=Goal.CALL), {"x": np.arange(6, dtype=np.float32).reshape(2, 3)}, seed=3)
    assert case.digest == "1ea2eb2db4e6cb25c238ecbf154690c93d6723e95d004f1b44bcf108d7305e33"


@pytest.mark.parametrize("field", ["variant", "derivative", "rows"])
def test_new_fields_are_absent_where_they_say_nothing(field: str) -> None:
    assert field not in Procedure(goal=Goal.CALL).to_json()


def test_a_way_to_run_a_call_comes_back() -> None:
    procedure = Procedure(goal=Goal.CALL, variant="xla", derivative=2, rows=4)
    assert Procedure.from_json(procedure.to_json()) == procedure


def test_one_of_several_inputs_is_cut_out_of_both_sides() -> None:
    x, narrow = np.arange(6.0).reshape(3, 2), np.arange(6.0).reshape(3, 2) + 10
    procedure = Procedure(goal=Goal.CALL, rows=3)
    other = Counterpart(procedure=Procedure(goal=Goal.CALL, rows=3, variant="xla"), inputs={"x": narrow}, rule="xla")
    alone = one_row(Case(ApiCall("f", (ArrayArg("x"),)), procedure, {"x": x}, counterpart=other), 1)
    first, second = alone.sides()
    assert first.procedure.rows is None
    assert first.inputs["x"].tolist() == [2.0, 3.0]
    assert second.procedure == Procedure(goal=Goal.CALL, variant="xla")
    assert second.inputs["x"].tolist() == [12.0, 13.0]
