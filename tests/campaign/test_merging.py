"""At the end: everything that was found against every known defect, in time that reducing cannot use up."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest

from tensorparity.campaign.budget import CampaignBudget
from tensorparity.campaign.loop import run_engines
from tensorparity.campaign.session import CampaignSession
from tensorparity.core.case import Case
from tensorparity.core.finding import Class, Diagnosis, Finding
from tensorparity.core.graph import GraphBuilder
from tensorparity.core.suspicion import Suspicion
from tensorparity.core.verdict import Kind
from tensorparity.triage.explanations import Explanations
from tensorparity.triage.reduction.preparation import Prepared

from .test_loop import SmallEngine, session, sum_oracle

__all__ = ["sum_oracle"]


def suspicion(layer: str, *, reduced: bool) -> Suspicion:
    build = GraphBuilder("one")
    case = Case(build.build(build.add(layer, build.input("x", (4,)), name="y")))
    diagnosis = Diagnosis(Class.DEFECT, ("a",), api=f"keras.layers.{layer}")
    return replace(Suspicion(Kind.NAN, diagnosis, case, ("a", "b")), reduced=reduced)


def filed(campaign: CampaignSession, *suspicions: Suspicion) -> list[Finding]:
    campaign._keep([Prepared(item, item) for item in suspicions], {})
    return [finding for finding, _ in campaign.filed()]


def test_what_was_not_reduced_is_held_against_what_was_reduced_later(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def merged(self: Explanations, unreduced: Any = ()) -> dict[str, str]:
        asked.extend(item.signature for item in unreduced)
        return dict.fromkeys(asked, known.signature)

    monkeypatch.setattr(Explanations, "merged", merged)
    campaign, known = session(), suspicion("ReLU", reduced=True)
    open_one, other = suspicion("ELU", reduced=False), suspicion("SELU", reduced=True)
    filed(campaign, known, open_one, other)
    campaign.merge()
    assert asked == [open_one.signature]
    root, sighting, another = campaign.findings.values()
    assert root.cluster == sighting.cluster != another.cluster
    assert root.reached_through == ("keras.layers.ELU",)
    assert sighting.reached_through == another.reached_through == ()


def test_merging_has_what_reducing_leaves_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[float] = []
    campaign, began = session(), time.monotonic()
    monkeypatch.setattr(campaign, "merge", lambda trying: limits.append(campaign.time_limit.at))
    run_engines(campaign, [SmallEngine(rounds=1)], seconds=60.0, began=began)
    assert limits == [began + 60.0]
    assert CampaignBudget(60.0, began=began).end_of_reducing < limits[0]
