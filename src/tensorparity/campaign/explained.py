"""How many of a run's suspicions a known defect explained, and how much of that can be relied on: for its stats."""

from __future__ import annotations

from ..core.jsontext import Json
from ..reporting.standing import distinct
from .session import CampaignSession


def defects_in_figures(session: CampaignSession) -> dict[str, Json]:
    """What tells sightings from defects.

    * ``again``: by signature, how often a defect was met again.
    * ``explained``: suspicions that a known defect explained before they were reduced.
    * ``audited``: those of them that were reduced in full all the same; ``refuted``: to another trigger.
    * ``unreduced_share``: of the defects, as they are counted, those that time did not suffice to reduce.
    """
    known = session.preparation.explanations if session.preparation is not None else None
    counts = {name: getattr(known, name) if known else 0 for name in ("explained", "audited", "refuted")}
    defects = distinct(finding for finding in session.findings.values() if finding.is_defect)
    open_ones = sum(finding.reduced is False for finding in defects)
    share = round(open_ones / len(defects), 4) if defects else 0.0
    return {"again": dict(session.distinct.again), **counts, "unreduced_share": share}
