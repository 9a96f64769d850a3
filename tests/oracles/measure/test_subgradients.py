"""Gradients at kinks and ties: inside of the one-sided derivatives is a freedom, outside of them a defect."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tensorparity.core.arrays import Array
from tensorparity.core.case import Case
from tensorparity.core.finding import Class
from tensorparity.core.graph import GraphBuilder, LayerGraph
from tensorparity.core.procedure import Goal, Procedure, Recipe
from tensorparity.operators.losses.alone import loss_alone
from tensorparity.operators.reference.directional import one_sided, scales
from tensorparity.operators.reference.rounding import K, exact
from tensorparity.operators.spec import Evaluation
from tensorparity.oracles.measure.backward import accuse_gradients, judge_gradients, loss_function, pulled_back
from tensorparity.oracles.measure.subgradients import SubgradientTest, examine_gradients
from tensorparity.targets.catalogue import TARGETS, traits_of

TRAITS = traits_of(TARGETS)

U = 2.0**-24


def graph(op: str, shape: tuple[int, ...], inputs: int = 1, **params: object) -> LayerGraph:
    build = GraphBuilder()
    refs = [build.input(f"x{index}", shape) for index in range(inputs)]
    return build.build(build.add(op, *refs, name="layer", **params))


def replayed(op: str, *arrays: Array, cotangent: Array, **params: object) -> Case:
    """The backward pass of one layer alone."""
    return Case(
        graph(op, arrays[0].shape[1:], len(arrays), **params),
        Procedure(goal=Goal.REPLAY, nodes=("layer#0",)),
        inputs={f"layer#0/{index}": array for index, array in enumerate(arrays)},
        cotangents={"layer#0": cotangent},
    )


def row(*numbers: float) -> Array:
    return np.array([numbers], np.float32)


def judged(case: Case, *gradients: Array, name: str = "input:layer#0/0") -> tuple[str | None, tuple[str, ...]]:
    """Class and suspects for targets a, b, ... with these gradients."""
    targets = [f"lib:{letter}" for letter, _ in zip("abc", gradients, strict=False)]
    node = case.subject.nodes[0]
    answers = {target: {name: gradient} for target, gradient in zip(targets, gradients, strict=True)}
    accusation = accuse_gradients(
        judge_gradients(node, answers, pulled_back(case), traits=TRAITS), dict(zip(targets, targets, strict=True))
    )
    return (None, ()) if accusation is None else (accusation.diagnosis.klass.value, accusation.diagnosis.suspects)


def alike(gradient: Array) -> dict[str, dict[str, Array]]:
    return {target: {"input:layer#0/0": gradient} for target in ("lib:a", "lib:b")}


class TestOneSided:
    def test_relu_at_zero_has_two_slopes(self) -> None:
        at = [np.array([0.0])]
        ahead = one_sided(lambda arrays: exact(np.maximum(arrays[0], 0.0)), at, [np.array([1.0])], exact(np.zeros(1)))
        back = one_sided(lambda arrays: exact(np.maximum(arrays[0], 0.0)), at, [np.array([-1.0])], exact(np.zeros(1)))
        assert ahead is not None
        assert back is not None
        assert (ahead.values[0], back.values[0]) == (1.0, 0.0)

    def test_curvature_is_taken_out(self) -> None:
        middle = exact(np.exp([2.0]))
        slope = one_sided(lambda arrays: exact(np.exp(arrays[0])), [np.array([2.0])], [np.array([1.0])], middle)
        assert slope is not None
        assert abs(slope.values[0] - np.exp(2.0)) <= slope.noise + 1e-6

    def test_not_finite_is_no_slope(self) -> None:
        assert (
            one_sided(lambda arrays: exact(arrays[0] * np.inf), [np.ones(1)], [np.ones(1)], exact(np.ones(1))) is None
        )

    def test_zeros_move_by_the_smallest_number(self) -> None:
        assert scales(np.array([0.0, -4.0, 0.5])).tolist() == [0.5, 4.0, 0.5]
        assert scales(np.zeros(2)).tolist() == [1.0, 1.0]


class TestLayers:
    def test_relu_at_zero_is_free(self) -> None:
        case = replayed("ReLU", row(0.0, 1.0, -1.0), cotangent=row(2.0, 1.0, 1.0))
        assert judged(case, row(0, 1, 0), row(2, 1, 0)) == ("specification", ())
        assert judged(case, row(0, 1, 0), row(1, 1, 0)) == ("specification", ())

    @pytest.mark.parametrize("wrong", [row(2.5, 1, 0), row(-0.5, 1, 0), row(0, 0, 0), row(0, 1, 0.5)])
    def test_relu_outside(self, wrong: Array) -> None:
        case = replayed("ReLU", row(0.0, 1.0, -1.0), cotangent=row(2.0, 1.0, 1.0))
        assert judged(case, row(0, 1, 0), wrong) == ("defect", ("lib:b",))

    def test_signs_of_cotangents_do_not_narrow_the_freedom(self) -> None:
        case = replayed("ReLU", row(0.0, 0.0), cotangent=row(1.0, -1.0))
        assert judged(case, row(0, 0), row(1, 0)) == ("specification", ())
        assert judged(case, row(0, -1), row(1, 0)) == ("specification", ())

    def test_a_tie_of_a_maximum_may_be_split(self) -> None:
        case = replayed("GlobalMaxPooling1D", np.float32([[[1], [3], [3]]]), cotangent=row(1.0))
        first, split, both = (np.float32([[[0], [a], [b]]]) for a, b in ((1, 0), (0.5, 0.5), (1, 1)))
        assert judged(case, first, split) == ("specification", ())
        assert judged(case, split, both) == ("defect", ("lib:b",))  # together they are worth one, not two

    def test_max_pooling_to_all_maxima(self) -> None:
        x = np.float32([[[2], [2], [1], [0]]])
        case = replayed("MaxPooling1D", x, cotangent=np.float32([[[1], [1]]]), pool_size=2)
        right, wrong = np.float32([[[1], [0], [1], [0]]]), np.float32([[[1], [1], [1], [0]]])
        assert judged(case, right, wrong, right) == ("defect", ("lib:b",))

    def test_two_inputs_of_a_maximum(self) -> None:
        case = replayed("Maximum", row(1, 2), row(1, 0), cotangent=row(1, 1))
        targets = {
            "lib:a": (row(1, 1), row(0, 0)),
            "lib:b": (row(0.5, 1), row(0.5, 0)),
            "lib:c": (row(1, 1), row(1, 0)),
        }
        names = ("input:layer#0/0", "input:layer#0/1")

        def classified(*wanted: str) -> tuple[Class, tuple[str, ...]]:
            answers = {target: dict(zip(names, targets[target], strict=True)) for target in wanted}
            found = judge_gradients(case.subject.nodes[0], answers, pulled_back(case), traits=TRAITS)
            accusation = accuse_gradients(found, {target: target for target in wanted})
            assert accusation is not None
            return accusation.diagnosis.klass, accusation.diagnosis.suspects

        assert classified("lib:a", "lib:b") == (Class.SPECIFICATION, ())
        assert classified("lib:a", "lib:c") == (Class.DEFECT, ("lib:c",))

    def test_agreement_is_looked_into(self) -> None:
        case = replayed("ReLU", row(1.0), cotangent=row(1.0))
        assert judged(case, row(1.0), row(1.0)) == (None, ())
        found = judge_gradients(case.subject.nodes[0], alike(row(2.0)), pulled_back(case), traits=TRAITS)
        accusation = accuse_gradients(found, dict.fromkeys(alike(row(2.0)), "lib"))
        assert accusation is not None
        assert (accusation.diagnosis.klass, accusation.diagnosis.suspects) == (Class.DEFECT, ("lib",))

    def test_a_network_is_looked_into_where_it_is_disputed(self) -> None:
        case = replayed("ReLU", row(1.0), cotangent=row(1.0))
        node, function = case.subject.nodes[0], pulled_back(case)
        assert (
            judge_gradients(node, alike(row(2.0)), function, disputes_only=True, traits=TRAITS).errors.judged_by
            == "nothing"
        )

    def test_rounding_is_explained(self) -> None:
        rng = np.random.default_rng(0)
        x = rng.standard_normal((2, 5)).astype(np.float32)
        test = examine_gradients(
            lambda arrays: exact(np.tanh(arrays[0]).ravel()),
            [x.astype(np.float64)],
            {"a": [(1 - np.tanh(x) ** 2).astype(np.float32)], "b": [(1 - np.tanh(x) ** 2) * np.float32(1.001)]},
            U,
            rng,
        )
        assert not test.kink
        assert test.errors["a"] <= K < test.errors["b"]


class TestLosses:
    @pytest.mark.parametrize("vector", [(0.7,), (0.5, -0.25, 3.0)])
    def test_what_cancels_leaves_rounding_and_no_more(self, vector: tuple[float, ...]) -> None:
        """Along itself a vector's cosine does not change: two slopes of one size are taken from each other."""
        build = GraphBuilder()
        case = Case(
            build.build(build.add("Identity", build.input("x", (len(vector),)), name="out")),
            Procedure(goal=Goal.GRADIENTS, loss=Recipe("CosineSimilarity")),
            inputs={"x": row(*vector)},
            labels={"out": row(*(2.0 * number for number in vector))},
        )
        function = loss_function(case)
        assert function is not None
        at = [array.astype(np.float64) for array in function.arguments.values()]
        size = float(np.linalg.norm(vector))
        given = {"rounded": [row(*[U / size] * len(vector))], "wrong": [row(*[1e-3 / size] * len(vector))]}
        test = examine_gradients(function.terms, at, given, U, np.random.default_rng(0))
        assert test.errors["rounded"] == 0.0
        assert test.errors["wrong"] > K

    def test_ties_of_categorical_hinge(self) -> None:
        build = GraphBuilder()
        case = Case(
            build.build(build.add("Identity", build.input("x", (3,)), name="out")),
            Procedure(goal=Goal.GRADIENTS, loss=Recipe("CategoricalHinge")),
            inputs={"x": row(0.2, 0.5, 0.5)},
            labels={"out": row(1, 0, 0)},
        )
        function = loss_function(case)
        assert function is not None
        at = [array.astype(np.float64) for array in function.arguments.values()]
        given = {"one": [row(-1, 1, 0)], "split": [row(-1, 0.5, 0.5)], "both": [row(-1, 1, 1)]}
        test = examine_gradients(function.terms, at, given, U, np.random.default_rng(0))
        assert test.kink
        assert test.errors["one"] == test.errors["split"] == 0.0
        assert test.errors["both"] > K
        along = test.outside["both"]["along"]
        assert "moved together" in along or "direction" in along


