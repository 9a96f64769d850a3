"""Rule 11 on models: fed by a data set of some library, batch by batch, a model answers as it does to arrays.

Half of the networks are asked for predictions, the others, trained a step, are evaluated as well.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...core.case import Case, Counterpart
from ...core.graph import LayerGraph
from .base import Category
from .lives import Life, more_like
from .models import ModelRule, networks

#: Instances, and the size of batches: the last one is smaller.
_INSTANCES, _BATCH = 26, 8
_PLAIN = "lived model"


@dataclass(frozen=True)
class FedModel(ModelRule):
    """Args:
    feed: what gives the batches.
    """

    feed: str = ""

    def applies(self, api: str) -> bool:
        return super().applies(api) and not api.startswith("torch.")

    def own_cases(self, library: str, count: int, seed: int) -> list[Case]:
        half = -(-count // 2)
        asked = [_in_batches(case) for case in networks(half, seed)]
        life = Life(self.name, self.paper, self.category, self.statement, plain=_PLAIN, size=_BATCH)
        return [*asked, *(_in_batches(case) for case in life.own_cases(library, half, seed))]

    def trying(self, model: Case) -> Case:
        return _in_batches(super().trying(model), keep=True)

    def counterpart(self, case: Case) -> Counterpart | None:
        if not isinstance(case.subject, LayerGraph) or case.procedure.batch_size is None:
            return None
        if any(node.params.get("stateful") for node in case.subject.nodes):
            return None  # its batches are all of one size
        variant = f"{case.procedure.variant} fed {self.feed}".strip()
        return Counterpart(procedure=replace(case.procedure, variant=variant))


def _in_batches(case: Case, *, keep: bool = False) -> Case:
    """A case of many instances, in batches of which the last is not full."""
    inputs = case.inputs if keep or case.labels else more_like(case.inputs, _INSTANCES, case.seed)
    return replace(case, inputs=inputs, procedure=replace(case.procedure, batch_size=_BATCH))


_ABSENT = {
    "tensorflow": "models are Keras'; of functions see dataset",
    "jax": "it has no models",
    "torch": "its modules take tensors; of functions see dataset",
}


def _rule(name: str, feed: str) -> FedModel:
    statement = f"predict(M, I) = predict(M, {feed}(I)), evaluate likewise"
    return FedModel(name, 11, Category.FORMAT, statement, _ABSENT, cost=1, feed=feed)


FED_DATASET = _rule("fed-dataset", "tf.data")
FED_LOADER = _rule("fed-loader", "DataLoader")
FED_PYDATASET = _rule("fed-pydataset", "PyDataset")
FED_GENERATOR = _rule("fed-generator", "generator")
