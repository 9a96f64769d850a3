"""The target ``tiny``: what the host has to know of it before it is started."""

from __future__ import annotations

from pathlib import Path

from tensorparity.plugin import Goal, TargetSpec, TargetTraits

TINY = TargetSpec(
    name="tiny",
    adapter=str(Path(__file__).with_name("adapter.py")),
    distributions=("numpy",),
    summary="four layers in NumPy, forward only",
    traits=TargetTraits("tiny", family="tiny", library="tiny", max_goal=Goal.FORWARD, default=False),
)
