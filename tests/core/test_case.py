"""Case: digests that stay, and round trips that lose nothing."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tensorparity.core.arrays import array_digest
from tensorparity.core.case import ApiCall, ArrayArg, Case, Counterpart, ModelFile
from tensorparity.core.errors import CaseFileError
from tensorparity.core.graph import GraphBuilder, LayerGraph
from tensorparity.core.jsontext import canonical, parse
from tensorparity.core.procedure import Goal, Mode, Procedure, Recipe


def graph() -> LayerGraph:
    build = GraphBuilder("two")
    x = build.input("x", (None, 4))
    first = build.add("Dense", x, units=4, slope=float("nan"))
    return build.build(build.add("Dense", first, again="dense_1"))


def graph_case(**changes: Any) -> Case:
    parts: dict[str, Any] = {
        "subject": graph(),
        "inputs": {"x": np.arange(4, dtype=np.float32).reshape(1, 4)},
        "weights": {"dense_1/kernel": np.eye(4).astype(ml_dtypes.bfloat16), "dense_1/bias": np.zeros(4, np.float16)},
    }
    return Case(**{**parts, **changes})


def model_case(path: str = "model.keras") -> Case:
    return Case(ModelFile(path, "ab" * 32), Procedure(batch_size=2), {"x": np.ones((2, 3), np.int64)}, seed=5)


def call_case() -> Case:
    call = ApiCall("torch.cat", ((ArrayArg("a"), ArrayArg("b")),), {"dim": -1, "limit": float("-inf")})
    words = np.array(["", "ä"])
    return Case(call, Procedure(Goal.CALL), {"a": words, "b": np.zeros((0, 3), np.bool_)})


def equivalence_case() -> Case:
    return graph_case(counterpart=Counterpart(graph(), Procedure(mode=Mode.COMPILED)), seed=2**80)


#: Computed once. A change here breaks every stored campaign and every cache: raise FORMAT instead.
DIGESTS = {
    graph_case: "939d3deb1001897be7c0af54cc8e5d58ab567e045d26efe6898f484e4aa6651c",
    model_case: "799a9062a9238a4fb13005fd6abf879c2ae08969614cb126e8e937d424b72d4e",
    call_case: "7ba4b9a8069aed7b479cdcaacf99d72965c83f444db91a09c669a2bc761033c8",
    equivalence_case: "0a25d4d8bc42c042bc4a2ff7d5d19d8ebd47a6857f16692e08d41804959e5b27",
}


@pytest.mark.parametrize("make", DIGESTS)
def test_digests_stay(make: Any) -> None:
    assert make().digest == DIGESTS[make]


@pytest.mark.parametrize("make", DIGESTS)
def test_round_trip(make: Any) -> None:
    case = make()
    header = parse(canonical(case.header()))
    again = Case.from_parts(header, case.arrays())
    assert again.digest == case.digest
    assert canonical(again.header()) == canonical(header)


def test_digest_ignores_memory_layout() -> None:
    plain = np.arange(12, dtype=np.float32).reshape(3, 4)
    strided = np.zeros((6, 8), np.float32)[::2, ::2]
    strided[...] = plain
    for other in (np.asfortranarray(plain), plain.astype(">f4"), strided, plain[::-1].copy()[::-1]):
        assert array_digest(other) == array_digest(plain)
        assert graph_case(inputs={"x": other}).digest == graph_case(inputs={"x": plain}).digest


def test_digest_of_strings_ignores_how_they_are_kept() -> None:
    words = ["a", "", "ä"]
    assert array_digest(np.array(words)) == array_digest(np.array(words, dtype=object))


def test_array_digest_tells_arrays_apart() -> None:
    different = [
        np.zeros(2, np.float32),
        np.zeros((2, 1), np.float32),
        np.zeros(2, np.int32),
        np.array([0.0, -0.0], np.float32),
        np.zeros(0, np.float32),
        np.zeros((0, 2), np.float32),
        np.array(0, np.float32),
        np.zeros(2, ml_dtypes.bfloat16),
        np.zeros(2, np.float16),
        np.array(["ab", ""]),
        np.array(["a", "b"]),
    ]
    assert len({array_digest(array) for array in different}) == len(different)


def test_digest_ignores_the_order_of_keys() -> None:
    one = ApiCall("a.b", (), {"x": 1, "y": {"p": 1, "q": 2}})
    two = ApiCall("a.b", (), {"y": {"q": 2, "p": 1}, "x": 1})
    arrays = {"a": np.ones(1), "b": np.ones(2)}
    assert Case(one, inputs=arrays).digest == Case(two, inputs=dict(reversed(arrays.items()))).digest


def test_digest_ignores_where_a_model_is() -> None:
    here, there = model_case("here/model.keras"), model_case("there.keras")
    assert here.digest == there.digest
    for other in (here, there):
        assert isinstance(other.subject, ModelFile)
    pair = [graph_case(counterpart=Counterpart(case.subject)) for case in (here, there)]
    assert pair[0].digest == pair[1].digest
    assert here.header() != there.header(), "the path itself is kept"


def test_digest_sees_everything_else() -> None:
    array = np.ones((1, 4), np.float32)
    different = [
        graph_case(),
        graph_case(seed=1),
        graph_case(procedure=Procedure(trace=True)),
        graph_case(inputs={"y": array}),
        graph_case(inputs={"x": array}),
        graph_case(inputs={}, labels={"x": array}),
        graph_case(cotangents={"x": array}),
        graph_case(counterpart=Counterpart(procedure=Procedure(trace=True))),
        Case(ModelFile("x", "cd" * 32)),
        Case(ModelFile("x", "cd" * 32, "onnx")),
    ]
    assert len({case.digest for case in different}) == len(different)


def test_a_case_does_not_see_later_changes_of_the_callers_dicts() -> None:
    inputs = {"x": np.ones(1)}
    case = Case(ApiCall("a.b"), inputs=inputs)
    inputs["y"] = np.ones(1)
    assert list(case.inputs) == ["x"]


def test_sides() -> None:
    case = graph_case()
    assert case.sides() == (case,)
    left, right = equivalence_case().sides()
    assert left.counterpart is right.counterpart is None
    assert (left.procedure.mode, right.procedure.mode) == (Mode.USER, Mode.COMPILED)
    assert dict(left.inputs) == dict(right.inputs)


@pytest.mark.parametrize(
    ("header", "match"),
    [
        ([], "case format 'list'"),
        ({"format": 99}, "case format 99 is not supported; this version reads format 1"),
        ({"format": 1}, "malformed: KeyError"),
        ({"format": 1, "subject": {"kind": "x"}}, "unknown subject kind 'x'; known are api-call, layer-graph"),
    ],
)
def test_parts_that_do_not_fit(header: Any, match: str) -> None:
    with pytest.raises(CaseFileError, match=match):
        Case.from_parts(header, {})


def test_unknown_array_group() -> None:
    with pytest.raises(CaseFileError, match="unknown array group in 'x:y'"):
        Case.from_parts(graph_case().header(), {"x:y": np.ones(1)})


@pytest.mark.parametrize(
    "procedure",
    [
        Procedure(),
        Procedure(Goal.UPDATE, Mode.EAGER, True, True, loss=Recipe("mse"), optimizer=Recipe("SGD", {"lr": 0.1})),
        Procedure(Goal.REPLAY, nodes=("a#0", "b#1"), reload=True, batch_size=3, dtype="float16"),
        Procedure(Goal.FORWARD, data_format="channels_first"),
    ],
)
def test_procedure_round_trip(procedure: Procedure) -> None:
    assert Procedure.from_json(parse(canonical(procedure.to_json()))) == procedure


def test_a_default_procedure_says_only_its_goal() -> None:
    assert Procedure().to_json() == {"goal": "forward"}, "a field added later must change no old digest"
