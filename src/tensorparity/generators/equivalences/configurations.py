"""Beyond the paper: what is made from the configuration of an object has that configuration, and behaves as it does.

Losses, metrics, optimizers, schedules and layers of the catalogue, with every argument of the constructor set.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.call import ApiCall, ArrayArg
from ...core.case import Case, Counterpart
from ...core.jsontext import Json
from ...core.procedure import Goal, Procedure
from ...core.rule import Agreement, Demands
from ...operators.catalogue import layer, layer_names
from ...operators.losses.catalogue import LOSSES
from ...operators.metrics.catalogue import METRICS
from ...operators.optimizers.catalogue import OPTIMIZERS
from ...operators.optimizers.options import OPTION_SETTINGS
from ...operators.optimizers.schedules import SCHEDULES
from ...operators.spec import Parameter
from .base import Category, Equivalence
from .windows import case_of

_CONFIG = ".get_config"
#: Names are drawn from a counter where none is given.
_NAME = "made"
_CALLED = ("keras.losses.", "keras.metrics.", "keras.optimizers.schedules.")
_Y, _P = ArrayArg("labels"), ArrayArg("predictions")


def _drawn(parameters: Sequence[Parameter], rng: np.random.Generator) -> dict[str, Json]:
    """Every argument, another value than the default where there is one."""
    found = {}
    for parameter in parameters:
        others = [value for value in parameter.valid if value != parameter.default] or list(parameter.valid)
        if others:
            found[parameter.name] = others[int(rng.integers(len(others)))]
    return {name: value for name, value in found.items() if value is not None}


def made(rng: np.random.Generator) -> Iterator[ApiCall]:
    """The constructor of everything that has a configuration."""
    for loss in LOSSES.values():
        yield ApiCall(loss.api, (), {**_drawn(loss.parameters, rng), "name": _NAME})
    for metric in METRICS.values():
        yield ApiCall(f"keras.metrics.{metric.name}", (), {**_drawn(metric.parameters, rng), "name": _NAME})
    for optimizer in OPTIMIZERS.values():
        options = OPTION_SETTINGS[int(rng.integers(len(OPTION_SETTINGS)))]
        given = {**_drawn(optimizer.parameters, rng), **options, "name": _NAME}
        yield ApiCall(f"keras.optimizers.{optimizer.name}", (), given)
    for schedule in SCHEDULES.values():
        name = f"keras.optimizers.schedules.{schedule.name}"
        yield ApiCall(name, (), {**_drawn(schedule.parameters, rng), "name": _NAME})
    for name in layer_names():
        spec = layer(name)
        if spec.api.startswith("keras.layers."):
            yield ApiCall(spec.api, (), {**_drawn(spec.parameters, rng), "name": _NAME})


def again(maker: ApiCall) -> ApiCall:
    """What is made from the configuration of what a constructor makes."""
    return ApiCall(f"{maker.api}.from_config", (ApiCall(_CONFIG, (maker,)),))


def _maker(call: Any) -> ApiCall | None:
    found = call.args[0] if isinstance(call, ApiCall) and call.api in (_CONFIG, "()") and call.args else None
    return found if isinstance(found, ApiCall) and not found.api.endswith(".from_config") else None


@dataclass(frozen=True)
class Configuration(Equivalence):
    """The configurations themselves."""

    def applies(self, api: str) -> bool:
        return api.startswith(("keras.losses.", "keras.metrics.", "keras.optimizers.", "keras.layers."))

    def own_cases(self, library: str, count: int, seed: int) -> list[Case]:
        rng = np.random.default_rng([seed, 35])
        turns = max(1, count // 8)
        return [self.case(maker, rng) for _ in range(turns) for maker in made(rng) if self.wants(maker)]

    def wants(self, maker: ApiCall) -> bool:
        return True

    def case(self, maker: ApiCall, rng: np.random.Generator) -> Case:
        return Case(ApiCall(_CONFIG, (maker,)), Procedure(goal=Goal.CALL), seed=int(rng.integers(2**31)))

    def counterpart(self, case: Case) -> Counterpart | None:
        maker = _maker(case.subject)
        if maker is None or not isinstance(case.subject, ApiCall):
            return None
        kwargs: Mapping[str, Any] = case.subject.kwargs
        return Counterpart(subject=ApiCall(case.subject.api, (again(maker), *case.subject.args[1:]), kwargs))


@dataclass(frozen=True)
class ConfiguredAgain(Configuration):
    """What losses, metrics and schedules give when they are called."""

    def applies(self, api: str) -> bool:
        return api.startswith(_CALLED)

    def wants(self, maker: ApiCall) -> bool:
        return maker.api.startswith(_CALLED)

    def case(self, maker: ApiCall, rng: np.random.Generator) -> Case:
        if maker.api.startswith("keras.optimizers."):
            return case_of(ApiCall("()", (maker, ArrayArg("step"))), {"step": np.arange(0, 20, 2, dtype=np.int32)})
        labels = rng.integers(0, 2, (10, 4, 4)).astype(np.float32)
        name = maker.api.rpartition(".")[2]
        if name.startswith("Sparse"):
            labels = rng.integers(0, 4, (10, 4)).astype(np.int32)
        arrays = {"labels": labels, "predictions": rng.uniform(0.05, 0.95, (10, 4, 4)).astype(np.float32)}
        return case_of(ApiCall("()", (maker, _Y, _P)), arrays)


_OTHERS = {
    "tensorflow": "its models are Keras'",
    "torch": "its modules have no configuration",
    "jax": "it has no models",
}
CONFIGURATION = Configuration(
    "configuration",
    0,
    Category.BEYOND,
    "config(M) = config(from_config(config(M)))",
    _OTHERS,
    Demands(agreement=Agreement.BITS, lacking=False),
)
CONFIGURED_AGAIN = ConfiguredAgain(
    "configured-again", 0, Category.BEYOND, "M(I) = from_config(config(M))(I)", _OTHERS, Demands(lacking=False)
)