def test_where_a_step_changes_the_number_of_terms_nothing_is_measured() -> None:
    def unmasked(arrays):
        kept = arrays[0][arrays[0] != 0.0]
        return exact(kept)

    at = [np.array([0.0, 1.0])]
    test = examine_gradients(unmasked, at, {"one": [np.array([0.0, 1.0])]}, 6e-8, np.random.default_rng(0))
    assert test.errors["one"] == 0.0, "only along the one that no mask hides"


class TestWithinRounding:
    """A limit of 1 - 1e-7 is a number of float32 to whoever computes in it, 0.3 roundoffs away."""

    LIMIT = 1.0 - 1e-7

    def _test(self, gradient: float, at: float) -> dict[str, float]:
        def clipped(arrays: Sequence[Array]) -> Evaluation:
            return exact(np.minimum(arrays[0], self.LIMIT))

        found = examine_gradients(
            clipped, [np.array([at])], {"lib:a": [np.array([gradient])]}, U, np.random.default_rng(0)
        )
        return dict(found.errors)

    @pytest.mark.parametrize("gradient", [0.0, 0.5, 1.0])
    def test_on_the_rounded_limit_either_side_is_right(self, gradient: float) -> None:
        assert self._test(gradient, float(np.float32(self.LIMIT)))["lib:a"] <= K

    def test_a_few_numbers_further_it_is_not(self) -> None:
        assert self._test(0.5, 1.0 - 8 * 2.0**-24)["lib:a"] > K
        assert self._test(1.0, 1.0 - 8 * 2.0**-24)["lib:a"] <= K

    def test_there_need_not_be_a_number_where_rounding_leads_onto_a_kink(self) -> None:
        """The size of what cancels up to rounding: a float32 computation may meet 0, where it has no derivative."""

        def size(arrays: Sequence[Array]) -> Evaluation:
            return exact(np.abs(arrays[0][:1] - arrays[0][1:]))

        def error(first: float) -> float:
            given = {"lib:a": [np.array([np.nan, np.nan])]}
            at = [np.array([first, 1.0])]
            return examine_gradients(size, at, given, U, np.random.default_rng(0)).errors["lib:a"]

        assert not error(1.0 + 1e-9) > K
        assert error(1.5) == np.inf

    def test_beyond_both_sides_is_wrong_on_it_too(self) -> None:
        assert self._test(2.0, float(np.float32(self.LIMIT)))["lib:a"] > K


