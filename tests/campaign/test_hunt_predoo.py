"""The engine of operators in a hunt: one seed, one sequence of cases and verdicts, whatever the number of workers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tensorparity.commands.hunt import HuntSettings, hunt
from tensorparity.store.database import open_store
from tensorparity.targets.runner import RunnerSettings

_CASES = 40  # two rounds are learned from, and the third is begun


def hunted(folder: Path, workers: int, cases: int, *, resume: bool = False) -> list[Any]:
    settings = HuntSettings(
        ("onnxruntime", "torch:eager"),
        engines=("predoo",),
        seed=5,
        cases=cases,
        store=folder,
        resume=resume,
        runner=RunnerSettings(workers=workers),
    )
    hunt(settings)
    with open_store(folder) as store:
        campaign = store.campaigns()[-1]
        return [
            (result.index, result.digest, result.verdicts, result.endings)
            for result in store.results(campaign.id, "predoo")
        ]


@pytest.mark.torch
@pytest.mark.onnxruntime
@pytest.mark.slow
def test_one_worker_two_workers_and_a_resume_see_the_same(tmp_path: Path) -> None:
    whole = hunted(tmp_path / "one", 1, _CASES)
    assert [index for index, *_ in whole] == list(range(_CASES))
    assert hunted(tmp_path / "two", 2, _CASES) == whole
    hunted(tmp_path / "cut", 2, 21)
    assert hunted(tmp_path / "cut", 1, _CASES, resume=True) == whole
