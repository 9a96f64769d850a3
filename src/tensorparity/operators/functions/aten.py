"""Nodes of exported torch programs that are an operator of the catalogue, which says what they should give.

An operator of ATen has the name of the public function that it is behind, and its arguments have the names of that
function's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from ...core.arrays import Array
from ...core.case import ApiCall, ArrayArg, Case
from ...core.errors import TensorParityError
from ...core.graph import Node
from ..spec import Evaluation, ShapeError
from .recognised import Recognised, recognised

_NAME = re.compile(r"torch\.ops\.aten\.([a-z]\w*)\.\w+", re.ASCII)
_SPECIAL = "special_"
#: Families whose functions take weights, biases or masks that a declaration leaves out. A node does not tell which of
#: its tensors belong to the program, so nobody knows whether it has such.
_WITH_MORE = frozenset(["normalization", "products", "convolution", "losses"])


def evaluate_aten(node: Node, given: Sequence[Array]) -> Evaluation | None:
    """The true output of a node on these inputs; None where it is no operator of the catalogue, for all we know."""
    for api in _public_names(node.op):
        operator = _recognised(api, node, given)
        if operator is not None:
            return _evaluated(operator)
    return None


def _public_names(op: str) -> tuple[str, ...]:
    """What the function may be called: ``torch.nn.functional.silu`` of ``torch.ops.aten.silu.default``."""
    found = _NAME.fullmatch(op)
    if found is None:
        return ()
    name = found[1]
    if name.startswith(_SPECIAL):
        return (f"torch.special.{name.removeprefix(_SPECIAL)}",)
    return (f"torch.{name}", f"torch.nn.functional.{name}", f"torch.special.{name}")


def _recognised(api: str, node: Node, given: Sequence[Array]) -> Recognised | None:
    inputs = {f"x{index}": array for index, array in enumerate(given)}
    call = ApiCall(api, tuple(map(ArrayArg, inputs)), node.params)
    found = recognised(Case(call, inputs=inputs))
    # what the declaration gives besides would be a default of the function's, which ATen's may not be
    if found is None or found.added or found.operator.family in _WITH_MORE:
        return None
    return found


def _evaluated(operator: Recognised) -> Evaluation | None:
    try:
        with np.errstate(all="ignore"):
            return operator.evaluate()
    except (TensorParityError, ShapeError, ValueError, TypeError, IndexError):
        return None
