"""The rules by name: all sixteen are there, each says where it applies, and its other side is made anew at will."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tensorparity.core.call import ApiCall, ArrayArg
from tensorparity.core.case import Case
from tensorparity.core.procedure import Goal, Procedure
from tensorparity.core.rows import one_row
from tensorparity.core.rule import RULES, with_counterpart
from tensorparity.generators.equivalences.base import LIBRARIES, Equivalence
from tensorparity.generators.equivalences.dilated_by_conv import _with_zeros
from tensorparity.generators.equivalences.documented_formula import FORMULAS
from tensorparity.generators.equivalences.models import ModelRule
from tensorparity.generators.equivalences.windows import same_padding

OURS = [rule for name in RULES.names() if isinstance(rule := RULES.get(name), Equivalence)]
PLAIN = Case(
    ApiCall("torch.tanh", (ArrayArg("x"),)), Procedure(goal=Goal.CALL, rows=2), {"x": np.ones((2, 3, 4), np.float32)}
)


def test_all_sixteen_rules_of_the_paper_are_there() -> None:
    assert {rule.paper for rule in OURS} >= set(range(1, 17))


@pytest.mark.parametrize("rule", OURS, ids=lambda rule: rule.name)
class TestEveryRule:
    def test_it_is_known_by_its_name_and_says_why_it_is_not_elsewhere(self, rule: Equivalence) -> None:
        assert RULES.get(rule.name) is rule
        assert rule.libraries()
        assert all(rule.absent[library] for library in LIBRARIES if library not in rule.libraries())

    def test_its_own_cases_have_another_side_that_is_made_anew(self, rule: Equivalence) -> None:
        if isinstance(rule, ModelRule):
            return  # networks take long to make: see below
        for library in rule.libraries():
            made = [rule.equivalence(case) for case in rule.own_cases(library, 6, 0)]
            for case in filter(None, made):
                again = with_counterpart(case)
                assert again is not None
                assert again.digest == case.digest
            assert not made or any(made)

    def test_its_cases_depend_on_the_seed_alone(self, rule: Equivalence) -> None:
        if isinstance(rule, ModelRule):
            return
        for library in rule.libraries():
            digests = [[case.digest for case in rule.own_cases(library, 4, seed)] for seed in (1, 1, 2)]
            assert digests[0] == digests[1]
            assert not digests[0] or digests[0] != digests[2]


def test_a_row_of_an_equivalence_is_one() -> None:
    rule = RULES.get("explicit-padding")
    case = next(filter(None, map(rule.equivalence, rule.own_cases("torch", 9, 0))))  # type: ignore[attr-defined]
    alone = one_row(case, 3)
    again = with_counterpart(alone)
    assert again is not None
    assert again.digest == alone.digest


def test_a_model_is_reloaded_and_fed_in_batches() -> None:
    (case, *_) = RULES.get("save-h5").own_cases("keras", 1, 0)  # type: ignore[attr-defined]
    saved = RULES.get("save-h5").counterpart(case)
    assert saved is not None
    assert saved.procedure is not None
    assert (saved.procedure.reload, saved.procedure.variant) == (True, "h5")
    fed = RULES.get("batches-of-1").counterpart(case)
    assert fed is not None
    assert fed.procedure is not None
    assert fed.procedure.batch_size == 1


def test_a_way_of_running_is_the_only_difference() -> None:
    made = RULES.get("jit-trace").equivalence(PLAIN)  # type: ignore[attr-defined]
    first, second = made.sides()
    assert second == replace(first, procedure=replace(first.procedure, variant="jit.trace"))
    assert RULES.get("xla").equivalence(PLAIN) is None  # type: ignore[attr-defined]


def test_zeros_are_inserted_between_the_elements_of_a_kernel() -> None:
    wide = _with_zeros(np.asarray([[1.0, 2.0], [3.0, 4.0]]), (0, 1), (2, 3))
    assert wide.tolist() == [[1, 0, 0, 2], [0, 0, 0, 0], [3, 0, 0, 4]]


def test_same_padding_puts_the_odd_one_behind() -> None:
    assert same_padding((5, 6, 4), (2, 3, 1), (1, 2, 2)) == [(0, 1), (0, 1), (0, 0)]


POOLED = replace(
    PLAIN,
    subject=ApiCall("torch.nn.functional.avg_pool1d", (ArrayArg("x"), 3), {"stride": 1, "padding": 1}),
    inputs={"x": np.ones((2, 1, 2, 5), np.float32)},
)


def explicit(case: Case) -> Case | None:
    found: Case | None = RULES.get("explicit-padding").equivalence(case)  # type: ignore[attr-defined]
    return found


class TestExplicitPadding:
    def test_a_mean_that_counts_padding_is_that_of_what_was_padded(self) -> None:
        found = explicit(POOLED)
        assert found is not None
        assert found.sides()[1].subject.api == "torch.nn.functional.avg_pool1d"  # type: ignore[union-attr]

    def test_a_mean_that_leaves_padding_out_is_divided_by_that_of_ones(self) -> None:
        call = replace(POOLED.subject, kwargs={**POOLED.subject.kwargs, "count_include_pad": False})  # type: ignore[union-attr]
        found = explicit(replace(POOLED, subject=call))
        assert found is not None
        other = found.sides()[1].subject
        assert isinstance(other, ApiCall)
        assert other.api == "torch.div"
        assert [inner.api for inner in other.calls()].count("torch.ones_like") == 1
        divided = replace(call, kwargs={**call.kwargs, "divisor_override": 2})
        assert explicit(replace(POOLED, subject=divided)) is None

    def test_the_word_same_pads_the_odd_one_behind_by_the_dilated_kernel(self) -> None:
        kwargs = {"padding": "same", "dilation": 3}
        call = ApiCall("torch.nn.functional.conv1d", (ArrayArg("x"), ArrayArg("w")), kwargs)
        arrays = {**POOLED.inputs, "w": np.ones((2, 1, 2, 2), np.float32)}
        found = explicit(replace(POOLED, subject=call, inputs=arrays))
        assert found is not None
        other = found.sides()[1].subject
        assert isinstance(other, ApiCall)
        assert (other.args[0].args[1], other.kwargs["padding"]) == ([1, 2], 0)

    @pytest.mark.parametrize("library", ["torch", "tensorflow", "keras"])
    def test_means_have_their_turn(self, library: str) -> None:
        own = RULES.get("explicit-padding").own_cases(library, 40, 0)  # type: ignore[attr-defined]
        divided = [found for case in own if (found := explicit(case)) and "div" in found.sides()[1].subject.api]
        assert divided


def test_gradients_are_asked_of_the_rules_that_promise_them() -> None:
    orders: dict[int, set[int]] = {}
    for rule in OURS:
        orders.setdefault(rule.paper, set()).add(rule.derivative)
    assert all(2 in orders[number] for number in (1, 2, 3, 4, 5, 7, 10, 15))
    assert orders[6] == {1}, "zeros that are put between the elements of a kernel have gradients too"


def test_batches_are_of_a_model_in_inference() -> None:
    rule = RULES.get("batches-of-1")
    (module, *_) = rule.own_cases("torch", 1, 0)  # type: ignore[attr-defined]
    pulled = replace(module, procedure=replace(module.procedure, derivative=1))
    assert rule.counterpart(module) is not None
    assert rule.counterpart(pulled) is not None
    call = module.subject
    trained = replace(module, subject=replace(call, args=(call.args[0].args[0], *call.args[1:])))
    assert rule.counterpart(trained) is None, "of a module by itself no axis need be a batch"
    (network, *_) = rule.own_cases("keras", 1, 0)  # type: ignore[attr-defined]
    assert rule.counterpart(replace(network, procedure=replace(network.procedure, derivative=1))) is None


def test_casts_take_whole_numbers_that_both_types_hold() -> None:
    rule = RULES.get("cast-int8-int16")
    values = replace(PLAIN, inputs={"x": np.asarray([[-1e9, 0.3, np.nan], [2.0, np.inf, 30.0]], np.float32)})
    first, second = rule.equivalence(values).sides()  # type: ignore[attr-defined]
    assert (first.inputs["x"].dtype, second.inputs["x"].dtype) == (np.int16, np.int8)
    assert first.inputs["x"].tolist() == second.inputs["x"].tolist() == [[-100, 1, 0], [8, 7, 100]]


def test_casts_of_integers_fill_the_type_in_every_other_row() -> None:
    rows = replace(PLAIN.procedure, rows=2)
    values = replace(PLAIN, procedure=rows, inputs={"x": np.asarray([[1.0, 25.0], [1.0, -25.0]], np.float32)})
    first, second = RULES.get("cast-int64-float64").equivalence(values).sides()  # type: ignore[attr-defined]
    assert second.inputs["x"][0].tolist() == [4, 100]
    large = second.inputs["x"][1].tolist()
    assert large == first.inputs["x"][1].tolist()
    assert 2**24 < large[0] < -large[1] <= 2**40
    assert int(np.float32(large[0])) != large[0]


TWO = replace(
    PLAIN,
    subject=ApiCall("torch.isin", (ArrayArg("x"), ArrayArg("y"))),
    procedure=replace(PLAIN.procedure, rows=2),
    inputs={"x": np.asarray([[1.0, -2.0], [1.0, 2.0]], np.float32), "y": np.ones((2, 3), np.float32)},
)


def test_inputs_of_two_types_are_held_against_converted_ones() -> None:
    first, second = RULES.get("promoted-int32-float16").equivalence(TWO).sides()  # type: ignore[attr-defined]
    assert [array.dtype for array in first.inputs.values()] == [np.int32, np.float16]
    assert [array.dtype for array in second.inputs.values()] == [np.float16, np.float16]
    assert first.inputs["x"].tolist() == [[4, -8], [4100, 4104]], "every other row is more than float16 holds"
    assert second.inputs["x"][0].tolist() == [4, -8]


def test_of_one_input_nothing_is_promoted_and_scalars_take_no_part() -> None:
    rule = RULES.get("promoted-uint8-int8")
    assert rule.equivalence(PLAIN) is None  # type: ignore[attr-defined]
    scalar = replace(TWO, inputs={**TWO.inputs, "y": np.ones(2, np.float32)})
    assert rule.equivalence(scalar) is None  # type: ignore[attr-defined]
    assert rule.equivalence(TWO) is not None  # type: ignore[attr-defined]
    in_tensorflow = replace(TWO, subject=ApiCall("tensorflow.add", TWO.subject.args))  # type: ignore[union-attr]
    assert rule.equivalence(in_tensorflow) is None  # type: ignore[attr-defined]


def test_no_integer_is_a_negative_zero() -> None:
    """1 / -0.0 is another infinity than 1 / 0."""
    rule = RULES.get("cast-int64-float64")
    zeros = replace(PLAIN, inputs={"x": np.asarray([[-0.0, -0.1, 1.0]], np.float32)})
    first, _ = rule.equivalence(zeros).sides()  # type: ignore[attr-defined]
    assert not np.signbit(first.inputs["x"]).any()
    negative = replace(zeros, inputs={"x": np.asarray([[-0.0, 1.0]])})
    assert rule.counterpart(negative) is None
    floats = RULES.get("cast-float32-float64")
    assert floats.counterpart(negative) is not None


@pytest.mark.parametrize("rule", ["slopes", "forward-mode"])
def test_what_reads_one_triangle_has_no_other_gradient(rule: str) -> None:
    pulled = replace(PLAIN, procedure=replace(PLAIN.procedure, derivative=1))
    for name, applies in (("torch.linalg.cholesky_ex", False), ("torch.exp", True)):
        case = replace(pulled, subject=ApiCall(name, (ArrayArg("x"),)))
        assert (RULES.get(rule).equivalence(case) is not None) is applies  # type: ignore[attr-defined]


def test_expanded_rows_are_alike_or_there_is_no_other_side() -> None:
    rule = RULES.get("expanded")
    assert rule.equivalence(PLAIN) is not None  # type: ignore[attr-defined]
    uneven = replace(PLAIN, inputs={"x": np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)})
    assert rule.counterpart(uneven) is None


@pytest.mark.parametrize("name", FORMULAS)
def test_formulas_name_functions_that_exist_in_the_words_of_every_library(name: str) -> None:
    for module in ("torch", "tensorflow.math", "jax.numpy", "keras.ops"):
        case = replace(PLAIN, subject=ApiCall(f"{module}.{name}", (ArrayArg("x"),)))
        made = RULES.get("documented-formula").counterpart(case)
        assert made is not None
        assert isinstance(made.subject, ApiCall)
        assert all(call.api.partition(".")[0] == module.partition(".")[0] for call in made.subject.calls())
