"""The networks of the net; see ``test_net``."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from holding import hold  # noqa: E402
from scenarios import SCENARIOS, Scenario  # noqa: E402


@pytest.mark.parametrize("scenario", [s for s in SCENARIOS if s.kind == "networks"], ids=lambda scenario: scenario.name)
def test_everything_is_judged_as_it_was(scenario: Scenario) -> None:
    hold(scenario)
