"""Beyond the paper: whole generated networks, as users get them from ``predict``, layer by layer, watched, compiled.

Rule 1 on networks is ``jit_compile`` of the model; where rules are combined, a network is saved, cloned or fed in
batches besides.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...core.case import Case, Counterpart
from ...core.graph import LayerGraph
from ...core.procedure import Mode, Procedure
from .base import Category
from .models import ModelRule

#: A compiler takes seconds for a network.
_COMPILED_SHARE = 10
_COMPILED = "jit_compile"


@dataclass(frozen=True)
class WholeNetwork(ModelRule):
    """Args:
    plain: how the first side is run.
    other: what the second side is run with besides, by the fields of a procedure.
    compiled: the second side is compiled as a whole.
    """

    plain: Mode = Mode.USER
    other: tuple[tuple[str, object], ...] = ()
    compiled: bool = False

    def applies(self, api: str) -> bool:
        return super().applies(api) and not api.startswith("torch.")

    def own_cases(self, library: str, count: int, seed: int) -> list[Case]:
        """Those that run eagerly on one side say so."""
        share = _COMPILED_SHARE if self.compiled else 1
        return [self._begun(case) for case in super().own_cases(library, max(1, count // share), seed)]

    def trying(self, model: Case) -> Case:
        return self._begun(super().trying(model))

    def _begun(self, case: Case) -> Case:
        if not isinstance(case.subject, LayerGraph):
            return case
        return replace(case, procedure=replace(case.procedure, mode=self.plain, variant=""))

    def counterpart(self, case: Case) -> Counterpart | None:
        if not isinstance(case.subject, LayerGraph) or case.procedure.mode is not self.plain:
            return None
        changed: Procedure = replace(case.procedure, **{"mode": Mode.USER, **dict(self.other)})  # type: ignore[arg-type]
        size = changed.batch_size or 0
        if size and min((len(array) for array in case.inputs.values()), default=0) <= size:
            return None
        way = changed.variant
        variant = f"{way} + {_COMPILED}".removeprefix(" + ") if self.compiled else way
        return Counterpart(procedure=replace(changed, variant=variant))


_ABSENT = {
    "tensorflow": "models are Keras'",
    "jax": "it has no models",
    "torch": "its modules are run in the ways of calls",
}


def _rule(name: str, statement: str, paper: int = 0, *, plain: Mode = Mode.USER, **other: object) -> WholeNetwork:
    category = Category.OPTIMIZATION if paper == 1 else Category.BEYOND
    return WholeNetwork(name, paper, category, statement, _ABSENT, cost=1, plain=plain, other=tuple(other.items()))


def _compiled(name: str, statement: str, paper: int = 0, **other: object) -> WholeNetwork:
    return replace(_rule(name, statement, paper, plain=Mode.EAGER, **other), cost=3, compiled=True)


EAGERLY = _rule("network-eagerly", "predict(M, I) = M(I)", mode=Mode.EAGER)
TRACED = _rule("network-traced", "predict(M, I) = watched(M)(I)", trace=True)
COMPILED = _compiled("network-jit-compile", "M(I) = predict(jit_compile(M), I)", 1)
SAVED_COMPILED = _compiled("network-saved-and-jit", "M(I) = predict(jit_compile(load(save(M))), I)", reload=True)
CLONED_COMPILED = _compiled(
    "network-cloned-and-jit", "M(I) = predict(jit_compile(clone(M)), I)", reload=True, variant="clone"
)
BATCHED_COMPILED = _compiled("network-batches-and-jit", "M(I) = predict(jit_compile(M), I, batch-size=1)", batch_size=1)
SAVED_BATCHES = _rule(
    "network-saved-and-batches", "predict(M, I) = predict(load(save(M)), I, batch-size=1)", reload=True, batch_size=1
)
CONFIGURED_EAGERLY = _rule(
    "network-configured-and-eager",
    "predict(M, I) = from_config(config(M))(I)",
    reload=True,
    variant="config",
    mode=Mode.EAGER,
)
