"""Models for the rules about models: generated networks with their weights, and modules of torch."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...core.arrays import Array
from ...core.call import ApiCall, ArrayArg
from ...core.case import Case
from ...core.procedure import Goal
from ..networks.networks import NetworkGenerator
from ..networks.settings import NetworkSettings
from .architectures import architectures
from .base import MODEL, Equivalence
from .windows import case_of, draws

_X = ArrayArg("x")
#: A real architecture of torch is cheap: of each one. One of Keras' comes with so many configurations.
_REAL, _DEAR = 3, 20


@dataclass(frozen=True)
class ModelRule(Equivalence):
    """A rule about models: graphs of layers on Keras, programs of modules in torch."""

    def applies(self, api: str) -> bool:
        return api == MODEL or api.startswith(("torch.nn.", "keras.applications."))

    def own_cases(self, library: str, count: int, seed: int) -> list[Case]:
        """Small ones, and some real architectures: torch's with any budget, Keras' dear ones with a large one."""
        if library == "keras":
            return [*networks(count, seed), *architectures(library, count // _DEAR, seed)]
        return [*modules(count, seed), *architectures(library, _REAL, seed)] if library == "torch" else []

    def trying(self, model: Case) -> Case:
        """Of a model with a loss and labels, what the rule speaks of: by itself, what it gives in inference."""
        procedure = replace(model.procedure, goal=Goal.FORWARD, loss=None, optimizer=None)
        return replace(model, procedure=procedure, labels={})

    def equivalence(self, case: Case) -> Case | None:
        other = self.counterpart(case)
        return replace(case, counterpart=replace(other, rule=self.name)) if other else None


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
