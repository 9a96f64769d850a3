"""The operators' references against the libraries' own functions in float64, and against SciPy."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence

import numpy as np
import pytest

from tensorparity.core.outcome import Outcome
from tensorparity.operators.functions.catalogue import OPERATORS
from tensorparity.targets.runner import open_runner

from .calls import SCIPY, TARGETS, UNFIT, Drawn, draw_calls, sources_of, unfit_calls
from .confirm import Confirmation
from .measure import BOUND, scaled_error
from .page import Figures

#: Uses of each operator: see test_sources.py. What is unfit has to show it, which takes a few more.
FEW, MANY = int(os.environ.get("TENSORPARITY_DRAWS", 1)), 100
UNFIT_DRAWS = 3

LIBRARIES = [
    pytest.param("torch", marks=pytest.mark.torch),
    pytest.param("tensorflow", marks=pytest.mark.tensorflow),
    pytest.param("jax", marks=pytest.mark.jax),
    pytest.param(
        "onnx", marks=pytest.mark.skipif(importlib.util.find_spec("onnx") is None, reason="not installed: onnx")
    ),
]
NAMES = OPERATORS.names()


def judged(drawn: Sequence[Drawn], outcomes: Sequence[Outcome]) -> Confirmation:
    found = Confirmation()
    for one, outcome in zip(drawn, outcomes, strict=True):
        if not outcome.completed:
            found.failures.append(f"{one.about()}: {outcome.failure}")
            continue
        (value,) = outcome.outputs.values()
        found.add_values(scaled_error(np.asarray(value), one.expected()), one.about())
    return found


def run(library: str, drawn: dict[str, list[Drawn]]) -> dict[str, Confirmation]:
    """All calls of all operators in one library's process."""
    target = TARGETS[library]
    pairs = [(one.case, target) for items in drawn.values() for one in items]
    with open_runner([target]) as runner:
        outcomes = iter(runner.run_pairs(pairs))
    return {name: judged(items, [next(outcomes) for _ in items]) for name, items in drawn.items()}


def asked(library: str, draws: int) -> list[str]:
    """What a library is a source of. JAX compiles every shape: for a single draw only where two others are missing."""
    named = [name for name in NAMES if library in sources_of(name)]
    return named if library != "jax" or draws > 1 else [name for name in named if len(sources_of(name)) <= 2]


@pytest.fixture(scope="module", params=LIBRARIES)
def library(request) -> str:
    return request.param


@pytest.fixture(scope="module", params=[pytest.param(FEW, id="few"), pytest.param(MANY, marks=pytest.mark.slow)])
def confirmed(request, library: str) -> dict[str, Confirmation]:
    """Everything that the library is a source of, and what it is said to be unfit for."""
    drawn = {name: list(draw_calls(name, request.param)) for name in asked(library, request.param)}
    unfit = {name: unfit_calls(name, library, UNFIT_DRAWS) for name, other in UNFIT if other == library}
    return run(library, {**drawn, **unfit})


@pytest.mark.timeout(3600)
def test_operators_are_confirmed(confirmed: dict[str, Confirmation], figures: Figures, library: str) -> None:
    failures = []
    for name, found in confirmed.items():
        if (name, library) not in UNFIT:
            figures.setdefault(("operator", name), {})[library] = found
            failures += found.failures
    assert any(found.cases for found in confirmed.values())
    assert not failures, "\n".join(failures[:10])


def test_what_is_unfit_still_is(confirmed: dict[str, Confirmation], library: str) -> None:
    for name, other in UNFIT:
        if other == library:
            assert confirmed[name].failures, f"{library} is a source of {name} by now: take it out of UNFIT"


@pytest.mark.parametrize("draws", [pytest.param(FEW, id="few"), pytest.param(MANY, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", sorted(SCIPY))
def test_operators_are_confirmed_by_scipy(figures: Figures, name: str, draws: int) -> None:
    pytest.importorskip("scipy")
    from .in_scipy import FUNCTIONS

    assert sorted(FUNCTIONS) == sorted(SCIPY)
    found = Confirmation()
    for one in draw_calls(name, draws):
        with np.errstate(all="ignore"):
            value = FUNCTIONS[name](one.params, *one.arrays())
        found.add_values(scaled_error(np.asarray(value), one.expected()), one.about())
    figures.setdefault(("operator", name), {})["scipy"] = found
    assert found.values <= BOUND, found.failures


@pytest.mark.parametrize("name", NAMES)
def test_two_sources(name: str) -> None:
    assert len(sources_of(name)) >= 2, f"{name}: {sources_of(name)}"


def test_unfit_names_what_the_catalogue_calls() -> None:
    for (name, library), reason in UNFIT.items():
        assert library in OPERATORS.get(name).calls
        assert len(reason.split()) > 3
