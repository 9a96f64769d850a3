"""An equivalence is reduced as one: its other side is made anew of every candidate, by the rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from tensorparity.core.case import Case, Counterpart
from tensorparity.core.finding import Class, Diagnosis
from tensorparity.core.graph import GraphBuilder, LayerGraph
from tensorparity.core.oracle import Judged
from tensorparity.core.procedure import Mode, Procedure
from tensorparity.core.rule import RULES
from tensorparity.core.suspicion import Suspicion
from tensorparity.core.verdict import Kind
from tensorparity.triage.reduction.passes import PASSES
from tensorparity.triage.reduction.reducer import ReductionBudget, reduce_case


class Compiled:
    """Compiling must not matter, but of a case of one layer alone the rule says nothing."""

    name = "compiled"

    def counterpart(self, case: Case) -> Counterpart | None:
        assert isinstance(case.subject, LayerGraph)
        if len(case.subject.nodes) < 2:
            return None
        return Counterpart(replace(case.subject, name="other"), Procedure(mode=Mode.COMPILED))


@pytest.fixture
def case(monkeypatch: pytest.MonkeyPatch) -> Case:
    monkeypatch.setitem(RULES._paths, "compiled", "nowhere:compiled")
    monkeypatch.setitem(RULES._loaded, "compiled", Compiled())
    build = GraphBuilder("equivalence")
    x = build.input("x", (4,))
    for index in range(4):
        x = build.add("ReLU", x, name=f"r{index}")
    plain = Case(build.build(x), inputs={"x": np.arange(8, dtype=np.float32).reshape(2, 4)})
    other = Compiled().counterpart(plain)
    assert other is not None
    return replace(plain, counterpart=replace(other, rule="compiled"))


def test_both_sides_shrink_together_and_no_further_than_the_rule_goes(case: Case) -> None:
    asked: list[Case] = []

    def check(cases: Sequence[Case]) -> list[Judged]:
        asked.extend(cases)
        diagnosis = Diagnosis(Class.DEFECT, ("a",), api="keras.layers.ReLU")
        return [Judged((), (Suspicion(Kind.EQUIVALENCE, diagnosis, one, ("a",)),)) for one in cases]

    key = check([case])[0].suspicions[0].key
    reduction = reduce_case(case, key, check, PASSES, ReductionBudget(checks=200, seconds=60.0))
    assert isinstance(reduction.case.subject, LayerGraph)
    assert len(reduction.case.subject.nodes) == 2
    for one in asked:
        assert one.counterpart is not None
        first, second = one.sides()
        assert isinstance(first.subject, LayerGraph)
        assert isinstance(second.subject, LayerGraph)
        assert first.subject.nodes == second.subject.nodes
        assert second.procedure.mode is Mode.COMPILED
