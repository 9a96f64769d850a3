"""Museum faults that sit in a layer are localized to what their trigger implies, which is computed, not written down.

A parameter is guilty if one other valid value of it alone switches the fault off: there the target gives the same
numbers with the fault as without, but for what rounding explains.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tensorparity.core.arrays import Array, dtype_name
from tensorparity.core.case import Case
from tensorparity.core.engine import Ask
from tensorparity.core.finding import Class
from tensorparity.core.graph import LayerGraph
from tensorparity.core.oracle import Setup
from tensorparity.core.runner import run_case
from tensorparity.core.verdict import Kind, Stage
from tensorparity.operators.reference.rounding import K, error_units
from tensorparity.operators.spec import Evaluation
from tensorparity.oracles.causal import EVERY, layer_alone, stacked, trials_of
from tensorparity.oracles.causal import amplifier as amplifier_of
from tensorparity.oracles.references import references
from tensorparity.targets.catalogue import traits_of
from tensorparity.targets.faults import load_fault
from tensorparity.targets.runner import LocalRunner, RunnerSettings, open_runner
from tensorparity.testing.museum import EXHIBITS, Exhibit
from tensorparity.triage.examine import Examiner

pytestmark = [pytest.mark.quality, pytest.mark.tensorflow, pytest.mark.torch]

_KINDS = (Kind.INCONSISTENCY, Kind.NAN)
IN_LAYERS = [
    exhibit
    for exhibit in EXHIBITS
    if exhibit.node and exhibit.kind in _KINDS and exhibit.stage is Stage.FORWARD and exhibit.klass is Class.DEFECT
]


def is_off(case: Case, target: str, faulty: LocalRunner, clean: LocalRunner) -> bool:
    """The fault changes nothing here, on this input and on some others."""
    cases = [case]
    search = amplifier_of(case)
    if search is not None:
        cases.append(stacked(case, search))
    for one in cases:
        with_fault, without = (run_case(runner, one, [target])[target] for runner in (faulty, clean))
        if not (with_fault.completed and without.completed):
            return False
        known = references(one)
        if any(not same(array, without.outputs[name], known.get(name)) for name, array in with_fault.outputs.items()):
            return False
    return True


def same(faulty: Array, clean: Array, known: Evaluation | None) -> bool:
    """Apart by no more than rounding explains: a fault that is small is still on."""
    if faulty.shape != clean.shape:
        return False
    kappa = known.kappa if known is not None else np.zeros(clean.shape)
    units = error_units(faulty, Evaluation(clean.astype(np.float64), kappa), dtype_name(faulty))
    return bool(units.max(initial=0.0) <= K)


def test_a_fault_that_is_small_is_still_on() -> None:
    clean = np.array([1.0, -0.5], dtype=np.float32)
    known = Evaluation(clean.astype(np.float64), np.abs(clean))
    assert same(clean * np.float32(1 + 1e-7), clean, known)
    assert not same(clean * np.float32(1 + 5e-6), clean, known), "what an epsilon of 1e-5 in the wrong place does"


@pytest.mark.parametrize("exhibit", IN_LAYERS, ids=str)
def test_the_guilty_parameters_are_those_that_switch_the_fault_off(exhibit: Exhibit) -> None:
    case = exhibit.build(np.random.default_rng(0))
    assert isinstance(case.subject, LayerGraph)
    target, targets = exhibit.target, exhibit.targets
    planted = RunnerSettings(cache=None, faults={target: load_fault(exhibit.fault)})
    with open_runner(targets, planted) as faulty, open_runner([target], RunnerSettings(cache=None)) as clean:
        examiner = Examiner(faulty, Setup(0, targets, traits_of(targets)), settings={"causal": {"values": EVERY}})
        (found,) = examiner.examine([Ask(case, targets, ("causal",))])
        places = [place for place in found.judged.facts["places"] if place.node == exhibit.node]
        assert places, "the layer is found"
        single = layer_alone(case, exhibit.node or "")
        assert single is not None
        single = replace(single, procedure=replace(single.procedure, dtype=case.procedure.dtype))
        expected = {t.parameter for t in trials_of(single, EVERY) if is_off(t.case, target, faulty, clean)}
    named = {place.parameter for place in places if place.parameter}
    assert named <= expected, "nobody is named without a reason"
    missed = {name for name in expected - named if not only_shapes(name)}
    assert not missed


def only_shapes(name: str) -> bool:
    """Another number of filters or units switches a fault off only by chance: weights are drawn anew."""
    return name in ("filters", "units", "depth_multiplier")
