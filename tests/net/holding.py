"""Holds what a scenario comes to today against what is expected, and against the listed differences."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from functools import cache

from replaying import DIFFERENCES, Difference, Replayed, differences, expected, replayed
from scenarios import Scenario

#: Of all questions, those that a recording may leave open.
MOST_MISSED = 0.02
#: The index of what is listed by its count.
_ANY = -1


@cache
def listed_differences() -> dict[Difference, tuple[int, str]]:
    """How often each is listed, and why."""
    entries = json.loads(DIFFERENCES.read_text())
    return {
        Difference(entry["group"], entry.get("index", _ANY), field): (entry.get("count", 1), entry["reason"])
        for entry in entries
        for field in entry["fields"]
    }


def _as_listed(item: Difference) -> Difference:
    """What would have to be listed for this difference."""
    ways = (item, replace(item, field="*"), replace(item, index=_ANY))
    return next((way for way in ways if way in listed_differences()), item)


def hold(scenario: Scenario) -> None:
    """Replay a scenario and see to it that everything is judged as it was, but for what is listed."""
    done = replayed(scenario)  # once for all that is asked of it: other tests may be run by another process
    wanted = expected(scenario)["results"]
    found = Counter(_as_listed(item) for item in differences(scenario.name, done.results, wanted))
    listed = {
        item: count for item, (count, _) in listed_differences().items() if item.group.startswith(f"{scenario.name}.")
    }
    new = sorted(item for item in found if item not in listed)
    assert not new, f"{len(new)} differences that are not listed: {', '.join(item.place for item in new[:20])}"
    for item, count in listed.items():
        so_often = bool(found[item]) if item.field == "*" else found[item] == count
        assert so_often, f"listed, but not so: {item.place}, {found[item]} times"
    assert _answers_nearly_everything(scenario, done), f"{len(done.missed)} questions that the recording cannot answer"


def _answers_nearly_everything(scenario: Scenario, done: Replayed) -> bool:
    """Whether what the recording cannot answer is no more than when it was made."""
    share = len(done.missed) / (len(done.missed) + done.answered)
    most = 1.0 if scenario.doctored else MOST_MISSED
    return share <= most and (bool(scenario.doctored) or len(done.missed) <= expected(scenario)["missed"])
