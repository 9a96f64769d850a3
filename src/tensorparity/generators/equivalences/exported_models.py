"""Rule 16, export: a model answers the same in every format that Keras exports it to, read by what reads that format.

Every layer of the catalogue alone, with drawn parameters: an exporter goes wrong layer by layer.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from ...core.case import Case, Counterpart
from ...core.graph import LayerGraph
from ...core.procedure import Goal, Procedure
from ...operators.catalogue import layer, layer_names
from ..networks.alone import alone
from ..single_cases.reloads import networks_of_one
from .base import MODEL, Category, Equivalence

#: So many configurations of a function are worth one of every layer: each takes seconds.
_SHARE = 40


@dataclass(frozen=True)
class ExportedModel(Equivalence):
    """Args:
    form: the format, by the name that ``Model.export`` has for it.
    """

    form: str = ""

    def applies(self, api: str) -> bool:
        return api == MODEL or api.startswith("keras.layers.")

    def own_cases(self, library: str, count: int, seed: int) -> list[Case]:
        return list(_rounds(max(1, count // _SHARE), seed)) if library == "keras" else []

    def about(self, case: Case) -> str:
        """The layer, where there is but one."""
        graph = case.subject
        one = isinstance(graph, LayerGraph) and len(graph.nodes) == 1
        return layer(graph.nodes[0].op).api if one else super().about(case)  # type: ignore[union-attr]

    def counterpart(self, case: Case) -> Counterpart | None:
        if not isinstance(case.subject, LayerGraph):
            return None
        return Counterpart(procedure=replace(case.procedure, reload=True, variant=f"export {self.form}"))


@lru_cache(maxsize=4)
def _rounds(count: int, seed: int) -> tuple[Case, ...]:
    """Every layer, so many times."""
    return tuple(itertools.islice(layers_alone(seed), count * len(layer_names())))


def layers_alone(seed: int, layers: Sequence[str] = ()) -> Iterator[Case]:
    """Every layer in turn as a model of its own in inference, again and again with other values."""
    for name, network in networks_of_one(seed, layers):
        case = alone(replace(network, procedure=Procedure(goal=Goal.FORWARD)), name)
        if case is not None:
            yield case


def export_cases(seed: int, layers: Sequence[str] = ()) -> Iterator[Case]:
    """The same, each held against an exported one, the formats in turn; no layer keeps to one of them."""
    for turn, case in enumerate(layers_alone(seed, layers)):
        both = FORMATS[(turn + turn // len(FORMATS)) % len(FORMATS)].equivalence(case)
        if both is not None:
            yield both


_ABSENT = {"tensorflow": "models are Keras'", "jax": "it has no models", "torch": "see export and module-export"}


def _rule(name: str, form: str) -> ExportedModel:
    statement = f"eval(M, I) = eval(read(export(M, {form})), I)"
    return ExportedModel(name, 16, Category.EVALUATION, statement, _ABSENT, cost=3, own_only=True, form=form)


EXPORT_ONNX = _rule("export-onnx", "onnx")
EXPORT_SAVED_MODEL = _rule("export-saved-model", "tf_saved_model")
EXPORT_OPENVINO = _rule("export-openvino", "openvino")
EXPORT_LITERT = _rule("export-litert", "litert")
EXPORT_TORCH = _rule("export-torch", "torch")
FORMATS = (EXPORT_ONNX, EXPORT_SAVED_MODEL, EXPORT_OPENVINO, EXPORT_LITERT, EXPORT_TORCH)
