"""Rule 15, batch size: a model in inference answers the same whatever the size of the batches it is fed in.

Modules of torch are pulled back as well; Keras' models take arrays, and their gradients are those of training.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...core.call import ApiCall
from ...core.case import Case, Counterpart
from ...core.graph import LayerGraph
from ...core.rule import Demands
from .base import Category, library_of
from .models import ModelRule


@dataclass(frozen=True)
class BatchSize(ModelRule):
    size: int = 1

    def counterpart(self, case: Case) -> Counterpart | None:
        pulled = bool(case.procedure.derivative)
        if isinstance(case.subject, LayerGraph):
            if pulled or min((len(array) for array in case.inputs.values()), default=0) <= self.size:
                return None
            return Counterpart(procedure=replace(case.procedure, batch_size=self.size))
        if not isinstance(case.subject, ApiCall) or case.subject.api != "()":
            return None
        if not _is_in_inference(case.subject) or (pulled and library_of(case) != "torch"):
            return None
        return Counterpart(procedure=replace(case.procedure, variant=f"batches of {self.size}"))


def _is_in_inference(call: ApiCall) -> bool:
    """Whether a program calls a model that is done with training: of a module by itself no axis need be a batch."""
    made = call.args[0]
    return call.kwargs.get("training") is False or (isinstance(made, ApiCall) and made.api == ".eval")


#: A gradient by the inputs of a linear layer does not move with them, and sums of other lengths round otherwise.
_DEMANDS = Demands(relative=2.0**-16)
_ABSENT = {"tensorflow": "models are Keras'", "jax": "it has no models"}
_STATEMENT = "eval(M, I, batch-size=s1) = eval(M, I, batch-size=s2)"
BATCHES_OF_1 = BatchSize("batches-of-1", 15, Category.EVALUATION, _STATEMENT, _ABSENT, _DEMANDS, derivative=2)
BATCHES_OF_3 = BatchSize("batches-of-3", 15, Category.EVALUATION, _STATEMENT, _ABSENT, _DEMANDS, derivative=2, size=3)
