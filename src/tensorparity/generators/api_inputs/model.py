"""One way to call one function: its decisions, and calls made of them."""

from __future__ import annotations

import bisect
import itertools
import re
from collections.abc import Mapping

import numpy as np

from .building import SIZES, Built, Workshop, assembled
from .constraints import Category, Constraint, Decision
from .documentation import Facts, facts_of
from .layouts import layout_options
from .listing import Api, Parameter
from .roles import Role, role_options
from .values import CLASSES, DTYPES

_DTYPE_WEIGHTS = {"float32": 12.0, "float64": 1.5, "int32": 1.2}
_SIZE_WEIGHTS = (10.0, 2.0, 1.5, 0.7, 0.3)
_VALUE_WEIGHTS = (10.0, 2.5, 0.8, 0.8, 0.8, 0.4, 0.6, 0.4, 0.4)
_MATRICES = (("as they are", 1.0), ("positive definite", 0.1), ("triangular", 0.05))
_DEFINITE = re.compile(r"positive.definite|cholesky|hermitian|symmetric", re.IGNORECASE)
_INTEGERS = re.compile(
    r"bitwise|shift|popul|gcd|lcm|logical_(left|right)|invert\b|left_shift|right_shift", re.IGNORECASE
)

Choice = Mapping[str, Constraint]


class CallModel:
    """The decisions of one overload; a choice is one constraint for each of them."""

    def __init__(self, api: Api, parameters: tuple[Parameter, ...], *, channels_first: bool) -> None:
        self.api = api
        alone = not any(parameter.required and not parameter.many for parameter in parameters)
        fed = api.kind == "metric"  # what a metric is fed with stands for itself: its options are the constructor's
        self.parameters = tuple(
            item
            for item in parameters
            if item.settable and (alone or not item.many) and not (fed and item.of_call and not item.required)
        )
        self.facts = facts_of(api.doc, [parameter.name for parameter in parameters])
        self._roles = {parameter.name: role_options(parameter, self._fact(parameter)) for parameter in self.parameters}
        tensors = [parameter.name for parameter in self._in_order() if self._may_be_tensor(parameter)]
        layouts = layout_options(tensors, self.facts, api.doc, api.name, channels_first=channels_first)
        self.decisions = {
            "layout": Decision("layout", layouts),
            "dtype": Decision("dtype", self._dtypes()),
            "sizes": Decision("sizes", _listed(Category.SHAPE, SIZES, _SIZE_WEIGHTS)),
            "values": Decision("values", _listed(Category.VALUE, CLASSES, _VALUE_WEIGHTS)),
            "matrices": Decision("matrices", self._matrices()),
            **{f"argument {name}": Decision(name, options) for name, options in self._roles.items()},
        }

    def _fact(self, parameter: Parameter) -> Facts:
        return self.facts.get(parameter.name, Facts())

    def _in_order(self) -> list[Parameter]:
        """Those of the call of an object first: they are what everything else is measured by."""
        return sorted(self.parameters, key=lambda parameter: not parameter.of_call)

    def _may_be_tensor(self, parameter: Parameter) -> bool:
        roles = [option.payload for option in self._roles[parameter.name]]
        return any(isinstance(role, Role) and role.is_tensor for role in roles)

    def _dtypes(self) -> list[Constraint]:
        weights = {name: _DTYPE_WEIGHTS.get(name, 0.4) for name in DTYPES}
        first = next((parameter for parameter in self._in_order() if self._may_be_tensor(parameter)), None)
        if first is not None:
            said = first.dtypes or self._fact(first).dtypes
            if said:
                weights = {name: weight for name, weight in weights.items() if name in said} or weights
                weights = {name: max(weight, 0.8) for name, weight in weights.items()}
        if _INTEGERS.search(self.api.name):
            weights["int32"] = 40.0
        source = "documentation" if len(weights) < len(DTYPES) else "form"
        return [Constraint(Category.TYPE, ("dtype",), name, source, weight, name) for name, weight in weights.items()]

    def _matrices(self) -> list[Constraint]:
        definite = bool(_DEFINITE.search(f"{self.api.name} {self.api.doc[:600]}"))
        options = []
        for name, weight in _MATRICES:
            more = 3.0 if definite and name == "positive definite" else 0.0
            options.append(Constraint(Category.VALUE, ("matrices",), name, "documentation", weight + more, name))
        return options

    def choose(self, rng: np.random.Generator, sharpness: float) -> dict[str, Constraint]:
        """An option for every decision, by promise; the larger the sharpness, the more the best wins."""
        return {name: pick(decision, rng, sharpness) for name, decision in self.decisions.items()}

    def build(self, choice: Choice, rng: np.random.Generator) -> Built:
        """A call that obeys the chosen constraints."""
        roles = {parameter.name: choice[f"argument {parameter.name}"].payload for parameter in self.parameters}
        ordered = [parameter for parameter in self._in_order() if roles[parameter.name] is not None]
        tensors = [parameter.name for parameter in ordered if roles[parameter.name].is_tensor]
        sizes, values, dtype, matrices = (choice[name].payload for name in ("sizes", "values", "dtype", "matrices"))
        layout = choice["layout"].payload.assign(tensors)
        workshop = Workshop(rng, sizes, values, dtype, matrices, layout, self.facts)
        workshop.prepare()
        given = {parameter.name: workshop.argument(parameter, roles[parameter.name]) for parameter in ordered}
        arguments = [(parameter, given[parameter.name]) for parameter in self.parameters if parameter.name in given]
        return Built(assembled(self.api.name, self.api.kind, arguments), workshop.arrays, workshop.domains)


def pick(decision: Decision, rng: np.random.Generator, sharpness: float) -> Constraint:
    """One of the options, by weight."""
    sums = list(itertools.accumulate(decision.weights(sharpness)))
    return decision.options[bisect.bisect(sums, rng.random() * sums[-1], hi=len(sums) - 1)]


def _listed(category: Category, names: tuple[str, ...], weights: tuple[float, ...]) -> list[Constraint]:
    pairs = zip(names, weights, strict=True)
    return [Constraint(category, ("all",), name, "form", weight, name) for name, weight in pairs]
