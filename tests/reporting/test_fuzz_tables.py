"""Lines below the tables of a fuzz run."""

from __future__ import annotations

from tensorparity.reporting.fuzz_tables import _beside


def test_what_was_run_beside_the_networks_and_what_nobody_could_tell() -> None:
    stats = {"loss_cases": 4, "metric_cases": 0, "set_aside": {"undecided": {"no majority": 2, "alone": 1}}}
    assert list(_beside(stats)) == ["In addition: 4 losses; 3 undecided"]


def test_nothing_is_said_where_nothing_was() -> None:
    assert list(_beside({"loss_cases": 0, "set_aside": {"undecided": {}}})) == []
    assert list(_beside({})) == []