class TestWithoutDerivative:
    def _errors(self, at: Array, *gradients: Array) -> dict[str, float]:
        def root_and_square(arrays: Sequence[Array]) -> Evaluation:
            return exact(np.concatenate([np.sqrt(arrays[0][:1]), np.square(arrays[0][1:])]))

        given = {f"lib:{letter}": [gradient] for letter, gradient in zip("abc", gradients, strict=False)}
        return dict(examine_gradients(root_and_square, [at], given, U, np.random.default_rng(0)).errors)

    def test_infinity_at_a_root_of_zero_is_nobodys_fault(self) -> None:
        assert self._errors(np.array([0.0, 3.0]), np.array([np.inf, 6.0]))["lib:a"] <= K

    def test_it_does_not_excuse_a_nan_of_another_term(self) -> None:
        assert self._errors(np.array([0.0, 3.0]), np.array([np.nan, np.nan]))["lib:a"] == np.inf

    @pytest.mark.parametrize("place", [1, 2])
    def test_it_excuses_what_it_makes_of_its_own_term(self, place: int) -> None:
        """sqrt(x0) x1, and a number that the formula does not even read; both are multiplied by infinity."""
        gradient = np.array([np.inf, 0.0, 0.0])
        gradient[place] = np.nan
        at = np.array([0.0, 3.0, 5.0])

        def terms(arrays: Sequence[Array]) -> Evaluation:
            return exact(np.sqrt(arrays[0][:1]) * arrays[0][1:2])

        found = examine_gradients(terms, [at], {"lib:a": [gradient]}, U, np.random.default_rng(0))
        assert not found.errors["lib:a"] > K

    def test_a_wrong_number_beside_it_is_still_wrong(self) -> None:
        assert self._errors(np.array([0.0, 3.0]), np.array([np.inf, 7.0]))["lib:a"] > K

    def test_nan_where_there_is_a_derivative_is_wrong(self) -> None:
        errors = self._errors(np.array([4.0, 3.0]), np.array([0.25, np.nan]), np.array([0.25, 6.0]))
        assert errors["lib:a"] == np.inf
        assert errors["lib:b"] <= K

    def test_a_nan_says_nothing_of_other_coordinates(self) -> None:
        """Of lib:a one coordinate is lost, and that is what it is told."""
        terms = {"lib:a": [np.array([np.nan, 6.0])]}
        found = examine_gradients(
            lambda arrays: exact(np.square(arrays[0])), [np.array([2.0, 3.0])], terms, U, np.random.default_rng(0)
        )
        assert found.outside["lib:a"] == {"along": "coordinate 0 of argument 0"}


