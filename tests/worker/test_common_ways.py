"""Ways that every library has, by a library that is NumPy: element by element, by row, by other words, by slopes."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest

from tensorparity.worker.adapters.call_runs import CallRuns, Ways, cotangent
from tensorparity.worker.contract import Job, Unsupported


class Tensor(np.ndarray[Any, Any]):
    """With a method that is documented as a function of the library."""

    def twice(self, by: float = 2.0) -> Any:
        """Refer to np.twice."""
        return np.asarray(self) * by

    def thrice(self) -> Any:
        """Something else."""
        return np.asarray(self) * 3


def twice(x: Any, by: float = 2.0, *, plus: float = 0.0) -> Any:
    """Alias for :func:`np.double`."""
    return x * by + plus


def follows(x: Any, dim: int = -1) -> Any:
    """Library implementation of :func:`numpy.cumsum`."""
    return np.cumsum(x, axis=dim)


FUNCTIONS: dict[str, Any] = {
    "np.exp": np.exp,
    "np.sum": np.sum,
    "np.plus": np.add,
    "np.flip": np.flip,
    "np.normed": lambda x: x / x.sum(axis=-1, keepdims=True),
    "np.nan_first": lambda x: np.where(np.isnan(x), 0.0, x) if np.ndim(x) else x,
    "np.third": lambda x: np.concatenate([x[:2], -x[2:3], x[3:]]) if len(x) > 2 and x[2] > 9 else x,
    "np.tail": lambda x: np.concatenate([x[:16], 1.01 * x[16:]]) if np.ndim(x) else x,
    "np.twice": twice,
    "np.double": lambda x: 20 * x,
    "np.follows": follows,
    "np.sort": lambda x: -x,
    "np.square": np.square,
    "np.abs": np.abs,
    "np.floor": np.floor,
    "np.sqrt": np.sqrt,
    "np.broken": np.square,
    "np.empty_rows": lambda x: x if len(x) else np.zeros((1, *x.shape[1:])),
}


class NumpyWays(Ways):
    PREFIXES = ("np.",)
    VARIANTS = {
        "negative": lambda function, tensors, kept: function({key: -array for key, array in tensors.items()}),
        "more": lambda function, tensors, kept: function({key: array + 1 for key, array in tensors.items()}),
    }
    MAPPED = {"together": lambda function, rows, kept: [[function(row)] for row in rows]}

    def resolve(self, name: str) -> Any:
        return FUNCTIONS[name]

    def to_tensor(self, array: Any, perm: Any = None) -> Any:
        return np.asarray(array).view(Tensor)

    def to_numpy(self, value: Any) -> Any:
        return np.array(value)

    def context(self, job: Any) -> Any:
        return contextlib.ExitStack()

    def cast(self, tensor: Any, dtype: str) -> Any:
        return tensor.astype(dtype)

    def pulled_back(self, run: Any, function: Any, tensors: Any, order: int) -> Any:
        x = np.asarray(tensors["x"])
        with np.errstate(all="ignore"):
            return [run(function, tensors)], {"x": self._slopes(x)[function.api] * cotangent(x.shape)}

    def _slopes(self, x: Any) -> dict[str, Any]:
        return {
            "np.square": 2 * x,
            "np.abs": np.sign(x),
            "np.floor": 0 * x,
            "np.sqrt": 0.5 / np.sqrt(x),
            "np.broken": 3 * x,
        }

    def pushed_forward(self, function: Any, tensors: Any) -> Any:
        return [function(tensors)], {"x": np.where(np.asarray(tensors["x"]) > 5, np.nan, 7.0)}


def run(api: str, x: Any, *args: Any, kwargs: dict[str, Any] | None = None, **procedure: Any) -> Any:
    subject = {"kind": "api-call", "api": api, "args": [{"$array": "x"}, *args], "kwargs": kwargs or {}}
    job = Job({"subject": subject, "procedure": {"goal": "call", **procedure}}, {"inputs:x": x})
    with np.errstate(all="ignore"):
        return CallRuns(NumpyWays()).run(job)


WHOLE = np.array([[1.0, np.nan, np.inf], [-2.0, 0.5, 3.0]])


class TestByElement:
    @pytest.mark.parametrize("way", ["by element", "without axes", "among others"])
    def test_a_function_of_elements_gives_the_same(self, way: str) -> None:
        found = run("np.exp", WHOLE, variant=way).outputs["0"]
        assert found.shape == WHOLE.shape
        assert np.allclose(found, np.exp(WHOLE), equal_nan=True)

    @pytest.mark.parametrize("api", ["np.normed", "np.flip", "np.sum"])
    def test_what_is_no_function_of_elements_is_unsupported(self, api: str) -> None:
        with pytest.raises(Unsupported, match="by element"):
            run(api, WHOLE, variant="by element")

    def test_what_depends_on_the_place_shows(self) -> None:
        whole = np.array([1.0, 2.0, 10.0, 4.0])
        plain = run("np.third", whole, variant="").outputs["0"]
        assert plain.tolist() != run("np.third", whole, variant="by element").outputs["0"].tolist()

    @pytest.mark.parametrize("way", ["by element", "without axes"])
    def test_what_is_wrong_from_some_length_on_alone_shows_even_of_tame_numbers(self, way: str) -> None:
        whole = np.linspace(1, 2, 17)
        assert (run("np.tail", whole, variant=way).outputs["0"] == whole).all()
        assert run("np.tail", whole, variant="").outputs["0"].tolist() != whole.tolist()
        for api in ("np.normed", "np.flip", "np.sum"):
            with pytest.raises(Unsupported, match=way):
                run(api, whole, variant=way)

    def test_elements_without_axes_may_be_treated_otherwise(self) -> None:
        assert np.isnan(run("np.nan_first", WHOLE, variant="without axes").outputs["0"][0, 1])
        assert run("np.nan_first", WHOLE, variant="by element").outputs["0"][0, 1] == 0.0


class TestByRow:
    def test_rows_are_normed_by_themselves(self) -> None:
        found = run("np.normed", np.arange(1.0, 7.0).reshape(2, 3), variant="row by row").outputs["0"]
        assert np.allclose(found.sum(axis=-1), 1.0)

    def test_a_sum_of_all_is_no_function_of_rows(self) -> None:
        with pytest.raises(Unsupported, match="row by row"):
            run("np.sum", WHOLE, variant="row by row")

    def test_inputs_of_another_form_are_tried_anew(self) -> None:
        """Of one form two tensors are cut together, of the other the first alone."""
        subject = {"kind": "api-call", "api": "np.plus", "args": [{"$array": "x"}, {"$array": "y"}], "kwargs": {}}
        runs = CallRuns(NumpyWays())
        for y in (np.arange(6.0).reshape(3, 2), np.arange(2.0)):
            inputs = {"inputs:x": np.arange(6.0).reshape(3, 2), "inputs:y": y}
            job = Job({"subject": subject, "procedure": {"goal": "call", "variant": "row by row"}}, inputs)
            assert (runs.run(job).outputs["0"] == inputs["inputs:x"] + y).all()

    def test_of_no_rows_the_form_is_that_of_all(self) -> None:
        assert run("np.exp", WHOLE, variant="of nothing").outputs["0"].shape == (2, 3)
        assert run("np.empty_rows", WHOLE, variant="of nothing").outputs["0"].shape == (3, 3)


class TestOtherWords:
    def test_defaults_are_written_out_and_what_leaves_none_out_is_unsupported(self) -> None:
        assert run("np.twice", WHOLE[1], variant="defaults").outputs["0"].tolist() == [-4.0, 1.0, 6.0]
        with pytest.raises(Unsupported, match="leaves nothing out"):
            run("np.twice", WHOLE, 2.0, kwargs={"plus": 0.0}, variant="defaults")

    def test_an_alias_is_the_one_that_is_documented(self) -> None:
        assert run("np.twice", WHOLE[1], variant="alias").outputs["0"].tolist() == [-40.0, 10.0, 60.0]
        with pytest.raises(Unsupported, match="no alias"):
            run("np.exp", WHOLE, variant="alias")

    def test_a_method_counts_where_it_is_documented_as_the_function(self) -> None:
        assert run("np.twice", WHOLE[1], variant="method").outputs["0"].tolist() == [-4.0, 1.0, 6.0]
        with pytest.raises(Unsupported, match="no method"):
            run("np.exp", WHOLE, variant="method")

    def test_numpy_by_the_name_that_is_documented_its_parameters_renamed(self) -> None:
        summed = [[1.0] * 3, [2.0] * 3]
        assert run("np.follows", np.ones((2, 3)), kwargs={"dim": 0}, variant="numpy").outputs["0"].tolist() == summed

    def test_another_function_of_that_name_is_none(self) -> None:
        with pytest.raises(Unsupported, match="something else"):
            run("np.sort", np.array([3.0, 1.0]), variant="numpy")
        assert run("np.flip", np.array([3.0, 1.0]), variant="numpy").outputs["0"].tolist() == [1.0, 3.0]


class TestSlopes:
    @pytest.mark.parametrize("api", ["np.square", "np.abs", "np.floor", "np.sqrt"])
    def test_a_gradient_that_slopes_bear_out_stays_as_it_is(self, api: str) -> None:
        x = np.array([0.0, 0.5, 1.0, 2.0, 3e7])
        result = run(api, x, variant="slopes", derivative=1)
        pulled = NumpyWays().pulled_back(lambda f, t: f(t), _named(api), {"x": x}, 1)[1]["x"]
        assert np.array_equal(result.gradients["input:x"], pulled)

    def test_one_that_they_do_not_becomes_the_slope(self) -> None:
        result = run("np.broken", np.array([1.0, 2.0]), variant="slopes", derivative=1)
        assert np.allclose(result.gradients["input:x"], 2 * np.array([1.0, 2.0]) * [1.0, 1.25], rtol=1e-3)

    def test_what_is_no_number_forward_is_taken_from_what_was_pulled_back(self) -> None:
        result = run("np.square", np.array([1.0, 6.0]), variant="forward mode", derivative=1)
        assert result.gradients["input:x"].tolist() == [7.0, 2 * 6.0 * 1.25]

    def test_they_are_first_derivatives(self) -> None:
        with pytest.raises(Unsupported, match="first"):
            run("np.square", np.ones(2), variant="slopes", derivative=2)


def _named(api: str) -> Any:
    called = lambda tensors: FUNCTIONS[api](tensors["x"])  # noqa: E731
    called.api = api  # type: ignore[attr-defined]
    return called


def test_ways_are_taken_one_inside_the_other() -> None:
    x = np.array([1.0, 2.0])
    assert run("np.square", x, variant="negative + more").outputs["0"].tolist() == [0.0, 1.0]
    assert run("np.square", x, variant="more + negative").outputs["0"].tolist() == [4.0, 9.0]
    stacked = run("np.square", np.stack([x, x]), variant="together + more", rows=2)
    assert stacked.outputs["1/0"].tolist() == [4.0, 9.0]
