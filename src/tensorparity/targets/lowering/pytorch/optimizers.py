"""The first step of Keras' optimizers by those of ``torch.optim``, where one of them makes the same of a gradient.

Where the two put an epsilon in different places, the argument is turned into the one that has the same effect in the
first step. RMSprop has none such (its mean of squares starts at 0), nor have Lion, Lamb, Ftrl, Muon; norms are clipped
with an addend of their own in torch; and what Keras decays apart from the gradient, torch decays so in some only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import sqrt

from ....core.jsontext import Json
from ....core.procedure import Recipe
from ....operators.optimizers.catalogue import OPTIMIZERS
from ....operators.spec import Params
from ..refusal import Refusal

#: A class of ``torch.optim``, and its arguments.
Torch = tuple[str, dict[str, Json]]


def _sgd(p: Params) -> Torch:
    nesterov = bool(p["nesterov"] and p["momentum"])
    return "SGD", {"momentum": p["momentum"], "nesterov": nesterov}


def _adam(p: Params) -> Torch:
    """Keras adds epsilon to the root of the mean of squares, torch to that of the corrected mean."""
    made_up = p["epsilon"] / sqrt(1.0 - p["beta_2"])
    decay = p["weight_decay"] or 0.0
    return "AdamW", {"betas": _betas(p), "eps": made_up, "weight_decay": decay, "amsgrad": bool(p["amsgrad"])}


def _adagrad(p: Params) -> Torch:
    """Keras' epsilon is under the root, beside the sum that it is added to."""
    return "Adagrad", {"initial_accumulator_value": p["initial_accumulator_value"] + p["epsilon"], "eps": 0.0}


def _adadelta(p: Params) -> Torch:
    return "Adadelta", {"rho": p["rho"], "eps": p["epsilon"]}


def _adamax(p: Params) -> Torch:
    return "Adamax", {"betas": _betas(p), "eps": p["epsilon"]}


def _nadam(p: Params) -> Torch:
    """Keras warms the momentum up as 0.96^n, torch as 0.96^(n momentum_decay)."""
    return "NAdam", {"betas": _betas(p), "eps": p["epsilon"], "momentum_decay": 1.0}


def _betas(p: Params) -> list[Json]:
    return [p["beta_1"], p["beta_2"]]


#: Those that the traits of the target name.
WRITERS: Mapping[str, Callable[[Params], Torch]] = {
    "SGD": _sgd,
    "Adam": _adam,
    "AdamW": _adam,
    "Adagrad": _adagrad,
    "Adadelta": _adadelta,
    "Adamax": _adamax,
    "Nadam": _nadam,
}


def write_step(recipe: Recipe | None) -> Json:
    """Class and arguments of an optimizer of torch, and what gradients are clipped to before.

    Raises:
        Refusal: if there is none that makes the same step.
    """
    if recipe is None or recipe.name not in WRITERS:
        raise Refusal(f"optimizer {recipe.name if recipe else None} has no counterpart in torch here")
    params = OPTIMIZERS[recipe.name].complete(recipe.params)
    name, arguments = WRITERS[recipe.name](params)
    return [name, {"lr": params["learning_rate"], **arguments}, params["clipvalue"]]
