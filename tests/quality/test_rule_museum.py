"""Bugs of EAGLE's paper, planted inside one library: their rule finds each, and on the unharmed library finds none."""

from __future__ import annotations

from pathlib import Path

import pytest

from tensorparity.commands.equiv import EquivSettings, equiv
from tensorparity.commands.hunt import HuntSettings
from tensorparity.core.finding import Finding
from tensorparity.targets.faults import fault_names, load_fault
from tensorparity.targets.runner import RunnerSettings
from tensorparity.testing.rule_museum import RULE_EXHIBITS, RuleExhibit

pytestmark = [pytest.mark.quality, pytest.mark.slow, pytest.mark.tensorflow, pytest.mark.torch]

INPUTS = 200
#: Not found yet: the calls that are drawn do not show it.
NOT_FOUND = ("complex division in a graph",)


def _shown() -> list[object]:
    missed = pytest.mark.xfail(reason="the calls that are drawn do not show it", strict=True)
    return [
        pytest.param(exhibit, id=exhibit.name, marks=[missed] if exhibit.name in NOT_FOUND else [])
        for exhibit in RULE_EXHIBITS
    ]


def found(exhibit: RuleExhibit, folder: Path, *, planted: bool) -> list[Finding]:
    """Defects of the function, by the rule, in the one library."""
    faults = {exhibit.target: load_fault(exhibit.fault)} if planted else {}
    run = HuntSettings(
        targets=[exhibit.target], budget=float("inf"), store=folder, runner=RunnerSettings(faults=faults)
    )
    done = equiv(EquivSettings(run, (exhibit.rule,), (exhibit.api,), INPUTS))
    return [finding for finding in done.facts.findings if finding.is_defect]


@pytest.mark.parametrize("exhibit", _shown())
def test_its_rule_finds_what_is_planted(exhibit: RuleExhibit, tmp_path: Path) -> None:
    defects = found(exhibit, tmp_path, planted=True)
    assert {finding.diagnosis.api for finding in defects} == {exhibit.api}
    assert {finding.diagnosis.suspects for finding in defects} == {(exhibit.target,)}


@pytest.mark.parametrize("exhibit", RULE_EXHIBITS, ids=str)
def test_and_nothing_where_nothing_is_planted(exhibit: RuleExhibit, tmp_path: Path) -> None:
    assert found(exhibit, tmp_path, planted=False) == []


def test_every_fault_is_there() -> None:
    assert {exhibit.fault for exhibit in RULE_EXHIBITS} <= set(fault_names())
