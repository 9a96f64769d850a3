"""Calls of unknown functions are tried in forks: one that dies or hangs costs itself alone, and is told."""

from __future__ import annotations

import os
import sys

import pytest

from tensorparity.worker.attempts import attempt_groups, jobs_of
from tensorparity.worker.contract import Unsupported

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="forks")


class Library:
    """Does what the name of the function says."""

    def run(self, job: object) -> None:
        what = job.subject["api"]
        if what == "dies":
            os.abort()
        if what == "hangs":
            while True:
                pass
        if what == "refuses":
            raise ValueError("not so")
        if what == "lacks":
            raise Unsupported("no such thing")


def attempts(*groups: list[str]) -> list[list[list[str]]]:
    cases = [[{"subject": {"api": name}, "procedure": {"goal": "call"}} for name in group] for group in groups]
    return attempt_groups(Library(), jobs_of({"groups": cases}, {}), 1)


def test_each_call_is_answered() -> None:
    (group,) = attempts(["works", "refuses", "lacks", "works"])
    assert [how for how, _, _ in group] == ["completed", "raised", "unsupported", "completed"]
    assert group[1][1:] == ["ValueError", "not so"]


def test_a_death_ends_its_group_and_no_other() -> None:
    first, second = attempts(["works", "dies", "works"], ["works"])
    assert [how for how, _, _ in first] == ["completed", "crashed"]
    assert first[1][1] == "SIGABRT"
    assert [how for how, _, _ in second] == ["completed"]


def test_a_hang_is_ended_by_its_cpu_time() -> None:
    first, second = attempts(["hangs"], ["works"])
    assert first[0][:2] == ["timed out", "deadline"]
    assert second[0][0] == "completed"
