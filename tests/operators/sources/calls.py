"""Sources of the operators: the calls that the catalogue itself declares for each library, SciPy, and hand vectors.

A library whose float64 is known to be wrong or missing is no source of that operator; ``UNFIT`` says why, and a test
holds that it still is.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensorparity.core.case import Case
from tensorparity.core.procedure import Goal, Procedure
from tensorparity.generators.inputs.operators import draw
from tensorparity.operators.functions.catalogue import OPERATORS
from tensorparity.operators.functions.spec import Operator
from tensorparity.operators.spec import Evaluation

from .table import Sources

#: Library of a binding, and the target that runs it. Keras is none: it would be one of the others again.
TARGETS = {
    "torch": "torch:eager",
    "tensorflow": "tensorflow:eager",
    "jax": "jax:eager",
    "onnx": "onnx:reference",
}

_FLOAT_ATTRIBUTE = "ONNX's attributes of type float are float32 numbers"
_NO_KERNEL = "it has no kernel for float64"
_ROUNDED_ERF = "its error function is rounded to float32"
_ROUNDED_CONSTANT = "its constant goes through float32 (see trophies/)"

#: Libraries that are no source of an operator in float64, and why.
UNFIT: dict[tuple[str, str], str] = {
    ("attention", "jax"): "its softmax is computed in float32",
    ("avg_pool3d", "tensorflow"): _NO_KERNEL,
    ("celu", "onnx"): "the standard has it in float32 alone",
    ("erf", "onnx"): _ROUNDED_ERF,
    ("erfinv", "tensorflow"): "it loses digits towards zero (see trophies/)",
    ("gelu", "onnx"): _ROUNDED_ERF,
    ("gelu", "tensorflow"): _ROUNDED_CONSTANT,
    ("gelu_tanh", "onnx"): "the constants of its definition are float32 numbers",
    ("gelu_tanh", "tensorflow"): _ROUNDED_CONSTANT,
    ("hard_sigmoid", "onnx"): _FLOAT_ATTRIBUTE,
    ("hard_silu", "onnx"): _FLOAT_ATTRIBUTE,
    ("log_ndtr", "jax"): "it loses digits between 5 and 8 (see trophies/)",
    ("log_softmax", "onnx"): "it is the logarithm of its softmax, which underflows",
    ("lrn", "onnx"): "it normalizes as many channels as there are instances (see trophies/)",
    ("lrn", "tensorflow"): _NO_KERNEL,
    ("max_pool3d", "tensorflow"): _NO_KERNEL,
    ("ndtr", "torch"): "it cancels below zero (see trophies/)",
    ("resize_bilinear", "tensorflow"): "it answers in float32, as documented",
    ("selu", "onnx"): _FLOAT_ATTRIBUTE,
    ("soft_margin", "torch"): "it overflows where the loss is linear (see trophies/)",
    ("softplus", "torch"): "it is the identity above 20, as documented",
}

#: Inputs that show it where drawn ones may not.
WITNESSES: dict[tuple[str, str], dict[str, float | list[float]]] = {
    ("erfinv", "tensorflow"): {"x": 1e-6},
    ("log_ndtr", "jax"): {"x": 8.0},
    ("log_softmax", "onnx"): {"x": [0.0, -800.0]},
    ("ndtr", "torch"): {"x": -8.0},
    ("soft_margin", "torch"): {"prediction": -2000.0, "target": 1.0},
    ("softplus", "torch"): {"x": 21.0},
}

HAND = {
    "soft_margin": "sources/test_by_hand.py::test_soft_margin",
    "squareplus": "sources/test_by_hand.py::test_squareplus",
    "tanh_shrink": "sources/test_by_hand.py::test_tanh_shrink",
}


#: Operators that SciPy computes, and with what; the calls are in ``in_scipy.py``.
SCIPY = {
    "bce": "special.xlogy, xlog1py",
    "cdist": "spatial.distance.cdist",
    "cosine_similarity": "linalg.norm",
    "digamma": "special.digamma",
    "entropy": "special.entr",
    "erf": "special.erf",
    "erfc": "special.erfc",
    "erfinv": "special.erfinv",
    "exp2": "special.exp2",
    "expit": "special.expit",
    "expm1": "special.expm1",
    "group_norm": "ndimage.mean, variance",
    "huber": "special.huber",
    "i0": "special.i0",
    "i0e": "special.i0e",
    "i1": "special.i1",
    "i1e": "special.i1e",
    "kl_div": "special.entr",
    "l2_norm": "linalg.norm",
    "lgamma": "special.gammaln",
    "log1p": "special.log1p",
    "log_ndtr": "special.log_ndtr",
    "log_sigmoid": "special.log_expit",
    "log_softmax": "special.log_softmax",
    "logit": "special.logit",
    "logsumexp": "special.logsumexp",
    "lrn": "ndimage.convolve1d",
    "ndtr": "special.ndtr",
    "ndtri": "special.ndtri",
    "rms_norm": "linalg.norm",
    "sigmoid": "special.expit",
    "smooth_l1": "special.huber",
    "soft_margin": "special.log_expit",
    "softmax": "special.softmax",
    "xlog1py": "special.xlog1py",
    "xlogy": "special.xlogy",
}


def sources_of(name: str) -> Sources:
    """What computes an operator, and how, in the words of ``table.py``."""
    operator = OPERATORS.get(name)
    sizes = {**operator.sizes({}, operator.shapes[0]), "#": (1,)}
    found: Sources = {}
    for library in TARGETS:
        if library in operator.calls and (name, library) not in UNFIT:
            api = operator.native(library, {}, sizes).api
            found[library] = api.removeprefix(f"{library}.")
    if name in SCIPY:
        found["scipy"] = SCIPY[name]
    if name in HAND:
        found["hand"] = HAND[name]
    return found


@dataclass(frozen=True)
class Drawn:
    """One call: the case that targets run, and the reference's answer."""

    operator: Operator
    params: dict[str, Any]
    case: Case

    def expected(self) -> Evaluation:
        with np.errstate(all="ignore"):
            return self.operator.evaluate(self.params, self.arrays())

    def arrays(self) -> list[Any]:
        return self.operator.operand_arrays(self.case.inputs)

    def about(self) -> str:
        shapes = {name: array.shape for name, array in self.case.inputs.items()}
        return f"{self.operator.name} {self.params} {shapes}"


