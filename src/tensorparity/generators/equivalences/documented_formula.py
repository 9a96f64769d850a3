"""Rule 7, documented formula: a function, and the formula of its documentation in the library's own operations.

Only the function can be wrong: a formula evaluated as it stands may lose digits, and is run in float64 as well. What
the docstring itself says is quoted in findings.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...core.call import ApiCall, ArrayArg
from ...core.case import Case, Counterpart
from ...core.rule import Demands
from ..api_inputs import Api
from .base import Category, Equivalence, library_of_name
from .formulas_of_more import OF_AXIS, OF_TWO, along_of, two_of
from .stated_formulas import stated_formula

#: Formulas overflow on the way where functions need not.
_LARGEST = 15.0


class Words:
    """The plain operations of a library, by one name each."""

    _NAMES: Mapping[str, Mapping[str, str]] = {
        "torch": dict.fromkeys((), "")
        | {
            n: f"torch.{n}"
            for n in [
                "exp",
                "log",
                "tanh",
                "sigmoid",
                "abs",
                "sqrt",
                "erf",
                "maximum",
                "minimum",
                "where",
                "sin",
                "square",
            ]
        }
        | {"add": "torch.add", "mul": "torch.mul", "div": "torch.div", "sub": "torch.sub", "greater": "torch.gt"},
        "tensorflow": {
            n: f"tensorflow.math.{n}"
            for n in ["exp", "log", "tanh", "sigmoid", "abs", "sqrt", "erf", "maximum", "minimum"]
        }
        | {"where": "tensorflow.where", "sin": "tensorflow.math.sin", "square": "tensorflow.math.square"}
        | {"add": "tensorflow.math.add", "mul": "tensorflow.math.multiply", "div": "tensorflow.math.divide"}
        | {"sub": "tensorflow.math.subtract", "greater": "tensorflow.math.greater"},
        "jax": {
            n: f"jax.numpy.{n}"
            for n in ["exp", "log", "tanh", "abs", "sqrt", "maximum", "minimum", "where", "sin", "square", "greater"]
        }
        | {"sigmoid": "jax.nn.sigmoid", "erf": "jax.scipy.special.erf", "add": "jax.numpy.add"}
        | {"mul": "jax.numpy.multiply", "div": "jax.numpy.divide", "sub": "jax.numpy.subtract"},
        "keras": {
            n: f"keras.ops.{n}"
            for n in ["exp", "log", "tanh", "sigmoid", "abs", "sqrt", "erf", "maximum", "minimum", "where", "sin"]
        }
        | {"square": "keras.ops.square", "greater": "keras.ops.greater", "add": "keras.ops.add"}
        | {"mul": "keras.ops.multiply", "div": "keras.ops.divide", "sub": "keras.ops.subtract"},
    }

    def __init__(self, library: str) -> None:
        self._own = self._NAMES[library]
        self.library = library

    def __getattr__(self, name: str) -> Callable[..., ApiCall]:
        return lambda *args: ApiCall(
            self._own[name], tuple(self._tensor(name, place, arg) for place, arg in enumerate(args))
        )

    def _tensor(self, name: str, place: int, value: Any) -> Any:
        """Torch's maximum, minimum and where take tensors only."""
        wants = self.library == "torch" and (name in ("maximum", "minimum") or (name == "sub" and place == 0))
        wants = wants or (self.library == "torch" and name == "div" and place == 0)
        return ApiCall("torch.tensor", (float(value),)) if wants and isinstance(value, (int, float)) else value


#: By public name, what docstrings state.
_STATED: dict[str, str] = {}
Formula = Callable[[Words, Any], ApiCall]


def _softplus(w: Words, x: Any) -> ApiCall:
    return w.log(w.add(w.exp(x), 1.0))


def _clipped(w: Words, x: Any, low: float, high: float) -> ApiCall:
    return w.minimum(w.maximum(x, low), high)


def _elu(w: Words, x: Any, alpha: float = 1.0, scale: float = 1.0) -> ApiCall:
    negative = w.mul(w.sub(w.exp(w.minimum(x, 0.0)), 1.0), alpha)
    return w.mul(w.where(w.greater(x, 0.0), x, negative), scale)


