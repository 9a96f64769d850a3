"""The paper's strategies under measure ``operator``: with every variant's parameters, compiled once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tensorparity.core.case import Case
from tensorparity.core.outcome import Outcome

from .operator_runs import Exact, searched


class Packed(Exact):
    """Remembers the shapes of the packs: each new one is a compilation."""

    def __init__(self) -> None:
        super().__init__(["torch:compile"])
        self.shapes: set[tuple[int, ...]] = set()

    def run_pairs(self, pairs: Sequence[tuple[Case, str]], **options: Any) -> list[Outcome]:
        self.shapes |= {case.inputs["x"].shape for case, _ in pairs}
        return super().run_pairs(pairs, **options)


@pytest.mark.parametrize("strategy", ["random", "linf", "l1"])
def test_every_variant_has_its_parameters(strategy: str) -> None:
    runner = Exact(["torch:eager"])
    searched(runner, "conv2d", strategy=strategy)
    seen = {repr(sorted(case.subject.kwargs.items())) for case, _ in runner.asked}  # type: ignore[union-attr]
    assert len(seen) > 2
    assert any("same" in params for params in seen)


@pytest.mark.parametrize("inputs", [20, 40, 2000])
@pytest.mark.parametrize("strategy", ["random", "linf", "l1", "guided"])
def test_a_compiled_search_has_batches_of_one_size(strategy: str, inputs: int) -> None:
    runner = Packed()
    (notebook,) = searched(runner, "tanh", strategy=strategy, inputs=inputs)
    assert len(runner.shapes) == 1
    assert notebook.runs()[0].inputs == inputs
