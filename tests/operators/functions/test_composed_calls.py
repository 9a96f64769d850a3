"""Calls whose arguments are made of arrays: their references by hand, their words in the library."""

from __future__ import annotations

import base64
import io

import numpy as np
import pytest

from tensorparity.core.case import ApiCall, ArrayArg, Case
from tensorparity.core.errors import UsageError
from tensorparity.core.procedure import Goal, Procedure
from tensorparity.operators.functions.api import composed_call, evaluate_call, refused_dtypes
from tensorparity.operators.functions.composed_calls import cosine_similarity
from tensorparity.operators.functions.gif import encoded
from tensorparity.targets.lowering.calls import lower_call
from tensorparity.triage.reproduce.calls import composed_parts

NAMES = ("matrix", "indices", "values", "dense")
SPARSE = ApiCall("torch.sspaddmm", tuple(map(ArrayArg, NAMES)), {"size": [2, 3]})
ARRAYS = {
    "matrix": np.array([[1.0], [2.0]]),
    "indices": np.array([[0, 2], [1, 0], [1, 0]]),
    "values": np.array([3.0, 4.0, 5.0]),
    "dense": np.array([[10.0], [20.0], [30.0]]),
}
COSINE = ApiCall("torch.nn.functional.cosine_similarity", (ArrayArg("a"), ArrayArg("b")), {"dim": 0})


def test_a_sparse_product_by_hand() -> None:
    """Two entries of one place count as their sum: 1 + 3 * 30, and 2 + 9 * 10."""
    assert evaluate_call(SPARSE, ARRAYS).value.tolist() == [[91.0], [92.0]]


def test_an_index_beyond_the_matrix_has_no_answer() -> None:
    with pytest.raises(UsageError, match="does not cover"):
        evaluate_call(SPARSE, {**ARRAYS, "indices": np.array([[0, 9], [1, 0], [1, 0]])})


def test_the_indices_go_in_as_a_view() -> None:
    lowered = lower_call("torch", Case(SPARSE, Procedure(goal=Goal.CALL), inputs=ARRAYS))
    assert isinstance(lowered, tuple)
    subject, _ = lowered
    assert subject["api"] == "torch.Tensor.to_dense"
    sparse = subject["args"][0]["$call"]["args"][1]["$call"]
    assert sparse["args"][0] == {"$array": "indices", "perm": [1, 0], "view": True}
    assert sparse["args"][2] == [2, 3]


@pytest.mark.parametrize(("library", "shown"), [("onnx", "ONNX"), ("jax", "jax"), ("tensorflow", "tensorflow")])
def test_other_libraries_have_no_such_call(library: str, shown: str) -> None:
    case = Case(SPARSE, Procedure(goal=Goal.CALL), inputs=ARRAYS)
    assert lower_call(library, case) == f"{shown} has no torch.sspaddmm"


def test_as_a_script() -> None:
    parts = composed_parts(Case(SPARSE, Procedure(goal=Goal.CALL), inputs=ARRAYS), "torch", "eager", watched=False)
    assert parts is not None
    assert "torch.sparse_coo_tensor(torch.from_numpy(indices).permute([1, 0])" in parts.steps[-1]
    compile("\n".join(parts.steps), "script", "exec")


@pytest.mark.parametrize("broken", [ApiCall("torch.sspaddmm", SPARSE.args), ApiCall("torch.sspaddmm", (1, 2, 3, 4))])
def test_parts_that_are_missing(broken: ApiCall) -> None:
    with pytest.raises(UsageError, match="these are not its arguments"):
        composed_call(broken, ARRAYS)
    reason = lower_call("torch", Case(broken, Procedure(goal=Goal.CALL), inputs=ARRAYS))
    assert isinstance(reason, str)
    assert "these are not its arguments" in reason


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore")
def test_against_torch() -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 4, 5))
    theirs = torch.nn.functional.cosine_similarity(torch.from_numpy(a), torch.from_numpy(b)).numpy()
    assert np.abs(cosine_similarity(a, b).value - theirs).max() < 1e-12
    indices, values, size = torch.from_numpy(ARRAYS["indices"].T.copy()), torch.from_numpy(ARRAYS["values"]), (2, 3)
    sparse = torch.sparse_coo_tensor(indices, values, size)
    whole = torch.addmm(torch.from_numpy(ARRAYS["matrix"]), sparse.to_dense(), torch.from_numpy(ARRAYS["dense"]))
    assert np.abs(evaluate_call(SPARSE, ARRAYS).value - whole.numpy()).max() < 1e-12


PICTURE = {"indices": np.array([[0, 1], [2, 0]], np.uint8), "palette": np.eye(3, dtype=np.uint8) * 201}
GIF = ApiCall("tensorflow.io.decode_gif", (ArrayArg("indices"), ArrayArg("palette")))


def test_a_picture_is_what_was_encoded() -> None:
    assert evaluate_call(GIF, PICTURE).value[0, 1].tolist() == [[0, 0, 201], [201, 0, 0]]
    with pytest.raises(UsageError, match="places in a palette"):
        composed_call(GIF, {**PICTURE, "palette": PICTURE["palette"][:2]})


@pytest.mark.parametrize(("colours", "shape"), [(1, (1, 1)), (2, (3, 7)), (5, (9, 4)), (256, (33, 41))])
def test_files_that_another_decoder_reads(colours: int, shape: tuple[int, int]) -> None:
    image = pytest.importorskip("PIL.Image")
    rng = np.random.default_rng(colours)
    indices = rng.integers(0, colours, shape).astype(np.uint8)
    palette = rng.integers(0, 256, (colours, 3)).astype(np.uint8)
    data = base64.urlsafe_b64decode(encoded(indices, palette))
    read = np.asarray(image.open(io.BytesIO(data)).convert("RGB"))
    assert np.array_equal(read, palette[indices])


def test_the_angle_between_two_vectors() -> None:
    assert np.isclose(cosine_similarity(np.array([3.0, 4.0]), np.array([4.0, 3.0]), dim=0).value, 0.96)
    assert cosine_similarity(np.zeros(2), np.ones(2), dim=0).value == 0.0


def test_integers_are_to_be_refused() -> None:
    whole = {"a": np.ones(2, np.int8), "b": np.ones(2, np.int8)}
    assert refused_dtypes(COSINE, whole) == ["int8"]
    assert refused_dtypes(COSINE, {name: array.astype(np.float32) for name, array in whole.items()}) == []
    assert refused_dtypes(SPARSE, ARRAYS) == []


def test_cosine_similarity_runs_along_the_second_axis_and_tiny_lengths_count_as_eps() -> None:
    x, y = np.arange(1.0, 13.0).reshape(2, 3, 2), np.ones((2, 3, 2))
    found = cosine_similarity(x, y).value
    assert found.shape == (2, 2)
    for n, c in np.ndindex(2, 2):
        column = x[n, :, c]
        assert found[n, c] == pytest.approx(column.sum() / np.sqrt((column**2).sum() * 3.0), rel=1e-12)
    assert cosine_similarity(np.array([[3e-9, 4e-9]]), np.array([[1.0, 0.0]])).value == pytest.approx([0.3])
    assert cosine_similarity(np.array([[3e-9, 4e-9]]), np.array([[1.0, 0.0]]), eps=1e-12).value == pytest.approx([0.6])
