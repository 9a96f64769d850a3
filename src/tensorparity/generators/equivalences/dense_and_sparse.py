"""Rule 8, dense and sparse: a function of a dense tensor, and the same or its sparse twin of a sparse one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.call import ApiCall, ArrayArg, TupleArg
from ...core.case import Case, Counterpart
from ...core.rule import Demands
from .base import Category, Equivalence, library_of_name
from .windows import VALUES, case_of

A, B, C = ArrayArg("a"), ArrayArg("b"), ArrayArg("c")
_TF = "tensorflow.sparse."
_JS = "jax.experimental.sparse."


def _tf(tensor: Any) -> ApiCall:
    return ApiCall(f"{_TF}from_dense", (tensor,))


def _tf_back(call: ApiCall) -> ApiCall:
    return ApiCall(f"{_TF}to_dense", (call,))


def _bcoo(tensor: Any) -> ApiCall:
    return ApiCall(f"{_JS}bcoo_fromdense", (tensor,))


def _bcoo_back(call: ApiCall) -> ApiCall:
    return ApiCall(f"{_JS}bcoo_todense", (call,))


#: The last axis of the first with the first one of the second, no axis of a batch.
_PRODUCT = TupleArg((TupleArg((TupleArg((1,)), TupleArg((0,)))), TupleArg((TupleArg(()), TupleArg(())))))

#: By dense call: the twin. Shapes are square, so that every product fits.
TWINS: tuple[tuple[ApiCall, Callable[[], ApiCall]], ...] = (
    (
        ApiCall("torch.addmm", (A, B, C)),
        lambda: ApiCall("torch.sspaddmm", (ApiCall(".to_sparse", (A,)), ApiCall(".to_sparse", (B,)), C)),
    ),
    (
        ApiCall("torch.addmm", (A, B, C)),
        lambda: ApiCall("torch.sparse.addmm", (A, ApiCall(".to_sparse", (B,)), C)),
    ),
    (ApiCall("torch.mm", (A, B)), lambda: ApiCall("torch.sparse.mm", (ApiCall(".to_sparse", (A,)), B))),
    (ApiCall("torch.mm", (A, B)), lambda: ApiCall("torch.smm", (ApiCall(".to_sparse", (A,)), B))),
    (ApiCall("torch.mm", (A, B)), lambda: ApiCall("torch.hspmm", (ApiCall(".to_sparse", (A,)), B))),
    (
        ApiCall("torch.mm", (A, B)),
        lambda: ApiCall("torch.sparse.mm", (ApiCall(".to_sparse", (A,)), ApiCall(".to_sparse", (B,)))),
    ),
    (
        ApiCall("torch.mm", (A, B)),
        lambda: ApiCall("torch.sparse.mm", (ApiCall(".to_sparse_csr", (A,)), ApiCall(".to_sparse_csr", (B,)))),
    ),
    (ApiCall("torch.sum", (A,)), lambda: ApiCall("torch.sparse.sum", (ApiCall(".to_sparse", (A,)),))),
    (ApiCall("torch.sum", (A, 1)), lambda: ApiCall("torch.sparse.sum", (ApiCall(".to_sparse", (A,)), 1))),
    (ApiCall("torch.transpose", (A, 0, 1)), lambda: ApiCall("torch.transpose", (ApiCall(".to_sparse", (A,)), 0, 1))),
    (
        ApiCall("torch.cat", ((A, B), 1)),
        lambda: ApiCall("torch.cat", ((ApiCall(".to_sparse", (A,)), ApiCall(".to_sparse", (B,))), 1)),
    ),
    (
        ApiCall("tensorflow.linalg.matmul", (A, B)),
        lambda: ApiCall(f"{_TF}sparse_dense_matmul", (_tf(A), B)),
    ),
    (
        ApiCall("tensorflow.linalg.matmul", (A, B), {"transpose_a": True}),
        lambda: ApiCall(f"{_TF}sparse_dense_matmul", (_tf(A), B), {"adjoint_a": True}),
    ),
    (
        ApiCall("tensorflow.linalg.matmul", (A, B), {"transpose_b": True}),
        lambda: ApiCall(f"{_TF}sparse_dense_matmul", (_tf(A), B), {"adjoint_b": True}),
    ),
    (
        ApiCall("tensorflow.slice", (A, (0, 0), (1, -1))),
        lambda: _tf_back(ApiCall(f"{_TF}slice", (_tf(A), (0, 0), (1, 1000)))),
    ),
    (
        ApiCall("tensorflow.expand_dims", (A, 1)),
        lambda: _tf_back(ApiCall(f"{_TF}expand_dims", (_tf(A), 1))),
    ),
    (ApiCall("tensorflow.math.reduce_sum", (A,)), lambda: ApiCall(f"{_TF}reduce_sum", (_tf(A),))),
    (
        ApiCall("tensorflow.math.reduce_sum", (A,), {"axis": 1}),
        lambda: ApiCall(f"{_TF}reduce_sum", (_tf(A),), {"axis": 1}),
    ),
    (ApiCall("tensorflow.math.add", (A, B)), lambda: ApiCall(f"{_TF}add", (_tf(A), B))),
    (
        ApiCall("tensorflow.math.add", (A, B)),
        lambda: _tf_back(ApiCall(f"{_TF}add", (_tf(A), _tf(B)))),
    ),
    (ApiCall("tensorflow.transpose", (A,)), lambda: _tf_back(ApiCall(f"{_TF}transpose", (_tf(A),)))),
    (
        ApiCall("tensorflow.concat", ((A, B), 1)),
        lambda: _tf_back(ApiCall(f"{_TF}concat", (1, (_tf(A), _tf(B))))),
    ),
    (
        ApiCall("tensorflow.reshape", (A, (-1,))),
        lambda: _tf_back(ApiCall(f"{_TF}reshape", (_tf(A), (-1,)))),
    ),
    (ApiCall("tensorflow.identity", (A,)), lambda: _tf_back(_tf(A))),
    (ApiCall("tensorflow.identity", (A,)), lambda: _tf_back(ApiCall(f"{_TF}reorder", (_tf(A),)))),
    (
        ApiCall("tensorflow.math.maximum", (A, B)),
        lambda: _tf_back(ApiCall(f"{_TF}maximum", (_tf(A), _tf(B)))),
    ),
    (
        ApiCall("tensorflow.math.minimum", (A, B)),
        lambda: _tf_back(ApiCall(f"{_TF}minimum", (_tf(A), _tf(B)))),
    ),
    (ApiCall("jax.numpy.copy", (A,)), lambda: _bcoo_back(_bcoo(A))),
    (
        ApiCall("jax.numpy.matmul", (A, B)),
        lambda: ApiCall(f"{_JS}bcoo_dot_general", (_bcoo(A), B), {"dimension_numbers": _PRODUCT}),
    ),
    (
        ApiCall("jax.numpy.concatenate", ((A, B), 1)),
        lambda: _bcoo_back(ApiCall(f"{_JS}bcoo_concatenate", ((_bcoo(A), _bcoo(B)),), {"dimension": 1})),
    ),
    (
        ApiCall("jax.numpy.copy", (A,)),
        lambda: _bcoo_back(ApiCall(f"{_JS}bcoo_sum_duplicates", (_bcoo(A),))),
    ),
    (
        ApiCall("jax.numpy.transpose", (A,)),
        lambda: _bcoo_back(ApiCall(f"{_JS}bcoo_transpose", (_bcoo(A),), {"permutation": (1, 0)})),
    ),
    (
        ApiCall("jax.numpy.sum", (A,), {"axis": 0}),
        lambda: _bcoo_back(ApiCall(f"{_JS}bcoo_reduce_sum", (_bcoo(A),), {"axes": (0,)})),
    ),
)
_DENSE = frozenset(dense.api for dense, _ in TWINS)


def _stored(size: int, rng: np.random.Generator) -> Array:
    values = np.round(rng.standard_normal((VALUES, size, size)) * 8) / 4
    return np.where(rng.random(values.shape) < 0.6, 0.0, values).astype(np.float32)


@dataclass(frozen=True)
class SparseTwin(Equivalence):
    """A function and the function that the library has for sparse tensors."""

    def applies(self, api: str) -> bool:
        return api in _DENSE

    def own_cases(self, library: str, count: int, seed: int) -> list[Case]:
        rng = np.random.default_rng([seed, 8])
        known = [dense for dense, _ in TWINS if library_of_name(dense.api) == library]
        calls = [dense for place, dense in enumerate(known) if dense not in known[:place]]
        found = []
        for place in range(count):
            call = calls[place % len(calls)]
            size = int(rng.integers(1, 6))
            found.append(case_of(call, {name: _stored(size, rng) for name in call.arrays()}))
        return found

    def counterpart(self, case: Case) -> Counterpart | None:
        twins = [twin for dense, twin in TWINS if dense == case.subject]
        if not twins:
            return None
        place = sum(array.shape[-1] for array in case.inputs.values()) % len(twins)
        return Counterpart(subject=twins[place]())


@dataclass(frozen=True)
class SparseArgument(Equivalence):
    """A function that takes its first argument sparse as well as dense; where it does not, it is unsupported."""

    layout: str = "to_sparse"

    def applies(self, api: str) -> bool:
        return api.startswith("torch.") and not api.startswith(("torch.nn.", "torch.sparse."))

    def counterpart(self, case: Case) -> Counterpart | None:
        call = case.subject
        if not isinstance(call, ApiCall) or not call.args or not isinstance(call.args[0], ArrayArg):
            return None
        array = case.inputs[call.args[0].name]
        rank = array.ndim - (case.procedure.rows is not None)
        if rank < 1 or array.dtype != np.float32 or (self.layout != "to_sparse" and rank != 2):
            return None
        sparse = ApiCall(f".{self.layout}", (call.args[0],))
        return Counterpart(subject=ApiCall(call.api, (sparse, *call.args[1:]), dict(call.kwargs)))


_STATEMENT = "F(dense(I)) = F(sparse(I))"
_ABSENT = {"keras": "sparse tensors are its backends'"}
SPARSE_TWIN = SparseTwin("sparse-twin", 8, Category.STRUCTURE, _STATEMENT, _ABSENT)
_OTHERS = {
    "tensorflow": "functions of dense tensors take no SparseTensor: see sparse-twin",
    "jax": "functions of arrays take no BCOO: see sparse-twin",
    **_ABSENT,
}
SPARSE_COO = SparseArgument("sparse-coo", 8, Category.STRUCTURE, _STATEMENT, _OTHERS, Demands(optional=True))
SPARSE_CSR = SparseArgument(
    "sparse-csr", 8, Category.STRUCTURE, _STATEMENT, _OTHERS, Demands(optional=True), layout="to_sparse_csr"
)
