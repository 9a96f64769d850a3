"""A diagnosis of a training step, moved to where it belongs: the loss, the optimizer, or the one layer."""

from __future__ import annotations

from dataclasses import replace

from ..core.case import Case
from ..core.finding import Diagnosis
from ..core.signature import policy_parameter
from ..operators.losses.catalogue import LOSSES
from ..operators.optimizers.catalogue import OPTIMIZERS
from .measure.diagnose import public_name
from .subjects import only_layer, parameters_of


def at_loss(diagnosis: Diagnosis, case: Case) -> Diagnosis:
    """The diagnosis, of the loss and no layer."""
    recipe = case.procedure.loss
    assert recipe is not None
    api = LOSSES[recipe.name].api if recipe.name in LOSSES else f"keras.losses.{recipe.name}"
    parameters = {**recipe.params, **policy_parameter(case.procedure.dtype)}
    return replace(diagnosis, api=api, parameters=parameters, node=None)


def at_optimizer(diagnosis: Diagnosis, case: Case) -> Diagnosis:
    """The diagnosis, of the optimizer and no layer."""
    recipe = case.procedure.optimizer
    assert recipe is not None
    api = OPTIMIZERS[recipe.name].api if recipe.name in OPTIMIZERS else f"keras.optimizers.{recipe.name}"
    parameters = {**recipe.params, **policy_parameter(case.procedure.dtype)}
    return replace(diagnosis, api=api, parameters=parameters, node=None)


def at_layer(diagnosis: Diagnosis, case: Case) -> Diagnosis:
    """Of a graph of one layer, that layer; of others nothing is known yet."""
    only = only_layer(case)
    if only is None:
        return replace(diagnosis, api=None, parameters={}, node=None)
    return replace(diagnosis, api=public_name(only.op), parameters=parameters_of(case), node=only.key)