class TestTwoFormulas:
    def test_who_is_right_by_either_is_right(self) -> None:
        one = SubgradientTest({"a": 0.0, "b": 90.0, "c": 90.0}, False, {"b": {"along": "far"}, "c": {"along": "far"}})
        other = SubgradientTest({"a": 90.0, "b": 1.0, "c": float("nan")}, False, {"a": {"along": "far"}})
        both = one.or_else(other)
        assert both.errors == {"a": 0.0, "b": 1.0, "c": 90.0}
        assert both.otherwise  # two right answers: a freedom
        assert not both.kink
        assert both.outside == {"c": {"along": "far"}}

    def test_the_guard_of_a_sparse_cross_entropy_may_come_first(self) -> None:
        """The labelled class has hardly a chance: by one formula nothing moves the loss, by the other the sum does."""
        recipe = Recipe("SparseCategoricalCrossentropy")
        chances = {"y": np.array([[1.0 - 2.0**-20, 1e-12]], np.float32)}
        case = loss_alone(recipe, chances, {"y": np.array([1], np.int32)}, dtype=None, seed=0)

        def suspects(*gradients: Array) -> tuple[str, ...]:
            answers = {
                f"lib:{letter}": {"input:p0": gradient} for letter, gradient in zip("abc", gradients, strict=True)
            }
            found = judge_gradients(case.subject.nodes[0], answers, loss_function(case), traits=TRAITS)
            accusation = accuse_gradients(found, {target: target for target in answers})
            return accusation.diagnosis.suspects if accusation else ()

        held, moved = np.zeros((1, 2), np.float32), np.array([[1.0, 0.0]], np.float32)
        assert suspects(held, held, moved) == ()
        assert suspects(held, held, 3.0 * moved) == ("lib:c",)
