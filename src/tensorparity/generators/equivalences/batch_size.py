"""Rule 15, batch size: a model in inference answers the same whatever the size of the batches it is fed in."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...core.call import ApiCall
from ...core.case import Case, Counterpart
from ...core.graph import LayerGraph
from .base import Category
from .models import ModelRule


@dataclass(frozen=True)
class BatchSize(ModelRule):
    size: int = 1

    def counterpart(self, case: Case) -> Counterpart | None:
        if isinstance(case.subject, LayerGraph):
            if min((len(array) for array in case.inputs.values()), default=0) <= self.size:
                return None
            return Counterpart(procedure=replace(case.procedure, batch_size=self.size))
        if not isinstance(case.subject, ApiCall) or case.subject.api != "()":
            return None
        return Counterpart(procedure=replace(case.procedure, variant=f"batches of {self.size}"))


_ABSENT = {"tensorflow": "models are Keras'", "jax": "it has no models"}
_STATEMENT = "eval(M, I, batch-size=s1) = eval(M, I, batch-size=s2)"
BATCHES_OF_1 = BatchSize("batches-of-1", 15, Category.EVALUATION, _STATEMENT, _ABSENT)
BATCHES_OF_3 = BatchSize("batches-of-3", 15, Category.EVALUATION, _STATEMENT, _ABSENT, size=3)
