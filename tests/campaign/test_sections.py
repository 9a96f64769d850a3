"""Settings by name: who takes them, and that a name that nobody has is refused before anything is started."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tensorparity.campaign.sections import read_sections
from tensorparity.core.errors import UsageError
from tensorparity.core.oracle import Setup
from tensorparity.engines.base import ENGINES
from tensorparity.oracles.kinds import ORACLES

FACTORIES = {
    f"{registry.point} {name}": registry.get(name) for registry in (ENGINES, ORACLES) for name in registry.names()
}


class Remembering(Mapping[str, Any]):
    """Settings that remember which of them were asked for."""

    def __init__(self, known: Mapping[str, Any]) -> None:
        self._known, self.asked = dict(known), set[str]()

    def __getitem__(self, name: str) -> Any:
        self.asked.add(name)
        return self._known[name]

    def __contains__(self, name: object) -> bool:
        self.asked.add(str(name))
        return name in self._known

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


@pytest.mark.parametrize("what", FACTORIES)
def test_what_is_read_is_declared(what: str) -> None:
    factory = FACTORIES[what]
    for given in ({}, {"operators": ["relu"], "inputs": 3}, {"operators": ["relu"], "inputs": 3, "measure": "paper"}):
        known = Remembering({name: value for name, value in given.items() if name in factory.settings})
        factory(Setup(0, ("torch:eager",), settings=known))
        assert known.asked <= set(factory.settings), "a setting that users are refused"


@pytest.mark.parametrize("what", FACTORIES)
def test_an_unknown_setting_is_refused(what: str, tmp_path: Path) -> None:
    kind, name = what.split()
    config = tmp_path / "tensorparity.toml"
    config.write_text(f"[{kind}.{name}]\nno_such_thing = 1\n")
    with pytest.raises(UsageError, match="has no setting 'no_such_thing'"):
        read_sections(config)
    with pytest.raises(UsageError, match="has no setting 'no_such_thing'"):
        read_sections(tmp_path / "none", [f"{name}.no_such_thing=1"])


def test_a_name_that_an_engine_and_an_oracle_have_reaches_whom_it_is_for(tmp_path: Path) -> None:
    found = read_sections(tmp_path / "none", ["muffin.t=0.5", "muffin.unit=true", 'muffin.stages=["forward"]'])
    assert found.engines == {"muffin": {"unit": True, "stages": ["forward"]}}
    assert found.oracles == {"muffin": {"t": 0.5, "stages": ["forward"]}}


def test_the_nearest_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="did you mean 'max_cells'"):
        read_sections(tmp_path / "none", ["muffin.max_cell=2"])
