"""The traits of a run's targets, from the catalogue of targets."""

from __future__ import annotations

from collections.abc import Iterable

from ..core.traits import TargetTraits, Traits, base_name
from ..targets.catalogue import spec_of
from ..targets.names import parse_target
from ..triage.ballots import ballot_of


def traits_of(targets: Iterable[str]) -> Traits:
    """What the host knows of these targets before they are started."""
    return Traits({target: _traits(target) for target in targets})


def _traits(target: str) -> TargetTraits:
    spec = spec_of(parse_target(target))
    return TargetTraits(
        name=base_name(target),
        family=spec.family,
        library=ballot_of(target),
        max_goal=spec.furthest,
        lowering=spec.lowering,
        calls=spec.calls,
        compiled=spec.compiled,
        arbiter=spec.arbiter,
        default=spec.hunted,
    )