def _gelu(w: Words, x: Any) -> ApiCall:
    return w.mul(w.mul(x, 0.5), w.add(w.erf(w.mul(x, 1.0 / math.sqrt(2.0))), 1.0))


def _gelu_tanh(w: Words, x: Any) -> ApiCall:
    inner = w.add(x, w.mul(w.mul(w.mul(x, x), x), 0.044715))
    return w.mul(w.mul(x, 0.5), w.add(w.tanh(w.mul(inner, math.sqrt(2.0 / math.pi))), 1.0))


def _arctanh(w: Words, x: Any) -> ApiCall:
    return w.mul(w.log(w.div(w.add(x, 1.0), w.sub(1.0, x))), 0.5)


def _area(w: Words, x: Any) -> ApiCall:
    return w.mul(w.add(w.erf(w.mul(x, math.sqrt(0.5))), 1.0), 0.5)


_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772, 1.0507009873554805

#: By the last part of a name: the formula in words, and in operations.
FORMULAS: Mapping[str, tuple[str, Formula]] = {
    "silu": ("silu(x) = x * sigmoid(x)", lambda w, x: w.mul(x, w.sigmoid(x))),
    "swish": ("x * sigmoid(x)", lambda w, x: w.mul(x, w.sigmoid(x))),
    "softplus": ("log(exp(x) + 1)", _softplus),
    "softsign": ("x / (1 + |x|)", lambda w, x: w.div(x, w.add(w.abs(x), 1.0))),
    "soft_sign": ("x / (1 + |x|)", lambda w, x: w.div(x, w.add(w.abs(x), 1.0))),
    "mish": ("x * tanh(softplus(x))", lambda w, x: w.mul(x, w.tanh(_softplus(w, x)))),
    "tanhshrink": ("x - tanh(x)", lambda w, x: w.sub(x, w.tanh(x))),
    "tanh_shrink": ("x - tanh(x)", lambda w, x: w.sub(x, w.tanh(x))),
    "logsigmoid": ("log(1 / (1 + exp(-x)))", lambda w, x: w.log(w.sigmoid(x))),
    "log_sigmoid": ("log(1 / (1 + exp(-x)))", lambda w, x: w.log(w.sigmoid(x))),
    "elu": ("x if x > 0 else exp(x) - 1", _elu),
    "celu": ("max(0, x) + min(0, exp(x) - 1)", _elu),
    "selu": (
        "scale * (max(0, x) + min(0, alpha * (exp(x) - 1)))",
        lambda w, x: _elu(w, x, _SELU_ALPHA, _SELU_SCALE),
    ),
    "relu": ("max(x, 0)", lambda w, x: w.maximum(x, 0.0)),
    "relu6": ("min(max(x, 0), 6)", lambda w, x: _clipped(w, x, 0.0, 6.0)),
    "hardtanh": ("-1 below, 1 above, x between", lambda w, x: _clipped(w, x, -1.0, 1.0)),
    "hard_tanh": ("-1 below, 1 above, x between", lambda w, x: _clipped(w, x, -1.0, 1.0)),
    "hardsigmoid": ("relu6(x + 3) / 6", lambda w, x: w.mul(_clipped(w, w.add(x, 3.0), 0.0, 6.0), 1.0 / 6.0)),
    "hard_sigmoid": ("relu6(x + 3) / 6", lambda w, x: w.mul(_clipped(w, w.add(x, 3.0), 0.0, 6.0), 1.0 / 6.0)),
    "hardswish": ("x * relu6(x + 3) / 6", lambda w, x: w.mul(x, w.mul(_clipped(w, w.add(x, 3.0), 0.0, 6.0), 1 / 6))),
    "hard_swish": ("x * relu6(x + 3) / 6", lambda w, x: w.mul(x, w.mul(_clipped(w, w.add(x, 3.0), 0.0, 6.0), 1 / 6))),
    "hard_silu": ("x * relu6(x + 3) / 6", lambda w, x: w.mul(x, w.mul(_clipped(w, w.add(x, 3.0), 0.0, 6.0), 1 / 6))),
    "squareplus": ("(x + sqrt(x^2 + 4)) / 2", lambda w, x: w.mul(w.add(x, w.sqrt(w.add(w.square(x), 4.0))), 0.5)),
    "expm1": ("exp(x) - 1", lambda w, x: w.sub(w.exp(x), 1.0)),
    "exp2": ("2 ** x", lambda w, x: w.exp(w.mul(x, math.log(2.0)))),
    "erfc": ("1 - erf(x)", lambda w, x: w.sub(1.0, w.erf(x))),
    "sigmoid": ("1 / (1 + exp(-x))", lambda w, x: w.div(1.0, w.add(w.exp(w.mul(x, -1.0)), 1.0))),
    "expit": ("1 / (1 + exp(-x))", lambda w, x: w.div(1.0, w.add(w.exp(w.mul(x, -1.0)), 1.0))),
    "sinh": ("(exp(x) - exp(-x)) / 2", lambda w, x: w.mul(w.sub(w.exp(x), w.exp(w.mul(x, -1.0))), 0.5)),
    "cosh": ("(exp(x) + exp(-x)) / 2", lambda w, x: w.mul(w.add(w.exp(x), w.exp(w.mul(x, -1.0))), 0.5)),
    "asinh": ("log(x + sqrt(x^2 + 1))", lambda w, x: w.log(w.add(x, w.sqrt(w.add(w.square(x), 1.0))))),
    "arcsinh": ("log(x + sqrt(x^2 + 1))", lambda w, x: w.log(w.add(x, w.sqrt(w.add(w.square(x), 1.0))))),
    "deg2rad": ("x * pi / 180", lambda w, x: w.mul(x, math.pi / 180.0)),
    "radians": ("x * pi / 180", lambda w, x: w.mul(x, math.pi / 180.0)),
    "rad2deg": ("x * 180 / pi", lambda w, x: w.mul(x, 180.0 / math.pi)),
    "degrees": ("x * 180 / pi", lambda w, x: w.mul(x, 180.0 / math.pi)),
    "rsqrt": ("1 / sqrt(x)", lambda w, x: w.div(1.0, w.sqrt(x))),
    "reciprocal": ("1 / x", lambda w, x: w.div(1.0, x)),
    "log10": ("log(x) / log(10)", lambda w, x: w.mul(w.log(x), 1.0 / math.log(10.0))),
    "log2": ("log(x) / log(2)", lambda w, x: w.mul(w.log(x), 1.0 / math.log(2.0))),
    "log1p": ("log(1 + x)", lambda w, x: w.log(w.add(x, 1.0))),
    "logit": ("log(x / (1 - x))", lambda w, x: w.log(w.div(x, w.sub(1.0, x)))),
    "acosh": ("log(x + sqrt(x^2 - 1))", lambda w, x: w.log(w.add(x, w.sqrt(w.sub(w.square(x), 1.0))))),
    "arccosh": ("log(x + sqrt(x^2 - 1))", lambda w, x: w.log(w.add(x, w.sqrt(w.sub(w.square(x), 1.0))))),
    "atanh": ("log((1 + x) / (1 - x)) / 2", _arctanh),
    "arctanh": ("log((1 + x) / (1 - x)) / 2", _arctanh),
    "ndtr": ("(1 + erf(x / sqrt(2))) / 2", _area),
    "log_ndtr": ("log of the area under the normal curve", lambda w, x: w.log(_area(w, x))),
    "hardshrink": ("x where |x| > 0.5, else 0", lambda w, x: w.where(w.greater(w.abs(x), 0.5), x, w.mul(x, 0.0))),
    "hard_shrink": ("x where |x| > 0.5, else 0", lambda w, x: w.where(w.greater(w.abs(x), 0.5), x, w.mul(x, 0.0))),
    "softshrink": ("x - 0.5 above 0.5, x + 0.5 below -0.5, else 0", lambda w, x: w.sub(x, _clipped(w, x, -0.5, 0.5))),
    "soft_shrink": ("x - 0.5 above 0.5, x + 0.5 below -0.5, else 0", lambda w, x: w.sub(x, _clipped(w, x, -0.5, 0.5))),
    "square": ("x * x", lambda w, x: w.mul(x, x)),
    "negative": ("-x", lambda w, x: w.mul(x, -1.0)),
    "neg": ("-x", lambda w, x: w.mul(x, -1.0)),
}
#: By whole name, where the plain name means something else.
_EXACTLY = {
    "torch.nn.functional.gelu": ("x * Phi(x)", _gelu),
    "tensorflow.nn.gelu": ("0.5 * x * (1 + erf(x / sqrt(2)))", _gelu),
    "jax.nn.gelu": ("0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))", _gelu_tanh),
    "keras.ops.gelu": ("0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))", _gelu_tanh),
    "keras.activations.gelu": ("0.5 * x * (1 + erf(x / sqrt(2)))", _gelu),
}
_MODULES = frozenset(
    ["torch", "torch.nn.functional", "torch.special", "tensorflow.nn", "tensorflow.math"]
    + ["jax.nn", "jax.numpy", "jax.scipy.special", "keras.ops", "keras.activations"]
)


