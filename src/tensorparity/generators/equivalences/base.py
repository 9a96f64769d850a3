"""What the rules have in common: where each applies, what it promises, and how it is shown in tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

import numpy as np

from ...core.call import ApiCall
from ...core.case import Case, Counterpart
from ...core.rule import RULES, Demands, Rule, demands_of
from ..api_inputs import Api

#: The libraries that rules speak of.
LIBRARIES = ("tensorflow", "torch", "jax", "keras")
#: What a finding about a whole model is called.
MODEL = "keras.Model"
#: Whose operators several runtimes run; only rules of its own speak of it.
ONNX = "onnx"


class Category(Enum):
    """The categories of the paper's Table 1, and ours beyond it."""

    OPTIMIZATION = "Optimization"
    REDUNDANCY = "API Redundancy"
    STRUCTURE = "Data Structure Equivalence"
    FORMAT = "Data Format Equivalence"
    INVERSE = "Inverse Equivalence"
    EVALUATION = "Model Evaluation Equivalence"
    BEYOND = "Beyond the paper"


@dataclass(frozen=True)
class Equivalence:
    """A rule; subclasses make the other side.

    Args:
        paper: its number in the paper's Table 1; 0 for a rule beyond it.
        statement: what must agree, as the paper writes it.
        absent: by library, why it does not apply there; it applies to all others.
        cost: the cheaper, the sooner: 0 plain calls, 1 traced, 2 compiled, 3 compiled by a C++ compiler.
        derivative: the order up to which gradients are compared as well.
        oracle: who judges its cases, where that is not the oracle of two sides.
        across: its other side is a function of another library, which the engine finds.
        own_only: it speaks of the cases that it makes itself, and of no other call.
        documented: it is held against what a library's own tests expect of its calls as well.
    """

    name: str
    paper: int
    category: Category
    statement: str
    absent: Mapping[str, str] = field(default_factory=dict)
    demands: Demands = field(default_factory=Demands)
    cost: int = 0
    derivative: int = 0
    oracle: str = ""
    documented: bool = False
    across: bool = False
    own_only: bool = False

    def libraries(self) -> tuple[str, ...]:
        return tuple(library for library in LIBRARIES if library not in self.absent)

    def applies(self, api: str) -> bool:
        """Whether it speaks of a public function, as far as its name tells."""
        return library_of_name(api) in self.libraries()

    def speaks_of(self, api: Api) -> bool:
        """Whether it speaks of a function as the library describes it, where its name has already been let through."""
        return True

    def about(self, case: Case) -> str:
        """What one of its own cases is counted under."""
        return api_name(case) or MODEL

    def own_cases(self, library: str, count: int, seed: int) -> list[Case]:
        """Cases made for the rule, where functions called at random would seldom have its form."""
        return []

    def of_sample(self, case: Case) -> Case | None:
        """A case for the rule out of a call that a library brings along, where it is no call to be run by itself."""
        return None

    def prepared(self, case: Case) -> Case | None:
        """A case of a function in the form that the rule is about; None where it says nothing of it."""
        return case

    def counterpart(self, case: Case) -> Counterpart | None:
        """The other side."""
        raise NotImplementedError(type(self).__name__)

    def equivalence(self, case: Case) -> Case | None:
        """A case of both sides; None where the rule does not apply."""
        ready = self.prepared(case) if self.applies(self.about(case)) else None
        other = self.counterpart(ready) if ready is not None else None
        return replace(ready, counterpart=replace(other, rule=self.name)) if ready and other else None


@dataclass(frozen=True)
class Variant(Equivalence):
    """A rule whose other side is the same call, run in another way."""

    variant: str = ""

    def counterpart(self, case: Case) -> Counterpart | None:
        if not isinstance(case.subject, ApiCall) or not case.inputs or library_of(case) in self.absent:
            return None
        return Counterpart(procedure=replace(case.procedure, variant=self.variant))


@dataclass(frozen=True)
class PlainRule(Equivalence):
    """A rule of somebody else's package: a name and ``counterpart``, held against every accepted call.

    What else it has is taken up: ``applies(api)`` by the public name, ``demands``, ``derivative``, ``statement``.
    """

    rule: Rule | None = None

    def applies(self, api: str) -> bool:
        own = getattr(self.rule, "applies", None)
        return super().applies(api) and (own is None or bool(own(api)))

    def counterpart(self, case: Case) -> Counterpart | None:
        assert self.rule is not None
        return self.rule.counterpart(case)


def equivalence_of(name: str) -> Equivalence:
    """The registered rule of this name; somebody else's as a rule of ours."""
    rule = RULES.get(name)
    if isinstance(rule, Equivalence):
        return rule
    said = (type(rule).__doc__ or "").strip().split("\n")[0]
    return PlainRule(
        name,
        0,
        Category.BEYOND,
        getattr(rule, "statement", said),
        demands=demands_of(name),
        derivative=getattr(rule, "derivative", 0),
        rule=rule,
    )


def without_subnormals(case: Case) -> Case:
    """The same with zeros for what some libraries take for zero."""
    inputs = {}
    for name, array in case.inputs.items():
        least = np.finfo(np.float32).tiny if array.dtype.kind in "fc" else 0.0
        inputs[name] = np.where(np.abs(array) < least, np.zeros_like(array), array) if least else array
    return replace(case, inputs=inputs)


def api_name(case: Case) -> str:
    """The public name that a case is about: of a program, the first from outside that is one."""
    if not isinstance(case.subject, ApiCall):
        return ""
    return next((call.api for call in case.subject.calls() if call.api[:1].isalpha()), "")


def library_of_name(api: str) -> str:
    return api.partition(".")[0]


def library_of(case: Case) -> str:
    return library_of_name(api_name(case))
