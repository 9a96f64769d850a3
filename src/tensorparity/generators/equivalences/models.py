"""Models for the rules about models: generated networks with their weights, and modules of torch."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...core.arrays import Array
from ...core.call import ApiCall, ArrayArg
from ...core.case import Case
from ...core.graph import LayerGraph
from ...core.procedure import Goal
from ..networks.networks import NetworkGenerator
from ..networks.settings import NetworkSettings
from .base import Equivalence, api_name
from .windows import case_of, draws

#: What a finding about a whole model is called.
MODEL = "keras.Model"
_X = ArrayArg("x")


@dataclass(frozen=True)
class ModelRule(Equivalence):
    """A rule about models: graphs of layers on Keras, programs of modules in torch."""

    def applies(self, api: str) -> bool:
        return api == MODEL or api.startswith("torch.nn.")

    def own_cases(self, library: str, count: int, seed: int) -> list[Case]:
        if library == "keras":
            return networks(count, seed)
        return modules(count, seed) if library == "torch" else []

    def equivalence(self, case: Case) -> Case | None:
        other = self.counterpart(case)
        return replace(case, counterpart=replace(other, rule=self.name)) if other else None


def model_name(case: Case) -> str:
    """What a case is about, also where that is a graph of layers."""
    return MODEL if isinstance(case.subject, LayerGraph) else api_name(case)


def networks(count: int, seed: int) -> list[Case]:
    """Networks in inference, without labels."""
    settings = NetworkSettings(goal=Goal.FORWARD, training=False, max_vertices=8)
    generator = NetworkGenerator(seed, settings, {})
    found = []
    for _ in range(count):
        case = generator.next().case
        procedure = replace(case.procedure, goal=Goal.FORWARD, loss=None, optimizer=None, trace=False)
        found.append(replace(case, procedure=procedure, labels={}))
    return found


def modules(count: int, seed: int) -> list[Case]:
    """Small models of torch, written for the purpose: each is made and called."""
    rng = np.random.default_rng([seed, 16])
    return [_module(rng, place) for place in range(count)]


def _module(rng: np.random.Generator, place: int) -> Case:
    batch, features, hidden = int(rng.integers(4, 8)), int(rng.integers(1, 6)), int(rng.integers(1, 6))
    dense = (ApiCall("torch.nn.Linear", (features, hidden)), (batch, features))
    image = (ApiCall("torch.nn.Conv2d", (features, hidden, 3), {"padding": 1}), (batch, features, 5, 4))
    first, shape = (dense, image)[place % 2]
    norm = ("torch.nn.BatchNorm1d", "torch.nn.BatchNorm2d")[place % 2]
    last = (ApiCall("torch.nn.GELU"), ApiCall("torch.nn.PReLU"), ApiCall("torch.nn.Softplus", (), {"beta": 2.0}))
    parts = (first, ApiCall(norm, (hidden,)), last[place % 3])
    made = ApiCall(".eval", (ApiCall("torch.nn.Sequential", parts),))
    inputs: dict[str, Array] = {"x": draws(rng, shape)}
    return case_of(ApiCall("()", (made, _X)), inputs)