def formula_of(api: str) -> tuple[str, Formula] | None:
    module, _, name = api.rpartition(".")
    return _EXACTLY.get(api) or (FORMULAS.get(name) if module in _MODULES else None)


def _formula(case: Case) -> ApiCall | None:
    """The formula of a call in the library's operations, whatever it is a formula of."""
    call = case.subject
    if not isinstance(call, ApiCall) or not all(array.dtype == np.float32 for array in case.inputs.values()):
        return None
    module, _, name = call.api.rpartition(".")
    words = Words(library_of_name(call.api)) if module in _MODULES or call.api in _EXACTLY else None
    if words is None:
        return None
    plain, two, along = formula_of(call.api), two_of(case), along_of(case)
    if plain and _is_plain(case):
        return plain[1](words, ArrayArg(call.arrays()[0]))
    if two and name in OF_TWO:
        return OF_TWO[name][1](words, *two)
    return OF_AXIS[name][1](words, *along) if along and name in OF_AXIS else None


@dataclass(frozen=True)
class DocumentedFormula(Equivalence):
    def applies(self, api: str) -> bool:
        module, _, name = api.rpartition(".")
        return formula_of(api) is not None or (module in _MODULES and (name in OF_TWO or name in OF_AXIS))

    def own_cases(self, library: str, count: int, seed: int) -> list[Case]:
        """None: the functions have inputs of their own."""
        return []

    def prepared(self, case: Case) -> Case | None:
        if _formula(case) is None:
            return None
        inputs = {
            name: np.clip(np.nan_to_num(array, nan=0.5), -_LARGEST, _LARGEST) for name, array in case.inputs.items()
        }
        return replace(case, inputs={name: array.astype(case.inputs[name].dtype) for name, array in inputs.items()})

    def speaks_of(self, api: Api) -> bool:
        """Any that it applies to; what its docstring states is remembered, for it is seen here alone."""
        _STATED[api.name] = stated_formula(api.doc)
        return True

    def said(self, case: Case) -> str:
        """The formula in the words of the function's docstring; empty where it states none, or was not asked for it."""
        return _STATED.get(case.subject.api, "") if isinstance(case.subject, ApiCall) else ""

    def counterpart(self, case: Case) -> Counterpart | None:
        formula = _formula(case)
        sizes = [float(np.abs(array.astype(np.float64)).max(initial=0.0)) for array in case.inputs.values()]
        return Counterpart(subject=formula) if formula is not None and max(sizes, default=0.0) <= _LARGEST else None


def _is_plain(case: Case) -> bool:
    """A function of one array and nothing else."""
    call = case.subject
    if not isinstance(call, ApiCall) or len(call.arrays()) != 1 or call.kwargs or len(call.args) != 1:
        return False
    return bool(call.args[0] == ArrayArg(call.arrays()[0]))


DOCUMENTED_FORMULA = DocumentedFormula(
    "documented-formula",
    7,
    Category.REDUNDANCY,
    "implement(F, document_F)(I) = F(I)",
    demands=Demands(truth=1, accused=0),
    derivative=2,
)
