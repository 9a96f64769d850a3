"""Functions on values that no array is: a sparse matrix or a file is given by its parts, and made of them there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...core.arrays import Array
from ...core.case import ApiCall, ArrayArg
from ..reference.rounding import exact, growth
from ..spec import Evaluation
from .gif import encoded
from .spec import Call, Tensor, call


def decode_gif_call(given: ApiCall, inputs: Mapping[str, Array]) -> Call:
    """``indices`` and ``palette`` of a picture, which the library gets encoded."""
    indices, palette = (inputs[_tensor(argument).name] for argument in given.args)
    return call("tensorflow.io.decode_gif", call("tensorflow.io.decode_base64", encoded(indices, palette)))


def decode_gif(indices: Array, palette: Array) -> Evaluation:
    """The picture that was encoded, as the only one of its film."""
    return exact(palette[indices][None])


def sspaddmm_call(given: ApiCall, inputs: Mapping[str, Array]) -> Call:
    """``input``, then indices (one row each), values and ``size`` of the sparse ``mat1``, then ``mat2``; dense again.

    The indices are a transposed view: torch wants one column each, and their memory stays as it is.
    """
    matrix, indices, values, dense = (_tensor(argument) for argument in given.args)
    turned = Tensor(indices.name, perm=(1, 0), view=True)
    sparse = call("torch.sparse_coo_tensor", turned, values, list(given.kwargs["size"]))
    added = call("torch.sspaddmm", call("torch.Tensor.to_sparse", matrix), sparse, dense)
    return call("torch.Tensor.to_dense", added)


def _tensor(argument: object) -> Tensor:
    if not isinstance(argument, ArrayArg):
        raise TypeError(f"expected an array. Received: {argument!r}")
    return Tensor(argument.name)


def sspaddmm(matrix: Array, indices: Array, values: Array, dense: Array, size: Sequence[int]) -> Evaluation:
    """The sparse matrix times the dense one, added to ``matrix``; entries of one place are added up."""
    sparse, sizes = np.zeros(tuple(size)), np.zeros(tuple(size))
    places = tuple(np.asarray(indices).T)
    np.add.at(sparse, places, values)
    np.add.at(sizes, places, np.abs(values))
    return Evaluation(matrix + sparse @ dense, np.abs(matrix) + growth(len(values)) * (sizes @ np.abs(dense)))


def cosine_similarity(x1: Array, x2: Array, dim: int = 1, eps: float = 1e-8) -> Evaluation:
    """The product of both over the product of their lengths, which counts as ``eps`` at least."""
    lengths = np.linalg.norm(x1, axis=dim) * np.linalg.norm(x2, axis=dim)
    bottom = np.maximum(lengths, eps)
    value = (x1 * x2).sum(axis=dim) / bottom
    terms = np.abs(x1 * x2).sum(axis=dim) / bottom
    return Evaluation(np.asarray(value), np.asarray(growth(x1.shape[dim]) * (terms + np.abs(value))))