def unfit_calls(name: str, library: str, draws: int) -> list[Drawn]:
    """Uses that show why a library is no source: the witness, or what is drawn."""
    if (name, library) not in WITNESSES:
        return list(draw_calls(name, draws))
    operator = OPERATORS.get(name)
    inputs = {key: np.atleast_1d(value)[None].astype(np.float64) for key, value in WITNESSES[name, library].items()}
    case = Case(operator.api_call({}), Procedure(goal=Goal.CALL), inputs)
    return [Drawn(operator, operator.complete({}), case)]


#: Where numbers are drawn from, in turn.
_PLACES = ("moderate", "normal", "wide", "critical", "cancellation")
_ROWS = 2


def draw_calls(name: str, draws: int) -> Iterator[Drawn]:
    """Uses of one operator on small shapes. The data format is a matter of the call and stays at its default."""
    operator, rng = OPERATORS.get(name), np.random.default_rng(zlib.crc32(name.encode()))
    shapes = sorted(operator.shapes, key=lambda shape: int(np.prod(shape)))[:3]
    for index in range(draws):
        params = {
            parameter.name: parameter.valid[rng.integers(len(parameter.valid))]
            for parameter in operator.parameters
            if parameter.name != "data_format"
        }
        sizes = operator.sizes(params, shapes[rng.integers(len(shapes))])
        inputs = {}
        for operand in operator.operands:
            shape = (_ROWS, *sizes[operand.name]) if operand.stacked else sizes[operand.name]
            inputs[operand.name] = draw(_PLACES[index % len(_PLACES)], rng, shape, operand, "float64", middle=True)
        case = Case(operator.api_call(params), Procedure(goal=Goal.CALL), inputs)
        yield Drawn(operator, operator.complete(params), case)
